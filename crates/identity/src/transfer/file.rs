//! The file that is imported, and beside it how far the import has come.
//!
//! `FILE.sluice-import` holds the number of lines of which every outcome is known, and in which database. It is replaced as
//! a whole, so that a killed import finds the last one or the one before it, and does some lines again, which changes
//! nothing. Meanwhile the file itself is locked, where the file system has locks for who only reads.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sluice_crypto::digest::sha256;
use sluice_primitives::{NetworkId, Timestamp};
use thiserror::Error;

use super::frontier::ImportedCounts;

/// What is appended to the name of the file.
const EXTENSION: &str = ".sluice-import";
/// The format of the state.
const VERSION: u32 = 2;
/// The one before, which says nothing of a database.
const WITHOUT_DATABASE: u32 = 1;
/// So much of the file tells it from another, with its size.
const HEAD: u64 = 1024 * 1024;

/// Why a file cannot be imported.
#[derive(Debug, Error)]
pub enum ImportFileError {
    /// It cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Another import reads it.
    #[error("{} is being imported by another command", path.display())]
    InUse {
        /// Which.
        path: PathBuf,
    },
    /// How far the import has come cannot be read or written.
    #[error("{} cannot be read or written: it holds how far the import has come", path.display())]
    State {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It is not what it should be.
    #[error("{} does not say how far the import has come: import from the start (--restart), or delete it", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
    },
    /// The file was another when the import began.
    #[error(
        "{} belongs to an import of another file of this name: import from the start (--restart), or delete it",
        path.display()
    )]
    OtherFile {
        /// Which.
        path: PathBuf,
    },
    /// The import was one into another database.
    #[error(
        "{} belongs to an import into another database: import from the start (--restart), or delete it",
        path.display()
    )]
    OtherDatabase {
        /// Which.
        path: PathBuf,
    },
}

/// How far an import has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    version: u32,
    /// Which database.
    #[serde(default)]
    network: String,
    /// Of the file, in bytes.
    size: u64,
    /// SHA-256 of the first MiB.
    head: String,
    /// When the import began, in milliseconds: records that do not say when they were made.
    began_at: i64,
    counts: ImportedCounts,
    is_finished: bool,
}

/// A file that is imported. Nobody else imports it meanwhile, where its file system has locks.
#[derive(Debug)]
pub struct ImportFile {
    path: PathBuf,
    file: File,
    state_path: PathBuf,
    state: State,
    is_database_assumed: bool,
}

