//! What is stored: read from PostgreSQL, past the server.

use std::collections::HashMap;

use tokio_postgres::{Client, NoTls};

/// Names and records, side by side where they belong together.
const ALL: &str = "SELECT i.identity_id::text, l.identity_id::text, i.email, i.credential, i.hardening_due \
    FROM identity AS i FULL JOIN login_name AS l ON l.name_hash = i.login_name";
const WAITING: &str = "SELECT count(*) FROM identity WHERE hardening_due IS NOT NULL";
const LEASED: &str =
    "SELECT count(*) FROM identity WHERE hardening_due > (extract(epoch FROM now()) * 1000)::bigint";
const CONNECTIONS: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE datname = current_database() AND application_name = 'sluice'";
const HARDENED: &str = "SELECT identity_id::text, credential FROM identity WHERE hardening_due IS NULL";

/// A record.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) credential: String,
    pub(super) waits: bool,
}

impl Row {
    pub(super) fn is_provisional(&self) -> bool {
        self.credential.starts_with("p1$")
    }

    pub(super) fn is_hardened(&self) -> bool {
        self.credential.starts_with("h1$")
    }
}

/// A connection to the database.
pub(super) struct Rows(Client);

impl Rows {
    pub(super) async fn of(dsn: &str) -> Self {
        Self::connect(dsn).await.expect("a connection")
    }

    async fn connect(dsn: &str) -> Result<Self, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(dsn, NoTls).await?;
        tokio::spawn(connection);
        Ok(Self(client))
    }

    /// Everybody, by address. No name is without its record, no record without its name.
    pub(super) async fn everybody(&self) -> HashMap<String, Row> {
        let rows = self.0.query(ALL, &[]).await.expect("rows");
        let mut all = HashMap::new();
        for row in rows {
            let (id, named): (Option<String>, Option<String>) = (row.get(0), row.get(1));
            assert!(id.is_some() && id == named, "half a registration: record {id:?}, name of {named:?}");
            let due: Option<i64> = row.get(4);
            let read = Row { id: id.unwrap(), credential: row.get(3), waits: due.is_some() };
            let address: String = row.get(2);
            assert!(all.insert(address, read).is_none(), "two records of one address");
        }
        all
    }

    /// How many wait to be hardened, or are taken.
    pub(super) async fn waiting(&self) -> i64 {
        self.count(WAITING).await
    }

    /// How many a worker has taken.
    pub(super) async fn leased(&self) -> i64 {
        self.count(LEASED).await
    }

    /// How many connections servers and workers have.
    pub(super) async fn connections(&self) -> i64 {
        self.count(CONNECTIONS).await
    }

    async fn count(&self, statement: &str) -> i64 {
        self.0.query_one(statement, &[]).await.expect("a number").get(0)
    }
}

/// What each hardened credential was when it was first seen. It never changes again: nothing is hardened twice.
#[derive(Default)]
pub(super) struct Seen(HashMap<String, String>);

impl Seen {
    /// Looks again; while there is no database, not at all.
    pub(super) async fn look(&mut self, dsn: &str) {
        let Ok(rows) = Rows::connect(dsn).await else { return };
        let Ok(hardened) = rows.0.query(HARDENED, &[]).await else { return };
        for row in hardened {
            let (id, credential): (String, String) = (row.get(0), row.get(1));
            assert!(credential.starts_with("h1$"), "{id} does not wait, and is not hardened");
            let first = self.0.entry(id.clone()).or_insert_with(|| credential.clone());
            assert_eq!(*first, credential, "{id} was hardened twice");
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
