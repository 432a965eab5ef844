//! Sessions: how they begin, go on and are shown. One row each, which every refresh moves on.

use std::fmt;
use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_primitives::{AttemptId, Clock, IdentityId, Lifetime, Rng, Secret, SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::{FeedFollower, RevocationSet};
use thiserror::Error;
use tracing::{info, warn};

use super::access_token::{self, AccessTokenKeys, Caller};
use super::model::IdentitySession;
use super::refresh_token::RefreshToken;
use super::repository::{IdentitySessionRepository, Rotation, SessionRotation};
use super::terms::SessionTerms;
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::identity::{Identity, IdentityDirectory, IdentityStatus};
use crate::login::Network;

/// What a device may call itself, in characters.
const LONGEST_DEVICE: usize = 256;

/// What somebody who is signed in is given.
#[derive(Debug, Clone)]
pub struct TokenPair {
    /// For the API.
    pub access_token: Secret<String>,
    /// For the next pair.
    pub refresh_token: Secret<String>,
    /// How long the access token holds.
    pub expires_in: Lifetime,
    /// Which session it is.
    pub session: SessionId,
}

/// What became of a refresh.
#[derive(Debug, Clone)]
pub enum RefreshOutcome {
    /// The session goes on.
    Refreshed(TokenPair),
    /// It does not: the token is none, too old or was used before, or the session is over. The log says which.
    Refused,
}

/// Why an access token does not say who calls.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unauthenticated {
    /// It is no access token of this API, or none that a key which is known here signed.
    #[error("not an access token of this API, or signed with a secret that is not known here")]
    NotOurs,
    /// It was issued under another name than this server has, or is for something else.
    #[error("an access token of another issuer, or for something else than this API")]
    OtherIssuer,
    /// It has expired.
    #[error("the access token has expired")]
    Expired,
    /// Its session ended, or its person may not log in any more.
    #[error("the session of the access token is over")]
    Revoked,
    /// This node may have missed that the session ended: it must not say that the token holds. 503, not 401.
    #[error("this node has not heard lately which sessions ended")]
    Unknown,
}

