//! What goes on by itself: owned, bounded, ended with the node. Progress is in the store, so a crash repeats but never
//! loses.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use sluice_identity::hardening::HardeningWorker;
use sluice_identity::mail::MailDelivery;
use sluice_oauth::keys::KeyRotation;
use sluice_oauth::logout::LogoutDelivery;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::hearing::Hearing;
use super::janitor::Janitor;
use super::steady_clock::SteadyClock;

/// How often expired rows are looked for.
const JANITOR_EVERY: Duration = Duration::from_mins(1);
/// How often the outbox is looked into.
const OUTBOX_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether a signing key has to be made or deleted.
const KEYS_EVERY: Duration = Duration::from_mins(1);
/// How long work that is under way may take once the node stops. Whom it asks may never answer.
const GRACE: Duration = Duration::from_secs(3);
/// How long the feed is left alone after it could not be read.
const FEED_BACK_OFF: Duration = Duration::from_millis(500);

/// The tasks of a node.
pub(crate) struct Background {
    pub(crate) tasks: TaskTracker,
    pub(crate) shutdown: CancellationToken,
}

impl Background {
    /// Follows the feed: revocations into memory, changes to caches.
    pub(crate) fn follow_feed(&self, hearing: Arc<Hearing>) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            let following = async {
                loop {
                    match hearing.catch_up().await {
                        Ok(()) => hearing.wait().await,
                        Err(error) => {
                            warn!(%error, "the feed cannot be read");
                            tokio::time::sleep(FEED_BACK_OFF).await;
                        }
                    }
                }
            };
            shutdown.run_until_cancelled(following).await;
        });
    }

    /// Deletes what has expired, a little at a time.
    pub(crate) fn tidy(&self, janitor: Janitor) {
        let janitor = Arc::new(janitor);
        self.every(JANITOR_EVERY, Late::IsCut, move || {
            let janitor = Arc::clone(&janitor);
            async move { janitor.tick().await }
        });
    }

    /// Delivers back-channel logout notices.
    pub(crate) fn deliver_logouts(&self, delivery: Arc<LogoutDelivery>) {
        let shutdown = self.shutdown.clone();
        self.every(OUTBOX_EVERY, Late::IsCut, move || {
            let (delivery, shutdown) = (Arc::clone(&delivery), shutdown.clone());
            async move {
                if let Err(error) = delivery.run(|| !shutdown.is_cancelled()).await {
                    warn!(%error, "the outbox cannot be read");
                }
            }
        });
    }

    /// Sends mails. Once the node stops, what the mail server has been told of goes on until it is known what became of it:
    /// else it would be sent again.
    pub(crate) fn deliver_mails(&self, delivery: Arc<MailDelivery>) {
        let shutdown = self.shutdown.clone();
        self.every(OUTBOX_EVERY, Late::GivesUp(Arc::clone(&delivery)), move || {
            let (delivery, shutdown) = (Arc::clone(&delivery), shutdown.clone());
            async move {
                if let Err(error) = delivery.run(|| !shutdown.is_cancelled()).await {
                    warn!(%error, "the outbox of mails cannot be read");
                }
            }
        });
    }

    /// Hardens the passwords of those who registered.
    pub(crate) fn harden(&self, worker: Arc<HardeningWorker>) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move { worker.run(shutdown.cancelled()).await });
    }

    /// Counts what waits to be hardened, where somebody else does it.
    pub(crate) fn count_unhardened(&self, worker: Arc<HardeningWorker>) {
        self.every(HardeningWorker::COUNT_EVERY, Late::IsCut, move || {
            let worker = Arc::clone(&worker);
            async move {
                if let Err(error) = worker.count().await {
                    warn!(%error, "the backlog of hardening cannot be counted");
                }
            }
        });
    }

    /// Leads signing keys through their life: announced, active, retiring, gone.
    pub(crate) fn rotate_keys(&self, rotation: Arc<KeyRotation>, clock: Arc<SteadyClock>) {
        self.every(KEYS_EVERY, Late::IsCut, move || {
            let (rotation, clock) = (Arc::clone(&rotation), Arc::clone(&clock));
            async move { rotate(&rotation, &clock).await }
        });
    }

    fn every<F: Future<Output = ()> + Send>(
        &self,
        period: Duration,
        late: Late,
        work: impl Fn() -> F + Send + 'static,
    ) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            let mut ticks = tokio::time::interval(period);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
                finish(&shutdown, work(), &late).await;
            }
        });
    }
}

