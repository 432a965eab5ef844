//! Second factors and recovery codes in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::factor::{
    AddedFactor, Factor, FactorRepository, FactorUse, HashedRecoveryCodes, MAX_FACTORS, RecoveryCodeCounts,
    WithFirst,
};
use sluice_identity::identity::Removed;
use sluice_identity::mail::QueuedMail;
use sluice_primitives::{IdentityId, NodeId};
use uuid::Uuid;

use super::{Data, MemoryStore, check};

impl Data {
    fn factors_of(&self, identity: IdentityId) -> impl Iterator<Item = &Factor> {
        self.factors.values().filter(move |factor| factor.identity == identity)
    }

    fn add_factor(
        &mut self,
        node: NodeId,
        (factor, revision): (&Factor, i64),
        first: Option<WithFirst<'_>>,
        notice: Option<&QueuedMail>,
    ) -> AddedFactor {
        let key = (factor.identity, factor.id);
        if let Some(present) = self.factors.get(&key) {
            let mut hashes = first.map(|first| first.codes.hashes).unwrap_or_default().iter();
            let has_code = hashes.any(|code| self.recovery_codes.contains_key(&(factor.identity, *code)));
            return AddedFactor::told((present.sealed == factor.sealed, has_code));
        }
        if self.identities.get(&factor.identity).is_none_or(|owner| owner.revision != revision) {
            return AddedFactor::Unknown;
        }
        let others = self.factors_of(factor.identity).count();
        let most = if first.is_some_and(|first| first.only) { 1 } else { MAX_FACTORS };
        if u32::try_from(others).is_ok_and(|others| others >= most) {
            return AddedFactor::TooMany;
        }
        self.factors.insert(key, factor.clone());
        if let Some(notice) = notice {
            self.queue_mail(notice);
        }
        let Some(first) = first.filter(|_| others == 0) else { return AddedFactor::Added };
        self.replace_codes(factor.identity, first.codes);
        if let Some(ends) = first.ends {
            self.end_weaker_sessions(node, factor.identity, ends);
        }
        AddedFactor::AddedWithCodes
    }

    fn replace_codes(&mut self, identity: IdentityId, codes: HashedRecoveryCodes<'_>) {
        self.forget_codes(identity);
        self.recovery_codes.extend(codes.hashes.iter().map(|code| ((identity, *code), codes.key)));
    }

    fn forget_codes(&mut self, identity: IdentityId) {
        self.recovery_codes.retain(|(owner, _), _| *owner != identity);
    }

    fn remove_factor(&mut self, identity: IdentityId, id: Uuid, looked_at: Option<i64>) -> Removed {
        if let Some(prevented) = self.removal_prevented(identity, looked_at) {
            return prevented;
        }
        if self.factors.remove(&(identity, id)).is_none() {
            return Removed::Missing;
        }
        if self.factors_of(identity).next().is_none() {
            self.forget_codes(identity);
        }
        self.raise_revision(identity);
        Removed::Done
    }

    /// Ends the enrolments that are under way.
    fn raise_revision(&mut self, identity: IdentityId) {
        if let Some(owner) = self.identities.get_mut(&identity) {
            owner.revision += 1;
        }
    }

    /// Forgets the factors and the recovery codes of somebody.
    pub(super) fn forget_factors(&mut self, identity: IdentityId) {
        self.factors.retain(|(owner, _), _| *owner != identity);
        self.forget_codes(identity);
    }
}

#[async_trait]
impl FactorRepository for MemoryStore {
    async fn add(
        &self,
        factor: &Factor,
        revision: i64,
        first: Option<WithFirst<'_>>,
        notice: Option<&QueuedMail>,
    ) -> Result<AddedFactor, StoreError> {
        let texts = [factor.name.as_str(), factor.sealed.as_str()];
        check(texts.into_iter().chain(notice.map(|mail| mail.sealed.as_str())))?;
        self.write(|data| data.add_factor(self.node, (factor, revision), first, notice)).await
    }

    async fn require(&self, identity: IdentityId, required: bool) -> Result<bool, StoreError> {
        self.write(|data| {
            let is_there = data.identities.contains_key(&identity);
            if is_there && required {
                data.factor_required.insert(identity);
            } else {
                data.factor_required.remove(&identity);
            }
            is_there
        })
        .await
    }

