//! The file: made for its owner alone, and known again by device and inode, so that nothing is answered from one that nobody
//! finds any more.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::SqliteError;

/// What tells a file from all others, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Of the file that a path leads to.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let found = path.metadata()?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }
}

/// Where the file of a store is, and which one was there when the store was opened.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    /// None if it goes with the process: what is lost with it is lost then anyway.
    opened: Option<FileId>,
}

impl DatabaseFile {
    /// The file at this path. Comes before the first connection: a file that is replaced in between is taken for another, and not the
    /// other way round.
    pub(crate) fn kept(path: PathBuf) -> Result<Self, SqliteError> {
        make(&path)?;
        let opened = Some(FileId::at(&path)?);
        Ok(Self { path, opened })
    }

    /// A file that goes with the process.
    pub(crate) fn passing(path: PathBuf) -> Result<Self, SqliteError> {
        make(&path)?;
        Ok(Self { path, opened: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still leads to it. The engine does not ask: its connections go on with a file that has lost its name, and
    /// what they write is gone with the last of them.
    ///
    /// # Errors
    /// [`SqliteError::Replaced`] if it leads to another file, or to none.
    pub(crate) fn is_in_place(&self) -> Result<(), SqliteError> {
        let Some(opened) = self.opened else { return Ok(()) };
        match FileId::at(&self.path) {
            Ok(found) if found == opened => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Err(SqliteError::Replaced),
        }
    }
}

/// Makes the file if it is not there, readable by its owner only; the engine gives its other files the same mode.
fn make(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
