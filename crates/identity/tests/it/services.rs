//! All services that people meet, on a store in memory, with a letterbox at the end of the mail.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_crypto::Sealer;
use sluice_crypto::credential::{CredentialKeys, Peppers};
use sluice_crypto::digest::MacKey;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig};
use sluice_crypto::paseto::PasetoKey;
use sluice_crypto::password_hash::Argon2Params;
use sluice_identity::account::{
    AccountConfig, AccountLinks, AccountService, Claimant, Confirmation, MailProof, Outcome, PasswordChange,
};
use sluice_identity::config::{CodeConfig, LimitsConfig, PasswordPolicy, RegistrationConfig, SessionConfig};
use sluice_identity::factor::{FactorParts, FactorService, RecoveryCodeKeys};
use sluice_identity::identity::{IdentityDirectory, IdentityRepository};
use sluice_identity::mail::{
    CodeKey, MailDelivery, MailError, MailMetrics, MailQueue, MailTemplates, MailTransport, RenderedMail,
};
use sluice_identity::session::{
    AccessTokenKeys, Caller, NoSigningKey, RefreshOutcome, SessionService, SessionTerms, TokenPair, acr_of,
};
use sluice_identity::{
    Attempt, Email, Identity, Limits, LockoutConfig, LoginOutcome, LoginService, Network, PasswordHasher,
    PasswordRules, RegistrationOutcome, RegistrationParts, RegistrationService, SignUp,
};
use sluice_primitives::{
    Clock, Lifetime, ManualClock, NetworkId, Rng, Secret, SeededRng, SessionId, Timestamp,
};
use sluice_store_contract::MemoryStore;
use sluice_token::{FeedFollower, RevocationSet};

pub(crate) const ALICE: &str = "alice@example.com";
pub(crate) const BOB: &str = "bob@example.com";
pub(crate) const PASSWORD: &str = "correct horse";
/// How many mails the letterbox takes at once.
pub(crate) const AT_ONCE: u32 = 3;

pub(crate) struct Services {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) revocations: Arc<RevocationSet>,
    pub(crate) letterbox: Arc<Letterbox>,
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) login: Arc<LoginService>,
    pub(crate) account: Arc<AccountService>,
    pub(crate) factors: Arc<FactorService>,
    pub(crate) delivery: MailDelivery,
}

/// What the services share.
struct Base {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    rng: Arc<SeededRng>,
    sealer: Arc<Sealer>,
    limits: Arc<Limits>,
    hasher: Arc<PasswordHasher>,
}

struct PasetoKeys(PasetoKey);

impl AccessTokenKeys for PasetoKeys {
    fn sign(&self, payload: &[u8]) -> Result<String, NoSigningKey> {
        self.0.sign(payload, b"").map_err(|_| NoSigningKey)
    }

    fn verify(&self, token: &str) -> Option<Vec<u8>> {
        self.0.public().verify(token, b"").ok()
    }
}

/// Where mail arrives; or not.
#[derive(Default)]
pub(crate) struct Letterbox {
    mails: Mutex<Vec<RenderedMail>>,
    /// Set: no mail is taken; whether that is temporary.
    pub(crate) refuses: Mutex<Option<bool>>,
    under_way: AtomicU32,
    /// How many mails were under way at once, at most.
    pub(crate) most_at_once: AtomicU32,
}

impl Letterbox {
    /// The mail that came first.
    pub(crate) fn first(&self) -> Option<RenderedMail> {
        self.mails.lock().first().cloned()
    }
}

#[async_trait]
impl MailTransport for Letterbox {
    async fn send(&self, mail: &RenderedMail) -> Result<(), MailError> {
        if let Some(is_temporary) = *self.refuses.lock() {
            return Err(MailError { is_temporary, cause: "the letterbox is shut".into() });
        }
        let at_once = self.under_way.fetch_add(1, SeqCst) + 1;
        self.most_at_once.fetch_max(at_once, SeqCst);
        tokio::task::yield_now().await;
        self.under_way.fetch_sub(1, SeqCst);
        self.mails.lock().push(mail.clone());
        Ok(())
    }

    fn at_once(&self) -> u32 {
        AT_ONCE
    }
}

