//! Ctrl-C: once, while something is measured, it ends that, and what was measured is told. Otherwise, and the second time, it ends
//! everything.

use std::cell::Cell;
use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    is_measuring: Cell<bool>,
    is_requested: Cell<bool>,
}

impl Interrupt {
    /// From now on, the first Ctrl-C ends the measurement alone.
    pub(crate) fn measuring(&self) -> Measuring<'_> {
        self.is_measuring.set(true);
        Measuring(self)
    }

    /// Whether the measurement is to end.
    pub(crate) const fn is_requested(&self) -> bool {
        self.is_requested.get()
    }

    /// Asks for the end, as Ctrl-C does. Returns whether it was asked for before.
    pub(crate) fn request(&self) -> bool {
        self.is_requested.replace(true)
    }

    /// Waits until everything is to end.
    ///
    /// # Errors
    /// If signals cannot be heard.
    pub(crate) async fn everything(&self) -> io::Result<()> {
        let mut ctrl_c = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        loop {
            tokio::select! {
                _ = ctrl_c.recv() => {
                    if self.request() || !self.is_measuring.get() {
                        return Ok(());
                    }
                }
                _ = terminate.recv() => return Ok(()),
            }
        }
    }
}

/// While this is held, something is measured.
pub(crate) struct Measuring<'a>(&'a Interrupt);

impl Drop for Measuring<'_> {
    fn drop(&mut self) {
        self.0.is_measuring.set(false);
    }
}
