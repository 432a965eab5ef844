//! The queue of the hardening workers in memory: when each credential is due.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::hardening::{Backlog, HardenedCredential, HardeningRepository, LeasedCredential};
use sluice_primitives::{IdentityId, Lifetime, Timestamp};

use super::{Data, MemoryStore, check, due_first};

/// When what was given up is due.
const GIVEN_UP: Timestamp = Timestamp::NEVER;

impl Data {
    /// Stores a credential that needs no hardening in the place of `old`; whether that was there.
    pub(super) fn replace_credential(&mut self, id: IdentityId, old: &str, new: &str) -> bool {
        let Some(identity) = self.identities.get_mut(&id).filter(|identity| identity.credential == old)
        else {
            return false;
        };
        new.clone_into(&mut identity.credential);
        identity.hardening = false;
        self.hardening.remove(&id);
        true
    }

    fn backlog(&self) -> Backlog {
        let waiting = || self.hardening.iter().filter(|(_, due)| **due != GIVEN_UP);
        // What is leased is due later than it waits.
        let since = |(id, due): (&IdentityId, &Timestamp)| {
            self.identities.get(id).map_or(*due, |identity| identity.updated_at.min(*due))
        };
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Backlog {
            waiting: count(waiting().count()),
            oldest: waiting().map(since).min(),
            dead: count(self.hardening.len() - waiting().count()),
        }
    }
}

#[async_trait]
impl HardeningRepository for MemoryStore {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedCredential>, StoreError> {
        self.write(|data| {
            let waiting = data.hardening.iter().map(|(id, due)| (*due, *id)).filter(|(due, _)| *due <= now);
            let taken = due_first(waiting, limit);
            data.hardening.extend(taken.iter().map(|id| (*id, now + lease)));
            let identities = taken.iter().filter_map(|id| data.identities.get(id));
            identities
                .map(|identity| LeasedCredential { id: identity.id, stored: identity.credential.clone() })
                .collect()
        })
        .await
    }

    async fn harden(&self, hardened: &[HardenedCredential]) -> Result<u64, StoreError> {
        check(hardened.iter().map(|hardened| hardened.new.as_str()))?;
        self.write(|data| {
            let done = hardened.iter().filter(|one| data.replace_credential(one.id, &one.old, &one.new));
            u64::try_from(done.count()).unwrap_or(u64::MAX)
        })
        .await
    }

    async fn give_up(&self, id: IdentityId, old: &str) -> Result<(), StoreError> {
        self.write(|data| {
            let is_still_it = data.identities.get(&id).is_some_and(|identity| identity.credential == old);
            if let Some(due) = data.hardening.get_mut(&id).filter(|_| is_still_it) {
                *due = GIVEN_UP;
            }
        })
        .await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        Ok(self.read(Data::backlog))
    }
}
