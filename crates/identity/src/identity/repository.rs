//! Identities in the store.

use std::fmt;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sluice_commit::StoreError;
use sluice_primitives::{AttemptId, IdentityId, SessionId, Timestamp};

use super::model::{Identity, IdentityStatus, LoginNameHash};
use crate::mail::{CodeByMail, QueuedMail};

/// What became of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// The identity is in the store, written by this attempt.
    Registered,
    /// The login name belongs to another identity.
    Taken,
}

/// An identity to be registered, with what is written to its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIdentity {
    /// The identity.
    pub identity: Identity,
    /// What is written to its address, if anything is.
    pub letters: Option<Box<RegistrationLetters>>,
}

/// What is written to the address of somebody who registers. One of the two, at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationLetters {
    /// If the login name was free: the address is to be verified.
    pub welcome: CodeByMail,
    /// If another identity has the login name. Whoever conceals that writes then, too: as much as otherwise.
    pub if_taken: Option<CodeByMail>,
}

impl RegistrationLetters {
    /// Both.
    pub fn all(&self) -> impl Iterator<Item = &CodeByMail> {
        std::iter::once(&self.welcome).chain(&self.if_taken)
    }
}

impl From<Identity> for NewIdentity {
    /// Nothing is written to anybody.
    fn from(identity: Identity) -> Self {
        Self { identity, letters: None }
    }
}

/// A page of identities, in the order of their ids, which is that of their registration.
///
/// Prints no text.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct IdentityFilter {
    /// Only those after this one.
    pub after: Option<IdentityId>,
    /// At most so many.
    pub limit: u32,
    /// Only those with this text in their e-mail address or username, as [`SoughtText`](super::SoughtText) finds it. A page looks at
    /// [`SEARCHED_AT_ONCE`] rows at most.
    pub text: Option<String>,
    /// Only those of this status.
    pub status: Option<IdentityStatus>,
}

/// How many rows one page of a search looks at, at most: a search over ten million rows is many pages, not one query.
pub const SEARCHED_AT_ONCE: u32 = 20_000;

/// A page of identities.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdentityPage {
    /// Those found.
    pub identities: Vec<Identity>,
    /// Where the next page goes on; none if there is no further one. A page may be empty and yet have a next one.
    pub next: Option<IdentityId>,
}

/// Another e-mail address, and with it another login name.
///
/// Prints nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct NewEmail {
    /// The address, normalised.
    pub email: String,
    /// Its hash.
    pub login_name: LoginNameHash,
}

/// Another credential.
///
/// Prints nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// As it is stored; empty for none.
    pub stored: String,
    /// Whether the hardening worker is to take it.
    pub hardening: bool,
}

/// Which sessions of the identity service a change ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndsSessions {
    /// None.
    #[default]
    None,
    /// All of them.
    All,
    /// All but this one.
    AllBut(SessionId),
}

/// What is changed of an identity, in one transaction, if it still has the revision. Fields that are `None` stay.
///
/// Prints which it is, not what it changes.
#[derive(Clone, PartialEq, Eq)]
pub struct IdentityChange {
    /// Whose.
    pub id: IdentityId,
    /// The revision that was looked at.
    pub revision: i64,
    /// The e-mail address; [`Changed::Taken`] if it is another identity's.
    pub email: Option<NewEmail>,
    /// When the address was verified; `Some(None)`: it is not.
    pub email_verified_at: Option<Option<Timestamp>>,
    /// The username.
    pub username: Option<String>,
    /// The status.
    pub status: Option<IdentityStatus>,
    /// The credential.
    pub credential: Option<NewCredential>,
    /// Whether second factors and recovery codes go: somebody else may have left them. What was agreed to for clients, which is
    /// not here, goes with them.
    pub forgets_factors: bool,
    /// Which sessions end. Each that does gets a marker of its own, that lives until [`IdentityChange::marker_expires_at`],
    /// unless the subject marker covers it.
    pub ends_sessions: EndsSessions,
    /// Whether everything that was issued for the subject up to `now` is revoked: appends the subject marker. All sessions
    /// that it covers end with it: the marker expires, and nothing must revive.
    pub revokes: bool,
    /// What the person, and the former address, are told. Queued in the same transaction.
    pub mails: Vec<QueuedMail>,
    /// When.
    pub now: Timestamp,
    /// When the longest-lived token that a marker covers will have expired.
    pub marker_expires_at: Timestamp,
    /// The attempt: a retry of the same one is a success.
    pub attempt: AttemptId,
}

