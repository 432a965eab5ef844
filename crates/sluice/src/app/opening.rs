//! How an installation is opened: its database, and the secrets that belong to it.

use std::path::Path;
use std::sync::Arc;

use sluice_primitives::{Clock, NodeId, Rng};

use super::secrets::KeyMaterial;
use super::stores::{StartError, Stores};
use crate::config::{DatabaseSettings, Dsn, Settings};

/// Opens the store of a node: one of this version.
pub(super) async fn open(
    settings: &Settings,
    auto_migrate: bool,
    sources: (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    // A laptop's database and one that goes with the process are always of this version.
    let migrate =
        auto_migrate || settings.mode.is_development() || matches!(settings.database.dsn, Dsn::Memory);
    let stores = open_store(&settings.database, migrate, sources).await?;
    if !migrate && stores.migrations().await?.iter().any(|migration| migration.applied_at.is_none()) {
        return Err(StartError::NotMigrated);
    }
    Ok(stores)
}

/// Opens a store, and brings it to the schema of this version if told so.
pub(crate) async fn open_store(
    database: &DatabaseSettings,
    migrate: bool,
    (clock, rng): (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    let id = NodeId::generate(clock.now(), &**rng);
    let stores = Stores::open(database, id, (Arc::clone(clock), Arc::clone(rng))).await?;
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
