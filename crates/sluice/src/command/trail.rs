//! The log of a command that is no server: the audit trail alone, unless the environment asks for more. The rest is said to a person.

use indicatif::ProgressBar;

use super::serve::log_filter;
use crate::config::LogSettings;
use crate::observability::{LogGuard, LogInitError, logs};

/// The audit trail passes filters that do not name it.
const NOTHING_ELSE: &str = "off,tokio_postgres=off";

/// Begins the log of a command, beside what it shows of how far it is. Hold what it returns until the last line.
///
/// # Errors
/// [`LogInitError`] if the environment names a filter that is no good.
pub(super) fn begin(settings: LogSettings, bar: &ProgressBar) -> Result<LogGuard, LogInitError> {
    let filter = log_filter();
    logs::init_beside(bar.clone(), settings, filter.as_deref().unwrap_or(NOTHING_ELSE))
}
