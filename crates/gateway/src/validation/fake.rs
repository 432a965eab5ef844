//! Issuers for tests: this installation, and another one that answers on loopback.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, StatusCode, Uri};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sluice_crypto::jwk::{Jwk, JwkSet, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, VerifiedJws, VerifyingKey, verify};
use sluice_crypto::paseto::PasetoKey;
use sluice_crypto::{Sealer, SystemSecret};
use sluice_net::{FetchPolicy, Fetcher};
use sluice_primitives::{
    Clock, GrantId, IdentityId, Lifetime, ManualClock, NetworkId, OsRng, Secret, SessionId, Timestamp,
};
use sluice_token::claims::{Extra, RareClaims};
use sluice_token::jwt::{BelowExt, HeaderType, JwtLayout, ScopeClaim};
use sluice_token::{AccessTokenClaims, PersonTokenClaims, RevocationSet, TokenId, jwt, paseto, sealed};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::*;
use crate::authn::Caller;
use crate::route::{RoutePolicy, StalePolicy};

/// Who calls, where it does not matter.
pub(super) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(super) const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// A signing key, the same for each name.
pub(super) fn key(kid: &str, algorithm: SigningAlgorithm) -> Jwk {
    static KEYS: LazyLock<Mutex<HashMap<(String, SigningAlgorithm), Jwk>>> = LazyLock::new(Mutex::default);
    let new = || Jwk::generate(algorithm, kid.to_owned(), RsaSize::Bits2048).unwrap();
    KEYS.lock().entry((kid.to_owned(), algorithm)).or_insert_with(new).clone()
}

/// How another issuer feels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Well,
    /// It answers 503.
    Broken,
    /// It answers with this status and `error`.
    Complaining(u16, &'static str),
    /// It takes requests and does not answer.
    Silent,
    /// It answers when it is told to.
    Waiting,
}

/// Another issuer.
pub(super) struct FakeIssuer {
    pub(super) url: String,
    pub(super) keys: Mutex<Vec<Jwk>>,
    /// Which document has the metadata.
    pub(super) metadata_path: Mutex<&'static str>,
    pub(super) claimed_issuer: Mutex<Option<String>>,
    /// Where its metadata say that the keys are, if not where they are.
    pub(super) claimed_jwks_uri: Mutex<Option<String>>,
    pub(super) max_age: AtomicU32,
    pub(super) mood: Mutex<Mood>,
    pub(super) gate: Semaphore,
    /// How often somebody connected.
    pub(super) connections: AtomicU32,
    pub(super) keys_asked: AtomicU32,
    pub(super) tokens: Mutex<HashMap<String, Value>>,
    pub(super) tokens_asked: AtomicU32,
    /// The last question about a token.
    pub(super) question: Mutex<(HeaderMap, String)>,
}

