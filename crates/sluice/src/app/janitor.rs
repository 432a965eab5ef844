//! The janitor: deletes what has expired, a little at a time, and writes onto grants what wide markers say of them. What is left of sessions
//! that have ended goes first, and their clients are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sluice_commit::{StoreError, chain};
use sluice_identity::mail::{CodeRepository, MailRepository};
use sluice_identity::session::IdentitySessionRepository;
use sluice_oauth::consent::ConsentRepository;
use sluice_oauth::device::DeviceCodeRepository;
use sluice_oauth::flow::ParkedFlowRepository;
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::login_session::{LoginSessionRepository, LoginSessionService};
use sluice_oauth::logout::OutboxRepository;
use sluice_oauth::replay::ReplayRepository;
use sluice_oauth::takeover::HydraTokenRepository;
use sluice_oauth::trust::TrustedIssuerRepository;
use sluice_primitives::{Lifetime, Timestamp};
use tracing::warn;

use super::steady_clock::SteadyClock;
use super::stores::Repositories;

/// How many rows one deletion takes at most.
const ROWS: u32 = 1_000;
/// How many rounds follow each other at most.
const ROUNDS: usize = 1_000;
/// How often a sweep goes on in one round at most.
const SWEEPS: usize = 100;
/// After how many kinds in a row of which none can be deleted now, the others wait for the next round.
const IN_VAIN: usize = 3;
/// How far the clock of another node may be behind this one's: there, an id that was spent is still good for so long after its end here.
const CLOCKS_APART: Lifetime = Lifetime::minutes(5);
/// How long a mail or a logout notice that was given up is kept for an operator to look into.
const DEAD_LETTERS: Lifetime = Lifetime::hours(7 * 24);

/// A node's janitor.
pub(crate) struct Janitor {
    pub(crate) store: Arc<dyn Repositories>,
    pub(crate) clock: Arc<SteadyClock>,
    /// Deletes what is left of sessions that have ended.
    pub(crate) sessions: Arc<LoginSessionService>,
    /// As [`Task::sessions_kept`].
    pub(crate) sessions_kept: Lifetime,
    /// With which kind the next tick begins, by its place in [`JanitorKind::ALL`].
    pub(crate) first: AtomicUsize,
}

impl Janitor {
    /// Tidies up, as a node does by itself. Nothing expires while the time of day cannot be relied upon.
    pub(crate) async fn tick(&self) {
        // What has ended must be told of before its markers go.
        if let Err(error) = self.sessions.clear_ended().await {
            warn!(error = %chain(&error), "not all sessions that have ended could be deleted");
        }
        if let Some(before) = self.clock.now() {
            let sessions_kept = self.sessions_kept;
            let task = Task { kinds: &JanitorKind::ALL, before, sessions_kept, limit: ROWS, total: None };
            tidy(&*self.store, task, &self.first).await;
        }
    }
}

/// One sweep, and deletions: a kind goes round again as long as a round finds as many of it as it may take. Another one does not: to find
/// nothing in a large table takes long. What fails waits for the next tick. That begins with what a round has left out, so that kinds which fail
/// each time keep no other waiting for good.
async fn tidy(store: &dyn Repositories, task: Task<'_>, first: &AtomicUsize) {
    let mut kinds = task.kinds.to_vec();
    let places = kinds.len().max(1);
    kinds.rotate_left(first.load(Relaxed) % places);
    for _ in 0..ROUNDS {
        let round = janitor_round(store, Task { kinds: &kinds, ..task }).await;
        if let Some(error) = round.failed {
            warn!(error = %chain(&error), "not all that has expired could be deleted");
        }
        if let Some(place) = task.kinds.iter().position(|kind| Some(*kind) == round.left_out) {
            first.store(place, Relaxed);
        }
        kinds = round.full;
        if kinds.is_empty() {
            break;
        }
    }
}

/// What a round is to delete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    /// Of what.
    pub(crate) kinds: &'a [JanitorKind],
    /// What expired before.
    pub(crate) before: Timestamp,
    /// For how long after its end a remembered session is kept: those who hold tokens of it want to hear of a logout.
    pub(crate) sessions_kept: Lifetime,
    /// How many rows of each kind at most.
    pub(crate) limit: u32,
    /// How many rows of all kinds together at most; none for as many as there are.
    pub(crate) total: Option<u64>,
}

impl Task<'_> {
    /// How many rows of the next kind at most, after so many.
    fn limit_after(&self, deleted: u64) -> u32 {
        let left = self.total.map_or(u64::MAX, |total| total.saturating_sub(deleted));
        u32::try_from(left).map_or(self.limit, |left| left.min(self.limit))
    }
}

/// What the janitor looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JanitorKind {
    /// Grants that wide markers cover, and markers that have said all they had to say.
    Markers,
    /// Grants.
    Grants,
    /// Remembered decisions.
    Consents,
    /// Sessions of browsers.
    LoginSessions,
    /// Trust in issuers.
    TrustedIssuers,
    /// Refresh tokens of a Hydra.
    HydraTokens,
    /// Sessions of the identity API.
    IdentitySessions,
    /// Parked flows.
    ParkedFlows,
    /// Codes of devices.
    DeviceCodes,
    /// Ids that may be used once.
    SpentIds,
    /// Codes of mails.
    MailCodes,
    /// Mails that are not sent any more.
    Mails,
    /// Logout notices that are not sent any more.
    Notices,
}

