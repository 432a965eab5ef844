//! In which country an address is, by an MMDB file (`GeoLite2-Country` and whatever else has `country.iso_code`).
//!
//! The file is read whole: a mapped one that is cut short takes the process with it. It comes into force with the routes that name it, and is
//! read anew when it changes; one that cannot be used then leaves the old one in force. An address that the file does not know has no country.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::HeaderValue;
use maxminddb::{MaxMindDbError, PathElement, Reader};
use parking_lot::Mutex;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

/// How often a change of the file is looked for.
const SWEEP: Duration = Duration::from_secs(10);
/// So many networks are looked at for one with a country: a file of something else has none in any.
const PROBED: usize = 10_000;
const ISO_CODE: [PathElement<'static>; 2] = [PathElement::Key("country"), PathElement::Key("iso_code")];

/// Why a file cannot be used.
#[derive(Debug, Error)]
pub enum CountryError {
    /// It cannot be read.
    #[error("the country database cannot be read")]
    Read(#[source] io::Error),
    /// It changed while it was read.
    #[error("the country database changed while it was read")]
    Changing,
    /// It is no MMDB file, or a damaged one.
    #[error("the country database is no MMDB file")]
    Format(#[source] MaxMindDbError),
    /// It knows no countries.
    #[error("the country database has no `country.iso_code`")]
    NoCountries,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

/// A file that was read and can be used.
pub struct CountryDatabase {
    stamp: Stamp,
    reader: Reader<Vec<u8>>,
}

/// In which country addresses are. Empty, it knows of none.
#[derive(Default)]
pub struct CountryLookup {
    reader: ArcSwapOption<Reader<Vec<u8>>>,
    followed: Mutex<Followed>,
}

#[derive(Default)]
struct Followed {
    /// The file that is in force, or was found to be of no use.
    settled: Option<Stamp>,
    /// What was seen last: a file is read when two looks in a row saw the same, so that none is read while it is being written.
    seen: Option<Stamp>,
}

impl CountryDatabase {
    /// Reads a file.
    ///
    /// # Errors
    /// [`CountryError`] says why it cannot be used.
    pub fn read(path: &Path) -> Result<Self, CountryError> {
        let mut file = File::open(path).map_err(CountryError::Read)?;
        let before = Stamp::of(path, &file.metadata().map_err(CountryError::Read)?);
        let mut bytes = Vec::with_capacity(usize::try_from(before.length).unwrap_or(0));
        file.read_to_end(&mut bytes).map_err(CountryError::Read)?;
        let after = Stamp::of(path, &file.metadata().map_err(CountryError::Read)?);
        if before != after {
            return Err(CountryError::Changing);
        }
        let reader = Reader::from_source(bytes).map_err(CountryError::Format)?;
        probe(&reader)?;
        Ok(Self { stamp: before, reader })
    }

    /// Which file it is.
    pub fn path(&self) -> &Path {
        &self.stamp.path
    }
}

impl CountryLookup {
    /// Puts another file in force, or none.
    pub fn put(&self, database: Option<CountryDatabase>) {
        let (settled, reader) = database.map(|database| (database.stamp, Arc::new(database.reader))).unzip();
        let mut followed = self.followed.lock();
        self.reader.store(reader);
        *followed = Followed { settled, seen: None };
    }

    /// The country of an address (ISO 3166-1 alpha-2); none for one that the file does not know. Allocates nothing.
    pub fn country(&self, address: IpAddr) -> Option<HeaderValue> {
        let reader = self.reader.load();
        let reader = reader.as_ref()?;
        let found = reader.lookup(address.to_canonical()).ok()?;
        code(found.decode_path::<&str>(&ISO_CODE).ok()??)
    }

    /// Looks whether the file in force has changed, and reads it if it has. Blocks.
    pub fn sweep(&self) {
        let Some(stamp) = self.changed() else { return };
        let path = stamp.path.clone();
        match CountryDatabase::read(&path) {
            Ok(CountryDatabase { stamp, reader }) => {
                self.settle(stamp, Some(reader));
                info!(path = %path.display(), "country database read");
            }
            Err(CountryError::Changing) => {}
            Err(error) => {
                self.settle(stamp, None);
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                error!(path = %path.display(), %error, cause, "the old country database stays in force");
            }
        }
    }

    /// The state of the file in force, if it is another than it was and nobody writes it any more.
    fn changed(&self) -> Option<Stamp> {
        let path = self.followed.lock().settled.as_ref()?.path.clone();
        // A file that is away for a moment is being replaced.
        let stamp = Stamp::of(&path, &std::fs::metadata(&path).ok()?);
        let mut followed = self.followed.lock();
        if followed.settled.as_ref() == Some(&stamp) {
            return None;
        }
        let stands_still = followed.seen.replace(stamp.clone()).as_ref() == Some(&stamp);
        stands_still.then_some(stamp)
    }

    /// Notes that the file was read in this state, and puts what it holds in force if it is of use; unless another file is in force by now.
    fn settle(&self, stamp: Stamp, reader: Option<Reader<Vec<u8>>>) {
        let mut followed = self.followed.lock();
        if followed.settled.as_ref().is_none_or(|settled| settled.path != stamp.path) {
            return;
        }
        if let Some(reader) = reader {
            self.reader.store(Some(Arc::new(reader)));
        }
        followed.settled = Some(stamp);
    }

    /// Sweeps until `shutdown`.
    pub async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(SWEEP) => {}
            }
            let lookup = self.clone();
            // It fails if the runtime ends only.
            let _ = tokio::task::spawn_blocking(move || lookup.sweep()).await;
        }
    }
}

impl std::fmt::Debug for CountryDatabase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CountryDatabase").field("stamp", &self.stamp).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for CountryLookup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CountryLookup")
            .field("loaded", &self.reader.load().is_some())
            .finish_non_exhaustive()
    }
}

impl Stamp {
    fn of(path: &Path, metadata: &Metadata) -> Self {
        Self {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Whether the file says of any network in which country it is.
fn probe(reader: &Reader<Vec<u8>>) -> Result<(), CountryError> {
    for network in
        reader.networks(maxminddb::WithinOptions::default()).map_err(CountryError::Format)?.take(PROBED)
    {
        let found = network.map_err(CountryError::Format)?;
        if found.decode_path::<&str>(&ISO_CODE).map_err(CountryError::Format)?.and_then(code).is_some() {
            return Ok(());
        }
    }
    Err(CountryError::NoCountries)
}

/// All codes of two letters in a row: a header's value then borrows its two bytes.
static CODES: [u8; 26 * 26 * 2] = codes();

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "computed by the compiler, within its bounds"
)]
const fn codes() -> [u8; 26 * 26 * 2] {
    let mut codes = [0; 26 * 26 * 2];
    let mut place = 0;
    while place < 26 * 26 {
        codes[2 * place] = b'A' + (place / 26) as u8;
        codes[2 * place + 1] = b'A' + (place % 26) as u8;
        place += 1;
    }
    codes
}

fn code(text: &str) -> Option<HeaderValue> {
    let &[first, second] = text.as_bytes() else { return None };
    let place = |letter: u8| letter.is_ascii_uppercase().then(|| usize::from(letter - b'A'));
    let start = 2 * (26 * place(first)? + place(second)?);
    let code = str::from_utf8(CODES.get(start..start + 2)?).ok()?;
    Some(HeaderValue::from_static(code))
}

#[cfg(test)]
mod tests;
