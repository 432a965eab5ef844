//! What a hook put in the place of what the consent page said, or beside it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::GrantClaims;

/// Claims of a hook. The grant keeps them beside those of the consent page, which stay what the list of consents tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Replaced {
    #[serde(skip_serializing_if = "Map::is_empty")]
    access_token: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    id_token: Map<String, Value>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    beside_page: bool,
    #[serde(skip)]
    once: bool,
}

impl Replaced {
    /// Claims for access tokens, and for id tokens and userinfo.
    pub const fn new(access_token: Map<String, Value>, id_token: Map<String, Value>) -> Self {
        Self { access_token, id_token, beside_page: false, once: false }
    }

    /// The same beside what the consent page said, whose word counts where both name a claim; `None` if nothing comes to that.
    pub fn beside(self, page: &GrantClaims) -> Option<Self> {
        let access_token = with(self.access_token, &page.access_token);
        let id_token = with(self.id_token, &page.id_token);
        let is_more = access_token.len() > page.access_token.len() || id_token.len() > page.id_token.len();
        is_more.then_some(Self { access_token, id_token, beside_page: true, once: self.once })
    }

    /// The same, kept as those of the consent page are: by the grant, where a token has no room for them.
    #[must_use]
    pub fn kept_by_grant(self) -> Self {
        Self { beside_page: true, ..self }
    }

    /// Whether they are kept as those of the consent page are, which may be among them.
    pub const fn is_beside_page(&self) -> bool {
        self.beside_page
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

/// Claims of a hook, and over them those of the consent page.
fn with(mut said: Map<String, Value>, page: &Map<String, Value>) -> Map<String, Value> {
    said.extend(page.iter().map(|(name, value)| (name.clone(), value.clone())));
    said
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(json: &Value) -> Map<String, Value> {
        json.as_object().cloned().unwrap()
    }

    #[test]
    fn what_the_consent_page_said_counts_where_a_hook_says_it_too() {
        let said = |access_token: &Value, id_token: &Value| {
            let page = GrantClaims {
                access_token: claims(&json!({"plan": "none", "seats": 2})),
                id_token: claims(&json!({"name": "Alice"})),
                ..GrantClaims::default()
            };
            Replaced::new(claims(access_token), claims(id_token)).beside(&page)
        };
        let both = said(&json!({"plan": "gold", "trial": true}), &json!({"name": "Eve", "vip": 1})).unwrap();
        assert_eq!(both.access_token(), &claims(&json!({"plan": "none", "seats": 2, "trial": true})));
        assert_eq!(both.id_token(), &claims(&json!({"name": "Alice", "vip": 1})));
        let one = said(&json!({}), &json!({"vip": 1})).unwrap();
        assert_eq!(one.access_token(), &claims(&json!({"plan": "none", "seats": 2})));
        let text = serde_json::to_string(&both).unwrap();
        let read: Replaced = serde_json::from_str(&text).unwrap();
        assert!(read == both && read.is_beside_page(), "{text}");
        for nothing in [json!({}), json!({"plan": "gold"})] {
            assert_eq!(said(&nothing, &json!({})), None);
        }
    }
}
