//! What goes on by itself: owned, bounded, ended with the node. Progress is in the store, so a crash repeats but never
//! loses.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use sluice_commit::{StoreError, chain};
use sluice_identity::hardening::HardeningWorker;
use sluice_identity::mail::MailDelivery;
use sluice_oauth::keys::KeyRotation;
use sluice_oauth::logout::LogoutDelivery;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use super::agreement::Agreement;
use super::hearing::Hearing;
use super::janitor::Janitor;
use super::lookout::Lookout;
use super::outage::Outage;
use super::pause::Pause;
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
/// How often it is said again for what reason it cannot.
const FEED_TOLD_EVERY: Duration = Duration::from_secs(10);
/// How long hardening is left alone after it panicked.
const HARDENING_BACK_OFF: Duration = Duration::from_secs(1);

/// The tasks of a node. A panic ends the round that it happens in and no task: none of them would be missed before it is too late.
pub(crate) struct Background {
    pub(crate) tasks: TaskTracker,
    pub(crate) shutdown: CancellationToken,
}

impl Background {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self { tasks: TaskTracker::new(), shutdown: CancellationToken::new() }
    }

    /// Ends all of it.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Ends all of it soon: who asks how the process is, and does not take the answer, holds nobody up.
    pub(crate) async fn stop_soon(self) {
        let _ = tokio::time::timeout(GRACE, self.stop()).await;
    }

    /// Follows the feed: revocations into memory, changes to caches.
    pub(crate) fn follow_feed(&self, hearing: Arc<Hearing>) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            shutdown.run_until_cancelled(follow(|| hear(&hearing))).await;
        });
    }

    /// Deletes what has expired, a little at a time.
    pub(crate) fn tidy(&self, janitor: Janitor) {
        let janitor = Arc::new(janitor);
        self.every(("janitor", JANITOR_EVERY), Late::IsCut, move || {
            let janitor = Arc::clone(&janitor);
            async move { janitor.tick().await }
        });
    }

    /// Delivers back-channel logout notices.
    pub(crate) fn deliver_logouts(&self, delivery: Arc<LogoutDelivery>) {
        let (shutdown, pause) = (self.shutdown.clone(), Arc::new(Pause::default()));
        self.every(("logout notices", OUTBOX_EVERY), Late::IsCut, move || {
            let (delivery, shutdown, pause) = (Arc::clone(&delivery), shutdown.clone(), Arc::clone(&pause));
            async move {
                if let Err(error) = pause.or(Box::pin(delivery.run(|| !shutdown.is_cancelled()))).await {
                    warn!(error = %chain(&error), "the outbox cannot be taken from");
                }
            }
        });
    }

    /// Sends mails. Once the node stops, what the mail server has been told of goes on until it is known what became of it:
    /// else it would be sent again.
    pub(crate) fn deliver_mails(&self, delivery: Arc<MailDelivery>) {
        let (shutdown, pause) = (self.shutdown.clone(), Arc::new(Pause::default()));
        self.every(("mails", OUTBOX_EVERY), Late::GivesUp(Arc::clone(&delivery)), move || {
            let (delivery, shutdown, pause) = (Arc::clone(&delivery), shutdown.clone(), Arc::clone(&pause));
            async move {
                if let Err(error) = pause.or(Box::pin(delivery.run(|| !shutdown.is_cancelled()))).await {
                    warn!(error = %chain(&error), "the outbox of mails cannot be taken from");
                }
            }
        });
    }

    /// Hardens the passwords of those who registered.
    pub(crate) fn harden(&self, worker: Arc<HardeningWorker>) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            while caught("hardening", worker.run(shutdown.cancelled())).await.is_none() {
                // What it had in hand is taken again when its lease has run out.
                let back_off = tokio::time::sleep(HARDENING_BACK_OFF);
                if shutdown.run_until_cancelled(back_off).await.is_none() {
                    break;
                }
            }
        });
    }

    /// Counts what waits to be hardened, where somebody else does it.
    pub(crate) fn count_unhardened(&self, worker: Arc<HardeningWorker>) {
        self.every(("hardening backlog", HardeningWorker::COUNT_EVERY), Late::IsCut, move || {
            let worker = Arc::clone(&worker);
            async move {
                if let Err(error) = worker.count().await {
                    warn!(error = %chain(&error), "the backlog of hardening cannot be counted");
                }
            }
        });
    }

    /// Asks the database what is shown to those who watch.
    pub(crate) fn look_out(&self, lookout: Arc<Lookout>) {
        self.every(("lookout", Lookout::EVERY), Late::IsCut, move || {
            let lookout = Arc::clone(&lookout);
            async move { lookout.round().await }
        });
    }

    /// Compares with other nodes what must be alike on all.
    pub(crate) fn agree(&self, agreement: Arc<Agreement>) {
        self.every(("agreement", Agreement::EVERY), Late::IsCut, move || {
            let agreement = Arc::clone(&agreement);
            async move { agreement.round().await }
        });
    }

    /// Leads signing keys through their life: announced, active, retiring, gone.
    pub(crate) fn rotate_keys(&self, rotation: Arc<KeyRotation>, clock: Arc<SteadyClock>) {
        self.every(("signing keys", KEYS_EVERY), Late::IsCut, move || {
            let (rotation, clock) = (Arc::clone(&rotation), Arc::clone(&clock));
            async move { rotate(&rotation, &clock).await }
        });
    }

    fn every<F: Future<Output = ()> + Send>(
        &self,
        (task, period): (&'static str, Duration),
        late: Late,
        work: impl Fn() -> F + Send + 'static,
    ) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            let mut ticks = tokio::time::interval(period);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
                finish(&shutdown, caught(task, work()).map(drop), &late).await;
            }
        });
    }
}

