//! What is said about a configuration: the problems that refuse it and the warnings that do not.

use std::fmt;

use super::values::Origin;

/// Why a configuration is refused. Every problem is in it, not only the first.
///
/// No message holds the value of a secret, of a data source name or of a URL with credentials.
#[derive(Debug, thiserror::Error)]
#[error("the configuration is refused:{}", Lines(problems))]
pub(crate) struct ConfigError {
    problems: Vec<Finding>,
    warnings: Vec<Finding>,
}

impl ConfigError {
    /// Why it is refused.
    pub(crate) fn problems(&self) -> &[Finding] {
        &self.problems
    }

    /// What was noticed besides: a misspelt key is often why another is missing.
    pub(crate) fn warnings(&self) -> &[Finding] {
        &self.warnings
    }
}

/// One remark about one key (or file, or environment variable); prints as `key: message`, with where the value was set behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) key: String,
    pub(crate) message: String,
    /// Where the value was set that is refused. `None`: nobody set it, or the key says it.
    origin: Option<Origin>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)?;
        match &self.origin {
            Some(origin @ (Origin::Environment(_) | Origin::CommandLine)) => {
                write!(f, " (from the {origin})")
            }
            Some(origin) => write!(f, " (from {origin})"),
            None => Ok(()),
        }
    }
}

/// Collects findings while the configuration is read.
#[derive(Debug, Default)]
pub(super) struct Findings {
    problems: Vec<Finding>,
    warnings: Vec<Finding>,
}

impl Findings {
    pub(super) fn refuse(&mut self, key: &str, reason: impl Into<String>) {
        self.refuse_from(None, key, reason);
    }

    /// Refuses what was set there.
    pub(super) fn refuse_from(&mut self, origin: Option<&Origin>, key: &str, reason: impl Into<String>) {
        let (key, message, origin) = (key.to_owned(), reason.into(), origin.cloned());
        self.problems.push(Finding { key, message, origin });
    }

    pub(super) fn warn(&mut self, key: &str, message: impl Into<String>) {
        self.warnings.push(Finding { key: key.to_owned(), message: message.into(), origin: None });
    }

    /// Says `now` in the place of a warning that is not true any more, if there is such a one.
    pub(super) fn reword(&mut self, before: &str, now: String) {
        if let Some(warning) = self.warnings.iter_mut().find(|warning| warning.message == before) {
            warning.message = now;
        }
    }

    pub(super) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    pub(super) fn into_error(self) -> ConfigError {
        ConfigError { problems: self.problems, warnings: self.warnings }
    }

    /// The warnings, for who needs nothing of what is refused.
    pub(super) fn into_warnings_alone(self) -> Vec<Finding> {
        self.warnings
    }

    /// The warnings, if nothing is refused.
    pub(super) fn into_warnings(self) -> Result<Vec<Finding>, ConfigError> {
        if self.problems.is_empty() { Ok(self.warnings) } else { Err(self.into_error()) }
    }
}

struct Lines<'a>(&'a [Finding]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
    }
}
