//! Tokens of this installation: opened or verified with its keys, then held against the revocations.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arc_swap::ArcSwap;
use sluice_crypto::jws::VerifiedJws;
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::{Clock, Lifetime, Secret, Timestamp};
use sluice_token::sealed::NotAToken;
use sluice_token::{AccessTokenClaims, FeedFollower, RevocationSet, jwt, paseto, sealed};
use tokio::runtime::Handle;

use super::asking::{Asking, Outcome, Terms};
use super::validator::{BoxedValidation, Question, TokenFault, Validated};
use crate::authn::{Caller, PersonClaims};
use crate::route::StalePolicy;

/// The public keys of this installation.
pub trait OwnKeys: Send + Sync {
    /// A JWT that one of the keys for access tokens signed.
    fn verify_jwt(&self, token: &str) -> Option<VerifiedJws>;

    /// The payload of a PASETO that one of the keys of the identity API signed.
    fn verify_paseto(&self, token: &str) -> Option<Vec<u8>>;

    /// Another number whenever the keys have changed, those of the sealer too, or what is said with them.
    fn generation(&self) -> u64;

    /// The longest life of an access token, whatever it says: what was revoked is told for no longer.
    fn longest_access_token(&self) -> Lifetime;

    /// The same of a token of the identity API.
    fn longest_person_token(&self) -> Lifetime;

    /// Whether this is what tokens of this installation name as their issuer now.
    fn is_issuer(&self, claimed: &str) -> bool;

    /// What tokens of this installation name as their issuer now, if that is known.
    fn issuer(&self) -> Option<String> {
        None
    }

    /// A token was there that no key opens: others may have come. Anybody can make such a token up. Where keys never change unheard,
    /// it says nothing.
    fn look_again(&self) {}
}

/// Tells how old the knowledge of revocations is.
pub trait Freshness: Send + Sync {
    /// How long ago the feed was heard, for who has just read the time of day: it is read about each request.
    fn age(&self, now: Timestamp) -> Lifetime;
}

impl Freshness for FeedFollower {
    fn age(&self, now: Timestamp) -> Lifetime {
        self.age_at(now)
    }
}

/// The authorization server itself, to be asked about a token of its own.
pub trait Authority: Send + Sync {
    /// Asks. Bounded in time; how many questions there are at once is for who asks. [`TokenFault::NotAuthentic`]: it is none of its own.
    fn introspect(&self, token: &str) -> BoxedValidation;
}

/// The most questions to the authority at once; further ones are refused.
const MAX_QUESTIONS: usize = 256;
/// How long is believed that a token does not hold, and of how many. That one does is asked each time: it may have been revoked.
const NEGATIVE: Lifetime = Lifetime::secs(10);
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(16_384).unwrap();

/// What clients are given sealed: whoever has one of these can use it at this installation.
const GIVEN_SEALED: [Purpose; 5] = [
    Purpose::AccessToken,
    Purpose::RefreshToken,
    Purpose::IdentityRefreshToken,
    Purpose::AuthorizationCode,
    Purpose::DeviceCode,
];

/// What tokens of this installation are checked with.
#[derive(Clone)]
pub struct LocalParts {
    /// Opens sealed tokens, and the facts in JWTs. Replaced as a whole when subkeys change, before `keys` say that they have.
    pub sealer: Arc<ArcSwap<Sealer>>,
    /// Verifies signed ones.
    pub keys: Arc<dyn OwnKeys>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// How old that knowledge is.
    pub freshness: Arc<dyn Freshness>,
    /// How old it may be.
    pub max_age: Lifetime,
    /// Who is asked when it is older, and about sealed tokens where no key opens them. `None`: nobody can be asked.
    pub authority: Option<Arc<dyn Authority>>,
}

/// Checks tokens of this installation.
pub(super) struct LocalValidator {
    parts: LocalParts,
    clock: Arc<dyn Clock>,
    asking: Arc<Asking>,
}

