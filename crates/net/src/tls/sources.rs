//! Where the certificates of a listener are, and what was found there.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use sluice_primitives::Timestamp;
use tokio::time::Instant;

use super::AcceptorError;
use super::certified::Certified;
use super::folder::pairs;
use super::pair::{Pair, Pem};

/// Files that have looked the same for so long have not changed since they were read: no file system tells times less exactly.
const SETTLES: Duration = Duration::from_secs(3);

/// Where the certificates and their keys are.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) first: Pair,
    pub(super) folder: Option<PathBuf>,
}

impl Sources {
    pub(super) fn may_change(&self) -> bool {
        self.first.may_change() || self.folder.is_some()
    }

    /// Those of the folder, in the order of their names; of those that are shown also what a link led to that leads nowhere now.
    fn further(&self, shown: &[Entry]) -> Result<Vec<Pair>, AcceptorError> {
        let is_shown = |pair: &Pair| {
            let name = pair.name();
            shown.iter().any(|entry| entry.certified.is_some() && entry.source == name)
        };
        self.folder.as_deref().map_or_else(|| Ok(Vec::new()), |folder| pairs(folder, &is_shown))
    }
}

/// What was found, pair by pair: one that is no good keeps no other from its renewal.
#[derive(Debug)]
pub(super) struct Found {
    first: Entry,
    further: Vec<Entry>,
    /// Why the folder cannot be read.
    unlisted: Option<Arc<AcceptorError>>,
    look: Option<Look>,
    /// When it was last looked which of them are valid already.
    seen_at: Timestamp,
}

/// What was found of a pair.
#[derive(Debug, Clone)]
struct Entry {
    /// What messages call it.
    source: String,
    /// What is shown of it: what was read last or, if that was no good, before.
    certified: Option<Arc<Certified>>,
    /// Of what was read last; `None`: it could not be read.
    print: Option<u64>,
    /// Why that is no good.
    refused: Option<Arc<AcceptorError>>,
}

/// What is no good.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) error: Arc<AcceptorError>,
    /// Whether what was there before is shown in its stead.
    pub(super) has_old: bool,
}

/// What came of another look.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Whether another certificate is to be shown, or one no longer, or one is good again.
    pub(super) is_replaced: bool,
    /// What is no good and was not, or was for another reason.
    pub(super) refused: Vec<Refused>,
}

/// How the files looked, of which none was opened for that, and since when.
#[derive(Debug)]
struct Look {
    files: Vec<(PathBuf, Option<Seen>)>,
    since: Instant,
    /// Whether they have not changed since they were read, if they still look so.
    is_settled: bool,
}

/// What of a file changes when that does.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// How a pair is made a certificate.
type Certify = fn(&Pem, &CryptoProvider) -> Result<Certified, AcceptorError>;

