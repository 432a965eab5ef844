//! The lookout: what a process asks its database for those who watch it. Whether it answers, and since when mails and notices wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use sluice_commit::{StoreError, chain};
use sluice_primitives::{Clock, Timestamp};
use tracing::warn;

use super::health::{answered_within, ping};
use super::last_time::LastTime;
use super::stores::Stores;
use crate::observability::Metrics;

/// Of a time: nothing waits.
const NOTHING: i64 = i64::MIN;
/// In one of so many rounds it is asked since when mails and notices wait.
const ROUNDS_PER_COUNT: u32 = 3;
/// How long that may take. There is a next round.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was found out last.
pub(crate) struct Lookout {
    stores: Stores,
    clock: Arc<dyn Clock>,
    /// Whether it asks since when mails and notices wait.
    counts: bool,
    rounds: AtomicU32,
    answers: AtomicBool,
    answered: LastTime,
    mail: Oldest,
    notice: Oldest,
}

/// When the oldest was made of those that wait, in milliseconds.
struct Oldest(AtomicI64);

impl Lookout {
    /// How often it looks.
    pub(crate) const EVERY: Duration = Duration::from_secs(5);

    /// Of a database that was just opened.
    pub(crate) fn new(stores: Stores, clock: Arc<dyn Clock>) -> Self {
        let (answered, nothing) = (LastTime::default(), || Oldest(AtomicI64::new(NOTHING)));
        answered.note();
        let (rounds, answers) = (AtomicU32::new(0), AtomicBool::new(true));
        Self { stores, clock, counts: false, rounds, answers, answered, mail: nothing(), notice: nothing() }
    }

    /// The same, and it asks since when mails and notices wait.
    pub(crate) fn counting(self) -> Self {
        Self { counts: true, ..self }
    }

    /// Looks once. That the database does not answer, others say, who wanted something of it.
    pub(crate) async fn round(&self) {
        let answers = ping(&self.stores).await.is_ok();
        self.answers.store(answers, Relaxed);
        if !answers {
            return;
        }
        self.answered.note();
        let is_due = self.rounds.fetch_add(1, Relaxed).is_multiple_of(ROUNDS_PER_COUNT);
        if self.counts
            && is_due
            && let Err(error) = self.count().await
        {
            warn!(error = %chain(&error), "since when mails and logout notices wait cannot be read");
        }
    }

    async fn count(&self) -> Result<(), StoreError> {
        let both = async { tokio::try_join!(self.stores.oldest_mail(), self.stores.oldest_notice()) };
        let (mail, notice) = answered_within(PATIENCE, both).await?;
        self.mail.set(mail);
        self.notice.set(notice);
        Ok(())
    }

    /// Shows whether the database answers.
    pub(crate) fn show(self: &Arc<Self>, metrics: &Metrics) {
        let lookout = Arc::clone(self);
        show_ready(metrics, "database", move || lookout.answers.load(Relaxed));
        let lookout = Arc::clone(self);
        metrics.register_gauge_fn(
            "sluice_database_age_seconds",
            "How long ago the database answered",
            move || lookout.answered.age_seconds(),
        );
    }

    /// Shows how long logout notices wait, and mails where there are any.
    pub(crate) fn show_waiting(self: &Arc<Self>, metrics: &Metrics, has_mail: bool) {
        let lookout = Arc::clone(self);
        metrics.register_gauge_fn(
            "sluice_logout_oldest_seconds",
            "How long the oldest back-channel logout notice waits",
            move || lookout.notice.age_seconds(lookout.clock.now()),
        );
        if has_mail {
            let lookout = Arc::clone(self);
            metrics.register_gauge_fn(
                "sluice_mail_oldest_seconds",
                "How long the oldest mail waits",
                move || lookout.mail.age_seconds(lookout.clock.now()),
            );
        }
    }
}

impl Oldest {
    fn set(&self, made_at: Option<Timestamp>) {
        self.0.store(made_at.map_or(NOTHING, Timestamp::as_millis), Relaxed);
    }

    /// For how long it has waited, in seconds; none at all if nothing waits.
    fn age_seconds(&self, now: Timestamp) -> f64 {
        match self.0.load(Relaxed) {
            NOTHING => 0.0,
            millis => now.since(Timestamp::from_millis(millis)).as_duration().as_secs_f64(),
        }
    }
}

/// Shows whether something is there that a process must have to be ready.
pub(super) fn show_ready(
    metrics: &Metrics,
    check: &'static str,
    is_there: impl Fn() -> bool + Send + Sync + 'static,
) {
    metrics.register_gauge(
        "sluice_ready",
        "Whether what a process must have to be ready is there: 1, or 0",
        vec![("check", check.to_owned())],
        move || f64::from(u8::from(is_there())),
    );
}

#[cfg(test)]
mod tests {
    use sluice_identity::mail::{MailRepository, QueuedMail};
    use sluice_primitives::{AttemptId, Lifetime, ManualClock, NodeId, OsRng};
    use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};

    use super::*;
    use crate::app::node::BUILD;

    const START: Timestamp = Timestamp::from_secs(1_750_000_000);

    /// The value of a metric.
    fn value(metrics: &Metrics, name: &str) -> Option<f64> {
        let encoded = metrics.encode();
        let line = encoded.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    #[tokio::test]
    async fn it_shows_whether_the_database_answers_and_how_long_mails_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sluice.db");
        let clock = Arc::new(ManualClock::at(START));
        let options = StoreOptions::new(NodeId::generate(START, &OsRng), clock.clone(), Arc::new(OsRng));
        let store = Arc::new(SqliteStore::open(SqlitePath::File(path.clone()), options).await.unwrap());
        store.migrate_up().await.unwrap();
        let id = AttemptId::generate(START, &OsRng).as_uuid();
        store.queue(&QueuedMail { id, sealed: "a mail".to_owned(), due_at: START }).await.unwrap();
        clock.advance(Lifetime::minutes(10));
        let lookout = Arc::new(Lookout::new(Stores::Sqlite(store), clock).counting());
        let metrics = Metrics::new(BUILD);
        lookout.show(&metrics);
        lookout.show_waiting(&metrics, true);
        lookout.round().await;
        assert_eq!(value(&metrics, "sluice_ready{check=\"database\"}"), Some(1.0));
        assert!(value(&metrics, "sluice_database_age_seconds").unwrap() < 60.0);
        assert_eq!(value(&metrics, "sluice_mail_oldest_seconds"), Some(600.0));
        assert_eq!(value(&metrics, "sluice_logout_oldest_seconds"), Some(0.0));
        std::fs::rename(&path, directory.path().join("elsewhere.db")).unwrap();
        lookout.round().await;
        assert_eq!(value(&metrics, "sluice_ready{check=\"database\"}"), Some(0.0));
    }
}
