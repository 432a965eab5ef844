//! What is logged while a test runs, on its thread.

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing_subscriber::fmt::MakeWriter;

/// Lines of the thread that captures.
#[derive(Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

/// Ends the capture when it is dropped.
pub(crate) struct CaptureGuard {
    _own: DefaultGuard,
    _second: Dispatch,
}

impl Captured {
    /// Captures until the guard is dropped.
    pub(crate) fn begin() -> (Self, CaptureGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
        // With one dispatcher in the process, `tracing` asks the thread that comes first to a place whether anybody listens there:
        // another test, where nobody does.
        let second = Dispatch::new(NoSubscriber::default());
        let guard = CaptureGuard { _own: tracing::subscriber::set_default(subscriber), _second: second };
        (log, guard)
    }

    /// The lines so far that have this text in them.
    pub(crate) fn lines(&self, text: &str) -> Vec<String> {
        let written = String::from_utf8(self.0.lock().clone()).unwrap();
        written.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Captured {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