impl JanitorKind {
    /// Everything.
    pub(crate) const ALL: [Self; 13] = [
        Self::Markers,
        Self::Grants,
        Self::Consents,
        Self::LoginSessions,
        Self::TrustedIssuers,
        Self::HydraTokens,
        Self::IdentitySessions,
        Self::ParkedFlows,
        Self::DeviceCodes,
        Self::SpentIds,
        Self::MailCodes,
        Self::Mails,
        Self::Notices,
    ];

    /// Whether it is what tokens and sessions come from, and not what is on its way.
    pub(crate) const fn is_lasting(self) -> bool {
        match self {
            Self::Markers
            | Self::Grants
            | Self::Consents
            | Self::LoginSessions
            | Self::TrustedIssuers
            | Self::HydraTokens
            | Self::IdentitySessions => true,
            Self::ParkedFlows
            | Self::DeviceCodes
            | Self::SpentIds
            | Self::MailCodes
            | Self::Mails
            | Self::Notices => false,
        }
    }

    /// Deletes rows of this kind; how many it was.
    async fn purge(self, store: &dyn Repositories, task: Task<'_>) -> Result<u64, StoreError> {
        let Task { before, sessions_kept: kept, limit, .. } = task;
        match self {
            Self::Markers => sweep(store, before, limit).await,
            Self::Grants => GrantRepository::purge_expired(store, before, limit).await,
            Self::Consents => ConsentRepository::purge_expired(store, before, limit).await,
            Self::LoginSessions => LoginSessionRepository::purge_expired(store, before, kept, limit).await,
            Self::TrustedIssuers => TrustedIssuerRepository::purge_expired(store, before, limit).await,
            Self::HydraTokens => HydraTokenRepository::purge_tokens(store, before, limit).await,
            Self::IdentitySessions => IdentitySessionRepository::purge_expired(store, before, limit).await,
            Self::ParkedFlows => ParkedFlowRepository::purge_expired(store, before, limit).await,
            Self::DeviceCodes => DeviceCodeRepository::purge_expired(store, before, limit).await,
            Self::SpentIds => ReplayRepository::purge_expired(store, before - CLOCKS_APART, limit).await,
            Self::MailCodes => CodeRepository::purge_expired(store, before, limit).await,
            Self::Mails => MailRepository::purge_mails(store, before - DEAD_LETTERS, limit).await,
            Self::Notices => OutboxRepository::purge_notices(store, before - DEAD_LETTERS, limit).await,
        }
    }
}

