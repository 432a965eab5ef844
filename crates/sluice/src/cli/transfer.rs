//! `sluice import identities`, `sluice export identities`: people between files and the database.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use sluice_primitives::Secret;

use super::configuration::ConfigurationArgs;
use super::output::OutputArgs;
use super::value;
use crate::config::Sources;

/// The key of the configuration that names the database.
const DSN: &str = "dsn";

/// Which installation: its database, and the secrets of its configuration.
#[derive(Debug, Clone, Args)]
pub(crate) struct InstallationArgs {
    #[command(flatten)]
    configuration: ConfigurationArgs,
    /// The database, if it is not that of the configuration: `postgres://…` or `sqlite:<file>`
    #[arg(long, value_name = "DSN", value_parser = value::secret, help_heading = "Configuration")]
    dsn: Option<Secret<String>>,
}

impl InstallationArgs {
    /// Where to read the configuration from, in this environment.
    pub(crate) fn sources(&self, environment: Vec<(OsString, OsString)>) -> Sources {
        let mut sources = self.configuration.sources(environment);
        sources.overrides.extend(self.dsn.as_ref().map(|dsn| (DSN.to_owned(), dsn.expose().clone())));
        sources
    }
}

/// People from a file.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportIdentitiesArgs {
    /// A file with one JSON object a line: `email`, and as may be `id`, `username`, `password_hash`, `email_verified`,
    /// `status` and `created_at`. How far it has come is kept beside it, in FILE.sluice-import
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) installation: InstallationArgs,
    /// How many records to write at a time
    #[arg(long, value_name = "N", default_value = "2000")]
    pub(crate) in_flight: NonZeroUsize,
    /// Write the lines that were rejected to this file, as JSON lines with `line`, `field` and `reason`
    #[arg(long, value_name = "FILE")]
    pub(crate) errors: Option<PathBuf>,
    /// Begin anew, and do not go on where an earlier import stopped. Lines that were imported are no duplicates
    #[arg(long = "restart")]
    pub(crate) is_restarted: bool,
}

/// Brings people from the database into a file.
#[derive(Args)]
pub(crate) struct ExportCommand {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(subcommand)]
    pub(crate) noun: Export,
}

/// What can be exported.
#[derive(Subcommand)]
pub(crate) enum Export {
    /// Write everybody to a file of JSON lines, as `import identities` reads it. Passwords that are not hardened yet have no
    /// hash that could be given away: let `sluice worker` finish first
    #[command(visible_alias = "identity")]
    Identities(ExportIdentitiesArgs),
}

/// People into a file.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportIdentitiesArgs {
    /// The file, which must not exist; - or nothing for the standard output
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) installation: InstallationArgs,
}
