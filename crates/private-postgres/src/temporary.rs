//! A database for one test: hundreds of them, left behind, would be gigabytes.

use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::PrivateCluster;

/// A fresh, empty database of a cluster that lives as long as the process. It is dropped soon after this is, whoever is connected to
/// it, and nobody waits for that.
#[derive(Debug)]
pub struct TemporaryDatabase {
    cluster: &'static PrivateCluster,
    name: String,
    dsn: String,
}

impl TemporaryDatabase {
    /// A fresh one.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn of(cluster: &'static PrivateCluster) -> Self {
        let name = cluster.create_database().await;
        let dsn = cluster.dsn(&name);
        Self { cluster, name, dsn }
    }

    /// Its DSN.
    pub fn dsn(&self) -> &str {
        &self.dsn
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for TemporaryDatabase {
    fn drop(&mut self) {
        // If the thread is gone, the database stays until the cluster goes.
        drop(undertaker().send((self.cluster, std::mem::take(&mut self.name))));
    }
}

type Doomed = (&'static PrivateCluster, String);

/// A thread that drops one after the other: each time the server brings to the disk what is not there yet.
fn undertaker() -> &'static Sender<Doomed> {
    static UNDERTAKER: OnceLock<Sender<Doomed>> = OnceLock::new();
    UNDERTAKER.get_or_init(|| {
        let (undertaker, doomed) = channel::<Doomed>();
        thread::spawn(move || {
            for (cluster, name) in doomed {
                cluster.drop_database(&name);
            }
        });
        undertaker
    })
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(90);

    async fn until(mut ready: impl FnMut() -> bool) {
        let began = Instant::now();
        while !ready() {
            assert!(began.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn a_database_goes_with_the_test_that_needed_it_though_somebody_is_connected() {
        let cluster = PrivateCluster::shared().await;
        let (database, other) = (TemporaryDatabase::of(cluster).await, TemporaryDatabase::of(cluster).await);
        let name = database.name().to_owned();
        let succeeds = |within: &str, sql: &str| {
            let output = cluster.psql(within, sql).output().unwrap();
            output.status.success()
        };
        let mut sleeper = cluster.psql(&name, "SELECT pg_sleep(3600)");
        let mut sleeper = sleeper.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Nobody there: that is a division by zero.
        let is_connected = format!("SELECT 1 / count(*) FROM pg_stat_activity WHERE datname = '{name}'");
        until(|| succeeds("postgres", &is_connected)).await;
        drop(database);
        until(|| !succeeds(&name, "SELECT 1")).await;
        assert!(!sleeper.wait().unwrap().success());
        assert!(succeeds(other.name(), "SELECT 1"));
    }
}
