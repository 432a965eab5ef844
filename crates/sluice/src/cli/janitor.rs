//! `sluice janitor`: deletes what has expired, once.

use std::time::Duration;

use clap::Args;

use super::data_source::DataSourceArgs;
use super::value;

/// Deletes what has expired, once. With none of `--tokens`, `--requests` and `--grants`: all of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct JanitorCommand {
    #[command(flatten)]
    pub(crate) source: DataSourceArgs,
    /// Delete expired grants, and with them their codes and tokens, expired login sessions, remembered consents that have ended, and expired trust in issuers
    #[arg(long)]
    tokens: bool,
    /// Delete expired login and consent requests that were too long for a URL, device codes, and spent one-time ids
    #[arg(long)]
    requests: bool,
    /// The same as --tokens: expired trust in issuers of the JWT bearer grant goes with them
    #[arg(long)]
    grants: bool,
    /// Keep what is younger than this, expired or not
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) keep_if_younger: Option<Duration>,
    /// Hydra's; every row says itself when it expires
    #[arg(long, hide = true, value_name = "DURATION", value_parser = value::duration)]
    access_lifespan: Option<Duration>,
    /// Hydra's; every row says itself when it expires
    #[arg(long, hide = true, value_name = "DURATION", value_parser = value::duration)]
    refresh_lifespan: Option<Duration>,
    /// Hydra's; every row says itself when it expires
    #[arg(long, hide = true, value_name = "DURATION", value_parser = value::duration)]
    consent_request_lifespan: Option<Duration>,
    /// Stop once so many records are deleted
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// The most records of a kind to delete in one transaction
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch_size: u32,
}

/// What the janitor is to look after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JanitorWork {
    pub(crate) tokens: bool,
    pub(crate) requests: bool,
    pub(crate) grants: bool,
}

impl JanitorCommand {
    /// What to look after: what is named, or everything.
    pub(crate) fn work(&self) -> JanitorWork {
        let is_all = !(self.tokens || self.requests || self.grants);
        JanitorWork {
            tokens: is_all || self.tokens,
            requests: is_all || self.requests,
            grants: is_all || self.grants,
        }
    }
}
