//! How an installation is opened: its database, and the secrets that belong to it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sluice_commit::{StoreError, chain};
use sluice_primitives::{Clock, NodeId, Rng};
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::secrets::KeyMaterial;
use super::stores::{AbsentFile, AppliedMigration, StartError, Stores};
use crate::config::{DatabaseSettings, Dsn, Settings};

/// How long after an attempt to reach a database the next one begins.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(1);
/// How often it is told again what a database is waited for.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Opens the store of a node: one that has what this version needs, and in which the node may do what it does.
pub(super) async fn open(
    settings: &Settings,
    auto_migrate: bool,
    sources: (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    // A laptop's database and one that goes with the process are always of this version.
    let migrate =
        auto_migrate || settings.mode.is_development() || matches!(settings.database.dsn, Dsn::Memory);
    let stores = await_store(&settings.database, migrate, sources, log_waiting).await?;
    refuse_other_schema(&stores).await?;
    let missing = stores.missing_rights().await?;
    if missing.is_empty() { Ok(stores) } else { Err(StartError::MissingRights(missing.join("; "))) }
}

/// Refuses a schema that statements of this version fail on: one that lacks migrations, and one that has them and was changed since.
async fn refuse_other_schema(stores: &Stores) -> Result<(), StartError> {
    look_at(&stores.migrations().await?)?;
    let missing = stores.missing_columns().await?;
    if missing.is_empty() { Ok(()) } else { Err(StartError::OtherSchema(missing.join(", "))) }
}

/// Refuses a schema that lacks migrations which statements fail without. Where they are only slow a node serves, so that nodes need not wait
/// until large indexes are made.
fn look_at(migrations: &[AppliedMigration]) -> Result<(), StartError> {
    let missing = |is_required| {
        let all = migrations.iter().filter(|one| one.applied_at.is_none() && one.is_required == is_required);
        all.map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let later = versions_of_later(migrations);
    if !later.is_empty() {
        warn!("the database was migrated by a later version ({later})");
    }
    let required = missing(true);
    if !required.is_empty() {
        return Err(StartError::NotMigrated(required));
    }
    let others = missing(false);
    if !others.is_empty() {
        warn!(
            "the database lacks migrations that nodes do without ({others}): some statements are slow, until \
             `sluice migrate sql up` was run"
        );
    }
    Ok(())
}

/// The versions of migrations that this version does not know.
fn versions_of_later(migrations: &[AppliedMigration]) -> String {
    let later = migrations.iter().filter(|one| !one.is_known);
    later.map(|one| one.version.to_string()).collect::<Vec<_>>().join(", ")
}

/// Opens a store, and brings it to the schema of this version if told so; a file that is not there is made only for that.
pub(crate) async fn open_store(
    database: &DatabaseSettings,
    migrate: bool,
    sources: (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    migrated(reach(database, migrate, sources).await?, migrate, database.wait, |_| {}).await
}

/// Opens a store for a command that works on what is in it: one that has what this version needs.
pub(crate) async fn open_migrated(
    database: &DatabaseSettings,
    sources: (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    let stores = open_store(database, false, sources).await?;
    refuse_other_schema(&stores).await?;
    Ok(stores)
}

/// The same as [`open_store`], and a PostgreSQL that cannot be reached is tried again for as long as the settings say, and so is one that goes away while it is
/// migrated, from then on. `tell` is told why, after the first
/// attempt and every ten seconds; and so it is of a migration that waits, for a lock or for a database that only reads.
pub(crate) async fn await_store(
    database: &DatabaseSettings,
    migrate: bool,
    sources: (&Arc<dyn Clock>, &Arc<dyn Rng>),
    mut tell: impl FnMut(&StartError),
) -> Result<Stores, StartError> {
    let (give_up_at, mut reminder) = (Instant::now() + database.wait, Reminder::default());
    loop {
        match reach(database, migrate, sources).await {
            Err(error) if is_out_of_reach(&database.dsn, &error) && Instant::now() < give_up_at => {
                if reminder.is_due() {
                    tell(&error);
                }
            }
            reached => {
                return migrated(reached?, migrate, database.wait, |error| {
                    if reminder.is_due() {
                        tell(&StartError::Store(error.clone()));
                    }
                })
                .await;
            }
        }
        sleep(BETWEEN_ATTEMPTS).await;
    }
}

/// Logs what a database is waited for.
pub(super) fn log_waiting(error: &StartError) {
    warn!(error = %chain(error), "the database is waited for");
}

/// When something is told that lasts: at once, and every ten seconds.
#[derive(Default)]
pub(crate) struct Reminder {
    told_at: Option<Instant>,
}

impl Reminder {
    /// Whether it is to be told now.
    pub(crate) fn is_due(&mut self) -> bool {
        let is_due = self.told_at.is_none_or(|told_at| told_at.elapsed() >= TOLD_EVERY);
        if is_due {
            self.told_at = Some(Instant::now());
        }
        is_due
    }
}

/// Whether PostgreSQL is not there, or not yet. A password or a database that is wrong stays wrong.
fn is_out_of_reach(dsn: &Dsn, error: &StartError) -> bool {
    matches!((dsn, error), (Dsn::Postgres { .. }, StartError::Store(StoreError::Unavailable(_))))
}

async fn reach(
    database: &DatabaseSettings,
    migrate: bool,
    (clock, rng): (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    let id = NodeId::generate(clock.now(), &**rng);
    let absent = if migrate { AbsentFile::Made } else { AbsentFile::Refused };
    Stores::open(database, absent, id, (Arc::clone(clock), Arc::clone(rng))).await
}

async fn migrated(
    stores: Stores,
    migrate: bool,
    wait: Duration,
    tell: impl FnMut(&StoreError),
) -> Result<Stores, StartError> {
    if migrate {
        stores.migrate_up(wait, tell).await?;
    }
    Ok(stores)
}

/// The secrets that are configured, or those that this mode makes for itself.
pub(crate) fn key_material(
    settings: &Settings,
    data_dir: &Path,
    rng: &dyn Rng,
) -> Result<KeyMaterial, StartError> {
    if settings.secrets.system.is_empty() && matches!(settings.database.dsn, Dsn::Memory) {
        return Ok(KeyMaterial::passing(rng));
    }
    let directory = match &settings.database.dsn {
        Dsn::Sqlite { path } => path.parent().map(Path::to_owned),
        _ => None,
    };
    let directory = directory.unwrap_or_else(|| data_dir.to_owned());
    let directory = settings.mode.is_development().then_some(directory);
    Ok(KeyMaterial::of(&settings.secrets, directory.as_deref(), rng)?)
}

#[cfg(test)]
mod tests {
    use sluice_primitives::Timestamp;

    use super::*;
    use crate::config::SecretString;

    fn migration(name: &str, is_required: bool, is_applied: bool) -> AppliedMigration {
        let applied_at = is_applied.then(|| Timestamp::from_secs(1));
        AppliedMigration { version: 1, name: name.to_owned(), is_known: true, is_required, applied_at }
    }

    #[tokio::test(start_paused = true)]
    async fn what_lasts_is_told_at_once_and_every_ten_seconds() {
        let mut reminder = Reminder::default();
        let mut told = Vec::new();
        for second in 0..25 {
            if reminder.is_due() {
                told.push(second);
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(told, [0, 10, 20]);
    }

    #[test]
    fn only_a_server_that_is_not_there_is_waited_for() {
        let server = Dsn::Postgres { url: SecretString::new("postgres://db/sluice".to_owned()) };
        let away = || StartError::Store(StoreError::Unavailable(None));
        assert!(is_out_of_reach(&server, &away()));
        assert!(!is_out_of_reach(&Dsn::Memory, &away()));
        let refused = StoreError::refused(std::io::Error::other("password authentication failed"));
        for lasting in [StartError::Store(refused), StartError::Dsn("is wrong".to_owned())] {
            assert!(!is_out_of_reach(&server, &lasting), "{lasting}");
        }
    }

    #[test]
    fn a_schema_that_lacks_what_statements_need_is_refused_and_one_that_is_only_slow_is_not() {
        let applied = || migration("initial", true, true);
        assert!(look_at(&[applied()]).is_ok());
        assert!(look_at(&[applied(), migration("index", false, false)]).is_ok());
        let lacking = [applied(), migration("index", false, false), migration("column", true, false)];
        let refusal = look_at(&lacking).unwrap_err().to_string();
        assert!(refusal.contains("needs (column):"), "{refusal}");
    }

    #[test]
    fn what_a_later_version_applied_is_told_and_refused_by_itself_no_more_than_before() {
        let later =
            |version| AppliedMigration { version, is_known: false, ..migration("future", false, true) };
        let migrations = [migration("initial", true, true), later(12), later(13)];
        assert_eq!(versions_of_later(&migrations), "12, 13");
        assert!(look_at(&migrations).is_ok());
        assert_eq!(versions_of_later(&[migration("initial", true, true)]), "");
    }
}
