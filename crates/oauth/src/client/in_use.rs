//! Which secrets the stored clients need. Of a secret that Sluice made up, and of a registration access token, there is only
//! a hash, which names the key that made it: nothing but the secret itself can move it to another key.

use std::collections::BTreeMap;

use sluice_commit::{StoreError, chain};
use sluice_crypto::secret_hash::{FastHashKeys, StoredSecretHash};
use sluice_crypto::{Purpose, SealedBy, Sealer};
use sluice_protocol::ClientId;
use tracing::warn;

use super::model::Client;
use super::repository::{ClientFilter, ClientRepository};

/// So many clients are named of each kind.
const NAMED: usize = 100;
/// How many clients a sample looks at first: all, in most installations.
const SAMPLE: u32 = 500;
/// How many more it looks at behind each letter and digit where that was not all.
const AT_EACH: u32 = 8;

/// Whose key made a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashKey {
    /// That of the secret in this place, counted from 0, the one that hashes.
    Known(usize),
    /// That of a secret which is not configured, by the id that hashes name it by.
    Unknown(u8),
}

/// How many there are of something, and whose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OfClients {
    /// How many.
    pub count: u64,
    /// The first of their clients, each once.
    pub named: Vec<ClientId>,
    /// How many further clients there are.
    pub more: u64,
    last: Option<ClientId>,
}

/// What the clients have, by the secret that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientSecretsInUse {
    /// Kept secrets by what sealed them.
    pub sealed: BTreeMap<SealedBy, OfClients>,
    /// Hashes of secrets that Sluice made up, of clients whose method uses one.
    pub hashes: BTreeMap<HashKey, OfClients>,
    /// Hashes of registration access tokens (RFC 7592).
    pub registration_tokens: BTreeMap<HashKey, OfClients>,
}

impl OfClients {
    /// One more of this client; clients come one after the other.
    fn add(&mut self, client: &ClientId) {
        self.count += 1;
        if self.last.as_ref() == Some(client) {
            return;
        }
        self.last = Some(client.clone());
        if self.named.len() < NAMED {
            self.named.push(client.clone());
        } else {
            self.more += 1;
        }
    }
}

impl ClientSecretsInUse {
    /// Looks at one more client.
    pub(super) fn add(&mut self, client: &Client, at_rest: &Sealer, keys: &FastHashKeys) {
        if let Some(sealed) = &client.security.sealed_secret {
            let by = at_rest.sealed_by(Purpose::ClientSecret, sealed);
            self.sealed.entry(by).or_default().add(&client.id);
        }
        // A secret that the method of its client does not use never comes here, and nobody waits for it: if its key has gone when
        // the method uses one, the client is given another.
        let hashes = Some(&client.secret_hashes).filter(|_| client.auth_method.uses_secret());
        for key in hashes.into_iter().flatten().filter_map(|hash| key_of(hash, keys)) {
            self.hashes.entry(key).or_default().add(&client.id);
        }
        if let Some(key) = client.registration_token_hash.as_deref().and_then(|hash| key_of(hash, keys)) {
            self.registration_tokens.entry(key).or_default().add(&client.id);
        }
    }

    /// What needs a secret that is not configured, and kept secrets that are broken.
    #[must_use]
    pub fn lost(mut self) -> Self {
        self.sealed.retain(|by, _| !by.opens());
        self.hashes.retain(|key, _| matches!(key, HashKey::Unknown(_)));
        self.registration_tokens.retain(|key, _| matches!(key, HashKey::Unknown(_)));
        self
    }
}

/// A client whose kept secret was sealed with one that is not configured, if there is one among some five hundred, or a thousand
/// where there are more: what a server can afford to look at whenever it starts. A secret that only few of many clients need may go
/// unnoticed; [`super::SealedClientSecrets::in_use`] finds it.
///
/// # Errors
/// The store's.
pub async fn client_with_missing_secret(
    repo: &dyn ClientRepository,
    at_rest: &Sealer,
) -> Result<Option<ClientId>, StoreError> {
    let first = page(repo, None, SAMPLE).await?;
    let is_all = u32::try_from(first.len()).is_ok_and(|found| found < SAMPLE);
    let mut missing = missing_of(first, at_rest);
    for place in ('0'..='9').chain('A'..='Z').chain('a'..='z') {
        if is_all || missing.is_some() {
            break;
        }
        let after = String::from(place).parse().ok();
        missing = missing_of(page(repo, after, AT_EACH).await?, at_rest);
    }
    Ok(missing)
}

