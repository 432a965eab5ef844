//! Access tokens: sealed by default, a JWT (RFC 9068) for clients that have it so.

use serde_json::{Map, Value};
use sluice_crypto::Sealer;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::MAX_TOKEN;
use sluice_primitives::Rng;
use sluice_protocol::Scope;
use sluice_token::claims::Extra;
use sluice_token::jwt::JwtLayout;
use sluice_token::{AccessTokenClaims, jwt, sealed};

use super::id_token::permitted;
use super::issuer::IssueError;
use super::room::Room;
use crate::client::AccessTokenStrategy;
use crate::grant::{GrantClaims, Replaced};
use crate::keys::KeyRing;

/// Larger consent claims stay in the grant, in bytes of JSON.
const MAX_INLINE: usize = 1024;

/// As many as a consent page may say may stay there.
pub(crate) const MAX_IN_GRANT: usize = 64 * 1024;

/// Claims that stand in the token itself, in bytes of JSON: with the rest of it and its signature, encoded, they stay within what is taken
/// back as a token (16 KiB).
pub(crate) const MAX_IN_TOKEN: usize = 8 * 1024;

/// How long claims are in a signed token, in bytes of JSON. Those with one of these names stand there twice.
pub(crate) fn length_in_token(claims: &Map<String, Value>, top_level: &[String]) -> usize {
    let length = |text: Result<String, _>| text.map_or(usize::MAX, |text: String| text.len());
    let told_twice = top_level.iter().filter_map(|name| claims.get(name));
    std::iter::once(length(serde_json::to_string(claims)))
        .chain(told_twice.map(|value| length(serde_json::to_string(value))))
        .fold(0, usize::saturating_add)
}

/// The same, where some of it stands in the token once more, sealed ([`in_token_twice`]): what is weighed there is all of it.
pub(crate) const MAX_WITH_SEALED: usize = 10 * 1024;

/// How much of that room takes what is so long and stands in a signed token once more, sealed: encoded there before it is encoded
/// with the rest. So do authorization details, and the claims of a hook.
pub(crate) const fn in_token_twice(length: usize) -> usize {
    length.saturating_mul(7) / 3
}

/// Where consent claims go: into the token if they are small.
pub(crate) fn extra(claims: &Map<String, Value>, in_grant: bool) -> Extra {
    if claims.is_empty() {
        return Extra::None;
    }
    let text = serde_json::to_string(claims).unwrap_or_default();
    if text.len() > MAX_INLINE && in_grant { Extra::InGrant } else { Extra::Inline(text) }
}

/// Where the claims of a grant's access token are. Those of a hook stand in the token, however long they are. Beside those of the
/// consent page they are where these are, and in the grant, too, where the token has no room for all of them.
pub(crate) fn of_grant(claims: &GrantClaims, strategy: AccessTokenStrategy, top_level: &[String]) -> Extra {
    let all = claims.of_access_tokens();
    let Some(replaced) = &claims.replaced else { return extra(all, true) };
    let is_long = || length_in_token(&claims.access_token, &[]) > MAX_INLINE;
    let has_room = || Room::of(claims, strategy, top_level).check_in_token(all).is_ok();
    extra(all, replaced.is_beside_page() && (is_long() || !has_room()))
}

/// Where what userinfo tells is: in an opaque token if it is small. It is what the grant says, also if a hook said something else
/// for this answer alone; a token that userinfo refuses need not carry it.
pub(crate) fn userinfo(claims: &GrantClaims, scope: &Scope) -> Extra {
    if claims.replaced.as_ref().is_some_and(Replaced::is_for_once) || !scope.contains("openid") {
        return Extra::InGrant;
    }
    extra(&permitted(claims.of_id_tokens()), true)
}

