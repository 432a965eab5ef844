//! Ctrl-C: once, while something is measured, it ends that, and what was measured is told. Otherwise, and the second time, it ends
//! everything; so do SIGTERM and the end of the terminal (SIGHUP).

use std::cell::Cell;
use std::io;
use std::time::Duration;

use procfs::process::Process;
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
        let is_deaf = ignores_hangup();
        let mut hangup = signal(SignalKind::hangup())?;
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
                _ = hangup.recv(), if !is_deaf => return Ok(()),
            }
        }
    }
}

/// What a report says of a run that was interrupted, for its settings.
pub(crate) fn ended(after: Duration) -> (String, String) {
    ("ended".to_owned(), format!("interrupted after {:.1} s", after.as_secs_f64()))
}

/// Whether this was started to go on without its terminal, as `nohup` does.
fn ignores_hangup() -> bool {
    let status = Process::myself().and_then(|own| own.status());
    status.is_ok_and(|status| status.sigign & 1 == 1)
}

/// While this is held, something is measured.
pub(crate) struct Measuring<'a>(&'a Interrupt);

impl Drop for Measuring<'_> {
    fn drop(&mut self) {
        self.0.is_measuring.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_interrupted_says_when() {
        let (name, value) = ended(Duration::from_millis(2_340));
        assert_eq!((name.as_str(), value.as_str()), ("ended", "interrupted after 2.3 s"));
    }
}
