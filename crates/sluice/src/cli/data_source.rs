//! Which database a command is about: named on the command line, as Hydra does, or by the configuration.

use std::ffi::OsString;

use clap::Args;
use sluice_primitives::Secret;

use super::configuration::ConfigurationArgs;
use super::value;
use crate::config::Sources;

/// The key of the configuration that names the database.
const DSN: &str = "dsn";

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
    /// Where to read the configuration from: a database on the command line goes over all, unless `-e` is given, as
    /// Hydra has it. `None` when no database is named at all.
    pub(crate) fn sources(&self, environment: Vec<(OsString, OsString)>) -> Option<Sources> {
        let named = self.dsn.as_ref().filter(|_| !self.read_from_env);
        let configuration = &self.configuration;
        let is_elsewhere = self.read_from_env
            || configuration.is_development
            || !configuration.files.is_empty()
            || configuration.overrides.iter().any(|pair| pair.key == DSN);
        if named.is_none() && !is_elsewhere {
            return None;
        }
        let mut sources = configuration.sources(environment);
        sources.overrides.extend(named.map(|dsn| (DSN.to_owned(), dsn.expose().clone())));
        Some(sources)
    }
}

/// What to say when [`DataSourceArgs::sources`] is `None`.
pub(crate) const NO_DATA_SOURCE: &str =
    "name the database: as an argument, with -e from the variable DSN, or with -c in a configuration file";