    async fn is_required(&self, identity: IdentityId) -> Result<bool, StoreError> {
        Ok(self.read(|data| data.factor_required.contains(&identity)))
    }

    async fn of_identity(&self, identity: IdentityId) -> Result<Vec<Factor>, StoreError> {
        let mut factors: Vec<_> = self.read(|data| data.factors_of(identity).cloned().collect());
        factors.sort_by_key(|factor| (factor.created_at, factor.id));
        Ok(factors)
    }

    async fn use_once(&self, used: &FactorUse) -> Result<bool, StoreError> {
        check(used.sealed.as_deref())?;
        self.write(|data| {
            let factor = data.factors.get_mut(&(used.identity, used.id));
            let Some(factor) = factor.filter(|factor| factor.counter == used.old_counter) else {
                return false;
            };
            factor.counter = used.new_counter;
            factor.last_used_at = Some(used.now);
            if let Some(sealed) = &used.sealed {
                factor.sealed.clone_from(sealed);
            }
            true
        })
        .await
    }

    async fn rename(&self, identity: IdentityId, id: Uuid, name: &str) -> Result<bool, StoreError> {
        check([name])?;
        self.write(|data| {
            let factor = data.factors.get_mut(&(identity, id));
            factor.map(|factor| name.clone_into(&mut factor.name)).is_some()
        })
        .await
    }

    async fn remove(
        &self,
        identity: IdentityId,
        id: Uuid,
        revision: Option<i64>,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        check(notice.map(|mail| mail.sealed.as_str()))?;
        self.write(|data| {
            let removed = data.remove_factor(identity, id, revision);
            if let Some(notice) = notice.filter(|_| removed == Removed::Done) {
                data.queue_mail(notice);
            }
            removed
        })
        .await
    }

    async fn replace_recovery_codes(
        &self,
        identity: IdentityId,
        revision: i64,
        codes: HashedRecoveryCodes<'_>,
        notice: Option<&QueuedMail>,
    ) -> Result<bool, StoreError> {
        check(notice.map(|mail| mail.sealed.as_str()))?;
        self.write(|data| {
            let is_as_before = data.removal_prevented(identity, Some(revision)).is_none();
            if is_as_before {
                data.replace_codes(identity, codes);
                data.raise_revision(identity);
                if let Some(notice) = notice {
                    data.queue_mail(notice);
                }
            }
            is_as_before
        })
        .await
    }

    async fn spend_recovery_code(
        &self,
        identity: IdentityId,
        code: &[u8; 32],
        notice: Option<&QueuedMail>,
    ) -> Result<bool, StoreError> {
        check(notice.map(|mail| mail.sealed.as_str()))?;
        self.write(|data| {
            let is_spent = data.recovery_codes.remove(&(identity, *code)).is_some();
            if let Some(notice) = notice.filter(|_| is_spent) {
                data.queue_mail(notice);
            }
            is_spent
        })
        .await
    }

    async fn recovery_codes_left(&self, identity: IdentityId) -> Result<u32, StoreError> {
        Ok(self.read(|data| {
            let own = data.recovery_codes.keys().filter(|(owner, _)| *owner == identity);
            u32::try_from(own.count()).unwrap_or(u32::MAX)
        }))
    }

    async fn all_factors(
        &self,
        after: Option<(IdentityId, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Factor>, StoreError> {
        Ok(self.read(|data| {
            let key = |factor: &Factor| (factor.identity, factor.id);
            let rest = data.factors.values().filter(|factor| after.is_none_or(|after| key(factor) > after));
            let mut rest: Vec<_> = rest.cloned().collect();
            rest.sort_unstable_by_key(key);
            rest.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            rest
        }))
    }

    async fn reseal_factor(&self, factor: &Factor, sealed: &str) -> Result<bool, StoreError> {
        check([sealed])?;
        self.write(|data| {
            let stored = data.factors.get_mut(&(factor.identity, factor.id));
            let stored = stored.filter(|stored| stored.sealed == factor.sealed);
            stored.map(|stored| sealed.clone_into(&mut stored.sealed)).is_some()
        })
        .await
    }

    async fn all_recovery_codes_left(&self) -> Result<RecoveryCodeCounts, StoreError> {
        Ok(self.read(|data| {
            let mut counts = RecoveryCodeCounts::new();
            for key in data.recovery_codes.values() {
                *counts.entry(Some(*key)).or_default() += 1;
            }
            counts
        }))
    }
}
