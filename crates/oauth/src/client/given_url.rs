//! A URL and how it was written.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{ParseError, Url};

/// A URL beside the text that it was given as: it is told as it was given (`https://App.example`), and used as it is
/// understood (`https://app.example/`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GivenUrl {
    text: String,
    url: Url,
}

impl GivenUrl {
    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// As it is understood.
    pub const fn url(&self) -> &Url {
        &self.url
    }
}

impl FromStr for GivenUrl {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for GivenUrl {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        let url = Url::parse(&text)?;
        Ok(Self { text, url })
    }
}

impl From<GivenUrl> for String {
    fn from(given: GivenUrl) -> Self {
        given.text
    }
}
