//! CPU of processes and work of the database, before and after a run.
//!
//! [`Accountant::snapshot`] before and after, [`Accountant::costs`] between the two. `processes`: `/proc`. `postgres`:
//! PostgreSQL's own views. `storage`: rows and bytes. `rest`: waiting until nobody does anything. `resolution`: how well CPU is known.
//! [`machine`]: what it all ran on. [`build`]: how the program was built.

pub mod build;
pub mod machine;
mod postgres;
pub(crate) mod processes;
mod resolution;
mod rest;
mod storage;

use std::time::Duration;

use thiserror::Error;

use crate::target::{Keeper, Target, TargetError};
use postgres::Owner;
pub(crate) use postgres::{Postgres, demanded_tls, for_driver};
pub(crate) use resolution::Resolution;

pub use postgres::Work;
pub use rest::Rest;
pub use storage::Storage;

/// What a run cost, from one [`Accountant::snapshot`] to a later one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Of the server with its children, user and system. `None` if it is not on this machine.
    pub server_cpu: Option<Duration>,
    /// Of every process of the cluster, those that have ended too.
    pub postgres_cpu: Option<Duration>,
    /// Of this process.
    pub driver_cpu: Duration,
    /// From `pg_stat_statements`, where it is loaded.
    pub statements: Option<u64>,
    /// Transactions that wrote.
    pub commits: Option<u64>,
    /// Rows inserted, updated and deleted, from the write-ahead log itself, where `pg_walinspect` reads it.
    pub rows_written: Option<u64>,
    /// Bytes of write-ahead log.
    pub wal_bytes: Option<u64>,
}

impl Costs {
    /// CPU of server and database. `None` unless both are known: one of them alone would look like less.
    pub fn together(&self, keeper: Keeper) -> Option<Duration> {
        match keeper {
            Keeper::Server => self.server_cpu,
            Keeper::Others => Some(self.server_cpu? + self.postgres_cpu?),
        }
    }

    /// How well the CPU of server and database is known, as far as it is.
    pub(crate) fn resolution(&self) -> Option<Resolution> {
        let known = [self.server_cpu, self.postgres_cpu];
        known.into_iter().flatten().reduce(|one, other| one + other).map(Resolution::of)
    }
}