/// None of them if one cannot be read: a client that an other version wrote, or a damaged one, is no reason not to start.
async fn page(
    repo: &dyn ClientRepository,
    after: Option<ClientId>,
    limit: u32,
) -> Result<Vec<Client>, StoreError> {
    match repo.list(&ClientFilter { after, limit, ..ClientFilter::default() }).await {
        Err(error) if !error.is_temporary() => {
            warn!(error = %chain(&error), "clients could not be looked at: whether a secret that they need is missing is not known");
            Ok(Vec::new())
        }
        page => page,
    }
}

/// The first of these clients whose kept secret was sealed with one that is not configured.
fn missing_of(clients: Vec<Client>, at_rest: &Sealer) -> Option<ClientId> {
    let is_missing = |client: &Client| {
        let sealed = client.security.sealed_secret.as_deref();
        sealed.is_some_and(|sealed| at_rest.sealed_by(Purpose::ClientSecret, sealed) == SealedBy::Unknown)
    };
    clients.into_iter().find(is_missing).map(|client| client.id)
}

/// Whose key made this hash; none where it has none.
pub(super) fn key_of(hash: &str, keys: &FastHashKeys) -> Option<HashKey> {
    match hash.parse() {
        Ok(StoredSecretHash::Fast(hash)) => {
            let id = hash.key_id();
            Some(keys.place_of(id).map_or(HashKey::Unknown(id), HashKey::Known))
        }
        Ok(StoredSecretHash::Slow(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::{NetworkId, OsRng, Secret};

    use super::*;
    use crate::client::fake::{FakeClients, client};

    fn at_rest(secret: &str) -> Sealer {
        Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(secret.as_bytes().to_vec())])
    }

    /// A client whose kept secret this one sealed.
    fn signing(id: &str, secret: &str) -> Client {
        let mut client = client(id);
        let sealed = at_rest(secret).seal(Purpose::ClientSecret, b"the secret", &OsRng);
        client.security.sealed_secret = Some(sealed);
        client
    }

    #[tokio::test]
    async fn a_client_whose_secret_is_missing_is_found_beside_one_that_opens_and_one_that_is_broken() {
        let repo = FakeClients::default();
        repo.put(client("a"));
        repo.put(signing("b", "new"));
        let mut broken = client("c");
        broken.security.sealed_secret = Some("nonsense".to_owned());
        repo.put(broken);
        let missing = async |secret: &str| client_with_missing_secret(&repo, &at_rest(secret)).await.unwrap();
        assert_eq!(missing("new").await, None);
        repo.put(signing("d", "old"));
        assert_eq!(missing("new").await, Some("d".parse().unwrap()));
        assert_eq!(missing("old").await, Some("b".parse().unwrap()));
    }

    #[tokio::test]
    async fn a_sample_of_many_clients_looks_at_all_letters() {
        let repo = FakeClients::default();
        for number in 0..2 * SAMPLE {
            repo.put(client(&format!("{number:04}")));
        }
        repo.put(signing("shop", "old"));
        let missing = client_with_missing_secret(&repo, &at_rest("new")).await.unwrap();
        assert_eq!(missing, Some("shop".parse().unwrap()));
    }

    #[test]
    fn so_many_clients_are_named_and_the_others_counted() {
        let mut of_clients = OfClients::default();
        for number in 0..NAMED + 2 {
            let client = format!("client-{number}").parse().unwrap();
            // Its current secret and a former one.
            of_clients.add(&client);
            of_clients.add(&client);
        }
        assert_eq!((of_clients.count, of_clients.more), (2 * NAMED as u64 + 4, 2));
        assert_eq!(of_clients.named.len(), NAMED);
        assert_eq!(of_clients.named[0].as_str(), "client-0");
    }
}
