//! A file in a directory of its own, and nodes on it. Another process is played by a connection of the test's own.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use sluice_primitives::{GrantId, NodeId, OsRng, SystemClock, Timestamp};
use sluice_store_contract::{Fixture, Limits};
use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};
use tempfile::TempDir;

pub(crate) struct SqliteFixture {
    directory: TempDir,
    store: Arc<SqliteStore>,
}

/// The lock that another process holds.
pub(crate) struct Locked(Connection);

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.execute_batch("ROLLBACK").expect("the lock is held until now");
    }
}

pub(crate) fn options() -> StoreOptions {
    let node = NodeId::generate(Timestamp::from_secs(1), &OsRng);
    StoreOptions::new(node, Arc::new(SystemClock), Arc::new(OsRng))
}

/// Whether the engine finds everything in a file as it must be.
pub(crate) fn is_sound(path: &Path) -> bool {
    let file = Connection::open(path).unwrap();
    let found: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    found == "ok"
}

/// Makes a database that is not ours.
pub(crate) fn make_foreign(path: &Path) {
    Connection::open(path).unwrap().execute_batch("CREATE TABLE network (x)").unwrap();
}

/// The names of all files in a directory, in order.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

impl SqliteFixture {
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("sluice.db")
    }

    /// Where the file is.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A name in the same directory.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn another_process(&self) -> Connection {
        let connection = Connection::open(self.path()).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        connection
    }
}

impl Fixture for SqliteFixture {
    type Store = SqliteStore;
    type Stall = Locked;

    async fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let path = SqlitePath::File(directory.path().join("sluice.db"));
        let store = SqliteStore::open(path, options()).await.unwrap();
        store.migrate_up().await.unwrap();
        Self { directory, store: Arc::new(store) }
    }

    fn store(&self) -> Arc<SqliteStore> {
        self.store.clone()
    }

    async fn node_with(&self, limits: Limits) -> Arc<SqliteStore> {
        let depth = NonZeroUsize::new(limits.depth).unwrap();
        let options = StoreOptions { deadline: limits.deadline, depth, ..options() };
        Arc::new(SqliteStore::open(SqlitePath::File(self.path()), options).await.unwrap())
    }

    async fn stall(&self) -> Locked {
        let connection = self.another_process();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Locked(connection)
    }

    async fn poison(&self, grant: GrantId) {
        let trigger = format!(
            "CREATE TRIGGER poison BEFORE INSERT ON oauth_grant WHEN NEW.grant_id = x'{}'
             BEGIN SELECT RAISE(ABORT, 'the row is poisoned'); END",
            grant.as_uuid().simple()
        );
        self.another_process().execute_batch(&trigger).unwrap();
    }
}
