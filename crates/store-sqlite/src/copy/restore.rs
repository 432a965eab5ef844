//! A copy in the place of the database: never beside the log of another, and never under a process that has it open.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use sluice_primitives::NetworkId;

use super::partial::Partial;
use super::{CopyError, directory_of, located, sync_directory, unusable};
use crate::file::{FileId, INDEX, Locking, beside, lock_all};

/// What the names of the files end with that belong to a database: nothing, and those of its logs. The engine replays a log into
/// whatever file it lies beside.
const FILES: [&str; 3] = ["", "-wal", "-journal"];

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The network that the database is of now.
    pub network: NetworkId,
    /// What the database that was there is called now, if there was one.
    pub former: Option<PathBuf>,
}

/// Puts a copy in the place of a database that no process has open. What was there is kept beside it under another name.
///
/// # Errors
/// [`CopyError`]. Until the copy is whole beside the database, checked and on the disk, nothing is changed;
/// [`CopyError::SetAside`] comes after that.
pub fn restore(copy: &Path, database: &Path) -> Result<Restored, CopyError> {
    let copy = copy.canonicalize().map_err(unusable(copy))?;
    let place = place_of(database)?;
    if matches!((FileId::at(&copy), FileId::at(&place)), (Ok(copy), Ok(place)) if copy == place) {
        return Err(CopyError::Itself(copy));
    }
    let log = FILES.into_iter().skip(1).map(|log| beside(&copy, log)).find(|log| log.exists());
    if let Some(log) = log {
        return Err(CopyError::HasLog { path: copy, log });
    }
    let _locks = lock(&place)?;
    let partial = Partial::beside(place.clone())?;
    fill(partial.path(), &copy)?;
    keep_owner(partial.path(), &place)?;
    let network = partial.finish(&copy)?;
    let former = set_aside(&place)?;
    match (partial.publish(), former) {
        (Ok(()), former) => Ok(Restored { network, former }),
        (Err(cause), Some(former)) => Err(CopyError::SetAside { former, cause: Box::new(cause) }),
        (Err(cause), None) => Err(cause),
    }
}

/// Where the file itself is, whatever links lead there: its logs lie beside it.
fn place_of(database: &Path) -> Result<PathBuf, CopyError> {
    match database.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => located(database),
        found => found.map_err(unusable(database)),
    }
}

/// Locks that nobody gets while a process has the database open, and with which nobody opens it; for as long as they are kept. No
/// transaction would do: a node that waits for requests has none open. But each connection holds a lock on a part of the file, shared
/// with others, from its first statement until it is closed, and another on a part of the index, which is still there if the file was
/// taken away from under it. These are the same kind of locks on all of both files, whatever is in them.
///
/// They end when this process closes either file, by whatever descriptor: nothing else here may open them.
fn lock(place: &Path) -> Result<Vec<File>, CopyError> {
    let mut locked = Vec::new();
    for path in [place.to_owned(), beside(place, INDEX)] {
        match lock_all(&path).map_err(unusable(&path))? {
            Locking::Locked(file) => locked.push(file),
            Locking::Refused => return Err(CopyError::InUse(place.to_owned())),
            Locking::NoFile => {}
        }
    }
    Ok(locked)
}

fn fill(new: &Path, copy: &Path) -> Result<(), CopyError> {
    let mut from = File::open(copy).map_err(unusable(copy))?;
    let mut to = File::options().write(true).open(new).map_err(unusable(new))?;
    io::copy(&mut from, &mut to).map(drop).map_err(unusable(new))
}

/// Gives the new file to whom the database belongs, or its directory, if there is none: the server may run as somebody else than who
/// restores. Who is not root makes files of the own in a directory of somebody else's, as the server would.
fn keep_owner(new: &Path, place: &Path) -> Result<(), CopyError> {
    let former = match place.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound && geteuid().is_root() => {
            directory_of(place).metadata()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        former => former,
    };
    let former = former.map_err(unusable(place))?;
    let made = new.metadata().map_err(unusable(new))?;
    if made.uid() == former.uid() {
        return Ok(());
    }
    chown(new, Some(former.uid()), Some(former.gid())).map_err(unusable(new))
}

/// Gives the files of the database other names, first; then takes their own away, that of the database before those of its logs. So
/// whenever this is broken off, there is all of the former database, or there is none, and no server starts; but no database beside the
/// log of another, and none without its own.
fn set_aside(place: &Path) -> Result<Option<PathBuf>, CopyError> {
    let kept = free_name(place);
    for suffix in FILES {
        if_there(fs::hard_link(beside(place, suffix), beside(&kept, suffix)), place)?;
    }
    sync_directory(place)?;
    for suffix in FILES.into_iter().chain([INDEX]) {
        if_there(fs::remove_file(beside(place, suffix)), place)?;
    }
    sync_directory(place)?;
    Ok(kept.exists().then_some(kept))
}

/// The first name of its kind that nothing has.
fn free_name(place: &Path) -> PathBuf {
    let is_free =
        |name: &PathBuf| FILES.iter().all(|suffix| beside(name, suffix).symlink_metadata().is_err());
    (1..=u32::MAX)
        .map(|number| beside(place, &format!(".replaced-{number}")))
        .find(is_free)
        .unwrap_or_default()
}

/// The same of a file that need not be there.
fn if_there(done: io::Result<()>, path: &Path) -> Result<(), CopyError> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done.map_err(unusable(path)),
    }
}
