//! One request and the whole of its answer, for tests that look at status, headers and body together.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;

/// A client that follows no redirect.
pub(crate) fn http() -> Client {
    http_with(|builder| builder)
}

/// The same, built a little differently.
pub(crate) fn http_with(change: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder) -> Client {
    // Fails if another test was first: then there is one.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    change(Client::builder().redirect(reqwest::redirect::Policy::none())).build().unwrap()
}

/// HTTP Basic as RFC 6749 §2.3.1 wants it: id and secret are form-encoded first.
pub(crate) fn basic(id: &str, secret: &str) -> String {
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    plain_basic(&encode(id), &encode(secret))
}

/// HTTP Basic of these very texts.
pub(crate) fn plain_basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) async fn to(request: RequestBuilder) -> Self {
        let answer = request.send().await.expect("the server answers");
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Self { status, headers, body: answer.text().await.unwrap_or_default() }
    }

    /// A header; empty if it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// An error of RFC 6749 §5.2, which nobody may keep.
    #[track_caller]
    pub(crate) fn refused_with(&self, status: u16, error: &str) {
        let body = self.json();
        assert_eq!((self.status, body["error"].as_str()), (status, Some(error)), "{}", self.body);
        let sentence = body["error_description"].as_str().unwrap();
        assert!(sentence.ends_with('.') && sentence.len() > 20, "no clear sentence: {sentence}");
        assert_eq!(self.header("cache-control"), "no-store");
        assert_eq!(self.header("pragma"), "no-cache");
        assert!(self.header("content-type").starts_with("application/json"), "{self:?}");
        let challenge = self.header("www-authenticate");
        assert_eq!(error == "invalid_client", challenge.starts_with("Basic realm="), "{challenge}");
    }

    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }
}
