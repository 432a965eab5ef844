//! Where a server has its endpoints.

use serde::Deserialize;

use crate::driver::{Agent, Ask, Failure, Origin, path_and_query};

/// The paths of a server.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) authorization: String,
    pub(crate) token: String,
    pub(crate) userinfo: String,
    pub(crate) jwks: String,
    pub(crate) introspection: String,
    /// Where the introspection endpoint listens.
    pub(crate) introspected_at: Origin,
    pub(crate) revocation: String,
    /// What the server calls itself, where it was discovered.
    pub(crate) issuer: Option<String>,
}

impl Places {
    /// Hydra's.
    pub(crate) fn of_hydra() -> Self {
        Self {
            authorization: "/oauth2/auth".to_owned(),
            token: "/oauth2/token".to_owned(),
            userinfo: "/userinfo".to_owned(),
            jwks: "/.well-known/jwks.json".to_owned(),
            introspection: "/admin/oauth2/introspect".to_owned(),
            introspected_at: Origin::Admin,
            revocation: "/oauth2/revoke".to_owned(),
            issuer: None,
        }
    }

    /// Those that a server publishes (OpenID Connect Discovery 1.0 section 4).
    pub(crate) async fn discovered(agent: &mut Agent, issuer: &str) -> Result<Self, Failure> {
        let path =
            format!("{}/.well-known/openid-configuration", path_and_query(issuer).trim_end_matches('/'));
        let answer = agent.send(&Ask::get(Origin::Public, &path)).await?.expect(200, "discovery")?;
        Ok(answer.json::<Document>("discovery")?.into())
    }
}

/// Whether discovery told the path of what is to be asked.
pub(crate) fn is_published(path: &str, what: &str) -> Result<(), Failure> {
    if path.is_empty() {
        return Err(Failure::Setup(format!("the server does not publish where its {what} endpoint is")));
    }
    Ok(())
}

/// What discovery says.
#[derive(Deserialize)]
struct Document {
    issuer: Option<String>,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    userinfo_endpoint: String,
    #[serde(default)]
    introspection_endpoint: String,
    #[serde(default)]
    revocation_endpoint: String,
}

impl From<Document> for Places {
    fn from(document: Document) -> Self {
        let path = |url: &str| path_and_query(url).to_owned();
        Self {
            authorization: path(&document.authorization_endpoint),
            token: path(&document.token_endpoint),
            userinfo: path(&document.userinfo_endpoint),
            jwks: path(&document.jwks_uri),
            introspection: path(&document.introspection_endpoint),
            introspected_at: Origin::Public,
            revocation: path(&document.revocation_endpoint),
            issuer: document.issuer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_paths_and_what_is_not_published_is_empty() {
        let document: Document = serde_json::from_str(
            r#"{"authorization_endpoint":"http://h:1/realms/r/auth","token_endpoint":"http://h:1/t?x=1","jwks_uri":"http://h:1/k",
                "userinfo_endpoint":"http://h:1/me","scopes_supported":["openid"]}"#,
        )
        .unwrap();
        let places = Places::from(document);
        assert_eq!(places.authorization, "/realms/r/auth");
        assert_eq!(places.token, "/t?x=1");
        assert_eq!(places.userinfo, "/me");
        assert_eq!(places.introspection, "");
        assert_eq!((places.introspected_at, places.issuer), (Origin::Public, None));
        assert!(is_published(&places.userinfo, "userinfo").is_ok());
        let refused = is_published(&places.introspection, "introspection").unwrap_err().to_string();
        assert_eq!(refused, "the server does not publish where its introspection endpoint is");
    }
}
