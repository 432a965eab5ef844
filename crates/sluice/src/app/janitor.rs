//! The janitor: deletes what has expired, a little at a time, and writes onto grants what wide markers say of them.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_identity::mail::{CodeRepository, MailRepository};
use sluice_identity::session::IdentitySessionRepository;
use sluice_oauth::device::DeviceCodeRepository;
use sluice_oauth::flow::ParkedFlowRepository;
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::login_session::LoginSessionRepository;
use sluice_oauth::logout::OutboxRepository;
use sluice_oauth::replay::ReplayRepository;
use sluice_oauth::trust::TrustedIssuerRepository;
use sluice_primitives::{Lifetime, Timestamp};
use tracing::warn;

use super::steady_clock::SteadyClock;
use super::stores::Repositories;

/// How many rows one deletion takes at most.
const ROWS: u32 = 1_000;
/// How many rounds follow each other at most.
const ROUNDS: usize = 1_000;
/// After so many rounds in which something failed it waits for the next tick.
const MOST_FAILURES: u32 = 20;
/// How often a sweep goes on in one round at most.
const SWEEPS: usize = 100;
/// How long a mail or a logout notice that was given up is kept for an operator to look into.
const DEAD_LETTERS: Lifetime = Lifetime::hours(7 * 24);

/// A node's janitor.
pub(crate) struct Janitor {
    store: Arc<dyn Repositories>,
    clock: Arc<SteadyClock>,
}

impl Janitor {
    /// A janitor who has not begun.
    pub(crate) const fn new(store: Arc<dyn Repositories>, clock: Arc<SteadyClock>) -> Self {
        Self { store, clock }
    }

    /// Tidies up, as a node does by itself: one sweep, and deletions as long as a round finds as much as it may take. Nothing while the time
    /// of day cannot be relied upon.
    pub(crate) async fn tick(&self) {
        let Some(now) = self.clock.now() else { return };
        let (mut kinds, mut failures) = (JanitorKinds::ALL, 0);
        for _ in 0..ROUNDS {
            let round = janitor_round(&*self.store, now, (kinds, ROWS)).await;
            if let Some(error) = round.failed {
                failures += 1;
                warn!(%error, "not all that has expired could be deleted");
            }
            // One kind that fails keeps no other from being deleted; a store that is away fails in all of them.
            if round.deleted < u64::from(ROWS) || failures >= MOST_FAILURES {
                break;
            }
            kinds.markers = false;
        }
    }
}

/// What the janitor looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JanitorKinds {
    /// Grants that wide markers cover, and markers that have said all they had to say.
    pub(crate) markers: bool,
    /// Grants, sessions and trust in issuers.
    pub(crate) grants: bool,
    /// Parked flows, spent ids, the codes of devices and mails, and mails and notices that are not sent any more.
    pub(crate) flows: bool,
}

impl JanitorKinds {
    /// Everything.
    pub(crate) const ALL: Self = Self { markers: true, grants: true, flows: true };
}

/// One round of the janitor: deletes at most `limit` rows of each kind that expired before `before`. What fails keeps it from no other kind.
pub(crate) async fn janitor_round(
    store: &dyn Repositories,
    before: Timestamp,
    (kinds, limit): (JanitorKinds, u32),
) -> Round {
    let mut round = Round::default();
    if kinds.markers {
        round.note(sweep(store, before, limit).await);
    }
    if kinds.grants {
        round.note(GrantRepository::purge_expired(store, before, limit).await);
        round.note(LoginSessionRepository::purge_expired(store, before, limit).await);
        round.note(TrustedIssuerRepository::purge_expired(store, before, limit).await);
        round.note(IdentitySessionRepository::purge_expired(store, before, limit).await);
    }
    if kinds.flows {
        round.note(ParkedFlowRepository::purge_expired(store, before, limit).await);
        round.note(DeviceCodeRepository::purge_expired(store, before, limit).await);
        round.note(ReplayRepository::purge_expired(store, before, limit).await);
        round.note(CodeRepository::purge_expired(store, before, limit).await);
        round.note(MailRepository::purge_mails(store, before - DEAD_LETTERS, limit).await);
        round.note(OutboxRepository::purge_notices(store, before - DEAD_LETTERS, limit).await);
    }
    round
}

/// Goes on with the sweep as long as a call revokes as many grants as it may. It deletes no row of its own account.
async fn sweep(store: &dyn Repositories, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
    for _ in 0..SWEEPS {
        if GrantRepository::sweep_revoked(store, now, limit).await? < u64::from(limit) {
            break;
        }
    }
    Ok(0)
}

/// What a round has done so far.
#[derive(Default)]
pub(crate) struct Round {
    /// How many rows.
    pub(crate) deleted: u64,
    /// What failed first.
    pub(crate) failed: Option<StoreError>,
}

impl Round {
    fn note(&mut self, outcome: Result<u64, StoreError>) {
        match outcome {
            Ok(deleted) => self.deleted += deleted,
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_goes_on_after_a_failure_and_tells_the_first() {
        let mut round = Round::default();
        let outcomes = [Ok(3), Err(StoreError::Busy), Ok(4), Err(StoreError::Unavailable(None))];
        for outcome in outcomes {
            round.note(outcome);
        }
        assert_eq!(round.deleted, 7);
        assert!(matches!(round.failed, Some(StoreError::Busy)));
    }
}
