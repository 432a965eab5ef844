//! Identities in memory.

use std::ops::Bound::{Excluded, Unbounded};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sluice_commit::StoreError;
use sluice_identity::identity::repository::SEARCHED_AT_ONCE;
use sluice_identity::identity::{
    Changed, Identity, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage, IdentityRepository,
    LoginNameHash, NewIdentity, Registration, Removed, SoughtText,
};
use sluice_identity::mail::QueuedMail;
use sluice_primitives::{IdentityId, NodeId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::{Marker, Target};

use super::identity_change::check_change;
use super::{Data, MemoryStore, check};

fn matches(identity: &Identity, filter: &IdentityFilter) -> bool {
    let holds = |text: &str| SoughtText::new(text).is_in(&identity.email, &identity.username);
    filter.status.is_none_or(|status| status == identity.status) && filter.text.as_deref().is_none_or(holds)
}

/// The engine's own refusal of a second row with one key.
#[derive(Debug, thiserror::Error)]
#[error("the id is there already")]
struct IdTaken;

impl Data {
    fn register(&mut self, new: NewIdentity) -> Result<Registration, StoreError> {
        let NewIdentity { identity, letters } = new;
        let owner = self.login_names.get(&identity.login_name).and_then(|id| self.identities.get(id));
        if let Some(owner) = owner {
            if owner.attempt == identity.attempt {
                return Ok(Registration::Registered);
            }
            if let Some(letter) = letters.and_then(|letters| letters.if_taken) {
                self.put_code(&letter.code, &letter.mail);
            }
            return Ok(Registration::Taken);
        }
        if self.identities.contains_key(&identity.id) {
            return Err(StoreError::fault(IdTaken));
        }
        if let Some(letters) = letters {
            self.put_code(&letters.welcome.code, &letters.welcome.mail);
        }
        self.login_names.insert(identity.login_name, identity.id);
        if identity.hardening {
            self.hardening.insert(identity.id, identity.created_at);
        }
        self.identities.insert(identity.id, identity);
        Ok(Registration::Registered)
    }

    fn page(&self, filter: &IdentityFilter) -> IdentityPage {
        let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
        let mut page = IdentityPage::default();
        let mut looked_at = 0;
        let mut rows =
            self.identities.range((filter.after.map_or(Unbounded, Excluded), Unbounded)).peekable();
        while let Some((id, identity)) = rows.next() {
            if matches(identity, filter) {
                page.identities.push(identity.clone());
            }
            looked_at += 1;
            if page.identities.len() >= limit || looked_at == SEARCHED_AT_ONCE {
                page.next = rows.peek().map(|_| *id);
                break;
            }
        }
        page
    }

    /// Whether somebody with this id may log in.
    pub(super) fn may_log_in(&self, id: IdentityId) -> bool {
        use sluice_identity::identity::IdentityStatus::Active;
        self.identities.get(&id).is_some_and(|identity| identity.status == Active)
    }

    /// Appends the marker of everything that was issued for somebody.
    pub(super) fn mark_subject(
        &mut self,
        node: NodeId,
        id: IdentityId,
        at: Timestamp,
        expires_at: Timestamp,
    ) {
        if let Ok(subject) = id.to_string().parse::<Subject>() {
            self.mark(node, Marker { target: Target::Subject(subject), at, expires_at });
        }
    }

    /// Why nothing is removed of somebody's record, if nothing is.
    pub(super) fn removal_prevented(&self, id: IdentityId, looked_at: Option<i64>) -> Option<Removed> {
        Removed::prevented(self.identities.get(&id).map(|identity| identity.revision), looked_at)
    }

    fn delete_identity(&mut self, id: IdentityId, looked_at: Option<i64>) -> Removed {
        if let Some(prevented) = self.removal_prevented(id, looked_at) {
            return prevented;
        }
        let Some(identity) = self.identities.remove(&id) else { return Removed::Missing };
        self.login_names.remove(&identity.login_name);
        self.hardening.remove(&id);
        self.identity_sessions.retain(|_, session| session.identity != id);
        self.mail_codes.retain(|(owner, _), _| *owner != id);
        let subject = id.to_string();
        self.consents.retain(|(consenting, _), _| consenting.as_str() != subject);
        self.forget_factors(id);
        self.factor_required.remove(&id);
        Removed::Done
    }
}

#[async_trait]
impl IdentityRepository for MemoryStore {
    fn register(&self, new: NewIdentity) -> BoxFuture<'_, Result<Registration, StoreError>> {
        Box::pin(async move {
            let identity = &new.identity;
            check([identity.email.as_str(), identity.username.as_str(), identity.credential.as_str()])?;
            for letter in new.letters.iter().flat_map(|letters| letters.all()) {
                check([letter.code.email.as_str(), letter.mail.sealed.as_str()])?;
            }
            self.write(|data| data.register(new)).await?
        })
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        Ok(self.read(|data| data.login_names.get(login_name).and_then(|id| data.identities.get(id)).cloned()))
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        Ok(self.read(|data| data.identities.get(&id).cloned()))
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        check([new])?;
        self.write(|data| data.replace_credential(id, old, new)).await
    }
}

#[async_trait]
impl IdentityDirectory for MemoryStore {
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError> {
        Ok(self.read(|data| data.page(filter)))
    }

    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError> {
        check_change(change)?;
        self.write(|data| data.change_identity(self.node, change)).await
    }

    async fn reseal_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        check([new])?;
        self.write(|data| {
            let identity = data.identities.get_mut(&id).filter(|identity| identity.credential == old);
            identity.map(|identity| new.clone_into(&mut identity.credential)).is_some()
        })
        .await
    }

    async fn delete(
        &self,
        id: IdentityId,
        revision: Option<i64>,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        check(notice.map(|mail| mail.sealed.as_str()))?;
        self.write(|data| {
            let deleted = data.delete_identity(id, revision);
            if deleted == Removed::Done {
                data.mark_subject(self.node, id, now, marker_expires_at);
                if let Some(notice) = notice {
                    data.queue_mail(notice);
                }
            }
            deleted
        })
        .await
    }
}
