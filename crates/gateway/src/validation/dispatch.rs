//! Which issuer a token is checked by, told from its form; what it says of itself is believed only for choosing.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use sluice_crypto::digest::sha256;
use sluice_crypto::jws::{MAX_TOKEN, unverified_parts};
use sluice_net::Fetcher;
use sluice_primitives::Clock;
use sluice_token::paseto;
use smallvec::SmallVec;
use tokio::runtime::Handle;

use super::cache::{TokenDigest, VerdictCache, Verified};
use super::chain::{ask_after, ask_each};
use super::config::IssuerConfig;
use super::introspection::{IntrospectionStats, Introspector};
use super::jwks::{AuthenticJwt, JwtIssuer, Verification};
use super::last_token::Form;
use super::local::{LocalParts, LocalValidator};
use super::validator::{Question, TokenFault, Validated};
use crate::authn::Caller;
use crate::route::RoutePolicy;

/// The number of this installation among issuers.
const OWN: u64 = 0;

/// What validation works with.
pub struct ValidationParts {
    /// Checks tokens of this installation. `None`: these do not count.
    pub local: Option<LocalParts>,
    /// Reaches other issuers: they are configured, so it may reach private addresses.
    pub fetcher: Arc<Fetcher>,
    /// Where questions to other issuers run.
    pub runtime: Handle,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The most signed tokens that are remembered; those that say much count for several.
    pub cache_entries: NonZeroUsize,
}

/// Tells whether tokens hold.
pub struct Validation {
    local: Option<Arc<LocalValidator>>,
    cache: Arc<VerdictCache>,
    /// By what the table says of them. Those of a table that has just come into force are learned with their first token.
    issuers: ArcSwap<Vec<(Arc<IssuerConfig>, Arc<ForeignIssuer>)>>,
    /// Of the next issuer.
    next_number: AtomicU64,
    fetcher: Arc<Fetcher>,
    runtime: Handle,
    clock: Arc<dyn Clock>,
}

/// Another issuer.
struct ForeignIssuer {
    /// No other ever had it.
    number: u64,
    config: Arc<IssuerConfig>,
    jwt: Option<JwtIssuer>,
    introspector: Option<Arc<Introspector>>,
}

impl Validation {
    /// Validation with these other issuers.
    pub fn new(parts: ValidationParts, issuers: &[Arc<IssuerConfig>]) -> Self {
        let local =
            |local| Arc::new(LocalValidator::new(local, Arc::clone(&parts.clock), parts.runtime.clone()));
        let this = Self {
            local: parts.local.map(local),
            cache: Arc::new(VerdictCache::new(parts.cache_entries)),
            issuers: ArcSwap::default(),
            next_number: AtomicU64::new(OWN + 1),
            fetcher: parts.fetcher,
            runtime: parts.runtime,
            clock: parts.clock,
        };
        this.keep_only(issuers);
        this
    }

    /// Forgets other issuers than these, which keep their keys and answers if they have not changed. A route is judged by the issuers of
    /// its own table, whenever this is called.
    pub fn keep_only(&self, issuers: &[Arc<IssuerConfig>]) {
        let known: Vec<_> = issuers.iter().map(|config| (Arc::clone(config), self.known(config))).collect();
        self.issuers.store(Arc::new(known));
    }

    /// Asks other issuers for their keys, also if those are fresh: they may have removed one. Nobody waits for that, and until an answer is
    /// there the old keys serve.
    pub fn renew_keys(&self) {
        let issuers = self.issuers.load();
        // One that is known by several tables is asked once: the question is under way.
        issuers.iter().filter_map(|(_, issuer)| issuer.jwt.as_ref()).for_each(JwtIssuer::renew_keys);
    }

