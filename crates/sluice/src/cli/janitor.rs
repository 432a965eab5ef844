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
    /// Delete expired tokens
    #[arg(long)]
    tokens: bool,
    /// Delete expired login and consent requests
    #[arg(long)]
    requests: bool,
    /// Delete expired trust relationships of the JWT bearer grant
    #[arg(long)]
    grants: bool,
    /// Keep what is younger than this, expired or not
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) keep_if_younger: Option<Duration>,
    /// How long access tokens last, instead of `ttl.access_token`
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) access_lifespan: Option<Duration>,
    /// How long refresh tokens last, instead of `ttl.refresh_token`
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) refresh_lifespan: Option<Duration>,
    /// How long login and consent requests last, instead of `ttl.login_consent_request`
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) consent_request_lifespan: Option<Duration>,
    /// The most records to delete of each kind
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// The most records to delete in one transaction
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