/// Begins, refreshes and ends sessions.
#[derive(Clone)]
pub struct SessionService {
    /// On what terms tokens are issued.
    pub terms: SessionTerms,
    /// Sessions.
    pub sessions: Arc<dyn IdentitySessionRepository>,
    /// People.
    pub identities: Arc<dyn IdentityDirectory>,
    /// Sign access tokens.
    pub keys: Arc<dyn AccessTokenKeys>,
    /// Seals refresh tokens, which are in flight.
    pub sealer: Arc<Sealer>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// How old that knowledge is.
    pub follower: Arc<FeedFollower>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl SessionService {
    /// Signs a person in who proved who it is by these methods (RFC 8176). `identity` is the record that was looked at. Of factors
    /// nothing is known here: [`AccountService::sign_in`](crate::account::AccountService::sign_in) looks at them, too.
    ///
    /// # Errors
    /// [`IdentityError::Changed`] if that record was changed meanwhile: the proof may not hold any more. Also if everything of the
    /// person was revoked at a time that has not come here yet, by a node whose clock is ahead.
    pub async fn begin(
        &self,
        identity: &Identity,
        amr: Vec<String>,
        device: &str,
        network: Network,
    ) -> Result<TokenPair, IdentityError> {
        let now = self.clock.now();
        let session = IdentitySession {
            id: SessionId::generate(now, &*self.rng),
            identity: identity.id,
            authenticated_at: now,
            last_seen_at: now,
            expires_at: self.end_of(now, now),
            generation: 0,
            rotated_at: now,
            amr,
            device: device.chars().filter(|c| !c.is_control()).take(LONGEST_DEVICE).collect(),
            network: network.to_string(),
            attempt: AttemptId::generate(now, &*self.rng),
        };
        let deed = Deed::new("signed in", identity.id).of_session(session.id);
        deed.noted(self.store(&session, identity.revision).await)?;
        info!(target: "sluice_audit", { identity.id = %identity.id, session.id = %session.id, amr = ?session.amr }, "signed in");
        self.pair(&session, now)
    }

    /// The next pair of tokens. Two tabs that refresh at once get the same one.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now, or there is no key to sign with.
    pub async fn refresh(&self, refresh_token: &str) -> Result<RefreshOutcome, IdentityError> {
        let now = self.clock.now();
        let token = RefreshToken::open(refresh_token, &self.sealer);
        let Some(token) = token.filter(|token| now < token.expires_at) else {
            info!("refresh refused: not a refresh token of this server, or expired");
            return Ok(RefreshOutcome::Refused);
        };
        let rotation = SessionRotation {
            id: token.session,
            presented: token.generation,
            window: self.terms.lifetimes.rotation_window,
            now,
            expires_at: self.end_of(token.authenticated_at, now),
            marker_expires_at: self.forgotten_at(now),
            attempt: AttemptId::generate(now, &*self.rng),
        };
        match self.sessions.rotate(&rotation).await? {
            Rotation::Rotated(session) if self.is_revoked(&session) => {
                info!(session.id = %session.id, "refresh refused: revoked");
                Ok(RefreshOutcome::Refused)
            }
            Rotation::Rotated(session) => Ok(RefreshOutcome::Refreshed(self.pair(&session, now)?)),
            Rotation::Stale => {
                info!(session.id = %token.session, "refresh refused: two tokens came after it just now");
                Ok(RefreshOutcome::Refused)
            }
            Rotation::Reused(session) => {
                self.forget(session.id, now);
                warn!(target: "sluice_audit", { identity.id = %session.identity, session.id = %session.id }, "refresh token reused: session ended");
                Ok(RefreshOutcome::Refused)
            }
            Rotation::Gone => {
                info!(session.id = %token.session, "refresh refused: the session is over");
                Ok(RefreshOutcome::Refused)
            }
        }
    }

    /// Who calls with this access token. No store is asked.
    ///
    /// # Errors
    /// [`Unauthenticated`] says why nobody does.
    pub fn authenticate(&self, access_token: &str) -> Result<Caller, Unauthenticated> {
        let (caller, expires_at) = access_token::read(access_token, &self.terms, &*self.keys)?;
        if self.clock.now() >= expires_at {
            return Err(Unauthenticated::Expired);
        }
        if self.is_covered(caller.session, caller.identity, caller.authenticated_at) {
            return Err(Unauthenticated::Revoked);
        }
        if self.follower.is_stale() { Err(Unauthenticated::Unknown) } else { Ok(caller) }
    }

    /// Lets a session go on under another id, after a change that ended it and revoked everything up to `revoked_at`.
    pub(crate) async fn resume(
        &self,
        session: IdentitySession,
        revision: i64,
        revoked_at: Timestamp,
    ) -> Result<TokenPair, IdentityError> {
        // Revoked is what is not later, also by what was revoked in this millisecond.
        let now = self.clock.now().max(revoked_at) + Lifetime::millis(1);
        let session = IdentitySession {
            id: SessionId::generate(now, &*self.rng),
            authenticated_at: now,
            last_seen_at: now,
            expires_at: self.end_of(now, now),
            generation: 0,
            rotated_at: now,
            attempt: AttemptId::generate(now, &*self.rng),
            ..session
        };
        self.store(&session, revision).await?;
        self.pair(&session, now)
    }

    /// Stores a session, unless the record that was looked at is not the present one: whoever proved something of
    /// another password must not outlive its change. Nobody is given tokens of a session that is over already.
    async fn store(&self, session: &IdentitySession, revision: i64) -> Result<(), IdentityError> {
        // Of the oldest, which it may push out, this node hears from the feed, as the others do.
        if !self.sessions.begin(session, self.forgotten_at(session.authenticated_at)).await? {
            return Err(IdentityError::Changed);
        }
        let present = self.identities.find(session.identity).await?;
        let is_still = |now: &Identity| now.revision == revision && now.status == IdentityStatus::Active;
        if present.as_ref().is_some_and(is_still) {
            return Ok(());
        }
        let now = self.clock.now();
        self.sessions.end(session.id, session.identity, (now, self.forgotten_at(now))).await?;
        Err(IdentityError::Changed)
    }

    fn pair(&self, session: &IdentitySession, now: Timestamp) -> Result<TokenPair, IdentityError> {
        let access_token = access_token::issue(session, &self.terms, &*self.keys)?;
        let refresh_token = RefreshToken::of(session).seal(&self.sealer, &*self.rng);
        Ok(TokenPair {
            access_token: Secret::new(access_token),
            refresh_token: Secret::new(refresh_token),
            expires_in: self.terms.access_token_ends(session).since(now),
            session: session.id,
        })
    }

    pub(super) fn end_of(&self, authenticated_at: Timestamp, now: Timestamp) -> Timestamp {
        (now + self.terms.lifetimes.idle).min(authenticated_at + self.terms.lifetimes.lifetime)
    }

    pub(super) fn is_revoked(&self, session: &IdentitySession) -> bool {
        self.is_covered(session.id, session.identity, session.authenticated_at)
    }

    fn is_covered(&self, session: SessionId, identity: IdentityId, authenticated_at: Timestamp) -> bool {
        subject(identity)
            .is_none_or(|subject| self.revocations.covers_session(session, &subject, authenticated_at))
    }
}

impl fmt::Debug for SessionService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionService").field("terms", &self.terms).finish_non_exhaustive()
    }
}

/// How tokens call a person.
pub(super) fn subject(identity: IdentityId) -> Option<Subject> {
    identity.to_string().parse().ok()
}
