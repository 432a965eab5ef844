//! What PostgreSQL says about itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::types::PgLsn;
use tokio_postgres::{Client, NoTls, Row};

use super::{AccountError, processes};

/// Every statement of the accountant has this in it, so that it can leave them out.
macro_rules! own {
    ($sql:literal) => {
        concat!("/* sluice bench */ ", $sql)
    };
}
pub(super) use own;

/// The next transaction id is one that no transaction has asked for: only those that write do.
const COUNTERS: &str = own!(
    "SELECT pg_backend_pid(), pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_current_wal_insert_lsn(), \
     LEAST(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())"
);
const STATEMENTS: &str = own!(
    "SELECT COALESCE(sum(calls), 0)::bigint FROM pg_stat_statements AS s \
     JOIN pg_database AS d ON d.oid = s.dbid WHERE d.datname = current_database() AND s.query NOT LIKE '%/* sluice bench */%'"
);
const ROWS: &str = own!(
    "SELECT COALESCE(sum(count), 0)::bigint FROM pg_get_wal_stats($1, $2, true) \
     WHERE \"resource_manager/record_type\" ~ '^Heap/(INSERT|UPDATE|HOT_UPDATE|DELETE)'"
);
/// An error where there is no such function.
const MAY_READ_LOG: &str =
    own!("SELECT has_function_privilege('pg_get_wal_stats(pg_lsn, pg_lsn, boolean)', 'EXECUTE')");
const EXTENSION: &str = own!("SELECT 1 FROM pg_extension WHERE extname = $1");
const SETTINGS: &str = own!(
    "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('server_version', 'fsync', 'synchronous_commit', \
     'full_page_writes', 'shared_buffers', 'max_wal_size', 'wal_level', 'autovacuum', 'shared_preload_libraries') ORDER BY name"
);
/// Counts statements.
const STATEMENTS_EXTENSION: &str = "pg_stat_statements";
/// Reads the log.
const LOG_EXTENSION: &str = "pg_walinspect";
const PROGRAM: &str = "postgres";
/// Parameters of a DSN that a server understands and its driver does not: those of Hydra's pool, and some of libpq.
const NOT_OF_THE_DRIVER: &[&str] = &[
    "max_conns",
    "max_idle_conns",
    "max_conn_lifetime",
    "max_conn_idle_time",
    "sslrootcert",
    "sslcompression",
    "gssencmode",
    "fallback_application_name",
];

/// What a DSN may say of TLS to a connection that has none.
const WITHOUT_TLS: &[&str] = &["disable", "allow", "prefer"];

/// What a DSN says of TLS where it demands some.
pub(crate) fn demanded_tls(dsn: &str) -> Option<&str> {
    let (_, parameters) = dsn.split_once('?')?;
    let mut modes = parameters.split('&').filter_map(|parameter| parameter.strip_prefix("sslmode="));
    modes.find(|mode| !WITHOUT_TLS.contains(mode))
}

/// A DSN with what the driver understands of its parameters.
pub(crate) fn for_driver(dsn: &str) -> String {
    let (base, parameters) = dsn.split_once('?').unwrap_or((dsn, ""));
    let name = |parameter: &str| parameter.split_once('=').map_or(parameter, |(name, _)| name).to_owned();
    let kept: Vec<&str> = parameters
        .split('&')
        .filter(|parameter| !parameter.is_empty() && !NOT_OF_THE_DRIVER.contains(&name(parameter).as_str()))
        // Which it has no word for, and does anyway.
        .filter(|parameter| *parameter != "sslmode=allow")
        .collect();
    if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) }
}

/// Whose a database is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// It was made for the run.
    Bench,
    /// What it has is used, and nothing is changed in it.
    SomebodyElse,
}

/// What the database has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Statements, where `pg_stat_statements` is loaded.
    pub(super) statements: Option<u64>,
    /// Transactions that wrote, of the whole cluster.
    pub(super) transactions: u64,
    /// Bytes of write-ahead log, written or not.
    pub(super) wal: u64,
    /// Up to here the log is on disk.
    flushed: u64,
}

/// What asks: a connection, and another when that has ended.
pub(crate) struct Postgres {
    dsn: String,
    owner: Owner,
    link: Mutex<Arc<Link>>,
}

impl Postgres {
    pub(super) async fn connect(dsn: &str, owner: Owner) -> Result<Self, AccountError> {
        let link = Mutex::new(Arc::new(Link::connect(dsn, owner).await?));
        Ok(Self { dsn: dsn.to_owned(), owner, link })
    }