impl FakeIssuer {
    pub(super) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let this = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            keys: Mutex::new(vec![key("one", SigningAlgorithm::ES256)]),
            metadata_path: Mutex::new("/.well-known/openid-configuration"),
            claimed_issuer: Mutex::default(),
            claimed_jwks_uri: Mutex::default(),
            max_age: AtomicU32::new(600),
            mood: Mutex::new(Mood::Well),
            gate: Semaphore::new(0),
            connections: AtomicU32::new(0),
            keys_asked: AtomicU32::new(0),
            tokens: Mutex::default(),
            tokens_asked: AtomicU32::new(0),
            question: Mutex::default(),
        });
        let (app, counting) = (axum::Router::new().fallback(Self::answer), Arc::clone(&this));
        let app = app.with_state(Arc::clone(&this));
        let listener = listener.tap_io(move |_| {
            counting.connections.fetch_add(1, Ordering::SeqCst);
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        this
    }

    async fn answer(State(this): State<Arc<Self>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
        match uri.path() {
            "/jwks" => this.keys_asked.fetch_add(1, Ordering::SeqCst),
            "/introspect" => this.tokens_asked.fetch_add(1, Ordering::SeqCst),
            _ => 0,
        };
        let mood = *this.mood.lock();
        match mood {
            Mood::Well => {}
            Mood::Broken => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Mood::Complaining(status, error) => {
                let complaint = axum::Json(json!({ "error": error }));
                return (StatusCode::from_u16(status).unwrap(), complaint).into_response();
            }
            Mood::Silent => return std::future::pending().await,
            Mood::Waiting => this.gate.acquire().await.unwrap().forget(),
        }
        match uri.path() {
            "/jwks" => {
                let set = JwkSet { keys: this.keys.lock().iter().map(Jwk::public).collect() };
                let max_age = format!("max-age={}", this.max_age.load(Ordering::SeqCst));
                ([(CACHE_CONTROL, max_age)], axum::Json(set)).into_response()
            }
            "/introspect" => this.introspect(headers, &body).into_response(),
            path if path == *this.metadata_path.lock() => {
                let issuer = this.claimed_issuer.lock().clone().unwrap_or_else(|| this.url.clone());
                let jwks_uri = this.claimed_jwks_uri.lock().clone();
                let jwks_uri = jwks_uri.unwrap_or_else(|| format!("{}/jwks", this.url));
                axum::Json(json!({ "issuer": issuer, "jwks_uri": jwks_uri })).into_response()
            }
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn introspect(&self, headers: HeaderMap, body: &[u8]) -> axum::Json<Value> {
        let form: HashMap<_, _> = url::form_urlencoded::parse(body).into_owned().collect();
        *self.question.lock() = (headers, String::from_utf8(body.to_vec()).unwrap());
        let known = self.tokens.lock().get(&form["token"]).cloned();
        axum::Json(known.unwrap_or_else(|| json!({ "active": false })))
    }

    pub(super) fn keys_asked(&self) -> u32 {
        self.keys_asked.load(Ordering::SeqCst)
    }

    pub(super) fn tokens_asked(&self) -> u32 {
        self.tokens_asked.load(Ordering::SeqCst)
    }

    /// The issuer of JWTs, as it is configured.
    pub(super) fn of_jwts(&self, name: &str) -> IssuerConfig {
        let jwt = JwtConfig { timeout: Duration::from_millis(300), ..JwtConfig::default() };
        IssuerConfig { jwt: Some(jwt), ..IssuerConfig::new(name, &self.url) }
    }

    /// The issuer of opaque tokens, as it is configured.
    pub(super) fn of_opaque(&self, name: &str) -> IssuerConfig {
        let endpoint = format!("{}/introspect", self.url).parse().unwrap();
        let client = IntrospectionClient::Basic("gate way".to_owned(), Secret::new("s:cret".to_owned()));
        let introspection = IntrospectionConfig {
            timeout: Duration::from_millis(300),
            ..IntrospectionConfig::new(endpoint, client)
        };
        IssuerConfig { introspection: Some(introspection), ..IssuerConfig::new(name, &self.url) }
    }

    /// The claims of a good token of this issuer.
    pub(super) fn claims(&self) -> Value {
        json!({
            "iss": self.url, "sub": "alice", "client_id": "shop", "scope": "read", "aud": "orders",
            "iat": START.as_secs(), "exp": START.as_secs() + 3_600,
        })
    }

    /// A good token with these claims changed; `null` takes one away.
    pub(super) fn token(&self, change: &Value) -> String {
        signed(&key("one", SigningAlgorithm::ES256), Some("at+jwt"), &changed(self.claims(), change))
    }
}

pub(super) fn changed(mut claims: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

/// The URL of a port that refuses connections for as long as the socket is there.
pub(super) fn refusing() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    (socket, url)
}

pub(super) fn signed(key: &Jwk, typ: Option<&str>, claims: &Value) -> String {
    SigningKey::from_jwk(key).unwrap().sign(typ, claims.to_string().as_bytes()).unwrap()
}

/// The keys of this installation, which may change.
pub(super) struct Keys {
    pub(super) jwt: Mutex<Vec<Jwk>>,
    pub(super) paseto: PasetoKey,
    pub(super) generation: AtomicU64,
    pub(super) verified: AtomicU32,
    /// The longest life of an access token.
    pub(super) longest: Mutex<Lifetime>,
    /// The same of a token of the identity API.
    pub(super) longest_of_persons: Mutex<Lifetime>,
    /// What tokens name as their issuer.
    pub(super) issuer: Mutex<String>,
    /// How often others were looked for.
    pub(super) looked_again: AtomicU32,
}

impl OwnKeys for Keys {
    fn verify_jwt(&self, token: &str) -> Option<VerifiedJws> {
        self.verified.fetch_add(1, Ordering::SeqCst);
        let keys: Vec<_> =
            self.jwt.lock().iter().map(|key| VerifyingKey::from_jwk(&key.public()).unwrap()).collect();
        verify(token, &keys, &SigningAlgorithm::ALL).ok()
    }

    fn verify_paseto(&self, token: &str) -> Option<Vec<u8>> {
        self.verified.fetch_add(1, Ordering::SeqCst);
        self.paseto.public().verify(token, NETWORK.as_bytes()).ok()
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    fn longest_access_token(&self) -> Lifetime {
        *self.longest.lock()
    }

    fn longest_person_token(&self) -> Lifetime {
        *self.longest_of_persons.lock()
    }

    fn is_issuer(&self, claimed: &str) -> bool {
        *self.issuer.lock() == claimed
    }

    fn issuer(&self) -> Option<String> {
        Some(self.issuer.lock().clone())
    }

    fn look_again(&self) {
        self.looked_again.fetch_add(1, Ordering::SeqCst);
    }
}

/// How old the knowledge is, in milliseconds.
pub(super) struct Age(pub(super) AtomicI64);

impl Freshness for Age {
    fn age(&self, _: Timestamp) -> Lifetime {
        Lifetime::from(Duration::from_millis(self.0.load(Ordering::SeqCst).unsigned_abs()))
    }
}

/// The authorization server, asked about its own tokens.
#[derive(Default)]
pub(super) struct FakeAuthority {
    pub(super) fault: Mutex<Option<TokenFault>>,
    pub(super) asked: AtomicU32,
    /// Revoked while it is asked.
    pub(super) meanwhile: Mutex<Option<sluice_token::Marker>>,
    pub(super) revocations: Arc<RevocationSet>,
}

impl Authority for FakeAuthority {
    fn introspect(&self, _: &str) -> BoxedValidation {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(marker) = &*self.meanwhile.lock() {
            self.revocations.apply(marker);
        }
        let answer = match *self.fault.lock() {
            Some(fault) => Err(fault),
            None => Ok(Arc::new(Caller::Own(Box::new(claims())))),
        };
        Box::pin(std::future::ready(answer))
    }
}

pub(super) const NETWORK: NetworkId = NetworkId::from_bytes([9; 16]);

pub(super) fn sealer() -> Sealer {
    Sealer::new(NETWORK, &[SystemSecret::new(b"a secret of this installation".to_vec())])
}

/// What a good token of this installation says.
pub(super) fn claims() -> AccessTokenClaims {
    AccessTokenClaims {
        id: TokenId::from_bytes([1; 16]),
        grant: GrantId::from_bytes([2; 16]),
        client: "shop".parse().unwrap(),
        subject: Some("alice".parse().unwrap()),
        session: Some(SessionId::from_bytes([3; 16])),
        scope: "read write".parse().unwrap(),
        audience: vec!["orders".to_owned()],
        issued_at: START,
        expires_at: START + Lifetime::minutes(60),
        authenticated_at: START,
        consented_at: START,
        extra: Extra::None,
        userinfo: Extra::InGrant,
        rare: RareClaims::default(),
    }
}

/// This installation with a gateway, and the issuers it is told about.
pub(super) struct World {
    pub(super) validation: Validation,
    /// The issuers of the table in force.
    issuers: Mutex<Vec<Arc<IssuerConfig>>>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) sealer: Arc<ArcSwap<Sealer>>,
    pub(super) keys: Arc<Keys>,
    pub(super) revocations: Arc<RevocationSet>,
    pub(super) age: Arc<Age>,
    pub(super) authority: Arc<FakeAuthority>,
}

impl World {
    pub(super) fn new(issuers: &[IssuerConfig]) -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let sealer = Arc::new(ArcSwap::from_pointee(sealer()));
        let keys = Arc::new(Keys {
            jwt: Mutex::new(vec![key("own", SigningAlgorithm::EdDSA)]),
            paseto: PasetoKey::from_seed(&[7; 32]).unwrap(),
            generation: AtomicU64::new(0),
            verified: AtomicU32::new(0),
            longest: Mutex::new(Lifetime::FOREVER),
            longest_of_persons: Mutex::new(Lifetime::FOREVER),
            issuer: Mutex::new("https://id.example".to_owned()),
            looked_again: AtomicU32::new(0),
        });
        let revocations = Arc::new(RevocationSet::default());
        let age = Arc::new(Age(AtomicI64::new(0)));
        let authority = FakeAuthority { revocations: Arc::clone(&revocations), ..FakeAuthority::default() };
        let authority = Arc::new(authority);
        let local = LocalParts {
            sealer: Arc::clone(&sealer),
            keys: keys.clone(),
            revocations: Arc::clone(&revocations),
            freshness: age.clone(),
            max_age: Lifetime::secs(10),
            authority: Some(authority.clone()),
        };
        let policy = FetchPolicy { allow_private: true, ..FetchPolicy::default() };
        let parts = ValidationParts {
            local: Some(local),
            fetcher: Arc::new(Fetcher::new(policy).unwrap()),
            runtime: Handle::current(),
            clock: clock.clone(),
            cache_entries: NonZeroUsize::new(100).unwrap(),
        };
        let issuers = shared(issuers);
        let validation = Validation::new(parts, &issuers);
        let issuers = Mutex::new(issuers);
        Self { validation, issuers, clock, sealer, keys, revocations, age, authority }
    }

    /// Whether a token holds now, for a route with these issuers.
    pub(super) async fn validate(&self, issuers: &[&str], token: &str) -> Result<Arc<Caller>, TokenFault> {
        self.validate_for(&self.policy(issuers), token).await
    }

    pub(super) async fn validate_for(
        &self,
        policy: &RoutePolicy,
        token: &str,
    ) -> Result<Arc<Caller>, TokenFault> {
        settled(self.asked(policy, token, CLIENT)).await
    }

    /// Whether a token holds now that comes from this client.
    pub(super) fn asked(&self, policy: &RoutePolicy, token: &str, client: IpAddr) -> Validated {
        self.validation.validate(self.question(policy, token, client))
    }

    /// The same on a connection that was used with other tokens, or this one, before.
    pub(super) fn asked_on(&self, last: &LastToken, policy: &RoutePolicy, token: &str) -> Validated {
        self.validation.validate(Question { last: Some(last), ..self.question(policy, token, CLIENT) })
    }

    fn question<'a>(&self, policy: &'a RoutePolicy, token: &'a str, client: IpAddr) -> Question<'a> {
        Question { token, policy, route: "orders", now: self.clock.now(), client, last: None }
    }

    /// The policy of a route with these issuers, of the table in force.
    pub(super) fn policy(&self, issuers: &[&str]) -> RoutePolicy {
        let known = self.issuers.lock();
        let named = |name: &&str| known.iter().find(|issuer| *issuer.name == **name).cloned();
        RoutePolicy {
            issuers: issuers.iter().map(|name| Arc::from(*name)).collect(),
            foreign_issuers: issuers.iter().filter_map(named).collect(),
            ..RoutePolicy::default()
        }
    }

    /// Puts a table with these issuers in force; validation has not heard of it yet.
    pub(super) fn replace(&self, issuers: &[IssuerConfig]) {
        *self.issuers.lock() = shared(issuers);
    }

    /// The same, and validation has.
    pub(super) fn reload(&self, issuers: &[IssuerConfig]) {
        self.replace(issuers);
        self.validation.keep_only(&self.issuers.lock());
    }

    /// What is said at once, without waiting for anybody.
    pub(super) fn at_once(&self, issuers: &[&str], token: &str) -> Option<Result<Arc<Caller>, TokenFault>> {
        match self.asked(&self.policy(issuers), token, CLIENT) {
            Validated::Now(outcome) => Some(outcome),
            Validated::Later(_) => None,
        }
    }

    pub(super) fn sealed(&self, claims: &AccessTokenClaims) -> String {
        sealed::write(claims, &self.sealer.load(), &OsRng)
    }

    pub(super) fn jwt(&self, claims: &AccessTokenClaims) -> String {
        self.jwt_of_type(HeaderType::AccessToken, claims)
    }

    pub(super) fn jwt_of_type(&self, typ: HeaderType, claims: &AccessTokenClaims) -> String {
        let layout = JwtLayout {
            typ,
            issuer: "https://id.example".to_owned(),
            top_level: Vec::new(),
            below_ext: BelowExt::All,
            not_before: false,
            scope_claim: ScopeClaim::Text,
        };
        let key = SigningKey::from_jwk(&self.keys.jwt.lock()[0]).unwrap();
        jwt::write(claims, &Map::new(), &layout, &key, (&self.sealer.load(), &OsRng)).unwrap()
    }

    pub(super) fn paseto(&self, issuer: &str) -> String {
        let claims = PersonTokenClaims {
            issuer: issuer.to_owned(),
            subject: IdentityId::from_bytes([4; 16]),
            audience: "https://id.example/auth".to_owned(),
            expires_at: START + Lifetime::minutes(10),
            issued_at: START,
            id: [5; 16],
            session: SessionId::from_bytes([6; 16]),
            authenticated_at: START,
            amr: vec!["pwd".to_owned()],
            acr: "aal1".to_owned(),
        };
        self.keys.paseto.sign(&paseto::write(&claims).unwrap(), NETWORK.as_bytes()).unwrap()
    }

    pub(super) fn verified(&self) -> u32 {
        self.keys.verified.load(Ordering::SeqCst)
    }
}

fn shared(issuers: &[IssuerConfig]) -> Vec<Arc<IssuerConfig>> {
    issuers.iter().cloned().map(Arc::new).collect()
}

pub(super) fn policy_when_stale(stale: StalePolicy) -> RoutePolicy {
    RoutePolicy { stale, ..RoutePolicy::default() }
}

pub(super) async fn settled(validated: Validated) -> Result<Arc<Caller>, TokenFault> {
    match validated {
        Validated::Now(outcome) => outcome,
        Validated::Later(outcome) => outcome.await,
    }
}
