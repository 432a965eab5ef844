//! Opaque tokens of other issuers: the issuer is asked (RFC 7662), and its answer believed for a moment.
//!
//! [`Introspector`]: asks. `answer`: what is answered. `client`: how the gateway authenticates itself.

mod answer;
mod client;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use http::StatusCode;
use sluice_commit::chain;
use sluice_net::{FetchError, FetchLimits, Fetcher};
use sluice_primitives::{Clock, Secret, Timestamp};
use thiserror::Error;
use tokio::runtime::Handle;
use tracing::{info, warn};

use super::asking::{Asking, Outcome, Terms, check_form};
use super::config::{IntrospectionConfig, IssuerConfig};
use super::jwks::ClaimRules;
use super::validator::{TokenFault, Validated};
use crate::authn::Caller;

/// The most bytes of an answer.
const MAX_ANSWER: usize = 64 * 1024;

/// Asks an issuer about tokens, as often as [`Asking`] allows.
pub(super) struct Introspector {
    name: Arc<str>,
    config: IntrospectionConfig,
    rules: ClaimRules,
    fetcher: Arc<Fetcher>,
    clock: Arc<dyn Clock>,
    asking: Arc<Asking>,
    has_failed: AtomicBool,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    asked: AtomicU64,
    failed: AtomicU64,
}

/// How often an issuer was asked about tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntrospectionStats {
    /// The name of the issuer.
    pub issuer: Arc<str>,
    /// Questions.
    pub asked: u64,
    /// Those without an answer.
    pub failed: u64,
    /// Questions that were not asked because the answer was known.
    pub spared: u64,
}

impl IntrospectionStats {
    pub(super) const fn add(&mut self, more: &Self) {
        self.asked += more.asked;
        self.failed += more.failed;
        self.spared += more.spared;
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
enum NoAnswer {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the answer has the status {0}")]
    Status(u16),
    #[error("the answer does not say whether the token is active")]
    Unreadable,
    #[error("the credentials of the gateway cannot be sent")]
    Credentials,
    /// It complains about the token, which anybody can have made up: that says nothing of how the issuer is.
    #[error("the answer is about the form of the token")]
    AboutToken,
}

impl Introspector {
    pub(super) fn new(
        issuer: &IssuerConfig,
        config: &IntrospectionConfig,
        fetcher: &Arc<Fetcher>,
        (clock, runtime): (Arc<dyn Clock>, Handle),
    ) -> Arc<Self> {
        let terms = Terms {
            positive: config.cache.into(),
            negative: config.negative_cache.into(),
            entries: config.cache_entries,
            at_once: usize::try_from(config.concurrency.get()).unwrap_or(1),
        };
        Arc::new(Self {
            name: Arc::clone(&issuer.name),
            rules: ClaimRules::of(issuer),
            fetcher: Arc::clone(fetcher),
            clock,
            asking: Arc::new(Asking::new(terms, runtime)),
            has_failed: AtomicBool::new(false),
            counters: Counters::default(),
            config: config.clone(),
        })
    }

    pub(super) fn stats(&self) -> IntrospectionStats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        IntrospectionStats {
            issuer: Arc::clone(&self.name),
            asked: count(&self.counters.asked),
            failed: count(&self.counters.failed),
            spared: self.asking.spared(),
        }
    }

    /// What the issuer says, or said a moment ago.
    pub(super) fn introspect(self: &Arc<Self>, token: &str, (client, now): (IpAddr, Timestamp)) -> Validated {
        if let Err(fault) = check_form(token) {
            return Validated::Now(Err(fault));
        }
        if let Some(outcome) = self.asking.known(token, now) {
            return Validated::Now(outcome);
        }
        let (this, token) = (Arc::clone(self), Secret::new(token.to_owned()));
        Validated::Later(Box::pin(async move {
            let asked_at = this.clock.now();
            let ask = || {
                let (this, token) = (Arc::clone(&this), token.clone());
                async move { this.ask(&token).await }
            };
            this.asking.ask(token.expose(), (client, asked_at), ask).await
        }))
    }

    async fn ask(&self, token: &Secret<String>) -> Outcome {
        self.counters.asked.fetch_add(1, Ordering::Relaxed);
        match self.question(token).await {
            Ok(outcome) => {
                if self.has_failed.swap(false, Ordering::Relaxed) {
                    info!(issuer.name = %self.name, "an issuer answers about tokens again");
                }
                outcome
            }
            Err(NoAnswer::AboutToken) => Err(TokenFault::NotAuthentic),
            Err(why) => {
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
                if !self.has_failed.swap(true, Ordering::Relaxed) {
                    warn!(issuer.name = %self.name, error = %chain(&why), "an issuer does not answer about tokens");
                }
                Err(TokenFault::Unreachable)
            }
        }
    }

    async fn question(&self, token: &Secret<String>) -> Result<Outcome, NoAnswer> {
        let endpoint = &self.config.endpoint;
        let limits = FetchLimits {
            https_only: endpoint.scheme() == "https",
            max_bytes: MAX_ANSWER,
            timeout: self.config.timeout,
            ..self.fetcher.limits()
        };
        let (headers, mut form) =
            client::credentials(&self.config.client).map_err(|_| NoAnswer::Credentials)?;
        form.extend([("token", token.expose().as_str()), ("token_type_hint", "access_token")]);
        let answer = self.fetcher.post_form_with(endpoint, &form, headers, limits).await?;
        if answer.status == StatusCode::BAD_REQUEST && answer::denies_token(&answer.body) {
            return Err(NoAnswer::AboutToken);
        }
        if !answer.status.is_success() {
            return Err(NoAnswer::Status(answer.status.as_u16()));
        }
        let told = answer::read(&answer.body, &self.rules, self.clock.now()).ok_or(NoAnswer::Unreadable)?;
        Ok(told.map(|claims| Arc::new(Caller::Foreign(Box::new(claims)))))
    }
}

#[cfg(test)]
mod tests;
