//! Lines become records: parsed and sealed on several threads, and written many at a time, so that they share commits.

use std::fmt;
use std::io;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use sluice_commit::StoreError;
use sluice_crypto::credential::{CredentialKeys, StoredCredential};
use sluice_crypto::foreign_hash::ForeignHashError;
use sluice_primitives::{Clock, IdentityId, Lifetime, Rng};
use thiserror::Error;
use tokio::task::{JoinError, spawn_blocking};

use super::fields::{CREATED_AT, PASSWORD_HASH};
use super::file::{ImportFile, ImportFileError, Source};
use super::frontier::{Frontier, ImportedCounts, LineOutcome, RejectedLine, Rejection, Settled};
use super::line::{ImportedIdentity, ImportedPassword, LineError, LineFault, parse_line};
use super::lines::{Lines, RawLine};
use super::origin::Origin;
use super::turns::Turns;
use crate::identity::{Identity, IdentityRepository, Registration};

/// How often a write is tried that the store cannot do now, and how long is waited before the second time; twice as long
/// before each further one.
const TRIES: u32 = 8;
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// By how much the clock of the other system may be ahead.
const CLOCK_DIFFERENCE: Lifetime = Lifetime::minutes(5);

/// How an import goes.
#[derive(Debug, Clone, Copy)]
pub struct ImportConfig {
    /// How many records are written at a time. Default: 2,000.
    pub in_flight: NonZeroUsize,
    /// How many threads parse and seal. Default: as many as there are cores.
    pub threads: NonZeroUsize,
    /// After how many lines is kept how far it has come. Default: 20,000.
    pub save_every: NonZeroU64,
}

impl Default for ImportConfig {
    fn default() -> Self {
        Self {
            in_flight: NonZeroUsize::MIN.saturating_add(1_999),
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            save_every: NonZeroU64::MIN.saturating_add(19_999),
        }
    }
}

