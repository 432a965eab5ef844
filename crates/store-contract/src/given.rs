//! Values to store, and short ways to store them. All times count from [`at`]`(0)`.

use serde_json::{Map, json};
use sluice_commit::StoreError;
use sluice_crypto::jwk::{Jwk, PrivateMember};
use sluice_oauth::client::{
    AuthMethod, Client, ClientSecurity, Lifespans, LogoutSessions, RequestDefaults, ResponseFormats,
    Software, TokenExchangePolicy,
};
use sluice_oauth::consent::RememberedConsent;
use sluice_oauth::device::DeviceCode;
use sluice_oauth::grant::{
    Generation, Grant, GrantClaims, GrantRepository, Insertion, MadeIn, RedeemCode, Redemption, Replaced,
    Requested, RotateRefresh, Rotation, SecondTime,
};
use sluice_oauth::login_session::{LoginOrigin, LoginSession};
use sluice_oauth::trust::TrustedIssuer;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{AttemptId, GrantId, Lifetime, OsRng, SessionId, Timestamp, TrustId};
use sluice_protocol::{Audience, ClientId, Scope, Subject};
use sluice_token::{Feed, FeedPosition, Marker, Target};

mod people;

pub use people::{
    begun, change, changed, enroller, factor, has_session, identity, identity_id, identity_session,
    login_name, mail, mail_code, marked_person, new_email, person, recovery_codes, registered,
    session_rotation, with_first,
};

const START: i64 = 1_750_000_000;

/// How long after a rotation the predecessor is answered again, in these tests.
pub const WINDOW: Lifetime = Lifetime::secs(30);

/// So many seconds after the start.
pub const fn at(secs: i64) -> Timestamp {
    Timestamp::from_secs(START + secs)
}

/// A new attempt.
pub fn attempt() -> AttemptId {
    AttemptId::generate(at(0), &OsRng)
}

/// A new session id.
pub fn session_id() -> SessionId {
    SessionId::generate(at(0), &OsRng)
}

/// A new grant id.
pub fn grant_id() -> GrantId {
    GrantId::generate(at(0), &OsRng)
}

/// A new id of a trust.
pub fn trust_id() -> TrustId {
    TrustId::generate(at(0), &OsRng)
}

/// A subject.
pub fn subject(name: &str) -> Subject {
    name.parse().unwrap_or_else(|_| panic!("`{name}` is a subject"))
}

/// A client id.
pub fn client_id(name: &str) -> ClientId {
    name.parse().unwrap_or_else(|_| panic!("`{name}` is a client id"))
}

/// A scope.
pub fn scope(raw: &str) -> Scope {
    raw.parse().unwrap_or_else(|_| panic!("`{raw}` is a scope"))
}

/// An audience.
pub fn audience(names: &[&str]) -> Audience {
    Audience::from_values(names.iter().map(ToString::to_string))
}

/// A grant of `alice` to `shop`: authenticated at second 0, consented at second 10, alive until second 3600.
pub fn grant() -> Grant {
    Grant {
        id: grant_id(),
        client: client_id("shop"),
        subject: subject("alice"),
        session: Some(session_id()),
        scope: scope("openid offline_access"),
        audience: audience(&["api", "other api"]),
        authenticated_at: at(0),
        consented_at: at(10),
        expires_at: at(3600),
        redeemed_at: None,
        revoked_at: None,
        generation: Generation(0),
        rotated_at: None,
        attempt: attempt(),
        claims: claims(),
    }
}

/// Claims with something in every field that is of grants as of decisions.
pub fn claims() -> GrantClaims {
    let object = |key: &str| Map::from_iter([(key.to_owned(), json!(["ä", 1, null, {"deep": true}]))]);
    let (asked, granted) = (scope("openid email"), scope("openid"));
    let api = audience(&["api"]);
    GrantClaims {
        made_in: None,
        skipped: false,
        acr: Some("gold".to_owned()),
        amr: vec!["pwd".to_owned(), "otp".to_owned()],
        id_token: object("id"),
        access_token: object("access"),
        context: Some(json!({"from": "the login page"})),
        shown_subject: Some("pairwise".to_owned()),
        claims_request: Some(json!({"userinfo": {"email": null}})),
        authorization_details: Some(json!([{"type": "payment"}])),
        remember_for: Some(0),
        requested: Requested::beside((&asked, &api), (&granted, &api)),
        replaced: None,
    }
}

