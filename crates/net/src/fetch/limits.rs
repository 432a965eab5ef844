//! What one call may take.

use std::time::Duration;

use super::FetchPolicy;

/// The most redirects that can be permitted.
const MOST_REDIRECTS: u8 = 3;

/// What one call may take, where it differs from what the [`FetchPolicy`] grants every call. Where it may go is the
/// policy's to say in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Whether each URL on the way must be https. Loopback is exempt where the policy lets it be reached.
    pub https_only: bool,
    /// The most bytes of the body.
    pub max_bytes: usize,
    /// Redirects followed by a `GET`: 0 to 3, more count as 3.
    pub max_redirects: u8,
    /// The time for all of it, redirects and body included.
    pub timeout: Duration,
    /// The time until an answer begins, of each that a redirect leads to. `None`: all the time that there is.
    pub head_timeout: Option<Duration>,
}

impl FetchLimits {
    pub(super) fn redirects(&self) -> u8 {
        self.max_redirects.min(MOST_REDIRECTS)
    }
}

impl From<&FetchPolicy> for FetchLimits {
    /// What the policy grants; plain http too.
    fn from(policy: &FetchPolicy) -> Self {
        Self {
            https_only: false,
            max_bytes: policy.max_body_bytes,
            max_redirects: policy.max_redirects,
            timeout: policy.timeout,
            head_timeout: None,
        }
    }
}
