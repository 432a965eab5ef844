//! What is logged while a test runs, on its thread.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing::{Dispatch, Level};
use tracing_subscriber::fmt::MakeWriter;

/// Lines of the thread that captures.
#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

/// Ends the capture when it is dropped.
pub struct CaptureGuard {
    _own: DefaultGuard,
    _second: Dispatch,
}

impl Captured {
    /// Captures lines down to `INFO` until the guard is dropped.
    #[must_use]
    pub fn begin() -> (Self, CaptureGuard) {
        Self::down_to(Level::INFO)
    }

    /// Captures lines of all levels until the guard is dropped.
    #[must_use]
    pub fn everything() -> (Self, CaptureGuard) {
        Self::down_to(Level::TRACE)
    }

    fn down_to(level: Level) -> (Self, CaptureGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(log.clone())
            .with_max_level(level)
            .with_ansi(false)
            .finish();
        // With one dispatcher in the process, `tracing` asks the thread that comes first to a place whether anybody listens there:
        // another test, where nobody does.
        let second = Dispatch::new(NoSubscriber::default());
        let guard = CaptureGuard { _own: tracing::subscriber::set_default(subscriber), _second: second };
        (log, guard)
    }

    /// What was logged so far.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// The lines so far that have this text in them.
    #[must_use]
    pub fn lines(&self, text: &str) -> Vec<String> {
        self.text().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
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
