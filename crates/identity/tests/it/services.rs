//! All services that people meet, on a store in memory, with a letterbox at the end of the mail.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_crypto::Sealer;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig};
use sluice_identity::account::{AccountService, Claimant, Confirmation, MailProof, Outcome, PasswordChange};
use sluice_identity::config::{Config, LimitsConfig, RegistrationConfig};
use sluice_identity::factor::FactorService;
use sluice_identity::identity::IdentityRepository;
use sluice_identity::mail::{MailDelivery, MailError, MailFate, MailTransport, RenderedMail};
use sluice_identity::session::{Caller, RefreshOutcome, SessionService, TokenPair};
use sluice_identity::{
    Attempt, Email, Identity, LoginOutcome, LoginService, Network, RegistrationOutcome, RegistrationParts,
    RegistrationService, SignUp,
};
use sluice_primitives::{Lifetime, ManualClock, NetworkId, Secret, SeededRng, SessionId, Timestamp};
use sluice_store_contract::MemoryStore;
use sluice_store_contract::people::{People, PeopleServices, account_links};
pub(crate) use sluice_store_contract::people::{mailed_code as code, mailed_token as token};
use sluice_token::{FeedFollower, RevocationSet};

use super::factor::world::site;

pub(crate) const ALICE: &str = "alice@example.com";
pub(crate) const BOB: &str = "bob@example.com";
pub(crate) const PASSWORD: &str = "correct horse";
/// How many mails the letterbox takes at once.
pub(crate) const AT_ONCE: u32 = 3;

pub(crate) struct Services {
    people: People,
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

/// Where mail arrives; or not.
#[derive(Default)]
pub(crate) struct Letterbox {
    mails: Mutex<Vec<RenderedMail>>,
    /// Set: no mail is taken.
    pub(crate) refuses: Mutex<Option<MailFate>>,
    /// Set: a mail to this address makes the program panic.
    pub(crate) panics_at: Mutex<Option<&'static str>>,
    /// Set: nothing is ever answered.
    pub(crate) hangs: AtomicBool,
    under_way: AtomicU32,
    /// How many mails were under way at once, at most.
    pub(crate) most_at_once: AtomicU32,
}

impl Letterbox {
    /// The mail that came first.
    pub(crate) fn first(&self) -> Option<RenderedMail> {
        self.nth(0)
    }

    /// The mail that came after so many others.
    pub(crate) fn nth(&self, place: usize) -> Option<RenderedMail> {
        self.mails.lock().get(place).cloned()
    }
}

#[async_trait]
impl MailTransport for Letterbox {
    async fn send(&self, mail: &RenderedMail) -> Result<(), MailError> {
        if let Some(fate) = *self.refuses.lock() {
            return Err(MailError { fate, cause: "the letterbox is shut".into() });
        }
        assert!(*self.panics_at.lock() != Some(&*mail.to), "a defect");
        if self.hangs.load(SeqCst) {
            std::future::pending::<()>().await;
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

    fn stop(&self) {
        *self.refuses.lock() = Some(MailFate::Untried);
    }
}

fn people() -> People {
    let pool_config = HashPoolConfig { threads: NonZeroUsize::MIN, ..HashPoolConfig::default() };
    let limits = LimitsConfig { exempt: Vec::new(), ..LimitsConfig::default() };
    People {
        store: Arc::new(MemoryStore::new()),
        clock: Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000))),
        rng: Arc::new(SeededRng::new(1)),
        sealer: Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())])),
        pool: Arc::new(HashPool::start(&pool_config).unwrap()),
        config: Config { limits, passkeys: Some(site()), ..Config::default() },
        issuer: "https://id.example.org".to_owned(),
        links: account_links("https://id.example.org"),
        sends_mail: true,
    }
}

impl Services {
    pub(crate) async fn new() -> Self {
        let people = people();
        let PeopleServices { sessions, login, factors, accounts: account, .. } = people.services();
        sessions.follower.catch_up().await.unwrap();
        let letterbox: Arc<Letterbox> = Arc::default();
        let delivery = people.delivery(letterbox.clone());
        let (store, clock, revocations) =
            (people.store.clone(), people.clock.clone(), sessions.revocations.clone());
        Self { people, store, clock, revocations, letterbox, sessions, login, account, factors, delivery }
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
        let parts = RegistrationParts {
            config: RegistrationConfig { conceal_taken, ..RegistrationConfig::default() },
            ..self.people.registration_parts(&self.account)
        };
        let service = RegistrationService::new(parts);
        let (email, password) = (email.to_owned(), secret(PASSWORD));
        let sign_up = SignUp { email, username: String::new(), password, network: network() };
        service.register(sign_up).await.unwrap()
    }

    pub(crate) async fn log_in(&self, email: &str, password: &str) -> LoginOutcome {
        let (email, password) = (email.to_owned(), secret(password));
        let attempt = Attempt { email, password, network: network(), known_as: None };
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
        let (caller, current, new) = (self.caller(alice, &["pwd"]).await, secret(current), secret(new));
        let confirmation = confirmation(&caller, Some(&current));
        let change = PasswordChange { confirmation, new: &new, keep };
        self.account.change_password(&change).await.unwrap()
    }

    /// Somebody who has signed in just now, in these ways.
    pub(crate) async fn caller(&self, identity: &Identity, amr: &[&str]) -> Caller {
        let amr: Vec<String> = amr.iter().map(|method| (*method).to_owned()).collect();
        let identity = self.store.find(identity.id).await.unwrap().unwrap();
        // Later than what was revoked just now.
        self.clock.advance(Lifetime::millis(1));
        let begun = self.sessions.begin(&identity, amr, "test/1.0", network()).await.unwrap();
        self.sessions.authenticate(begun.access_token.expose()).unwrap()
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

pub(crate) fn link(mail: &RenderedMail) -> MailProof {
    MailProof::Link(Secret::new(token(mail)))
}

pub(crate) fn typed(email: &str, code: &str) -> MailProof {
    MailProof::Code { who: Claimant::Email(email.to_owned()), code: secret(code) }
}

/// The sessions of a node that has never heard the feed.
pub(crate) fn deaf(services: &Services) -> SessionService {
    let follower =
        FeedFollower::new(services.store.clone(), Arc::clone(&services.revocations), services.clock.clone());
    SessionService { follower: Arc::new(follower), ..SessionService::clone(&services.sessions) }
}
