//! What an issuer answers about a token (RFC 7662 §2.2).

use serde_json::{Map, Value};
use sluice_primitives::Timestamp;

use crate::authn::ForeignClaims;
use crate::validation::TokenFault;
use crate::validation::jwks::{ClaimRules, is_of_another_kind, said};

/// Reads an answer. `None`: it is none.
pub(super) fn read(
    body: &[u8],
    rules: &ClaimRules,
    now: Timestamp,
) -> Option<Result<ForeignClaims, TokenFault>> {
    let claims: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let is_active = claims.get("active")?.as_bool()?;
    Some(if is_active { active(claims, rules, now) } else { Err(TokenFault::Revoked) })
}

/// Whether an answer with status 400 is about the token: some issuers do not call a text inactive that has not the form of what they answer
/// about (oidc-provider a JWT, RFC 7009 §2.2.1). Anybody can make such a text, so it says nothing of the issuer.
pub(super) fn denies_token(body: &[u8]) -> bool {
    const ABOUT_TOKENS: [&str; 2] = ["unsupported_token_type", "invalid_token"];
    let complaint: Option<Map<String, Value>> = serde_json::from_slice(body).ok();
    let error = complaint.as_ref().and_then(|complaint| complaint.get("error")?.as_str());
    error.is_some_and(|error| ABOUT_TOKENS.contains(&error))
}

fn active(
    claims: Map<String, Value>,
    rules: &ClaimRules,
    now: Timestamp,
) -> Result<ForeignClaims, TokenFault> {
    let is_other = |iss: &Value| !rules.issuer.is_empty() && iss.as_str() != Some(rules.issuer.as_str());
    if said(&claims, "iss").is_some_and(is_other) {
        return Err(TokenFault::WrongIssuer);
    }
    // Some issuers answer about refresh tokens and id tokens, too.
    if is_of_another_kind(&claims) {
        return Err(TokenFault::NotAuthentic);
    }
    let expires_at = rules.check_times(&claims, now)?.unwrap_or(Timestamp::NEVER);
    rules.foreign(claims, expires_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::IssuerConfig;
    use serde_json::json;

    fn told(answer: &Value) -> Option<Result<ForeignClaims, TokenFault>> {
        let audience = vec!["orders".to_owned()];
        let config = IssuerConfig { audience, ..IssuerConfig::new("partner", "https://id.example") };
        read(&serde_json::to_vec(answer).unwrap(), &ClaimRules::of(&config), Timestamp::from_secs(1_000))
    }

    #[test]
    fn an_active_token_is_read() {
        let answer = json!({
            "active": true, "sub": "alice", "client_id": "shop", "scope": "read  write", "aud": ["orders", "x"],
            "exp": 1_100, "iss": "https://id.example", "token_use": "access_token", "ext": { "tenant": "a" },
        });
        let claims = told(&answer).unwrap().unwrap();
        assert_eq!((claims.subject.as_deref(), claims.client.as_deref()), (Some("alice"), Some("shop")));
        assert_eq!((claims.scope.as_str(), claims.audience.len()), ("read write", 2));
        assert_eq!(claims.expires_at, Timestamp::from_secs(1_100));
        assert_eq!(claims.claims["ext"]["tenant"], "a");
        let forever = told(&json!({ "active": true, "aud": "orders" })).unwrap().unwrap();
        assert_eq!(forever.expires_at, Timestamp::NEVER);
    }

    #[test]
    fn what_is_not_active_not_ours_or_not_an_access_token_is_refused() {
        let active = |with: Value| {
            let mut answer = json!({ "active": true, "aud": "orders" });
            answer.as_object_mut().unwrap().append(&mut with.as_object().unwrap().clone());
            told(&answer).unwrap().unwrap_err()
        };
        assert_eq!(told(&json!({ "active": false })).unwrap(), Err(TokenFault::Revoked));
        assert_eq!(active(json!({ "iss": "https://other.example" })), TokenFault::WrongIssuer);
        for aud in [json!("billing"), json!([]), json!(null)] {
            assert_eq!(active(json!({ "aud": aud })), TokenFault::WrongAudience, "{aud}");
        }
        for claim in ["token_use", "token_type", "typ"] {
            for kind in ["refresh_token", "Refresh", "Offline", "ID", "id_token", "Logout"] {
                assert_eq!(active(json!({ claim: kind })), TokenFault::NotAuthentic, "{claim} {kind}");
            }
        }
        for claim in ["at_hash", "c_hash", "s_hash", "events"] {
            assert_eq!(active(json!({ claim: "x" })), TokenFault::NotAuthentic, "{claim}");
        }
        for sub in [json!(""), json!(true), json!(1.5), json!(["alice"]), json!({ "id": "alice" })] {
            assert_eq!(active(json!({ "sub": sub })), TokenFault::NotAuthentic);
        }
        assert_eq!(active(json!({ "cnf": { "kid": "1" } })), TokenFault::NotAuthentic);
        assert_eq!(active(json!({ "exp": 970 })), TokenFault::Expired);
        assert_eq!(active(json!({ "exp": "soon" })), TokenFault::NotAuthentic);
        assert_eq!(active(json!({ "nbf": 1_031 })), TokenFault::NotYet);
    }

    #[test]
    fn an_answer_about_an_access_token_is_taken_by_whatever_name_it_goes() {
        for said in [
            json!({ "typ": "Bearer", "token_type": "Bearer" }),
            json!({ "typ": "DPoP", "token_use": "access" }),
            json!({ "token_use": "access_token", "token_type": "bearer" }),
        ] {
            let mut answer = json!({ "active": true, "aud": "orders", "sub": 42 });
            answer.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
            let claims = told(&answer).unwrap().unwrap();
            assert_eq!(claims.subject.as_deref(), Some("42"), "{said}");
        }
    }

    #[test]
    fn what_is_null_in_an_answer_says_nothing() {
        let answer = json!({
            "active": true, "aud": "orders", "client_id": "shop", "sub": null, "iss": null, "exp": null, "nbf": null,
            "iat": null, "cnf": null, "typ": null, "at_hash": null,
        });
        let claims = told(&answer).unwrap().unwrap();
        assert_eq!((claims.subject, claims.client.as_deref()), (None, Some("shop")));
        assert_eq!((claims.expires_at, claims.confirmation), (Timestamp::NEVER, None));
    }

    #[test]
    fn an_answer_that_does_not_say_whether_it_is_active_is_none() {
        for answer in [json!({}), json!({ "active": "true" }), json!([]), json!(null)] {
            assert!(told(&answer).is_none(), "{answer}");
        }
    }
}
