//! A hook behind a URL, reached by the one guarded HTTP client.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::header::COOKIE;
use http::{HeaderMap, HeaderName, HeaderValue};
use sluice_commit::chain;
use sluice_net::{FetchLimits, Fetcher};
use sluice_primitives::Secret;
use thiserror::Error;
use url::Url;

use super::{Hook, HookAnswer, HookFault};

/// A longer answer is refused, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// The key by which a hook knows who asks (Hydra's `api_key`).
#[derive(Debug)]
pub enum WebhookKey {
    /// In a header of this name.
    Header(String, Secret<String>),
    /// In a cookie of this name.
    Cookie(String, Secret<String>),
}

/// What a hook is reached with.
#[derive(Debug)]
pub struct WebhookParts {
    /// Where it is.
    pub url: Url,
    /// How it knows who asks.
    pub key: Option<WebhookKey>,
    /// How long it may take.
    pub timeout: Duration,
}

/// The key cannot stand in a header or cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the key of the hook cannot be sent")]
pub struct UnsendableKey;

/// A hook behind a URL.
pub struct Webhook {
    fetcher: Arc<Fetcher>,
    url: Url,
    headers: HeaderMap,
    timeout: Duration,
}

impl Webhook {
    /// A hook behind a URL.
    ///
    /// # Errors
    /// [`UnsendableKey`] if its key cannot be sent.
    pub fn new(fetcher: Arc<Fetcher>, parts: WebhookParts) -> Result<Self, UnsendableKey> {
        let mut headers = HeaderMap::new();
        let key = match &parts.key {
            None => None,
            Some(WebhookKey::Header(name, key)) => {
                let name = name.parse::<HeaderName>().map_err(|_| UnsendableKey)?;
                Some((name, HeaderValue::from_str(key.expose())))
            }
            Some(WebhookKey::Cookie(name, key)) => {
                Some((COOKIE, HeaderValue::from_str(&format!("{name}={}", key.expose()))))
            }
        };
        if let Some((name, value)) = key {
            let mut value = value.map_err(|_| UnsendableKey)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self { fetcher, url: parts.url, headers, timeout: parts.timeout })
    }
}

#[async_trait]
impl Hook for Webhook {
    async fn ask(&self, json: Vec<u8>) -> Result<HookAnswer, HookFault> {
        let limits = FetchLimits { max_bytes: MAX_ANSWER, timeout: self.timeout, ..self.fetcher.limits() };
        let answer = self.fetcher.post_json_with(&self.url, json.into(), self.headers.clone(), limits).await;
        let answer = answer.map_err(|why| HookFault::NoAnswer(chain(&why)))?;
        Ok(HookAnswer { status: answer.status.as_u16(), body: answer.body.into() })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use sluice_net::FetchPolicy;

    use super::*;

    #[tokio::test]
    async fn why_a_hook_does_not_answer_is_said_without_its_address_or_key() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let policy = FetchPolicy { allow_private: true, ..FetchPolicy::default() };
        let parts = WebhookParts {
            url: format!("http://{gone}/hook?token=a-secret-of-the-hook").parse().unwrap(),
            key: Some(WebhookKey::Header("x-key".to_owned(), Secret::new("a-secret-of-ours".to_owned()))),
            timeout: Duration::from_secs(5),
        };
        let hook = Webhook::new(Arc::new(Fetcher::new(policy).unwrap()), parts).unwrap();
        let Err(HookFault::NoAnswer(why)) = hook.ask(b"{}".to_vec()).await else { panic!("it answered") };
        assert!(why.contains("Connection refused"), "{why}");
        assert!(!why.contains("secret") && !why.contains("token="), "{why}");
    }
}
