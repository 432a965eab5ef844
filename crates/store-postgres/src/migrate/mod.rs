//! Migrations: additive, in order, each in a transaction of its own that begins by claiming its version. Whoever comes
//! second waits for the first and finds the version taken. Indexes that are there already under their names are taken as they are:
//! somebody has made them before, or `indexes` has, so that nobody had to wait.

mod indexes;

use std::time::Duration;

use sluice_commit::StoreError;
use sluice_primitives::{NetworkId, Timestamp};
use thiserror::Error;
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, Row};
use tracing::warn;

use crate::connection::{Session, first};
use crate::dialer::Dialer;
use crate::error::{Failure, Nature, column};
use crate::retry::Tries;

/// How long one migration may take, and how long all of them are tried again while the server answers, counted anew after each index that
/// `indexes` makes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

const MIGRATIONS: &[Migration] = &[
    required(1, "initial", include_str!("../migrations/0001_initial.sql")),
    required(2, "device_and_trust", include_str!("../migrations/0002_device_and_trust.sql")),
    required(3, "identities", include_str!("../migrations/0003_identities.sql")),
    optional(4, "grants_by_time", include_str!("../migrations/0004_grants_by_time.sql")),
    required(5, "upkeep", include_str!("../migrations/0005_upkeep.sql")),
    optional(6, "consents_by_flow", include_str!("../migrations/0006_consents_by_flow.sql")),
    optional(7, "consents_by_expiry", include_str!("../migrations/0007_consents_by_expiry.sql")),
    required(8, "recovery_code_keys", include_str!("../migrations/0008_recovery_code_keys.sql")),
    optional(9, "markers_by_time", include_str!("../migrations/0009_markers_by_time.sql")),
    optional(10, "former_markers", include_str!("../migrations/0010_former_markers.sql")),
    // What reads it comes to it after an import alone, which asks for it; the janitor looks whether it is there.
    optional(11, "hydra_tokens", include_str!("../migrations/0011_hydra_tokens.sql")),
    required(12, "login_origins", include_str!("../migrations/0012_login_origins.sql")),
    required(13, "required_factors", include_str!("../migrations/0013_required_factors.sql")),
    // Who reads and writes it looks whether it is there.
    optional(14, "serving_nodes", include_str!("../migrations/0014_serving_nodes.sql")),
];
/// Behind one who waits for a lock on a table, whoever wants to read it waits as well: so a migration gives up soon, and lets them go first
/// before it asks again. A backup may hold such a lock for hours.
const PATIENCE_BEFORE_A_LOCK: &str = "SET LOCAL lock_timeout = '1s'";
/// How long it lets others go first.
const BETWEEN_LOCKS: Duration = Duration::from_secs(2);
/// How long a server is waited for at least that goes away in the middle.
const A_RESTART: Duration = Duration::from_secs(5);
/// How the database keeps text, and how it must.
const ENCODING: &str = "SHOW server_encoding";
const UTF8: &str = "UTF8";
/// This one takes bytes as they come.
const AS_IT_COMES: &str = "SQL_ASCII";
const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migration (
    version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)";
/// The constraint that lets a version be claimed once.
const CLAIMS: &str = "schema_migration_pkey";
const CLAIM: &str = "INSERT INTO schema_migration (version, name, applied_at) VALUES ($1, $2, $3)";
const APPLIED: &str = "SELECT version, name, applied_at FROM schema_migration ORDER BY version";
/// The columns that statements name and the tables do not have: a later version, or somebody, has changed them.
pub(crate) const MISSING_COLUMNS: &str = include_str!("../migrations/missing_columns.sql");
/// The rights that statements of a node need and this role does not have.
pub(crate) const MISSING_RIGHTS: &str = include_str!("../migrations/missing_rights.sql");
const CREATE_NETWORK: &str =
    "INSERT INTO network (one, network_id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING";

/// A migration that this user may not apply.
#[derive(Debug, Error)]
#[error("{0}: migrations need the owner of the tables, with CREATE on their schema")]
struct NotTheOwner(Failure);

/// A role that may not even read which migrations are applied.
#[derive(Debug, Error)]
#[error(
    "{0}: the role of the DSN needs SELECT, INSERT, UPDATE and DELETE on all tables, and USAGE on their schema"
)]
struct WithoutRights(Failure);

/// A step of the schema.
struct Migration {
    version: i32,
    name: &'static str,
    sql: &'static str,
    is_required: bool,
}