/// What comes of a piece of work; `None` if that was a panic, which is logged: the next round may go well.
async fn caught<T>(task: &'static str, work: impl Future<Output = T> + Send) -> Option<T> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    if done.is_err() {
        error!(task, "a task panicked: it goes on with its next round");
    }
    done.ok()
}

/// Hears the feed, for ever. While it cannot be read, the log says so now and then.
async fn follow<F: Future<Output = Result<(), StoreError>> + Send>(hear: impl Fn() -> F) {
    let outage = Outage::told_every(FEED_TOLD_EVERY);
    loop {
        match caught("feed", hear()).await {
            Some(Ok(())) if outage.is_over() => info!("the feed is read again"),
            Some(Ok(())) => {}
            Some(Err(error)) => {
                let why = chain(&error);
                if let Some(times) = outage.failed_for(&why) {
                    warn!(error = %why, times, "the feed cannot be read");
                }
                tokio::time::sleep(FEED_BACK_OFF).await;
            }
            None => tokio::time::sleep(FEED_BACK_OFF).await,
        }
    }
}

/// Reads what is new in the feed, and waits until something may be.
async fn hear(hearing: &Hearing) -> Result<(), StoreError> {
    hearing.catch_up().await?;
    hearing.wait().await;
    Ok(())
}

/// A round of the rotation, if the time of day can be relied upon: a key that is taken for over is gone for all nodes, and what it signed
/// with it. Who signs and who retires follows from the time also where no round writes it down.
async fn rotate(rotation: &KeyRotation, clock: &SteadyClock) {
    let Some(now) = clock.now() else { return };
    if let Err(error) = rotation.round(now).await {
        warn!(error = %chain(&error), "signing keys could not be rotated");
    }
    if let Err(error) = rotation.restore_request_object_keys().await {
        warn!(error = %chain(&error), "keys that request objects are encrypted to could not be made");
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
    use async_trait::async_trait;
    use sluice_crypto::Sealer;
    use sluice_oauth::client::ClientDirectory;
    use sluice_oauth::keys::{ID_TOKEN_SET, KeyRepository, KeyRing, RingOptions, RotationPolicy};
    use sluice_primitives::{Lifetime, ManualClock, NetworkId, NodeId, OsRng, Secret, Timestamp};
    use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};
    use sluice_testkit::Captured;
    use sluice_token::{Feed, FeedBatch, FeedFollower, FeedPosition, RevocationSet};
    use tokio::sync::watch;
    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    /// A feed that panics when it is read for the first time, and says how often it was read.
    struct Flawed(watch::Sender<u32>);

    #[async_trait]
    impl Feed for Flawed {
        async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
            self.0.send_modify(|reads| *reads += 1);
            assert!(*self.0.borrow() > 1, "the first time");
            Ok(FeedBatch { position: from.clone(), ..FeedBatch::default() })
        }

        async fn wait(&self) {
            tokio::task::yield_now().await;
        }
    }

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
    async fn a_round_that_panics_is_not_the_last() {
        let background = Background::new();
        let (told, mut heard) = watch::channel(0_u32);
        background.every(("test", Duration::from_millis(1)), Late::IsCut, move || {
            let told = told.clone();
            async move {
                told.send_modify(|rounds| *rounds += 1);
                assert!(*told.borrow() > 1, "the first round");
            }
        });
        heard.wait_for(|rounds| *rounds > 2).await.unwrap();
        background.stop().await;
    }

    #[tokio::test]
    async fn the_feed_is_read_again_after_a_panic() {
        let clock = Arc::new(ManualClock::at(START));
        let store = store(&clock).await;
        let at_rest =
            Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"a secret".to_vec())]));
        let keys = KeyRing::start(store.clone(), at_rest, Arc::new(OsRng), clock.clone()).await.unwrap();
        let (told, mut heard) = watch::channel(0_u32);
        let feed = Arc::new(Flawed(told));
        let follower = Arc::new(FeedFollower::new(feed, Arc::new(RevocationSet::default()), clock));
        let clients = Arc::new(ClientDirectory::new(store, 10));
        let background = Background::new();
        background.follow_feed(Arc::new(Hearing::new(Arc::clone(&follower), clients, keys)));
        heard.wait_for(|reads| *reads > 2).await.unwrap();
        background.stop().await;
        assert!(!follower.is_stale());
    }

    #[tokio::test(start_paused = true)]
    async fn that_the_feed_cannot_be_read_is_said_every_ten_seconds_and_for_another_reason_at_once() {
        let (log, _guard) = Captured::begin();
        let began = Instant::now();
        let hear = || async move {
            match began.elapsed().as_secs() {
                0..25 => return Err(StoreError::Busy),
                25..30 => return Err(StoreError::Unavailable(None)),
                _ => sleep(Duration::from_secs(1)).await,
            }
            Ok(())
        };
        assert!(timeout(Duration::from_secs(40), follow(hear)).await.is_err(), "it goes on");
        let said = log.lines("the feed cannot be read");
        let [first, .., last] = said.as_slice() else { panic!("{}", log.text()) };
        assert!(said.len() == 4 && said.iter().all(|line| line.contains("WARN")), "{said:?}");
        assert!(first.contains(&StoreError::Busy.to_string()) && first.ends_with("times=1"), "{first}");
        assert!(last.contains(&StoreError::Unavailable(None).to_string()), "{last}");
        let over = log.lines("the feed is read again");
        assert!(over.len() == 1 && over.concat().contains("INFO"), "{}", log.text());
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
