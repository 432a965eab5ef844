//! What a hook put in the place of what the consent page said.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Claims of a hook. The grant keeps them beside those of the consent page, which stay what the list of consents tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Replaced {
    #[serde(skip_serializing_if = "Map::is_empty")]
    access_token: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    id_token: Map<String, Value>,
    #[serde(skip)]
    once: bool,
}

impl Replaced {
    /// Claims for access tokens, and for id tokens and userinfo.
    pub const fn new(access_token: Map<String, Value>, id_token: Map<String, Value>) -> Self {
        Self { access_token, id_token, once: false }
    }

    /// The same for the tokens of one answer, of which no store knows.
    #[must_use]
    pub fn for_once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Whether they are for the tokens of one answer.
    pub const fn is_for_once(&self) -> bool {
        self.once
    }

    /// Those of access tokens.
    pub const fn access_token(&self) -> &Map<String, Value> {
        &self.access_token
    }

    /// Those of access tokens.
    pub fn into_access_token(self) -> Map<String, Value> {
        self.access_token
    }

    /// Those of id tokens and userinfo.
    pub const fn id_token(&self) -> &Map<String, Value> {
        &self.id_token
    }
}
