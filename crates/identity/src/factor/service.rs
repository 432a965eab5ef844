//! What factors a person has.

use std::fmt;
use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_primitives::{Clock, IdentityId, Lifetime, Rng, Timestamp};
use tracing::info;
use uuid::Uuid;

use super::enrolment::name_of;
use super::login_step::FactorChoices;
use super::model::{Factor, FactorKind};
use super::passkey::RelyingParty;
use super::proof::{FactorCheck, FactorProof, Shown};
use super::recovery_code::RecoveryCodeKeys;
use super::repository::FactorRepository;
use super::requirement::FactorsRequired;
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::identity::{Identity, IdentityRepository, Removed};
use crate::limits::Limits;
use crate::login::Network;
use crate::login::lockout::{Backoff, Fading, Failures};
use crate::mail::{MailQueue, Message, MessageKind, QueuedMail};

/// How wrong codes of authenticator apps slow an account down: ten are free, then it takes a day for some 25 of a million.
const WRONG_CODES: Backoff = Backoff {
    free: 10,
    first: Lifetime::secs(30),
    longest: Lifetime::hours(1),
    forget: Lifetime::hours(24),
    fading: Fading::Together,
};

/// How wrong codes slow a network down, whatever the accounts: whoever knows the passwords of many shall not try each. Right ones do not
/// count, and 300 wrong ones fade in an hour, so that many may share a network.
const WRONG_CODES_FROM: Backoff = Backoff {
    free: 300,
    first: Lifetime::secs(1),
    longest: Lifetime::secs(5),
    forget: Lifetime::hours(1),
    fading: Fading::OneByOne,
};

/// What [`FactorService`] is made of.
pub struct FactorParts {
    /// People.
    pub identities: Arc<dyn IdentityRepository>,
    /// Their factors.
    pub factors: Arc<dyn FactorRepository>,
    /// Seals what browsers carry.
    pub in_flight: Arc<Sealer>,
    /// Seals what lies in the store.
    pub at_rest: Arc<Sealer>,
    /// Keys of recovery codes: of the secrets at rest.
    pub recovery_keys: RecoveryCodeKeys,
    /// How often codes may be typed, and people told.
    pub limits: Arc<Limits>,
    /// Tells people what became of their factors and recovery codes; none where there is no mail.
    pub mails: Option<Arc<MailQueue>>,
    /// What authenticator apps call the service.
    pub service_name: String,
    /// This site as authenticators see it; none: passkeys are not offered.
    pub passkeys: Option<RelyingParty>,
    /// Who must have a factor.
    pub required: FactorsRequired,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

/// Enrols, checks and removes second factors.
pub struct FactorService {
    pub(super) parts: FactorParts,
    /// Wrong codes of authenticator apps by account. Counts are this node's alone.
    pub(super) guesses: Failures<IdentityId>,
    pub(super) guesses_from: Failures<Network>,
}

/// A factor as its person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrolledFactor {
    /// Which.
    pub id: Uuid,
    /// Of which kind.
    pub kind: FactorKind,
    /// What the person calls it.
    pub name: String,
    /// When it was enrolled.
    pub created_at: Timestamp,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
}

/// What became of another name for a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameOutcome {
    /// The factor has it.
    Renamed,
    /// The person has no such factor.
    Missing,
    /// Too much of the record was changed without a password; the next change may come after this time.
    TooMany(Lifetime),
}

/// What became of the removal of a factor by its person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// It is gone.
    Removed,
    /// The person has no such factor.
    Missing,
    /// It stays: it is the last one, and the person must have one.
    Required,
}

impl FactorService {
    /// The service.
    pub fn new(parts: FactorParts) -> Self {
        Self { parts, guesses: Failures::new(WRONG_CODES), guesses_from: Failures::new(WRONG_CODES_FROM) }
    }

    /// Whether passkeys are offered.
    pub const fn offers_passkeys(&self) -> bool {
        self.parts.passkeys.is_some()
    }

