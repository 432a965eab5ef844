//! Whom a token is meant for.

use url::Url;

/// The audience of a token: the names of the services that it is meant for, in order, without repetition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Audience(Vec<String>);

impl Audience {
    /// The audience of these names; empty names are dropped, repeated ones count once.
    pub fn from_values(values: impl IntoIterator<Item = String>) -> Self {
        let mut kept = Vec::new();
        for value in values {
            if !value.is_empty() && !kept.contains(&value) {
                kept.push(value);
            }
        }
        Self(kept)
    }

    /// The names.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Whether every name of `other` is one of them.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|name| self.0.contains(name))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether the text may be a `resource`: an absolute URI without a fragment (RFC 8707 §2).
pub fn is_resource(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['#', '\\']);
    plain && Url::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_an_absolute_uri_without_a_fragment() {
        for text in ["https://api.example/v1?a=b", "urn:example:api", "https://api.example"] {
            assert!(is_resource(text), "{text}");
        }
        for text in
            ["api", "/v1", "//api.example", "https://api.example/#x", "https://api.example/#", "a b", ""]
        {
            assert!(!is_resource(text), "{text}");
        }
    }
}
