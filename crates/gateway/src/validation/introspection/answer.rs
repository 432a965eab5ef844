//! What an issuer answers about a token (RFC 7662 §2.2).

use serde_json::{Map, Value};
use sluice_primitives::Timestamp;

use crate::authn::ForeignClaims;
use crate::validation::TokenFault;
use crate::validation::jwks::ClaimRules;

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

fn active(
    claims: Map<String, Value>,
    rules: &ClaimRules,
    now: Timestamp,
) -> Result<ForeignClaims, TokenFault> {
    let is_other = |iss: &Value| !rules.issuer.is_empty() && iss.as_str() != Some(rules.issuer.as_str());
    let is_other_issuer = claims.get("iss").is_some_and(is_other);
    if is_other_issuer || is_refresh_token(&claims) {
        return Err(TokenFault::NotAuthentic);
    }
    let expires_at = rules.check_times(&claims, now)?.unwrap_or(Timestamp::NEVER);
    rules.foreign(claims, expires_at)
}

/// Some issuers answer about refresh tokens too, and say so (Hydra: `token_use`).
fn is_refresh_token(claims: &Map<String, Value>) -> bool {
    let says = |name: &str| claims.get(name).and_then(Value::as_str) == Some("refresh_token");
    ["token_use", "token_type", "typ"].into_iter().any(says)
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
        assert_eq!(active(json!({ "iss": "https://other.example" })), TokenFault::NotAuthentic);
        assert_eq!(active(json!({ "aud": "billing" })), TokenFault::NotAuthentic);
        assert_eq!(active(json!({ "token_use": "refresh_token" })), TokenFault::NotAuthentic);
        assert_eq!(active(json!({ "cnf": { "kid": "1" } })), TokenFault::NotAuthentic);
        assert_eq!(active(json!({ "exp": 970 })), TokenFault::Expired);
        assert_eq!(active(json!({ "exp": "soon" })), TokenFault::NotAuthentic);
        assert_eq!(active(json!({ "nbf": 1_031 })), TokenFault::NotYet);
    }

    #[test]
    fn an_answer_that_does_not_say_whether_it_is_active_is_none() {
        for answer in [json!({}), json!({ "active": "true" }), json!([]), json!(null)] {
            assert!(told(&answer).is_none(), "{answer}");
        }
    }
}
