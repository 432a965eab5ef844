//! What clients are refused, counted by endpoint and error value.

use std::array::from_fn;

use sluice_protocol::ErrorCode;

use crate::metrics::Counter;

/// How many values are told apart: those that are registered, and all others together.
const VALUES: usize = ErrorCode::ALL.len() + 1;
/// What all others are called, which only login and consent pages make up.
const OTHER: &str = "other";

/// An endpoint that clients are refused at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// The authorization endpoint, whichever leg of a flow it is.
    Authorization,
    /// The token endpoint.
    Token,
    /// That of pushed requests.
    PushedRequest,
    /// That of devices.
    DeviceAuthorization,
    /// Revocation.
    Revocation,
    /// Introspection, by clients.
    Introspection,
    /// Userinfo.
    Userinfo,
}

impl Endpoint {
    /// Each, in the order of the variants.
    const ALL: [Self; 7] = [
        Self::Authorization,
        Self::Token,
        Self::PushedRequest,
        Self::DeviceAuthorization,
        Self::Revocation,
        Self::Introspection,
        Self::Userinfo,
    ];

    /// Its name, in the log and in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Authorization => "authorization",
            Self::Token => "token",
            Self::PushedRequest => "pushed request",
            Self::DeviceAuthorization => "device authorization",
            Self::Revocation => "revocation",
            Self::Introspection => "introspection",
            Self::Userinfo => "userinfo",
        }
    }
}

/// Refusals so far, by endpoint and error value.
#[derive(Debug)]
pub struct Refusals([[Counter; VALUES]; Endpoint::ALL.len()]);

impl Refusals {
    /// One more with this value.
    pub fn count(&self, endpoint: Endpoint, code: ErrorCode) {
        self.add(endpoint, code as usize);
    }

    /// One more with a value that a page may have made up.
    pub fn count_named(&self, endpoint: Endpoint, error: &str) {
        self.add(endpoint, ErrorCode::named(error).map_or(VALUES - 1, |code| code as usize));
    }

    /// Those that there were, each with how many.
    pub fn counted(&self) -> Vec<(Endpoint, &'static str, u64)> {
        let values = || ErrorCode::ALL.into_iter().map(ErrorCode::as_str).chain([OTHER]);
        let all = Endpoint::ALL.into_iter().zip(&self.0).flat_map(|(endpoint, counts)| {
            values().zip(counts).map(move |(value, count)| (endpoint, value, count.get()))
        });
        all.filter(|(_, _, count)| *count > 0).collect()
    }

    fn add(&self, endpoint: Endpoint, value: usize) {
        if let Some(count) = self.0.get(endpoint as usize).and_then(|counts| counts.get(value)) {
            count.add();
        }
    }
}

impl Default for Refusals {
    fn default() -> Self {
        Self(from_fn(|_| from_fn(|_| Counter::default())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_endpoint_and_by_values_that_are_registered() {
        let refusals = Refusals::default();
        assert!(refusals.counted().is_empty());
        for endpoint in Endpoint::ALL {
            refusals.count(endpoint, ErrorCode::InvalidClient);
        }
        refusals.count(Endpoint::Userinfo, ErrorCode::UnapprovedSoftwareStatement);
        for error in ["invalid_client", "made_up_by_a_page", "and_another"] {
            refusals.count_named(Endpoint::Authorization, error);
        }
        let counted = refusals.counted();
        let told: Vec<_> =
            counted.iter().map(|(endpoint, error, count)| (endpoint.as_str(), *error, *count)).collect();
        let of_client = |endpoint| (endpoint, "invalid_client", 1);
        let expected = [
            ("authorization", "invalid_client", 2),
            ("authorization", "other", 2),
            of_client("token"),
            of_client("pushed request"),
            of_client("device authorization"),
            of_client("revocation"),
            of_client("introspection"),
            of_client("userinfo"),
            ("userinfo", "unapproved_software_statement", 1),
        ];
        assert_eq!(told, expected);
    }
}
