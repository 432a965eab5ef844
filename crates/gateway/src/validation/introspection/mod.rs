//! Opaque tokens of other issuers: the issuer is asked (RFC 7662), and its answer believed for a moment.
//!
//! [`Introspector`]: asks. `answer`: what is answered. `client`: how the gateway authenticates itself.

mod answer;
mod client;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use quick_cache::sync::Cache;
use sluice_crypto::digest::sha256;
use sluice_crypto::jws::MAX_TOKEN;
use sluice_net::{FetchError, FetchLimits, Fetcher};
use sluice_primitives::{Clock, Secret, Timestamp};
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tracing::{info, warn};

use super::cache::TokenDigest;
use super::config::{IntrospectionConfig, IssuerConfig};
use super::flights::Flights;
use super::jwks::ClaimRules;
use super::validator::{TokenFault, Validated, Validator};
use crate::authn::Caller;

/// The most bytes of an answer.
const MAX_ANSWER: usize = 64 * 1024;

type Outcome = Result<Arc<Caller>, TokenFault>;

/// Asks an issuer about tokens. Answers are kept; key: SHA-256 of the whole token; bound: `cache_entries`; staleness: as
/// configured, and never past the end of the token. Whoever asks about a token that is being asked about shares the answer. An
/// issuer that does not answer is no answer: nothing of it is kept, and no more questions are under way than are allowed.
pub(super) struct Introspector {
    name: Arc<str>,
    config: IntrospectionConfig,
    rules: ClaimRules,
    fetcher: Arc<Fetcher>,
    clock: Arc<dyn Clock>,
    answers: Cache<TokenDigest, Answer>,
    flights: Flights<TokenDigest, Outcome>,
    permits: Arc<Semaphore>,
    has_failed: AtomicBool,
    counters: Counters,
}

#[derive(Clone)]
struct Answer {
    outcome: Outcome,
    until: Timestamp,
}

#[derive(Default)]
struct Counters {
    asked: AtomicU64,
    failed: AtomicU64,
    spared: AtomicU64,
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
}

impl Introspector {
    pub(super) fn new(
        issuer: &IssuerConfig,
        config: &IntrospectionConfig,
        fetcher: &Arc<Fetcher>,
        (clock, runtime): (Arc<dyn Clock>, Handle),
    ) -> Arc<Self> {
        Arc::new(Self {
            name: Arc::clone(&issuer.name),
            rules: ClaimRules::new(&issuer.issuer, &issuer.audience, issuer.clock_skew),
            fetcher: Arc::clone(fetcher),
            clock,
            answers: Cache::new(config.cache_entries.get()),
            flights: Flights::new(runtime),
            permits: Arc::new(Semaphore::new(usize::try_from(config.concurrency.get()).unwrap_or(1))),
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
            spared: count(&self.counters.spared),
        }
    }

    /// What the issuer says, or said a moment ago.
    pub(super) fn introspect(self: &Arc<Self>, token: &str, now: Timestamp) -> Validated {
        if token.len() > MAX_TOKEN {
            return Validated::Now(Err(TokenFault::NotAuthentic));
        }
        let digest = sha256(token.as_bytes());
        if let Some(answer) = self.answers.get(&digest)
            && now < answer.until
        {
            self.counters.spared.fetch_add(1, Ordering::Relaxed);
            return Validated::Now(answer.outcome);
        }
        let flight = self.flights.join(digest, || {
            let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
            let (this, token) = (Arc::clone(self), Secret::new(token.to_owned()));
            Some(async move {
                let outcome = this.ask(&token, digest).await;
                drop(permit);
                outcome
            })
        });
        match flight {
            Some(flight) => {
                Validated::Later(Box::pin(async { flight.await.unwrap_or(Err(TokenFault::Unreachable)) }))
            }
            None => Validated::Now(Err(TokenFault::Unreachable)),
        }
    }

    async fn ask(&self, token: &Secret<String>, digest: TokenDigest) -> Outcome {
        let asked_at = self.clock.now();
        self.counters.asked.fetch_add(1, Ordering::Relaxed);
        match self.question(token).await {
            Ok(outcome) => {
                if self.has_failed.swap(false, Ordering::Relaxed) {
                    info!(issuer.name = %self.name, "an issuer answers about tokens again");
                }
                self.keep(digest, &outcome, asked_at);
                outcome
            }
            Err(why) => {
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
                if !self.has_failed.swap(true, Ordering::Relaxed) {
                    warn!(issuer.name = %self.name, error = %why, "an issuer does not answer about tokens");
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
        if !answer.status.is_success() {
            return Err(NoAnswer::Status(answer.status.as_u16()));
        }
        let told = answer::read(&answer.body, &self.rules, self.clock.now()).ok_or(NoAnswer::Unreadable)?;
        Ok(told.map(|claims| Arc::new(Caller::Foreign(Box::new(claims)))))
    }

    /// Keeps an answer, from when it was asked for: it may be as old as that.
    fn keep(&self, digest: TokenDigest, outcome: &Outcome, asked_at: Timestamp) {
        let until = match outcome {
            Ok(caller) => (asked_at + self.config.cache.into()).min(caller.expires_at()),
            Err(_) => asked_at + self.config.negative_cache.into(),
        };
        if until > asked_at {
            self.answers.insert(digest, Answer { outcome: outcome.clone(), until });
        }
    }
}

impl Validator for Arc<Introspector> {
    fn validate(&self, token: &str, now: Timestamp) -> Validated {
        self.introspect(token, now)
    }
}

#[cfg(test)]
mod tests;
