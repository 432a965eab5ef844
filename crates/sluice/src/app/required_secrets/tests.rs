//! What a node finds at its start.

use sluice_crypto::Purpose;
use sluice_crypto::credential::Peppers;
use sluice_crypto::digest::MacKey;
use sluice_crypto::password_hash::{Argon2Params, HashMemory};
use sluice_crypto::secret_hash::FastHashKeys;
use sluice_identity::factor::{AddedFactor, Factor, FactorKind, FactorRepository};
use sluice_identity::mail::{MailRepository, QueuedMail};
use sluice_identity::{Email, Identity, IdentityStatus};
use sluice_oauth::client::{ClientRepository, SealedClientSecrets, decode};
use sluice_oauth::grant::Insertion;
use sluice_primitives::{AttemptId, IdentityId, NetworkId, OsRng, Secret, SystemClock, Timestamp};
use sluice_testkit::Captured;

use super::*;
use crate::app::opening::open_store;
use crate::app::stores::Stores;
use crate::config::{DatabaseSettings, Dsn};

fn at_rest(secret: &str) -> Arc<Sealer> {
    let secrets = [Secret::new(secret.as_bytes().to_vec())];
    Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets))
}

/// A database, and who looks at it.
struct World {
    stores: Stores,
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
}

impl World {
    async fn new() -> Self {
        let (clock, rng): (Arc<dyn Clock>, Arc<dyn Rng>) = (Arc::new(SystemClock), Arc::new(OsRng));
        let database =
            DatabaseSettings { dsn: Dsn::Memory, max_connections: None, wait: std::time::Duration::ZERO };
        let stores = open_store(&database, true, (&clock, &rng)).await.unwrap();
        Self { stores, clock, rng }
    }

    fn required(&self) -> RequiredSecrets<'_> {
        RequiredSecrets { store: self.stores.repositories(), clock: &self.clock, rng: &self.rng }
    }

    async fn person(&self, name: &str) -> IdentityId {
        self.person_with(name, String::new()).await
    }

    /// Somebody whose password is kept so.
    async fn person_with(&self, name: &str, credential: String) -> IdentityId {
        let email: Email = format!("{name}@example.com").parse().unwrap();
        let now = Timestamp::from_secs(1_750_000_000);
        let identity = Identity {
            id: IdentityId::generate(now, &OsRng),
            email: email.as_str().to_owned(),
            login_name: email.login_name(),
            username: String::new(),
            credential,
            hardening: false,
            status: IdentityStatus::Active,
            email_verified_at: None,
            created_at: now,
            updated_at: now,
            revision: 1,
            attempt: AttemptId::generate(now, &OsRng),
        };
        self.stores.repositories().register(identity.clone().into()).await.unwrap();
        identity.id
    }

    /// A factor of another person.
    async fn factor(&self, name: &str, sealed: String) {
        let now = Timestamp::from_secs(1_750_000_000);
        let factor = Factor {
            identity: self.person(name).await,
            id: IdentityId::generate(Timestamp::from_secs(1_750_000_000), &OsRng).as_uuid(),
            kind: FactorKind::Totp,
            name: "Phone".to_owned(),
            sealed,
            created_at: now,
            last_used_at: None,
            counter: 0,
        };
        let added =
            FactorRepository::add(&*self.stores.repositories(), &factor, 1, None, None).await.unwrap();
        assert_eq!(added, AddedFactor::Added);
    }

    /// A client that signs with its secret.
    async fn client(&self, id: &str, sealed: String) {
        let now = Timestamp::from_secs(1_750_000_000);
        let mut client = decode((id, 1, "", ""), (now, now), "{}").unwrap();
        client.security.sealed_secret = Some(sealed);
        let inserted = ClientRepository::insert(&*self.stores.repositories(), &client).await.unwrap();
        assert_eq!(inserted, Insertion::Inserted);
    }
}

fn totp(secret: &str) -> String {
    at_rest(secret).seal(Purpose::TotpSecret, b"secret", &OsRng)
}