/// One that a statement of this version fails without.
const fn required(version: i32, name: &'static str, sql: &'static str) -> Migration {
    Migration { version, name, sql, is_required: true }
}

/// One that statements are only faster with: a node may serve before it is applied.
const fn optional(version: i32, name: &'static str, sql: &'static str) -> Migration {
    Migration { version, name, sql, is_required: false }
}

/// A migration that this version knows, or that was applied by a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationStatus {
    /// Its place in the order.
    pub version: i32,
    /// What it is called.
    pub name: String,
    /// Whether this version knows it.
    pub is_known: bool,
    /// Whether a statement of this version fails without it.
    pub is_required: bool,
    /// When it was applied; none if it is not.
    pub applied_at: Option<Timestamp>,
}

/// How it is tried again.
struct Attempts {
    /// While others hold it up, or the server only reads.
    tries: Tries,
    /// How long a server is waited for that does not answer, or gives no connection.
    wait: Duration,
    /// Since when it is waited for.
    away_since: Option<Instant>,
}

impl Attempts {
    /// Attempts that wait so long for a server that is away, and in any case for one that is started again.
    fn waiting(wait: Duration) -> Self {
        Self { tries: Tries::at_the_start(PATIENCE), wait: wait.max(A_RESTART), away_since: None }
    }

    /// Returns when the next one is due.
    ///
    /// # Errors
    /// What failed, if trying again does not help or it is too late.
    async fn again(&mut self, failure: Failure) -> Result<(), StoreError> {
        let is_away = !failure.is_refusal_to_write() && !matches!(failure, Failure::Standby);
        if failure.nature() == Nature::Lost && is_away {
            let away_since = *self.away_since.get_or_insert_with(Instant::now);
            if away_since.elapsed() >= self.wait && !failure.is_mistake() {
                return Err(failure.into_store_error());
            }
        }
        self.tries.again(failure).await
    }
}

/// Applies what is not applied yet. A server that is away is waited for so long; `tell` hears, each time that it is tried again, why.
pub(crate) async fn up(
    dialer: &Dialer,
    (now, network): (Timestamp, NetworkId),
    wait: Duration,
    mut tell: impl FnMut(&StoreError),
) -> Result<(), StoreError> {
    let mut attempts = Attempts::waiting(wait);
    loop {
        match apply_all(dialer, now, network, &mut attempts).await {
            Ok(()) => return Ok(()),
            Err(failure) if failure.is_lack_of_rights() => {
                return Err(StoreError::refused(NotTheOwner(failure)));
            }
            Err(failure) => {
                let others_go_first = failure.is_lock_timeout() || matches!(failure, Failure::IndexUnderWay);
                let why = failure.clone().into_store_error();
                attempts.again(failure).await?;
                tell(&why);
                if others_go_first {
                    sleep(BETWEEN_LOCKS).await;
                }
            }
        }
    }
}

/// All migrations of this version, in order, and those that a later one has applied, if that is known by the end of these tries: a node that
/// starts asks for them.
pub(crate) async fn status(dialer: &Dialer, mut tries: Tries) -> Result<Vec<MigrationStatus>, StoreError> {
    loop {
        match read_status(dialer).await {
            Ok((status, encoding)) => {
                if let Some(encoding) = encoding {
                    warn!(
                        encoding = %encoding,
                        "the database keeps text as {encoding}, which has not all that people write: what it has no letters for is \
                         refused with 500; make another one, by CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and restore a \
                         dump of this one (pg_dump) into it"
                    );
                }
                return Ok(status);
            }
            Err(failure) if failure.is_lack_of_rights() => {
                return Err(StoreError::refused(WithoutRights(failure)));
            }
            Err(failure) => tries.again(failure).await?,
        }
    }
}

/// All migrations, and the encoding of the database, if it lacks letters. A new one that does is refused before somebody comes whose name it
/// cannot keep: whoever migrates or serves comes by here. One that is in use may have got by so far, and must not stop at an upgrade.
async fn read_status(dialer: &Dialer) -> Result<(Vec<MigrationStatus>, Option<String>), Failure> {
    let session = dialer.dial(None).await?;
    let asked = session.within(async { Ok(session.client().query(APPLIED, &[]).await?) }).await;
    let applied = match asked {
        Err(failure) if failure.is_unknown_table() => Vec::new(),
        // Other programs have a table of this name, too.
        Err(failure) if failure.is_unknown_column() => return Err(Failure::Foreign),
        applied => applied?,
    };
    let encoding = match lacking_encoding(&session).await? {
        Some(encoding) if applied.is_empty() => return Err(Failure::Encoding(encoding)),
        encoding => encoding,
    };
    Ok((status_of(&applied.iter().filter_map(noted).collect::<Vec<_>>()), encoding))
}

