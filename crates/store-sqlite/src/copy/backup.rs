//! A copy of the file as it is at one moment, whoever writes meanwhile.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use sluice_primitives::NetworkId;

use super::partial::Partial;
use super::{CopyError, PATIENCE, located, network_of, refused, refused_copying};
use crate::connection;
use crate::file::refuse_without_log;

/// One read transaction. The engine's backup by steps begins anew whenever another process has committed, and on a busy server never ends.
const COPY: &str = "VACUUM INTO ?1";

/// Copies a database into a new file, in one read transaction: nobody waits for it. The network that it is of.
///
/// # Errors
/// [`CopyError`]: there is no new file then.
pub fn backup(database: &Path, copy: &Path) -> Result<NetworkId, CopyError> {
    let copy = located(copy)?;
    if copy.symlink_metadata().is_ok() {
        return Err(CopyError::Exists(copy));
    }
    refuse_without_log(database).map_err(refused(database))?;
    let source = connection::open(database, PATIENCE).map_err(refused(database))?;
    network_of(&source, database, refused(database))?;
    let partial = Partial::beside(copy)?;
    // Names need not be UTF-8.
    let name = ToSqlOutput::Borrowed(ValueRef::Text(partial.path().as_os_str().as_encoded_bytes()));
    let copied = source.execute(COPY, [name]);
    copied.map_err(|error| refused_copying(database, partial.place())(error.into()))?;
    drop(source);
    let network = partial.finish(database)?;
    partial.publish()?;
    Ok(network)
}