fn kept(secret: &str) -> String {
    at_rest(secret).seal(Purpose::ClientSecret, b"the secret", &OsRng)
}

#[tokio::test]
async fn a_factor_that_no_secret_opens_keeps_a_node_from_starting() {
    let world = World::new().await;
    assert!(world.required().of_factors(&at_rest("new")).await.is_ok(), "there is none");
    world.factor("alice", totp("old")).await;
    assert!(world.required().of_factors(&at_rest("old")).await.is_ok());
    let refusal = world.required().of_factors(&at_rest("new")).await.unwrap_err();
    assert!(refusal.to_string().contains("second factors were sealed"), "{refusal}");
    world.stores.shutdown().await;
}

#[tokio::test]
async fn a_factor_whose_secret_is_missing_keeps_a_node_from_starting_though_others_open() {
    let world = World::new().await;
    world.factor("alice", totp("new")).await;
    world.factor("bob", totp("old")).await;
    assert!(world.required().of_factors(&at_rest("new")).await.is_err());
    world.stores.shutdown().await;
}

#[tokio::test]
async fn a_broken_factor_beside_one_that_opens_keeps_no_node_from_starting() {
    let world = World::new().await;
    world.factor("alice", totp("new")).await;
    world.factor("bob", "nonsense".to_owned()).await;
    assert!(world.required().of_factors(&at_rest("new")).await.is_ok());
    world.stores.shutdown().await;
}

#[tokio::test]
async fn a_client_whose_secret_nothing_opens_keeps_a_node_from_starting_until_it_is_given_up() {
    let world = World::new().await;
    assert!(world.required().of_clients(&at_rest("new")).await.is_ok(), "there is none");
    world.client("broken", "nonsense".to_owned()).await;
    world.client("shop", kept("new")).await;
    assert!(world.required().of_clients(&at_rest("new")).await.is_ok());
    world.client("till", kept("old")).await;
    let refusal = world.required().of_clients(&at_rest("new")).await.unwrap_err();
    assert!(refusal.to_string().contains("the client `till`"), "{refusal}");
    let hash_keys = FastHashKeys::new((1, MacKey::new(&[1; 32])), Vec::new());
    let repositories = world.stores.repositories();
    let secrets =
        SealedClientSecrets::new(repositories as _, at_rest("new"), hash_keys, Arc::clone(&world.rng));
    assert_eq!(secrets.abandon().await.unwrap(), 2);
    assert!(world.required().of_clients(&at_rest("new")).await.is_ok());
    world.stores.shutdown().await;
}

#[tokio::test]
async fn a_mail_that_no_secret_opens_keeps_nobody_from_anything() {
    let world = World::new().await;
    let sealed = at_rest("old").seal(Purpose::Mail, b"mail", &OsRng);
    let mail = QueuedMail {
        id: IdentityId::generate(Timestamp::from_secs(1_750_000_000), &OsRng).as_uuid(),
        sealed,
        due_at: world.clock.now(),
    };
    MailRepository::queue(&*world.stores.repositories(), &mail).await.unwrap();
    assert!(world.required().of_mails(&at_rest("new")).await.is_ok());
    world.stores.shutdown().await;
}

#[tokio::test]
async fn passwords_whose_hash_takes_more_memory_than_one_may_have_are_warned_about() {
    let (log, _guard) = Captured::begin();
    let world = World::new().await;
    let peppers = Peppers::new(&[Secret::new(b"a pepper".to_vec())]).unwrap();
    let keys = CredentialKeys::new(peppers, at_rest("rest"));
    let params = Argon2Params::new(128, 1, 1).unwrap();
    let stored = keys.hardened(b"password", params, [1; 16], &mut HashMemory::new()).unwrap();
    world.person_with("alice", stored).await;
    let most = world.required().of_passwords(&keys).await.unwrap();
    assert_eq!(most, 128);
    for (limit, warnings) in [(128, 0), (64, 1)] {
        tell_of_costly_passwords(most, limit);
        assert_eq!(log.lines("identity.hash_pool.max_memory").len(), warnings, "{limit}");
    }
    world.stores.shutdown().await;
}
