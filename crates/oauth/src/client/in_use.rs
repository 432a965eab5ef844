//! Which secrets the stored clients need. Of a secret that Sluice made up, and of a registration access token, there is only
//! a hash, which names the key that made it: nothing but the secret itself can move it to another key.

use std::collections::BTreeMap;

use sluice_crypto::secret_hash::{FastHashKeys, StoredSecretHash};
use sluice_crypto::{Purpose, Sealer};
use sluice_protocol::ClientId;

use super::model::Client;

/// So many clients are named of each kind.
const NAMED: usize = 100;

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
    /// Kept secrets by what sealed them, counted from 0, the one that seals; `None`: no secret opens them.
    pub sealed: BTreeMap<Option<usize>, OfClients>,
    /// Hashes of secrets that Sluice made up.
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
            let place = at_rest.secret_of(Purpose::ClientSecret, sealed).ok();
            self.sealed.entry(place).or_default().add(&client.id);
        }
        for key in client.secret_hashes.iter().filter_map(|hash| key_of(hash, keys)) {
            self.hashes.entry(key).or_default().add(&client.id);
        }
        if let Some(key) = client.registration_token_hash.as_deref().and_then(|hash| key_of(hash, keys)) {
            self.registration_tokens.entry(key).or_default().add(&client.id);
        }
    }

    /// What needs a secret that is not configured.
    #[must_use]
    pub fn lost(mut self) -> Self {
        self.sealed.retain(|place, _| place.is_none());
        self.hashes.retain(|key, _| matches!(key, HashKey::Unknown(_)));
        self.registration_tokens.retain(|key, _| matches!(key, HashKey::Unknown(_)));
        self
    }
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
    use super::*;

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
