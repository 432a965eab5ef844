//! Which secrets the stored credentials need, and sealing them with the first one again.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use sluice_commit::StoreError;
use sluice_crypto::OpenError;
use sluice_crypto::credential::{CredentialError, CredentialKeys, PepperId, SecretsInUse, StoredCredential};
use sluice_primitives::{Clock, IdentityId, Rng, Timestamp};

use crate::identity::{Identity, IdentityDirectory, IdentityFilter, IdentityPage};

/// How many records are read at a time.
pub(super) const PAGE: u32 = 1_000;
/// How many places a sample looks at, in time and again by id, and how many records at each.
const PLACES: u8 = 32;
const AT_EACH: u32 = 8;
/// How many records are sealed, or changed, at a time.
pub(super) const IN_FLIGHT: usize = 64;
/// So many records that nothing opens are named.
const NAMED: usize = 100;

/// Which secrets are needed, and by how many records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CredentialSecrets {
    /// Records of each pepper. That of a provisional credential is known only if it opens.
    pub peppers: BTreeMap<PepperId, u64>,
    /// Records that each storage secret sealed, counted from 0, the one that seals.
    pub storage: BTreeMap<usize, u64>,
    /// Records that a storage secret sealed that is not known here.
    pub unopened: u64,
    /// Records whose credential cannot be read for another reason.
    pub unreadable: u64,
    /// Records that need no secret: without a password, or with an old hash that lies open.
    pub none: u64,
    /// What the hash takes that takes most of those that lie open, in KiB. Where a hash may have less, it cannot be verified.
    pub most_memory_kib: u32,
}

/// What was sealed again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResealedCredentials {
    /// Credentials that the first secret seals now.
    pub resealed: u64,
    /// Credentials that it had sealed already.
    pub unchanged: u64,
    /// Credentials that changed meanwhile: run it again.
    pub changed: u64,
    /// How many nothing opens.
    pub unopened: u64,
    /// The first of those.
    pub named: Vec<IdentityId>,
}