    /// The connection as it is, ended or not.
    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.link.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The connection; a new one, if that has ended.
    async fn alive(&self) -> Result<Arc<Link>, AccountError> {
        let link = self.link();
        if !link.client.is_closed() {
            return Ok(link);
        }
        let link = Arc::new(Link::connect(&self.dsn, self.owner).await?);
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&link);
        Ok(link)
    }

    /// Of all processes of the cluster but the one of this connection.
    pub(super) fn cpu(&self) -> Option<Duration> {
        self.link().cpu()
    }

    /// The process above all others, if it is on this machine.
    pub(super) fn postmaster(&self) -> Option<u32> {
        self.link().processes.map(|(_, postmaster)| postmaster)
    }

    /// What it has done so far. That a connection has ended may be known only when it is asked, so that it is asked twice then.
    ///
    /// # Errors
    /// [`AccountError`] if it cannot be asked by another connection either.
    pub(super) async fn work(&self) -> Result<Work, AccountError> {
        match self.alive().await?.work().await {
            Err(_) => self.alive().await?.work().await,
            done => done,
        }
    }

    /// Rows written between two moments, from the log itself; `None` if it cannot be read, or not so far back.
    pub(super) async fn rows_between(&self, from: &Work, to: &Work) -> Option<u64> {
        self.link().rows_between(from, to).await
    }

    pub(super) async fn execute(&self, sql: &str) -> Result<(), AccountError> {
        self.alive().await?.execute(sql).await
    }

    pub(super) async fn describe(&self) -> Result<Vec<(String, String)>, AccountError> {
        self.alive().await?.describe().await
    }
}

/// A connection that asks.
pub(crate) struct Link {
    client: Client,
    connection: JoinHandle<()>,
    /// The process of this connection, and the one above it, if they are on this machine.
    processes: Option<(i32, u32)>,
    counts_statements: bool,
    /// Reads the log record by record.
    reads_log: bool,
}

impl Link {
    async fn connect(dsn: &str, owner: Owner) -> Result<Self, AccountError> {
        let (client, connection) = tokio_postgres::connect(&for_driver(dsn), NoTls).await?;
        let connection = tokio::spawn(async move { drop(connection.await) });
        let mut postgres =
            Self { client, connection, processes: None, counts_statements: false, reads_log: false };
        let pid: i32 = postgres.counters().await?.get(0);
        postgres.processes = processes::parent_named(pid, PROGRAM).map(|postmaster| (pid, postmaster));
        if owner == Owner::Bench {
            postgres.make_extensions().await;
        }
        postgres.counts_statements =
            postgres.has(STATEMENTS_EXTENSION).await && postgres.statements().await.is_ok();
        postgres.reads_log = postgres.may_read_log().await;
        Ok(postgres)
    }

    /// As far as they are installed.
    async fn make_extensions(&self) {
        for extension in [STATEMENTS_EXTENSION, LOG_EXTENSION] {
            drop(self.execute(&format!("CREATE EXTENSION IF NOT EXISTS {extension}")).await);
        }
    }

    /// Whether an extension is there.
    async fn has(&self, extension: &str) -> bool {
        self.client.query_opt(EXTENSION, &[&extension]).await.is_ok_and(|row| row.is_some())
    }

    /// Whether the extension is there, and whoever connects may use it.
    async fn may_read_log(&self) -> bool {
        self.client.query_one(MAY_READ_LOG, &[]).await.is_ok_and(|row| row.get(0))
    }

    async fn counters(&self) -> Result<Row, tokio_postgres::Error> {
        self.client.query_one(COUNTERS, &[]).await
    }

    async fn statements(&self) -> Result<u64, tokio_postgres::Error> {
        Ok(self.client.query_one(STATEMENTS, &[]).await?.get::<_, i64>(0).unsigned_abs())
    }

    fn cpu(&self) -> Option<Duration> {
        let (own, postmaster) = self.processes?;
        Some(processes::trees(&[postmaster])?.saturating_sub(processes::one(own)?))
    }

    async fn work(&self) -> Result<Work, AccountError> {
        let counters = self.counters().await?;
        let number = |column: usize| counters.get::<_, i64>(column).unsigned_abs();
        let position = |column: usize| u64::from(counters.get::<_, PgLsn>(column));
        Ok(Work {
            statements: if self.counts_statements { Some(self.statements().await?) } else { None },
            transactions: number(1),
            wal: position(2),
            flushed: position(3),
        })
    }

