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

    fn line(&self, second: &Second) -> String {
        let so_far = match self.length {
            // Whoever is at it when the time is over ends what was begun.
            Length::Duration(length) if self.seconds.get() > length.as_secs() => "ending".to_owned(),
            Length::Duration(length) => format!("{} of {} s", self.seconds.get(), length.as_secs()),
            Length::Operations(operations) => format!("{} of {operations}", self.operations.get()),
        };
        let errors = match (second.errors, self.errors.get()) {
            (0, 0) => "no errors".to_owned(),
            (now, all) => format!("{all} errors, {now} of them in this second"),
        };
        format!(
            "{} · {so_far} · {}/s · p50 {} · p99 {} · {errors}",
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
    fn a_run_that_was_interrupted_has_enough() {
        let interrupt = Interrupt::default();
        let progress = Progress::new("login", Length::Operations(10), &interrupt);
        assert!(!progress.has_enough());
        interrupt.request();
        assert!(progress.has_enough());
    }
}
