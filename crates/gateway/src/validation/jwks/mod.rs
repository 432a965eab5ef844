//! JWTs of other issuers: verified in memory with keys that are fetched when needed.
//!
//! [`JwtIssuer`]: verifies. `key_set`: the keys, kept and renewed. `source`: where they come from. [`ClaimRules`]: what the claims
//! must be.

mod claims;
mod key_set;
mod source;

use std::sync::Arc;

use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::{VerifyError, verify};
use sluice_net::Fetcher;
use sluice_primitives::{Clock, Timestamp};
use tokio::runtime::Handle;

pub(super) use claims::{ClaimRules, is_of_another_kind, said};

use super::config::{IssuerConfig, JwtConfig};
use super::flights::Flight;
use super::validator::TokenFault;
use crate::authn::Caller;
use key_set::{Known, Next, RemoteKeys};
use source::RemoteSource;

/// Verifies the JWTs of one issuer.
pub(super) struct JwtIssuer {
    keys: Arc<RemoteKeys>,
    algorithms: Vec<SigningAlgorithm>,
    rules: ClaimRules,
}

/// A JWT that is authentic and in its time.
#[derive(Debug)]
pub(super) struct AuthenticJwt {
    /// What it says.
    pub(super) caller: Arc<Caller>,
    /// Until when it holds, differing clocks included.
    pub(super) until: Timestamp,
    /// With which keys it was verified.
    pub(super) generation: u64,
}

/// The outcome of a verification, or what to wait for.
pub(super) enum Verification {
    Done(Result<AuthenticJwt, TokenFault>),
    /// The issuer is being asked for its keys: [`JwtIssuer::verify_after_wait`] is next.
    Wait(Flight<()>),
}

impl JwtIssuer {
    pub(super) fn new(
        config: &IssuerConfig,
        jwt: &JwtConfig,
        fetcher: &Arc<Fetcher>,
        parts: (Arc<dyn Clock>, Handle),
    ) -> Self {
        let source = RemoteSource {
            fetcher: Arc::clone(fetcher),
            issuer: config.issuer.clone(),
            keys: jwt.keys.clone(),
            timeout: jwt.timeout,
        };
        Self {
            keys: RemoteKeys::new(Arc::clone(&config.name), source, jwt.keep_keys, parts),
            algorithms: jwt.algorithms.clone(),
            rules: ClaimRules::of(config),
        }
    }

    /// Whether what was verified with the keys of this generation counts without another look at it: they have neither changed nor
    /// become too old.
    pub(super) fn still_has(&self, generation: u64, now: Timestamp) -> bool {
        self.keys.still_has(generation, now)
    }

    /// Asks for the keys behind the back of the requests: they may have changed.
    pub(super) fn renew_keys(&self) {
        self.keys.renew_now();
    }

    /// What a token says, if it holds.
    pub(super) fn verify(&self, token: &str, now: Timestamp) -> Verification {
        let known = match self.keys.next(now) {
            Next::Use(known) => known,
            Next::Wait(flight) => return Verification::Wait(flight),
            Next::Unreachable => return Verification::Done(Err(TokenFault::Unreachable)),
        };
        let done = |outcome| Verification::Done(outcome);
        match self.verify_with(&known, token, now) {
            Some(outcome) => done(outcome),
            None => self.keys.ask(now).map_or_else(|| done(Err(without_key(&known))), Verification::Wait),
        }
    }

    /// The same when a wait is over; nobody is asked again.
    pub(super) fn verify_after_wait(&self, token: &str, now: Timestamp) -> Result<AuthenticJwt, TokenFault> {
        let known = self.keys.after_wait(now).ok_or(TokenFault::Unreachable)?;
        self.verify_with(&known, token, now).unwrap_or_else(|| Err(without_key(&known)))
    }

    /// `None`: not with a key that is known.
    fn verify_with(
        &self,
        known: &Known,
        token: &str,
        now: Timestamp,
    ) -> Option<Result<AuthenticJwt, TokenFault>> {
        let keys = known.keys.as_ref().map_or(&[][..], |set| &set.keys);
        let verified = match verify(token, keys, &self.algorithms) {
            Ok(verified) => verified,
            // It may be a new key, also where keys have no names, or a new one has the name of the old one.
            Err(VerifyError::UnknownKey | VerifyError::WrongSignature) => return None,
            Err(_) => return Some(Err(TokenFault::NotAuthentic)),
        };
        Some(self.rules.read(&verified, now).map(|claims| AuthenticJwt {
            until: claims.taken_until,
            caller: Arc::new(Caller::Foreign(Box::new(claims))),
            generation: known.generation,
        }))
    }
}

/// What to say of a token whose key is not known: the issuer may have a new one, if it could only be asked.
const fn without_key(known: &Known) -> TokenFault {
    if known.has_failed { TokenFault::Unreachable } else { TokenFault::NotAuthentic }
}

#[cfg(test)]
mod tests;
