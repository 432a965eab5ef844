//! `sluice gateway`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use http::{Method, Uri};

use super::output::OutputArgs;

/// What can be asked about a routes file. Nothing is asked of a running gateway.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum GatewayCommand {
    /// Check a routes file: print its routes, or everything that is wrong with it
    Check(CheckRoutesArgs),
    /// Print which route of a file a request would fall under
    Match(MatchRouteArgs),
}

/// A routes file.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckRoutesArgs {
    /// The routes file, as `gateway.routes` names it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A routes file and a request.
#[derive(Debug, Clone, Args)]
pub(crate) struct MatchRouteArgs {
    /// The routes file, as `gateway.routes` names it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The method of the request, such as GET
    #[arg(value_name = "METHOD")]
    pub(crate) method: Method,
    /// The URL of the request, as it would be sent: escapes, dots and slashes are not touched
    #[arg(value_name = "URL", value_parser = absolute)]
    pub(crate) url: Uri,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Reads a URL with a host, without touching its path.
fn absolute(text: &str) -> Result<Uri, &'static str> {
    let url: Uri = text.parse().map_err(|_| "must be a URL such as https://api.example.com/orders/7")?;
    if url.host().is_some() {
        Ok(url)
    } else {
        Err("must have a host, as in https://api.example.com/orders/7")
    }
}
