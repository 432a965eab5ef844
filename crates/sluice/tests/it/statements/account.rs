//! A database that keeps account of the statements that it is sent.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sluice_primitives::{Clock, ManualClock, SystemClock};
use sluice_testkit::postgres::{ClusterOptions, TemporaryDatabase};
use sluice_testkit::{Database, PrivateCluster, TestSluice};
use tokio_postgres::{Client, NoTls};

/// Every statement of the account has this in it, so that it can leave them out.
const CALLS: &str = "/* account */ SELECT s.query, sum(s.calls)::bigint FROM pg_stat_statements AS s \
    JOIN pg_database AS d ON d.oid = s.dbid WHERE d.datname = current_database() AND s.query NOT LIKE '%/* account */%' \
    GROUP BY s.query";
/// What a server does by itself every second or more often, by words that nothing else says.
const BACKGROUND: &[&str] = &[
    // The feed.
    "AS p (origin, counter)",
    // Work that is taken from a queue, and how much of it there is.
    "FOR UPDATE SKIP LOCKED",
    "FILTER (WHERE NOT dead",
    "AS waiting)",
    // What nodes say of themselves, once a minute.
    "serving_node",
    // A connection that is opened.
    "SET statement_timeout",
    "SET idle_in_transaction_session_timeout",
    "SET default_transaction_isolation",
    "SET plan_cache_mode",
    "SET enable_seqscan",
    "SET jit",
    // Whether its server still writes: see the feed's listener.
    "SHOW transaction_read_only",
    "SELECT pg_backend_pid()",
];
/// How often it is counted. What comes in one of these stretches and not in another is not of what is done there: a server looks
/// for expired rows once a minute.
pub(crate) const STRETCHES: usize = 3;

/// How many statements of which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) inserts: u64,
    pub(crate) updates: u64,
    pub(crate) reads: u64,
    /// Also transactions, and whatever does more than one thing.
    pub(crate) others: u64,
}

impl Sent {
    pub(crate) const NONE: Self = Self { inserts: 0, updates: 0, reads: 0, others: 0 };

    fn of(statements: &BTreeMap<String, u64>) -> Self {
        let mut sent = Self::NONE;
        for (query, calls) in statements {
            let words = query.lines().filter(|line| !line.trim_start().starts_with("--"));
            let text = words.collect::<Vec<_>>().join("\n").to_ascii_uppercase();
            let count = match text.split_whitespace().next() {
                Some("INSERT") => &mut sent.inserts,
                Some("UPDATE") => &mut sent.updates,
                Some("SELECT") => &mut sent.reads,
                _ => &mut sent.others,
            };
            *count += calls;
        }
        sent
    }
}

/// A database of its own, and a connection that asks it.
pub(crate) struct Account {
    database: Arc<Database>,
    client: Client,
    /// What was counted last, by text.
    last: Mutex<BTreeMap<String, u64>>,
}

impl Account {
    /// On a fresh database of a cluster that counts. A cluster of its own: in that of all tests there are more statements than
    /// are kept account of.
    pub(crate) async fn open() -> Self {
        let database = TemporaryDatabase::of(counting_cluster().await).await;
        let connected = tokio_postgres::connect(database.dsn(), NoTls).await;
        let (client, connection) = connected.expect("a connection");
        tokio::spawn(async move { drop(connection.await) });
        let make = "/* account */ CREATE EXTENSION pg_stat_statements";
        client.batch_execute(make).await.expect("PostgreSQL comes with pg_stat_statements");
        Self { database: Arc::new(Database::of(database)), client, last: Mutex::default() }
    }

    /// Where it is.
    pub(crate) fn dsn(&self) -> &str {
        &self.database.dsn
    }

    /// A node on it.
    pub(crate) async fn node(&self) -> TestSluice {
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        TestSluice::on(Arc::clone(&self.database), clock, &[]).await
    }

    /// What is sent while something is done so often, beside what a server does by itself.
    pub(crate) async fn of(&self, mut work: impl AsyncFnMut(), times: u64) -> Sent {
        let mut statements = self.stretch(&mut work, times).await;
        for _ in 1..STRETCHES {
            let again = self.stretch(&mut work, times).await;
            statements.retain(|query, calls| {
                *calls = again.get(query).copied().unwrap_or_default().min(*calls);
                *calls > 0
            });
        }
        let sent = Sent::of(&statements);
        *self.last.lock() = statements;
        sent
    }

    async fn stretch(&self, work: &mut impl AsyncFnMut(), times: u64) -> BTreeMap<String, u64> {
        let before = self.calls().await;
        for _ in 0..times {
            work().await;
        }
        let mut statements = self.calls().await;
        statements.retain(|query, calls| {
            *calls -= before.get(query).copied().unwrap_or_default();
            *calls > 0 && !BACKGROUND.iter().any(|words| query.contains(words))
        });
        statements
    }

    /// What was counted last, for the message of a failure.
    pub(crate) fn told(&self) -> String {
        format!("{:#?}", self.last.lock())
    }

    async fn calls(&self) -> BTreeMap<String, u64> {
        let rows = self.client.query(CALLS, &[]).await.expect("the account");
        rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1).unsigned_abs())).collect()
    }
}

async fn counting_cluster() -> &'static PrivateCluster {
    static CLUSTER: OnceLock<PrivateCluster> = OnceLock::new();
    let start = || {
        let options = ClusterOptions::of_tests().with_statements();
        CLUSTER.get_or_init(|| PrivateCluster::start_with(&options).expect("a private PostgreSQL"))
    };
    tokio::task::spawn_blocking(start).await.expect("a private PostgreSQL")
}
