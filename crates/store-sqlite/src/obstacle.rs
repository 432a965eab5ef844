//! What keeps a database from being written, as the operating system tells. The engine says that it could not, and not why.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use thiserror::Error;

use crate::file::{INDEX, LOG, beside};

/// As much as the engine writes at once: a page.
const PAGE: [u8; 4096] = [0; 4096];
/// For how long an answer holds.
const HOLDS: Duration = Duration::from_secs(5);

/// What the operating system refuses of what the engine needs.
#[derive(Debug, Error)]
pub enum Obstacle {
    /// One of the files is somebody else's, or nobody may change it.
    #[error("{} may not be written by this user", .path.display())]
    Forbidden {
        /// The database, its log, or the index of that.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// One of the files cannot be written, whoever asks: what it is on is mounted, or has become, read-only.
    #[error("{} cannot be written", .path.display())]
    Unwritable {
        /// The database, its log, or the index of that.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// There is no place beside the database for its log.
    #[error("no file can be made and written in {}", .directory.display())]
    NoPlace {
        /// Where the database is.
        directory: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
}

impl Obstacle {
    /// What stands in the way of this database now, if the system tells. Its files are not opened: with a descriptor that is closed go all
    /// locks that the process has on a file.
    pub(crate) fn of(database: &Path) -> Option<Self> {
        let database = database.canonicalize().unwrap_or_else(|_| database.to_owned());
        let files = ["", LOG, INDEX].map(|suffix| beside(&database, suffix));
        files.into_iter().find_map(Self::of_file).or_else(|| Self::of_place(&database))
    }

    fn of_file(path: PathBuf) -> Option<Self> {
        // With no flag this is the older of two calls, which every filter of containers lets through.
        let errno = accessat(CWD, path.as_path(), Access::WRITE_OK, AtFlags::empty()).err()?;
        // What is not there is made: that is for the directory.
        if errno == Errno::NOENT {
            return None;
        }
        let cause = io::Error::from(errno);
        Some(match cause.kind() {
            ErrorKind::PermissionDenied => Self::Forbidden { path, cause },
            _ => Self::Unwritable { path, cause },
        })
    }

    /// Does there what the engine does with its log. What is written has no name, and is gone at once.
    fn of_place(database: &Path) -> Option<Self> {
        let directory = database.parent().filter(|directory| !directory.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let written = tempfile::tempfile_in(directory).and_then(|mut file| {
            file.write_all(&PAGE)?;
            file.sync_all()
        });
        let cause = written.err()?;
        Some(Self::NoPlace { directory: directory.to_owned(), cause })
    }
}

/// What was found when it was looked last, and when that was.
type Found = (Instant, Option<Arc<Obstacle>>);

/// What stands in the way of one database, looked for now and then: to look takes a write, and a disk that fails keeps who writes waiting
/// for each.
#[derive(Debug, Default)]
pub(crate) struct LastLook(Mutex<Option<Found>>);

impl LastLook {
    /// What stands in the way of this database, or did some seconds ago.
    pub(crate) fn obstacle_of(&self, database: &Path, clock: impl Fn() -> Instant) -> Option<Arc<Obstacle>> {
        let mut last = self.0.lock();
        if let Some((looked_at, found)) = last.as_ref()
            && clock().duration_since(*looked_at) < HOLDS
        {
            return found.clone();
        }
        let found = Obstacle::of(database).map(Arc::new);
        *last = Some((clock(), found.clone()));
        found
    }
}

#[cfg(test)]
mod tests {
    use sluice_commit::chain;

    use super::*;

    #[test]
    fn where_all_can_be_written_nothing_stands_in_the_way() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("sluice.db");
        assert!(Obstacle::of(&database).is_none(), "it is not there yet");
        std::fs::write(&database, "").unwrap();
        assert!(Obstacle::of(&database).is_none());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left of the look");
    }

    #[test]
    fn it_is_not_looked_again_within_seconds() {
        let directory = tempfile::tempdir().unwrap();
        let (database, last_look) = (directory.path().join("sluice.db"), LastLook::default());
        let start = Instant::now();
        assert!(last_look.obstacle_of(&database, || start).is_none());
        directory.close().unwrap();
        assert!(last_look.obstacle_of(&database, || start + HOLDS / 2).is_none(), "as it was found");
        let found = last_look.obstacle_of(&database, || start + HOLDS);
        assert!(matches!(found.as_deref(), Some(Obstacle::NoPlace { .. })), "{found:?}");
    }

    /// Nobody makes a file there, root neither.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_that_takes_no_file_is_named_with_the_systems_reason() {
        let obstacle = Obstacle::of(Path::new("/proc/sluice.db")).unwrap();
        assert!(matches!(obstacle, Obstacle::NoPlace { .. }), "{obstacle:?}");
        let said = chain(&obstacle);
        assert!(
            said.starts_with("no file can be made and written in /proc: ") && said.contains("os error"),
            "{said}"
        );
    }
}