impl Base {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000)));
        let rng = Arc::new(SeededRng::new(1));
        let secrets = [Secret::new(b"secret".to_vec())];
        let sealer = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets));
        let pool_config = HashPoolConfig { threads: NonZeroUsize::MIN, ..HashPoolConfig::default() };
        let pool = Arc::new(HashPool::start(&pool_config).unwrap());
        let keys = CredentialKeys::new(Peppers::new(&secrets).unwrap(), Arc::clone(&sealer));
        let params = Argon2Params::new(64, 1, 1).unwrap();
        let hasher = Arc::new(PasswordHasher::new(keys, pool, params, rng.clone()));
        let limits = LimitsConfig { exempt: Vec::new(), ..LimitsConfig::default() };
        let limits = Arc::new(Limits::new(&limits, &(clock.clone() as Arc<dyn Clock>)));
        Self { store: Arc::new(MemoryStore::new()), clock, rng, sealer, limits, hasher }
    }

    fn sessions(&self, revocations: &Arc<RevocationSet>) -> SessionService {
        let follower = FeedFollower::new(self.store.clone(), Arc::clone(revocations), self.clock.clone());
        SessionService {
            terms: SessionTerms {
                issuer: "https://id.example.org".to_owned(),
                lifetimes: SessionConfig::default(),
                longest_token: Lifetime::hours(1),
            },
            sessions: self.store.clone(),
            identities: self.store.clone(),
            keys: Arc::new(PasetoKeys(PasetoKey::generate(&*self.rng).unwrap())),
            sealer: Arc::clone(&self.sealer),
            revocations: Arc::clone(revocations),
            follower: Arc::new(follower),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        }
    }

    fn queue(&self) -> Arc<MailQueue> {
        Arc::new(MailQueue {
            outbox: self.store.clone(),
            sealer: Arc::clone(&self.sealer),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        })
    }

    fn factors(&self) -> FactorService {
        FactorService::new(FactorParts {
            identities: self.store.clone(),
            factors: self.store.clone(),
            in_flight: Arc::clone(&self.sealer),
            at_rest: Arc::clone(&self.sealer),
            recovery_keys: RecoveryCodeKeys::derive(&[Secret::new(b"secret".to_vec())]).unwrap(),
            limits: Arc::clone(&self.limits),
            mails: Some(self.queue()),
            service_name: "Example".to_owned(),
            passkeys: None,
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        })
    }

    fn account(
        &self,
        sessions: &Arc<SessionService>,
        login: &Arc<LoginService>,
        factors: &Arc<FactorService>,
    ) -> AccountService {
        let page = |name: &str| format!("https://id.example.org/{name}").parse().unwrap();
        let (login_page, verify) = (page("login"), page("verify"));
        let links = AccountLinks {
            login: login_page,
            verify,
            recover: page("recover"),
            change_email: page("change"),
        };
        AccountService {
            config: AccountConfig { links, codes: CodeConfig::default() },
            identities: self.store.clone() as Arc<dyn IdentityDirectory>,
            codes: self.store.clone(),
            code_key: CodeKey::new(MacKey::derive(b"secret", b"codes")),
            mails: Some(self.queue()),
            sessions: Arc::clone(sessions),
            factors: Arc::clone(factors),
            login: Arc::clone(login),
            hasher: Arc::clone(&self.hasher),
            rules: Arc::new(PasswordRules::new(&PasswordPolicy::default(), None)),
            limits: Arc::clone(&self.limits),
            sealer: Arc::clone(&self.sealer),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        }
    }

    fn login(&self) -> LoginService {
        let (identities, limits) = (self.store.clone(), Arc::clone(&self.limits));
        let lockout = LockoutConfig::default();
        LoginService::new(identities, Arc::clone(&self.hasher), limits, &lockout, self.clock.clone())
    }

    fn delivery(&self, letterbox: &Arc<Letterbox>) -> MailDelivery {
        MailDelivery {
            outbox: self.store.clone(),
            transport: letterbox.clone(),
            templates: MailTemplates::new("Example"),
            sealer: Arc::clone(&self.sealer),
            metrics: Arc::new(MailMetrics::default()),
            clock: self.clock.clone(),
            rng: self.rng.clone() as Arc<dyn Rng>,
        }
    }
}

impl Services {
    pub(crate) async fn new() -> Self {
        let base = Base::new();
        let revocations: Arc<RevocationSet> = Arc::default();
        let sessions = Arc::new(base.sessions(&revocations));
        sessions.follower.catch_up().await.unwrap();
        let login = Arc::new(base.login());
        let factors = Arc::new(base.factors());
        let account = Arc::new(base.account(&sessions, &login, &factors));
        let letterbox: Arc<Letterbox> = Arc::default();
        let delivery = base.delivery(&letterbox);
        let Base { store, clock, .. } = base;
        Self { store, clock, revocations, letterbox, sessions, login, account, factors, delivery }
    }

    /// The same, with Alice and her first session. Her address is verified.
    pub(crate) async fn with_alice() -> (Self, Identity, TokenPair) {
        let services = Self::new().await;
        services.register(ALICE).await;
        let proof = link(&services.mail().await);
        services.account.verify_email(&proof, network()).await.unwrap();
        let alice = services.stored(ALICE).await;
        let pair = services.sign_in(ALICE, PASSWORD).await;
        (services, alice, pair)
    }

    pub(crate) async fn register(&self, email: &str) -> Identity {
        let outcome = self.sign_up(email, false).await;
        let RegistrationOutcome::Registered(identity) = outcome else { panic!("{outcome:?}") };
        *identity
    }

