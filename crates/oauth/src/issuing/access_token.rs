//! Access tokens: sealed by default, a JWT (RFC 9068) for clients that have it so.

use serde_json::{Map, Value};
use sluice_crypto::Sealer;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Rng;
use sluice_token::claims::Extra;
use sluice_token::jwt::JwtLayout;
use sluice_token::{AccessTokenClaims, jwt, sealed};

use super::issuer::IssueError;
use crate::client::AccessTokenStrategy;
use crate::keys::KeyRing;

/// Larger consent claims stay in the grant, in bytes of JSON.
const MAX_INLINE: usize = 1024;

/// Where consent claims go: into the token if they are small.
pub(crate) fn extra(claims: &Map<String, Value>, in_grant: bool) -> Extra {
    if claims.is_empty() {
        return Extra::None;
    }
    let text = serde_json::to_string(claims).unwrap_or_default();
    if text.len() > MAX_INLINE && in_grant { Extra::InGrant } else { Extra::Inline(text) }
}

/// Writes the token.
pub(super) fn write(
    (strategy, algorithm): (AccessTokenStrategy, SigningAlgorithm),
    claims: &AccessTokenClaims,
    extra: &Map<String, Value>,
    layout: &JwtLayout,
    (keys, sealer, rng): (&KeyRing, &Sealer, &dyn Rng),
) -> Result<String, IssueError> {
    match strategy {
        AccessTokenStrategy::Opaque => Ok(sealed::write(claims, sealer, rng)),
        AccessTokenStrategy::Jwt => {
            let key = keys.access_token_signer(algorithm).ok_or(IssueError::NoKey)?;
            Ok(jwt::write(claims, extra, layout, &key, (sealer, rng))?)
        }
    }
}