    async fn rows_between(&self, from: &Work, to: &Work) -> Option<u64> {
        if !self.reads_log || self.client.is_closed() {
            return None;
        }
        if from.flushed >= to.flushed {
            return Some(0);
        }
        let (from, to) = (PgLsn::from(from.flushed), PgLsn::from(to.flushed));
        let counted = self.client.query_one(ROWS, &[&from, &to]).await;
        let counted = counted.inspect_err(|error| {
            eprintln!("the rows of the run are not known: {}", crate::target::told(error));
        });
        counted.ok().map(|row| row.get::<_, i64>(0).unsigned_abs())
    }

    async fn execute(&self, sql: &str) -> Result<(), AccountError> {
        Ok(self.client.batch_execute(&format!("/* sluice bench */ {sql}")).await?)
    }

    /// The connection itself.
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    async fn describe(&self) -> Result<Vec<(String, String)>, AccountError> {
        let rows = self.client.query(SETTINGS, &[]).await?;
        let settings: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let version = settings.iter().find(|(name, _)| name == "server_version");
        let version = version.map_or("unknown", |(_, version)| version.as_str()).to_owned();
        let told: Vec<_> = settings
            .iter()
            .filter(|(name, value)| name != "server_version" && !value.is_empty())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let statements = (!self.counts_statements).then(|| unknown("statements"));
        let rows = if self.reads_log {
            ("rows written".to_owned(), "counted in the log".to_owned())
        } else {
            unknown("rows written (needs pg_walinspect)")
        };
        Ok([("PostgreSQL".to_owned(), version), ("settings of PostgreSQL".to_owned(), told.join(", "))]
            .into_iter()
            .chain([rows])
            .chain(statements)
            .collect())
    }
}

/// What is not known of it, for the report.
pub(super) fn unknown(what: &str) -> (String, String) {
    ("PostgreSQL does not say".to_owned(), what.to_owned())
}

impl Drop for Link {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Snapshot;
    use super::*;

    /// What was counted when so much was done under a postmaster.
    fn counted(postmaster: u32, done: u64) -> Snapshot {
        let cpu = Some(Duration::from_millis(done));
        let work = Work { statements: Some(done), transactions: done, wal: done, flushed: done };
        Snapshot {
            server_cpu: cpu,
            postgres_cpu: cpu,
            driver_cpu: Duration::ZERO,
            postmaster: Some(postmaster),
            work: Some(work),
        }
    }

    #[test]
    fn counters_that_have_begun_again_tell_nothing() {
        let told = |costs: super::super::Costs| {
            let millis = |cpu: Option<Duration>| cpu.map(|cpu| cpu.as_millis());
            (millis(costs.server_cpu), millis(costs.postgres_cpu), costs.statements)
        };
        let before = counted(7, 100);
        assert_eq!(told(counted(7, 150).since(&before)), (Some(50), Some(50), Some(50)));
        assert_eq!(told(counted(8, 150).since(&before)), (Some(50), None, Some(50)), "another postmaster");
        assert_eq!(told(counted(8, 20).since(&before)), (Some(0), None, None));
        let gone = Snapshot { postgres_cpu: None, work: None, ..counted(7, 150) };
        assert_eq!(told(gone.since(&before)), (Some(50), None, None), "it cannot be asked any more");
        assert_eq!(counted(7, 150).since(&before).rows_written, None, "only the log knows");
    }

    #[test]
    fn a_dsn_that_was_written_for_hydra_is_understood() {
        let dsn = for_driver("postgres://u@db:5433/d?max_conns=20&sslmode=disable&max_idle_conns=4");
        assert_eq!(dsn, "postgres://u@db:5433/d?sslmode=disable");
        assert!(dsn.parse::<tokio_postgres::Config>().is_ok());
        assert_eq!(for_driver("postgres://u@db/d?max_conns=20"), "postgres://u@db/d");
        assert_eq!(for_driver("postgres://u@db/d"), "postgres://u@db/d");
        assert_eq!(for_driver("postgres://u@db/d?sslmode=allow"), "postgres://u@db/d");
    }

    #[test]
    fn a_dsn_that_demands_tls_is_told_from_one_that_does_without() {
        for mode in ["require", "verify-ca", "verify-full"] {
            let dsn = format!("postgres://u@db/d?max_conns=9&sslmode={mode}");
            assert_eq!(demanded_tls(&dsn), Some(mode));
        }
        for said in ["", "?sslmode=disable", "?sslmode=allow", "?sslmode=prefer&max_conns=9"] {
            assert_eq!(demanded_tls(&format!("postgres://u@db/d{said}")), None, "{said}");
        }
    }
}
