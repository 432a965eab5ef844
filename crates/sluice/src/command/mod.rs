//! What the commands that start or tend a server do.

pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod copy;
pub(crate) mod demo;
pub(crate) mod gateway;
mod installation;
pub(crate) mod janitor;
mod memory_limit;
pub(crate) mod migrate;
mod open_files;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod takeover;
mod trail;
pub(crate) mod transfer;
pub(crate) mod worker;

use std::error::Error;
use std::ffi::OsString;

use sluice_commit::chain;

use crate::cli::{Console, DataSourceArgs, Exit};
use crate::config::{self, ConfigError, DatabaseSettings, Loaded, LogSettings, Sources};

/// Prints a line.
pub(crate) fn print(console: &mut Console<'_>, line: &str) -> Exit {
    console.print(&format!("{line}\n"))
}

/// Says why a command did not do what it was asked.
pub(crate) fn fail(console: &mut Console<'_>, error: &(dyn Error + 'static)) -> Exit {
    let _ = writeln!(console.err, "{}", chain(error));
    Exit::Failure
}

/// Reads the configuration; its errors go to standard error. Its warnings are for the caller to tell: to a log, or to a person.
pub(crate) fn load(sources: &Sources) -> Option<Loaded> {
    unless_refused(config::load(sources))
}

/// What was read. Why it is refused is said on standard error, with what was noticed besides.
fn unless_refused<T>(loaded: Result<Loaded<T>, ConfigError>) -> Option<Loaded<T>> {
    loaded.inspect_err(say_refused).ok()
}

fn say_refused(error: &ConfigError) {
    for warning in error.warnings() {
        eprintln!("warning: {warning}");
    }
    eprintln!("{error}");
}

/// Which database a command names, and in which form is logged there.
pub(crate) fn named_database(
    source: &DataSourceArgs,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Result<(DatabaseSettings, LogSettings), String> {
    let sources = source.sources(environment)?;
    let (database, log, warnings) = config::load_database(&sources).map_err(|error| {
        console.warn(error.warnings());
        error.to_string()
    })?;
    console.warn(&warnings);
    Ok((database, log))
}
