//! The requests to an authorization server's link.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_net::{FetchError, FetchLimits, FetchPolicy, Fetched, Fetcher};
use sluice_primitives::Secret;
use sluice_token::link::{FeedAnswer, FeedQuestion, TokenAnswer, TokenQuestion};
use thiserror::Error;
use url::Url;

/// The most bytes of an answer: about four million markers, which a server of an earlier release tells at once.
const MAX_ANSWER: usize = 256 << 20;
/// The time for an answer that nobody waits for on purpose.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time for an answer of the feed, which may be large.
const FEED_PATIENCE: Duration = Duration::from_mins(1);

/// Where the link is.
#[derive(Debug)]
pub struct LinkConfig {
    /// The address of the link, as `https://host:port`. Plain http is for loopback.
    pub url: Url,
    /// What requests bear.
    pub token: Secret<String>,
    /// A PEM file of certificates to trust besides those of the system.
    pub ca_file: Option<PathBuf>,
}

/// Why the link gave no answer.
#[derive(Debug, Error)]
pub enum LinkError {
    /// It was not reached, or not in time.
    #[error("the link of the authorization server was not reached")]
    Unreachable(#[from] FetchError),
    /// It does not accept the token.
    #[error("the link of the authorization server does not accept gateway.link.token")]
    Refused,
    /// It cannot answer now.
    #[error("the link of the authorization server answered {0}")]
    Status(StatusCode),
    /// It answered something else.
    #[error("the answer of the link cannot be read")]
    Unreadable(#[from] serde_json::Error),
    /// The address or the token is no good.
    #[error("the {0} of the link cannot be used")]
    Unusable(&'static str),
}

/// Asks an authorization server's link.
pub struct LinkClient {
    fetcher: Fetcher,
    base: Url,
    authorization: HeaderValue,
}

impl LinkClient {
    /// Makes ready; nothing is connected yet.
    ///
    /// # Errors
    /// [`LinkError`] if address, token or certificates are no good.
    pub fn new(config: &LinkConfig) -> Result<Self, LinkError> {
        let policy = FetchPolicy {
            allow_private: true,
            max_body_bytes: MAX_ANSWER,
            timeout: PATIENCE,
            extra_ca_file: config.ca_file.clone(),
            ..FetchPolicy::default()
        };
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", config.token.expose()))
            .map_err(|_| LinkError::Unusable("token"))?;
        authorization.set_sensitive(true);
        Ok(Self { fetcher: Fetcher::new(policy)?, base: config.url.clone(), authorization })
    }

    /// The keys that access tokens are opened and verified with.
    ///
    /// # Errors
    /// [`LinkError`] if there is no answer.
    pub async fn keys<T: DeserializeOwned>(&self) -> Result<T, LinkError> {
        self.ask("link/v1/keys", &(), PATIENCE).await
    }

    /// What the feed has after a position.
    ///
    /// # Errors
    /// [`LinkError`] if there is no answer.
    pub async fn feed(&self, question: &FeedQuestion) -> Result<FeedAnswer, LinkError> {
        self.ask("link/v1/feed", question, FEED_PATIENCE).await
    }

    /// What the authorization server says of a token: for times when the feed is not heard, and for tokens that cannot be opened
    /// here.
    ///
    /// # Errors
    /// [`LinkError`] if there is no answer.
    pub async fn check(&self, token: &str) -> Result<TokenAnswer, LinkError> {
        self.ask("link/v1/check", &TokenQuestion { token: token.to_owned() }, PATIENCE).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        question: &impl Serialize,
        patience: Duration,
    ) -> Result<T, LinkError> {
        let url = self.base.join(path).map_err(|_| LinkError::Unusable("address"))?;
        let headers = HeaderMap::from_iter([(AUTHORIZATION, self.authorization.clone())]);
        let limits = FetchLimits { timeout: patience, https_only: true, ..self.fetcher.limits() };
        let question = Bytes::from(serde_json::to_vec(question)?);
        let Fetched { status, body, .. } =
            self.fetcher.post_json_with(&url, question, headers, limits).await?;
        match status {
            StatusCode::OK => Ok(serde_json::from_slice(&body)?),
            StatusCode::UNAUTHORIZED => Err(LinkError::Refused),
            other => Err(LinkError::Status(other)),
        }
    }
}

impl fmt::Debug for LinkClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkClient").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}
