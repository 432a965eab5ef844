//! The files: the database, made for its owner alone, and what lies beside it while it is open, its log and the index of that. All are
//! known again by device and inode, so that nothing is answered from one that nobody finds any more.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::error::SqliteError;

/// What the name of the log ends with.
pub(crate) const LOG: &str = "-wal";
/// What that of its index ends with, which is made from it anew where there is none.
pub(crate) const INDEX: &str = "-shm";
/// The part of a database that each connection to it has locked, shared with others, from its first statement on: where it begins and how
/// long it is, in bytes, as are the next two.
const SHARED: (u64, u64) = (0x4000_0002, 510);
/// The same of an index.
const SHARED_INDEX: (u64, u64) = (128, 1);
/// Where a database says in which formats it is written and read, and what both are if it has a log.
const FORMATS: (u64, [u8; 2]) = (18, [2, 2]);
/// How often it is looked whether a log is beside its database before it is missed, and how long after each other.
const LOOKS: usize = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// What tells a file from all others, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Of the file that a path leads to.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&path.metadata()?))
    }

    fn of(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }

    /// Whether a path leads to it, and not to another or to none.
    fn is_at(self, path: &Path) -> io::Result<bool> {
        match Self::at(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            found => Ok(found? == self),
        }
    }
}

/// Where the file of a store is, and which one was there when the store was opened.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    /// None if it goes with the process: what is lost with it is lost then anyway.
    opened: Option<FileId>,
    /// Not set before the first connection has read something.
    log: OnceLock<Log>,
}

/// The log of a database and its index: both stay until the last connection is closed, by whatever process.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    id: FileId,
    index: PathBuf,
    index_id: FileId,
}

impl Log {
    fn of(database: &Path) -> io::Result<Self> {
        // They lie beside the file itself, whatever links lead there.
        let database = database.canonicalize()?;
        let (path, index) = (beside(&database, LOG), beside(&database, INDEX));
        Ok(Self { id: FileId::at(&path)?, index_id: FileId::at(&index)?, path, index })
    }

    fn has_index(&self) -> io::Result<bool> {
        self.index_id.is_at(&self.index)
    }

    fn is_in_place(&self) -> io::Result<bool> {
        Ok(self.id.is_at(&self.path)? && self.has_index()?)
    }

    /// See [`DatabaseFile::is_behind`]. An empty log is of somebody who only read.
    fn is_behind(&self) -> bool {
        match self.path.metadata() {
            Err(error) => error.kind() != ErrorKind::NotFound,
            Ok(found) => {
                !self.has_index().unwrap_or(false) || (FileId::of(&found) != self.id && found.len() > 0)
            }
        }
    }
}

impl DatabaseFile {
    /// The file at this path. Comes before the first connection: a file that is replaced in between is taken for another, and not the
    /// other way round.
    pub(crate) fn kept(path: PathBuf) -> Result<Self, SqliteError> {
        make(&path)?;
        let opened = Some(FileId::at(&path)?);
        Ok(Self { path, opened, log: OnceLock::new() })
    }

