//! Migrations: additive steps of the schema, each applied once however many processes start at the same time.
//!
//! All that is missing is applied in one transaction that begins by taking the write lock, so a second process finds it
//! done. A file that a newer version has migrated further is left as it is.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::Connection;
use sluice_commit::StoreError;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{NetworkId, Rng, Timestamp};
use tokio::time::Instant;

use crate::connection;
use crate::error::SqliteError;
use crate::store::SqliteStore;
use crate::writer::Write;

/// How long all that is missing may take: some of it goes through all rows of a table.
const PATIENCE: Duration = Duration::from_mins(10);
const TABLE: &str = include_str!("migrations/schema_migration.sql");
const TABLE_EXISTS: &str = include_str!("migrations/table_exists.sql");
const APPLIED: &str = include_str!("migrations/applied.sql");
const RECORD: &str = include_str!("migrations/record.sql");
const MAKE_NETWORK: &str = include_str!("migrations/make_network.sql");
const NETWORK: &str = include_str!("migrations/network.sql");
const IS_FOREIGN: &str = include_str!("migrations/is_foreign.sql");
const MISSING_COLUMNS: &str = include_str!("migrations/missing_columns.sql");

const MIGRATIONS: &[Migration] = &[
    required(1, "initial", include_str!("migrations/0001_initial.sql")),
    required(2, "device_and_trust", include_str!("migrations/0002_device_and_trust.sql")),
    required(3, "identities", include_str!("migrations/0003_identities.sql")),
    // A statement names its index (`INDEXED BY`).
    required(4, "notices_by_client", include_str!("migrations/0004_notices_by_client.sql")),
    optional(5, "consents_by_flow", include_str!("migrations/0005_consents_by_flow.sql")),
    optional(6, "upkeep", include_str!("migrations/0006_upkeep.sql")),
    required(7, "recovery_code_keys", include_str!("migrations/0007_recovery_code_keys.sql")),
    // What reads it comes to it after an import alone, which asks for it; the janitor looks whether it is there.
    optional(8, "hydra_tokens", include_str!("migrations/0008_hydra_tokens.sql")),
    required(9, "login_origins", include_str!("migrations/0009_login_origins.sql")),
    required(10, "required_factors", include_str!("migrations/0010_required_factors.sql")),
    // Who reads and writes it looks whether it is there.
    optional(11, "serving_nodes", include_str!("migrations/0011_serving_nodes.sql")),
];

struct Migration {
    version: u32,
    name: &'static str,
    sql: &'static str,
    is_required: bool,
}

/// One that a statement of this version fails without.
const fn required(version: u32, name: &'static str, sql: &'static str) -> Migration {
    Migration { version, name, sql, is_required: true }
}

/// One that statements are only faster with: a node may serve before it is applied.
const fn optional(version: u32, name: &'static str, sql: &'static str) -> Migration {
    Migration { version, name, sql, is_required: false }
}

/// One migration, and whether the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationStatus {
    /// Its place in the order.
    pub version: u32,
    /// What it is about.
    pub name: String,
    /// Whether this version knows it; else a later one has applied it.
    pub is_known: bool,
    /// Whether a statement of this version fails without it.
    pub is_required: bool,
    /// When it was applied; not yet if none.
    pub applied_at: Option<Timestamp>,
}

impl SqliteStore {
    /// Applies the migrations that are missing, and makes the network's id if there is none; how many it was.
    ///
    /// # Errors
    /// [`StoreError::Fault`] or [`StoreError::Refused`] if a statement fails: nothing was changed. [`StoreError::Unavailable`] if it takes
    /// longer than ten minutes.
    pub async fn migrate_up(&self) -> Result<usize, StoreError> {
        let rng = self.rng();
        self.write_until(Instant::now() + PATIENCE, move |write| up(write, &*rng)).await
    }

