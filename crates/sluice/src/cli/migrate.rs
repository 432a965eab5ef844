//! `sluice migrate sql up|status`.

use clap::{Args, Subcommand};
use sluice_primitives::Secret;

use super::configuration::ConfigurationArgs;
use super::data_source::DataSourceArgs;
use super::output::OutputArgs;
use super::value::{self, Unrepeated};

/// What is said of the way back.
const FORWARD_ONLY: &str = "schemas go forward only: an older program goes on with a newer schema, and for a database as it was there is its \
                            backup (`sluice backup`, `sluice restore`; `pg_dump` for PostgreSQL)";
/// What is said of what is neither a verb nor a database.
const NEITHER: &str = "must be `up` or `status`, or a database: `postgres://…`, `sqlite:<file>` or `memory`";

/// Brings a database to the schema of this version.
#[derive(Debug, Clone, Args)]
pub(crate) struct MigrateCommand {
    #[command(flatten)]
    configuration: ConfigurationArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    database: MigrateDatabase,
}

#[derive(Debug, Clone, Subcommand)]
enum MigrateDatabase {
    /// Migrate a SQL database
    Sql(SqlCommand),
    /// Show what is applied and what is missing, as `migrate sql status` does
    #[command(hide = true)]
    Status(EarlierStatus),
}

/// As newer Hydra has it, without `sql`.
#[derive(Debug, Clone, Args)]
struct EarlierStatus {
    /// Take the database from the variable DSN or the configuration
    #[arg(short = 'e', long)]
    read_from_env: bool,
    #[command(flatten)]
    status: SqlStatus,
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
    #[arg(value_name = "DSN", value_parser = Unrepeated(database), hide = true)]
    dsn: Option<Secret<String>>,
    #[command(subcommand)]
    action: Option<SqlSubcommand>,
}

#[derive(Debug, Clone, Subcommand)]
enum SqlSubcommand {
    /// Apply what is missing
    Up(SqlDatabase),
    /// Show what is applied and what is missing
    Status(SqlStatus),
}

#[derive(Debug, Clone, Args)]
struct SqlStatus {
    #[command(flatten)]
    database: SqlDatabase,
    /// Wait until nothing is missing
    #[arg(long)]
    block: bool,
}

impl SqlStatus {
    const fn action(&self) -> SqlAction {
        if self.block { SqlAction::Await } else { SqlAction::Status }
    }
}

#[derive(Debug, Clone, Args)]
struct SqlDatabase {
    /// The database: `postgres://…` or `sqlite:<file>`
    #[arg(value_name = "DSN", value_parser = value::secret)]
    dsn: Option<Secret<String>>,
}

/// Reads a database that stands in the place of a verb; a verb that does not exist is none.
fn database(text: &str) -> Result<Secret<String>, &'static str> {
    match text {
        "down" => Err(FORWARD_ONLY),
        _ if text == "memory" || text.contains(':') => Ok(Secret::new(text.to_owned())),
        _ => Err(NEITHER),
    }
}

/// What to do with the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlAction {
    /// Apply what is missing.
    Up,
    /// Show what is applied and what is missing.
    Status,
    /// Wait until nothing is missing, and show it.
    Await,
}

impl MigrateCommand {
    /// What to do, with which database, and how to print it.
    pub(crate) fn into_parts(self) -> (SqlAction, DataSourceArgs, OutputArgs) {
        let (read_from_env, action, dsn) = match self.database {
            MigrateDatabase::Sql(SqlCommand { read_from_env, dsn, action, .. }) => {
                (read_from_env, action.unwrap_or(SqlSubcommand::Up(SqlDatabase { dsn: None })), dsn)
            }
            MigrateDatabase::Status(EarlierStatus { read_from_env, status }) => {
                (read_from_env, SqlSubcommand::Status(status), None)
            }
        };
        let (action, database) = match action {
            SqlSubcommand::Up(database) => (SqlAction::Up, database),
            SqlSubcommand::Status(status) => (status.action(), status.database),
        };
        let dsn = database.dsn.or(dsn);
        (action, DataSourceArgs { configuration: self.configuration, read_from_env, dsn }, self.output)
    }
}