impl Found {
    /// What is there at the start, `at` this moment.
    ///
    /// # Errors
    /// [`AcceptorError`]: one of them is no good.
    pub(super) fn load(
        sources: &Sources,
        provider: &CryptoProvider,
        at: Timestamp,
    ) -> Result<Self, AcceptorError> {
        let first = Entry::load(&sources.first, Certified::of, provider)?;
        let further = sources.further(&[])?;
        let further = further.iter().map(|pair| Entry::load(pair, Certified::by_name, provider));
        let further = further.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { first, further, unlisted: None, look: None, seen_at: at })
    }

    /// When it was last looked which of them are valid already.
    pub(super) const fn seen_at(&self) -> Timestamp {
        self.seen_at
    }

    /// The first, and those of the folder.
    pub(super) fn certified(&self) -> (Option<&Arc<Certified>>, Vec<Arc<Certified>>) {
        let further = self.further.iter().filter_map(|entry| entry.certified.clone());
        (self.first.certified.as_ref(), further.collect())
    }

    /// All that is no good.
    pub(super) fn refused(&self) -> Vec<Refused> {
        let unlisted = self.unlisted.iter().map(|error| Refused { error: Arc::clone(error), has_old: true });
        let entries = std::iter::once(&self.first).chain(&self.further);
        unlisted.chain(entries.filter_map(Entry::refused)).collect()
    }

    /// Looks at the files, and reads them if they may have changed; and whether one has become valid by the moment that it is `at`.
    pub(super) fn look_again(
        &mut self,
        sources: &Sources,
        provider: &CryptoProvider,
        (now, at): (Instant, Timestamp),
    ) -> Changes {
        let before = std::mem::replace(&mut self.seen_at, at);
        let (first, others) = self.certified();
        // One alone is shown anyway.
        let is_replaced = sources.folder.is_some()
            && first.into_iter().chain(&others).any(|certified| certified.is_other_at(before, at));
        let mut changes = Changes { is_replaced, refused: Vec::new() };
        let further = sources.further(&self.further);
        let look = further.as_ref().ok().map(|further| Look::at(&sources.first, further, now));
        let since = match (&look, &self.look) {
            (Some(look), Some(last)) if look.files == last.files => {
                if last.is_settled {
                    return changes;
                }
                last.since
            }
            _ => now,
        };
        let (first, refused) = Entry::next(Some(&self.first), &sources.first, Certified::of, provider);
        changes.note(Some(&self.first), &first, refused);
        self.first = first;
        match further {
            Ok(further) => {
                self.unlisted = None;
                self.further = self.next_further(&further, provider, &mut changes);
            }
            Err(error) => {
                if self.unlisted.as_ref().is_none_or(|last| !says_the_same(last, &error)) {
                    let error = Arc::clone(self.unlisted.insert(Arc::new(error)));
                    changes.refused.push(Refused { error, has_old: true });
                }
            }
        }
        // What could not be read may be readable without looking otherwise.
        let is_read = self.first.print.is_some() && self.further.iter().all(|entry| entry.print.is_some());
        let is_settled = is_read && now.saturating_duration_since(since) >= SETTLES;
        self.look = look.map(|look| Look { since, is_settled, ..look });
        changes
    }

    fn next_further(&self, further: &[Pair], provider: &CryptoProvider, changes: &mut Changes) -> Vec<Entry> {
        let known: HashMap<&str, &Entry> = self.further.iter().map(|entry| (&*entry.source, entry)).collect();
        let is_shown = |entry: &&Entry| entry.certified.is_some();
        let (mut entries, mut kept) = (Vec::with_capacity(further.len()), 0);
        for pair in further {
            let last = known.get(pair.name().as_str()).copied();
            let (entry, refused) = Entry::next(last, pair, Certified::by_name, provider);
            changes.note(last, &entry, refused);
            entries.push(entry);
            kept += usize::from(last.as_ref().is_some_and(is_shown));
        }
        // One that was never shown takes nothing away.
        changes.is_replaced |= kept < self.further.iter().filter(is_shown).count();
        entries
    }
}

impl Entry {
    fn load(pair: &Pair, certify: Certify, provider: &CryptoProvider) -> Result<Self, AcceptorError> {
        let pem = pair.read()?;
        let certified = Some(Arc::new(certify(&pem, provider)?));
        Ok(Self { source: pair.name(), certified, print: Some(pem.print()), refused: None })
    }

    /// What becomes of it now, and why that is no good, if that is new.
    fn next(
        last: Option<&Self>,
        pair: &Pair,
        certify: Certify,
        provider: &CryptoProvider,
    ) -> (Self, Option<Arc<AcceptorError>>) {
        let read = pair.read();
        let print = read.as_ref().ok().map(Pem::print);
        if let Some(last) = last
            && print.is_some()
            && print == last.print
        {
            return (last.clone(), None);
        }
        let source = pair.name();
        match read.and_then(|pem| certify(&pem, provider)) {
            Ok(certified) => {
                (Self { source, certified: Some(Arc::new(certified)), print, refused: None }, None)
            }
            Err(error) => {
                let (certified, told) =
                    last.map_or((None, None), |last| (last.certified.clone(), last.refused.as_ref()));
                let is_new = print.is_some() || told.is_none_or(|told| !says_the_same(told, &error));
                let error = Arc::new(error);
                let refused = is_new.then(|| Arc::clone(&error));
                (Self { source, certified, print, refused: Some(error) }, refused)
            }
        }
    }

    fn refused(&self) -> Option<Refused> {
        let error = Arc::clone(self.refused.as_ref()?);
        Some(Refused { error, has_old: self.certified.is_some() })
    }
}

impl Changes {
    /// Notes what became of a pair.
    fn note(&mut self, last: Option<&Entry>, entry: &Entry, refused: Option<Arc<AcceptorError>>) {
        let is_other = last.is_none_or(|last| last.print != entry.print);
        self.is_replaced |= entry.refused.is_none() && is_other;
        let has_old = entry.certified.is_some();
        self.refused.extend(refused.map(|error| Refused { error, has_old }));
    }
}