    /// All migrations that this program or the file knows of, in order.
    pub async fn migrate_status(&self) -> Result<Vec<MigrationStatus>, StoreError> {
        let stored = self.read(|read| {
            if has_migrations(|sql| read.row(sql, [], |_| Ok(())))? {
                read.rows(APPLIED, [], stored)
            } else {
                Ok(Vec::new())
            }
        });
        let known = MIGRATIONS.iter().map(|migration| MigrationStatus {
            version: migration.version,
            name: migration.name.to_owned(),
            is_known: true,
            is_required: migration.is_required,
            applied_at: None,
        });
        let mut all: BTreeMap<u32, MigrationStatus> = known.map(|status| (status.version, status)).collect();
        all.extend(stored.await?.into_iter().map(|status| (status.version, status)));
        Ok(all.into_values().collect())
    }

    /// The columns that statements of this version name and the tables do not have, each behind its table and a dot, and an index that one
    /// names: none once all required migrations are applied, unless a later version, or somebody, has changed the schema.
    pub async fn missing_columns(&self) -> Result<Vec<String>, StoreError> {
        self.read(|read| read.rows(MISSING_COLUMNS, [], |row| Ok(row.get(0)?))).await
    }

    /// The id of the network, made by the first migration.
    ///
    /// # Errors
    /// [`StoreError::Fault`] if the file was never migrated.
    pub async fn network_id(&self) -> Result<NetworkId, StoreError> {
        let id = self.read(|read| read.row(NETWORK, [], |row| Ok(NetworkId::from_bytes(row.get(0)?))));
        id.await?.ok_or_else(|| SqliteError::unreadable("the network has no id").into())
    }
}

fn up(write: &mut Write<'_>, rng: &dyn Rng) -> Result<usize, SqliteError> {
    write.connection().execute_batch(TABLE)?;
    let applied: Vec<u32> = write.rows(APPLIED, [], |row| Ok(row.get(0)?))?;
    let missing = MIGRATIONS.iter().filter(|migration| !applied.contains(&migration.version));
    let mut count = 0;
    for migration in missing {
        apply(write.connection(), migration, write.now())?;
        count += 1;
    }
    let network = NetworkId::from_uuid(uuid::Builder::from_random_bytes(random_bytes(rng)).into_uuid());
    write.insert("network", MAKE_NETWORK, [network.as_bytes()])?;
    Ok(count)
}

fn apply(connection: &Connection, migration: &Migration, now: Timestamp) -> Result<(), SqliteError> {
    connection.execute_batch(migration.sql)?;
    connection.execute(RECORD, (migration.version, migration.name, now.as_millis()))?;
    Ok(())
}

fn has_migrations(find: impl FnOnce(&str) -> Result<Option<()>, SqliteError>) -> Result<bool, SqliteError> {
    find(TABLE_EXISTS).map(|found| found.is_some())
}

fn stored(row: &rusqlite::Row<'_>) -> Result<MigrationStatus, SqliteError> {
    let version: u32 = row.get(0)?;
    let known = MIGRATIONS.iter().find(|migration| migration.version == version);
    Ok(MigrationStatus {
        version,
        name: row.get(1)?,
        is_known: known.is_some(),
        is_required: known.is_some_and(|migration| migration.is_required),
        applied_at: Some(crate::row::time(row, 2)?),
    })
}

/// Refuses a file whose table of migrations is not ours: other programs have one of this name, too.
pub(crate) fn refuse_foreign(connection: &Connection) -> Result<(), SqliteError> {
    let is_foreign = connection::row(connection, IS_FOREIGN, [], |_| Ok(()))?.is_some();
    if is_foreign { Err(SqliteError::Foreign) } else { Ok(()) }
}

/// Whether the file was ever migrated.
pub(crate) fn has_schema(connection: &Connection) -> Result<bool, SqliteError> {
    has_migrations(|sql| connection::row(connection, sql, [], |_| Ok(())))
}

/// The id of the network in this file; none if it was never migrated.
pub(crate) fn network(connection: &Connection) -> Result<Option<NetworkId>, SqliteError> {
    if !has_schema(connection)? {
        return Ok(None);
    }
    connection::row(connection, NETWORK, [], |row| Ok(NetworkId::from_bytes(row.get(0)?)))
}
