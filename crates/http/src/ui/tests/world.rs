//! The routes of the pages, and a browser that visits them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CONTENT_TYPE, COOKIE, LOCATION, REFRESH};
use axum::http::{HeaderMap, Request, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sluice_crypto::Sealer;
use sluice_crypto::digest::MacKey;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig, QueueLimits};
use sluice_identity::account::{Claimant, MailProof};
use sluice_identity::factor::{FactorRepository, FactorsRequired};
use sluice_identity::proof_of_work::ProofOfWork;
use sluice_identity::{Identity, RegistrationOutcome, SignUp};
use sluice_oauth::Config;
use sluice_oauth::authorization::{Browser, SessionCookie};
use sluice_oauth::client::{AccessTokenStrategy, Client, ClientRepository};
use sluice_oauth::config::{
    Issuer, Lifetimes, Look, PageLanguage, Pages, PkcePolicy, Policies, ScopeStrategy,
};
use sluice_oauth::device::UserCodeKeys;
use sluice_oauth::discovery::Announced;
use sluice_oauth::flow::{
    AwaitingConsent, AwaitingLogin, BindingKey, BindingKeys, Decision, FlowSealer, KnownSession, Login,
    Request as FlowRequest, RequestDetails,
};
use sluice_oauth::logout::LogoutStep;
use sluice_primitives::{GrantId, IdentityId, Lifetime, ManualClock, OsRng, Secret, SessionId, Timestamp};
use sluice_protocol::{ClientId, Prompt, ResponseMode, ResponseType, Subject};
use sluice_store_contract::people::{Mailbox, People};
use sluice_store_contract::{MemoryStore, given};
use sluice_token::jwt::{BelowExt, HeaderType, ScopeClaim};
use tower::ServiceExt;

use super::parts::Parts;
use super::people::{links, mailed_code};
use crate::cookies::{CookiePolicy, SameSite};
use crate::ui::{UiState, routes};

pub(super) const ALICE: &str = "alice@example.com";
pub(super) const PASSWORD: &str = "correct horse";

pub(super) struct World {
    pub(super) ui: UiState,
    pub(super) pool: Arc<HashPool>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) flows: FlowSealer,
    pub(super) store: Arc<MemoryStore>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) key: BindingKey,
    pub(super) mail: Mailbox,
}

/// What came back.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The value of this parameter in the address that the browser is sent to.
    pub(super) fn sent_with(&self, parameter: &str) -> String {
        let url = match self.status {
            StatusCode::SEE_OTHER => self.header(LOCATION.as_str()),
            StatusCode::OK => self.header(REFRESH.as_str()).strip_prefix("0;url=").unwrap(),
            _ => panic!("{}", self.body),
        };
        let url: url::Url = url.parse().unwrap();
        url.query_pairs().find(|(name, _)| name == parameter).unwrap().1.into_owned()
    }

    /// The value of a hidden field.
    pub(super) fn field(&self, name: &str) -> String {
        self.after(&format!("name=\"{name}\" value=\""))
    }

    /// What stands between this and the next quotation mark, as a browser reads it.
    pub(super) fn after(&self, start: &str) -> String {
        let raw = self.body.split_once(start).unwrap_or_else(|| panic!("{start}: {}", self.body)).1;
        raw.split('"').next().unwrap().replace("&#34;", "\"").replace("&#38;", "&")
    }
}

pub(in crate::ui) fn config(issuer: &str, pages: impl FnOnce(&mut Pages)) -> Config {
    let issuer: Issuer = issuer.parse().unwrap();
    let own = |path: &str| issuer.endpoint(path).parse().unwrap();
    let mut config = Config {
        pages: Pages {
            service_name: "Sluice".to_owned(),
            look: Look::default(),
            login: own("/ui/login"),
            registration: own("/ui/registration"),
            consent: own("/ui/consent"),
            logout: own("/ui/logout"),
            device_verification: own("/ui/device"),
            device_success: own("/ui/device/success"),
            error: None,
            post_logout_redirect: None,
        },
        issuer,
        lifetimes: Lifetimes::default(),
        access_tokens: AccessTokenStrategy::Opaque,
        scopes: ScopeStrategy::Exact,
        pkce: PkcePolicy::default(),
        top_level_claims: Vec::new(),
        below_ext: BelowExt::Nothing,
        not_before: true,
        scope_claim: ScopeClaim::List,
        jwt_type: HeaderType::default(),
        default_client_scope: false,
        parked_quota: 100,
        announced: Announced::default(),
        policies: Policies::default(),
    };
    pages(&mut config.pages);
    config
}