impl Look {
    fn at(first: &Pair, further: &[Pair], since: Instant) -> Self {
        let files = std::iter::once(first).chain(further).flat_map(Pair::files);
        let files = files.map(|path| (path.to_owned(), fs::metadata(path).ok().map(|file| Seen::of(&file))));
        Self { files: files.collect(), since, is_settled: false }
    }
}

impl Seen {
    fn of(file: &Metadata) -> Self {
        Self {
            file: (file.dev(), file.ino()),
            length: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

/// Whether the log would say the same of both.
fn says_the_same(left: &AcceptorError, right: &AcceptorError) -> bool {
    let said = |error: &AcceptorError| (error.to_string(), error.source().map(ToString::to_string));
    said(left) == said(right)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustls::crypto::aws_lc_rs;
    use sluice_primitives::Lifetime;

    use super::super::{PemSource, self_signed};
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_750_000_000);

    fn lay_down(folder: &Path, host: &str) {
        let certificate = self_signed(&[host.to_owned()], NOW).unwrap();
        fs::write(folder.join("a.crt"), certificate.certificate).unwrap();
        fs::write(folder.join("a.key"), certificate.private_key.expose()).unwrap();
    }

    fn sources(folder: &Path) -> Sources {
        let file = |name| PemSource::File(folder.join(name));
        Sources {
            first: Pair { chain: file("a.crt"), private_key: file("a.key") },
            folder: Some(folder.into()),
        }
    }

    #[test]
    fn files_that_look_the_same_for_long_are_not_read_again_until_they_look_otherwise() {
        let (folder, provider) = (tempfile::tempdir().unwrap(), aws_lc_rs::default_provider());
        lay_down(folder.path(), "localhost");
        let (sources, begun) = (sources(folder.path()), Instant::now());
        let mut found = Found::load(&sources, &provider, NOW).unwrap();
        // Whether it was read is seen by what that leaves behind.
        let mut is_read_at = |seconds: u64| {
            found.first.print = None;
            found.look_again(&sources, &provider, (begun + Duration::from_secs(seconds), NOW));
            found.first.print.is_some()
        };
        assert_eq!([0, 2, 5, 10, 15].map(&mut is_read_at), [true, true, true, false, false]);
        lay_down(folder.path(), "other.localhost");
        assert_eq!([20, 21, 25, 30].map(&mut is_read_at), [true, true, true, false]);
        fs::write(folder.path().join("b.key"), "").unwrap();
        assert_eq!([35, 40, 45].map(&mut is_read_at), [true; 3], "half a certificate may be whole any time");
    }

    #[test]
    fn one_that_becomes_valid_replaces_another_also_when_its_files_are_not_read_again() {
        let (folder, provider) = (tempfile::tempdir().unwrap(), aws_lc_rs::default_provider());
        lay_down(folder.path(), "localhost");
        let (sources, begun) = (sources(folder.path()), Instant::now());
        // It is valid from an hour before it was made.
        let early = NOW - Lifetime::hours(2);
        let mut found = Found::load(&sources, &provider, early).unwrap();
        let mut is_replaced_at = |seconds: u64, at: Timestamp| {
            let now = begun + Duration::from_secs(seconds);
            found.look_again(&sources, &provider, (now, at)).is_replaced
        };
        assert_eq!([0, 5, 10].map(|seconds| is_replaced_at(seconds, early)), [false; 3]);
        assert!(is_replaced_at(15, NOW - Lifetime::hours(1)));
        assert!(!is_replaced_at(20, NOW));
        assert!(is_replaced_at(25, early), "the clock was ahead");
    }

    #[test]
    fn what_was_never_shown_and_goes_replaces_nothing() {
        let (folder, provider) = (tempfile::tempdir().unwrap(), aws_lc_rs::default_provider());
        lay_down(folder.path(), "localhost");
        let sources = sources(folder.path());
        let mut found = Found::load(&sources, &provider, NOW).unwrap();
        let half = folder.path().join("b.key");
        fs::write(&half, "").unwrap();
        let changes = found.look_again(&sources, &provider, (Instant::now(), NOW));
        assert!(!changes.is_replaced && changes.refused.len() == 1);
        fs::remove_file(half).unwrap();
        let changes = found.look_again(&sources, &provider, (Instant::now(), NOW));
        assert!(!changes.is_replaced && changes.refused.is_empty());
        fs::remove_file(folder.path().join("a.crt")).unwrap();
        fs::remove_file(folder.path().join("a.key")).unwrap();
        assert!(found.look_again(&sources, &provider, (Instant::now(), NOW)).is_replaced);
    }
}
