//! `sluice worker`.

use clap::Args;

use super::configuration::ConfigurationArgs;

/// Hardens the passwords of those who registered, and does nothing else. Any number of workers may run beside any number of
/// servers; set `identity.hardening.enabled` to false where these are not to do it too.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkerCommand {
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArgs,
    /// Serve metrics at this port of `serve.admin.host`, at /metrics and /admin/metrics/prometheus
    #[arg(long, value_name = "PORT")]
    pub(crate) metrics_port: Option<u16>,
}
