//! Passwords of those who registered here that the server has still to harden: waited for, counted, told.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{crowd, metrics};
use crate::driver::{Agent, Failure, Observer};
use crate::target::Target;

/// What is known of them.
pub(crate) struct Hardening {
    /// Who registered here, over all runs.
    registered: Arc<AtomicU64>,
    /// For how long they are waited for.
    drain: Duration,
    /// Hardened before anybody registered here. `None` at a server that does not say: there nobody is waited for.
    before: Option<u64>,
    run: Mutex<Option<Began>>,
    /// How many were hardened when more were waited for in vain: until there are, nobody is.
    stalled_at: Mutex<Option<u64>>,
}

/// How things stood when a run began.
#[derive(Debug, Clone, Copy)]
struct Began {
    at: Instant,
    registered: u64,
    hardened: u64,
}

impl Began {
    /// Who had registered in a warm-up or an earlier run and was not hardened yet; so many were hardened `before` all that.
    const fn waiting(self, before: u64) -> u64 {
        self.registered.saturating_sub(self.hardened.saturating_sub(before))
    }
}

impl Hardening {
    /// Of those who are counted there, and who are waited for as long as that.
    pub(crate) fn of(registered: Arc<AtomicU64>, drain: Duration) -> Self {
        Self { registered, drain, before: None, run: Mutex::default(), stalled_at: Mutex::default() }
    }

    /// Before anybody registers. Returns whether the server says how many it has hardened.
    pub(crate) async fn prepare(&mut self, target: &Target) -> Result<bool, Failure> {
        self.before = metrics::hardened(&mut crowd::alone(target)).await?;
        Ok(self.before.is_some())
    }

    /// Waits for those who registered in a warm-up or an earlier run, until `observer` has had enough.
    pub(crate) async fn settle(&self, target: &Target, observer: &dyn Observer) -> Result<(), Failure> {
        if let Some(before) = self.before {
            self.wait(&mut crowd::alone(target), before, observer).await?;
        }
        Ok(())
    }

    /// A run begins.
    pub(crate) async fn begin(&self, target: &Target) -> Result<(), Failure> {
        let Some(before) = self.before else { return Ok(()) };
        let hardened = metrics::hardened(&mut crowd::alone(target)).await?.unwrap_or(before);
        let began = Began { at: Instant::now(), registered: self.registered(), hardened };
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(began);
        Ok(())
    }

    /// A run has ended: waits likewise, and says what became of everybody.
    pub(crate) async fn finish(
        &self,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<Vec<(String, String)>, Failure> {
        let began = *self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((before, began)) = self.before.zip(began) else { return Ok(Vec::new()) };
        let (mut agent, ended) = (crowd::alone(target), Instant::now());
        let registered = self.registered();
        let meanwhile = metrics::hardened(&mut agent).await?.unwrap_or(began.hardened);
        let after = self.wait(&mut agent, before, observer).await?;
        let drained = Drained {
            waiting: began.waiting(before),
            registered: registered.saturating_sub(began.registered),
            during: (meanwhile.saturating_sub(began.hardened), ended - began.at),
            after: (after.saturating_sub(meanwhile), ended.elapsed()),
        };
        Ok(drained.lines())
    }

    fn registered(&self) -> u64 {
        self.registered.load(Ordering::Relaxed)
    }

    /// How many are hardened when all are who registered, or nobody waits any more.
    async fn wait(&self, agent: &mut Agent, before: u64, observer: &dyn Observer) -> Result<u64, Failure> {
        let found = metrics::hardened(agent).await?.unwrap_or_default();
        if *self.stalled_at.lock().unwrap_or_else(PoisonError::into_inner) == Some(found) {
            return Ok(found);
        }
        let goal = before + self.registered();
        let hardened = metrics::wait_for_hardened(agent, goal, self.drain, observer).await?;
        let is_vain = hardened == found && hardened < goal && !observer.has_enough();
        *self.stalled_at.lock().unwrap_or_else(PoisonError::into_inner) = is_vain.then_some(hardened);
        Ok(hardened)
    }
}

#[cfg(test)]
impl Hardening {
    /// Of a run that has begun at a server that says how many it has hardened.
    pub(crate) fn begun() -> Self {
        let began = Began { at: Instant::now(), registered: 0, hardened: 0 };
        Self { before: Some(0), run: Mutex::new(Some(began)), ..Self::of(Arc::default(), Duration::ZERO) }
    }
}

/// What became of those who registered.
struct Drained {
    /// From before the run.
    waiting: u64,
    registered: u64,
    /// Hardened while others registered, and for how long.
    during: (u64, Duration),
    /// Hardened after that, and for how long.
    after: (u64, Duration),
}

impl Drained {
    fn lines(&self) -> Vec<(String, String)> {
        let hardened = self.during.0 + self.after.0;
        let left = (self.waiting + self.registered).saturating_sub(hardened);
        let rate = |(count, time): (u64, Duration)| {
            #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
            let rate = count as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
            format!("{rate:.1}/s ({count} in {:.1} s)", time.as_secs_f64())
        };
        let line = |name: &str, value: String| (name.to_owned(), value);
        vec![
            line("registered", self.registered.to_string()),
            line("not hardened when the run began", self.waiting.to_string()),
            line("hardened while people registered", rate(self.during)),
            line("hardened after that", rate(self.after)),
            line("still to be hardened", left.to_string()),
        ]
    }
}
