//! `sluice backup`, `sluice restore`: copies of a SQLite database.

use std::ffi::OsString;
use std::path::PathBuf;

use indicatif::ProgressBar;
use sluice_commit::chain;
use sluice_store_sqlite::{self as sqlite, CopyError, Restored};
use tokio::task::spawn_blocking;
use tracing::info;

use super::{named_database, print, trail};
use crate::app::StartError;
use crate::cli::{Console, CopyArgs, DataSourceArgs, Exit};
use crate::config::{Dsn, LogSettings};
use crate::observability::LogGuard;

const IN_MEMORY: &str = "the database: `dsn` is `memory`, which keeps nothing";
const IN_POSTGRES: &str = "the database: PostgreSQL has tools of its own: `pg_dump` and `pg_restore` for one database, \
                           `pg_basebackup` for all of a server";
const AS_IT_WAS: &str = "What was revoked or changed since the copy was made is as it was then: see `After a restore` in \
                         docs/operations.md before you start anything.";

/// Copies the database into a new file, whoever uses it meanwhile.
pub(crate) async fn backup(
    args: CopyArgs,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let copied = copied(args, environment, console).await;
    told(copied, console)
}

/// Puts a copy in the place of the database, which nobody uses.
pub(crate) async fn restore(
    args: CopyArgs,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let restored = restored(args, environment, console).await;
    if restored.is_ok() {
        console.say(AS_IT_WAS);
    }
    told(restored, console)
}

async fn copied(
    CopyArgs { file, source }: CopyArgs,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Result<String, String> {
    let (database, log) = sqlite_file(&source, environment, console)?;
    let _logs = begin_log(log)?;
    // The engine would say of it that it cannot be opened.
    if database.try_exists().is_ok_and(|exists| !exists) {
        return Err(StartError::NoFile(database).to_string());
    }
    let paths = format!("{} to {}", database.display(), file.display());
    let network = apart(move || sqlite::backup(&database, &file)).await?;
    info!(target: "sluice_audit", { network.id = %network }, "database copied");
    Ok(format!("Copied {paths} (network {network})."))
}

async fn restored(
    CopyArgs { file, source }: CopyArgs,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Result<String, String> {
    let (database, log) = sqlite_file(&source, environment, console)?;
    let _logs = begin_log(log)?;
    let paths = format!("{} in the place of {}", file.display(), database.display());
    let Restored { network, former } = apart(move || sqlite::restore(&file, &database)).await?;
    info!(target: "sluice_audit", { network.id = %network }, "database restored");
    let former = former.map(|path| format!(" What was there is {} now.", path.display()));
    Ok(format!("Put a copy of {paths} (network {network}).{}", former.unwrap_or_default()))
}

/// Begins the log of a command that opens no installation.
fn begin_log(settings: LogSettings) -> Result<LogGuard, String> {
    trail::begin(settings, &ProgressBar::hidden()).map_err(|error| chain(&StartError::from(error)))
}

/// The file of the database that a command names, and in which form is logged there.
fn sqlite_file(
    source: &DataSourceArgs,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Result<(PathBuf, LogSettings), String> {
    let (database, log) = named_database(source, environment, console)?;
    match database.dsn {
        Dsn::Sqlite { path } => Ok((path, log)),
        Dsn::Memory => Err(IN_MEMORY.to_owned()),
        Dsn::Postgres { .. } => Err(IN_POSTGRES.to_owned()),
    }
}

/// Does what waits for a disk on a thread of its own.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CopyError> + Send + 'static,
) -> Result<T, String> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| chain(&error)),
        Err(panicked) => Err(chain(&panicked)),
    }
}

fn told(done: Result<String, String>, console: &mut Console<'_>) -> Exit {
    match done {
        Ok(line) => print(console, &line),
        Err(reason) => {
            console.say(&reason);
            Exit::Failure
        }
    }
}
