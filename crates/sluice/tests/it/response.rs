//! An authorization response as the client reads it, in whichever way it travelled.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sluice_crypto::digest::sha256;
use sluice_testkit::{Browser, Page, TestClient, TestSluice, accept_consent, accept_login};
use url::form_urlencoded::parse;

use crate::authorization_errors::{Change, asked};

/// The state of requests in tests.
pub(crate) const STATE: &str = "a-state-of-some-length";
/// The nonce of requests in tests.
pub(crate) const NONCE: &str = "a-nonce-of-some-length";

/// What the client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    /// `query`, `fragment` or `form_post`.
    pub(crate) way: &'static str,
    /// Where it is told.
    pub(crate) uri: String,
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Response {
    #[track_caller]
    pub(crate) fn of(page: &Page) -> Self {
        let Some(location) = &page.location else { return Self::posted(&page.body) };
        let uri = location.as_str().split(['?', '#']).next().unwrap_or_default().to_owned();
        let (way, text) = match (location.fragment(), location.query()) {
            (Some(text), None) => ("fragment", text),
            (None, Some(text)) => ("query", text),
            _ => panic!("neither one nor the other: {location}"),
        };
        Self { way, uri, parameters: parse(text.as_bytes()).into_owned().collect() }
    }

    #[track_caller]
    fn posted(body: &str) -> Self {
        let between = |text: &str, from: &str| {
            let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from} in {body}")).1;
            unescaped(rest.split_once('"').unwrap().0)
        };
        let fields = body.split("<input ").skip(1);
        let parameters =
            fields.map(|field| (between(field, "name=\""), between(field, "value=\""))).collect();
        Self { way: "form_post", uri: between(body, "action=\""), parameters }
    }

    /// A parameter that must be there.
    #[track_caller]
    pub(crate) fn get(&self, name: &str) -> &str {
        self.parameters.get(name).unwrap_or_else(|| panic!("no `{name}` in {self:?}"))
    }

    /// The names of the parameters, in alphabetical order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.parameters.keys().map(String::as_str).collect()
    }

    /// An error that says who refuses, and to which request.
    #[track_caller]
    pub(crate) fn refused_with(&self, error: &str) {
        assert_eq!(self.get("error"), error, "{self:?}");
        assert_eq!((self.get("state"), self.get("iss")), (STATE, sluice_testkit::ISSUER), "{self:?}");
        assert_eq!(self.names(), ["error", "error_description", "iss", "state"]);
    }
}

/// What a browser makes of a value in a page.
fn unescaped(text: &str) -> String {
    let entities =
        [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&quot;", "\""), ("&#38;", "&")];
    let text = entities.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The left half of the SHA-256 of a value (OpenID Connect Core §3.1.3.6).
pub(crate) fn half_hash(text: &str) -> Value {
    json!(URL_SAFE_NO_PAD.encode(&sha256(text.as_bytes())[..16]))
}

/// A client that may ask for these response types.
pub(crate) async fn client_for(sluice: &TestSluice, response_types: &[&str], changes: Value) -> TestClient {
    let mut metadata = json!({
        "response_types": response_types,
        "grant_types": ["authorization_code", "implicit", "refresh_token"],
    });
    metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    sluice.client(&metadata).await
}

/// The answer to a request that is refused at once.
pub(crate) async fn refusal(sluice: &TestSluice, client: &TestClient, changes: &[Change<'_>]) -> Response {
    Response::of(&sluice.browser().visit(&asked(client, changes)).await)
}

/// The answer to a request of `alice`, who logs in and grants everything.
pub(crate) async fn answer(sluice: &TestSluice, client: &TestClient, changes: &[Change<'_>]) -> Response {
    Response::of(&last_page(sluice, &mut sluice.browser(), &asked(client, changes)).await)
}

/// The page at the end of a flow of `alice`, who logs in and grants everything.
pub(crate) async fn last_page(sluice: &TestSluice, browser: &mut Browser, url: &str) -> Page {
    let challenge = browser.visit(url).await.expect("login_challenge");
    let login = json!({"subject": "alice", "remember": true, "remember_for": 3600});
    let verifier = accept_login(sluice, &challenge, &login).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(sluice, &challenge, &json!({})).await;
    browser.visit(&verifier).await
}
