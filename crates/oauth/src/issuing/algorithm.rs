//! With which algorithm what a client is sent is signed: the one it registered, or a default.

use sluice_crypto::jwk::SigningAlgorithm;

use super::IssueError;
use crate::client::Client;
use crate::config::Config;

const RS256: SigningAlgorithm = SigningAlgorithm::RS256;

/// Of its id tokens; the configured one by default.
///
/// # Errors
/// [`IssueError::Algorithm`] for a name that is none.
pub fn of_id_tokens(client: &Client, config: &Config) -> Result<SigningAlgorithm, IssueError> {
    named(client.id_token_signed_response_alg.as_deref(), || Ok(config.policies.id_token_alg))
}

/// Of its JWT access tokens; the configured one by default. What FAPI 2.0 does not allow for id tokens it does not allow
/// here (FAPI 2.0 Security Profile §5.4).
///
/// # Errors
/// [`IssueError::Algorithm`] for a name that is none.
pub fn of_access_tokens(client: &Client, config: &Config) -> Result<SigningAlgorithm, IssueError> {
    let default = config.policies.access_token_alg;
    named(client.formats.access_token_signing_alg.as_deref(), || fallback(client, config, default))
}

/// Of its signed authorization responses. RS256 by default (JARM §3), but for FAPI 2.0.
///
/// # Errors
/// [`IssueError::Algorithm`] for a name that is none.
pub fn of_authorization_responses(client: &Client, config: &Config) -> Result<SigningAlgorithm, IssueError> {
    named(client.formats.authorization_signing_alg.as_deref(), || fallback(client, config, RS256))
}

/// Of answers to its introspection requests. RS256 by default (RFC 9701 §6), but for FAPI 2.0.
///
/// # Errors
/// [`IssueError::Algorithm`] for a name that is none.
pub fn of_introspection(client: &Client, config: &Config) -> Result<SigningAlgorithm, IssueError> {
    named(client.formats.introspection_signing_alg.as_deref(), || fallback(client, config, RS256))
}

fn fallback(
    client: &Client,
    config: &Config,
    default: SigningAlgorithm,
) -> Result<SigningAlgorithm, IssueError> {
    if client.security.profile.is_fapi() { of_id_tokens(client, config) } else { Ok(default) }
}

fn named(
    name: Option<&str>,
    default: impl FnOnce() -> Result<SigningAlgorithm, IssueError>,
) -> Result<SigningAlgorithm, IssueError> {
    name.map_or_else(default, |name| name.parse().map_err(|_| IssueError::Algorithm))
}
