//! A file that gets its name when it is whole. Until then it lies beside that place under a name of its own; it is deleted if it gets
//! no further.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sluice_primitives::NetworkId;
use tempfile::{Builder, PathPersistError, TempPath};

use super::{CopyError, PATIENCE, directory_of, network_of, refused_checking, sync_directory, unusable};
use crate::connection;

/// Looks at every page, and stops at the first that is not as it must be.
const CHECK: &str = "PRAGMA quick_check(1)";

/// A file that gets its name when it is whole.
pub(super) struct Partial {
    file: TempPath,
    place: PathBuf,
}

impl Partial {
    /// An empty file for this place, readable by its owner only from its first moment, whatever the umask.
    pub(super) fn beside(place: PathBuf) -> Result<Self, CopyError> {
        let mut prefix = place.file_name().unwrap_or(OsStr::new("")).to_owned();
        prefix.push(".");
        let made = Builder::new().prefix(&prefix).suffix(".partial").tempfile_in(directory_of(&place));
        let file = made.map_err(unusable(&place))?.into_temp_path();
        Ok(Self { file, place })
    }

    pub(super) fn path(&self) -> &Path {
        &self.file
    }

    /// What it will be called.
    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// Sees to it that what was written is whole, a database of Sluice and on the disk; whose it is. Errors name `source`, what it was
    /// copied from, unless they are about where this file lies.
    pub(super) fn finish(&self, source: &Path) -> Result<NetworkId, CopyError> {
        let network = self.check(source)?;
        File::open(&self.file).and_then(|file| file.sync_all()).map_err(unusable(&self.file))?;
        Ok(network)
    }

    fn check(&self, source: &Path) -> Result<NetworkId, CopyError> {
        let refused = || refused_checking(source, &self.place);
        let connection = connection::open(&self.file, PATIENCE).map_err(refused())?;
        let network = network_of(&connection, source, refused())?;
        let found = connection::row(&connection, CHECK, [], |row| Ok(row.get::<_, String>(0)?));
        match found.map_err(refused())? {
            Some(found) if found == "ok" => Ok(network),
            found => Err(CopyError::Damaged { path: source.to_owned(), found: found.unwrap_or_default() }),
        }
    }

    /// Gives it its name, which no other file has.
    pub(super) fn publish(self) -> Result<(), CopyError> {
        let Self { file, place } = self;
        file.persist_noclobber(&place).map_err(|PathPersistError { error, .. }| match error.kind() {
            io::ErrorKind::AlreadyExists => CopyError::Exists(place.clone()),
            _ => unusable(&place)(error),
        })?;
        sync_directory(&place)
    }
}