    /// A file that goes with the process.
    pub(crate) fn passing(path: PathBuf) -> Result<Self, SqliteError> {
        make(&path)?;
        Ok(Self { path, opened: None, log: OnceLock::new() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Remembers which log and which index lie beside it, the first time that they do. Comes when a connection has read something: then
    /// the engine has opened both.
    pub(crate) fn remember_log(&self) -> Result<(), SqliteError> {
        if self.opened.is_none() || self.log.get().is_some() {
            return Ok(());
        }
        match Log::of(&self.path) {
            // Where files cannot be mapped, the engine does without.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            found => {
                drop(self.log.set(found?));
                Ok(())
            }
        }
    }

    /// Whether the path still leads to it, and its log and the index are beside it. The engine does not ask: its connections go on with
    /// files that have lost their names, and what they write is gone with the last of them, or never seen by others.
    ///
    /// # Errors
    /// [`SqliteError::Replaced`] if the path leads to another file, or to none; [`SqliteError::LogReplaced`] if that is so of what lies
    /// beside it.
    pub(crate) fn is_in_place(&self) -> Result<(), SqliteError> {
        let Some(opened) = self.opened else { return Ok(()) };
        if !opened.is_at(&self.path)? {
            return Err(SqliteError::Replaced);
        }
        match self.log.get() {
            Some(log) if !log.is_in_place()? => Err(SqliteError::LogReplaced),
            _ => Ok(()),
        }
    }

    /// Whether there is a log that the open index does not tell of, or an index that does not tell of the open log; or nobody can tell. To bring
    /// the log into the file would mix them then.
    pub(crate) fn is_behind(&self) -> bool {
        self.log.get().is_some_and(Log::is_behind)
    }

    /// Whether what is open beside it has lost its name and is all that there is: it is gone with the last process that has it open.
    pub(crate) fn has_nameless_log(&self) -> bool {
        matches!(self.is_in_place(), Err(SqliteError::LogReplaced)) && !self.is_behind()
    }
}

/// The name of what lies beside a file and belongs to it.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// What came of locking all of a file.
pub(crate) enum Locking {
    /// Nobody else gets a lock of any part of it, until this process closes it, by whatever descriptor.
    Locked(File),
    /// Another process has locked a part of it.
    Refused,
    /// There is none.
    NoFile,
}

/// Locks all of a file, as the engine locks parts of it. Only for a process that has no connection to the database: when what is answered
/// goes, so do all locks that the process has on the file.
pub(crate) fn lock_all(path: &Path) -> io::Result<Locking> {
    let file = match File::options().read(true).write(true).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Locking::NoFile),
        opened => opened?,
    };
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Locking::Locked(file)),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(Locking::Refused),
        Err(errno) => Err(errno.into()),
    }
}

/// Refuses a file that is not beside the log that others have open with it: the engine would make another, and what is written into one of
/// them is lost. So it is if that log was deleted, and if the file is opened by another name (a hard link, or a mount that is not told of).
///
/// Comes before the first connection of this process to the file: to ask for locks, files are opened, and with a descriptor that is closed
/// go all locks that the process has on a file, those of its connections too.
///
/// # Errors
/// [`SqliteError::Mounted`] and [`SqliteError::LogReplaced`]. Of a file that is not there the engine says so.
pub(crate) fn refuse_without_log(database: &Path) -> Result<(), SqliteError> {
    let Ok(database) = database.canonicalize() else { return Ok(()) };
    if is_mounted(&database) {
        return Err(SqliteError::Mounted);
    }
    let (log, index) = (beside(&database, LOG), beside(&database, INDEX));
    // The log is made before its index, and deleted after it. Who has just begun to open the file, or is about to have closed it, has it locked
    // for a moment without a log.
    for _ in 0..LOOKS {
        let is_used = || {
            is_shared(&index, SHARED_INDEX) || (has_format_of_log(&database) && is_shared(&database, SHARED))
        };
        if log.exists() || !is_used() {
            return Ok(());
        }
        sleep(BETWEEN_LOOKS);
    }
    if log.exists() { Ok(()) } else { Err(SqliteError::LogReplaced) }
}

/// Whether another process has this part of a file locked as connections do. If the system cannot tell, it has not.
fn is_shared(path: &Path, (start, length): (u64, u64)) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let wanted = Flock { start, length, ..Flock::from(FlockType::WriteLock) };
    matches!(fcntl_getlk(&file, &wanted), Ok(Some(held)) if held.typ == FlockType::ReadLock)
}

/// Whether a database is in the format of those with a log: who reads something has a log open then.
fn has_format_of_log(database: &Path) -> bool {
    let (place, with_log) = FORMATS;
    let mut formats = [0; 2];
    let read = File::open(database).and_then(|file| file.read_exact_at(&mut formats, place));
    read.is_ok() && formats == with_log
}

/// Whether a file is mounted by itself, and not with its directory. If the system cannot tell, it is not.
#[cfg(target_os = "linux")]
fn is_mounted(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

    statx(CWD, path, AtFlags::empty(), StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(not(target_os = "linux"))]
const fn is_mounted(_: &Path) -> bool {
    false
}

/// Makes the file if it is not there, readable by its owner only; the engine gives its other files the same mode.
fn make(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_by_itself_is_told_from_what_is_mounted_with_its_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_mounted(file.path()));
        assert!(is_mounted(Path::new("/proc")) && !is_mounted(Path::new("/proc/self/status")));
    }
}
