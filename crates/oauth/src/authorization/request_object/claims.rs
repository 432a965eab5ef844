//! What must hold of a request object (RFC 9101 §4, §10.8; FAPI 2.0 Message Signing §5.3.1).

use serde_json::{Map, Value};
use sluice_primitives::{Lifetime, Timestamp};

use super::error::RequestObjectError;
use crate::client::Client;

/// By how much clocks may differ.
const LEEWAY: Lifetime = Lifetime::secs(60);
/// How long an object of FAPI may hold, and how long it may have held already.
const FAPI_LONGEST: Lifetime = Lifetime::hours(1);

/// Checks who speaks, to whom, and when.
pub(super) fn check(
    claims: &Map<String, Value>,
    client: &Client,
    issuer: &str,
    now: Timestamp,
) -> Result<(), RequestObjectError> {
    if ["request", "request_uri"].iter().any(|name| claims.contains_key(*name)) {
        return Err(RequestObjectError::Nested);
    }
    let strict = client.security.profile.is_fapi();
    check_client(claims, client, strict)?;
    check_audience(claims.get("aud"), issuer, strict)?;
    check_time(claims, strict, now)
}

fn check_client(
    claims: &Map<String, Value>,
    client: &Client,
    strict: bool,
) -> Result<(), RequestObjectError> {
    let id = client.id.as_str();
    let other = |name: &str| claims.get(name).is_some_and(|value| value.as_str() != Some(id));
    if other("iss") || other("client_id") {
        return Err(RequestObjectError::Client);
    }
    if strict && !claims.contains_key("iss") {
        return Err(RequestObjectError::Claim("iss"));
    }
    // RFC 9101 §10.8: what names its client as `sub` is an assertion that authenticates it.
    match claims.get("sub") {
        Some(sub) if sub.as_str() == Some(id) => Err(RequestObjectError::Client),
        _ => Ok(()),
    }
}

fn check_audience(aud: Option<&Value>, issuer: &str, strict: bool) -> Result<(), RequestObjectError> {
    let is_us = |value: &Value| value.as_str() == Some(issuer);
    match aud {
        None if strict => Err(RequestObjectError::Claim("aud")),
        None => Ok(()),
        Some(Value::Array(all)) if all.iter().any(is_us) => Ok(()),
        Some(one) if is_us(one) => Ok(()),
        Some(_) => Err(RequestObjectError::Audience),
    }
}

fn check_time(claims: &Map<String, Value>, strict: bool, now: Timestamp) -> Result<(), RequestObjectError> {
    let [exp, nbf, iat] = [date(claims, "exp")?, date(claims, "nbf")?, date(claims, "iat")?];
    if exp.is_some_and(|exp| now >= exp + LEEWAY) {
        return Err(RequestObjectError::Time("it has expired"));
    }
    if [nbf, iat].into_iter().flatten().any(|since| since > now + LEEWAY) {
        return Err(RequestObjectError::Time("`nbf` or `iat` is ahead"));
    }
    if !strict {
        return Ok(());
    }
    let exp = exp.ok_or(RequestObjectError::Claim("exp"))?;
    let nbf = nbf.ok_or(RequestObjectError::Claim("nbf"))?;
    if exp > nbf + FAPI_LONGEST {
        return Err(RequestObjectError::Time("`exp` is more than an hour after `nbf`"));
    }
    if now > nbf + FAPI_LONGEST {
        return Err(RequestObjectError::Time("`nbf` is more than an hour ago"));
    }
    Ok(())
}

fn date(claims: &Map<String, Value>, name: &'static str) -> Result<Option<Timestamp>, RequestObjectError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let date = value.as_f64().and_then(Timestamp::from_numeric_date);
    date.map(Some).ok_or(RequestObjectError::Claim(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::fake::client;
    use crate::client::profile::SecurityProfile;

    const NOW: Timestamp = Timestamp::from_secs(1_000_000);
    const ISSUER: &str = "https://op.example";

    /// Whether claims hold: those of an ordinary object, changed.
    fn holds(profile: SecurityProfile, changes: &Value) -> bool {
        let mut client = client("app");
        client.security.profile = profile;
        let mut claims = json!({
            "iss": "app", "aud": ISSUER, "client_id": "app", "exp": 1_000_300, "nbf": 1_000_000, "scope": "openid"
        });
        let claims = claims.as_object_mut().unwrap();
        claims.extend(changes.as_object().unwrap().clone());
        claims.retain(|_, value| !value.is_null());
        check(claims, &client, ISSUER, NOW).is_ok()
    }

    #[test]
    fn an_object_names_its_client_and_this_server() {
        let plain = |changes| holds(SecurityProfile::None, &changes);
        assert!(plain(json!({})));
        assert!(plain(json!({"iss": null, "aud": null, "exp": null, "nbf": null, "client_id": null})));
        assert!(plain(json!({"aud": ["https://other.example", ISSUER]})));
        for wrong in [
            json!({"iss": "other"}),
            json!({"iss": ["app"]}),
            json!({"client_id": "other"}),
            json!({"aud": "https://other.example"}),
            json!({"aud": []}),
            json!({"aud": "https://op.example/"}),
            json!({"sub": "app"}),
            json!({"request": "a.b.c"}),
            json!({"request_uri": "https://app.example/object"}),
        ] {
            assert!(!plain(wrong.clone()), "{wrong}");
        }
    }

    #[test]
    fn an_object_holds_for_a_while() {
        let plain = |changes| holds(SecurityProfile::None, &changes);
        for right in [json!({"exp": 999_941}), json!({"nbf": 1_000_060}), json!({"exp": 1_000_000.5})] {
            assert!(plain(right.clone()), "{right}");
        }
        for wrong in [
            json!({"exp": 999_940}),
            json!({"nbf": 1_000_061}),
            json!({"iat": 1_000_061}),
            json!({"exp": "soon"}),
            json!({"exp": -1}),
            json!({"exp": 1e300}),
        ] {
            assert!(!plain(wrong.clone()), "{wrong}");
        }
    }

    #[test]
    fn fapi_wants_every_claim_and_no_long_life() {
        let fapi = |changes| holds(SecurityProfile::Fapi2MessageSigning, &changes);
        assert!(fapi(json!({})));
        assert!(fapi(json!({"nbf": 1_000_008})));
        assert!(fapi(json!({"nbf": 996_400, "exp": 1_000_000})));
        for wrong in [
            json!({"iss": null}),
            json!({"aud": null}),
            json!({"exp": null}),
            json!({"nbf": null}),
            json!({"exp": 1_003_601}),
            json!({"nbf": 996_399, "exp": 999_999}),
        ] {
            assert!(!fapi(wrong.clone()), "{wrong}");
        }
    }
}
