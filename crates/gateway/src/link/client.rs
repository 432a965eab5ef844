//! The requests to an authorization server's link.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_net::{FetchError, FetchLimits, FetchPolicy, Fetched, Fetcher};
use sluice_primitives::Secret;
use sluice_token::link::{FeedAnswer, FeedQuestion, TokenAnswer, TokenQuestion};
use thiserror::Error;
use tokio::time::Instant;
use url::Url;

/// The most bytes of an answer: about four million markers, which a server of an earlier release tells at once.
const MAX_ANSWER: usize = 256 << 20;
/// The time for an answer that nobody waits for on purpose.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time for an answer about a token, for which a request waits. Of two addresses of the name one may be dead, which takes half of
/// [`CONNECTS`].
const CHECK_PATIENCE: Duration = Duration::from_secs(4);
/// For so long nobody is asked about tokens after an answer that did not come in time: a server that hangs would hold up each request.
const PAUSE: Duration = Duration::from_secs(1);
/// The time for an answer of the feed, which may be large.
const FEED_PATIENCE: Duration = Duration::from_mins(1);
/// The time after which that answer begins, beside the wait that was asked for. Who is silent for longer is gone, and another may be there.
const FEED_BEGINS: Duration = Duration::from_secs(5);
/// The time for a connection, shared by the addresses of the name: a machine that is gone must leave time for the others before the feed
/// is given up.
const CONNECTS: Duration = Duration::from_secs(6);
/// The silence after which it is asked whether anybody is there: the connection ends before the feed is given up, or the next question
/// would go the same way.
const SILENCE: Duration = Duration::from_secs(3);

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
    /// It was not asked: an answer did not come in time a moment ago.
    #[error("the link of the authorization server did not answer in time a moment ago")]
    Silent,
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
    heard: Mutex<Heard>,
}

/// What came of questions about tokens.
#[derive(Debug, Default)]
struct Heard {
    /// Until when nobody is asked.
    silent_until: Option<Instant>,
    /// When an answer came last.
    answered_at: Option<Instant>,
}

impl Heard {
    fn answered(&mut self) {
        *self = Self { silent_until: None, answered_at: Some(Instant::now()) };
    }

    /// A question of this time had no answer. One that is slow while others are answered is no reason to ask nobody.
    fn timed_out(&mut self, asked_at: Instant) {
        if self.answered_at.is_none_or(|answered_at| answered_at < asked_at) {
            self.silent_until = Some(Instant::now() + PAUSE);
        }
    }
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
            connect_timeout: Some(CONNECTS),
            http2_keep_alive: Some(SILENCE),
            extra_ca_file: config.ca_file.clone(),
            ..FetchPolicy::default()
        };
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", config.token.expose()))
            .map_err(|_| LinkError::Unusable("token"))?;
        authorization.set_sensitive(true);
        let (fetcher, base, heard) = (Fetcher::new(policy)?, config.url.clone(), Mutex::default());
        Ok(Self { fetcher, base, authorization, heard })
    }

    /// The keys that access tokens are opened and verified with.
    ///
    /// # Errors
    /// [`LinkError`] if there is no answer.
    pub async fn keys<T: DeserializeOwned>(&self) -> Result<T, LinkError> {
        self.ask("link/v1/keys", &(), self.limits()).await
    }

    /// What the feed has after a position.
    ///
    /// # Errors
    /// [`LinkError`] if there is no answer.
    pub async fn feed(&self, question: &FeedQuestion) -> Result<FeedAnswer, LinkError> {
        let wait = Duration::from_millis(question.wait_ms);
        let begins = if wait.is_zero() { PATIENCE } else { wait.saturating_add(FEED_BEGINS) };
        let limits = FetchLimits { timeout: FEED_PATIENCE, head_timeout: Some(begins), ..self.limits() };
        self.ask("link/v1/feed", question, limits).await
    }

    /// What the authorization server says of a token: for times when the feed is not heard, and for tokens that cannot be opened
    /// here.
    ///
    /// # Errors
    /// [`LinkError`] if there is no answer; [`LinkError::Silent`] at once if there was none in time a moment ago.
    pub async fn check(&self, token: &str) -> Result<TokenAnswer, LinkError> {
        if self.heard.lock().silent_until.is_some_and(|until| Instant::now() < until) {
            return Err(LinkError::Silent);
        }
        let asked_at = Instant::now();
        let limits = FetchLimits { timeout: CHECK_PATIENCE, ..self.limits() };
        let answer = self.ask("link/v1/check", &TokenQuestion { token: token.to_owned() }, limits).await;
        match answer {
            Err(LinkError::Unreachable(FetchError::TimedOut)) => self.heard.lock().timed_out(asked_at),
            Err(LinkError::Unreachable(_)) => {}
            _ => self.heard.lock().answered(),
        }
        answer
    }

    fn limits(&self) -> FetchLimits {
        FetchLimits { https_only: true, ..self.fetcher.limits() }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        question: &impl Serialize,
        limits: FetchLimits,
    ) -> Result<T, LinkError> {
        let url = self.base.join(path).map_err(|_| LinkError::Unusable("address"))?;
        let headers = HeaderMap::from_iter([(AUTHORIZATION, self.authorization.clone())]);
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

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// A client of a server that takes connections and says nothing.
    async fn of_silent_server() -> (LinkClient, TcpListener) {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = LinkConfig {
            url: format!("http://{}", silent.local_addr().unwrap()).parse().unwrap(),
            token: Secret::new("a token".to_owned()),
            ca_file: None,
        };
        (LinkClient::new(&config).unwrap(), silent)
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_about_a_token_is_left_alone_for_a_second() {
        let (client, _silent) = of_silent_server().await;
        let timed_out = |answer: &Result<TokenAnswer, LinkError>| {
            matches!(answer, Err(LinkError::Unreachable(FetchError::TimedOut)))
        };
        for _ in 0..2 {
            let asked_at = Instant::now();
            let answer = client.check("a token").await;
            assert!(timed_out(&answer), "{answer:?}");
            assert!(asked_at.elapsed() < Duration::from_secs(5), "{:?}", asked_at.elapsed());
            let asked_at = Instant::now();
            let answer = client.check("another").await;
            assert!(matches!(answer, Err(LinkError::Silent)), "{answer:?}");
            assert_eq!(asked_at.elapsed(), Duration::ZERO);
            tokio::time::advance(PAUSE).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_slow_answer_among_others_leaves_nobody_alone() {
        let (mut heard, asked_at) = (Heard::default(), Instant::now());
        tokio::time::advance(PAUSE).await;
        heard.answered();
        heard.timed_out(asked_at);
        assert_eq!(heard.silent_until, None);
        tokio::time::advance(PAUSE).await;
        heard.timed_out(Instant::now());
        assert_eq!(heard.silent_until, Some(Instant::now() + PAUSE));
        heard.answered();
        assert_eq!(heard.silent_until, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_went_silent_is_given_up_while_another_may_still_be_heard_in_time() {
        let (client, _silent) = of_silent_server().await;
        let question = FeedQuestion { wait_ms: 2_000, pages: true, ..FeedQuestion::default() };
        let asked_at = Instant::now();
        let refused = client.feed(&question).await;
        assert!(matches!(refused, Err(LinkError::Unreachable(FetchError::TimedOut))), "{refused:?}");
        // What `gateway.max_feed_age` is by default.
        assert!(asked_at.elapsed() < Duration::from_secs(10), "{:?}", asked_at.elapsed());
    }
}
