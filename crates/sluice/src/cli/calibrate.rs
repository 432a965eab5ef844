//! `sluice calibrate`.

use std::num::NonZeroUsize;

use clap::Args;

use super::configuration::ConfigurationArgs;
use super::output::OutputArgs;
use super::value;

/// Measures password hashes on this machine, and proposes what they should cost, beside what is configured. Takes half a minute, in which the
/// machine should do nothing else.
#[derive(Debug, Clone, Args)]
pub(crate) struct CalibrateCommand {
    /// How long one hash may take while all threads hash, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 250, value_parser = clap::value_parser!(u32).range(10..=10_000))]
    pub(crate) target_ms: u32,
    /// The memory that all threads may have together, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = value::kibibytes)]
    pub(crate) max_memory: u32,
    /// How many threads hash; by default as many as `identity.hash_pool.threads` says, or one for each CPU
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
