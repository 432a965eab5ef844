//! How an installation is opened: its database, and the secrets that belong to it.

use std::path::Path;
use std::sync::Arc;

use sluice_primitives::{Clock, NodeId, Rng};
use tracing::warn;

use super::secrets::KeyMaterial;
use super::stores::{AbsentFile, AppliedMigration, StartError, Stores};
use crate::config::{DatabaseSettings, Dsn, Settings};

/// Opens the store of a node: one that has what this version needs.
pub(super) async fn open(
    settings: &Settings,
    auto_migrate: bool,
    sources: (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    // A laptop's database and one that goes with the process are always of this version.
    let migrate =
        auto_migrate || settings.mode.is_development() || matches!(settings.database.dsn, Dsn::Memory);
    let stores = open_store(&settings.database, migrate, sources).await?;
    if !migrate {
        look_at(&stores.migrations().await?)?;
    }
    Ok(stores)
}

/// Refuses a schema that statements of this version fail on. Where they are only slow a node serves, so that nodes need not wait until
/// large indexes are made.
fn look_at(migrations: &[AppliedMigration]) -> Result<(), StartError> {
    let missing = |is_required| {
        let all = migrations.iter().filter(|one| one.applied_at.is_none() && one.is_required == is_required);
        all.map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let required = missing(true);
    if !required.is_empty() {
        return Err(StartError::NotMigrated(required));
    }
    let others = missing(false);
    if !others.is_empty() {
        warn!(
            "the database lacks migrations that only make statements faster ({others}): some are slow, until \
             `sluice migrate sql up` was run"
        );
    }
    Ok(())
}

/// Opens a store, and brings it to the schema of this version if told so; a file that is not there is made only for that.
pub(crate) async fn open_store(
    database: &DatabaseSettings,
    migrate: bool,
    (clock, rng): (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    let id = NodeId::generate(clock.now(), &**rng);
    let absent = if migrate { AbsentFile::Made } else { AbsentFile::Refused };
    let stores = Stores::open(database, absent, id, (Arc::clone(clock), Arc::clone(rng))).await?;
    if migrate {
        stores.migrate_up().await?;
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

    fn migration(name: &str, is_required: bool, is_applied: bool) -> AppliedMigration {
        let applied_at = is_applied.then(|| Timestamp::from_secs(1));
        AppliedMigration { name: name.to_owned(), is_required, applied_at }
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
}
