//! Copies of the file: one is made while servers run, and one is put in its place while none does.
//!
//! `backup`, `restore`: the two. `partial`: a file that gets its name when it is whole.

mod backup;
mod partial;
mod restore;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, ffi};
use sluice_primitives::NetworkId;
use thiserror::Error;

use crate::error::SqliteError;
use crate::migrate;
use crate::obstacle::Obstacle;

pub use backup::backup;
pub use restore::{Restored, restore};

/// How long a lock of another process is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no copy, or none in the place of the database.
#[derive(Debug, Error)]
pub enum CopyError {
    /// A copy never replaces a file.
    #[error("there is a file {} already", .0.display())]
    Exists(PathBuf),
    /// Another program's database, or one that was never migrated.
    #[error("{} is no database of Sluice", .0.display())]
    Foreign(PathBuf),
    /// Not all of it can be read.
    #[error("{} is damaged: {found}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the engine found first.
        found: String,
    },
    /// What was committed last may be there.
    #[error("{} is not whole: what is in {} belongs to it; copy it with `sluice backup`", .path.display(), .log.display())]
    HasLog {
        /// The file.
        path: PathBuf,
        /// What lies beside it.
        log: PathBuf,
    },
    /// The copy and the database are one file.
    #[error("{} is the database itself", .0.display())]
    Itself(PathBuf),
    /// Another process has the database open.
    #[error("{} is in use by another process: stop all nodes, workers and gateways that have it open", .0.display())]
    InUse(PathBuf),
    /// The copy could not take the place that was made for it.
    #[error("what was there is {} now", .former.display())]
    SetAside {
        /// What the database is called that was there.
        former: PathBuf,
        /// Why.
        #[source]
        cause: Box<CopyError>,
    },
    /// The operating system says no.
    #[error("{}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The engine says no.
    #[error("{}", .path.display())]
    Engine {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: SqliteError,
    },
}

/// What the engine says when it cannot write, beside that the disk is full.
const UNWRITTEN: [i32; 4] = [
    ffi::SQLITE_IOERR_WRITE,
    ffi::SQLITE_IOERR_FSYNC,
    ffi::SQLITE_IOERR_DIR_FSYNC,
    ffi::SQLITE_IOERR_TRUNCATE,
];

/// The network of a database of Sluice; `refuse` says whose fault it is if the engine says no.
fn network_of(
    connection: &Connection,
    path: &Path,
    refuse: impl FnOnce(SqliteError) -> CopyError,
) -> Result<NetworkId, CopyError> {
    let network = migrate::network(connection).map_err(refuse)?;
    network.ok_or_else(|| CopyError::Foreign(path.to_owned()))
}

/// The same path with its directory as it is without links: what lies beside it is named, and the engine is shown no relative path.
fn located(path: &Path) -> Result<PathBuf, CopyError> {
    let name = path.file_name().ok_or_else(|| unusable(path)(io::ErrorKind::InvalidInput.into()))?;
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new(".")).canonicalize().map_err(unusable(path))?;
    Ok(directory.join(name))
}

/// The directory of a path that was [`located`].
fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Brings to the disk what names there are in the directory of this path.
fn sync_directory(path: &Path) -> Result<(), CopyError> {
    File::open(directory_of(path)).and_then(|directory| directory.sync_all()).map_err(unusable(path))
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    move |cause| CopyError::File { path: path.to_owned(), cause }
}

fn refused(path: &Path) -> impl FnOnce(SqliteError) -> CopyError {
    move |cause| {
        let cause = cause.explained_by(|| Obstacle::of(path).map(Arc::new));
        CopyError::Engine { path: path.to_owned(), cause }
    }
}

/// Of what is copied to another file: that is what cannot be written, for the `source` is only read.
fn refused_copying(source: &Path, copy: &Path) -> impl FnOnce(SqliteError) -> CopyError {
    move |cause| refused(if is_of_writing(&cause) { copy } else { source })(cause)
}

/// Of the copy that was made: that it cannot be opened or written is about the place where it lies; what is in it, about the `source`, which
/// is not open.
fn refused_checking(source: &Path, copy: &Path) -> impl FnOnce(SqliteError) -> CopyError {
    move |cause| {
        let is_of_the_copy = is_of_writing(&cause) || cause.is_of_the_files();
        refused(if is_of_the_copy { copy } else { source })(cause)
    }
}

fn is_of_writing(error: &SqliteError) -> bool {
    let SqliteError::Engine(error) = error else { return false };
    let is_unwritten = |code| UNWRITTEN.contains(&code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || error.sqlite_extended_error_code().is_some_and(is_unwritten)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: i32) -> SqliteError {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
    }

    fn blamed(refused: CopyError) -> String {
        match refused {
            CopyError::Engine { path, .. } => path.display().to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_written_is_the_copy() {
        let blamed = |code| blamed(refused_copying(Path::new("source"), Path::new("copy"))(said(code)));
        for code in UNWRITTEN.into_iter().chain([ffi::SQLITE_FULL]) {
            assert_eq!(blamed(code), "copy", "{code}");
        }
        for code in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_CORRUPT, ffi::SQLITE_BUSY] {
            assert_eq!(blamed(code), "source", "{code}");
        }
    }

    #[test]
    fn what_cannot_be_opened_to_be_checked_is_the_copy_and_what_is_wrong_in_it_is_of_the_source() {
        let blamed = |code| blamed(refused_checking(Path::new("source"), Path::new("copy"))(said(code)));
        for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR_READ, ffi::SQLITE_FULL] {
            assert_eq!(blamed(code), "copy", "{code}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
            assert_eq!(blamed(code), "source", "{code}");
        }
    }
}
