//! What is seen while users work: on standard error, if that is a terminal.

use std::cell::Cell;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::driver::{Length, Observer, Second};
use crate::interrupt::Interrupt;

/// A line that is written again each second: rate, latency, errors.
pub(crate) struct Progress<'a> {
    bar: ProgressBar,
    what: String,
    length: Length,
    seconds: Cell<u64>,
    operations: Cell<u64>,
    errors: Cell<u64>,
    interrupt: &'a Interrupt,
}

impl<'a> Progress<'a> {
    /// Of a run that is called so.
    pub(crate) fn new(what: &str, length: Length, interrupt: &'a Interrupt) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.set_message(format!("{what} …"));
        bar.enable_steady_tick(Duration::from_millis(250));
        let none = || Cell::new(0);
        Self {
            bar,
            what: what.to_owned(),
            length,
            seconds: none(),
            operations: none(),
            errors: none(),
            interrupt,
        }
    }

    /// Whether the time is over, or all is done: whoever is at it ends what was begun, and what is told is of no whole second.
    fn is_ending(&self) -> bool {
        match self.length {
            Length::Duration(length) => self.seconds.get() > length.as_secs(),
            Length::Operations(operations) => self.operations.get() + self.errors.get() >= operations,
        }
    }

    fn line(&self, second: &Second) -> String {
        let is_ending = self.is_ending();
        let so_far = match self.length {
            Length::Duration(_) if is_ending => "ending".to_owned(),
            Length::Duration(length) => format!("{} of {} s", self.seconds.get(), length.as_secs()),
            Length::Operations(operations) => format!("{} of {operations}", self.operations.get()),
        };
        let errors = match (second.errors, self.errors.get()) {
            (0, 0) => "no errors".to_owned(),
            (now, all) => format!("{all} errors, {now} of them in this second"),
        };
        let unit = if is_ending { " more" } else { "/s" };
        format!(
            "{} · {so_far} · {}{unit} · p50 {} · p99 {} · {errors}",
            self.what,
            second.operations,
            milliseconds(second.p50_us),
            milliseconds(second.p99_us),
        )
    }
}

impl Observer for Progress<'_> {
    fn second(&self, second: &Second) {
        self.seconds.set(self.seconds.get() + 1);
        self.operations.set(self.operations.get() + second.operations);
        self.errors.set(self.errors.get() + second.errors);
        self.bar.set_message(self.line(second));
    }

    fn has_enough(&self) -> bool {
        self.interrupt.is_requested()
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
fn milliseconds(micros: u64) -> String {
    format!("{:.2} ms", micros as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_the_run_is_and_what_went_wrong() {
        let interrupt = Interrupt::default();
        let progress = Progress::new("login", Length::Duration(Duration::from_secs(30)), &interrupt);
        let second = Second { operations: 7180, errors: 2, p50_us: 31_400, p99_us: 60_070 };
        progress.second(&Second { errors: 1, ..second });
        progress.second(&second);
        assert_eq!(
            progress.line(&second),
            "login · 2 of 30 s · 7180/s · p50 31.40 ms · p99 60.07 ms · 3 errors, 2 of them in this second"
        );
    }

    #[test]
    fn the_rest_of_the_last_second_is_no_rate() {
        let interrupt = Interrupt::default();
        let second = Second { operations: 4, ..Second::default() };
        let last_line = |length, seconds| {
            let progress = Progress::new("login", length, &interrupt);
            (0..seconds).for_each(|_| progress.second(&second));
            progress.line(&second)
        };
        let two_seconds = Length::Duration(Duration::from_secs(2));
        assert!(last_line(two_seconds, 2).starts_with("login · 2 of 2 s · 4/s · "));
        assert!(last_line(two_seconds, 3).starts_with("login · ending · 4 more · "));
        assert!(last_line(Length::Operations(12), 2).starts_with("login · 8 of 12 · 4/s · "));
        assert!(last_line(Length::Operations(12), 3).starts_with("login · 12 of 12 · 4 more · "));
    }

    #[test]
    fn a_run_that_was_interrupted_has_enough() {
        let interrupt = Interrupt::default();
        let progress = Progress::new("login", Length::Operations(10), &interrupt);
        assert!(!progress.has_enough());
        interrupt.request();
        assert!(progress.has_enough());
    }
}
