//! On what terms tokens are issued.

use sluice_primitives::{Lifetime, Timestamp};

use super::model::IdentitySession;
use crate::config::SessionConfig;

/// On what terms tokens are issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTerms {
    /// `iss` of access tokens.
    pub issuer: String,
    /// How long it all holds.
    pub lifetimes: SessionConfig,
    /// The longest lifetime of any token that names a person, those of applications included: until then it must be
    /// remembered that a person was signed out everywhere.
    pub longest_token: Lifetime,
}

impl SessionTerms {
    /// `aud` of access tokens: the API that takes them.
    pub fn audience(&self) -> String {
        format!("{}/auth", self.issuer.trim_end_matches('/'))
    }

    /// Until when the access token of a session's present generation holds: never for longer than the session, which ends by itself
    /// without anybody being told.
    pub(super) fn access_token_ends(&self, session: &IdentitySession) -> Timestamp {
        (session.rotated_at + self.lifetimes.access_token).min(session.expires_at)
    }
}
