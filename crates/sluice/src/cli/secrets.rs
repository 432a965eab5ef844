//! `sluice secrets`.

use clap::{Args, Subcommand};

use super::configuration::ConfigurationArgs;

/// What can be asked of the system's secrets.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Show how many secrets there are for each purpose, which of them seals, and how many keys, clients and passwords in
    /// the database need each of them; never the secrets. Looks at everybody: minutes for ten millions of people
    Status(ConfigurationArgs),
    /// Seal the keys and passwords in the database with the first secret again, so that the others can be removed
    Reseal(ConfigurationArgs),
    /// Give up what needs a secret that is lost for good: keys, passwords, second factors, mails and kept client secrets that
    /// nothing opens. Without --yes it only says what that is
    Abandon(AbandonArgs),
}

/// What is given up, and whether it is.
#[derive(Debug, Clone, Args)]
pub(crate) struct AbandonArgs {
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArgs,
    /// Do it. It cannot be undone: a secret that turns up later opens nothing of it
    #[arg(long)]
    pub(crate) yes: bool,
}
