//! A store in memory, and the services on it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::future::{BoxFuture, ready};
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_crypto::credential::{CredentialKeys, Peppers};
use sluice_crypto::foreign_hash::ForeignHash;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig, QueueLimits};
use sluice_crypto::password_hash::Argon2Params;
use sluice_identity::config::{HardeningConfig, LimitsConfig, PasswordPolicy, RegistrationConfig};
use sluice_identity::hardening::{
    Backlog, HardenedCredential, HardeningMetrics, HardeningRepository, HardeningWorker, LeasedCredential,
};
use sluice_identity::mail::{CodeByMail, CodePurpose};
use sluice_identity::{
    Attempt, Identity, IdentityRepository, Limits, LockoutConfig, LoginNameHash, LoginOutcome, LoginService,
    Network, NewIdentity, PasswordHasher, PasswordRules, Registration, RegistrationLetters,
    RegistrationMails, RegistrationOutcome, RegistrationParts, RegistrationService, SignUp,
};
use sluice_primitives::{Clock, IdentityId, Lifetime, ManualClock, NetworkId, OsRng, Secret, Timestamp};
use sluice_store_contract::given;

#[derive(Default)]
pub(crate) struct FakeStore {
    pub(crate) people: Mutex<Vec<Identity>>,
    pub(crate) down: Mutex<bool>,
    /// Whether it registers people and answers too late.
    pub(crate) late: Mutex<bool>,
    /// Whether nothing more can be hardened or given up, for want of room.
    pub(crate) full: Mutex<bool>,
    /// How often it was asked for that.
    pub(crate) asked_for_room: AtomicUsize,
    pub(crate) reads: AtomicUsize,
    /// Whoever has this keeps it from replacing credentials, as commits that hang.
    pub(crate) replacing: tokio::sync::RwLock<()>,
    /// To whom a letter was written with a registration.
    pub(crate) letters: Mutex<Vec<IdentityId>>,
    leases: Mutex<HashMap<IdentityId, Timestamp>>,
    pub(crate) dead: Mutex<HashSet<IdentityId>>,
    /// Every credential that a worker brought back, whether it was taken or not.
    pub(crate) brought: Mutex<Vec<HardenedCredential>>,
}

impl FakeStore {
    fn check(&self) -> Result<(), StoreError> {
        if *self.down.lock() { Err(StoreError::Unavailable(None)) } else { Ok(()) }
    }

    fn check_room(&self) -> Result<(), StoreError> {
        self.check()?;
        self.asked_for_room.fetch_add(1, Ordering::Relaxed);
        let full = || StoreError::refused(io::Error::other("no space is left"));
        if *self.full.lock() { Err(full()) } else { Ok(()) }
    }

    fn first(&self, wanted: impl Fn(&&Identity) -> bool) -> Option<Identity> {
        self.people.lock().iter().find(wanted).cloned()
    }

    fn replace(&self, id: IdentityId, old: &str, new: &str) -> bool {
        let mut people = self.people.lock();
        let found = people.iter_mut().find(|known| known.id == id && known.credential == old);
        let Some(found) = found else { return false };
        new.clone_into(&mut found.credential);
        found.hardening = false;
        true
    }

    fn take(&self, new: NewIdentity) -> Result<Registration, StoreError> {
        self.check()?;
        let mut people = self.people.lock();
        let known = people.iter().find(|known| known.login_name == new.identity.login_name);
        if known.is_some_and(|known| known.attempt == new.identity.attempt) {
            return Ok(Registration::Registered);
        }
        let (is_taken, letters) = (known.is_some(), new.letters.as_deref());
        let letter = letters
            .and_then(|letters| if is_taken { letters.if_taken.as_ref() } else { Some(&letters.welcome) });
        self.letters.lock().extend(letter.map(|letter| letter.code.identity));
        if is_taken {
            return Ok(Registration::Taken);
        }
        people.push(new.identity);
        if *self.late.lock() { Err(StoreError::Unavailable(None)) } else { Ok(Registration::Registered) }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.people.lock().iter().filter(|known| known.hardening).count()
    }
}