impl ImportFile {
    /// Opens a file, and goes on where an earlier import into the same database stopped, or begins anew `from_start`.
    ///
    /// # Errors
    /// [`ImportFileError`] if the file or its state cannot be used.
    pub fn open(
        path: &Path,
        network: NetworkId,
        from_start: bool,
        now: Timestamp,
    ) -> Result<Self, ImportFileError> {
        let unread = |cause| ImportFileError::Read { path: path.to_owned(), cause };
        let mut file = File::open(path).map_err(unread)?;
        // Some file systems know no locks, and NFS none of a file that is open for reading: those are other errors, and keep nobody out.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(ImportFileError::InUse { path: path.to_owned() });
        }
        let (size, head) = mark(&mut file).map_err(unread)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(EXTENSION);
        let state_path = path.with_file_name(name);
        let earlier = if from_start { None } else { read(&state_path)? };
        let is_database_assumed = earlier.as_ref().is_some_and(|earlier| earlier.version == WITHOUT_DATABASE);
        let fresh = State {
            version: VERSION,
            network: network.to_string(),
            size,
            head,
            began_at: now.as_millis(),
            counts: ImportedCounts::default(),
            is_finished: false,
        };
        let state = match earlier {
            None => fresh,
            Some(earlier) if (earlier.size, &earlier.head) != (fresh.size, &fresh.head) => {
                return Err(ImportFileError::OtherFile { path: state_path });
            }
            Some(earlier) if is_database_assumed => {
                State { version: VERSION, network: fresh.network, ..earlier }
            }
            Some(earlier) if earlier.network != fresh.network => {
                return Err(ImportFileError::OtherDatabase { path: state_path });
            }
            Some(earlier) => earlier,
        };
        let opened = Self { path: path.to_owned(), file, state_path, state, is_database_assumed };
        // What cannot be kept is said before anything is imported.
        opened.save()?;
        Ok(opened)
    }

    /// How long it is, in bytes.
    pub const fn size(&self) -> u64 {
        self.state.size
    }

    /// What is done already.
    pub const fn counts(&self) -> ImportedCounts {
        self.state.counts
    }

    /// Whether nothing is left to do.
    pub const fn is_finished(&self) -> bool {
        self.state.is_finished
    }

    /// Whether an earlier version kept how far the import had come, and not in which database: it is taken for this one, and
    /// from now on kept.
    pub const fn is_database_assumed(&self) -> bool {
        self.is_database_assumed
    }

    /// When the import began.
    pub(super) const fn began_at(&self) -> Timestamp {
        Timestamp::from_millis(self.state.began_at)
    }

    /// What tells the file from another.
    pub(super) fn digest(&self) -> [u8; 32] {
        sha256(format!("{}:{}", self.state.size, self.state.head).as_bytes())
    }

    /// The file, at its beginning.
    pub(super) fn reader(&self) -> Result<File, ImportFileError> {
        let unread = |cause| ImportFileError::Read { path: self.path.clone(), cause };
        let mut file = self.file.try_clone().map_err(unread)?;
        file.seek(SeekFrom::Start(0)).map_err(unread)?;
        Ok(file)
    }

    /// What is to be known of it while its lines are read.
    pub(super) fn source(&self) -> Source {
        Source { path: self.path.clone(), state_path: self.state_path.clone(), size: self.state.size }
    }

    /// Whether another open file is this one, by whatever name it was opened.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn is(&self, other: &File) -> io::Result<bool> {
        let (own, other) = (self.file.metadata()?, other.metadata()?);
        Ok((own.dev(), own.ino()) == (other.dev(), other.ino()))
    }

    /// Keeps what is done.
    pub(super) fn advance(
        &mut self,
        counts: ImportedCounts,
        is_finished: bool,
    ) -> Result<(), ImportFileError> {
        (self.state.counts, self.state.is_finished) = (counts, is_finished);
        self.save()
    }

    fn save(&self) -> Result<(), ImportFileError> {
        let draft = self.state_path.with_added_extension("draft");
        let write = || {
            let mut file = File::create(&draft)?;
            file.write_all(&serde_json::to_vec(&self.state)?)?;
            file.sync_all()?;
            fs::rename(&draft, &self.state_path)
        };
        write().map_err(|cause| ImportFileError::State { path: self.state_path.clone(), cause })
    }
}

impl Drop for ImportFile {
    /// Threads that still read it do not keep it locked.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// What is known of a file while its lines are read.
pub(super) struct Source {
    path: PathBuf,
    state_path: PathBuf,
    size: u64,
}

impl Source {
    /// It cannot be read.
    pub(super) fn unread(&self, cause: io::Error) -> ImportFileError {
        ImportFileError::Read { path: self.path.clone(), cause }
    }

