//! Which secret the kept secrets of clients are sealed with, and sealing them with the first one again. Only clients that
//! sign with their secret have it kept (`client_secret_jwt`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::Rng;
use sluice_protocol::ClientId;
use thiserror::Error;

use super::model::Client;
use super::repository::{ClientFilter, ClientRepository, Replacement};

/// How many clients are read at once.
const PAGE: u32 = 500;

/// Why secrets were not sealed again.
#[derive(Debug, Error)]
pub enum ResealError {
    /// A secret does not open although it was said to.
    #[error(transparent)]
    Sealed(#[from] OpenError),
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was sealed again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResealedClients {
    /// Secrets that the first secret seals now.
    pub resealed: u64,
    /// Secrets that it had sealed already.
    pub unchanged: u64,
    /// Clients whose secret nothing opens.
    pub unopened: Vec<ClientId>,
}

/// The sealed secrets of clients.
pub struct SealedClientSecrets {
    repo: Arc<dyn ClientRepository>,
    at_rest: Arc<Sealer>,
    rng: Arc<dyn Rng>,
}

impl SealedClientSecrets {
    /// The secrets in this store.
    pub const fn new(repo: Arc<dyn ClientRepository>, at_rest: Arc<Sealer>, rng: Arc<dyn Rng>) -> Self {
        Self { repo, at_rest, rng }
    }

    /// How many client secrets each secret sealed, counted from 0, the one that seals; `None` for those that no secret
    /// opens.
    ///
    /// # Errors
    /// The store's.
    pub async fn count(&self) -> Result<BTreeMap<Option<usize>, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        let mut after = None;
        while let Some(page) = self.page(&mut after).await? {
            for sealed in page.iter().filter_map(|client| client.security.sealed_secret.as_deref()) {
                *counts.entry(self.at_rest.secret_of(Purpose::ClientSecret, sealed).ok()).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// Seals with the first secret what another one sealed. A client that changes meanwhile is left alone: run it again.
    ///
    /// # Errors
    /// The store's; what was sealed until then is.
    pub async fn reseal(&self) -> Result<ResealedClients, ResealError> {
        let mut done = ResealedClients::default();
        let mut after = None;
        while let Some(page) = self.page(&mut after).await? {
            for client in page {
                let Some(sealed) = client.security.sealed_secret.clone() else { continue };
                match self.at_rest.secret_of(Purpose::ClientSecret, &sealed) {
                    Ok(0) => done.unchanged += 1,
                    Ok(_) => done.resealed += u64::from(self.again(client, &sealed).await?),
                    Err(_) => done.unopened.push(client.id),
                }
            }
        }
        Ok(done)
    }

    async fn again(&self, mut client: Client, sealed: &str) -> Result<bool, ResealError> {
        let secret = self.at_rest.open(Purpose::ClientSecret, sealed)?;
        client.security.sealed_secret = Some(self.at_rest.seal(Purpose::ClientSecret, &secret, &*self.rng));
        Ok(self.repo.replace(&client).await? == Replacement::Replaced)
    }

    /// The clients after `after`, which moves on; none after the last.
    async fn page(&self, after: &mut Option<ClientId>) -> Result<Option<Vec<Client>>, StoreError> {
        let filter = ClientFilter { after: after.clone(), limit: PAGE, ..ClientFilter::default() };
        let page = self.repo.list(&filter).await?;
        let Some(last) = page.last() else { return Ok(None) };
        *after = Some(last.id.clone());
        Ok(Some(page))
    }
}

impl fmt::Debug for SealedClientSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedClientSecrets").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::{NetworkId, OsRng, Secret, Timestamp};

    use super::*;
    use crate::client::fake::FakeClients;
    use crate::client::registration::{ClientMetadata, RegistrationRules, register};

    fn at_rest(secrets: &[&str]) -> Arc<Sealer> {
        let secrets: Vec<_> = secrets.iter().map(|secret| Secret::new(secret.as_bytes().to_vec())).collect();
        Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets))
    }

    #[tokio::test]
    async fn a_kept_secret_is_sealed_again_and_stays_the_same() {
        let repo = Arc::new(FakeClients::default());
        let (id, now) = ("app".parse().unwrap(), Timestamp::from_secs(1_000_000));
        let mut client = register(id, ClientMetadata::default(), &RegistrationRules::default(), now).unwrap();
        let sealed = at_rest(&["old"]).seal(Purpose::ClientSecret, b"the secret", &OsRng);
        client.security.sealed_secret = Some(sealed);
        repo.put(client.clone());
        let both = SealedClientSecrets::new(repo.clone(), at_rest(&["new", "old"]), Arc::new(OsRng));
        assert_eq!(both.count().await.unwrap(), BTreeMap::from([(Some(1), 1)]));
        assert_eq!(both.reseal().await.unwrap().resealed, 1);
        assert_eq!(both.reseal().await.unwrap().unchanged, 1);
        let stored = repo.find(&client.id).await.unwrap().unwrap();
        let sealed = stored.security.sealed_secret.unwrap();
        let opened = at_rest(&["new"]).open(Purpose::ClientSecret, &sealed).unwrap();
        assert_eq!(opened, b"the secret");
        let other = SealedClientSecrets::new(repo, at_rest(&["another"]), Arc::new(OsRng));
        assert_eq!(other.reseal().await.unwrap().unopened, [client.id]);
    }
}
