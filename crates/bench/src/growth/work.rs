//! What users do in a growing database.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use crate::driver::{Agent, Failure};
use crate::scenario::{CodeFlow, Dialect, LoginOptions, Scenario, wanted};
use crate::target::Target;

/// People who log in: `person-0` to the last of them. Those of bulk-loaded grants are named by larger numbers too, so that these are
/// spread among all in the order of their names.
const PEOPLE: usize = 100_000;
/// Coprime to the number of people: one after the other, far from each other.
const STRIDE: u64 = 61_803;

/// Logins of different people.
pub(super) struct Logins {
    flow: CodeFlow,
    next: AtomicU64,
}

impl Logins {
    pub(super) async fn prepared(target: &Target) -> Result<Self, Failure> {
        let options = LoginOptions::default();
        let flow = CodeFlow::prepared(target, &Dialect::Hydra, &options, wanted(&options), PEOPLE).await?;
        Ok(Self { flow, next: AtomicU64::new(0) })
    }

    /// Logs the next of them in; the refresh token.
    pub(super) async fn one(&self, agent: &mut Agent) -> Result<String, Failure> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let who = usize::try_from(turn.wrapping_mul(STRIDE)).unwrap_or_default();
        let token = self.flow.log_in(agent, who, turn).await?.refresh_token;
        token.ok_or(Failure::Incomplete { step: "token", missing: "refresh_token" })
    }
}

#[async_trait(?Send)]
impl Scenario for Logins {
    async fn prepare(&mut self, _target: &Target, _users: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        self.one(agent).await.map(drop)
    }
}

/// A grant: its newest refresh token.
pub(super) type Grant = Arc<Mutex<String>>;

/// Refreshes each of these grants once, one far from the other.
pub(super) struct RefreshEach {
    logins: Arc<Logins>,
    grants: Vec<Grant>,
    stride: usize,
}

impl RefreshEach {
    pub(super) fn new(logins: Arc<Logins>, grants: Vec<Grant>) -> Self {
        let stride = stride(grants.len());
        Self { logins, grants, stride }
    }

    pub(super) const fn len(&self) -> usize {
        self.grants.len()
    }

    fn grant(&self, turn: u64) -> Option<&Grant> {
        let turn = usize::try_from(turn).ok()?;
        let index = turn.checked_mul(self.stride)?.checked_rem(self.grants.len())?;
        self.grants.get(index)
    }
}

#[async_trait(?Send)]
impl Scenario for RefreshEach {
    async fn prepare(&mut self, _target: &Target, _users: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let grant =
            self.grant(turn).ok_or_else(|| Failure::Setup("there is no grant to refresh".to_owned()))?;
        let spent = grant.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let given = self.logins.flow.refresh(agent, &spent).await?;
        *grant.lock().unwrap_or_else(PoisonError::into_inner) = given;
        Ok(())
    }
}

/// A step that comes to each of so many places once before it comes to the first again: about 0.618 of them, coprime to their number.
fn stride(count: usize) -> usize {
    const fn divisor(one: usize, other: usize) -> usize {
        if other == 0 { one } else { divisor(other, one % other) }
    }
    let golden = count / 1000 * 618 + count % 1000 * 618 / 1000;
    (golden.max(1)..=count.max(1)).find(|step| divisor(*step, count) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_come_to_once_a_round() {
        for count in [1, 2, 7, 10, 1000, 20_000, 22_222] {
            let step = stride(count);
            let places: std::collections::BTreeSet<_> = (0..count).map(|turn| turn * step % count).collect();
            assert_eq!(places.len(), count, "{count} with {step}");
        }
    }

    #[test]
    fn neighbours_in_time_are_far_apart() {
        assert!((5_000..15_000).contains(&stride(20_000)));
    }
}
