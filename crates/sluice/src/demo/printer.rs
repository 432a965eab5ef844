//! Where the demo prints, line by line. Clones print into the same place.

use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;

/// Prints lines.
#[derive(Clone)]
pub(crate) struct Printer(Arc<Mutex<dyn Write + Send>>);

impl Printer {
    /// Into this.
    pub(crate) fn new(out: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(out)))
    }

    /// Prints a line. That nobody reads it is no error: the demo goes on.
    pub(super) fn line(&self, line: &str) {
        let mut out = self.0.lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}
