use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex as Shared;
use sluice_crypto::Sealer;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_oauth::client::{ClientRepository, decode};
use sluice_oauth::grant::Insertion;
use sluice_oauth::keys::KeyRepository;
use sluice_primitives::{ManualClock, NetworkId, NodeId, OsRng, Secret, Timestamp};
use sluice_protocol::ClientId;
use sluice_store_sqlite::{SqlitePath, SqliteStore, StoreOptions};
use sluice_token::{Feed, FeedBatch, FeedPosition, RevocationSet};

use super::*;

const START: Timestamp = Timestamp::from_secs(1_750_000_000);

/// A feed that tells what it is given to tell, and not what the store was told.
#[derive(Default)]
struct Told {
    changes: Shared<Vec<Change>>,
    moves: AtomicU64,
}

#[async_trait]
impl Feed for Told {
    async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
        let (changes, moves) = (std::mem::take(&mut *self.changes.lock()), self.moves.load(Ordering::SeqCst));
        Ok(FeedBatch { changes, moves, position: from.clone(), ..FeedBatch::default() })
    }

    async fn wait(&self) {}
}

struct World {
    store: Arc<SqliteStore>,
    clock: Arc<ManualClock>,
    feed: Arc<Told>,
    clients: Arc<ClientDirectory>,
    keys: Arc<KeyRing>,
    hearing: Hearing,
}

impl World {
    async fn start() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let options = StoreOptions::new(NodeId::generate(START, &OsRng), clock.clone(), Arc::new(OsRng));
        let store = Arc::new(SqliteStore::open(SqlitePath::Temporary, options).await.unwrap());
        store.migrate_up().await.unwrap();
        let (feed, set) = (Arc::new(Told::default()), Arc::new(RevocationSet::default()));
        let follower = Arc::new(FeedFollower::new(feed.clone(), set, clock.clone()));
        let clients = Arc::new(ClientDirectory::new(store.clone(), 10));
        let keys = ring(&store, &clock, "a secret").await;
        let hearing = Hearing::new(follower, clients.clone(), keys.clone());
        let hearing = Hearing { retry_after: Duration::ZERO, ..hearing };
        let world = Self { store, clock, feed, clients, keys, hearing };
        world.hearing.catch_up().await.unwrap();
        world
    }

    /// Hears the feed after so long.
    async fn after(&self, hours: u32) {
        self.clock.advance(Lifetime::hours(hours));
        self.hearing.catch_up().await.unwrap();
    }
}

async fn ring(store: &Arc<SqliteStore>, clock: &Arc<ManualClock>, secret: &str) -> Arc<KeyRing> {
    let secrets = [Secret::new(secret.as_bytes().to_vec())];
    let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets));
    KeyRing::start(store.clone(), at_rest, Arc::new(OsRng), clock.clone()).await.unwrap()
}

/// A client that is known here and was deleted, and a key that was made, and nobody told of it.
async fn untold(world: &World) -> ClientId {
    let client = decode(("shop", 1, "", ""), (START, START), "{}").unwrap();
    let shop = client.id.clone();
    assert_eq!(world.store.insert(&client).await.unwrap(), Insertion::Inserted);
    assert!(world.clients.registered(&shop).await.unwrap().is_some());
    assert!(ClientRepository::delete(&*world.store, &shop, START, START).await.unwrap());
    let other = ring(&world.store, &world.clock, "a secret").await;
    other.ensure(ID_TOKEN_SET, SigningAlgorithm::EdDSA).await.unwrap();
    shop
}

/// Whether both are known as they were.
async fn are_known_as_before(world: &World, shop: &ClientId) -> bool {
    let has_client = world.clients.registered(shop).await.unwrap().is_some();
    let lacks_key = world.keys.id_token_signer(SigningAlgorithm::EdDSA).is_none();
    assert_eq!(has_client, lacks_key, "both or neither");
    has_client
}

#[tokio::test]
async fn who_was_away_for_longer_than_changes_are_told_takes_nothing_for_known() {
    let world = World::start().await;
    let shop = untold(&world).await;
    world.after(11).await;
    assert!(are_known_as_before(&world, &shop).await, "nobody told of it");
    world.after(13).await;
    assert!(!are_known_as_before(&world, &shop).await);
}

/// One that lagged behind has lost what was written last, and tells of nothing that it has lost.
#[tokio::test]
async fn who_hears_of_another_server_takes_nothing_for_known_that_the_former_told() {
    let world = World::start().await;
    let shop = untold(&world).await;
    world.after(0).await;
    assert!(are_known_as_before(&world, &shop).await, "nobody told of it");
    world.feed.moves.store(1, Ordering::SeqCst);
    world.after(0).await;
    assert!(!are_known_as_before(&world, &shop).await);
    assert!(world.clients.registered(&shop).await.unwrap().is_none());
    let generation = world.keys.generation();
    world.after(0).await;
    assert_eq!(world.keys.generation(), generation, "once for each");
}

#[tokio::test]
async fn keys_that_could_not_be_read_are_read_the_next_time() {
    let world = World::start().await;
    let other = ring(&world.store, &world.clock, "a secret").await;
    other.ensure(ID_TOKEN_SET, SigningAlgorithm::EdDSA).await.unwrap();
    let mut unreadable = KeyRepository::set(&*world.store, ID_TOKEN_SET).await.unwrap().pop().unwrap();
    unreadable.kid = "unreadable".to_owned();
    unreadable.sealed = "damaged".to_owned();
    world.store.add(vec![unreadable]).await.unwrap();
    world.feed.changes.lock().push(Change::Keys(ID_TOKEN_SET.to_owned()));
    world.after(0).await;
    assert!(world.keys.id_token_signer(SigningAlgorithm::EdDSA).is_none());
    assert!(KeyRepository::delete(&*world.store, ID_TOKEN_SET, "unreadable").await.unwrap());
    world.after(0).await;
    assert!(world.keys.id_token_signer(SigningAlgorithm::EdDSA).is_some(), "and nobody told of it again");
}

#[tokio::test]
async fn who_asks_for_keys_after_it_was_told_of_a_change_waits_until_they_were_read() {
    let world = World::start().await;
    untold(&world).await;
    world.feed.changes.lock().push(Change::Keys(ID_TOKEN_SET.to_owned()));
    let ask = async {
        world.hearing.settled().await;
        world.keys.id_token_signer(SigningAlgorithm::EdDSA).is_some()
    };
    let ((), has_key) = tokio::join!(world.after(0), ask);
    assert!(has_key);
}