    /// Whether a token holds, for a route with this policy: of one of its issuers, authentic, in its time, not revoked. What the policy
    /// demands beyond that is not asked here.
    pub fn validate(&self, question: Question<'_>) -> Validated {
        if let Some(outcome) = self.once_more(question) {
            return outcome;
        }
        let token = question.token;
        if !token.contains('.') {
            self.opaque(question)
        } else if token.starts_with(paseto::PREFIX) {
            self.paseto(question)
        } else if is_jwt(token) {
            self.jwt(question)
        } else {
            self.opaque(question)
        }
    }

    /// What tokens of this installation name as their issuer, if that is known.
    pub fn issuer(&self) -> Option<String> {
        self.local.as_ref()?.issuer()
    }

    /// The tokens whose signatures were verified.
    pub fn cache(&self) -> &VerdictCache {
        &self.cache
    }

    /// How often other issuers were asked about tokens, once for each name: requests of a table that was replaced go on asking an issuer
    /// that the new one knows under the same name, changed or not.
    pub fn introspection_stats(&self) -> Vec<IntrospectionStats> {
        let issuers = self.issuers.load();
        let mut counted = BTreeSet::new();
        let mut by_name: BTreeMap<Arc<str>, IntrospectionStats> = BTreeMap::new();
        for (_, issuer) in issuers.iter().filter(|(_, issuer)| counted.insert(issuer.number)) {
            let Some(introspector) = &issuer.introspector else { continue };
            let stats = introspector.stats();
            match by_name.get_mut(&stats.issuer) {
                Some(sum) => sum.add(&stats),
                None => drop(by_name.insert(Arc::clone(&stats.issuer), stats)),
            }
        }
        by_name.into_values().collect()
    }

    /// What checks tokens of this installation, where they count.
    fn local(&self, policy: &RoutePolicy) -> Option<&Arc<LocalValidator>> {
        self.local.as_ref().filter(|_| policy.takes_own_tokens())
    }

    /// The other issuers whose tokens count, in the order of the policy.
    fn foreign(&self, policy: &RoutePolicy) -> SmallVec<[Arc<ForeignIssuer>; 4]> {
        policy.foreign_issuers.iter().map(|config| self.known(config)).collect()
    }

    /// The issuer that a table speaks of.
    fn known(&self, config: &Arc<IssuerConfig>) -> Arc<ForeignIssuer> {
        let issuers = self.issuers.load();
        let known = issuers.iter().find(|(known, _)| Arc::ptr_eq(known, config));
        known.map_or_else(|| self.learn(config), |(_, issuer)| Arc::clone(issuer))
    }

    /// Takes up an issuer of a table that is new. If nothing has changed but the table it stays the same.
    fn learn(&self, config: &Arc<IssuerConfig>) -> Arc<ForeignIssuer> {
        let fresh = Arc::new(self.issuer_of(config));
        let same_in = |issuers: &[(_, Arc<ForeignIssuer>)]| {
            let same = issuers.iter().map(|(_, issuer)| issuer).find(|issuer| issuer.config == *config);
            Arc::clone(same.unwrap_or(&fresh))
        };
        self.issuers.rcu(|issuers| {
            let mut more = Vec::clone(issuers);
            if !more.iter().any(|(known, _)| Arc::ptr_eq(known, config)) {
                more.push((Arc::clone(config), same_in(issuers)));
            }
            more
        });
        same_in(&self.issuers.load())
    }

    /// The outcome for the token that the connection was used with before.
    fn once_more(&self, question: Question<'_>) -> Option<Validated> {
        let (known, form) = question.last?.find(question.token)?;
        let outcome = self.recall(&known, question)?;
        if form == Form::Signed {
            self.cache.count_hit(&question);
        }
        Some(outcome)
    }

    fn opaque(&self, question: Question<'_>) -> Validated {
        let own = self.local(question.policy).map(|local| Self::sealed(local, question));
        if question.policy.foreign_issuers.is_empty() {
            return own.unwrap_or(Validated::Now(Err(TokenFault::NotAuthentic)));
        }
        let foreign = self.foreign(question.policy);
        let introspectors = foreign.iter().filter_map(|issuer| issuer.introspector.clone()).collect();
        match own {
            // Of a route where it does not count, or no access token: shown to nobody.
            None | Some(Validated::Now(Err(TokenFault::NotAuthentic))) if self.has_sealed(question.token) => {
                Validated::Now(Err(TokenFault::NotAuthentic))
            }
            None | Some(Validated::Now(Err(TokenFault::NotAuthentic))) => ask_each(introspectors, &question),
            Some(Validated::Later(answer)) => ask_after(answer, introspectors, &question),
            Some(known) => known,
        }
    }

