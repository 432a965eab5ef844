//! `sluice backup`, `sluice restore`.

use std::path::PathBuf;

use clap::Args;

use super::data_source::DataSourceArgs;

/// A copy of a database, and the database: one that is named both as an argument and by `-e` might be replaced instead of the other.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("dsn", |dsn| dsn.conflicts_with("read_from_env").help("The database: `sqlite:<file>`")))]
pub(crate) struct CopyArgs {
    /// The copy
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) source: DataSourceArgs,
}
