//! `sluice secrets`.

use clap::Subcommand;

use super::configuration::ConfigurationArgs;

/// What can be asked of the system's secrets.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Show how many secrets there are for each purpose, and which of them seals; never the secrets
    Status(ConfigurationArgs),
}
