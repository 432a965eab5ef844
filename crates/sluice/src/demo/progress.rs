//! What the demo prints while it starts: one line per part that is ready, with the time it took.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::printer::Printer;

/// The column of the names, in characters.
const NAME_WIDTH: usize = 14;

/// Prints the lines. Clones print into the same list.
#[derive(Clone)]
pub(crate) struct Progress {
    last: Arc<Mutex<Instant>>,
    printer: Printer,
}

impl Progress {
    /// Prints the headline and starts the clock.
    pub(super) fn begin(title: &str, printer: Printer) -> Self {
        printer.line(&format!("{title}\n"));
        Self { last: Arc::new(Mutex::new(Instant::now())), printer }
    }

    /// `part` is ready; `detail` says more, such as where it is. The time since the last part is printed.
    pub(crate) fn ready(&self, part: &str, detail: &str) {
        let took = {
            let mut last = self.last.lock();
            let took = last.elapsed();
            *last = Instant::now();
            took
        };
        self.printer.line(&format!("  {part:NAME_WIDTH$} {:>8}  {detail}", milliseconds(took)));
    }
}

/// A time as the demo prints it.
pub(super) fn milliseconds(time: std::time::Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