fn cookies(sealer: Arc<Sealer>) -> CookiePolicy {
    CookiePolicy {
        secure: true,
        same_site: SameSite::Lax,
        session_name: "session".to_owned(),
        domain: None,
        session_path: "/".to_owned(),
        sealer,
    }
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with("https://id.example/", |_| {}).await
    }

    pub(super) async fn with(issuer: &str, pages: impl FnOnce(&mut Pages)) -> Self {
        Self::made(config(issuer, pages), sluice_identity::Config::default(), true).await
    }

    /// The same with people of other terms.
    pub(super) async fn of(change: impl FnOnce(&mut sluice_identity::Config)) -> Self {
        Self::of_with(change, |_| {}).await
    }

    /// The same with other pages, too.
    pub(super) async fn of_with(
        change: impl FnOnce(&mut sluice_identity::Config),
        pages: impl FnOnce(&mut Pages),
    ) -> Self {
        let mut people = sluice_identity::Config::default();
        change(&mut people);
        Self::made(config("https://id.example/", pages), people, true).await
    }

    pub(super) async fn without_mail() -> Self {
        let people = sluice_identity::Config::default();
        Self::made(config("https://id.example/", |_| {}), people, false).await
    }

    pub(super) async fn without_mail_that_requires_factors() -> Self {
        let required = FactorsRequired::Always;
        let people =
            sluice_identity::Config { factors_required: required, ..sluice_identity::Config::default() };
        Self::made(config("https://id.example/", |_| {}), people, false).await
    }

    /// Notes that this person must have a second factor; whether there is such a person.
    pub(super) async fn store_requires(&self, person: IdentityId) -> bool {
        self.store.require(person, true).await.unwrap()
    }

    async fn made(config: Config, people: sluice_identity::Config, sends_mail: bool) -> Self {
        let parts = Parts::of(config);
        let queues = QueueLimits { login: 1, ..QueueLimits::default() };
        let pool = HashPoolConfig { threads: NonZeroUsize::MIN, queues, ..HashPoolConfig::default() };
        let pool = Arc::new(HashPool::start(&pool).unwrap());
        let base = People {
            store: parts.store.clone(),
            clock: parts.clock.clone(),
            rng: parts.rng.clone(),
            sealer: parts.sealer.clone(),
            pool: pool.clone(),
            config: people,
            issuer: parts.config.issuer.as_str().to_owned(),
            links: links(&parts.config),
            sends_mail,
        };
        let people = base.services();
        let puzzles = base.config.proof_of_work;
        let (sealer, clock, rng) = (parts.sealer.clone(), parts.clock.clone(), parts.rng.clone());
        let ui = UiState {
            devices: Arc::new(parts.devices()),
            flows: Arc::new(parts.flows()),
            login: people.login,
            registration: people.registration,
            factors: people.factors,
            accounts: people.accounts,
            proof_of_work: Arc::new(ProofOfWork::new(puzzles, sealer, clock, rng)),
            rng: parts.rng.clone(),
            login_sessions: Arc::new(parts.login_sessions()),
            consents: Arc::new(parts.consents()),
            identities: parts.store.clone(),
            cookies: Arc::new(cookies(parts.sealer.clone())),
            logout: Arc::new(parts.logout().await),
            proxies: Arc::default(),
            config: parts.config.clone(),
            language: PageLanguage::ENGLISH,
        };
        let (flows, key, mail) = (parts.flow_sealer(), BindingKey::generate(&OsRng), base.mailbox());
        let Parts { clock, store, sealer, .. } = parts;
        let world = Self { ui, pool, clock, flows, store, sealer, key, mail };
        let client = Client { name: "<b>Shop</b>".to_owned(), ..given::client("shop", "owner") };
        world.store.insert(&client).await.unwrap();
        world
    }

    fn app(&self) -> Router {
        routes(self.ui.clone())
    }

    /// A request of the browser that the flows are bound to.
    pub(super) async fn send(&self, mut request: Request<Body>) -> Answer {
        let cookie = format!("__Host-sluice_binding={}", URL_SAFE_NO_PAD.encode(self.key.expose()));
        request.headers_mut().insert(COOKIE, cookie.parse().unwrap());
        self.send_without_cookie(request).await
    }

    /// Sends a request with the cookie that binds flows, and another.
    pub(super) async fn send_with(&self, mut request: Request<Body>, cookie: &str) -> Answer {
        let binding = format!("__Host-sluice_binding={}", URL_SAFE_NO_PAD.encode(self.key.expose()));
        request.headers_mut().insert(COOKIE, format!("{binding}; {cookie}").parse().unwrap());
        self.send_without_cookie(request).await
    }

    pub(super) async fn get_with(&self, target: &str, cookie: &str) -> Answer {
        self.send_with(Request::get(target).body(Body::empty()).unwrap(), cookie).await
    }

    pub(super) async fn send_without_cookie(&self, request: Request<Body>) -> Answer {
        let response = self.app().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(super) async fn get(&self, target: &str) -> Answer {
        self.send(Request::get(target).body(Body::empty()).unwrap()).await
    }

    pub(super) async fn post(&self, target: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(form(target, fields)).await
    }

    /// Where an answer leads within these pages, which is opened; the answer itself if it leads nowhere.
    pub(super) async fn follow(&self, answer: Answer) -> Answer {
        match answer.status {
            StatusCode::SEE_OTHER => self.get(answer.header(LOCATION.as_str())).await,
            _ => answer,
        }
    }

    /// Opens a page and posts its form with these fields.
    pub(super) async fn fill_in(&self, page: &str, fields: &[(&str, &str)]) -> Answer {
        let shown = self.get(page).await;
        assert_eq!(shown.status, StatusCode::OK, "{}", shown.body);
        let (path, query) = page.split_once('?').unwrap();
        let (name, value) = query.split_once('=').unwrap();
        let token = shown.field("csrf");
        let hidden = [(name, value), ("csrf", &token)];
        self.post(path, &[&hidden, fields].concat()).await
    }

    pub(super) async fn register_alice(&self) -> IdentityId {
        self.register(ALICE, "").await
    }

    /// Alice, who has read her mail: only then a second factor may be added.
    pub(super) async fn verified_alice(&self) -> IdentityId {
        let alice = self.register_alice().await;
        let code = Secret::new(mailed_code(self.mail.read().await.first().unwrap()));
        let proof = MailProof::Code { who: Claimant::Identity(alice), code };
        let network = std::net::IpAddr::from([192, 0, 2, 1]).into();
        self.ui.accounts.verify_email(&proof, network).await.unwrap();
        alice
    }

    pub(super) async fn register(&self, email: &str, username: &str) -> IdentityId {
        let sign_up = SignUp {
            email: email.to_owned(),
            username: username.to_owned(),
            password: Secret::new(PASSWORD.to_owned()),
            network: std::net::IpAddr::from([192, 0, 2, 1]).into(),
        };
        match self.ui.registration.register(sign_up).await.unwrap() {
            RegistrationOutcome::Registered(identity) => identity.id,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn request(&self) -> FlowRequest {
        let flow = GrantId::generate(self.now(), &OsRng);
        FlowRequest {
            flow,
            client: given::client_id("shop"),
            client_revision: 1,
            redirect_uri: "http://127.0.0.1:53112/cb".parse().unwrap(),
            redirect_uri_named: true,
            response_type: ResponseType { code: true, ..ResponseType::default() },
            response_mode: ResponseMode::Query,
            scope: given::scope("openid email profile offline_access"),
            audience: given::audience(&["api"]),
            state: Some("state-of-the-client".to_owned()),
            nonce: None,
            code_challenge: None,
            prompt: Prompt::default(),
            max_age: None,
            login_hint: None,
            acr_values: None,
            ui_locales: None,
            display: None,
            hinted_subject: None,
            details: RequestDetails::default(),
            requested_at: self.now(),
            binding: self.key.bind(flow),
            parked: None,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        sluice_primitives::Clock::now(&*self.clock)
    }

    /// A client that a document describes, and calls itself like another one.
    pub(super) async fn described_client(&self) -> ClientId {
        let client =
            Client { name: "Your bank".to_owned(), ..given::client("https://app.example/c.json", "") };
        self.store.insert(&client).await.unwrap();
        client.id
    }

    /// The page says of clients that nobody vouches for where they come from or lead to, and of no others.
    pub(super) async fn says_whom_nobody_vouches_for(&self, page: &str) {
        let unsaid = self.get(&self.at(page).await).await.body;
        assert!(!unsaid.contains("Whatever it calls itself"), "{unsaid}");
        let (stranger, described) = (self.stranger("", "").await, self.described_client().await);
        for (client, said) in [
            (stranger, "it registered itself, and takes you to <strong><bdi>127.0.0.1</bdi></strong>."),
            (described, "it comes from <strong><bdi>app.example</bdi></strong>."),
        ] {
            let request = FlowRequest { client, ..self.request() };
            let shown = self.get(&self.at_with(page, request, None).await).await;
            assert_eq!(shown.status, StatusCode::OK);
            assert!(
                shown.body.contains(&format!("Whatever it calls itself: {said}")),
                "{said}: {}",
                shown.body
            );
        }
    }

    /// A client that registered itself, and has this to read at its host and at another.
    pub(super) async fn stranger(&self, policy_uri: &str, tos_uri: &str) -> ClientId {
        let (policy_uri, tos_uri) = (policy_uri.to_owned(), tos_uri.to_owned());
        let client = Client {
            name: "Your bank".to_owned(),
            policy_uri,
            tos_uri,
            registered_itself: true,
            ..given::client("stranger", "")
        };
        self.store.insert(&client).await.unwrap();
        client.id
    }

    /// A client that may ask for details of this type.
    pub(super) async fn client_that_details(&self, of_type: &str) -> ClientId {
        let authorization_details_types = vec![of_type.to_owned()];
        let client = Client { authorization_details_types, ..given::client("detailing", "") };
        self.store.insert(&client).await.unwrap();
        client.id
    }

    /// A client that shows its users this as each of its links.
    pub(super) async fn client_that_shows(&self, link: &str) -> ClientId {
        let [client_uri, logo_uri, policy_uri, tos_uri] = [link; 4].map(str::to_owned);
        let client = Client { client_uri, logo_uri, policy_uri, tos_uri, ..given::client("linking", "") };
        self.store.insert(&client).await.unwrap();
        client.id
    }

    /// A login page's address.
    pub(super) async fn at(&self, page: &str) -> String {
        self.at_with(page, self.request(), None).await
    }

    pub(super) async fn at_with(&self, page: &str, request: FlowRequest, known: Option<Subject>) -> String {
        let session = SessionId::generate(self.now(), &OsRng);
        let authenticated_at = self.now() - Lifetime::hours(1);
        let amr = Vec::new();
        let known = known.map(|subject| KnownSession { id: session, subject, authenticated_at, amr });
        self.at_flow(page, AwaitingLogin { request, known, session }).await
    }

    /// The address of a login page whose browser was signed in an hour ago, by these methods.
    pub(super) async fn at_known(&self, request: FlowRequest, person: IdentityId, amr: &[&str]) -> String {
        let known = KnownSession {
            id: SessionId::generate(self.now(), &OsRng),
            subject: person.to_string().parse().unwrap(),
            authenticated_at: self.now() - Lifetime::hours(1),
            amr: amr.iter().map(|method| (*method).to_owned()).collect(),
        };
        let session = known.id;
        self.at_flow("/ui/login", AwaitingLogin { request, known: Some(known), session }).await
    }

    async fn at_flow(&self, page: &str, flow: AwaitingLogin) -> String {
        let sealed = self.flows.seal_login_challenge(&flow, (true, None)).await.unwrap();
        format!("{page}?login_challenge={sealed}")
    }

    pub(super) async fn identity(&self, id: IdentityId) -> Identity {
        self.ui.identities.find(id).await.unwrap().unwrap()
    }

    /// What became of the login.
    pub(super) async fn answered(&self, answer: &Answer) -> Decision<Login> {
        self.flows.open_login_verifier(&answer.sent_with("login_verifier")).await.unwrap().answer
    }

    pub(super) async fn accepted(&self, answer: &Answer) -> Login {
        match self.answered(answer).await {
            Decision::Accepted(login) => login,
            Decision::Rejected(rejection) => panic!("{rejection:?}"),
        }
    }

    pub(super) async fn rejected(&self, answer: &Answer) -> String {
        match self.answered(answer).await {
            Decision::Rejected(rejection) => rejection.error,
            Decision::Accepted(login) => panic!("{login:?}"),
        }
    }

    /// A consent page's address.
    pub(super) async fn at_consent(&self, subject: Subject, context: Option<Value>, skip: bool) -> String {
        self.at_consent_of(self.request(), (subject, context), skip).await
    }

    /// The address of the consent page for a request.
    pub(super) async fn at_consent_of(
        &self,
        request: FlowRequest,
        (subject, context): (Subject, Option<Value>),
        skip: bool,
    ) -> String {
        let login = Login {
            subject,
            session: SessionId::generate(self.now(), &OsRng),
            authenticated_at: self.now(),
            skipped: false,
            kept: false,
            remember: None,
            forget: false,
            at_least_until_closed: false,
            until_closed: false,
            extend: false,
            acr: None,
            amr: Vec::new(),
            context,
            forced_subject: None,
            provider_session: None,
        };
        let flow = AwaitingConsent { request, login, skip };
        format!("/ui/consent?consent_challenge={}", self.flows.seal_consent_challenge(&flow).await.unwrap())
    }

    /// A logout page's address.
    pub(super) async fn at_logout(&self, subject: Subject) -> String {
        self.at_logout_of_session(subject).await.0
    }

    /// A logout page's address, and the cookie of the session that it is about.
    pub(super) async fn at_logout_of_session(&self, subject: Subject) -> (String, String) {
        let session = SessionId::generate(self.now(), &OsRng);
        let cookie = SessionCookie {
            session,
            subject,
            authenticated_at: self.now(),
            remembered: true,
            until_closed: Some(false),
            former: Vec::new(),
        };
        let sealed = cookie.seal(&self.sealer, &OsRng);
        let browser = Browser {
            keys: BindingKeys(vec![self.key.clone()]),
            session: Some(sealed.clone()),
            ..Browser::default()
        };
        match self.ui.logout.begin(b"", &browser).await.unwrap() {
            LogoutStep::Confirm { page, .. } => {
                let page = page.trim_start_matches("https://id.example").to_owned();
                (page, format!("__Host-session={sealed}"))
            }
            LogoutStep::Again { .. } | LogoutStep::Done { .. } => panic!("there is a session to end"),
        }
    }
}

/// The keys under which user codes are kept.
pub(super) fn user_codes() -> UserCodeKeys {
    UserCodeKeys::new(MacKey::derive(&[7; 32], b"user codes"), Vec::new())
}

/// A form as a browser posts it.
pub(super) fn form(target: &str, fields: &[(&str, &str)]) -> Request<Body> {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(fields);
    let request = Request::post(target).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(Body::from(body.finish())).unwrap()
}