/// The claims of [`claims`] after a hook said this, too.
pub fn replaced_by(hook: &str) -> GrantClaims {
    let said = Map::from_iter([("said".to_owned(), json!(hook))]);
    GrantClaims { replaced: Some(Replaced::new(said.clone(), said)), ..claims() }
}

/// What a redemption or rotation may bring: no claims, or those that a hook replaced. Stores have statements of their own for the latter.
pub fn brought_claims() -> [Option<Box<GrantClaims>>; 2] {
    [None, Some(Box::new(replaced_by("hook")))]
}

/// Redeems the code of `grant` at second `now`; from then on it lives until second 100,000, or 50,000 if nobody can refresh it. A marker would
/// live until second 200,000.
pub fn redeem(grant: GrantId, now: i64) -> RedeemCode {
    let (refreshable_until, marker_expires_at) = (at(100_000), at(200_000));
    RedeemCode {
        grant,
        attempt: attempt(),
        now: at(now),
        expires_at: at(50_000),
        refreshable_until,
        marker_expires_at,
        claims: None,
        second_time: SecondTime::Revokes,
    }
}

/// Rotates the refresh token of `grant` at second `now`; from then on it lives until second 100,000. A marker would live until second
/// 200,000.
pub fn rotate(grant: GrantId, presented: u32, now: i64) -> RotateRefresh {
    RotateRefresh {
        grant,
        attempt: attempt(),
        presented: Generation(presented),
        request: [7; 16],
        now: at(now),
        window: WINDOW,
        expires_at: at(100_000),
        marker_expires_at: at(200_000),
        claims: None,
    }
}

/// A decision of `alice` about `shop`, made at second 10, without end.
pub fn decision() -> RememberedConsent {
    let made_in = MadeIn::new(GrantId::from_bytes([3; 16]), Some(SessionId::from_bytes([4; 16])));
    RememberedConsent {
        subject: subject("alice"),
        client: client_id("shop"),
        scope: scope("openid"),
        audience: audience(&["api"]),
        claims: GrantClaims { made_in: Some(made_in), ..claims() },
        decided_at: at(10),
        expires_at: Timestamp::NEVER,
    }
}

/// A remembered session of `alice` from second 0 to second 3600, idle for ten minutes at most.
pub fn session() -> LoginSession {
    LoginSession {
        id: session_id(),
        subject: subject("alice"),
        authenticated_at: at(0),
        last_seen_at: at(0),
        expires_at: at(3600),
        remembered: true,
        idle: Lifetime::minutes(10),
        acr: Some("gold".to_owned()),
        amr: vec!["pwd".to_owned(), "otp".to_owned()],
        provider_session: Some("provider session".to_owned()),
        origin: Some(origin("Firefox", "192.0.2.1")),
    }
}

/// A login in a browser that calls itself so, in this network.
pub fn origin(device: &str, network: &str) -> LoginOrigin {
    LoginOrigin { device: device.to_owned(), network: network.to_owned() }
}

/// Thirty-two random bytes: the hash of something that is spent once.
pub fn random_hash() -> [u8; 32] {
    random_bytes(&OsRng)
}

/// A code of `shop`, made at second 0 and alive until second 600.
pub fn device_code() -> DeviceCode {
    DeviceCode {
        id: grant_id(),
        user_code: random_hash(),
        client: client_id("shop"),
        sealed: "the sealed request".to_owned(),
        created_at: at(0),
        expires_at: at(600),
    }
}

/// The trust in one key of an issuer for any subject, from second 0 to second 3600.
pub fn trusted_issuer(issuer: &str) -> TrustedIssuer {
    TrustedIssuer {
        id: trust_id(),
        issuer: issuer.to_owned(),
        subject: None,
        scope: scope("read write"),
        key_id: "the key".to_owned(),
        jwk: private_jwk().public(),
        created_at: at(0),
        expires_at: at(3600),
    }
}

