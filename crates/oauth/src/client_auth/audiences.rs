//! How an assertion may name this server in `aud` (RFC 7523 §3).

use crate::client::SecurityProfile;
use crate::config::Config;

/// The endpoints that clients present assertions to.
const ENDPOINTS: [&str; 5] =
    ["/oauth2/token", "/oauth2/par", "/oauth2/introspect", "/oauth2/revoke", "/oauth2/device/auth"];

/// How an assertion may name this server: by its issuer, or by one of its endpoints (RFC 9126 §2).
#[derive(Debug, Clone)]
pub struct Audiences {
    pub(super) issuer: String,
    pub(super) endpoints: Vec<String>,
}

impl Audiences {
    /// The names of this server.
    pub fn of(config: &Config) -> Self {
        Self {
            issuer: config.issuer.as_str().to_owned(),
            endpoints: ENDPOINTS.iter().flat_map(|path| config.addresses(path)).collect(),
        }
    }

    /// Whether this server is meant. FAPI 2.0 §5.3.2.1 takes the issuer alone, as a string: an endpoint may have a namesake
    /// at a server of somebody else.
    pub(super) fn are_meant_by(&self, audience: &OneOrMany, profile: SecurityProfile) -> bool {
        match audience {
            OneOrMany::One(name) if profile.is_fapi() => *name == self.issuer,
            OneOrMany::Many(_) if profile.is_fapi() => false,
            OneOrMany::One(name) => self.contain(name),
            OneOrMany::Many(names) => names.iter().any(|name| self.contain(name)),
        }
    }

    fn contain(&self, name: &str) -> bool {
        name == self.issuer || self.endpoints.iter().any(|own| own == name)
    }
}

/// `aud` (RFC 7519 §4.1.3).
#[derive(serde::Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}
