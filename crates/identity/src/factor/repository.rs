//! Factors in the store.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{IdentityId, SessionId, Timestamp};
use uuid::Uuid;

use super::model::Factor;
use crate::identity::Removed;
use crate::mail::QueuedMail;

/// How many factors a person may have.
pub const MAX_FACTORS: u32 = 20;

/// What became of an enrolment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddedFactor {
    /// It is there. The recovery codes are not: it was not the first, or others have taken their place.
    Added,
    /// It is there, and was the first, and so are the recovery codes that came with it, as long as one of them is unspent.
    AddedWithCodes,
    /// It was there: another call added it, which had sealed it for itself. Of the recovery codes the same is said as by
    /// [`AddedFactor::Added`].
    Present,
    /// It was there likewise. Of the recovery codes the same is said as by [`AddedFactor::AddedWithCodes`].
    PresentWithCodes,
    /// The person has as many as may be, or one where it was to be the first.
    TooMany,
    /// There is no such person, or the record is another one than was looked at.
    Unknown,
}

impl AddedFactor {
    /// What is told of a factor that is there: whether this call added it, and whether a recovery code that came with it is there.
    pub const fn told((is_own, has_code): (bool, bool)) -> Self {
        match (is_own, has_code) {
            (true, true) => Self::AddedWithCodes,
            (true, false) => Self::Added,
            (false, true) => Self::PresentWithCodes,
            (false, false) => Self::Present,
        }
    }
}

/// A use of a factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorUse {
    /// Whose.
    pub identity: IdentityId,
    /// Which.
    pub id: Uuid,
    /// The counter that was looked at.
    pub old_counter: i64,
    /// What it is now: higher.
    pub new_counter: i64,
    /// What is kept of it from now on, if that is something else.
    pub sealed: Option<String>,
    /// When.
    pub now: Timestamp,
}

/// A set of recovery codes as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashedRecoveryCodes<'a> {
    /// What the key that made the hashes is called.
    pub key: u8,
    /// The hashes.
    pub hashes: &'a [[u8; 32]],
}

/// The sessions that end with the first factor of a person: those that no second factor was shown in, each with its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakerSessions {
    /// The one that goes on: the factor is enrolled in it.
    pub keep: SessionId,
    /// When.
    pub now: Timestamp,
    /// When the longest-lived token that a marker covers will have expired.
    pub marker_expires_at: Timestamp,
}

/// What comes with a factor that is the first of its person, and with no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithFirst<'a> {
    /// Recovery codes, in the place of the former ones.
    pub codes: HashedRecoveryCodes<'a>,
    /// Sessions that end, if any do.
    pub ends: Option<WeakerSessions>,
    /// Whether nothing is stored unless the factor is the first.
    pub only: bool,
}

/// How many recovery codes each key made; none: those that were made before that was noted.
pub type RecoveryCodeCounts = BTreeMap<Option<u8>, u64>;

/// Factors and recovery codes. Every method is one transaction.
#[async_trait]
pub trait FactorRepository: Send + Sync {
    /// Stores a factor, if its person's record still has this revision; and, if there is no other, what comes with the first: the
    /// recovery codes in the place of the former ones, and the end of the sessions that showed no factor. The notice is queued
    /// with it. If it is to be the only one ([`WithFirst::only`]) it is added to no other. Twice with one id is once: what another call has added is told to be there. A retry of a call has what it sealed, and no other call seals alike.
    async fn add(
        &self,
        factor: &Factor,
        revision: i64,
        first: Option<WithFirst<'_>>,
        notice: Option<&QueuedMail>,
    ) -> Result<AddedFactor, StoreError>;

    /// Notes whether a person must have a second factor. Nothing else of the record changes. Whether there is such a person.
    async fn require(&self, identity: IdentityId, required: bool) -> Result<bool, StoreError>;

    /// Whether that was noted of a person.
    async fn is_required(&self, identity: IdentityId) -> Result<bool, StoreError>;

    /// The factors of a person, the oldest first.
    async fn of_identity(&self, identity: IdentityId) -> Result<Vec<Factor>, StoreError>;

    /// Uses a factor, if its counter is still the one that was looked at; whether it was.
    async fn use_once(&self, used: &FactorUse) -> Result<bool, StoreError>;

    /// Gives a factor another name; whether it was there.
    async fn rename(&self, identity: IdentityId, id: Uuid, name: &str) -> Result<bool, StoreError>;

    /// Removes a factor, if its person's record still has the revision that is given, if one is. With the last one the
    /// recovery codes go. The revision is raised: an enrolment that began before does not end after, or it would bring back
    /// what was taken away. The notice is queued if the factor was there.
    async fn remove(
        &self,
        identity: IdentityId,
        id: Uuid,
        revision: Option<i64>,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError>;

    /// Stores recovery codes in the place of the former ones, if their person's record still has this revision, which is raised
    /// as by a removal; whether it had. Then the notice is queued with it.
    async fn replace_recovery_codes(
        &self,
        identity: IdentityId,
        revision: i64,
        codes: HashedRecoveryCodes<'_>,
        notice: Option<&QueuedMail>,
    ) -> Result<bool, StoreError>;

    /// Spends a recovery code; whether it was there and unspent. Then the notice is queued with it.
    async fn spend_recovery_code(
        &self,
        identity: IdentityId,
        code: &[u8; 32],
        notice: Option<&QueuedMail>,
    ) -> Result<bool, StoreError>;

    /// How many recovery codes are left.
    async fn recovery_codes_left(&self, identity: IdentityId) -> Result<u32, StoreError>;

    /// At most `limit` factors of everybody, by person and id, those after `after`.
    async fn all_factors(
        &self,
        after: Option<(IdentityId, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Factor>, StoreError>;

    /// Puts something else in the place of what is sealed of a factor, if it is still what it was; whether it was.
    async fn reseal_factor(&self, factor: &Factor, sealed: &str) -> Result<bool, StoreError>;

    /// How many recovery codes are left of all people together. They may be any number, so that a store may look at them one slice after the
    /// other: of those that are made or spent meanwhile, some count.
    async fn all_recovery_codes_left(&self) -> Result<RecoveryCodeCounts, StoreError>;
}