/// The stored credentials of everybody.
pub struct StoredCredentials {
    /// Records.
    pub identities: Arc<dyn IdentityDirectory>,
    /// What opens and seals.
    pub keys: CredentialKeys,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl StoredCredentials {
    /// Looks at every record: minutes for ten millions of them.
    ///
    /// # Errors
    /// The store's.
    pub async fn count(&self) -> Result<CredentialSecrets, StoreError> {
        let mut found = CredentialSecrets::default();
        let mut after = None;
        loop {
            let page = self.page(after, PAGE).await?;
            page.identities.iter().for_each(|identity| self.look(identity, &mut found));
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    }

    /// Looks at some five hundred records, spread over the time since the first was made: what a server can afford to do
    /// whenever it starts. A secret that only few records need may go unnoticed; [`StoredCredentials::count`] finds it.
    ///
    /// # Errors
    /// The store's.
    pub async fn sample(&self) -> Result<CredentialSecrets, StoreError> {
        let mut found = CredentialSecrets::default();
        let first = self.page(None, AT_EACH).await?;
        let Some(oldest) = first.identities.first() else { return Ok(found) };
        let (start, end) = (oldest.id.made_at(), self.clock.now());
        let in_time = (1..PLACES).map(|place| id_at(start, end, place));
        // Ids that others made up are anywhere.
        let by_id = (0..PLACES).map(|place| IdentityId::from_bytes([place.saturating_mul(8); 16]));
        let places: Vec<IdentityId> = in_time.chain(by_id).collect();
        let mut pages = stream::iter(places).map(|after| self.page(Some(after), AT_EACH)).buffer_unordered(4);
        first.identities.iter().for_each(|identity| self.look(identity, &mut found));
        while let Some(page) = pages.next().await {
            page?.identities.iter().for_each(|identity| self.look(identity, &mut found));
        }
        Ok(found)
    }

    /// Seals with the first secret what another one sealed.
    ///
    /// # Errors
    /// The store's; what was sealed until then is.
    pub async fn reseal(&self) -> Result<ResealedCredentials, StoreError> {
        let mut done = ResealedCredentials::default();
        let mut after = None;
        loop {
            let page = self.page(after, PAGE).await?;
            after = page.next;
            let mut work = stream::iter(page.identities)
                .map(|identity| self.again(identity))
                .buffer_unordered(IN_FLIGHT);
            while let Some(one) = work.next().await {
                done.add(&one?);
            }
            if after.is_none() {
                return Ok(done);
            }
        }
    }

    pub(super) async fn page(
        &self,
        after: Option<IdentityId>,
        limit: u32,
    ) -> Result<IdentityPage, StoreError> {
        self.identities.list(&IdentityFilter { after, limit, ..IdentityFilter::default() }).await
    }

    fn look(&self, identity: &Identity, found: &mut CredentialSecrets) {
        let stored = StoredCredential::parse(&identity.credential);
        if let Some(params) = stored.as_ref().ok().and_then(StoredCredential::params) {
            found.most_memory_kib = found.most_memory_kib.max(params.memory_kib());
        }
        match stored.and_then(|stored| self.keys.secret_in_use(&stored)) {
            Ok(SecretsInUse { pepper: None, storage: None }) => found.none += 1,
            Ok(SecretsInUse { pepper, storage }) => {
                if let Some(pepper) = pepper {
                    *found.peppers.entry(pepper).or_default() += 1;
                }
                if let Some(place) = storage {
                    *found.storage.entry(place).or_default() += 1;
                }
            }
            Err(CredentialError::UnknownPepper(pepper)) => *found.peppers.entry(pepper).or_default() += 1,
            Err(CredentialError::Sealed(OpenError::UnknownKey)) => found.unopened += 1,
            Err(_) => found.unreadable += 1,
        }
    }

    async fn again(&self, identity: Identity) -> Result<Again, StoreError> {
        let is_sealed = identity.credential.starts_with("p1$") || identity.credential.starts_with("f1$");
        if !is_sealed {
            return Ok(Again::NotSealed);
        }
        let Some(stored) = self.keys.reseal(identity.id, &identity.credential, &*self.rng) else {
            let opens = StoredCredential::parse(&identity.credential)
                .and_then(|stored| self.keys.secret_in_use(&stored));
            return Ok(match opens {
                Ok(_) | Err(CredentialError::UnknownPepper(_)) => Again::Unchanged,
                Err(_) => Again::Unopened(identity.id),
            });
        };
        // No change of the record: what was mailed or proved holds on.
        let is_done = self.identities.reseal_credential(identity.id, &identity.credential, &stored).await?;
        Ok(if is_done { Again::Resealed } else { Again::Changed })
    }
}

impl fmt::Debug for StoredCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredCredentials").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl CredentialSecrets {
    /// What is wrong, if records need a secret that is not among `known`.
    pub fn missing(&self, known: &[PepperId]) -> Option<MissingSecret> {
        let unknown = self.peppers.keys().find(|pepper| !known.contains(pepper));
        match unknown {
            Some(pepper) => Some(MissingSecret::Pepper(*pepper)),
            None if self.unopened > 0 => Some(MissingSecret::Storage),
            None => None,
        }
    }
}

/// A secret that records need and that is not configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MissingSecret {
    /// A pepper.
    #[error("passwords need the pepper {0}, which is not configured: without it, nobody who has one logs in")]
    Pepper(PepperId),
    /// A storage secret.
    #[error(
        "passwords were sealed with a secret at rest that is not configured: without it, nobody who has one logs in"
    )]
    Storage,
}

/// What became of one record.
enum Again {
    NotSealed,
    Resealed,
    Unchanged,
    Changed,
    Unopened(IdentityId),
}

impl ResealedCredentials {
    fn add(&mut self, one: &Again) {
        match one {
            Again::NotSealed => {}
            Again::Resealed => self.resealed += 1,
            Again::Unchanged => self.unchanged += 1,
            Again::Changed => self.changed += 1,
            Again::Unopened(id) => {
                self.unopened += 1;
                if self.named.len() < NAMED {
                    self.named.push(*id);
                }
            }
        }
    }
}

/// The smallest id of a moment between two others.
fn id_at(start: Timestamp, end: Timestamp, place: u8) -> IdentityId {
    let span = end.as_millis().saturating_sub(start.as_millis()).max(0) / i64::from(PLACES);
    let millis = start.as_millis().saturating_add(span.saturating_mul(i64::from(place)));
    let [_, _, time @ ..] = millis.to_be_bytes();
    let mut id = [0; 16];
    id.iter_mut().zip(time).for_each(|(byte, of_time)| *byte = of_time);
    IdentityId::from_bytes(id)
}
