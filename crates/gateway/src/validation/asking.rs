//! Questions about tokens to somebody else: only so many at once, shared by those who wait for the same answer, and not asked again
//! for a moment.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_crypto::digest::sha256;
use sluice_crypto::jws::MAX_TOKEN;
use sluice_primitives::{Lifetime, Timestamp};
use tokio::runtime::Handle;

use super::cache::TokenDigest;
use super::flights::Flights;
use super::footprint;
use super::places::Places;
use super::remembered::Remembered;
use super::validator::TokenFault;
use crate::authn::{Caller, extract};

/// What is said of a token.
pub(super) type Outcome = Result<Arc<Caller>, TokenFault>;

/// What is asked of one authority. Answers are kept; key: SHA-256 of the whole token; bound: so many ordinary ones as are configured,
/// one that takes more memory counts for several; staleness: as [`Terms`] say, and never past the end of the token. An authority that
/// does not answer is no answer: nothing of it is kept, and who finds no place is refused, not kept waiting.
pub(super) struct Asking {
    terms: Terms,
    answers: Remembered<Answer>,
    flights: Flights<TokenDigest, Outcome>,
    places: Places,
    spared: AtomicU64,
}

/// How an authority is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// How long is believed that a token holds.
    pub(super) positive: Lifetime,
    /// How long the contrary is.
    pub(super) negative: Lifetime,
    /// The most ordinary answers that are kept.
    pub(super) entries: NonZeroUsize,
    /// The most questions under way.
    pub(super) at_once: usize,
}

#[derive(Clone)]
struct Answer {
    outcome: Outcome,
    asked_at: Timestamp,
    until: Timestamp,
}

/// Whether anybody can have issued such a token: what a header can carry (RFC 9110 §11.2), and no longer than tokens are.
///
/// # Errors
/// [`TokenFault::TooLong`], [`TokenFault::NotAuthentic`].
pub(super) fn check_form(text: &str) -> Result<(), TokenFault> {
    if text.len() > MAX_TOKEN {
        return Err(TokenFault::TooLong);
    }
    if extract::is_token(text) { Ok(()) } else { Err(TokenFault::NotAuthentic) }
}

impl Asking {
    /// Nothing was asked yet. Questions run where `runtime` says.
    pub(super) fn new(terms: Terms, runtime: Handle) -> Self {
        Self {
            terms,
            answers: Remembered::room_for(terms.entries),
            flights: Flights::new(runtime),
            places: Places::new(terms.at_once),
            spared: AtomicU64::new(0),
        }
    }

    /// How many questions were not asked because the answer was known.
    pub(super) fn spared(&self) -> u64 {
        self.spared.load(Ordering::Relaxed)
    }

    /// What was answered a moment ago. An answer of a time that is yet to come, because the clock was set back, is none.
    pub(super) fn known(&self, token: &str, now: Timestamp) -> Option<Outcome> {
        let answer = self.answers.find(&sha256(token.as_bytes()))?;
        if !(answer.asked_at..answer.until).contains(&now) {
            return None;
        }
        self.spared.fetch_add(1, Ordering::Relaxed);
        Some(answer.outcome)
    }

    /// Asks for this client, or waits with who asks already.
    pub(super) async fn ask<F>(
        self: &Arc<Self>,
        token: &str,
        (client, now): (IpAddr, Timestamp),
        question: impl FnOnce() -> F,
    ) -> Outcome
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let digest = sha256(token.as_bytes());
        let flight = self.flights.join(digest, || {
            let place = self.places.take(client)?;
            let (this, answer) = (Arc::clone(self), question());
            Some(async move {
                let outcome = answer.await;
                this.keep(digest, &outcome, now);
                drop(place);
                outcome
            })
        });
        match flight {
            Some(flight) => flight.await.unwrap_or(Err(TokenFault::Unreachable)),
            None => Err(TokenFault::Busy),
        }
    }

    /// Keeps an answer, from when it was asked for: it may be as old as that.
    fn keep(&self, digest: TokenDigest, outcome: &Outcome, asked_at: Timestamp) {
        let until = match outcome {
            Ok(caller) => (asked_at + self.terms.positive).min(caller.expires_at()),
            Err(TokenFault::Unreachable | TokenFault::Busy | TokenFault::Stale) => return,
            Err(
                TokenFault::NotAuthentic
                | TokenFault::TooLong
                | TokenFault::WrongIssuer
                | TokenFault::WrongAudience
                | TokenFault::Expired
                | TokenFault::NotYet
                | TokenFault::Revoked,
            ) => asked_at + self.terms.negative,
        };
        if until > asked_at {
            let weight = outcome.as_ref().map_or(1, |caller| footprint::weight(caller));
            self.answers.keep(digest, Answer { outcome: outcome.clone(), asked_at, until }, weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::authn::given::bob;

    #[tokio::test]
    async fn answers_that_say_much_leave_room_for_fewer() {
        let terms = Terms {
            positive: Lifetime::minutes(1),
            negative: Lifetime::ZERO,
            entries: NonZeroUsize::new(64).unwrap(),
            at_once: 1,
        };
        let asking = Asking::new(terms, Handle::current());
        let answer: Outcome = Ok(Arc::new(bob(json!({"x": vec![0; 1_000]}))));
        for number in 0..64 {
            asking.keep([number; 32], &answer, Timestamp::from_secs(1_000));
        }
        let kept = asking.answers.len();
        assert!((1..32).contains(&kept), "{kept}");
    }
}
