//! `sluice secrets`.

use clap::Subcommand;

use super::configuration::ConfigurationArgs;

/// What can be asked of the system's secrets.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Show how many secrets there are for each purpose, which of them seals, and how many keys, clients and passwords in
    /// the database need each of them; never the secrets. Looks at everybody: minutes for ten millions of people
    Status(ConfigurationArgs),
    /// Seal the keys and passwords in the database with the first secret again, so that the others can be removed
    Reseal(ConfigurationArgs),
}
