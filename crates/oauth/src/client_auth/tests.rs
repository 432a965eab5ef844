//! What a request brings, and whether it is believed.

mod assertions;
mod presented;
mod secrets;

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_crypto::digest::MacKey;
use sluice_crypto::hash_pool::HashPoolConfig;
use sluice_primitives::{NetworkId, Secret, SeededRng};
use url::Url;

use super::*;
use crate::caller::Caller;
use crate::client::fake::FakeClients;
use crate::client::{ClientMetadata, ClientSecrets, RegistrationRules};
use crate::replay::ReplayKind;

const NOW: Timestamp = Timestamp::from_secs(1_000_000);

#[derive(Default)]
struct FakeReplay(Mutex<HashSet<[u8; 32]>>);

#[async_trait]
impl ReplayRepository for FakeReplay {
    async fn spend(
        &self,
        _: ReplayKind,
        id_hash: [u8; 32],
        _: Timestamp,
        _: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(self.0.lock().insert(id_hash))
    }

    async fn is_spent(&self, _: ReplayKind, id_hash: [u8; 32], _: Timestamp) -> Result<bool, StoreError> {
        Ok(self.0.lock().contains(&id_hash))
    }

    async fn purge_expired(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// Answers with what a test put there.
#[derive(Default)]
struct FakeSource {
    answer: Mutex<Option<FetchedKeySet>>,
    fetches: AtomicUsize,
}

#[async_trait]
impl KeySetSource for FakeSource {
    async fn fetch(&self, _: &Url) -> Result<FetchedKeySet, KeysNotFetched> {
        self.fetches.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.answer.lock().clone().ok_or_else(|| KeysNotFetched::NotThere("no answer".to_owned()))
    }
}

struct Given {
    repo: Arc<FakeClients>,
    source: Arc<FakeSource>,
    pool: Arc<HashPool>,
    secrets: ClientSecrets,
    directory: Arc<ClientDirectory>,
    authenticator: ClientAuthenticator,
}

fn given() -> Given {
    given_on(Arc::default(), FastHashKeys::new((7, MacKey::new(b"key")), Vec::new()))
}

/// The clients of this repository at a node with these keys.
fn given_on(repo: Arc<FakeClients>, keys: FastHashKeys) -> Given {
    let directory = Arc::new(ClientDirectory::new(repo.clone(), 100));
    let pool = Arc::new(HashPool::start(&HashPoolConfig::default()).unwrap());
    let (source, rng) = (Arc::new(FakeSource::default()), Arc::new(SeededRng::new(1)));
    let at_rest = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]);
    let authenticator = ClientAuthenticator::new(
        ClientAuthParts {
            directory: directory.clone(),
            secret_keys: keys.clone(),
            pool: pool.clone(),
            replay: Arc::new(FakeReplay::default()),
            keys: Arc::new(ClientKeys::new(source.clone())),
            at_rest: Arc::new(at_rest),
            audiences: Audiences {
                issuer: "https://op.example".to_owned(),
                endpoints: vec!["https://op.example/oauth2/token".to_owned()],
            },
            trust_anchors: None,
            proxy_verifies: false,
        },
        &*rng,
    );
    Given {
        repo,
        source,
        secrets: ClientSecrets::new(keys, pool.clone(), rng),
        pool,
        directory,
        authenticator,
    }
}

impl Given {
    /// Registers `app` as asked, with these hashes.
    fn client(&self, metadata: ClientMetadata, secret_hashes: Vec<String>) -> Client {
        let id = "app".parse().unwrap();
        let client =
            crate::client::registration::register(id, metadata, &RegistrationRules::default(), NOW).unwrap();
        let client = Client { secret_hashes, ..client };
        self.repo.put(client.clone());
        self.directory.forget(&client.id);
        client
    }

    /// How many slow hashes there were; the pool ends with it.
    fn hashes(&self) -> u64 {
        self.pool.shutdown();
        self.pool.metrics().done_total()
    }

    async fn basic(&self, secret: &str) -> Result<Arc<Client>, ClientAuthError> {
        self.basic_from(secret, None).await
    }

    async fn basic_from(
        &self,
        secret: &str,
        address: Option<IpAddr>,
    ) -> Result<Arc<Client>, ClientAuthError> {
        let (client, secret) = ("app".parse().unwrap(), Secret::new(secret.to_owned()));
        let presented = Presented::Basic { client, secret, as_sent: None };
        let caller = Caller { address, ..Caller::default() };
        self.authenticator.authenticate(presented, &caller, NOW).await
    }
}
