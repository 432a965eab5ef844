//! The database under the server: a private PostgreSQL, or what a DSN names.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use sluice_private_postgres::{ClusterOptions, PrivateCluster, disk};
use tokio::time::timeout;
use tokio_postgres::{Config, NoTls};

use super::process::{is_there, kill_now};
use super::shown::without_passwords;
use super::{TargetError, told};
use crate::account::for_driver;
use crate::account::processes::tree;

/// A new postmaster does not start while the old one has an entry in the table of processes.
const GONE_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Every host of a PostgreSQL that is there answers within this time.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// The same of its address, unless the DSN says how long.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
const NAME: &str = "sluice";

/// What the server stores into.
pub(super) struct Database {
    dsn: String,
    cluster: Option<PrivateCluster>,
    told: String,
}

impl Database {
    /// What the DSN names; a private PostgreSQL without one.
    pub(super) async fn of(dsn: Option<&str>, folder: &Path) -> Result<Self, TargetError> {
        let Some(dsn) = dsn else { return Self::private().await };
        let given = |dsn: String, told: &str| Ok(Self { dsn, cluster: None, told: told.to_owned() });
        if is_postgres(dsn) {
            answered(dsn).await?;
            return given(dsn.to_owned(), "PostgreSQL, as given");
        }
        match dsn.split_once(':') {
            Some(("sqlite", "" | "//")) => {
                let file = folder.join("sluice.db");
                given(format!("sqlite:{}", file.display()), "SQLite, a file of this run")
            }
            Some(("sqlite", _)) => given(dsn.to_owned(), "SQLite, as given"),
            _ => Err(TargetError::UnknownDsn(without_passwords(dsn))),
        }
    }

    async fn private() -> Result<Self, TargetError> {
        let mut options = ClusterOptions::stock().with_statements();
        options.below = disk();
        for durable in ["fsync", "synchronous_commit", "full_page_writes"] {
            options = options.with(durable, "on");
        }
        let started = tokio::task::spawn_blocking(move || PrivateCluster::start_with(&options));
        let cluster = started.await.map_err(std::io::Error::other)??;
        let (client, connection) = tokio_postgres::connect(&cluster.dsn("postgres"), NoTls).await?;
        let connection = tokio::spawn(connection);
        let made = client.batch_execute(&format!("CREATE DATABASE {NAME}")).await;
        connection.abort();
        made?;
        let set: Vec<_> = cluster.settings().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let told = format!("private PostgreSQL as it ships, with {}", set.join(", "));
        Ok(Self { dsn: cluster.dsn(NAME), cluster: Some(cluster), told })
    }

    pub(super) fn dsn(&self) -> &str {
        &self.dsn
    }

    /// Whether it was started here.
    pub(super) const fn is_own(&self) -> bool {
        self.cluster.is_some()
    }

    /// Whether it is a PostgreSQL that was there before, and is there afterwards.
    pub(super) fn is_given_postgres(&self) -> bool {
        !self.is_own() && self.postgres().is_some()
    }

    /// The DSN, if it is one of PostgreSQL.
    pub(super) fn postgres(&self) -> Option<&str> {
        Some(self.dsn.as_str()).filter(|dsn| is_postgres(dsn))
    }

    pub(super) fn settings(&self) -> Vec<(String, String)> {
        vec![("database".to_owned(), self.told.clone())]
    }

    /// SIGKILL of the postmaster and all its children; returns when they are gone.
    pub(super) fn kill(&self) -> Result<(), TargetError> {
        let cluster = self.cluster.as_ref().ok_or(TargetError::Foreign)?;
        let postmaster = cluster.postmaster().ok_or(TargetError::Foreign)?;
        // The root first: what it would start meanwhile is started no more.
        let members: Vec<_> =
            tree(postmaster).into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect();
        members.iter().copied().for_each(kill_now);
        let began = Instant::now();
        while members.iter().any(|pid| is_there(*pid)) && began.elapsed() < GONE_WITHIN {
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    pub(super) fn start_again(&self) -> Result<(), TargetError> {
        Ok(self.cluster.as_ref().ok_or(TargetError::Foreign)?.start_again()?)
    }
}

/// Whether somebody answers there: a server that is started on it would wait for that for long. Whatever else is the matter with a DSN, it
/// says at once.
async fn answered(dsn: &str) -> Result<(), TargetError> {
    let Ok(mut config) = for_driver(dsn).parse::<Config>() else { return Ok(()) };
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECTS_WITHIN);
    }
    let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX).max(1);
    let patience = ANSWERS_WITHIN.saturating_mul(hosts);
    match timeout(patience, config.connect(NoTls)).await {
        Ok(Err(error)) if error.source().is_some_and(<dyn Error>::is::<io::Error>) => {
            Err(TargetError::Unreachable(told(&error)))
        }
        Ok(_) => Ok(()),
        Err(_) => Err(TargetError::Unreachable(format!("no answer within {} s", patience.as_secs()))),
    }
}

/// Whether a DSN is one of PostgreSQL.
pub(crate) fn is_postgres(dsn: &str) -> bool {
    dsn.starts_with("postgres://") || dsn.starts_with("postgresql://")
}

/// Whether a DSN is one of SQLite.
pub(crate) fn is_sqlite(dsn: &str) -> bool {
    dsn.starts_with("sqlite:")
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_database_where_nobody_listens_is_told_before_a_server_waits_for_it() {
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let refused = answered(&format!("postgres://nobody@{gone}/x?max_conns=9")).await.unwrap_err();
        let said = refused.to_string();
        assert!(
            said.starts_with("the database that --dsn names cannot be reached: error connecting"),
            "{said}"
        );
        assert!(said.contains("refused"), "{said}");
    }

    #[tokio::test]
    async fn what_only_the_server_understands_of_a_dsn_is_for_the_server() {
        assert!(answered("postgres://nobody@127.0.0.1:port/x").await.is_ok());
    }
}