/// Why an import stopped. What it had come to is kept: it can go on.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file, or what is kept beside it.
    #[error(transparent)]
    File(#[from] ImportFileError),
    /// The store.
    #[error("the import stopped, and can go on where it did")]
    Store(#[from] StoreError),
    /// Rejected lines cannot be told.
    #[error("the lines that were rejected cannot be written")]
    Report(#[source] io::Error),
    /// A line made the program panic.
    #[error("the import stopped for a defect of this program")]
    Defect(#[from] JoinError),
}

/// How far an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportProgress {
    /// What became of the lines that are done.
    pub counts: ImportedCounts,
    /// Where the last of them ends in the file, in bytes.
    pub offset: u64,
}

/// Who is told how an import goes.
pub trait ImportWatcher: Send {
    /// Lines became no records. In the order of the lines; before it is kept that they are done.
    ///
    /// # Errors
    /// What stops the import.
    fn rejected(&mut self, lines: &[RejectedLine]) -> io::Result<()>;

    /// Lines are done.
    fn progress(&mut self, progress: &ImportProgress);

    /// Everything told until now is to be durable.
    ///
    /// # Errors
    /// What stops the import.
    fn flush(&mut self) -> io::Result<()>;
}

/// Makes records of lines.
#[derive(Clone)]
pub struct Importer {
    /// Records.
    pub identities: Arc<dyn IdentityRepository>,
    /// Seal what is imported.
    pub keys: CredentialKeys,
    /// How much memory a login may take for a hash, in KiB: one that needs more is refused.
    pub max_memory_kib: u32,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
    /// How.
    pub config: ImportConfig,
}

/// Some lines, and where to go on.
type Chunk = (Result<Vec<RawLine>, ImportError>, Option<(Lines, Source)>);

/// A line on its way.
struct Prepared {
    number: u64,
    end: u64,
    /// What is to be stored; or what has become of the line.
    made: Result<Record, LineOutcome>,
}

/// What a line is to become.
struct Record {
    identity: Box<Identity>,
    /// Whether its id was made up.
    made_up: bool,
    /// Whether the line says of its address what is not believed.
    is_disbelieved: bool,
}

impl Record {
    /// The id, if the line names it: another line may, too.
    fn named_id(&self) -> Option<IdentityId> {
        (!self.made_up).then_some(self.identity.id)
    }
}

impl Importer {
    /// Imports what is left of a file; how many of all its lines became what. A line that is repeated, because an import
    /// stopped before it was kept that it is done, is recognised and no duplicate. After `stop`, what is on its way is
    /// finished and no more lines are read.
    ///
    /// # Errors
    /// [`ImportError`] if it stopped before; a rejected line is no error.
    pub async fn run(
        &self,
        file: &mut ImportFile,
        watcher: &mut dyn ImportWatcher,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<ImportedCounts, ImportError> {
        let mut frontier = Frontier::new(file.counts());
        let mut is_stopped = false;
        let stop = async {
            stop.await;
            is_stopped = true;
        };
        let failed = self.advance(file, &mut frontier, watcher, stop).await.err();
        keep(file, watcher, frontier.counts, failed.is_none() && !is_stopped)?;
        failed.map_or(Ok(frontier.counts), Err)
    }

    async fn advance(
        &self,
        file: &mut ImportFile,
        frontier: &mut Frontier,
        watcher: &mut dyn ImportWatcher,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ImportError> {
        let mut saved = frontier.counts.lines;
        let settled = self.settled(file, stop)?;
        let mut settled = std::pin::pin!(settled);
        while let Some(next) = settled.next().await {
            let rejected = frontier.settle(next?);
            if !rejected.is_empty() {
                watcher.rejected(&rejected).map_err(ImportError::Report)?;
            }
            watcher.progress(&ImportProgress { counts: frontier.counts, offset: frontier.offset });
            if frontier.counts.lines - saved >= self.config.save_every.get() {
                saved = frontier.counts.lines;
                keep(file, watcher, frontier.counts, false)?;
            }
        }
        Ok(())
    }

    /// What becomes of the lines that are left, in any order.
    fn settled<'a, S: Future<Output = ()> + Send>(
        &'a self,
        file: &ImportFile,
        stop: S,
    ) -> Result<impl Stream<Item = Result<Settled, ImportError>> + use<'a, S>, ImportError> {
        let origin = Origin { digest: file.digest(), began_at: file.began_at() };
        let source = file.source();
        let mut lines = Lines::new(file.reader()?);
        lines.skip(file.counts().lines).map_err(|cause| source.unread(cause))?;
        let prepared = stream::unfold(Some((lines, source)), next_chunk)
            .take_until(stop)
            .map(move |chunk| self.prepare_chunk(chunk, origin))
            .buffered(self.config.threads.get())
            .flat_map(|chunk| match chunk {
                Ok(lines) => stream::iter(lines.into_iter().map(Ok).collect::<Vec<_>>()),
                Err(error) => stream::iter(vec![Err(error)]),
            });
        let turns = Turns::new();
        let settle = move |line: Result<Prepared, ImportError>| {
            let turns = turns.clone();
            async move {
                let line = line?;
                let _turn = match &line.made {
                    Ok(record) => Some(turns.of(&record.identity.login_name, record.named_id()).await),
                    Err(_) => None,
                };
                self.settle(line, origin).await
            }
        };
        Ok(prepared.map(settle).buffer_unordered(self.config.in_flight.get()))
    }

    /// Parses and seals some lines on another thread.
    async fn prepare_chunk(
        &self,
        chunk: Result<Vec<RawLine>, ImportError>,
        origin: Origin,
    ) -> Result<Vec<Prepared>, ImportError> {
        let (lines, this) = (chunk?, self.clone());
        let prepare = move || lines.into_iter().map(|line| this.prepare(line, origin)).collect();
        Ok(spawn_blocking(prepare).await?)
    }

    fn prepare(&self, line: RawLine, origin: Origin) -> Prepared {
        let RawLine { number, end, text } = line;
        let made = match text {
            Some(text) if text.trim_ascii().is_empty() => Err(LineOutcome::Empty),
            Some(text) => parse_line(&text)
                .and_then(|imported| {
                    let (made_up, is_disbelieved) = (imported.id.is_none(), imported.is_disbelieved);
                    let identity = Box::new(self.identity(imported, number, origin)?);
                    Ok(Record { identity, made_up, is_disbelieved })
                })
                .map_err(|error| LineOutcome::Rejected(error.into())),
            None => Err(LineOutcome::Rejected(LineError::of_line(LineFault::TooLong).into())),
        };
        Prepared { number, end, made }
    }

    fn identity(&self, imported: ImportedIdentity, line: u64, origin: Origin) -> Result<Identity, LineError> {
        let now = self.clock.now();
        if imported.created_at.is_some_and(|created_at| created_at > now + CLOCK_DIFFERENCE) {
            return Err(LineError::of(CREATED_AT, LineFault::Future));
        }
        let created_at = imported.created_at.unwrap_or(origin.began_at);
        let id = imported.id.unwrap_or_else(|| origin.id(line, created_at.min(now)));
        Ok(Identity {
            id,
            login_name: imported.email.login_name(),
            email: imported.email.as_str().to_owned(),
            username: imported.username.into_string(),
            credential: self.credential(id, imported.password.as_ref())?,
            hardening: false,
            status: imported.status,
            email_verified_at: imported.email_verified.then_some(origin.began_at),
            created_at,
            updated_at: created_at,
            revision: 1,
            attempt: origin.attempt(line),
        })
    }

    fn credential(
        &self,
        owner: IdentityId,
        password: Option<&ImportedPassword>,
    ) -> Result<String, LineError> {
        match password {
            None => Ok(String::new()),
            Some(ImportedPassword::Foreign(hash)) => {
                self.check_memory(hash.memory_kib())?;
                Ok(self.keys.foreign(owner, hash, &*self.rng))
            }
            Some(ImportedPassword::Hardened(hash)) => {
                // Without its pepper nobody could ever log in with it.
                let known = StoredCredential::parse(hash.expose())
                    .and_then(|stored| self.keys.secret_in_use(&stored).map(|_| stored));
                let stored = known.map_err(|error| LineError::of(PASSWORD_HASH, error))?;
                self.check_memory(stored.params().map_or(0, |params| params.memory_kib()))?;
                Ok(hash.expose().clone())
            }
        }
    }

    /// No login could compute a hash that needs more.
    fn check_memory(&self, kib: u32) -> Result<(), LineError> {
        if kib > self.max_memory_kib {
            return Err(LineError::of(PASSWORD_HASH, ForeignHashError::TooMuchMemory));
        }
        Ok(())
    }

    async fn settle(&self, line: Prepared, origin: Origin) -> Result<Settled, ImportError> {
        let Prepared { number, end, made } = line;
        let outcome = match made {
            Ok(Record { identity, made_up, is_disbelieved }) => {
                // A record that was changed since does not tell the attempt any more. An id that the line names may be there
                // for longer than this import, or be that of another line: of one that was not changed, the store knew whose it is.
                let is_of_line = |record: &Identity| {
                    let was_changed =
                        record.updated_at != record.created_at || record.revision != identity.revision;
                    let named = || record.id == identity.id && was_changed && origin.dated(record);
                    if made_up { origin.made_up(number, record.id) } else { named() }
                };
                match self.store(&identity, is_of_line).await? {
                    None => LineOutcome::Imported { is_disbelieved },
                    Some(rejection) => LineOutcome::Rejected(rejection),
                }
            }
            Err(outcome) => outcome,
        };
        Ok(Settled { number, end, outcome })
    }

    /// Stores a record, if it is not there; why it cannot be, if so.
    async fn store(
        &self,
        identity: &Identity,
        is_of_line: impl Fn(&Identity) -> bool,
    ) -> Result<Option<Rejection>, ImportError> {
        let registered = patiently(|| self.identities.register(identity.clone().into())).await;
        // Of a line of this file that was mended since, the id is the same, and the record is the one of before.
        let is_it =
            |found: &Identity| found.login_name == identity.login_name || found.revision != identity.revision;
        let own = |found: Option<&Identity>| found.is_some_and(|found| is_of_line(found) && is_it(found));
        let of_same_id = || patiently(move || self.identities.find(identity.id));
        match registered {
            Ok(Registration::Registered) => Ok(None),
            Ok(Registration::Taken) => {
                let holder = patiently(|| self.identities.find_by_login_name(&identity.login_name)).await?;
                // Of this very line, and changed since; perhaps to another address, and somebody else took this one.
                let is_own = own(holder.as_ref()) || own(of_same_id().await?.as_ref());
                Ok((!is_own).then_some(Rejection::Duplicate))
            }
            // What the store would do to any line says nothing about this one.
            Err(error @ (StoreError::Busy | StoreError::Unavailable(_) | StoreError::Refused(_))) => {
                Err(error.into())
            }
            Err(error @ (StoreError::Invalid(_) | StoreError::Fault(_))) => Ok(match of_same_id().await? {
                None => Some(Rejection::Refused(error.to_string())),
                found if own(found.as_ref()) => None,
                Some(_) => Some(Rejection::IdTaken),
            }),
        }
    }
}

impl fmt::Debug for Importer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Importer").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Some further lines.
async fn next_chunk(at: Option<(Lines, Source)>) -> Option<Chunk> {
    let (mut lines, source) = at?;
    match spawn_blocking(move || (lines.some(), lines)).await {
        Ok((Ok(chunk), lines)) if chunk.is_empty() => {
            let changed = source.check_end(lines.offset()).err()?;
            Some((Err(changed.into()), None))
        }
        Ok((Ok(chunk), lines)) => Some((Ok(chunk), Some((lines, source)))),
        Ok((Err(cause), _)) => Some((Err(source.unread(cause).into()), None)),
        Err(defect) => Some((Err(defect.into()), None)),
    }
}

/// Tries again what the store cannot do now.
async fn patiently<T, F>(work: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut wait = FIRST_WAIT;
    for _ in 1..TRIES {
        match work().await {
            Err(error) if error.is_temporary() => tokio::time::sleep(wait).await,
            done => return done,
        }
        wait *= 2;
    }
    work().await
}

/// Keeps what is done, once what was told of it is safe.
fn keep(
    file: &mut ImportFile,
    watcher: &mut dyn ImportWatcher,
    counts: ImportedCounts,
    is_finished: bool,
) -> Result<(), ImportError> {
    watcher.flush().map_err(ImportError::Report)?;
    Ok(file.advance(counts, is_finished)?)
}