impl IdentityChange {
    /// A change of nothing yet.
    pub const fn of(identity: &Identity, now: Timestamp, attempt: AttemptId) -> Self {
        Self {
            id: identity.id,
            revision: identity.revision,
            email: None,
            email_verified_at: None,
            username: None,
            status: None,
            credential: None,
            forgets_factors: false,
            ends_sessions: EndsSessions::None,
            revokes: false,
            mails: Vec::new(),
            now,
            marker_expires_at: now,
            attempt,
        }
    }

    /// Whether the change raises the revision: if how the person gets in is part of it, or whether they may. Names, the
    /// verification of the address and the end of sessions are not: whoever holds an access token can change those all the
    /// time, and would undo every login, recovery and change of password that is under way.
    pub const fn raises_revision(&self) -> bool {
        self.email.is_some()
            || self.status.is_some()
            || self.credential.is_some()
            || self.forgets_factors
            || self.revokes
    }
}

impl fmt::Debug for IdentityFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityFilter")
            .field("after", &self.after)
            .field("limit", &self.limit)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for NewEmail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewEmail([redacted])")
    }
}

impl fmt::Debug for NewCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewCredential").field("hardening", &self.hardening).finish_non_exhaustive()
    }
}

impl fmt::Debug for IdentityChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityChange")
            .field("id", &self.id)
            .field("revision", &self.revision)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// It is made; the revision is one higher if the change raises it.
    Done,
    /// Somebody else raised the revision meanwhile, or the identity is not there: nothing was changed.
    Stale,
    /// The e-mail address belongs to another identity: nothing was changed.
    Taken,
}

/// What became of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It was there, and is gone.
    Done,
    /// Somebody raised the revision of the record that was looked at: nothing was removed.
    Stale,
    /// It was not there.
    Missing,
}

impl Removed {
    /// Why nothing is removed of a record, if nothing is: it has the `present` revision, if it is there, and `looked_at` is
    /// the one that the removal rests on, if it rests on one.
    pub fn prevented(present: Option<i64>, looked_at: Option<i64>) -> Option<Self> {
        match present {
            None => Some(Self::Missing),
            Some(present) => looked_at.filter(|looked_at| *looked_at != present).map(|_| Self::Stale),
        }
    }
}

/// Identities. Every method is one transaction.
///
/// `register` returns a box of its own making, so that it need hold no more than what waits for the outcome.
#[async_trait]
pub trait IdentityRepository: Send + Sync {
    /// Stores an identity, its login name and the code and mail for it in one transaction, unless the name is taken; then the
    /// other letter, if there is one. Concurrent calls share a commit; each gets its own outcome. A retry of the same attempt
    /// writes nothing again.
    fn register(&self, new: NewIdentity) -> BoxFuture<'_, Result<Registration, StoreError>>;

    /// The identity with this login name.
    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError>;

    /// The identity with this id.
    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError>;

    /// Replaces the stored credential, if it is still `old`, with one that needs no hardening; whether it was. No
    /// change of the record: revision and `updated_at` stay.
    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError>;
}

/// What administrators and people do with records that are there. Every method is one transaction.
#[async_trait]
pub trait IdentityDirectory: IdentityRepository {
    /// A page of identities.
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError>;

    /// Changes an identity that still has the revision. Only changes that raise it
    /// ([`IdentityChange::raises_revision`]) get in each other's way; of others the last one stays.
    ///
    /// # Errors
    /// The store's; where [`NotBegun`](super::NotBegun) is said by it, the record was not asked to change.
    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError>;

    /// Puts the same credential, sealed by another secret, in the place of the stored one, if that is still `old`; whether it
    /// was. Whether it waits to be hardened stays, and so does all else of the record.
    async fn reseal_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError>;

    /// Deletes an identity, if it still has the revision that is given, if one is, with its login name, factors, recovery codes,
    /// sessions, codes and what it agreed to for clients, appends the subject marker and queues the notice. Its id is never given
    /// again.
    async fn delete(
        &self,
        id: IdentityId,
        revision: Option<i64>,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError>;
}