#[async_trait]
impl IdentityRepository for FakeStore {
    fn register(&self, new: NewIdentity) -> BoxFuture<'_, Result<Registration, StoreError>> {
        Box::pin(ready(self.take(new)))
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
        let _replacing = self.replacing.read().await;
        Ok(self.replace(id, old, new))
    }
}

#[async_trait]
impl HardeningRepository for FakeStore {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedCredential>, StoreError> {
        self.check()?;
        let (people, mut leases, dead) = (self.people.lock(), self.leases.lock(), self.dead.lock());
        let due = |known: &&Identity| {
            known.hardening
                && !dead.contains(&known.id)
                && leases.get(&known.id).is_none_or(|until| *until <= now)
        };
        let mut due: Vec<_> = people.iter().filter(due).collect();
        due.sort_by_key(|known| leases.get(&known.id).copied().unwrap_or(known.created_at));
        due.truncate(usize::try_from(limit).unwrap());
        let leased: Vec<_> = due
            .iter()
            .map(|known| LeasedCredential { id: known.id, stored: known.credential.clone() })
            .collect();
        for taken in &leased {
            leases.insert(taken.id, now + lease);
        }
        Ok(leased)
    }

    async fn harden(&self, hardened: &[HardenedCredential]) -> Result<u64, StoreError> {
        self.check_room()?;
        self.brought.lock().extend_from_slice(hardened);
        let replaced = hardened.iter().filter(|one| self.replace(one.id, &one.old, &one.new)).count();
        Ok(u64::try_from(replaced).unwrap())
    }

    async fn give_up(&self, id: IdentityId, old: &str) -> Result<(), StoreError> {
        self.check_room()?;
        if self.first(|known| known.id == id && known.credential == old).is_some() {
            self.dead.lock().insert(id);
        }
        Ok(())
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let dead = u64::try_from(self.dead.lock().len()).unwrap();
        Ok(Backlog { waiting: u64::try_from(self.waiting()).unwrap() - dead, oldest: None, dead })
    }
}

/// Who has an address that is taken, as far as [`FakeMails`] knows.
pub(crate) const OWNER: IdentityId = IdentityId::from_bytes([7; 16]);

/// Writes letters in which nothing stands.
struct FakeMails;

impl RegistrationMails for FakeMails {
    fn letters(&self, identity: &Identity, conceals_taken: bool) -> Option<RegistrationLetters> {
        let letter =
            |to| CodeByMail { code: given::mail_code(to, CodePurpose::VerifyEmail), mail: given::mail(0) };
        let if_taken = conceals_taken.then(|| letter(OWNER));
        Some(RegistrationLetters { welcome: letter(identity.id), if_taken })
    }
}

/// What differs between worlds.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) passes: u32,
    /// What a hash needs, in KiB.
    pub(crate) memory_kib: u32,
    pub(crate) waiting: usize,
    pub(crate) threads: usize,
    /// The secrets of the peppers, the first one in force.
    pub(crate) peppers: Vec<u8>,
    /// The secret that seals at rest.
    pub(crate) storage: u8,
    pub(crate) registration: RegistrationConfig,
    pub(crate) limits: LimitsConfig,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            passes: 1,
            memory_kib: 64,
            waiting: 8,
            threads: 1,
            peppers: vec![8],
            storage: 7,
            registration: RegistrationConfig::default(),
            limits: LimitsConfig::default(),
        }
    }
}

