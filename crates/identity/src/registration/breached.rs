//! Passwords that were found in breaches, known by their SHA-1: a file in this machine, or an endpoint that is told the
//! first five digits only (k-anonymity).

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue};
use sluice_net::{FetchError, FetchLimits, Fetcher};
use thiserror::Error;
use url::Url;

use crate::config::BreachedSource;

/// Of a SHA-1 in hexadecimal digits.
const DIGITS: usize = 40;
/// The digits that an endpoint is told.
const PREFIX: usize = 5;
/// A longer line is none of such a list, in bytes.
const MAX_LINE: u64 = 128;
/// At how many places a list is looked at before it is used.
const PLACES: u64 = 64;
/// How long a person who registers waits for an endpoint.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(2);
/// Has the endpoint add lines that count nothing, so that the length of an answer does not tell the prefix.
const ADD_PADDING: HeaderName = HeaderName::from_static("add-padding");

/// Why a list gave no answer.
#[derive(Debug, Error)]
pub enum BreachedError {
    /// The file cannot be read.
    #[error("the list of breached passwords cannot be read")]
    Read(#[source] io::Error),
    /// What was read is no list of hashes.
    #[error("the list of breached passwords is malformed")]
    Malformed,
    /// The hashes are in another order than their own, in which nothing can be found.
    #[error("the list of breached passwords is not sorted by hash")]
    Unsorted,
    /// The endpoint cannot be reached.
    #[error("the endpoint for breached passwords cannot be asked")]
    Fetch(#[source] FetchError),
    /// The endpoint answered with another status than 200.
    #[error("the endpoint for breached passwords answered with status {0}")]
    Status(u16),
}

impl BreachedError {
    /// The error and what caused it, in one line.
    pub(super) fn with_cause(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}

/// A list of breached passwords.
#[async_trait]
pub trait BreachedPasswords: Send + Sync {
    /// Whether the password with this SHA-1 is on it.
    async fn is_breached(&self, sha1: &[u8; 20]) -> Result<bool, BreachedError>;
}

/// The list that the configuration names.
///
/// # Errors
/// [`BreachedError`] if its file cannot be read.
pub fn open(
    source: &BreachedSource,
    fetcher: &Arc<Fetcher>,
) -> Result<Arc<dyn BreachedPasswords>, BreachedError> {
    Ok(match source {
        BreachedSource::File(path) => Arc::new(BreachedFile::open(path)?),
        BreachedSource::Endpoint(url) => Arc::new(BreachedEndpoint::new(url.clone(), Arc::clone(fetcher))),
    })
}

/// A file with a line `SHA1:count` for each password, sorted, in hexadecimal digits of either case. It is searched where it
/// lies, whatever its size, and may be replaced by another one at any time. Whether it is sorted is looked at where it is read: at some
/// places at the start, and wherever a search comes by.
#[derive(Debug)]
pub struct BreachedFile {
    path: PathBuf,
}

impl BreachedFile {
    /// The list in this file.
    ///
    /// # Errors
    /// [`BreachedError`] if the file cannot be read, holds something else than hashes, or is not sorted, as far as that shows.
    pub fn open(path: &Path) -> Result<Self, BreachedError> {
        Lines::open(path)?.look_through()?;
        Ok(Self { path: path.to_owned() })
    }
}

#[async_trait]
impl BreachedPasswords for BreachedFile {
    async fn is_breached(&self, sha1: &[u8; 20]) -> Result<bool, BreachedError> {
        let (path, wanted) = (self.path.clone(), digits(sha1));
        let searched = tokio::task::spawn_blocking(move || Lines::open(&path)?.hold(wanted.as_bytes()));
        searched.await.unwrap_or_else(|failed| Err(BreachedError::Read(io::Error::other(failed))))
    }
}

/// The lines of a list.
struct Lines {
    file: BufReader<File>,
    length: u64,
}

/// A line, and where it is.
struct Line {
    start: u64,
    end: u64,
    hash: Hash,
}

/// A hash in hexadecimal digits, the letters in upper case.
type Hash = [u8; DIGITS];

/// What no hash is below, and none above.
const LOWEST: Hash = [b'0'; DIGITS];
const HIGHEST: Hash = [b'F'; DIGITS];

impl Lines {
    fn open(path: &Path) -> Result<Self, BreachedError> {
        let file = File::open(path).map_err(BreachedError::Read)?;
        let length = file.metadata().map_err(BreachedError::Read)?.len();
        let room = usize::try_from(2 * MAX_LINE).unwrap_or_default();
        Ok(Self { file: BufReader::with_capacity(room, file), length })
    }

    /// Looks at some lines, evenly spread, and at the last ones.
    fn look_through(&mut self) -> Result<(), BreachedError> {
        let step = self.length / PLACES;
        let mut before = LOWEST;
        for place in (0..PLACES).map(|place| step * place) {
            before = self.ascending(place, &before)?.map_or(before, |line| line.hash);
        }
        let mut place = self.length.saturating_sub(MAX_LINE).max(step * (PLACES - 1));
        while let Some(line) = self.ascending(place, &before)? {
            (place, before) = (line.end, line.hash);
        }
        Ok(())
    }

    /// The first line that starts at this place or after it, which must not be below one before it.
    fn ascending(&mut self, place: u64, before: &Hash) -> Result<Option<Line>, BreachedError> {
        let line = self.first_from(place)?;
        if line.as_ref().is_some_and(|line| line.hash < *before) {
            return Err(BreachedError::Unsorted);
        }
        Ok(line)
    }

    /// Whether a line begins with these digits.
    fn hold(&mut self, wanted: &[u8]) -> Result<bool, BreachedError> {
        // If there is such a line, it starts in `low..high`; and whatever starts there is between these.
        let (mut low, mut high) = (0, self.length);
        let (mut lowest, mut highest) = (LOWEST, HIGHEST);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(line) = self.first_from(middle)?.filter(|line| line.start < high) else {
                high = middle;
                continue;
            };
            if !(lowest..=highest).contains(&line.hash) {
                return Err(BreachedError::Unsorted);
            }
            match line.hash.as_slice().cmp(wanted) {
                Ordering::Less => (low, lowest) = (line.end, line.hash),
                Ordering::Equal => return Ok(true),
                Ordering::Greater => (high, highest) = (middle, line.hash),
            }
        }
        Ok(false)
    }

    /// The first line that starts at this place or after it. Blank ones are none, at the end only.
    fn first_from(&mut self, place: u64) -> Result<Option<Line>, BreachedError> {
        let mut start = place.saturating_sub(1);
        self.file.seek(SeekFrom::Start(start)).map_err(BreachedError::Read)?;
        let mut text = Vec::with_capacity(DIGITS);
        if place > 0 {
            start += self.read_line(&mut text)?;
        }
        let end = start + self.read_line(&mut text)?;
        if text.trim_ascii().is_empty() {
            return self.expect_blank().map(|()| None);
        }
        let hash = text.first_chunk::<DIGITS>().ok_or(BreachedError::Malformed)?.to_ascii_uppercase();
        let hash = Hash::try_from(hash).map_err(|_| BreachedError::Malformed)?;
        if !hash.iter().all(u8::is_ascii_hexdigit) {
            return Err(BreachedError::Malformed);
        }
        Ok(Some(Line { start, end, hash }))
    }

    /// Reads to the end, where nothing may be any more.
    fn expect_blank(&mut self) -> Result<(), BreachedError> {
        let mut text = Vec::new();
        while self.read_line(&mut text)? > 0 {
            if !text.trim_ascii().is_empty() {
                return Err(BreachedError::Malformed);
            }
        }
        Ok(())
    }

    /// Reads what is left of a line; how many bytes it was.
    fn read_line(&mut self, text: &mut Vec<u8>) -> Result<u64, BreachedError> {
        text.clear();
        let mut bounded = (&mut self.file).take(MAX_LINE);
        let read = bounded.read_until(b'\n', text).map_err(BreachedError::Read)?;
        let read = u64::try_from(read).unwrap_or(MAX_LINE);
        if read == MAX_LINE { Err(BreachedError::Malformed) } else { Ok(read) }
    }
}

/// An endpoint that answers to the first five digits of a SHA-1 with a line `rest:count` for each password that it knows to
/// begin with them: <https://haveibeenpwned.com/API/v3#PwnedPasswords>.
#[derive(Debug)]
pub struct BreachedEndpoint {
    url: Url,
    fetcher: Arc<Fetcher>,
}

impl BreachedEndpoint {
    /// The endpoint at `url`, to which the digits are appended.
    pub fn new(mut url: Url, fetcher: Arc<Fetcher>) -> Self {
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Self { url, fetcher }
    }
}

#[async_trait]
impl BreachedPasswords for BreachedEndpoint {
    async fn is_breached(&self, sha1: &[u8; 20]) -> Result<bool, BreachedError> {
        let digits = digits(sha1);
        let (prefix, rest) = digits.split_at_checked(PREFIX).ok_or(BreachedError::Malformed)?;
        let url = self.url.join(prefix).map_err(|_| BreachedError::Malformed)?;
        let limits = self.fetcher.limits();
        let limits = FetchLimits { timeout: limits.timeout.min(ENDPOINT_TIMEOUT), ..limits };
        let headers = HeaderMap::from_iter([(ADD_PADDING, HeaderValue::from_static("true"))]);
        let fetched = self.fetcher.get_with_headers(&url, headers, limits).await;
        let fetched = fetched.map_err(BreachedError::Fetch)?;
        if fetched.status != http::StatusCode::OK {
            return Err(BreachedError::Status(fetched.status.as_u16()));
        }
        let lines = std::str::from_utf8(&fetched.body).map_err(|_| BreachedError::Malformed)?;
        // Padding counts nothing.
        let counted = |line: &str| {
            let (known, count) = line.trim().split_once(':')?;
            Some(known.eq_ignore_ascii_case(rest) && count.trim() != "0")
        };
        Ok(lines.lines().filter_map(counted).any(|breached| breached))
    }
}

fn digits(sha1: &[u8; 20]) -> String {
    data_encoding::HEXUPPER.encode(sha1)
}
