//! The claims of a request object as the parameters that they stand for (RFC 9101 §4).

use serde_json::{Map, Value};
use sluice_protocol::RawAuthorizationRequest;

use super::error::RequestObjectError;
use crate::client::Client;

/// Claims that are about the object itself (RFC 7519 §4.1).
const OF_THE_OBJECT: [&str; 7] = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];
/// Parameters that a list stands for, one by one (RFC 8707 §2, and Hydra's `audience`).
const REPEATABLE: [&str; 2] = ["resource", "audience"];
/// More parameters are refused, as in a query.
const MAX_PARAMETERS: usize = 64;

/// The request that the claims stand for. What is no text in JSON becomes the text that the parameter would have.
pub(super) fn of(
    claims: &Map<String, Value>,
    client: &Client,
) -> Result<RawAuthorizationRequest<'static>, RequestObjectError> {
    let mut pairs = vec![("client_id".to_owned(), client.id.as_str().to_owned())];
    for (name, value) in claims {
        if name == "client_id" || OF_THE_OBJECT.contains(&name.as_str()) {
            continue;
        }
        match value {
            Value::Array(values) if REPEATABLE.contains(&name.as_str()) => {
                pairs.extend(values.iter().filter_map(text).map(|text| (name.clone(), text)));
            }
            value => pairs.extend(text(value).map(|text| (name.clone(), text))),
        }
    }
    if pairs.len() > MAX_PARAMETERS {
        return Err(RequestObjectError::Signature(sluice_crypto::jws::VerifyError::TooLong));
    }
    Ok(RawAuthorizationRequest::from_pairs(pairs))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::fake::client;

    fn raw(claims: &Value) -> Result<RawAuthorizationRequest<'static>, RequestObjectError> {
        of(claims.as_object().unwrap(), &client("app"))
    }

    #[test]
    fn what_is_no_text_becomes_the_text_of_its_parameter() {
        let raw = raw(&json!({
            "iss": "app", "exp": 1, "scope": "openid", "max_age": 0, "state": null,
            "claims": {"id_token": {"acr": null}}, "resource": ["https://a.example", "https://b.example"],
        }));
        let raw = raw.unwrap();
        assert_eq!(
            (raw.get("client_id"), raw.get("scope"), raw.get("max_age")),
            (Some("app"), Some("openid"), Some("0"))
        );
        assert_eq!(raw.get("claims"), Some(r#"{"id_token":{"acr":null}}"#));
        assert_eq!(raw.audience().unwrap(), ["https://a.example", "https://b.example"]);
        assert_eq!((raw.get("state"), raw.get("iss"), raw.get("exp")), (None, None, None));
    }

    #[test]
    fn an_object_has_no_more_parameters_than_a_query() {
        let many: Map<String, Value> = (0..64).map(|n| (format!("p{n}"), json!(1))).collect();
        assert!(raw(&Value::Object(many)).is_err());
    }
}