/// Writes the token, if it would be taken back.
pub(super) fn write(
    (strategy, algorithm): (AccessTokenStrategy, SigningAlgorithm),
    claims: &AccessTokenClaims,
    extra: &Map<String, Value>,
    layout: &JwtLayout,
    (keys, sealer, rng): (&KeyRing, &Sealer, &dyn Rng),
) -> Result<String, IssueError> {
    let token = match strategy {
        AccessTokenStrategy::Opaque => sealed::write(claims, sealer, rng),
        AccessTokenStrategy::Jwt => {
            let key = keys.access_token_signer(algorithm).ok_or(IssueError::NoKey)?;
            jwt::write(claims, extra, layout, &key, (sealer, rng))?
        }
    };
    if token.len() > MAX_TOKEN { Err(IssueError::TooLong) } else { Ok(token) }
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

    /// What a hook said for tokens of both kinds: so much JSON, in bytes.
    fn replaced(bytes: usize) -> Replaced {
        Replaced::new(said(bytes).id_token, said(bytes).id_token)
    }

    fn opaque(claims: &GrantClaims) -> Extra {
        of_grant(claims, AccessTokenStrategy::Opaque, &[])
    }

    #[test]
    fn what_a_hook_said_is_told_instead_and_stands_in_the_token() {
        let (short, long) = (replaced(30), replaced(MAX_INLINE + 1));
        let openid: Scope = "openid".parse().unwrap();
        let text = |claims: &Map<String, Value>| Extra::Inline(serde_json::to_string(claims).unwrap());
        let hooked = |replaced: &Replaced| GrantClaims { replaced: Some(replaced.clone()), ..said(20) };
        assert_eq!(userinfo(&hooked(&short), &openid), text(short.id_token()));
        assert_eq!(userinfo(&hooked(&long), &openid), Extra::InGrant);
        for replaced in [&short, &long] {
            assert_eq!(opaque(&hooked(replaced)), text(replaced.access_token()));
        }
        let nothing = Replaced::default();
        assert_eq!(
            (opaque(&hooked(&nothing)), userinfo(&hooked(&nothing), &openid)),
            (Extra::None, Extra::None)
        );
    }

    /// What a hook said beside the consent page: so much JSON of each, in bytes.
    fn beside(page: usize, hook: usize) -> GrantClaims {
        let page = GrantClaims { access_token: said(page).id_token, ..GrantClaims::default() };
        let more = json!({"more": "x".repeat(hook - "\"more\":\"\",".len())});
        let replaced = Replaced::new(more.as_object().cloned().unwrap(), Map::new()).beside(&page);
        GrantClaims { replaced, ..page }
    }

    #[test]
    fn what_a_hook_said_beside_a_short_page_stands_in_the_token_while_there_is_room() {
        let (opaque, jwt) = (AccessTokenStrategy::Opaque, AccessTokenStrategy::Jwt);
        for (strategy, page, hook, stands_there) in [
            (opaque, 20, 2048, true),
            (opaque, MAX_INLINE, MAX_IN_TOKEN - MAX_INLINE, true),
            (opaque, MAX_INLINE, MAX_IN_TOKEN - MAX_INLINE + 1, false),
            (opaque, MAX_INLINE + 1, 20, false),
            (jwt, 20, 4096, true),
            (jwt, 20, 5120, false),
            (jwt, MAX_INLINE + 1, 20, false),
        ] {
            match of_grant(&beside(page, hook), strategy, &[]) {
                Extra::Inline(text) => assert!(stands_there && text.len() == page + hook, "{page} {hook}"),
                other => assert!(!stands_there && other == Extra::InGrant, "{page} {hook}"),
            }
        }
        // What else a signed token says twice takes of its room.
        let top_level = ["more".to_owned()];
        assert_eq!(of_grant(&beside(20, 4096), jwt, &top_level), Extra::InGrant);
        let details = Some(json!(["x".repeat(1024)]));
        let detailed = GrantClaims { authorization_details: details, ..beside(20, 4096) };
        assert_eq!(of_grant(&detailed, jwt, &[]), Extra::InGrant);
        assert!(matches!(of_grant(&detailed, opaque, &top_level), Extra::Inline(_)));
    }

    #[test]
    fn what_a_hook_said_stands_in_the_token_where_the_page_said_nothing() {
        let hook = said(2048).id_token;
        let replaced = Replaced::new(hook.clone(), Map::new()).beside(&GrantClaims::default());
        let claims = GrantClaims { replaced, ..GrantClaims::default() };
        assert_eq!(opaque(&claims), Extra::Inline(serde_json::to_string(&hook).unwrap()));
        // One that speaks of id tokens alone leaves access tokens to the consent page.
        let page = GrantClaims { access_token: said(MAX_INLINE + 1).id_token, ..GrantClaims::default() };
        let replaced = Replaced::new(Map::new(), hook).beside(&page);
        assert_eq!(opaque(&GrantClaims { replaced, ..page }), Extra::InGrant);
    }

    #[test]
    fn what_a_hook_said_for_one_answer_is_not_told_by_userinfo() {
        let once = GrantClaims { replaced: Some(replaced(20).for_once()), ..said(20) };
        assert_eq!(userinfo(&once, &"openid".parse().unwrap()), Extra::InGrant);
    }

    #[test]
    fn a_token_that_userinfo_refuses_carries_nothing_for_it() {
        assert_eq!(userinfo(&said(20), &"email".parse().unwrap()), Extra::InGrant);
    }
}
