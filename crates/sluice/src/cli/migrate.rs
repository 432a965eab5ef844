//! `sluice migrate sql up|status`.

use clap::{Args, Subcommand};
use sluice_primitives::Secret;

use super::configuration::ConfigurationArgs;
use super::data_source::DataSourceArgs;
use super::value;

/// Brings a database to the schema of this version.
#[derive(Debug, Clone, Args)]
pub(crate) struct MigrateCommand {
    #[command(flatten)]
    configuration: ConfigurationArgs,
    #[command(subcommand)]
    database: MigrateDatabase,
}

#[derive(Debug, Clone, Subcommand)]
enum MigrateDatabase {
    /// Migrate a SQL database
    Sql(SqlCommand),
}

#[derive(Debug, Clone, Args)]
struct SqlCommand {
    /// Take the database from the variable DSN or the configuration
    #[arg(short = 'e', long, global = true)]
    read_from_env: bool,
    /// Ask nothing; nothing is ever asked
    #[arg(short, long, global = true)]
    yes: bool,
    /// The database: `postgres://…` or `sqlite:<file>`. Without `up`, as older Hydra had it
    #[arg(value_name = "DSN", value_parser = value::secret, hide = true)]
    dsn: Option<Secret<String>>,
    #[command(subcommand)]
    action: Option<SqlSubcommand>,
}

#[derive(Debug, Clone, Subcommand)]
enum SqlSubcommand {
    /// Apply what is missing
    Up(SqlDatabase),
    /// Show what is applied and what is missing
    Status(SqlDatabase),
}

#[derive(Debug, Clone, Args)]
struct SqlDatabase {
    /// The database: `postgres://…` or `sqlite:<file>`
    #[arg(value_name = "DSN", value_parser = value::secret)]
    dsn: Option<Secret<String>>,
}

/// What to do with the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlAction {
    /// Apply what is missing.
    Up,
    /// Show what is applied and what is missing.
    Status,
}

impl MigrateCommand {
    /// What to do, and with which database.
    pub(crate) fn into_parts(self) -> (SqlAction, DataSourceArgs) {
        let MigrateDatabase::Sql(sql) = self.database;
        let (action, dsn) = match sql.action {
            None => (SqlAction::Up, sql.dsn),
            Some(SqlSubcommand::Up(database)) => (SqlAction::Up, database.dsn.or(sql.dsn)),
            Some(SqlSubcommand::Status(database)) => (SqlAction::Status, database.dsn.or(sql.dsn)),
        };
        let configuration = self.configuration;
        (action, DataSourceArgs { configuration, read_from_env: sql.read_from_env, dsn })
    }
}
