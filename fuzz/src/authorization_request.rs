//! The query of `/oauth2/auth`, and every value that is read from it.

use sluice_protocol::{
    CodeChallenge, Prompt, RawAuthorizationRequest, RedirectUri, ResponseMode, ResponseType, Scope,
};

/// Reads the query as the authorization endpoint does. What is read says the same when it is read again.
pub fn run(query: &[u8]) {
    let Ok(raw) = RawAuthorizationRequest::parse(query) else { return };
    let text = |name: &str| raw.get(name).unwrap_or_default();
    if let Ok(id) = text("client_id").parse::<sluice_protocol::ClientId>() {
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
    }
    let registered: Vec<RedirectUri> =
        ["https://app.example/callback", "http://127.0.0.1/callback", "app:/callback"]
            .into_iter()
            .filter_map(|uri| uri.parse().ok())
            .collect();
    if let Ok(uri) = text("redirect_uri").parse::<RedirectUri>() {
        assert_eq!(uri.as_str(), text("redirect_uri"), "kept as it was received");
        assert!(uri.as_str().is_ascii() && uri.url().is_some_and(|url| url.fragment().is_none()));
        for own in registered.iter().filter(|own| own.admits(&uri)) {
            let (Some(own), Some(asked)) = (own.url(), uri.url()) else { continue };
            assert_eq!((own.scheme(), own.host_str()), (asked.scheme(), asked.host_str()));
            assert_eq!((own.path(), own.query()), (asked.path(), asked.query()));
        }
    }
    if let Ok(scope) = text("scope").parse::<Scope>() {
        assert_eq!(scope.as_str().parse(), Ok(scope.clone()));
        assert!(scope.covers(&scope));
    }
    if let Ok(prompt) = text("prompt").parse::<Prompt>() {
        assert_eq!(Prompt::from_bits(prompt.bits()), prompt);
    }
    if let Ok(challenge) = text("code_challenge").parse::<CodeChallenge>() {
        assert_eq!(CodeChallenge::from_bytes(*challenge.as_bytes()), challenge);
    }
    let _ = text("response_type").parse::<ResponseType>();
    let _ = text("response_mode").parse::<ResponseMode>();
    let _ = text("max_age").parse::<u32>();
    if let Ok(audience) = raw.audience() {
        assert!(audience.iter().all(|name| !name.is_empty()));
    }
}
