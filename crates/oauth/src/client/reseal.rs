//! Which secrets the clients need, sealing their kept secrets with the first one again, and what becomes of those that need a
//! lost one. Only clients that sign with their secret have it kept (`client_secret_jwt`); with it, its hash is made again.

use std::fmt;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::secret_hash::{FastHashKeys, hash_generated};
use sluice_crypto::{OpenError, Purpose, SealedBy, Sealer};
use sluice_primitives::{Rng, Secret};
use sluice_protocol::ClientId;
use thiserror::Error;

use super::in_use::{ClientSecretsInUse, HashKey, key_of};
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

/// The secrets of clients, as they are stored.
pub struct SealedClientSecrets {
    repo: Arc<dyn ClientRepository>,
    at_rest: Arc<Sealer>,
    hash_keys: FastHashKeys,
    rng: Arc<dyn Rng>,
}

impl SealedClientSecrets {
    /// The secrets in this store, and what opens and hashes them.
    pub const fn new(
        repo: Arc<dyn ClientRepository>,
        at_rest: Arc<Sealer>,
        hash_keys: FastHashKeys,
        rng: Arc<dyn Rng>,
    ) -> Self {
        Self { repo, at_rest, hash_keys, rng }
    }

    /// Which secrets the clients need. Looks at all of them.
    ///
    /// # Errors
    /// The store's.
    pub async fn in_use(&self) -> Result<ClientSecretsInUse, StoreError> {
        let mut found = ClientSecretsInUse::default();
        let mut after = None;
        while let Some(page) = self.page(&mut after).await? {
            for client in &page {
                found.add(client, &self.at_rest, &self.hash_keys);
            }
        }
        Ok(found)
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
                match self.at_rest.sealed_by(Purpose::ClientSecret, &sealed) {
                    SealedBy::Known(0) if !self.hashed_by_another(&client) => done.unchanged += 1,
                    SealedBy::Known(_) => done.resealed += u64::from(self.again(client, &sealed).await?),
                    SealedBy::Unknown | SealedBy::Broken => done.unopened.push(client.id),
                }
            }
        }
        Ok(done)
    }

    /// Forgets the kept secrets that no secret opens: what their clients sign cannot be checked any more, until they are given others.
    /// How many it was.
    ///
    /// # Errors
    /// The store's; what was forgotten until then is.
    pub async fn abandon(&self) -> Result<u64, StoreError> {
        let (mut forgotten, mut after) = (0, None);
        while let Some(page) = self.page(&mut after).await? {
            for mut client in page {
                let Some(sealed) = client.security.sealed_secret.take() else { continue };
                if !self.at_rest.sealed_by(Purpose::ClientSecret, &sealed).opens() {
                    let done = self.repo.replace(&client).await?;
                    forgotten += u64::from(done == Replacement::Replaced);
                }
            }
        }
        Ok(forgotten)
    }

    async fn again(&self, mut client: Client, sealed: &str) -> Result<bool, ResealError> {
        let secret = self.at_rest.open(Purpose::ClientSecret, sealed)?;
        client.security.sealed_secret = Some(self.at_rest.seal(Purpose::ClientSecret, &secret, &*self.rng));
        if self.hashed_by_another(&client)
            && let Ok(secret) = String::from_utf8(secret).map(Secret::new)
            && let Some(current) = client.secret_hashes.first_mut()
        {
            *current = hash_generated(&self.hash_keys, &secret);
        }
        Ok(self.repo.replace(&client).await? == Replacement::Replaced)
    }

    /// Whether another key than the first made the hash of the secret that is kept: the current one.
    fn hashed_by_another(&self, client: &Client) -> bool {
        let key = client.secret_hashes.first().and_then(|hash| key_of(hash, &self.hash_keys));
        key.is_some_and(|key| key != HashKey::Known(0))
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
    use sluice_crypto::digest::MacKey;
    use sluice_primitives::{NetworkId, OsRng};

    use super::*;
    use crate::client::fake::{FakeClients, client};
    use crate::client::in_use::OfClients;

    fn at_rest(secrets: &[&str]) -> Arc<Sealer> {
        let secrets: Vec<_> = secrets.iter().map(|secret| Secret::new(secret.as_bytes().to_vec())).collect();
        Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets))
    }

    fn hash_keys(ids: &[u8]) -> FastHashKeys {
        let mut keys = ids.iter().map(|id| (*id, MacKey::new(&[*id; 32])));
        FastHashKeys::new(keys.next().unwrap(), keys.collect())
    }

    fn secrets_of(repo: &Arc<FakeClients>, secrets: &[&str], hash_ids: &[u8]) -> SealedClientSecrets {
        SealedClientSecrets::new(repo.clone(), at_rest(secrets), hash_keys(hash_ids), Arc::new(OsRng))
    }

    fn secret() -> Secret<String> {
        Secret::new("the secret".to_owned())
    }

    #[tokio::test]
    async fn a_kept_secret_is_sealed_and_hashed_again_and_stays_the_same() {
        let repo = Arc::new(FakeClients::default());
        let mut client = client("app");
        let sealed = at_rest(&["old"]).seal(Purpose::ClientSecret, b"the secret", &OsRng);
        client.security.sealed_secret = Some(sealed);
        client.secret_hashes = vec![hash_generated(&hash_keys(&[1]), &secret())];
        repo.put(client.clone());
        let both = secrets_of(&repo, &["new", "old"], &[2, 1]);
        let before = both.in_use().await.unwrap();
        assert_eq!(before.sealed[&SealedBy::Known(1)].named, [client.id.clone()]);
        assert_eq!(before.hashes[&HashKey::Known(1)].named, [client.id.clone()]);
        assert_eq!(both.reseal().await.unwrap().resealed, 1);
        assert_eq!(both.reseal().await.unwrap().unchanged, 1);
        let stored = repo.find(&client.id).await.unwrap().unwrap();
        let sealed = stored.security.sealed_secret.unwrap();
        let opened = at_rest(&["new"]).open(Purpose::ClientSecret, &sealed).unwrap();
        assert_eq!(opened, b"the secret");
        assert_eq!(stored.secret_hashes, [hash_generated(&hash_keys(&[2]), &secret())]);
        let other = secrets_of(&repo, &["another"], &[3]);
        assert_eq!(other.reseal().await.unwrap().unopened, [client.id.clone()]);
        assert_eq!(other.in_use().await.unwrap().lost().sealed[&SealedBy::Unknown].named, [client.id]);
    }

    #[tokio::test]
    async fn kept_secrets_that_nothing_opens_are_forgotten_and_no_others() {
        let repo = Arc::new(FakeClients::default());
        for name in ["lost", "new"] {
            let mut client = client(name);
            let sealed = at_rest(&[name]).seal(Purpose::ClientSecret, b"the secret", &OsRng);
            client.security.sealed_secret = Some(sealed);
            client.secret_hashes = vec![hash_generated(&hash_keys(&[1]), &secret())];
            repo.put(client);
        }
        repo.put(client("without"));
        let new = secrets_of(&repo, &["new"], &[1]);
        assert_eq!((new.abandon().await.unwrap(), new.abandon().await.unwrap()), (1, 0));
        let stored = repo.find(&"lost".parse().unwrap()).await.unwrap().unwrap();
        assert!(stored.security.sealed_secret.is_none());
        assert_eq!(stored.secret_hashes.len(), 1, "what may still be right stays");
        let sealed = new.in_use().await.unwrap().sealed;
        assert_eq!(sealed.keys().collect::<Vec<_>>(), [&SealedBy::Known(0)]);
    }

    #[tokio::test]
    async fn hashes_are_counted_by_their_keys_and_their_clients_are_named() {
        let repo = Arc::new(FakeClients::default());
        let hash = |id| hash_generated(&hash_keys(&[id]), &secret());
        let chosen = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW".to_owned();
        let rotated = Client { secret_hashes: vec![hash(2), hash(1), hash(1), chosen], ..client("a") };
        repo.put(Client { registration_token_hash: Some(hash(1)), ..rotated });
        repo.put(Client { secret_hashes: vec![hash(2)], ..client("b") });
        // It proves itself otherwise, and so never brings its secret.
        let auth_method = crate::client::AuthMethod::PrivateKeyJwt;
        repo.put(Client { secret_hashes: vec![hash(1)], auth_method, ..client("c") });
        let both = secrets_of(&repo, &["new"], &[2, 1]).in_use().await.unwrap();
        let shown = |of: &OfClients| (of.count, of.named.iter().map(ToString::to_string).collect::<Vec<_>>());
        let (a, b) = ("a".to_owned(), "b".to_owned());
        assert_eq!(shown(&both.hashes[&HashKey::Known(0)]), (2, vec![a.clone(), b]));
        assert_eq!(shown(&both.hashes[&HashKey::Known(1)]), (2, vec![a.clone()]));
        assert_eq!(shown(&both.registration_tokens[&HashKey::Known(1)]), (1, vec![a.clone()]));
        assert_eq!(both.lost(), ClientSecretsInUse::default());
        let lost = secrets_of(&repo, &["new"], &[2]).in_use().await.unwrap().lost();
        assert_eq!(lost.hashes.keys().collect::<Vec<_>>(), [&HashKey::Unknown(1)]);
        assert_eq!(shown(&lost.registration_tokens[&HashKey::Unknown(1)]), (1, vec![a]));
    }
}