/// A key with a private part.
pub fn private_jwk() -> Jwk {
    let part = |name: &str| Some(name.to_owned());
    Jwk {
        kty: "OKP".to_owned(),
        kid: part("the key"),
        crv: part("Ed25519"),
        x: part("the public part"),
        d: Some(PrivateMember::encode(b"the private part")),
        ..Jwk::default()
    }
}

/// A confidential client of `owner`.
pub fn client(id: &str, owner: &str) -> Client {
    Client {
        id: client_id(id),
        revision: 1,
        name: format!("The {id}"),
        owner: owner.to_owned(),
        secret_hashes: vec!["hash".to_owned()],
        secrets_end: None,
        redirect_uris: "https://shop.example/callback".parse().into_iter().collect(),
        grant_types: vec!["authorization_code".to_owned()],
        response_types: vec!["code".to_owned()],
        scope: scope("openid offline_access"),
        audience: audience(&["api"]),
        auth_method: AuthMethod::ClientSecretBasic,
        auth_signing_alg: None,
        jwks: None,
        jwks_uri: None,
        allowed_cors_origins: vec!["https://shop.example".to_owned()],
        post_logout_redirect_uris: Vec::new(),
        frontchannel_logout: None,
        backchannel_logout: None,
        logout_sessions: LogoutSessions::default(),
        client_uri: String::new(),
        logo_uri: String::new(),
        policy_uri: String::new(),
        tos_uri: String::new(),
        contacts: vec!["ops@shop.example".to_owned()],
        subject_type: "public".to_owned(),
        sector_identifier_uri: None,
        request_uris: Vec::new(),
        request_object_signing_alg: None,
        userinfo_signed_response_alg: None,
        id_token_signed_response_alg: None,
        access_token_strategy: None,
        skip_consent: false,
        skip_logout_consent: false,
        metadata: json!({"tier": 1}),
        lifespans: Lifespans::default(),
        security: ClientSecurity::default(),
        formats: ResponseFormats::default(),
        defaults: RequestDefaults::default(),
        software: Software::default(),
        authorization_details_types: Vec::new(),
        token_exchange: TokenExchangePolicy::default(),
        registration_token_hash: None,
        registered_itself: false,
        created_at: at(0),
        updated_at: at(1),
    }
}

/// Inserts a grant and nothing else.
pub async fn insert(store: &impl GrantRepository, grant: &Grant) -> Result<Insertion, StoreError> {
    store.insert(grant.clone(), None, false).await
}

/// Inserts a grant that must be new.
pub async fn inserted(store: &impl GrantRepository, grant: Grant) -> Grant {
    let insertion = insert(store, &grant).await;
    assert!(matches!(insertion, Ok(Insertion::Inserted)), "{insertion:?}");
    grant
}

/// Inserts a grant that must be new, and redeems its code at second 20.
pub async fn redeemed(store: &impl GrantRepository, grant: Grant) -> Grant {
    let grant = inserted(store, grant).await;
    match store.redeem_code(redeem(grant.id, 20)).await {
        Ok(Redemption::Redeemed(grant)) => *grant,
        other => panic!("the code of a new grant is redeemed, not {other:?}"),
    }
}

/// Rotates a refresh token that must be the current one.
pub async fn rotated(store: &impl GrantRepository, rotate: RotateRefresh) -> Grant {
    match store.rotate_refresh(rotate).await {
        Ok(Rotation::Rotated(grant)) => *grant,
        other => panic!("the current token is rotated, not {other:?}"),
    }
}

/// All markers that are not forgotten yet.
pub async fn markers(store: &impl Feed) -> Vec<Marker> {
    match store.read(&FeedPosition::default()).await {
        Ok(batch) => batch.markers,
        Err(error) => panic!("the feed can be read: {error}"),
    }
}

/// Whether there is a marker for `target`.
pub async fn is_marked(store: &impl Feed, target: &Target) -> bool {
    markers(store).await.iter().any(|marker| marker.target == *target)
}