impl LocalValidator {
    /// Questions to the authority run where `runtime` says.
    pub(super) fn new(parts: LocalParts, clock: Arc<dyn Clock>, runtime: Handle) -> Self {
        let terms = Terms {
            positive: Lifetime::ZERO,
            negative: NEGATIVE,
            entries: REMEMBERED,
            at_once: MAX_QUESTIONS,
        };
        Self { parts, clock, asking: Arc::new(Asking::new(terms, runtime)) }
    }

    /// The keys that are in force.
    pub(super) fn generation(&self) -> u64 {
        self.parts.keys.generation()
    }

    /// Whether a sealed token holds. Where no key opens it its authority is asked, if it has the form of one.
    pub(super) fn validate_sealed(self: &Arc<Self>, question: Question<'_>) -> Validated {
        let claims = {
            let sealer = self.parts.sealer.load();
            match (sealed::read(question.token, &sealer), &self.parts.authority) {
                (Ok(claims), _) => claims.ending_within(self.parts.keys.longest_access_token()),
                (Err(_), Some(authority))
                    if !sealer.knows(Purpose::AccessToken) && sealed::is_of_form(question.token) =>
                {
                    return self.unopened(authority, question);
                }
                (Err(error), _) => return Validated::Now(Err(self.not_opened(&error))),
            }
        };
        if let Err(fault) = self.check_claims(&claims, question.now) {
            return Validated::Now(Err(fault));
        }
        self.unless_stale(Arc::new(Caller::Own(Box::new(claims))), question)
    }

    /// What an authentic JWT says; whether it still holds is not asked.
    pub(super) fn verify_jwt(&self, token: &str) -> Result<Arc<Caller>, TokenFault> {
        let verified = self.parts.keys.verify_jwt(token).ok_or(TokenFault::NotAuthentic)?;
        let claims = jwt::read(&verified, &self.parts.sealer.load());
        let claims = claims.map_err(|error| self.not_opened(&error))?;
        let claims = claims.ending_within(self.parts.keys.longest_access_token());
        Ok(Arc::new(Caller::Own(Box::new(claims))))
    }

    /// What is sealed with a key that is not here may be of a secret that is new. Two secrets may have one key id: then it is just not
    /// authentic.
    fn not_opened(&self, error: &NotAToken) -> TokenFault {
        if matches!(error, NotAToken::Sealed(OpenError::UnknownKey | OpenError::NotAuthentic)) {
            self.parts.keys.look_again();
        }
        TokenFault::NotAuthentic
    }

    /// Whether this installation sealed a text, as an access token or as anything else that clients are given: a key here opens it. What it
    /// begins with tells nothing, since other issuers use the same prefixes.
    pub(super) fn has_sealed(&self, text: &str) -> bool {
        let sealed = without_prefix(text);
        let sealer = self.parts.sealer.load();
        Sealer::is_of_form(sealed)
            && GIVEN_SEALED.into_iter().any(|purpose| sealer.sealed_by(purpose, sealed).opens())
    }

    /// What tokens of this installation name as their issuer.
    pub(super) fn issuer(&self) -> Option<String> {
        self.parts.keys.issuer()
    }

    /// Whether this is what tokens of this installation name as their issuer.
    pub(super) fn is_issuer(&self, claimed: Option<&str>) -> bool {
        claimed.is_some_and(|claimed| self.parts.keys.is_issuer(claimed))
    }

    /// What an authentic token of the identity API says; whether it still holds is not asked.
    pub(super) fn verify_paseto(&self, token: &str) -> Result<Arc<Caller>, TokenFault> {
        let person = || {
            if token.len() > paseto::MAX_TOKEN {
                return None;
            }
            let claims = paseto::read(&self.parts.keys.verify_paseto(token)?).ok()?;
            self.parts.keys.is_issuer(&claims.issuer).then_some(claims)
        };
        let claims = person().ok_or(TokenFault::NotAuthentic)?;
        let claims = claims.ending_within(self.parts.keys.longest_person_token());
        let claims = PersonClaims::try_from(claims).map_err(|_| TokenFault::NotAuthentic)?;
        Ok(Arc::new(Caller::Person(Box::new(claims))))
    }

