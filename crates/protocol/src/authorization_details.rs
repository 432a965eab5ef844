//! What is asked for in detail (RFC 9396 §2): a JSON array of objects, each with a `type`.

use serde_json::{Map, Value};
use thiserror::Error;

/// Longer `authorization_details` are refused, in bytes.
pub const MAX_AUTHORIZATION_DETAILS: usize = 16 * 1024;

/// The text or value is no list of authorization details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the authorization details are too long, or not an array of objects that each have a type")]
pub struct InvalidAuthorizationDetails;

/// A list of authorization details. What is in them beside the type is between client and resource server.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AuthorizationDetails(Vec<Map<String, Value>>);

impl AuthorizationDetails {
    /// Reads the parameter.
    ///
    /// # Errors
    /// [`InvalidAuthorizationDetails`] if it is longer than [`MAX_AUTHORIZATION_DETAILS`], or not of this form.
    pub fn parse(text: &str) -> Result<Self, InvalidAuthorizationDetails> {
        if text.len() > MAX_AUTHORIZATION_DETAILS {
            return Err(InvalidAuthorizationDetails);
        }
        Self::of(serde_json::from_str(text).map_err(|_| InvalidAuthorizationDetails)?)
    }

    /// Reads a value that came another way.
    ///
    /// # Errors
    /// [`InvalidAuthorizationDetails`] as for [`AuthorizationDetails::parse`].
    pub fn from_value(value: &Value) -> Result<Self, InvalidAuthorizationDetails> {
        if value.to_string().len() > MAX_AUTHORIZATION_DETAILS {
            return Err(InvalidAuthorizationDetails);
        }
        Self::of(value.clone())
    }

    fn of(value: Value) -> Result<Self, InvalidAuthorizationDetails> {
        let Value::Array(details) = value else { return Err(InvalidAuthorizationDetails) };
        let typed = |detail: Value| match detail {
            Value::Object(detail) if has_type(&detail) => Ok(detail),
            _ => Err(InvalidAuthorizationDetails),
        };
        details.into_iter().map(typed).collect::<Result<_, _>>().map(Self)
    }

    /// The details, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.0.iter()
    }

    /// The types, in order, repeated where they are.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|detail| detail.get("type")?.as_str())
    }

    /// Whether each of the others stands here too, exactly so.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|detail| self.0.contains(detail))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The list as JSON.
    pub fn into_value(self) -> Value {
        Value::Array(self.0.into_iter().map(Value::Object).collect())
    }
}

fn has_type(detail: &Map<String, Value>) -> bool {
    detail.get("type").and_then(Value::as_str).is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn details_are_objects_with_a_type() {
        let details =
            AuthorizationDetails::parse(r#"[{"type": "payment", "amount": 1}, {"type": "account"}]"#);
        let details = details.unwrap();
        assert_eq!(details.types().collect::<Vec<_>>(), ["payment", "account"]);
        assert_eq!(details.into_value(), json!([{"type": "payment", "amount": 1}, {"type": "account"}]));
        let long = format!("[{{\"type\":\"{}\"}}]", "x".repeat(MAX_AUTHORIZATION_DETAILS));
        for text in ["", "{}", "null", "[1]", "[{}]", r#"[{"type": 1}]"#, r#"[{"type": ""}]"#, "[[]]", &long]
        {
            assert_eq!(AuthorizationDetails::parse(text), Err(InvalidAuthorizationDetails), "{text}");
        }
    }

    #[test]
    fn a_list_covers_what_stands_in_it_exactly_so() {
        let list = |value: Value| AuthorizationDetails::from_value(&value).unwrap();
        let granted = list(json!([{"type": "payment", "amount": 1}, {"type": "account"}]));
        assert!(granted.covers(&list(json!([{"amount": 1, "type": "payment"}]))));
        assert!(granted.covers(&AuthorizationDetails::default()));
        assert!(!granted.covers(&list(json!([{"type": "payment", "amount": 2}]))));
        assert!(!granted.covers(&list(json!([{"type": "payment"}]))));
    }

    proptest::proptest! {
        #[test]
        fn parsing_never_panics(text: String) {
            let _ = AuthorizationDetails::parse(&text);
        }
    }
}