    pub(crate) async fn sign_up(&self, email: &str, conceal_taken: bool) -> RegistrationOutcome {
        let service = RegistrationService::new(RegistrationParts {
            identities: self.store.clone(),
            hasher: Arc::clone(&self.account.hasher),
            rules: Arc::clone(&self.account.rules),
            limits: Arc::clone(&self.account.limits),
            mails: Some(self.account.clone()),
            config: RegistrationConfig { conceal_taken, ..RegistrationConfig::default() },
            clock: self.clock.clone(),
            rng: Arc::clone(&self.account.rng),
        });
        let (email, password) = (email.to_owned(), secret(PASSWORD));
        let sign_up = SignUp { email, username: String::new(), password, network: network() };
        service.register(sign_up).await.unwrap()
    }

    pub(crate) async fn log_in(&self, email: &str, password: &str) -> LoginOutcome {
        let (email, password) = (email.to_owned(), secret(password));
        let attempt = Attempt { email, password, network: network(), known_browser: false };
        self.login.log_in(attempt).await.unwrap()
    }

    pub(crate) async fn sign_in(&self, email: &str, password: &str) -> TokenPair {
        let outcome = self.log_in(email, password).await;
        let LoginOutcome::LoggedIn(identity) = outcome else { panic!("{outcome:?}") };
        let amr = vec!["pwd".to_owned()];
        self.sessions.begin(&identity, amr, "test/1.0", network()).await.unwrap()
    }

    pub(crate) async fn refreshed(&self, pair: &TokenPair) -> Option<TokenPair> {
        match self.sessions.refresh(pair.refresh_token.expose()).await.unwrap() {
            RefreshOutcome::Refreshed(pair) => Some(pair),
            RefreshOutcome::Refused => None,
        }
    }

    pub(crate) fn holds(&self, pair: &TokenPair) -> bool {
        self.sessions.authenticate(pair.access_token.expose()).is_ok()
    }

    pub(crate) async fn change_password(
        &self,
        alice: &Identity,
        (current, new): (&str, &str),
        keep: Option<SessionId>,
    ) -> Outcome<Option<TokenPair>> {
        let (caller, current, new) = (self.caller(alice, &["pwd"]), secret(current), secret(new));
        let confirmation = confirmation(&caller, Some(&current));
        let change = PasswordChange { confirmation, new: &new, keep };
        self.account.change_password(&change).await.unwrap()
    }

    /// Somebody who has signed in just now, in these ways.
    pub(crate) fn caller(&self, identity: &Identity, amr: &[&str]) -> Caller {
        let amr: Vec<String> = amr.iter().map(|method| (*method).to_owned()).collect();
        let (session, authenticated_at) = (SessionId::from_bytes([5; 16]), self.clock.now());
        Caller { identity: identity.id, session, authenticated_at, acr: acr_of(&amr).to_owned(), amr }
    }

    pub(crate) async fn stored(&self, email: &str) -> Identity {
        let login_name = email.parse::<Email>().unwrap().login_name();
        self.store.find_by_login_name(&login_name).await.unwrap().unwrap()
    }

    /// Delivers what is due, and takes what came.
    pub(crate) async fn new_mails(&self) -> Vec<RenderedMail> {
        while self.delivery.run(|| true).await.unwrap() > 0 {}
        std::mem::take(&mut *self.letterbox.mails.lock())
    }

    /// The one mail that is there.
    pub(crate) async fn mail(&self) -> RenderedMail {
        let mut mails = self.new_mails().await;
        assert_eq!(mails.len(), 1, "{:?}", mails.iter().map(|mail| &mail.subject).collect::<Vec<_>>());
        mails.remove(0)
    }
}

/// What a caller shows once more.
pub(crate) fn confirmation<'a>(caller: &'a Caller, password: Option<&'a Secret<String>>) -> Confirmation<'a> {
    Confirmation { caller, password, factor: None, network: network() }
}

pub(crate) fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

pub(crate) fn network() -> Network {
    std::net::IpAddr::from([192, 0, 2, 1]).into()
}

/// The code in a mail.
pub(crate) fn code(mail: &RenderedMail) -> String {
    mail.text.lines().find_map(|line| line.strip_prefix("    ")).unwrap().to_owned()
}

/// What the link in a mail carries.
pub(crate) fn token(mail: &RenderedMail) -> String {
    mail.text.split_once("?token=").unwrap().1.split_whitespace().next().unwrap().to_owned()
}

pub(crate) fn link(mail: &RenderedMail) -> MailProof {
    MailProof::Link(Secret::new(token(mail)))
}

pub(crate) fn typed(email: &str, code: &str) -> MailProof {
    MailProof::Code { who: Claimant::Email(email.to_owned()), code: secret(code) }
}

/// The sessions of a node that has never heard the feed.
pub(crate) fn deaf(services: &Services) -> SessionService {
    let of = &services.sessions;
    let follower =
        FeedFollower::new(services.store.clone(), Arc::clone(&services.revocations), services.clock.clone());
    SessionService {
        terms: of.terms.clone(),
        sessions: Arc::clone(&of.sessions),
        identities: Arc::clone(&of.identities),
        keys: Arc::clone(&of.keys),
        sealer: Arc::clone(&of.sealer),
        revocations: Arc::clone(&of.revocations),
        follower: Arc::new(follower),
        clock: services.clock.clone(),
        rng: Arc::clone(&of.rng),
    }
}
