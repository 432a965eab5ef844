//! A database of its own for each test, and nodes on it.

use std::sync::Arc;
use std::time::Duration;

use sluice_primitives::{GrantId, NodeId, OsRng, SystemClock, Timestamp};
use sluice_store_contract::{Fixture, Limits};
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_testkit::PrivateCluster;
use sluice_testkit::postgres::TemporaryDatabase;
use tokio_postgres::{Client, NoTls};

/// A migrated database and its first node.
pub(crate) struct PostgresFixture {
    store: Arc<PostgresStore>,
    database: TemporaryDatabase,
}

/// A database that is not migrated.
pub(crate) async fn database() -> TemporaryDatabase {
    TemporaryDatabase::of(PrivateCluster::shared().await).await
}

/// Options of a new node.
pub(crate) fn options() -> StoreOptions {
    let node = NodeId::generate(Timestamp::default(), &OsRng);
    let options = StoreOptions::new(node, Arc::new(SystemClock), Arc::new(OsRng));
    StoreOptions { deadline: Duration::from_secs(20), ..options }
}

/// A new node on a database.
pub(crate) async fn node(dsn: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(dsn, options()).await.unwrap())
}

/// A connection beside the store.
pub(crate) async fn connection(dsn: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(dsn, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl PostgresFixture {
    /// The DSN of the database.
    pub(crate) fn dsn(&self) -> &str {
        self.database.dsn()
    }

    /// The name of the database.
    pub(crate) fn name(&self) -> &str {
        self.database.name()
    }
}

impl Fixture for PostgresFixture {
    type Store = PostgresStore;
    type Stall = Client;

    async fn start() -> Self {
        let database = database().await;
        let store = node(database.dsn()).await;
        store.migrate_up().await.unwrap();
        Self { store, database }
    }

    fn store(&self) -> Arc<PostgresStore> {
        self.store.clone()
    }

    async fn node_with(&self, limits: Limits) -> Arc<PostgresStore> {
        let options =
            StoreOptions { deadline: limits.deadline, depth: limits.depth.try_into().unwrap(), ..options() };
        Arc::new(PostgresStore::connect(self.dsn(), options).await.unwrap())
    }

    async fn stall(&self) -> Client {
        let client = connection(self.dsn()).await;
        client.batch_execute("BEGIN; LOCK TABLE oauth_grant IN EXCLUSIVE MODE").await.unwrap();
        client
    }

    async fn poison(&self, grant: GrantId) {
        let sql = format!("ALTER TABLE oauth_grant ADD CHECK (grant_id <> '{grant}')");
        connection(self.dsn()).await.batch_execute(&sql).await.unwrap();
    }
}
