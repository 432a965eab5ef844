//! The routes of the identity API and of its administration, on a store in memory, and somebody who asks.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, USER_AGENT};
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sluice_crypto::Sealer;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig};
use sluice_crypto::totp::TotpSecret;
use sluice_identity::Email;
use sluice_identity::administration::IdentityAdministration;
use sluice_identity::config::{Config, PasskeyConfig};
use sluice_identity::identity::{IdentityChange, IdentityDirectory, IdentityRepository};
use sluice_identity::mail::RenderedMail;
use sluice_identity::proof_of_work::ProofOfWork;
use sluice_net::PeerAddress;
use sluice_primitives::{AttemptId, Clock, ManualClock, NetworkId, Secret, SeededRng, Timestamp};
use sluice_store_contract::people::{Mailbox, People, PeopleServices, account_links};
pub(crate) use sluice_store_contract::people::{mailed_code as code, mailed_token as token};
use sluice_store_contract::{Limits as StoreLimits, MemoryStore};
use tower::ServiceExt;

use super::browsers::browsers;
use crate::admin::identities;
use crate::identity::{IdentityState, routes};

pub(crate) const ALICE: &str = "alice@example.com";
pub(crate) const PASSWORD: &str = "correct horse";

pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) pool: Arc<HashPool>,
    mailbox: Mailbox,
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
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000)));
        let store_limits = StoreLimits { deadline: Duration::from_millis(100), ..StoreLimits::default() };
        let store = Arc::new(MemoryStore::new().another_node(store_limits));
        let secrets = [Secret::new(b"secret".to_vec())];
        let sealer = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets));
        let base = People {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            rng: Arc::new(SeededRng::new(1)),
            sealer: Arc::clone(&sealer),
            pool: Arc::clone(&pool),
            config: Config { passkeys: Some(passkeys()), ..config },
            issuer: "https://id.example.org".to_owned(),
            links: account_links("https://id.example.org"),
            sends_mail,
        };
        let services = base.services();
        if hears {
            services.sessions.follower.catch_up().await.unwrap();
        }
        let app = router(&base, services);
        Self { store, clock, pool, mailbox: base.mailbox(), app }
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
        self.mailbox.read().await
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
        sluice_testkit::app_code(secret.expose(), self.clock.now().as_secs())
    }
}

fn passkeys() -> PasskeyConfig {
    PasskeyConfig {
        rp_id: "id.example.org".to_owned(),
        rp_name: "Example".to_owned(),
        origins: vec!["https://id.example.org".parse().unwrap()],
    }
}

fn router(base: &People, services: PeopleServices) -> Router {
    let PeopleServices { keys, rules, sessions, login, factors, accounts, registration } = services;
    let (sealer, clock, rng) = (Arc::clone(&base.sealer), base.clock.clone(), Arc::clone(&base.rng));
    let puzzles =
        ProofOfWork::new(base.config.proof_of_work, Arc::clone(&sealer), clock.clone(), rng.clone());
    let administration = IdentityAdministration {
        identities: base.store.clone(),
        sessions: Arc::clone(&sessions),
        factors: Arc::clone(&factors),
        keys,
        max_memory_kib: 1024,
        rules,
        mails: base.sends_mail.then(|| accounts.clone() as _),
        sealer,
        clock,
        rng,
    };
    let people = IdentityState {
        registration,
        login,
        sessions,
        accounts,
        factors,
        proof_of_work: Arc::new(puzzles),
        proxies: Arc::default(),
    };
    let browsers = Arc::new(browsers(&base.store, &base.clock));
    routes(Arc::new(people)).merge(identities::routes(Arc::new(administration), browsers))
}
