//! The routes file, followed: read again when it changes or when somebody asks for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;
use sluice_primitives::{Clock, Timestamp};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::file::{self, Checked, Mistake, Mistakes};
use super::live::LiveRoutes;
use crate::enrichment::CountryLookup;

/// How long a directory is quiet before the file is read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(100);
/// How long that quiet is waited for: something else may write into the directory all the time.
const SETTLED_AFTER: Duration = Duration::from_secs(2);
/// How often the file is looked at even if nobody says that it changed: network file systems tell nothing.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// A routes file, and what it put in force.
pub struct RoutesFile {
    path: PathBuf,
    routes: Arc<LiveRoutes>,
    country: Arc<CountryLookup>,
    clock: Arc<dyn Clock>,
    last: Mutex<LastRead>,
}

/// What reading the file came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reloaded {
    /// It is as it was.
    Unchanged,
    /// Another table is in force.
    Replaced,
}

/// How the file and the table in force stand: for health and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutesState {
    /// When the table in force was read.
    pub loaded_at: Timestamp,
    /// Why what is in the file now is not in force; `None`: it is.
    pub error: Option<String>,
    /// How often the file was no good, since the process began.
    pub failures: u64,
}

/// Why a file cannot come into force.
#[derive(Debug, thiserror::Error)]
pub enum RoutesError {
    /// It cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It has mistakes.
    #[error("{} has mistakes", path.display())]
    Mistaken {
        /// The file.
        path: PathBuf,
        /// All of them.
        source: Mistakes,
    },
}

#[derive(Debug)]
struct LastRead {
    /// What was tried last, good or bad; `None` if the file could not be read.
    text: Option<String>,
    state: RoutesState,
}

impl RoutesFile {
    /// Reads a file, which must be good.
    ///
    /// # Errors
    /// [`RoutesError`]
    pub fn open(path: PathBuf, clock: Arc<dyn Clock>) -> Result<Self, RoutesError> {
        let text = read(&path)?;
        let checked = check(&path, &text)?;
        warn_of(&path, &checked.warnings);
        let state = RoutesState { loaded_at: clock.now(), error: None, failures: 0 };
        let last = Mutex::new(LastRead { text: Some(text), state });
        let country = Arc::new(CountryLookup::default());
        country.put(checked.countries);
        Ok(Self { path, routes: Arc::new(LiveRoutes::new(checked.table)), country, clock, last })
    }

    /// The table in force.
    pub fn routes(&self) -> &Arc<LiveRoutes> {
        &self.routes
    }

    /// In which country addresses are, by the file that the routes in force name.
    pub fn country(&self) -> &Arc<CountryLookup> {
        &self.country
    }

    /// How the file and the table in force stand.
    pub fn state(&self) -> RoutesState {
        self.last.lock().state.clone()
    }

    /// Reads the file again, also if it is as it was: the files that it names may have changed. A file that is no good leaves
    /// the old table in force. Both are logged here. It blocks for as long as reading takes.
    ///
    /// # Errors
    /// [`RoutesError`]
    pub fn reload(&self) -> Result<Reloaded, RoutesError> {
        self.read_again(true)
    }

    /// Reads the file again whenever it changes, until `shutdown`: by being told where the system tells, else by looking.
    pub async fn follow(self: Arc<Self>, shutdown: CancellationToken) {
        let changed = Arc::new(Notify::new());
        let _watcher = self.watch(&changed);
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = changed.notified() => {}
                _ = looks.tick() => {}
            }
            // Also before a look: it may come while somebody writes.
            settle(&changed).await;
            let file = self.clone();
            // What went wrong was logged.
            let _ = tokio::task::spawn_blocking(move || file.read_again(false)).await;
        }
    }

    fn read_again(&self, always: bool) -> Result<Reloaded, RoutesError> {
        let mut last = self.last.lock();
        let read = read(&self.path);
        let text = read.as_ref().ok().cloned();
        let is_same = !always && text == last.text;
        if is_same && last.state.error.is_none() {
            return Ok(Reloaded::Unchanged);
        }
        last.text = text;
        match read.and_then(|text| check(&self.path, &text)) {
            Ok(checked) => {
                warn_of(&self.path, &checked.warnings);
                let count = checked.table.routes().len();
                self.country.put(checked.countries);
                self.routes.replace(checked.table);
                last.state = RoutesState { loaded_at: self.clock.now(), error: None, ..last.state };
                info!(routes.file = %self.path.display(), routes.count = count, "the routes were replaced");
                Ok(Reloaded::Replaced)
            }
            // It was told of already. What the file names may have been half written, and be whole at the next look.
            Err(_) if is_same => Ok(Reloaded::Unchanged),
            Err(error) => {
                let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                error!(routes.file = %self.path.display(), reason, "{error}: the old routes stay in force");
                last.state.error = Some(format!("{error}: {reason}"));
                last.state.failures += 1;
                Err(error)
            }
        }
    }

    /// Watches the directory and not the file: editors and Kubernetes put another file in its place.
    fn watch(&self, changed: &Arc<Notify>) -> Option<RecommendedWatcher> {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new("."));
        let told = changed.clone();
        let heard = move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                told.notify_one();
            }
        };
        let watcher = notify::recommended_watcher(heard).and_then(|mut watcher| {
            watcher.watch(directory, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        let report = |error: &notify::Error| {
            warn!(%error, "changes of the routes file are looked for every {} s only", LOOK_EVERY.as_secs());
        };
        watcher.inspect_err(report).ok()
    }
}

impl fmt::Debug for RoutesFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutesFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Waits until nothing has changed for a while, or for long enough.
async fn settle(changed: &Notify) {
    let quiet = async { while timeout(QUIET, changed.notified()).await.is_ok() {} };
    let _ = timeout(SETTLED_AFTER, quiet).await;
}

fn read(path: &Path) -> Result<String, RoutesError> {
    std::fs::read_to_string(path).map_err(|source| RoutesError::Unreadable { path: path.to_owned(), source })
}

fn check(path: &Path, text: &str) -> Result<Checked, RoutesError> {
    let directory = path.parent().unwrap_or(Path::new(""));
    file::read(text, directory).map_err(|source| RoutesError::Mistaken { path: path.to_owned(), source })
}

fn warn_of(path: &Path, warnings: &[Mistake]) {
    for warning in warnings {
        warn!(routes.file = %path.display(), "{warning}");
    }
}

#[cfg(test)]
mod tests;
