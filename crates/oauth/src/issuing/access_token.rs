//! Access tokens: sealed by default, a JWT (RFC 9068) for clients that have it so.

use serde_json::{Map, Value};
use sluice_crypto::Sealer;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Rng;
use sluice_protocol::Scope;
use sluice_token::claims::Extra;
use sluice_token::jwt::JwtLayout;
use sluice_token::{AccessTokenClaims, jwt, sealed};

use super::id_token::permitted;
use super::issuer::IssueError;
use crate::client::AccessTokenStrategy;
use crate::grant::GrantClaims;
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

/// Where what userinfo tells is: in an opaque token if it is small. It is what the consent page said, whatever a hook put in its
/// place for this answer; a token that userinfo refuses need not carry it.
pub(crate) fn userinfo(claims: &GrantClaims, scope: &Scope) -> Extra {
    if claims.replaced || !scope.contains("openid") {
        return Extra::InGrant;
    }
    extra(&permitted(&claims.id_token), true)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What the consent page said: so much JSON, in bytes.
    fn said(bytes: usize) -> GrantClaims {
        let claims = json!({"name": "x".repeat(bytes - "{\"name\":\"\"}".len())});
        GrantClaims { id_token: claims.as_object().unwrap().clone(), ..GrantClaims::default() }
    }

    #[test]
    fn what_userinfo_tells_is_in_the_token_up_to_a_kibibyte() {
        let openid: Scope = "openid".parse().unwrap();
        let none =
            GrantClaims { id_token: json!({"sub": "mallory"}).as_object().unwrap().clone(), ..said(20) };
        assert_eq!(userinfo(&none, &openid), Extra::None, "the server speaks for itself");
        assert!(
            matches!(userinfo(&said(MAX_INLINE), &openid), Extra::Inline(text) if text.len() == MAX_INLINE)
        );
        assert_eq!(userinfo(&said(MAX_INLINE + 1), &openid), Extra::InGrant);
    }

    #[test]
    fn what_a_hook_put_in_the_place_of_it_is_not_told_by_userinfo() {
        let replaced = GrantClaims { replaced: true, ..said(20) };
        assert_eq!(userinfo(&replaced, &"openid".parse().unwrap()), Extra::InGrant);
    }

    #[test]
    fn a_token_that_userinfo_refuses_carries_nothing_for_it() {
        assert_eq!(userinfo(&said(20), &"email".parse().unwrap()), Extra::InGrant);
    }
}