    /// The factors of a person, the oldest first.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn list(&self, identity: IdentityId) -> Result<Vec<EnrolledFactor>, IdentityError> {
        let factors = self.parts.factors.of_identity(identity).await?;
        Ok(factors.into_iter().map(EnrolledFactor::from).collect())
    }

    /// What a person can show.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn kinds(&self, identity: IdentityId) -> Result<FactorChoices, IdentityError> {
        let factors = self.parts.factors.of_identity(identity).await?;
        let has = |kind| factors.iter().any(|factor| factor.kind == kind);
        // Without a factor there are no codes either.
        let left = if factors.is_empty() { 0 } else { self.recovery_codes_left(identity).await? };
        Ok(FactorChoices {
            totp: has(FactorKind::Totp),
            passkey: has(FactorKind::Passkey),
            recovery_code: left > 0,
        })
    }

    /// Gives a factor another name. Counted with all that somebody changes who shows nothing but an access token.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn rename(
        &self,
        identity: IdentityId,
        id: Uuid,
        name: &str,
    ) -> Result<RenameOutcome, IdentityError> {
        if let Err(wait) = self.parts.limits.check_change(identity) {
            return Ok(RenameOutcome::TooMany(wait));
        }
        let factors = self.parts.factors.of_identity(identity).await?;
        let factor = factors.iter().find(|factor| factor.id == id);
        let is_renamed = match factor {
            Some(factor) => self.parts.factors.rename(identity, id, &name_of(name, factor.kind)).await?,
            None => false,
        };
        Ok(if is_renamed { RenameOutcome::Renamed } else { RenameOutcome::Missing })
    }

    /// Removes a factor of the record that was looked at when somebody proved, once more, to be this person, which is asked
    /// for by the caller. With the last one the recovery codes go; it stays where the person must have one.
    ///
    /// # Errors
    /// [`IdentityError::Changed`] if that record was changed meanwhile: the proof may not hold any more.
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn remove(&self, identity: &Identity, id: Uuid) -> Result<RemovalOutcome, IdentityError> {
        // Each removal raises the revision that was looked at before the factors were: of two at once, one finds it raised.
        if self.must_stay(identity.id, id).await? {
            info!(target: "sluice_audit", { identity.id = %identity.id, factor.id = %id }, "factor kept: one is required");
            return Ok(RemovalOutcome::Required);
        }
        let deed = Deed::new("factor removed", identity.id);
        let is_removed = self.remove_at(identity, id, Some(identity.revision), deed).await?;
        Ok(if is_removed { RemovalOutcome::Removed } else { RemovalOutcome::Missing })
    }

    /// Whether this factor is the last one of a person who must have one.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn must_stay(&self, identity: IdentityId, id: Uuid) -> Result<bool, IdentityError> {
        // First, as where nobody must have one the store need not be asked.
        if !self.is_required_of(Some(identity)).await? {
            return Ok(false);
        }
        let factors = self.parts.factors.of_identity(identity).await?;
        Ok(matches!(factors.as_slice(), [only] if only.id == id))
    }

    /// Removes a factor, whatever the person changes meanwhile: it is not them who proved something. `deed` is what the audit
    /// trail says of it if nobody knows whether it was done.
    pub(crate) async fn remove_as_administrator(
        &self,
        identity: &Identity,
        id: Uuid,
        deed: Deed,
    ) -> Result<bool, IdentityError> {
        self.remove_at(identity, id, None, deed).await
    }

    async fn remove_at(
        &self,
        identity: &Identity,
        id: Uuid,
        revision: Option<i64>,
        deed: Deed,
    ) -> Result<bool, IdentityError> {
        let factors = self.parts.factors.of_identity(identity.id).await?;
        let Some(factor) = factors.into_iter().find(|factor| factor.id == id) else { return Ok(false) };
        let notice = self.notice_of_removed(identity, factor.name);
        let removed = self.parts.factors.remove(identity.id, id, revision, notice.as_ref()).await;
        if notice.is_some() && !matches!(removed, Ok(Removed::Done)) {
            self.parts.limits.was_not_removed(identity);
        }
        match deed.of_factor(id).noted(removed)? {
            Removed::Done => {}
            Removed::Stale => return Err(IdentityError::Changed),
            Removed::Missing => return Ok(false),
        }
        info!(target: "sluice_audit", { identity.id = %identity.id, factor.id = %id, factor.kind = factor.kind.as_str() }, "factor removed");
        Ok(true)
    }

    /// Whether the person can show a factor: at login, or once more before something that matters is changed. `context` is
    /// what a passkey was asked for.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn check(
        &self,
        identity: &Identity,
        proof: FactorProof<'_>,
        context: &[u8],
        network: Network,
    ) -> Result<FactorCheck, IdentityError> {
        let checked = match proof {
            FactorProof::Totp(code) => self.check_totp(identity, code, network).await?,
            FactorProof::RecoveryCode(code) => self.check_recovery_code(identity, code, network).await?,
            FactorProof::Passkey { state, response } => {
                let shown = self.finish_passkey(state, response, context, network).await?;
                let own = shown.filter(|(owner, _)| *owner == identity.id);
                match own {
                    Some((_, proof)) => FactorCheck::Right(Shown::Passkey(proof)),
                    None if self.is_late(state, context) => FactorCheck::Late,
                    None => FactorCheck::Wrong,
                }
            }
        };
        let (outcome, factor) = (outcome(checked), proof.as_str());
        info!(target: "sluice_audit", { identity.id = %identity.id, client.network = %network, factor }, "second factor {outcome}");
        Ok(checked)
    }

    /// What is written to the person, if the address has not had too many and is known to be theirs: the name of a factor could be
    /// anybody's text to anybody's address.
    pub(super) fn notice_of_new(&self, identity: &Identity, name: String) -> Option<QueuedMail> {
        let may_be_told = self.parts.limits.may_be_told_of_factor(identity);
        may_be_told.then(|| self.notice(identity, MessageKind::FactorAdded { name })).flatten()
    }

    /// The same of one that is taken away.
    fn notice_of_removed(&self, identity: &Identity, name: String) -> Option<QueuedMail> {
        let may_be_told = self.parts.limits.may_be_told_of_removal(identity);
        may_be_told.then(|| self.notice(identity, MessageKind::FactorRemoved { name })).flatten()
    }

    pub(super) fn notice(&self, identity: &Identity, kind: MessageKind) -> Option<QueuedMail> {
        let mails = self.parts.mails.as_ref()?;
        Some(mails.sealed(&Message { to: identity.email.clone(), kind }))
    }
}

impl fmt::Debug for FactorService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactorService").field("passkeys", &self.parts.passkeys).finish_non_exhaustive()
    }
}

impl From<Factor> for EnrolledFactor {
    fn from(factor: Factor) -> Self {
        let Factor { id, kind, name, created_at, last_used_at, .. } = factor;
        Self { id, kind, name, created_at, last_used_at }
    }
}

const fn outcome(checked: FactorCheck) -> &'static str {
    match checked {
        FactorCheck::Right(_) => "right",
        FactorCheck::Wrong => "wrong",
        FactorCheck::Used => "used",
        FactorCheck::Late => "late",
        FactorCheck::TooMany(_) => "delayed",
    }
}