/// One round of the janitor. What fails keeps it from no other kind, unless the store can do nothing now; when all is deleted that may be, it
/// ends.
pub(crate) async fn janitor_round(store: &dyn Repositories, task: Task<'_>) -> Round {
    let mut round = Round::default();
    let mut kinds = task.kinds.iter().copied();
    while let Some(kind) = kinds.next() {
        let limit = task.limit_after(round.deleted);
        if limit == 0 {
            break;
        }
        round.note(kind, limit, kind.purge(store, Task { limit, ..task }).await);
        if round.in_vain == IN_VAIN {
            round.left_out = kinds.next();
            break;
        }
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
    /// Of which kinds it was as many as may be: there may be more.
    pub(crate) full: Vec<JanitorKind>,
    /// What failed first.
    pub(crate) failed: Option<StoreError>,
    /// How many kinds in a row nothing could be deleted of now.
    in_vain: usize,
    /// With which kind it would have gone on, had that not been too many.
    left_out: Option<JanitorKind>,
}

impl Round {
    fn note(&mut self, kind: JanitorKind, limit: u32, outcome: Result<u64, StoreError>) {
        self.in_vain = match &outcome {
            Err(error) if error.is_temporary() => self.in_vain + 1,
            _ => 0,
        };
        match outcome {
            Ok(deleted) => {
                self.deleted += deleted;
                if deleted >= u64::from(limit) {
                    self.full.push(kind);
                }
            }
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_oauth::flow::ParkedFlow;
    use sluice_oauth::replay::ReplayKind;
    use sluice_primitives::{ManualClock, NodeId, OsRng};
    use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};

    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_750_000_000);
    /// An hour later, two rows at a time.
    const ALL: Task<'static> = Task {
        kinds: &JanitorKind::ALL,
        before: Timestamp::from_secs(1_750_003_600),
        sessions_kept: Lifetime::ZERO,
        limit: 2,
        total: None,
    };

    /// A store in which so many ids have been spent for a minute.
    async fn store(spent: u8) -> Arc<SqliteStore> {
        let clock = Arc::new(ManualClock::at(START));
        let options = StoreOptions::new(NodeId::generate(START, &OsRng), clock, Arc::new(OsRng));
        let store = Arc::new(SqliteStore::open(SqlitePath::Temporary, options).await.unwrap());
        store.migrate_up().await.unwrap();
        for id in 0..spent {
            store.spend(ReplayKind::DpopProof, [id; 32], START, START + Lifetime::minutes(1)).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn only_what_there_may_be_more_of_goes_round_again() {
        let store = store(3).await;
        let round = janitor_round(&*store, ALL).await;
        assert_eq!((round.deleted, round.full), (2, vec![JanitorKind::SpentIds]));
        let round = janitor_round(&*store, Task { kinds: &[JanitorKind::SpentIds], ..ALL }).await;
        assert_eq!((round.deleted, round.full), (1, Vec::new()));
    }

    /// Three ids that were spent and three flows that were parked.
    #[tokio::test]
    async fn a_round_deletes_no_more_of_all_kinds_than_it_may() {
        let store = store(3).await;
        for handle in 0..3 {
            let (handle, expires_at) = ([handle; 16], START + Lifetime::minutes(1));
            let flow = ParkedFlow { handle, sealed: "sealed".to_owned(), expires_at };
            assert!(store.park(flow, 10).await.unwrap());
        }
        let task = Task { limit: 10, total: Some(4), ..ALL };
        assert_eq!(janitor_round(&*store, task).await.deleted, 4);
        assert_eq!(janitor_round(&*store, Task { total: Some(0), ..task }).await.deleted, 0);
        assert_eq!(janitor_round(&*store, task).await.deleted, 2);
    }

    #[tokio::test]
    async fn rounds_follow_each_other_until_nothing_is_left() {
        let store = store(7).await;
        tidy(&*store, ALL, &AtomicUsize::default()).await;
        assert_eq!(ReplayRepository::purge_expired(&*store, ALL.before, 10).await.unwrap(), 0);
    }

    /// A node whose clock is behind goes on taking what has ended here.
    #[tokio::test]
    async fn what_is_spent_stays_so_as_long_as_another_clock_may_find_it_good() {
        let store = store(1).await;
        let end = START + Lifetime::minutes(1);
        let round = async |before| janitor_round(&*store, Task { before, ..ALL }).await.deleted;
        assert_eq!(round(end + CLOCKS_APART).await, 0);
        let behind = end - Lifetime::millis(1);
        assert!(!store.spend(ReplayKind::DpopProof, [0; 32], behind, end).await.unwrap());
        assert_eq!(round(end + CLOCKS_APART + Lifetime::millis(1)).await, 1);
    }

    #[test]
    fn a_round_goes_on_after_a_failure_and_tells_the_first() {
        let mut round = Round::default();
        let outcomes = [Ok(3), Err(StoreError::Busy), Ok(4), Err(StoreError::Unavailable(None))];
        for outcome in outcomes {
            round.note(JanitorKind::Grants, 4, outcome);
        }
        assert_eq!((round.deleted, round.full), (7, vec![JanitorKind::Grants]));
        assert!(matches!(round.failed, Some(StoreError::Busy)));
    }

    /// Each kind would wait in vain for as long as a store may take, and be an error in its log.
    #[test]
    fn a_round_ends_when_the_store_can_do_nothing_now() {
        let mut round = Round::default();
        let vain = || Err(StoreError::Unavailable(None));
        let fault = Err(StoreError::fault(std::io::Error::other("a row")));
        let outcomes = [vain(), vain(), Ok(1), vain(), vain(), fault, vain(), vain(), vain()];
        let in_vain = outcomes.map(|outcome| {
            round.note(JanitorKind::Grants, 4, outcome);
            round.in_vain
        });
        assert_eq!(in_vain, [1, 2, 0, 1, 2, 0, 1, 2, IN_VAIN]);
    }

    #[tokio::test]
    async fn a_store_that_is_gone_is_not_asked_for_every_kind() {
        let store = store(1).await;
        store.shutdown().await;
        let round = janitor_round(&*store, ALL).await;
        assert_eq!((round.deleted, round.in_vain), (0, IN_VAIN));
        assert_eq!(round.left_out, Some(JanitorKind::LoginSessions));
        assert!(matches!(round.failed, Some(StoreError::Unavailable(_))));
    }

    #[tokio::test]
    async fn kinds_that_fail_each_time_are_not_those_that_the_next_round_begins_with() {
        let (gone, first) = (store(0).await, AtomicUsize::default());
        gone.shutdown().await;
        let mut begun_with = Vec::new();
        for _ in 0..5 {
            begun_with.push(first.load(Relaxed));
            tidy(&*gone, ALL, &first).await;
        }
        assert_eq!(begun_with, [0, 3, 6, 9, 12]);
        assert_eq!(first.load(Relaxed), 2, "behind the last are the first");
    }

    #[tokio::test]
    async fn wherever_a_round_begins_it_leaves_nothing_out() {
        let (store, first) = (store(7).await, AtomicUsize::new(12));
        tidy(&*store, ALL, &first).await;
        assert_eq!(ReplayRepository::purge_expired(&*store, ALL.before, 10).await.unwrap(), 0);
        assert_eq!(first.load(Relaxed), 12);
    }
}
