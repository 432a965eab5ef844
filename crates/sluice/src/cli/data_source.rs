//! Which database a command is about: named on the command line, as Hydra does, or by the configuration.

use std::ffi::OsString;

use clap::Args;
use sluice_primitives::Secret;

use super::configuration::ConfigurationArgs;
use super::value;
use crate::config::Sources;

/// The key of the configuration that names the database.
const DSN: &str = "dsn";
/// The variable of the environment that does.
const VARIABLE: &str = "DSN";

/// Which database a command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataSourceArgs {
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArgs,
    /// Take the database from the variable DSN or the configuration
    #[arg(short = 'e', long, global = true)]
    pub(crate) read_from_env: bool,
    /// The database: `postgres://…` or `sqlite:<file>`
    #[arg(value_name = "DSN", value_parser = value::secret)]
    pub(crate) dsn: Option<Secret<String>>,
}

impl DataSourceArgs {
    /// Where to read the configuration from: a database on the command line goes over all. With `-e` it must be that of the
    /// environment: what is done to one cannot be meant for the other.
    ///
    /// # Errors
    /// What to say where no database is named at all, or two are.
    pub(crate) fn sources(&self, environment: Vec<(OsString, OsString)>) -> Result<Sources, &'static str> {
        let configuration = &self.configuration;
        let is_named = self.dsn.is_some()
            || self.read_from_env
            || configuration.is_development
            || !configuration.files.is_empty()
            || configuration.overrides.iter().any(|pair| pair.key == DSN);
        if !is_named {
            return Err(NO_DATA_SOURCE);
        }
        if let Some(dsn) = self.dsn.as_ref().filter(|_| self.read_from_env) {
            check_same(dsn, &environment)?;
        }
        let mut sources = configuration.sources(environment);
        sources.overrides.extend(self.dsn.as_ref().map(|dsn| (DSN.to_owned(), dsn.expose().clone())));
        Ok(sources)
    }
}

/// Whether the environment names this database, too.
fn check_same(dsn: &Secret<String>, environment: &[(OsString, OsString)]) -> Result<(), &'static str> {
    match environment.iter().find(|(name, value)| name == VARIABLE && !value.is_empty()) {
        None => Err(NOT_IN_THE_ENVIRONMENT),
        Some((_, value)) if value.to_str() == Some(dsn.expose().as_str()) => Ok(()),
        Some(_) => Err(TWO_DATA_SOURCES),
    }
}

const NO_DATA_SOURCE: &str =
    "name the database: as an argument, with -e from the variable DSN, or with -c in a configuration file";
const TWO_DATA_SOURCES: &str = "a DSN was given as an argument and another by the environment (-e): give one";
const NOT_IN_THE_ENVIRONMENT: &str =
    "a DSN was given as an argument, and the variable DSN of the environment (-e) is not set: leave out one";
