//! A file that lines are appended to, opened anew when somebody has moved it away: log rotation renames it and says so.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::{info, warn};

use super::super::super::line_writer::{CutAfter, write_to};

/// Of a file that is made: it tells who asked for what, which is not for everybody on the machine.
const MODE: u32 = 0o640;

/// The file of the access log. Clones share it: what one of them opens anew, all write to.
#[derive(Debug, Clone)]
pub(crate) struct AccessLogFile {
    path: Arc<Path>,
    file: Arc<Mutex<File>>,
}

impl AccessLogFile {
    /// Opens a file to append to; it is made if it is not there.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.into(), file: Arc::new(Mutex::new(append(path)?)) })
    }

    /// Writes lines at its end, as a whole: none is begun in one file and ended in another.
    pub(super) fn put(&self, lines: &[u8]) -> Result<(), CutAfter> {
        write_to(&mut *self.file.lock(), lines)
    }

    /// Opens what is at its path now: lines go there from now on. If that cannot be opened, which is logged, they go where they went.
    /// It blocks for as long as that takes.
    pub(crate) fn reopen(&self) {
        let path = self.path.display();
        match append(&self.path) {
            Ok(file) => {
                *self.file.lock() = file;
                info!(%path, "the access log was opened anew");
            }
            Err(error) => {
                warn!(%path, %error, "the access log cannot be opened anew: it goes on where it was");
            }
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(MODE).open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_is_made_is_not_for_everybody_and_one_that_is_there_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let path = directory.path().join(name);
            AccessLogFile::open(&path).unwrap();
            fs::metadata(path).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(mode("made") & !MODE, 0);
        let there = directory.path().join("there");
        fs::write(&there, "").unwrap();
        fs::set_permissions(&there, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(mode("there"), 0o666);
    }

    #[test]
    fn what_was_moved_away_is_written_to_until_the_file_is_opened_anew() {
        let directory = tempfile::tempdir().unwrap();
        let (path, moved) = (directory.path().join("access.log"), directory.path().join("access.log.1"));
        let file = AccessLogFile::open(&path).unwrap();
        let told = file.clone();
        file.put(b"one\n").unwrap();
        fs::rename(&path, &moved).unwrap();
        file.put(b"two\n").unwrap();
        told.reopen();
        file.put(b"three\n").unwrap();
        assert_eq!(fs::read_to_string(moved).unwrap(), "one\ntwo\n");
        assert_eq!(fs::read_to_string(path).unwrap(), "three\n");
    }

    #[test]
    fn a_file_that_cannot_be_opened_anew_loses_no_line() {
        let directory = tempfile::tempdir().unwrap();
        let (folder, moved) = (directory.path().join("log"), directory.path().join("moved"));
        fs::create_dir(&folder).unwrap();
        let file = AccessLogFile::open(&folder.join("access.log")).unwrap();
        fs::rename(&folder, &moved).unwrap();
        file.reopen();
        file.put(b"one\n").unwrap();
        assert_eq!(fs::read_to_string(moved.join("access.log")).unwrap(), "one\n");
    }
}