pub(crate) struct World {
    pub(crate) store: Arc<FakeStore>,
    pub(crate) pool: Arc<HashPool>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) keys: CredentialKeys,
    pub(crate) params: Argon2Params,
    pub(crate) hasher: Arc<PasswordHasher>,
    pub(crate) login: LoginService,
    pub(crate) registration: RegistrationService,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(&Setup::default())
    }

    pub(crate) fn with(setup: &Setup) -> Self {
        Self::on(Arc::default(), setup)
    }

    /// On a store that is there already.
    pub(crate) fn on(store: Arc<FakeStore>, setup: &Setup) -> Self {
        let queues = QueueLimits { login: setup.waiting, ..QueueLimits::default() };
        let threads = NonZeroUsize::new(setup.threads).unwrap();
        let max_memory_kib = Argon2Params::MAX_MEMORY_KIB;
        let config = HashPoolConfig { threads, queues, max_memory_kib, ..HashPoolConfig::default() };
        let pool = Arc::new(HashPool::start(&config).unwrap());
        let rng = Arc::new(OsRng);
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000)));
        let params = Argon2Params::new(setup.memory_kib, setup.passes, 1).unwrap();
        let secrets: Vec<_> = setup.peppers.iter().map(|byte| Secret::new(vec![*byte; 32])).collect();
        let at_rest = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(vec![setup.storage; 32])]);
        let keys = CredentialKeys::new(Peppers::new(&secrets).unwrap(), Arc::new(at_rest));
        let hasher = Arc::new(PasswordHasher::new(keys.clone(), Arc::clone(&pool), params, rng.clone()));
        let limits = Arc::new(Limits::new(&setup.limits, &(clock.clone() as Arc<dyn Clock>)));
        let login = LoginService::new(
            store.clone(),
            Arc::clone(&hasher),
            Arc::clone(&limits),
            &LockoutConfig::default(),
            clock.clone(),
        )
        .verified_only(setup.registration.conceal_taken);
        let registration = RegistrationService::new(RegistrationParts {
            identities: store.clone(),
            hasher: Arc::clone(&hasher),
            rules: Arc::new(PasswordRules::new(&PasswordPolicy::default(), None)),
            limits,
            mails: Some(Arc::new(FakeMails)),
            config: setup.registration,
            clock: clock.clone(),
            rng,
        });
        Self { store, pool, clock, keys, params, hasher, login, registration }
    }

    pub(crate) fn worker(&self, config: HardeningConfig) -> HardeningWorker {
        HardeningWorker {
            repo: self.store.clone(),
            keys: self.keys.clone(),
            pool: Arc::clone(&self.pool),
            params: self.params,
            clock: self.clock.clone(),
            config,
            metrics: Arc::new(HardeningMetrics::default()),
        }
    }

    pub(crate) async fn register(&self, email: &str, password: &str) -> RegistrationOutcome {
        self.registration.register(sign_up(email, password)).await.unwrap()
    }

    pub(crate) async fn log_in(&self, email: &str, password: &str) -> LoginOutcome {
        self.login.log_in(attempt(email, password)).await.unwrap()
    }

    /// Gives the first person a password hash that another system made.
    pub(crate) fn import(&self, hash: &str) {
        let person = &mut self.store.people.lock()[0];
        person.credential = self.keys.foreign(person.id, &ForeignHash::parse(hash).unwrap(), &OsRng);
        person.hardening = false;
    }

    /// The stored credential of the first person.
    pub(crate) fn credential(&self) -> String {
        self.store.people.lock()[0].credential.clone()
    }

    /// How many slow hashes were computed in all.
    pub(crate) fn hashes(&self) -> u64 {
        self.pool.metrics().done_total()
    }
}

pub(crate) fn home() -> Network {
    IpAddr::from([192, 0, 2, 1]).into()
}

pub(crate) fn sign_up(email: &str, password: &str) -> SignUp {
    SignUp {
        email: email.to_owned(),
        username: "Alice".to_owned(),
        password: Secret::new(password.to_owned()),
        network: home(),
    }
}

pub(crate) fn attempt(email: &str, password: &str) -> Attempt {
    Attempt {
        email: email.to_owned(),
        password: Secret::new(password.to_owned()),
        network: home(),
        known_as: None,
    }
}
