//! The application on whose behalf a server is asked: a client, its secret, where the server has its endpoints.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::places::Places;
use crate::driver::{Agent, Answer, Ask, Failure, Origin};
use crate::scenario::{IdTokenAlgorithm, StandardServer, TokenFormat};

/// Nothing listens there; the browser of a login stops before it.
const REDIRECT_URI: &str = "http://127.0.0.1:4446/callback";

/// All but the unreserved characters of RFC 3986 section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What a client is registered with beside the ordinary.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    /// The scope that it will ask for.
    pub(crate) scope: &'a str,
    pub(crate) id_token: IdTokenAlgorithm,
    pub(crate) access_token: TokenFormat,
    /// Without a secret.
    pub(crate) is_public: bool,
}

/// An application.
pub(crate) struct Application {
    pub(crate) id: String,
    pub(crate) redirect_uri: String,
    pub(crate) places: Places,
    /// Its credentials as the end of a form.
    form: String,
    /// Its credentials as a header.
    basic: Option<String>,
}

impl Application {
    /// Registers one through Hydra's admin API; it authenticates with `client_secret_post`, or not at all.
    pub(crate) async fn registered(agent: &mut Agent, wanted: &Wanted<'_>) -> Result<Self, Failure> {
        let answer = agent
            .send(&Ask::json("POST", Origin::Admin, "/admin/clients", &metadata(wanted).to_string()))
            .await?;
        if answer.status() != 201 {
            return Err(refused(&answer));
        }
        let made: Made = answer.json("the registration of a client")?;
        let mut form = format!("&client_id={}", encoded(&made.client_id));
        if let Some(secret) = &made.client_secret {
            form.extend(["&client_secret=", &encoded(secret)]);
        }
        let redirect_uri = REDIRECT_URI.to_owned();
        Ok(Self { id: made.client_id, redirect_uri, places: Places::of_hydra(), form, basic: None })
    }

    /// One that is registered already; it authenticates with `client_secret_basic`, or not at all.
    pub(crate) async fn known(agent: &mut Agent, server: &StandardServer) -> Result<Self, Failure> {
        let places = Places::discovered(agent, &server.issuer).await?;
        let (id, redirect_uri) = (server.client_id.clone(), server.redirect_uri.clone());
        let basic = server.client_secret.as_ref().map(|secret| basic(&id, secret));
        let form = if basic.is_some() { String::new() } else { format!("&client_id={}", encoded(&id)) };
        Ok(Self { id, redirect_uri, places, form, basic })
    }

    /// A form with the credentials of the application, as far as they belong there.
    pub(crate) fn form(&self, fields: &[(&str, &str)]) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        form.push_str(&self.form);
        form
    }

    /// Sends a form that [`Self::form`] began.
    pub(crate) async fn post<'a>(
        &self,
        agent: &'a mut Agent,
        path: &str,
        form: &str,
    ) -> Result<Answer<'a>, Failure> {
        self.post_to(agent, Origin::Public, path, form).await
    }

    /// The same, to another listener.
    pub(crate) async fn post_to<'a>(
        &self,
        agent: &'a mut Agent,
        origin: Origin,
        path: &str,
        form: &str,
    ) -> Result<Answer<'a>, Failure> {
        let header = self.basic.as_deref().map(|value| ("authorization", value));
        agent.send(&Ask::form(origin, path, form).with(header.as_slice())).await
    }
}

/// What is told of a client that was made.
#[derive(serde::Deserialize)]
struct Made {
    client_id: String,
    client_secret: Option<String>,
}

fn metadata(wanted: &Wanted<'_>) -> Value {
    let method = if wanted.is_public { "none" } else { "client_secret_post" };
    let mut grant_types = vec!["authorization_code", "refresh_token"];
    if !wanted.is_public {
        grant_types.push("client_credentials");
    }
    json!({
        "client_name": "Benchmark",
        "grant_types": grant_types,
        "response_types": ["code"],
        "redirect_uris": [REDIRECT_URI],
        "scope": wanted.scope,
        "token_endpoint_auth_method": method,
        "id_token_signed_response_alg": wanted.id_token.name(),
        "access_token_strategy": wanted.access_token.name(),
        "access_token_signed_response_alg": wanted.id_token.name(),
    })
}

/// Why no client was made, in the words of the server.
fn refused(answer: &Answer<'_>) -> Failure {
    let said: String = String::from_utf8_lossy(answer.body()).chars().take(300).collect();
    let at = answer.asked().map_or_else(String::new, |url| format!(" at {url}"));
    Failure::Setup(format!("no client can be registered{at}: status {}: {said}", answer.status()))
}

/// HTTP Basic as RFC 6749 section 2.3.1 wants it: id and secret are form-encoded first.
fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))))
}

/// A value as forms and queries have it; most are borrowed as they stand.
pub(crate) fn encoded(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, RESERVED).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded_before_they_are_joined() {
        let header = basic("a:b", "c d");
        assert_eq!(STANDARD.decode(header.strip_prefix("Basic ").unwrap()).unwrap(), b"a%3Ab:c%20d");
    }

    #[test]
    fn a_public_client_has_no_grant_of_its_own() {
        let metadata = metadata(&Wanted { is_public: true, ..Wanted::default() });
        assert_eq!(metadata["token_endpoint_auth_method"], "none");
        assert_eq!(metadata["grant_types"], json!(["authorization_code", "refresh_token"]));
    }

    #[test]
    fn what_needs_no_encoding_is_borrowed() {
        assert!(matches!(encoded("abc-._~123"), Cow::Borrowed(_)));
        assert_eq!(encoded("a+b/c="), "a%2Bb%2Fc%3D");
    }
}
