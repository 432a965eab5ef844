//! `sluice serve`.

use clap::{Args, ValueEnum};

use super::configuration::ConfigurationArgs;
use super::value;

/// Starts the server.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeCommand {
    /// Which endpoints to serve
    #[arg(value_enum)]
    pub(crate) listeners: Listeners,
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArgs,
    /// Serve https with a certificate made at start; for development
    #[arg(long)]
    pub(crate) tls_self_signed: bool,
    /// Bring the database to the schema of this version first
    #[arg(long)]
    pub(crate) auto_migrate: bool,
    /// Hydra's; there is no telemetry to opt out of
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = value::boolean)]
    sqa_opt_out: Option<bool>,
    /// Of Hydra 1
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = forced_http)]
    dangerous_force_http: Option<bool>,
}

/// Says what has taken the place of that flag.
fn forced_http(_: &str) -> Result<bool, &'static str> {
    Err(
        "this is a flag of Hydra 1: use --dev for development, or name the proxies that end TLS in serve.public.tls.allow_termination_from",
    )
}

/// Which endpoints to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listeners {
    /// Public and admin endpoints; the gateway too where `gateway.routes` is set
    All,
    /// Public endpoints only
    Public,
    /// Admin endpoints only
    Admin,
    /// The gateway only; health and metrics at the admin port
    Gateway,
}

impl Listeners {
    pub(crate) fn has_public(self) -> bool {
        matches!(self, Self::All | Self::Public)
    }

    pub(crate) fn has_gateway(self) -> bool {
        matches!(self, Self::All | Self::Gateway)
    }

    pub(crate) fn has_admin(self) -> bool {
        matches!(self, Self::All | Self::Admin)
    }

    /// Whether metrics are served at all: at the admin port, with what else is there or with health alone.
    pub(crate) fn has_metrics(self) -> bool {
        matches!(self, Self::All | Self::Admin | Self::Gateway)
    }
}
