//! Whoever may no longer log in with what they had is signed out of the applications too.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sluice_commit::{StoreError, chain};
use sluice_identity::identity::{
    Changed, Identity, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage, IdentityRepository,
    LoginNameHash, NewIdentity, NotBegun, Registration, Removed,
};
use sluice_identity::mail::QueuedMail;
use sluice_oauth::consent::{ConsentService, Revoke};
use sluice_oauth::login_session::{EndSessions, LoginSessionService};
use sluice_primitives::{Clock, IdentityId, Timestamp};
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::stores::Repositories;

/// How often what follows a change that was made is tried, and how long is waited before the second time; twice as long before each
/// further one.
const TRIES: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Well within the time that a request has: the change is made, and is to be answered as made.
const LONGEST_FOLLOW_UP: Duration = Duration::from_secs(8);

/// Records of people whose login sessions end with what they revoke, and whose remembered consents go with their factors: the
/// identity service knows nothing of those, and clients are to hear of the end of sessions by the back channel.
///
/// Both before the record changes, so that a crash between the two signs somebody out in vain and never leaves somebody in;
/// and once more afterwards, for what was done meanwhile. Where it is not answered before, it is known that the record did not change
/// ([`NotBegun`]).
pub(super) struct SigningOut {
    pub(super) store: Arc<dyn Repositories>,
    pub(super) sessions: Arc<LoginSessionService>,
    pub(super) consents: Arc<ConsentService>,
    pub(super) clock: Arc<dyn Clock>,
}

/// What of a change lies outside the record.
#[derive(Clone, Copy)]
struct Outside {
    id: IdentityId,
    signs_out: bool,
    forgets_consents: bool,
}

impl Outside {
    const fn of(change: &IdentityChange) -> Self {
        Self { id: change.id, signs_out: change.revokes, forgets_consents: change.forgets_factors }
    }
}

impl SigningOut {
    async fn sign_out(&self, id: IdentityId, at: Timestamp) -> Result<(), StoreError> {
        match id.to_string().parse() {
            Ok(subject) => self.sessions.end_at(EndSessions::Subject(subject), at).await,
            Err(_) => Ok(()),
        }
    }

    /// Whoever loses factors that somebody else may have left is asked about each client anew.
    async fn forget_consents(&self, id: IdentityId) -> Result<(), StoreError> {
        match id.to_string().parse() {
            Ok(subject) => self.consents.revoke(Revoke::All(subject)).await,
            Err(_) => Ok(()),
        }
    }

    async fn follow(&self, outside: Outside, at: Timestamp) -> Result<(), StoreError> {
        if outside.signs_out {
            self.sign_out(outside.id, at).await?;
        }
        if outside.forgets_consents {
            self.forget_consents(outside.id).await?;
        }
        Ok(())
    }

    /// Once more, of a change that was made: who logged in while it was written did so with what was before it. If that cannot be
    /// done the change is made all the same, and whoever heard of a failure would try again with what holds no more.
    async fn follow_up(&self, outside: Outside) {
        let tried = timeout(LONGEST_FOLLOW_UP, self.follow_with_patience(outside));
        let error = match tried.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => chain(&error),
            Err(elapsed) => elapsed.to_string(),
        };
        warn!(identity.id = %outside.id, error, "who logged in while a record was changed was not signed out");
    }

    async fn follow_with_patience(&self, outside: Outside) -> Result<(), StoreError> {
        // Who logs in later than that did so with what is new.
        let now = self.clock.now();
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            if self.follow(outside, now).await.is_ok() {
                return Ok(());
            }
            sleep(wait).await;
            wait *= 2;
        }
        self.follow(outside, now).await
    }
}

#[async_trait]
impl IdentityRepository for SigningOut {
    fn register(&self, new: NewIdentity) -> BoxFuture<'_, Result<Registration, StoreError>> {
        self.store.register(new)
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        self.store.find_by_login_name(login_name).await
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        IdentityRepository::find(&*self.store, id).await
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.store.replace_credential(id, old, new).await
    }
}

#[async_trait]
impl IdentityDirectory for SigningOut {
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError> {
        IdentityDirectory::list(&*self.store, filter).await
    }

    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError> {
        let outside = Outside::of(change);
        self.follow(outside, change.now).await.map_err(NotBegun::before)?;
        let changed = self.store.change(change).await?;
        if changed == Changed::Done {
            self.follow_up(outside).await;
        }
        Ok(changed)
    }

    async fn reseal_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.store.reseal_credential(id, old, new).await
    }

    async fn delete(
        &self,
        id: IdentityId,
        revision: Option<i64>,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        let outside = Outside { id, signs_out: true, forgets_consents: false };
        self.follow(outside, now).await.map_err(NotBegun::before)?;
        let deleted =
            IdentityDirectory::delete(&*self.store, id, revision, now, marker_expires_at, notice).await?;
        if deleted != Removed::Stale {
            self.follow_up(outside).await;
        }
        Ok(deleted)
    }
}

#[cfg(test)]
mod tests;
