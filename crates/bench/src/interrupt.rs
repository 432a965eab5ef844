//! Ctrl-C: once, while something is measured, it ends that, and what was measured is told. Otherwise, and the second time, it ends
//! everything; so do SIGTERM and the end of the terminal (SIGHUP).

use std::cell::Cell;
use std::io;
use std::time::Duration;

use procfs::process::Process;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// The setting of a report that says so.
const ENDED: &str = "ended";

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    /// How many say that something is measured.
    measuring: Cell<usize>,
    is_requested: Cell<bool>,
    requested: Notify,
}

impl Interrupt {
    /// From now on, the first Ctrl-C ends the measurement alone.
    pub(crate) fn measuring(&self) -> Measuring<'_> {
        self.measuring.set(self.measuring.get() + 1);
        Measuring(self)
    }

    /// Whether the measurement is to end.
    pub(crate) const fn is_requested(&self) -> bool {
        self.is_requested.get()
    }

    /// Asks for the end, as Ctrl-C does. Returns whether it was asked for before.
    pub(crate) fn request(&self) -> bool {
        let was_requested = self.is_requested.replace(true);
        self.requested.notify_waiters();
        was_requested
    }

    /// Does something to its end. Nothing comes of it if the end of the measurement is asked for meanwhile, or was before.
    pub(crate) async fn unless_requested<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let requested = self.requested.notified();
        if self.is_requested() {
            return None;
        }
        let work = Box::pin(work);
        tokio::select! {
            biased;
            () = requested => None,
            done = work => Some(done),
        }
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
                    if self.request() || self.measuring.get() == 0 {
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
    (ENDED.to_owned(), format!("interrupted after {:.1} s", after.as_secs_f64()))
}

/// The same of one of several runs.
pub(crate) fn ended_in(run: usize, runs: usize) -> (String, String) {
    (ENDED.to_owned(), format!("interrupted in run {run} of {runs}"))
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
        self.0.measuring.set(self.0.measuring.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[test]
    fn a_run_that_was_interrupted_says_when() {
        let (name, value) = ended(Duration::from_millis(2_340));
        assert_eq!((name.as_str(), value.as_str()), ("ended", "interrupted after 2.3 s"));
        assert_eq!(ended_in(2, 3), ("ended".to_owned(), "interrupted in run 2 of 3".to_owned()));
    }

    #[test]
    fn something_is_measured_until_nobody_says_so_any_more() {
        let interrupt = Interrupt::default();
        let outer = interrupt.measuring();
        drop(interrupt.measuring());
        assert_eq!(interrupt.measuring.get(), 1);
        drop(outer);
        assert_eq!(interrupt.measuring.get(), 0);
    }

    #[tokio::test]
    async fn what_is_under_way_ends_when_that_is_asked_for() {
        let interrupt = Interrupt::default();
        assert_eq!(interrupt.unless_requested(async { 7 }).await, Some(7));
        let asks = async { interrupt.request() };
        let (ended, was_requested) = tokio::join!(interrupt.unless_requested(pending::<()>()), asks);
        assert_eq!((ended, was_requested), (None, false));
        assert_eq!(interrupt.unless_requested(async { 7 }).await, None, "nothing begins any more");
    }
}
