//! The command line: Hydra's verbs, and a few of Sluice's own.
//!
//! [`Commands`]: what can be asked for. One file per command that starts or tends a server; their structs are read
//! by the composition root. [`remote`]: the verbs that talk to a running server. [`output`]: tables, JSON, YAML.
//! [`console`]: what a command may touch. [`exit`]: what it ends with. [`flags`]: flags that are on or off; [`early_options`]:
//! what stands in front of the verb.
//!
//! Not here: what `serve`, `demo`, `migrate`, `backup`, `restore`, `janitor`, `secrets`, `worker`, `calibrate`, `bench`, `gateway`, `import identities`, `import hydra` and `export` do.

mod calibrate;
mod completion;
mod config;
mod configuration;
mod console;
mod copy;
mod data_source;
mod demo;
mod early_options;
mod exit;
mod flags;
mod gateway;
mod janitor;
mod migrate;
mod output;
mod remote;
mod secrets;
mod serve;
mod takeover;
#[cfg(test)]
mod tests;
mod transfer;
mod value;
mod version;
mod worker;

use std::ffi::OsString;

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use sluice_bench::BenchCommand;

pub(crate) use calibrate::CalibrateCommand;
pub(crate) use completion::CompletionCommand;
pub(crate) use config::ConfigCommand;
pub(crate) use console::Console;
pub(crate) use copy::CopyArgs;
pub(crate) use data_source::DataSourceArgs;
pub(crate) use demo::DemoCommand;
pub(crate) use exit::Exit;
pub(crate) use gateway::{CheckRoutesArgs, GatewayCommand, MatchRouteArgs};
pub(crate) use janitor::JanitorCommand;
pub(crate) use migrate::{MigrateCommand, SqlAction};
pub(crate) use output::{Answer, OutputArgs, printable};
pub(crate) use remote::{LocalImport, RemoteCommand};
pub(crate) use secrets::SecretsCommand;
pub(crate) use serve::{Listeners, ServeCommand};
pub(crate) use takeover::{ImportHydraArgs, TAKE_AWAY_ALL};
pub(crate) use transfer::{Export, ExportCommand, ExportIdentitiesArgs, ImportIdentitiesArgs};
pub(crate) use version::{VersionCommand, version, version_answer};
pub(crate) use worker::WorkerCommand;

/// An OAuth 2.0 and OpenID Connect server, compatible with Ory Hydra.
#[derive(Parser)]
#[command(name = "sluice", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Commands,
}

impl Cli {
    /// Reads a command line, the name of the program first.
    ///
    /// # Errors
    /// What is wrong with it; or a text that it asks for, such as the help.
    pub(crate) fn read(
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Self, clap::Error> {
        let arguments = arguments.into_iter().map(Into::into).collect();
        let arguments = early_options::behind_the_verb(arguments);
        let mut matches = Self::whole_command().try_get_matches_from(arguments)?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut Self::whole_command()))
    }

    /// All that is understood.
    pub(crate) fn whole_command() -> Command {
        flags::with_values(Self::command())
    }
}

/// What can be asked for.
#[derive(Subcommand)]
pub(crate) enum Commands {
    /// Start the server
    Serve(ServeCommand),
    /// Start the server with an example application, or play its login without a browser
    Demo(DemoCommand),
    /// Bring a database to the schema of this version
    Migrate(MigrateCommand),
    /// Copy a SQLite database into a new file, while servers run or not
    Backup(CopyArgs),
    /// Put such a copy in the place of a SQLite database, while nothing runs. What was there is kept beside it
    Restore(CopyArgs),
    /// Show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Delete what has expired from the database, once
    Janitor(JanitorCommand),
    /// Show the state of the system's secrets
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// Harden the passwords of those who registered, beside the servers
    Worker(WorkerCommand),
    /// Measure this machine and propose what a password hash should cost
    Calibrate(CalibrateCommand),
    /// Measure a server under load, and what each operation costs
    Bench(Box<BenchCommand>),
    /// Look at a routes file of the gateway
    #[command(subcommand)]
    Gateway(GatewayCommand),
    /// Bring people into a file
    Export(ExportCommand),
    /// Print the version
    Version(VersionCommand),
    /// Print a script that completes this command line in your shell
    Completion(CompletionCommand),
    #[command(flatten)]
    Remote(Box<RemoteCommand>),
}