/// Why something is not accounted for.
#[derive(Debug, Error)]
pub enum AccountError {
    /// The database that was named does not answer.
    #[error("the database cannot be accounted for: {}", crate::target::told(.0))]
    Database(#[from] tokio_postgres::Error),
    /// `/proc` does not say.
    #[error("CPU cannot be accounted for: {0}")]
    Processes(#[from] procfs::ProcError),
}

impl From<AccountError> for TargetError {
    fn from(error: AccountError) -> Self {
        Self::Account(error.to_string())
    }
}

/// What was counted so far, by everything that counts.
#[derive(Debug, Clone)]
pub struct Snapshot {
    server_cpu: Option<Duration>,
    postgres_cpu: Option<Duration>,
    driver_cpu: Duration,
    /// The process above all others of PostgreSQL: another has other counters.
    postmaster: Option<u32>,
    work: Option<Work>,
}

/// Reads the counters of a target. Its own connection to PostgreSQL, its CPU and its statements are left out.
pub struct Accountant {
    server_pids: Vec<u32>,
    database_pid: Option<u32>,
    postgres: Option<Postgres>,
}

impl Accountant {
    /// Of this target.
    ///
    /// # Errors
    /// [`AccountError`] if its database cannot be asked.
    pub async fn new(target: &Target) -> Result<Self, AccountError> {
        let owner = if target.has_own_postgres() { Owner::Bench } else { Owner::SomebodyElse };
        let postgres = match &target.postgres {
            Some(dsn) => Some(Postgres::connect(dsn, owner).await?),
            None => None,
        };
        Ok(Self { server_pids: target.server_pids.clone(), database_pid: target.database_pid, postgres })
    }

    /// All counters, now. A PostgreSQL that cannot be asked any more counts nothing: what is known beside that is worth telling.
    ///
    /// # Errors
    /// [`AccountError`] if `/proc` cannot be read.
    pub async fn snapshot(&self) -> Result<Snapshot, AccountError> {
        // CPU first: what follows costs some.
        let server_cpu = processes::trees(&self.server_pids);
        let driver_cpu = processes::own()?;
        let (postgres_cpu, postmaster) = (self.postgres_cpu(), self.postmaster());
        let Some(postgres) = &self.postgres else {
            return Ok(Snapshot { server_cpu, postgres_cpu, driver_cpu, postmaster, work: None });
        };
        let work = postgres.work().await.inspect_err(|error| eprintln!("{error}")).ok();
        // The CPU of a connection that has ended is not known apart from the others'; that of a new one is.
        let (postgres_cpu, postmaster) = if postgres_cpu.is_some() {
            (postgres_cpu, postmaster)
        } else {
            (self.postgres_cpu(), self.postmaster())
        };
        Ok(Snapshot { server_cpu, postgres_cpu, driver_cpu, postmaster, work })
    }

    fn postgres_cpu(&self) -> Option<Duration> {
        let told = self.postgres.as_ref().and_then(Postgres::cpu);
        told.or_else(|| processes::trees(self.database_pid.as_slice()))
    }

    fn postmaster(&self) -> Option<u32> {
        self.postgres.as_ref().and_then(Postgres::postmaster)
    }

    /// What happened between two snapshots. Reads the write-ahead log of the time between for the rows.
    pub async fn costs(&self, before: &Snapshot, after: &Snapshot) -> Costs {
        let mut costs = after.since(before);
        if let (Some(postgres), Some(from), Some(to)) = (&self.postgres, &before.work, &after.work) {
            costs.rows_written = postgres.rows_between(from, to).await;
        }
        costs
    }

    /// Writes all that is dirty, so that the next change of each page logs all of it.
    ///
    /// # Errors
    /// [`AccountError`] if the database refuses.
    pub async fn checkpoint(&self) -> Result<(), AccountError> {
        match &self.postgres {
            Some(postgres) => postgres.execute("CHECKPOINT").await,
            None => Ok(()),
        }
    }

    /// PostgreSQL's version and the settings that matter: name and value. One that cannot be asked any more says that of itself.
    pub async fn database(&self) -> Vec<(String, String)> {
        let Some(postgres) = &self.postgres else { return Vec::new() };
        let told = postgres.describe().await;
        let told = told.unwrap_or_else(|error| vec![("PostgreSQL is gone".to_owned(), error.to_string())]);
        let unknown = self.postgres_cpu().is_none().then(|| postgres::unknown("CPU"));
        told.into_iter().chain(unknown).collect()
    }

    /// The connection, for what only PostgreSQL knows.
    pub(crate) const fn postgres(&self) -> Option<&Postgres> {
        self.postgres.as_ref()
    }
}

impl Snapshot {
    /// What happened since an earlier one, but for rows: [`Accountant::costs`] reads the log for them. PostgreSQL's statistics would tell
    /// those of another time, because a backend writes them down some seconds later.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Costs {
        // Counters that are behind have begun again meanwhile.
        let more = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        let took = |now: Option<Duration>, then: Option<Duration>| Some(now?.saturating_sub(then?));
        let work = |of: fn(&Work) -> Option<u64>| {
            more(self.work.as_ref().and_then(of), earlier.work.as_ref().and_then(of))
        };
        Costs {
            server_cpu: took(self.server_cpu, earlier.server_cpu),
            postgres_cpu: took(self.postgres_cpu, earlier.postgres_cpu)
                .filter(|_| self.postmaster == earlier.postmaster),
            driver_cpu: self.driver_cpu.saturating_sub(earlier.driver_cpu),
            statements: work(|work| work.statements),
            commits: work(|work| Some(work.transactions)),
            rows_written: None,
            wal_bytes: work(|work| Some(work.wal)),
        }
    }
}
