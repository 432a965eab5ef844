//! What the store says of people: read by a store of the test's own.

use std::sync::Arc;

use sluice_crypto::credential::{CredentialState, StoredCredential};
use sluice_identity::{Identity, IdentityRepository};
use sluice_primitives::{Clock, NetworkId, NodeId, OsRng};
use sluice_store_postgres::PostgresStore;
use sluice_store_sqlite::{SqlitePath, SqliteStore};
use sluice_testkit::TestSluice;

/// The store of a node, opened beside it.
pub(super) enum Records {
    Sqlite(Box<SqliteStore>),
    Postgres(Box<PostgresStore>),
}

impl Records {
    pub(super) async fn of(sluice: &TestSluice) -> Self {
        let (dsn, clock) = (&sluice.database.dsn, Arc::clone(&sluice.clock));
        let node = NodeId::generate(clock.now(), &OsRng);
        if let Some(path) = dsn.strip_prefix("sqlite:") {
            let options = sluice_store_sqlite::StoreOptions::new(node, clock, Arc::new(OsRng));
            let path = SqlitePath::File(path.into());
            return Self::Sqlite(Box::new(SqliteStore::open(path, options).await.unwrap()));
        }
        let options = sluice_store_postgres::StoreOptions::new(node, clock, Arc::new(OsRng));
        Self::Postgres(Box::new(PostgresStore::connect(dsn, options.with_connections(4)).await.unwrap()))
    }

    fn people(&self) -> &dyn IdentityRepository {
        match self {
            Self::Sqlite(store) => &**store,
            Self::Postgres(store) => &**store,
        }
    }

    /// Puts something that is no credential in the place of somebody's.
    pub(super) async fn spoil(&self, id: &str) {
        let identity = self.find(id).await;
        let replaced = self.people().replace_credential(identity.id, &identity.credential, "nonsense").await;
        assert!(replaced.unwrap());
    }

    /// The record with this id.
    pub(super) async fn find(&self, id: &str) -> Identity {
        self.people().find(id.parse().unwrap()).await.unwrap().expect("a record")
    }

    pub(super) async fn network(&self) -> NetworkId {
        match self {
            Self::Sqlite(store) => store.network_id().await.unwrap(),
            Self::Postgres(store) => store.network_id().await.unwrap(),
        }
    }

    pub(super) async fn close(self) {
        match self {
            Self::Sqlite(store) => store.shutdown().await,
            Self::Postgres(store) => store.shutdown().await,
        }
    }
}

/// The stored credential of somebody.
pub(super) async fn credential(sluice: &TestSluice, id: &str) -> String {
    let records = Records::of(sluice).await;
    let credential = records.find(id).await.credential;
    records.close().await;
    credential
}

/// What somebody has stored: its state and, where it is in the open, memory and passes of its hash.
pub(super) async fn kept(sluice: &TestSluice, id: &str) -> (CredentialState, Option<(u32, u32)>) {
    form(&credential(sluice, id).await)
}

/// The same of a credential that was read before.
pub(super) fn form(stored: &str) -> (CredentialState, Option<(u32, u32)>) {
    let parsed = StoredCredential::parse(stored).unwrap();
    let mark = match parsed.state() {
        CredentialState::Absent => "",
        CredentialState::Provisional => "p1$",
        CredentialState::Hardened => "h1$",
        CredentialState::Foreign => "f1$",
    };
    assert!(stored.starts_with(mark), "{:?} in another form", parsed.state());
    (parsed.state(), parsed.params().map(|params| (params.memory_kib(), params.passes())))
}
