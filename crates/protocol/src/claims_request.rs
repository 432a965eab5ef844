//! Which claims a client asks for one by one: the `claims` parameter (OpenID Connect Core §5.5).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// A longer `claims` parameter is refused, in bytes.
pub const MAX_CLAIMS_REQUEST: usize = 8 * 1024;

/// The text is no claims request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the claims request is too long, or no JSON object of the form that it must have")]
pub struct InvalidClaimsRequest;

/// Claims that are asked for, by where they are to be told. Members that are not known are ignored (§5.5).
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ClaimsRequest {
    /// In the answer of the userinfo endpoint.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub userinfo: BTreeMap<String, Option<ClaimRequest>>,
    /// In the id token.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub id_token: BTreeMap<String, Option<ClaimRequest>>,
}

/// How one claim is asked for (§5.5.1); `null`, that is none, stands for "voluntarily, whatever its value".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimRequest {
    /// Whether the client depends on it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub essential: bool,
    /// The value it is to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The values of which it is to have one, the preferred first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
}

impl ClaimRequest {
    /// The value that is asked for, if only one will do: the only one of a list, too.
    fn only(&self) -> Option<&Value> {
        let listed = self.values.as_deref().filter(|values| values.len() == 1);
        self.value.as_ref().or_else(|| listed?.first())
    }

    /// The values that are asked for, the preferred first.
    pub fn wanted(&self) -> impl Iterator<Item = &Value> {
        self.value.iter().chain(self.values.iter().flatten())
    }
}

impl ClaimsRequest {
    /// Reads the parameter.
    ///
    /// # Errors
    /// [`InvalidClaimsRequest`] if it is longer than [`MAX_CLAIMS_REQUEST`], no JSON object, or one whose members are not
    /// what they must be.
    pub fn parse(text: &str) -> Result<Self, InvalidClaimsRequest> {
        // An array would be read as the members in their order.
        if text.len() > MAX_CLAIMS_REQUEST || !text.trim_ascii_start().starts_with('{') {
            return Err(InvalidClaimsRequest);
        }
        let read: Read = serde_json::from_str(text).map_err(|_| InvalidClaimsRequest)?;
        Ok(Self { userinfo: claims(read.userinfo)?, id_token: claims(read.id_token)? })
    }

    /// The request as JSON: always the same text for the same request.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.userinfo.is_empty() && self.id_token.is_empty()
    }

    /// How a claim of the id token is asked for, if more is said than its name.
    pub fn in_id_token(&self, name: &str) -> Option<&ClaimRequest> {
        self.id_token.get(name)?.as_ref()
    }

    /// The subject that the client expects (§5.5.1: only this one may be told of).
    ///
    /// # Errors
    /// [`InvalidClaimsRequest`] if it is no text, or one thing here and another there.
    pub fn subject(&self) -> Result<Option<&str>, InvalidClaimsRequest> {
        let places = [self.id_token.get("sub"), self.userinfo.get("sub")];
        let mut wanted = places.into_iter().flatten().flatten().filter_map(ClaimRequest::only);
        let Some(first) = wanted.next() else { return Ok(None) };
        if wanted.any(|other| other != first) {
            return Err(InvalidClaimsRequest);
        }
        first.as_str().map(Some).ok_or(InvalidClaimsRequest)
    }
}

/// The members of one place as they are written.
type Members = BTreeMap<String, Option<Map<String, Value>>>;

#[derive(Deserialize)]
struct Read {
    userinfo: Option<Members>,
    id_token: Option<Members>,
}

fn claims(members: Option<Members>) -> Result<BTreeMap<String, Option<ClaimRequest>>, InvalidClaimsRequest> {
    let claim = |(name, asked): (String, Option<Map<String, Value>>)| {
        let asked = asked.map(|asked| serde_json::from_value(Value::Object(asked))).transpose();
        Ok((name, asked.map_err(|_| InvalidClaimsRequest)?))
    };
    members.unwrap_or_default().into_iter().map(claim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_is_understood() {
        let text = r#"{"userinfo": {"given_name": {"essential": true}, "nickname": null, "http://example.info/claims/groups": null},
            "id_token": {"auth_time": {"essential": true}, "acr": {"values": ["urn:mace:incommon:iap:silver"]}}}"#;
        let request = ClaimsRequest::parse(text).unwrap();
        assert!(request.in_id_token("auth_time").unwrap().essential);
        assert!(!request.in_id_token("acr").unwrap().essential);
        let acr: Vec<_> = request.in_id_token("acr").unwrap().wanted().collect();
        assert_eq!(acr, ["urn:mace:incommon:iap:silver"]);
        assert_eq!(request.userinfo["nickname"], None);
        assert_eq!(ClaimsRequest::parse(&request.to_json()).unwrap(), request);
    }

    #[test]
    fn members_that_are_not_known_are_ignored() {
        let request =
            ClaimsRequest::parse(r#"{"x": 1, "id_token": {"sub": {"y": 2}}, "userinfo": null}"#).unwrap();
        assert_eq!(request.to_json(), r#"{"id_token":{"sub":{}}}"#);
        assert!(ClaimsRequest::parse("{}").unwrap().is_empty());
    }

    #[test]
    fn what_has_another_form_is_refused() {
        let long = format!("{{\"x\":\"{}\"}}", "x".repeat(MAX_CLAIMS_REQUEST));
        for text in [
            "",
            "claims",
            "null",
            "[]",
            "[{}, {}]",
            r#"{"id_token": []}"#,
            r#"{"id_token": {"acr": "gold"}}"#,
            r#"{"id_token": {"acr": [true]}}"#,
            r#"{"id_token": {"acr": {"essential": "yes"}}}"#,
            r#"{"id_token": {"acr": {"values": "gold"}}}"#,
            r#"{"id_token": {}} {}"#,
            &long,
        ] {
            assert_eq!(ClaimsRequest::parse(text), Err(InvalidClaimsRequest), "{text}");
        }
    }

    #[test]
    fn a_subject_is_one_text() {
        let subject =
            |text: &str| ClaimsRequest::parse(text).unwrap().subject().map(|one| one.map(str::to_owned));
        assert_eq!(subject(r#"{"id_token": {"sub": {"value": "alice"}}}"#), Ok(Some("alice".to_owned())));
        assert_eq!(subject(r#"{"id_token": {"sub": null}}"#), Ok(None));
        assert!(subject(r#"{"id_token": {"sub": {"value": 7}}}"#).is_err());
        let two = r#"{"id_token": {"sub": {"value": "a"}}, "userinfo": {"sub": {"value": "b"}}}"#;
        assert!(subject(two).is_err());
        assert_eq!(subject(r#"{"userinfo": {"sub": {"values": ["alice"]}}}"#), Ok(Some("alice".to_owned())));
        assert_eq!(subject(r#"{"id_token": {"sub": {"values": ["alice", "bob"]}}}"#), Ok(None));
        let two = r#"{"id_token": {"sub": {"value": "a"}}, "userinfo": {"sub": {"values": ["b"]}}}"#;
        assert!(subject(two).is_err());
        assert!(subject(r#"{"id_token": {"sub": {"values": [7]}}}"#).is_err());
    }

    proptest::proptest! {
        #[test]
        fn parsing_never_panics(text: String) {
            let _ = ClaimsRequest::parse(&text);
        }
    }
}
