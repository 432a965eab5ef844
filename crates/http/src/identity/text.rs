//! Texts of bodies: borrowed from them where they need no unescaping.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use sluice_primitives::Secret;

use crate::respond::Problem;

/// A text of a body; none if it was not sent.
///
/// No `Debug`: it may be an e-mail address or a code.
#[derive(Clone, Default)]
pub(crate) struct Text<'a>(Option<Cow<'a, str>>);

/// A text of a body that is secret: copied once, and not printed.
#[derive(Debug, Default)]
pub(crate) struct SecretText(Option<Secret<String>>);

impl Text<'_> {
    /// The text, if it was sent.
    pub(crate) fn given(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The text; empty if it was not sent.
    pub(crate) fn or_empty(&self) -> &str {
        self.given().unwrap_or_default()
    }

    /// The text of a field that must be there.
    pub(crate) fn required(&self, field: &'static str) -> Result<&str, Problem> {
        self.given().filter(|text| !text.is_empty()).ok_or_else(|| Problem::missing(field))
    }

    /// The text as one's own; empty if it was not sent.
    pub(crate) fn into_string(self) -> String {
        self.0.map(Cow::into_owned).unwrap_or_default()
    }
}

impl SecretText {
    /// The text; empty if it was not sent.
    pub(crate) fn or_empty(self) -> Secret<String> {
        self.0.unwrap_or_default()
    }

    /// The text; none if it is empty or was not sent.
    pub(crate) fn given(self) -> Option<Secret<String>> {
        self.0.filter(|text| !text.expose().is_empty())
    }

    /// The text of a field that must be there.
    pub(crate) fn required(self, field: &'static str) -> Result<Secret<String>, Problem> {
        self.given().ok_or_else(|| Problem::missing(field))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(TextVisitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = deserializer.deserialize_option(TextVisitor)?;
        Ok(Self(text.map(|text| Secret::new(text.into_owned()))))
    }
}

/// What serde's own `Option<Cow<str>>` would do, had it not to copy (its `borrow` sees a bare `Cow` only).
struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Typed<'a> {
        #[serde(borrow, default)]
        name: Text<'a>,
        #[serde(default)]
        password: SecretText,
    }

    fn read(json: &str) -> serde_json::Result<Typed<'_>> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_text_is_copied_only_if_it_must_be_unescaped() {
        assert!(matches!(read(r#"{"name": "Zoë"}"#).unwrap().name.0, Some(Cow::Borrowed("Zoë"))));
        let escaped = read(r#"{"name": "Zo\u00eb"}"#).unwrap().name;
        assert!(matches!(&escaped.0, Some(Cow::Owned(name)) if name == "Zoë"));
        assert_eq!(escaped.into_string(), "Zoë");
    }

    #[test]
    fn what_is_not_sent_and_null_are_the_same() {
        for json in ["{}", r#"{"name": null, "password": null}"#] {
            let typed = read(json).unwrap();
            assert!(typed.name.given().is_none() && typed.name.required("name").is_err(), "{json}");
            assert!(typed.password.given().is_none(), "{json}");
        }
        for json in [r#"{"name": 1}"#, r#"{"name": ["a"]}"#, r#"{"password": true}"#] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let typed = read(r#"{"password": "correct horse"}"#).unwrap();
        assert!(!format!("{:?}", typed.password).contains("horse"));
        assert_eq!(typed.password.or_empty().expose(), "correct horse");
    }
}
