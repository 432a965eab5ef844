//! `sluice backup`, `sluice restore`.

use std::path::PathBuf;

use clap::Args;

use super::data_source::DataSourceArgs;

/// A copy of a database, and the database.
#[derive(Debug, Clone, Args)]
pub(crate) struct CopyArgs {
    /// The copy
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) source: DataSourceArgs,
}