    /// Whether an authentic token still holds.
    pub(super) fn still_holds(self: &Arc<Self>, caller: Arc<Caller>, question: Question<'_>) -> Validated {
        match self.check(&caller, question.now) {
            Ok(()) => self.unless_stale(caller, question),
            Err(fault) => Validated::Now(Err(fault)),
        }
    }

    /// Expiry and revocation. Clocks of one installation do not differ.
    fn check(&self, caller: &Caller, now: Timestamp) -> Result<(), TokenFault> {
        match caller {
            Caller::Own(claims) => self.check_claims(claims, now),
            Caller::Person(claims) => {
                let (session, since) = (claims.session, claims.authenticated_at);
                if now >= claims.expires_at {
                    Err(TokenFault::Expired)
                } else if self.parts.revocations.covers_session(session, &claims.subject, since) {
                    Err(TokenFault::Revoked)
                } else {
                    Ok(())
                }
            }
            Caller::Foreign(_) => Err(TokenFault::NotAuthentic),
        }
    }

    fn check_claims(&self, claims: &AccessTokenClaims, now: Timestamp) -> Result<(), TokenFault> {
        if now >= claims.expires_at {
            return Err(TokenFault::Expired);
        }
        if self.parts.revocations.holds(claims) { Err(TokenFault::Revoked) } else { Ok(()) }
    }

    /// The caller, if revocations are known well enough for the route.
    fn unless_stale(self: &Arc<Self>, caller: Arc<Caller>, question: Question<'_>) -> Validated {
        let stale = question.policy.stale;
        if stale == StalePolicy::Trust || self.parts.freshness.age(question.now) <= self.parts.max_age {
            return Validated::Now(Ok(caller));
        }
        let Some(authority) = self.parts.authority.as_ref().filter(|_| stale == StalePolicy::Ask) else {
            return Validated::Now(Err(TokenFault::Stale));
        };
        let (answer, local) = (self.asked(authority, question), Arc::clone(self));
        Validated::Later(Box::pin(async move {
            match answer.await {
                Ok(_) => {}
                // Its authority does not know it any more.
                Err(TokenFault::NotAuthentic) => return Err(TokenFault::Revoked),
                Err(fault) => return Err(fault),
            }
            // What was heard while the answer was on its way counts more than the answer.
            local.check(&caller, local.clock.now()).map(|()| caller)
        }))
    }

    /// What the authority says of a token that cannot be opened here; here too, what was heard meanwhile counts more.
    fn unopened(self: &Arc<Self>, authority: &Arc<dyn Authority>, question: Question<'_>) -> Validated {
        if let Some(Err(fault)) = self.asking.known(question.token, question.now) {
            return Validated::Now(Err(fault));
        }
        let (answer, local) = (self.asked(authority, question), Arc::clone(self));
        Validated::Later(Box::pin(async move {
            let caller = answer.await?;
            match &*caller {
                Caller::Foreign(_) => {}
                Caller::Own(_) | Caller::Person(_) => local.check(&caller, local.clock.now())?,
            }
            Ok(caller)
        }))
    }

    fn asked(
        &self,
        authority: &Arc<dyn Authority>,
        question: Question<'_>,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        let (asking, clock, authority) =
            (Arc::clone(&self.asking), Arc::clone(&self.clock), Arc::clone(authority));
        let (token, client) = (Secret::new(question.token.to_owned()), question.client);
        async move {
            let now = clock.now();
            if let Some(Err(fault)) = asking.known(token.expose(), now) {
                return Err(fault);
            }
            asking.ask(token.expose(), (client, now), || authority.introspect(token.expose())).await
        }
    }
}

/// A sealed value without what may stand before it: `ory_at_`, `ory_rt_` and the like.
fn without_prefix(text: &str) -> &str {
    let kind_and_rest = text.strip_prefix("ory_").and_then(|rest| rest.split_once('_'));
    kind_and_rest.map_or(text, |(_, rest)| rest)
}

#[cfg(test)]
mod tests;
