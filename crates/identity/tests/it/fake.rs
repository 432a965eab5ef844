//! A store in memory, and the services on it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig, QueueLimits};
use sluice_crypto::password_hash::Argon2Params;
use sluice_identity::{
    Attempt, Identity, IdentityRepository, LockoutConfig, LoginNameHash, LoginOutcome, LoginService,
    PasswordHasher, Registration, RegistrationOutcome, RegistrationService, SignUp,
};
use sluice_primitives::{IdentityId, ManualClock, Secret, SeededRng, Timestamp};

#[derive(Default)]
pub(crate) struct FakeStore {
    pub(crate) people: Mutex<Vec<Identity>>,
    pub(crate) down: Mutex<bool>,
    pub(crate) reads: AtomicUsize,
}

impl FakeStore {
    fn check(&self) -> Result<(), StoreError> {
        if *self.down.lock() { Err(StoreError::Unavailable(None)) } else { Ok(()) }
    }

    fn first(&self, wanted: impl Fn(&&Identity) -> bool) -> Option<Identity> {
        self.people.lock().iter().find(wanted).cloned()
    }
}

#[async_trait]
impl IdentityRepository for FakeStore {
    async fn register(&self, identity: Identity) -> Result<Registration, StoreError> {
        self.check()?;
        let mut people = self.people.lock();
        match people.iter().find(|known| known.login_name == identity.login_name) {
            Some(known) if known.attempt == identity.attempt => Ok(Registration::Registered),
            Some(_) => Ok(Registration::Taken),
            None => {
                people.push(identity);
                Ok(Registration::Registered)
            }
        }
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.check()?;
        Ok(self.first(|known| known.login_name == *login_name))
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        self.check()?;
        Ok(self.first(|known| known.id == id))
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        self.check()?;
        let mut people = self.people.lock();
        let found = people.iter_mut().find(|known| known.id == id && known.credential == old);
        Ok(found.map(|known| new.clone_into(&mut known.credential)).is_some())
    }
}

pub(crate) struct World {
    pub(crate) store: Arc<FakeStore>,
    pub(crate) pool: Arc<HashPool>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) login: LoginService,
    pub(crate) registration: RegistrationService,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::on(Arc::default(), 1, 8)
    }

    /// On a store that is there already, with hashes of so many passes, of which so many may wait.
    pub(crate) fn on(store: Arc<FakeStore>, passes: u32, waiting: usize) -> Self {
        let queues = QueueLimits { login: waiting, ..QueueLimits::default() };
        let config = HashPoolConfig { threads: NonZeroUsize::MIN, queues, ..HashPoolConfig::default() };
        let pool = Arc::new(HashPool::start(&config).unwrap());
        let rng = Arc::new(SeededRng::new(u64::from(passes)));
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000)));
        let params = Argon2Params::new(64, passes, 1).unwrap();
        let hasher = Arc::new(PasswordHasher::new(Arc::clone(&pool), params, rng.clone()));
        let login =
            LoginService::new(store.clone(), Arc::clone(&hasher), &LockoutConfig::default(), clock.clone());
        let registration = RegistrationService::new(store.clone(), hasher, clock.clone(), rng);
        Self { store, pool, clock, login, registration }
    }

    pub(crate) async fn register(&self, email: &str, password: &str) -> RegistrationOutcome {
        self.registration.register(sign_up(email, password)).await.unwrap()
    }

    pub(crate) async fn log_in(&self, email: &str, password: &str) -> LoginOutcome {
        self.login.log_in(attempt(email, password)).await.unwrap()
    }
}

pub(crate) fn sign_up(email: &str, password: &str) -> SignUp {
    SignUp { email: email.to_owned(), password: Secret::new(password.to_owned()) }
}

pub(crate) fn attempt(email: &str, password: &str) -> Attempt {
    let network = std::net::IpAddr::from([192, 0, 2, 1]).into();
    Attempt { email: email.to_owned(), password: Secret::new(password.to_owned()), network }
}
