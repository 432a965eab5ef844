//! Registrations: an address of its own for each, over all runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::support::{crowd, metrics, people, prepared, proof};
use super::{RegisterHardenOptions, Scenario};
use crate::driver::{Agent, Failure, Receipt};
use crate::target::Target;

/// Somebody registers.
#[derive(Default)]
pub(super) struct Register {
    run: Option<u64>,
    /// Of the next person. Turns begin again with each run, people do not.
    next: AtomicU64,
    registered: AtomicU64,
}

#[async_trait(?Send)]
impl Scenario for Register {
    async fn prepare(&mut self, _target: &Target, _users: usize) -> Result<(), Failure> {
        self.run = Some(proof::random_number()?);
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let person = people::person(*prepared(self.run.as_ref())?, number);
        people::register(agent, &person).await?;
        self.registered.fetch_add(1, Ordering::Relaxed);
        agent.record(|| Receipt::Registered { email: person.name });
        Ok(())
    }
}

/// Somebody registers, and the server makes Argon2id of the password behind their back.
pub(super) struct RegisterHarden {
    options: RegisterHardenOptions,
    register: Register,
    /// Hardened before, and since when it is counted.
    before: Option<(u64, Instant)>,
}

impl RegisterHarden {
    pub(super) fn new(options: RegisterHardenOptions) -> Self {
        Self { options, register: Register::default(), before: None }
    }
}

#[async_trait(?Send)]
impl Scenario for RegisterHarden {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        self.register.prepare(target, users).await?;
        let hardened = metrics::hardened(&mut crowd::alone(target)).await?;
        let hardened = hardened
            .ok_or_else(|| Failure::Setup("the server does not say how many it has hardened".to_owned()))?;
        self.before = Some((hardened, Instant::now()));
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        self.register.operate(agent, turn).await
    }

    async fn finish(&self, target: &Target) -> Result<Vec<(String, String)>, Failure> {
        let (before, since) = *prepared(self.before.as_ref())?;
        let (mut agent, ended) = (crowd::alone(target), Instant::now());
        let registered = self.register.registered.load(Ordering::Relaxed);
        let meanwhile = metrics::hardened(&mut agent).await?.unwrap_or(before);
        let after = metrics::wait_for_hardened(&mut agent, before + registered, self.options.drain).await?;
        let drained = Drained {
            registered,
            during: (meanwhile.saturating_sub(before), ended - since),
            after: (after.saturating_sub(meanwhile), ended.elapsed()),
        };
        Ok(drained.lines())
    }
}

/// What became of those who registered.
struct Drained {
    registered: u64,
    /// Hardened while others registered, and for how long.
    during: (u64, Duration),
    /// Hardened after that, and for how long.
    after: (u64, Duration),
}

impl Drained {
    fn lines(&self) -> Vec<(String, String)> {
        let hardened = self.during.0 + self.after.0;
        let left = self.registered.saturating_sub(hardened);
        let rate = |(count, time): (u64, Duration)| {
            #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
            let rate = count as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
            format!("{rate:.1}/s ({count} in {:.1} s)", time.as_secs_f64())
        };
        let line = |name: &str, value: String| (name.to_owned(), value);
        vec![
            line("registered, with the warm-up", self.registered.to_string()),
            line("hardened while people registered", rate(self.during)),
            line("hardened after that", rate(self.after)),
            line("still to be hardened", left.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_hardened_is_told_with_its_rate() {
        let drained = Drained {
            registered: 100,
            during: (10, Duration::from_secs(5)),
            after: (60, Duration::from_secs(3)),
        };
        let lines = drained.lines();
        let values: Vec<_> = lines.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["100", "2.0/s (10 in 5.0 s)", "20.0/s (60 in 3.0 s)", "30"]);
    }
}
