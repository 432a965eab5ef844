//! The atomic steps in the life of a grant.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sluice_commit::StoreError;
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::Subject;

use super::model::{Grant, RedeemCode, RotateRefresh, Standing};
use crate::consent::RememberedConsent;

/// What became of an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insertion {
    /// The grant is in the store, written by this attempt.
    Inserted,
    /// Another attempt was first: the flow is spent.
    Taken,
}

/// What became of a redemption.
#[derive(Debug, Clone, PartialEq)]
pub enum Redemption {
    /// The code was redeemed by this attempt; the grant as it is now.
    Redeemed(Box<Grant>),
    /// The code had been redeemed by another attempt: the grant is revoked now (RFC 6749 §4.1.2).
    Replayed,
    /// The same, and nothing was revoked.
    Refused,
    /// The grant was revoked, by itself or by a wide marker.
    Revoked,
    /// No such grant, or it has expired.
    Unknown,
}

/// What became of a rotation (RFC 9700 §4.14.2):
///
/// | presented generation | within the window of the last rotation | after it |
/// |---|---|---|
/// | the current one | [`Rotation::Rotated`] | [`Rotation::Rotated`] |
/// | one before: two tabs, a lost answer, a retry | [`Rotation::Repeated`], the current pair again | [`Rotation::Reused`], revoked |
/// | two before: a slow sibling whose twin has used the child | [`Rotation::Stale`], nothing revoked | [`Rotation::Reused`], revoked |
/// | an older one | [`Rotation::Reused`], revoked | [`Rotation::Reused`], revoked |
///
/// A repetition that asks for another scope, resource or binding key is [`Rotation::Stale`].
#[derive(Debug, Clone, PartialEq)]
pub enum Rotation {
    /// The next generation exists, made by this attempt; the grant as it is now.
    Rotated(Box<Grant>),
    /// The presented token is the predecessor of the current pair, within the window and asking for the same: the
    /// current pair is to be answered again.
    Repeated(Box<Grant>),
    /// Within the window, but two generations back or asking for something else: refused, nothing revoked.
    Stale,
    /// An old token was presented again: the grant is revoked now.
    Reused,
    /// The grant was revoked before, by itself or by a wide marker.
    Revoked,
    /// No such grant, it has expired, or its code was never redeemed.
    Unknown,
}

/// Which of a subject's grants are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// All that live.
    All,
    /// Those that stand for a decision of their own: their consent page was shown, and the decision is not among those that
    /// [`ConsentRepository::list`](crate::consent::ConsentRepository::list) lists for the same session.
    OnTheirOwn,
}

/// One page of a subject's grants.
#[derive(Debug, Clone, PartialEq)]
pub struct GrantPage {
    /// Whose.
    pub subject: Subject,
    /// Only of this login session.
    pub session: Option<SessionId>,
    /// Which of these.
    pub listed: Listed,
    /// Older than this one.
    pub before: Option<GrantId>,
    /// At most so many.
    pub limit: u32,
    /// Expired grants are left out.
    pub now: Timestamp,
}

/// Grants. Every method is one transaction; concurrent calls share a commit and each gets its own outcome.
///
/// Those that every login and refresh calls return a box of their own making, so that it need hold no more than what waits for the outcome.
#[async_trait]
pub trait GrantRepository: Send + Sync {
    /// Inserts a grant under the id of its flow, unless one is there: the first consent verifier wins, whatever subject
    /// the others carry. With `remember`, the decision is stored in the same transaction, unless it was forgotten since it was
    /// made, or its subject was signed out since it logged in; with `participates`, so is that the client takes part in the session (it has a
    /// logout URI), if that session is there.
    fn insert(
        &self,
        grant: Grant,
        remember: Option<RememberedConsent>,
        participates: bool,
    ) -> BoxFuture<'_, Result<Insertion, StoreError>>;

    /// Redeems the code of a grant. A code works once (RFC 6749 §4.1.2): a call by another attempt revokes the grant,
    /// unless it is only to be refused. Wide markers are checked in the same statement. Claims that it brings are written if the code is redeemed, in the same step.
    fn redeem_code(&self, redeem: RedeemCode) -> BoxFuture<'_, Result<Redemption, StoreError>>;

    /// Rotates the refresh token of a grant: a compare-and-swap on its generation. Wide markers are checked in the same
    /// statement. Claims that it brings are written if it is rotated, in the same step: who gets the pair again gets theirs.
    fn rotate_refresh(&self, rotate: RotateRefresh) -> BoxFuture<'_, Result<Rotation, StoreError>>;

    /// The grant, revoked or not.
    async fn find(&self, grant: GrantId) -> Result<Option<Grant>, StoreError>;

    /// The grant, and whether it was revoked by all that the store knows: it keeps a wide marker until that is written onto the grants
    /// which it covers. Nodes may forget it before.
    async fn standing(&self, grant: GrantId) -> Result<Option<Standing>, StoreError>;

    /// Revokes a grant and appends its marker, which nodes may forget at `marker_expires_at`. Whether or not a row with
    /// this id exists: client-credentials tokens have none.
    async fn revoke(
        &self,
        grant: GrantId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<(), StoreError>;

    /// The living grants of a subject, newest first: neither revoked (by themselves or by a wide marker) nor expired,
    /// their code redeemed or not.
    async fn list(&self, page: GrantPage) -> Result<Vec<Grant>, StoreError>;

    /// How many grants of a subject [`Self::list`] has in all, of whichever session. The count ends at `limit`.
    async fn count_listed(
        &self,
        subject: &Subject,
        listed: Listed,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError>;

    /// Deletes at most `limit` rows of grants that expired before `now`; how many it was.
    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;

    /// Writes `revoked_at` onto at most `limit` grants that wide markers cover; how many it was. Markers whose sweep is
    /// complete and which have expired are deleted; before them, with a complete sweep, remembered decisions about clients that were
    /// deleted.
    async fn sweep_revoked(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