    /// Whether this installation sealed a text, be it a token that counts on the route or not.
    fn has_sealed(&self, text: &str) -> bool {
        self.local.as_ref().is_some_and(|local| local.has_sealed(text))
    }

    fn sealed(local: &Arc<LocalValidator>, question: Question<'_>) -> Validated {
        // Read first: if the keys change meanwhile, the token is opened once more.
        let generation = local.generation();
        let outcome = local.validate_sealed(question);
        if let (Some(last), Validated::Now(Ok(caller))) = (question.last, &outcome) {
            let (caller, until) = (Arc::clone(caller), caller.expires_at());
            last.keep(question.token, Verified { caller, until, issuer: OWN, generation }, Form::Sealed);
        }
        outcome
    }

    fn paseto(&self, question: Question<'_>) -> Validated {
        let Some(local) = self.local(question.policy) else {
            return Validated::Now(Err(TokenFault::NotAuthentic));
        };
        let digest = sha256(question.token.as_bytes());
        match self.find(&digest, question) {
            Some(outcome) => outcome,
            None => self.own(local, digest, question, LocalValidator::verify_paseto),
        }
    }

    fn jwt(&self, question: Question<'_>) -> Validated {
        if question.token.len() > MAX_TOKEN {
            return Validated::Now(Err(TokenFault::TooLong));
        }
        let digest = sha256(question.token.as_bytes());
        if let Some(outcome) = self.find(&digest, question) {
            return outcome;
        }
        let foreign = self.foreign(question.policy);
        let claimed = if foreign.is_empty() { None } else { claimed_issuer(question.token) };
        let is_claimed = |issuer: &&Arc<ForeignIssuer>| Some(&issuer.config.issuer) == claimed.as_ref();
        if let Some(issuer) = foreign.iter().find(is_claimed) {
            return self.foreign_jwt(issuer, digest, question);
        }
        let own = |local| self.own(local, digest, question, LocalValidator::verify_jwt);
        let is_ours = self.local.as_ref().is_some_and(|local| local.is_issuer(claimed.as_deref()));
        match self.local(question.policy).map(own) {
            // An id token, or signed with a key that is not known here yet: shown to nobody.
            None | Some(Validated::Now(Err(TokenFault::NotAuthentic))) if is_ours => {
                Validated::Now(Err(TokenFault::NotAuthentic))
            }
            // Those that have no identifier may have issued it, whatever it says.
            None | Some(Validated::Now(Err(TokenFault::NotAuthentic))) => {
                let nameless = foreign.iter().filter(|issuer| issuer.config.issuer.is_empty());
                let nameless: SmallVec<[Arc<Introspector>; 4]> =
                    nameless.filter_map(|issuer| issuer.introspector.clone()).collect();
                if nameless.is_empty() && claimed.is_some() {
                    return Validated::Now(Err(TokenFault::WrongIssuer));
                }
                ask_each(nameless, &question)
            }
            Some(known) => known,
        }
    }

    /// The outcome for a signed token that was verified before, on whatever connection.
    fn find(&self, digest: &TokenDigest, question: Question<'_>) -> Option<Validated> {
        let known = self.cache.find(digest)?;
        let outcome = self.recall(&known, question)?;
        self.cache.count_hit(&question);
        if let (Some(last), Validated::Now(Ok(_))) = (question.last, &outcome) {
            last.keep(question.token, known, Form::Signed);
        }
        Some(outcome)
    }

