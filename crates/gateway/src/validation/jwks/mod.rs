//! JWTs of other issuers: verified in memory with keys that are fetched when needed.
//!
//! [`JwtIssuer`]: verifies. `key_set`: the keys, kept and renewed. `source`: where they come from. [`ClaimRules`]: what the claims
//! must be.

mod claims;
mod key_set;
mod source;

use std::sync::Arc;

use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::jws::{VerifyError, unverified_parts, verify};
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
            Ok(outcome) => done(outcome),
            Err(why) => {
                self.keys.ask(now).map_or_else(|| done(Err(without_key(&known, why))), Verification::Wait)
            }
        }
    }

    /// The same when a wait is over; nobody is asked again.
    pub(super) fn verify_after_wait(&self, token: &str, now: Timestamp) -> Result<AuthenticJwt, TokenFault> {
        let known = self.keys.after_wait(now).ok_or(TokenFault::Unreachable)?;
        self.verify_with(&known, token, now).unwrap_or_else(|why| Err(without_key(&known, why)))
    }

    /// # Errors
    /// [`NotWithThese`]: there may be a key that is not known here.
    fn verify_with(
        &self,
        known: &Known,
        token: &str,
        now: Timestamp,
    ) -> Result<Result<AuthenticJwt, TokenFault>, NotWithThese> {
        let keys = known.keys.as_ref().map_or(&[][..], |set| &set.keys);
        let verified = match verify(token, keys, &self.algorithms) {
            Ok(verified) => verified,
            Err(VerifyError::UnknownKey) => return Err(NotWithThese::Unknown),
            // It may be a new key where keys have no names, or a new one that has the name of the old one.
            Err(VerifyError::WrongSignature) if names_no_key(token) => return Err(NotWithThese::Unknown),
            Err(VerifyError::WrongSignature) => return Err(NotWithThese::Named),
            Err(_) => return Ok(Err(TokenFault::NotAuthentic)),
        };
        Ok(self.rules.read(&verified, now).map(|claims| AuthenticJwt {
            until: claims.taken_until,
            caller: Arc::new(Caller::Foreign(Box::new(claims))),
            generation: known.generation,
        }))
    }
}

/// With which key a token may be signed that is signed with none of those that are known.
#[derive(Clone, Copy)]
enum NotWithThese {
    /// One that nobody has heard of here.
    Unknown,
    /// One that is called like one of them.
    Named,
}

/// What to say of it: the issuer may have a new key, if it could only be asked. A signature that is wrong by the key that it names is a forgery
/// until the issuer says otherwise.
const fn without_key(known: &Known, why: NotWithThese) -> TokenFault {
    match why {
        NotWithThese::Unknown if known.has_failed => TokenFault::Unreachable,
        _ => TokenFault::NotAuthentic,
    }
}

fn names_no_key(token: &str) -> bool {
    unverified_parts(token).is_ok_and(|parts| parts.header.kid.is_none())
}

#[cfg(test)]
mod tests;