/// A round of the rotation, if the time of day can be relied upon: a key that is taken for over is gone for all nodes, and what it signed
/// with it. Who signs and who retires follows from the time also where no round writes it down.
async fn rotate(rotation: &KeyRotation, clock: &SteadyClock) {
    let Some(now) = clock.now() else { return };
    if let Err(error) = rotation.round(now).await {
        warn!(%error, "signing keys could not be rotated");
    }
}

/// What becomes of work that is still under way [`GRACE`] after the node was told to stop.
enum Late {
    /// It is cut off, and done later, by whoever takes it when its lease is over.
    IsCut,
    /// Mails that no server was told of yet are given up; the others end by themselves, in the time that a mail may take.
    GivesUp(Arc<MailDelivery>),
}

/// Waits for the end of a piece of work or, once the node stops, for [`GRACE`] at most.
async fn finish(shutdown: &CancellationToken, work: impl Future<Output = ()> + Send, late: &Late) {
    let too_late = async {
        shutdown.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let mut work = pin!(work);
    tokio::select! {
        biased;
        () = &mut work => return,
        () = too_late => {}
    }
    match late {
        Late::IsCut => warn!("a piece of work was cut off: it will be done again"),
        Late::GivesUp(delivery) => {
            delivery.stop();
            work.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_crypto::Sealer;
    use sluice_oauth::keys::{ID_TOKEN_SET, KeyRepository, KeyRing, RingOptions, RotationPolicy};
    use sluice_primitives::{Lifetime, ManualClock, NetworkId, NodeId, OsRng, Secret, Timestamp};
    use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};

    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_750_000_000);
    const POLICY: RotationPolicy = RotationPolicy {
        every: Some(Lifetime::hours(90 * 24)),
        announce_for: Lifetime::hours(2),
        retire_after: Lifetime::hours(32 * 24),
    };

    async fn store(clock: &Arc<ManualClock>) -> Arc<SqliteStore> {
        let options = StoreOptions::new(NodeId::generate(START, &OsRng), clock.clone(), Arc::new(OsRng));
        let store = SqliteStore::open(SqlitePath::Temporary, options).await.unwrap();
        store.migrate_up().await.unwrap();
        Arc::new(store)
    }

    async fn rotation(store: &Arc<SqliteStore>, clock: &Arc<ManualClock>) -> KeyRotation {
        let secrets = [Secret::new(b"a secret".to_vec())];
        let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets));
        let options = RingOptions { rotation: POLICY, ..RingOptions::default() };
        let ring = KeyRing::start_with(store.clone(), at_rest, Arc::new(OsRng), clock.clone(), options);
        KeyRotation::new(ring.await.unwrap())
    }

    #[tokio::test]
    async fn signing_keys_stay_as_they_are_while_the_time_of_day_jumps() {
        let clock = Arc::new(ManualClock::at(START));
        let store = store(&clock).await;
        let rotation = rotation(&store, &clock).await;
        let at_first = store.set(ID_TOKEN_SET).await.unwrap();
        let steady = SteadyClock::proven(clock.clone());
        clock.advance(Lifetime::hours(91 * 24));
        rotate(&rotation, &steady).await;
        assert_eq!(store.set(ID_TOKEN_SET).await.unwrap(), at_first, "ahead");
        rotate(&rotation, &SteadyClock::new(clock.clone())).await;
        assert_eq!(store.set(ID_TOKEN_SET).await.unwrap(), at_first, "after a start, who knows?");
        rotate(&rotation, &SteadyClock::proven(clock)).await;
        assert_eq!(store.set(ID_TOKEN_SET).await.unwrap().len(), 2 * at_first.len(), "successors");
    }
}