    /// Whether it ends where it did when the import began: what was cut off it meanwhile was never read.
    pub(super) fn check_end(&self, end: u64) -> Result<(), ImportFileError> {
        if end == self.size {
            Ok(())
        } else {
            Err(ImportFileError::OtherFile { path: self.state_path.clone() })
        }
    }
}

fn mark(file: &mut File) -> io::Result<(u64, String)> {
    let mut head = Vec::new();
    (&mut *file).take(HEAD).read_to_end(&mut head)?;
    Ok((file.metadata()?.len(), HEXLOWER.encode(&sha256(&head))))
}

fn read(path: &Path) -> Result<Option<State>, ImportFileError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(ImportFileError::State { path: path.to_owned(), cause }),
    };
    let state: Option<State> = serde_json::from_slice(&text).ok();
    let known = state.filter(|state| [VERSION, WITHOUT_DATABASE].contains(&state.version));
    known.map(Some).ok_or(ImportFileError::Unreadable { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_750_000_000);
    const HERE: NetworkId = NetworkId::from_bytes([1; 16]);
    const ELSEWHERE: NetworkId = NetworkId::from_bytes([2; 16]);

    fn given(text: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("people.ndjson");
        fs::write(&path, text).unwrap();
        (directory, path)
    }

    #[test]
    fn an_import_goes_on_where_it_stopped_unless_it_begins_anew() {
        let (_directory, path) = given("one\ntwo\n");
        let counts = ImportedCounts { lines: 1, imported: 1, ..ImportedCounts::default() };
        ImportFile::open(&path, HERE, false, NOW).unwrap().advance(counts, false).unwrap();
        let again = ImportFile::open(&path, HERE, false, Timestamp::from_secs(9)).unwrap();
        assert_eq!((again.counts(), again.began_at(), again.size()), (counts, NOW, 8));
        drop(again);
        let anew = ImportFile::open(&path, HERE, true, NOW).unwrap();
        assert_eq!(anew.counts(), ImportedCounts::default());
    }

    #[test]
    fn another_file_of_the_same_name_is_refused() {
        let (_directory, path) = given("one\ntwo\n");
        ImportFile::open(&path, HERE, false, NOW).unwrap();
        for other in ["one\nTWO\n", "one\ntwo\nthree\n"] {
            fs::write(&path, other).unwrap();
            let refused = ImportFile::open(&path, HERE, false, NOW).unwrap_err();
            assert!(matches!(refused, ImportFileError::OtherFile { .. }), "{refused}");
        }
        assert!(ImportFile::open(&path, HERE, true, NOW).is_ok());
    }

    #[test]
    fn what_is_done_in_one_database_is_not_done_in_another() {
        let (_directory, path) = given("one\ntwo\n");
        let counts = ImportedCounts { lines: 2, imported: 2, ..ImportedCounts::default() };
        ImportFile::open(&path, HERE, false, NOW).unwrap().advance(counts, true).unwrap();
        let refused = ImportFile::open(&path, ELSEWHERE, false, NOW).unwrap_err();
        assert!(matches!(refused, ImportFileError::OtherDatabase { .. }), "{refused}");
        assert!(ImportFile::open(&path, HERE, false, NOW).unwrap().is_finished(), "it is as it was");
        let anew = ImportFile::open(&path, ELSEWHERE, true, NOW).unwrap();
        assert_eq!(anew.counts(), ImportedCounts::default());
    }

    #[test]
    fn what_an_earlier_version_kept_is_taken_for_this_database_once() {
        let (directory, path) = given("one\ntwo\n");
        let counts = ImportedCounts { lines: 2, imported: 2, ..ImportedCounts::default() };
        ImportFile::open(&path, HERE, false, NOW).unwrap().advance(counts, true).unwrap();
        let kept = directory.path().join("people.ndjson.sluice-import");
        let mut state: serde_json::Value = serde_json::from_slice(&fs::read(&kept).unwrap()).unwrap();
        state["version"] = 1.into();
        state.as_object_mut().unwrap().remove("network");
        fs::write(&kept, state.to_string()).unwrap();
        let opened = ImportFile::open(&path, HERE, false, Timestamp::from_secs(9)).unwrap();
        assert_eq!((opened.counts(), opened.began_at(), opened.is_finished()), (counts, NOW, true));
        assert!(opened.is_database_assumed());
        drop(opened);
        let refused = ImportFile::open(&path, ELSEWHERE, false, NOW).unwrap_err();
        assert!(matches!(refused, ImportFileError::OtherDatabase { .. }), "{refused}");
        assert!(!ImportFile::open(&path, HERE, false, NOW).unwrap().is_database_assumed());
    }

    #[test]
    fn a_file_is_imported_by_one_at_a_time() {
        let (_directory, path) = given("one\n");
        let first = ImportFile::open(&path, HERE, false, NOW).unwrap();
        let reader = first.reader().unwrap();
        for from_start in [false, true] {
            let refused = ImportFile::open(&path, HERE, from_start, NOW).unwrap_err();
            assert!(matches!(refused, ImportFileError::InUse { .. }), "{refused}");
        }
        drop(first);
        assert!(ImportFile::open(&path, HERE, false, NOW).is_ok());
        drop(reader);
    }

    #[test]
    fn a_state_that_cannot_be_read_is_not_taken_for_none() {
        let (directory, path) = given("one\n");
        fs::write(directory.path().join("people.ndjson.sluice-import"), "{").unwrap();
        let refused = ImportFile::open(&path, HERE, false, NOW).unwrap_err();
        assert!(matches!(refused, ImportFileError::Unreadable { .. }), "{refused}");
    }
}