/// What a row says of a migration that was applied.
fn noted(row: &Row) -> Option<(i32, String, Timestamp)> {
    Some((column(row, 0).ok()?, column(row, 1).ok()?, Timestamp::from_millis(column(row, 2).ok()?)))
}

/// What these, which were applied, say of those that are known, in order, and behind them the others.
fn status_of(applied: &[(i32, String, Timestamp)]) -> Vec<MigrationStatus> {
    let known = MIGRATIONS.iter().map(|migration| MigrationStatus {
        version: migration.version,
        name: migration.name.to_owned(),
        is_known: true,
        is_required: migration.is_required,
        applied_at: applied.iter().find(|(version, ..)| *version == migration.version).map(|(.., at)| *at),
    });
    let is_known = |version: i32| MIGRATIONS.iter().any(|migration| migration.version == version);
    let others = applied.iter().filter(|(version, ..)| !is_known(*version));
    let others = others.map(|(version, name, at)| MigrationStatus {
        version: *version,
        name: name.clone(),
        is_known: false,
        is_required: false,
        applied_at: Some(*at),
    });
    known.chain(others).collect()
}

/// How the database keeps text, if it has not all letters so.
async fn lacking_encoding(session: &Session) -> Result<Option<String>, Failure> {
    let asked = async { Ok(session.client().simple_query(ENCODING).await?) };
    let answer = session.within(asked).await?;
    Ok(first(&answer).filter(|encoding| ![UTF8, AS_IT_COMES].contains(encoding)).map(str::to_owned))
}

async fn apply_all(
    dialer: &Dialer,
    now: Timestamp,
    network: NetworkId,
    attempts: &mut Attempts,
) -> Result<(), Failure> {
    let (status, _) = read_status(dialer).await?;
    if status.iter().all(|migration| migration.applied_at.is_some()) {
        return Ok(());
    }
    // Nobody is there who would wait for an index.
    let is_new = status.iter().all(|migration| migration.applied_at.is_none());
    let session = dialer.dial(None).await?;
    attempts.away_since = None;
    let client = session.client();
    match client.batch_execute(CREATE_TABLE).await.map_err(Failure::from) {
        // By another node at the same moment.
        Err(failure) if failure.is_duplicate() => {}
        created => created?,
    }
    for (migration, known) in MIGRATIONS.iter().zip(&status) {
        let is_applied = known.applied_at.is_some();
        if !is_applied && !is_new {
            indexes::make(client, migration.sql, &mut attempts.tries).await?;
        }
        apply(client, migration, now.as_millis(), network).await?;
    }
    Ok(())
}

async fn apply(client: &Client, migration: &Migration, now: i64, network: NetworkId) -> Result<(), Failure> {
    let Migration { version, name, sql, .. } = migration;
    client.batch_execute("BEGIN").await?;
    match client.execute(CLAIM, &[version, name, &now]).await.map_err(Failure::from) {
        // Another node's, or an earlier start's.
        Err(failure) if failure.is_duplicate_in(CLAIMS) => {
            return Ok(client.batch_execute("ROLLBACK").await?);
        }
        claimed => claimed?,
    };
    client.batch_execute(PATIENCE_BEFORE_A_LOCK).await?;
    client.batch_execute(sql).await?;
    if *version == 1 {
        client.execute(CREATE_NETWORK, &[&network.as_uuid()]).await?;
    }
    Ok(client.batch_execute("COMMIT").await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long it is tried again, if each attempt fails by this and one may wait for no server.
    async fn tried_for(failure: Failure) -> Duration {
        let began = Instant::now();
        let mut attempts = Attempts::waiting(Duration::ZERO);
        while attempts.again(failure.clone()).await.is_ok() {}
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_goes_away_has_the_time_of_a_restart_to_come_back() {
        let tried = tried_for(Failure::Unopened(A_RESTART)).await;
        assert!((A_RESTART..A_RESTART * 2).contains(&tried), "{tried:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_standby_is_waited_for_as_a_server_that_only_reads() {
        let tried = tried_for(Failure::Standby).await;
        assert!(tried + A_RESTART > PATIENCE && tried <= PATIENCE, "{tried:?}");
    }
}
