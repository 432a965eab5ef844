//! The routes of the identity API and of its administration, on a store in memory, and somebody who asks.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws_lc_rs::hmac;
use axum::Router;
use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, USER_AGENT};
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sluice_crypto::Sealer;
use sluice_crypto::credential::{CredentialKeys, Peppers};
use sluice_crypto::digest::MacKey;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig};
use sluice_crypto::paseto::PasetoKey;
use sluice_crypto::password_hash::Argon2Params;
use sluice_crypto::totp::TotpSecret;
use sluice_identity::account::{AccountConfig, AccountLinks, AccountService};
use sluice_identity::administration::IdentityAdministration;
use sluice_identity::config::{CodeConfig, Config, PasskeyConfig, PasswordPolicy, SessionConfig};
use sluice_identity::factor::{FactorParts, FactorService, RecoveryCodeKeys, RelyingParty};
use sluice_identity::identity::{IdentityChange, IdentityDirectory, IdentityRepository};
use sluice_identity::mail::{
    CodeKey, MailDelivery, MailError, MailMetrics, MailQueue, MailTemplates, MailTransport, RenderedMail,
};
use sluice_identity::proof_of_work::ProofOfWork;
use sluice_identity::session::{AccessTokenKeys, NoSigningKey, SessionService, SessionTerms};
use sluice_identity::{
    Email, Limits, LoginService, PasswordHasher, PasswordRules, RegistrationParts, RegistrationService,
};
use sluice_net::PeerAddress;
use sluice_primitives::{
    AttemptId, Clock, Lifetime, ManualClock, NetworkId, Rng, Secret, SeededRng, Timestamp,
};
use sluice_store_contract::{Limits as StoreLimits, MemoryStore};
use sluice_token::{FeedFollower, RevocationSet};
use tower::ServiceExt;

use crate::admin::identities;
use crate::identity::{IdentityState, routes};

pub(crate) const ALICE: &str = "alice@example.com";
pub(crate) const PASSWORD: &str = "correct horse";

pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) pool: Arc<HashPool>,
    delivery: MailDelivery,
    letterbox: Arc<Letterbox>,
    app: Router,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) json: Value,
}

/// The tokens of somebody who is signed in.
#[derive(Clone)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
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

#[derive(Default)]
struct Letterbox(Mutex<Vec<RenderedMail>>);

#[async_trait]
impl MailTransport for Letterbox {
    async fn send(&self, mail: &RenderedMail) -> Result<(), MailError> {
        self.0.lock().unwrap().push(mail.clone());
        Ok(())
    }
}