    /// The outcome for a token that was authentic before, if its issuer counts here and has the same keys still. Those of another issuer
    /// are asked for as if the token were new: who is presented the same tokens again and again hears of removed keys, too.
    fn recall(&self, known: &Verified, question: Question<'_>) -> Option<Validated> {
        if known.issuer == OWN {
            let local = self.local(question.policy)?;
            if known.generation != local.generation() {
                return None;
            }
            return Some(local.still_holds(Arc::clone(&known.caller), question));
        }
        let mut foreign = question.policy.foreign_issuers.iter().map(|config| self.known(config));
        let issuer = foreign.find(|issuer| issuer.number == known.issuer)?;
        if !issuer.jwt.as_ref()?.still_has(known.generation, question.now) {
            return None;
        }
        let holds = question.now < known.until;
        Some(Validated::Now(if holds { Ok(Arc::clone(&known.caller)) } else { Err(TokenFault::Expired) }))
    }

    fn own(
        &self,
        local: &Arc<LocalValidator>,
        digest: TokenDigest,
        question: Question<'_>,
        verify: impl FnOnce(&LocalValidator, &str) -> Result<Arc<Caller>, TokenFault>,
    ) -> Validated {
        self.cache.count_miss(&question);
        // Read first: if the keys change meanwhile, the token is verified once more.
        let generation = local.generation();
        let caller = match verify(local, question.token) {
            Ok(caller) => caller,
            Err(fault) => return Validated::Now(Err(fault)),
        };
        let until = caller.expires_at();
        if question.now < until {
            self.cache.keep(digest, Verified { caller: Arc::clone(&caller), until, issuer: OWN, generation });
        }
        local.still_holds(caller, question)
    }

    fn foreign_jwt(
        &self,
        issuer: &Arc<ForeignIssuer>,
        digest: TokenDigest,
        question: Question<'_>,
    ) -> Validated {
        let Some(jwt) = &issuer.jwt else {
            let introspectors = issuer.introspector.iter().cloned().collect();
            return ask_each(introspectors, &question);
        };
        self.cache.count_miss(&question);
        let (cache, number) = (Arc::clone(&self.cache), issuer.number);
        let keep = move |authentic: AuthenticJwt| {
            let AuthenticJwt { caller, until, generation } = authentic;
            cache.keep(digest, Verified { caller: Arc::clone(&caller), until, issuer: number, generation });
            caller
        };
        let flight = match jwt.verify(question.token, question.now) {
            Verification::Done(outcome) => return Validated::Now(outcome.map(keep)),
            Verification::Wait(flight) => flight,
        };
        let (issuer, token, clock) = (Arc::clone(issuer), question.token.to_owned(), Arc::clone(&self.clock));
        Validated::Later(Box::pin(async move {
            flight.await;
            let jwt = issuer.jwt.as_ref().ok_or(TokenFault::NotAuthentic)?;
            jwt.verify_after_wait(&token, clock.now()).map(keep)
        }))
    }

    fn issuer_of(&self, config: &Arc<IssuerConfig>) -> ForeignIssuer {
        let parts = || (Arc::clone(&self.clock), self.runtime.clone());
        let jwt = config.jwt.as_ref();
        let introspection = config.introspection.as_ref();
        ForeignIssuer {
            number: self.next_number.fetch_add(1, Ordering::Relaxed),
            jwt: jwt.map(|jwt| JwtIssuer::new(config, jwt, &self.fetcher, parts())),
            introspector: introspection
                .map(|introspection| Introspector::new(config, introspection, &self.fetcher, parts())),
            config: Arc::clone(config),
        }
    }
}

/// Three parts, the first of which may be a JSON object: its brace is an `e` in base64.
fn is_jwt(token: &str) -> bool {
    token.starts_with('e') && token.bytes().filter(|byte| *byte == b'.').count() == 2
}

/// `iss` of a JWT, whoever wrote that.
fn claimed_issuer(token: &str) -> Option<String> {
    unverified_parts(token).ok()?.unverified_issuer()
}

#[cfg(test)]
mod tests;
