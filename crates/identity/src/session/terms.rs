//! On what terms tokens are issued.

use sluice_primitives::Lifetime;

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
}