impl Answer {
    pub(crate) fn header(&self, name: HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and code of a problem.
    pub(crate) fn problem(&self) -> (u16, &str) {
        assert_eq!(self.header(CONTENT_TYPE), "application/problem+json", "{}", self.json);
        (self.status, self.json["code"].as_str().unwrap())
    }

    pub(crate) fn tokens(&self) -> Tokens {
        assert_eq!((self.status, &self.json["token_type"]), (200, &json!("Bearer")), "{}", self.json);
        let token = |name: &str| self.json[name].as_str().unwrap().to_owned();
        Tokens { access: token("access_token"), refresh: token("refresh_token") }
    }
}

/// What the services share.
struct Base {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    rng: Arc<SeededRng>,
    sealer: Arc<Sealer>,
    limits: Arc<Limits>,
    keys: CredentialKeys,
    hasher: Arc<PasswordHasher>,
    rules: Arc<PasswordRules>,
    mails: Option<Arc<MailQueue>>,
    config: Config,
}

impl Base {
    fn new(config: Config, sends_mail: bool, pool: &Arc<HashPool>) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000)));
        let store_limits = StoreLimits { deadline: Duration::from_millis(100), ..StoreLimits::default() };
        let store = Arc::new(MemoryStore::new().another_node(store_limits));
        let rng = Arc::new(SeededRng::new(1));
        let secrets = [Secret::new(b"secret".to_vec())];
        let sealer = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets));
        let keys = CredentialKeys::new(Peppers::new(&secrets).unwrap(), Arc::clone(&sealer));
        let params = Argon2Params::new(64, 1, 1).unwrap();
        let hasher = PasswordHasher::new(keys.clone(), Arc::clone(pool), params, rng.clone());
        let mails = MailQueue {
            outbox: store.clone(),
            sealer: Arc::clone(&sealer),
            clock: clock.clone(),
            rng: rng.clone(),
        };
        Self {
            limits: Arc::new(Limits::new(&config.limits, &(clock.clone() as Arc<dyn Clock>))),
            hasher: Arc::new(hasher),
            rules: Arc::new(PasswordRules::new(&PasswordPolicy::default(), None)),
            mails: sends_mail.then(|| Arc::new(mails)),
            store,
            clock,
            rng,
            sealer,
            keys,
            config,
        }
    }

    fn registration(&self, account: &Arc<AccountService>) -> RegistrationService {
        RegistrationService::new(RegistrationParts {
            identities: self.store.clone(),
            hasher: Arc::clone(&self.hasher),
            rules: Arc::clone(&self.rules),
            limits: Arc::clone(&self.limits),
            mails: self.mails.is_some().then(|| account.clone() as _),
            config: self.config.registration,
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        })
    }

    fn login(&self) -> LoginService {
        let (limits, lockout) = (Arc::clone(&self.limits), &self.config.lockout);
        LoginService::new(self.store.clone(), Arc::clone(&self.hasher), limits, lockout, self.clock.clone())
            .verified_only(self.config.registration.conceal_taken)
    }

    fn sessions(&self) -> SessionService {
        let revocations: Arc<RevocationSet> = Arc::default();
        let follower = FeedFollower::new(self.store.clone(), Arc::clone(&revocations), self.clock.clone());
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
            revocations,
            follower: Arc::new(follower),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        }
    }

    fn account(
        &self,
        sessions: &Arc<SessionService>,
        login: &Arc<LoginService>,
        factors: &Arc<FactorService>,
    ) -> AccountService {
        let page = |name: &str| format!("https://id.example.org/{name}").parse().unwrap();
        let links = AccountLinks {
            login: page("login"),
            verify: page("verify"),
            recover: page("recover"),
            change_email: page("change"),
        };
        AccountService {
            config: AccountConfig { links, codes: CodeConfig::default() },
            identities: self.store.clone(),
            codes: self.store.clone(),
            code_key: CodeKey::new(MacKey::derive(b"secret", b"codes")),
            mails: self.mails.clone(),
            sessions: Arc::clone(sessions),
            factors: Arc::clone(factors),
            login: Arc::clone(login),
            hasher: Arc::clone(&self.hasher),
            rules: Arc::clone(&self.rules),
            limits: Arc::clone(&self.limits),
            sealer: Arc::clone(&self.sealer),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        }
    }

    fn factors(&self) -> FactorService {
        let site = PasskeyConfig {
            rp_id: "id.example.org".to_owned(),
            rp_name: "Example".to_owned(),
            origins: vec!["https://id.example.org".parse().unwrap()],
        };
        FactorService::new(FactorParts {
            identities: self.store.clone(),
            factors: self.store.clone(),
            in_flight: Arc::clone(&self.sealer),
            at_rest: Arc::clone(&self.sealer),
            recovery_keys: RecoveryCodeKeys::derive(&[Secret::new(b"secret".to_vec())]).unwrap(),
            limits: Arc::clone(&self.limits),
            mails: self.mails.clone(),
            service_name: "Example".to_owned(),
            passkeys: Some(RelyingParty::new(&site).unwrap()),
            clock: self.clock.clone(),
            rng: self.rng.clone(),
        })
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

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        Self::made(config, (true, true)).await
    }

    pub(crate) async fn without_mail() -> Self {
        Self::made(Config::default(), (false, true)).await
    }

    /// A node that has not heard yet which sessions ended.
    pub(crate) async fn deaf() -> Self {
        Self::made(Config::default(), (true, false)).await
    }

    async fn made(config: Config, (sends_mail, hears): (bool, bool)) -> Self {
        let pool = HashPoolConfig { threads: NonZeroUsize::MIN, ..HashPoolConfig::default() };
        let pool = Arc::new(HashPool::start(&pool).unwrap());
        let base = Base::new(config, sends_mail, &pool);
        let (sessions, login) = (Arc::new(base.sessions()), Arc::new(base.login()));
        if hears {
            sessions.follower.catch_up().await.unwrap();
        }
        let factors = Arc::new(base.factors());
        let accounts = Arc::new(base.account(&sessions, &login, &factors));
        let (sealer, clock) = (Arc::clone(&base.sealer), base.clock.clone());
        let puzzles =
            ProofOfWork::new(base.config.proof_of_work, Arc::clone(&sealer), clock.clone(), base.rng.clone());
        let administration = IdentityAdministration {
            identities: base.store.clone(),
            sessions: Arc::clone(&sessions),
            factors: Arc::clone(&factors),
            keys: base.keys.clone(),
            max_memory_kib: 1024,
            rules: Arc::clone(&base.rules),
            mails: sends_mail.then(|| accounts.clone() as _),
            sealer,
            clock,
            rng: base.rng.clone(),
        };
        let people = IdentityState {
            registration: Arc::new(base.registration(&accounts)),
            login,
            sessions,
            accounts,
            factors,
            proof_of_work: Arc::new(puzzles),
            proxies: Arc::default(),
        };
        let letterbox = Arc::default();
        let delivery = base.delivery(&letterbox);
        let app = routes(Arc::new(people)).merge(identities::routes(Arc::new(administration)));
        Self { store: base.store, clock: base.clock, pool, delivery, letterbox, app }
    }

    /// The same with Alice, who is registered and has read her mail, and her tokens.
    pub(crate) async fn with_alice() -> (Self, Tokens) {
        let world = Self::new().await;
        assert_eq!(world.register(ALICE).await.status, 201);
        world.mails().await;
        let tokens = world.log_in(PASSWORD).await.tokens();
        (world, tokens)
    }

    /// Sends a request from a network of its own.
    pub(crate) async fn send(&self, mut request: Request<Body>) -> Answer {
        let peer = (IpAddr::from([192, 0, 2, 1]), 50_000).into();
        request.extensions_mut().insert(PeerAddress(peer));
        request.headers_mut().insert(USER_AGENT, "test/1.0".parse().unwrap());
        let (head, body) = self.app.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let json = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        Answer { status: head.status.as_u16(), headers: head.headers, json }
    }

    /// Asks with a body of JSON; `Null` is none.
    pub(crate) async fn ask(&self, method: &str, path: &str, token: &str, body: Value) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => {
                request = request.header(CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
        };
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, "", body).await
    }

    pub(crate) async fn register(&self, email: &str) -> Answer {
        let body = json!({"email": email, "username": "Alice", "password": PASSWORD});
        self.post("/auth/register", body).await
    }

    pub(crate) async fn log_in(&self, password: &str) -> Answer {
        self.post("/auth/login", json!({"email": ALICE, "password": password})).await
    }

    /// The mails that came.
    pub(crate) async fn mails(&self) -> Vec<RenderedMail> {
        while self.delivery.run(|| true).await.unwrap() > 0 {}
        std::mem::take(&mut *self.letterbox.0.lock().unwrap())
    }

    /// Alice is known to read her mail.
    pub(crate) async fn verify_alice(&self) {
        let login_name = ALICE.parse::<Email>().unwrap().login_name();
        let alice = self.store.find_by_login_name(&login_name).await.unwrap().unwrap();
        let now = self.clock.now();
        let change = IdentityChange {
            email_verified_at: Some(Some(now)),
            ..IdentityChange::of(&alice, now, AttemptId::from_bytes([3; 16]))
        };
        self.store.change(&change).await.unwrap();
    }

    /// Alice logs in with an authenticator app.
    pub(crate) async fn log_in_with(&self, secret: &TotpSecret) -> Tokens {
        let ticket = self.log_in(PASSWORD).await.json["login_ticket"].clone();
        let body = json!({"login_ticket": ticket, "totp": self.shown(secret)});
        self.post("/auth/login/factor", body).await.tokens()
    }

    /// Alice, whose address is verified then, enrols an authenticator app: its secret, and the answer.
    pub(crate) async fn enrol_app(&self, tokens: &Tokens) -> (TotpSecret, Answer) {
        self.verify_alice().await;
        let begun =
            self.ask("POST", "/auth/factors/totp", &tokens.access, json!({"password": PASSWORD})).await;
        let secret = TotpSecret::from_base32(begun.json["secret"].as_str().unwrap()).unwrap();
        let body = json!({"ticket": begun.json["ticket"], "code": self.shown(&secret), "name": "Phone"});
        let enrolled = self.ask("POST", "/auth/factors/totp/confirm", &tokens.access, body).await;
        (secret, enrolled)
    }

    /// What an authenticator app shows now (RFC 6238).
    pub(crate) fn shown(&self, secret: &TotpSecret) -> String {
        let step = (self.clock.now().as_secs() / 30).to_be_bytes();
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.expose());
        let tag = hmac::sign(&key, &step);
        let offset = usize::from(tag.as_ref()[19] & 0xf);
        let number = u32::from_be_bytes(tag.as_ref()[offset..offset + 4].try_into().unwrap());
        format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
    }
}

/// The code in a mail.
pub(crate) fn code(mail: &RenderedMail) -> String {
    mail.text.lines().find_map(|line| line.strip_prefix("    ")).unwrap().to_owned()
}

/// What the link in a mail carries.
pub(crate) fn token(mail: &RenderedMail) -> String {
    mail.text.split_once("?token=").unwrap().1.split_whitespace().next().unwrap().to_owned()
}
