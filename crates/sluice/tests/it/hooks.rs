//! Hydra's token hook and refresh token hook: who is asked before tokens are issued.
//!
//! [`redemption`]: what one says in the answer to a code. [`refresh`]: what one is not asked about, and may say again, at a refresh.

mod redemption;
mod refresh;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Authorize, Backend, ISSUER, TestClient, TestSluice, accept_consent, accept_login};
use tokio::net::{TcpListener, TcpSocket};

use crate::both_stores::on_both_stores;
use crate::fapi2::fapi_client;
use crate::jwt::{claims, header};
use crate::keyed::userinfo;
use crate::legs::{consent_challenge, token, tokens_of};
use crate::rfc7523::Idp;

on_both_stores! {
    what_a_hook_says_stays_with_the_grant,
    a_pair_that_is_answered_again_says_what_a_hook_said_of_it,
    a_hook_that_refuses_leaves_the_code_as_it_was,
    a_hook_that_fails_leaves_the_refresh_token_as_it_was,
    a_code_that_comes_again_revokes_whatever_the_hook_says,
}

const BUSY: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;

/// Hydra's word for a time that is not there.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// What a hook answers.
#[derive(Clone)]
enum Says {
    Status(StatusCode),
    Json(Value),
    Text(String),
    Nothing,
}

/// What a hook was asked, and with which headers.
type Asked = (String, HeaderMap, Value);

/// A service with two hooks.
#[derive(Clone)]
struct HookService {
    address: String,
    says: Arc<Mutex<Says>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl HookService {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let says = Arc::new(Mutex::new(Says::Status(StatusCode::NO_CONTENT)));
        let service = Self { address, says, asked: Arc::default() };
        let router = Router::new().route("/{hook}", post(answer)).with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        service
    }

    fn url(&self, hook: &str) -> String {
        format!("{}/{hook}", self.address)
    }

    fn say(&self, says: Says) {
        *self.says.lock() = says;
    }

    /// What was asked since the last time.
    fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock())
    }
}

async fn answer(
    State(service): State<HookService>,
    axum::extract::Path(hook): axum::extract::Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    service.asked.lock().push((hook, headers, serde_json::from_slice(&body).unwrap()));
    let says = service.says.lock().clone();
    match says {
        Says::Status(status) => status.into_response(),
        Says::Json(json) => axum::Json(json).into_response(),
        Says::Text(text) => text.into_response(),
        Says::Nothing => std::future::pending().await,
    }
}

async fn with_token_hook(backend: Backend) -> (TestSluice, HookService) {
    let service = HookService::start().await;
    let sluice = TestSluice::with(backend, &[("oauth2.token_hook", &service.url("token"))]).await;
    (sluice, service)
}

async fn code(sluice: &TestSluice, client: &TestClient) -> String {
    sluice.browser().log_in(sluice, client, "alice").await.expect("code")
}

fn replacing(access_token: &Value, id_token: &Value) -> Says {
    Says::Json(json!({"session": {"access_token": access_token, "id_token": id_token}}))
}

/// A code of a login of Alice's of whom the consent page said this.
async fn code_with(sluice: &TestSluice, client: &TestClient, session: &Value) -> String {
    let mut browser = sluice.browser();
    let challenge = consent_challenge(sluice, client, &mut browser, "alice").await;
    let verifier = accept_consent(sluice, &challenge, &json!({"session": session})).await;
    browser.visit(&verifier).await.expect("code")
}

#[track_caller]
fn has_members(object: &Value, names: &str) {
    let told: BTreeSet<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(told, names.split(' ').collect::<BTreeSet<&str>>());
}

/// Its members are those that Hydra 2.3 sends.
#[track_caller]
fn is_a_session_of_hydras(session: &Value) {
    let configured = "exclude_not_before_claim allowed_top_level_claims mirror_top_level_claims";
    has_members(session, &format!("id_token extra kid client_id consent_challenge {configured}"));
    let id_token = &session["id_token"];
    has_members(id_token, "id_token_claims headers expires_at username subject");
    let claims = "jti iss sub aud nonce exp iat rat auth_time at_hash acr amr c_hash ext";
    has_members(&id_token["id_token_claims"], claims);
    has_members(&id_token["headers"], "extra");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_told_what_hydra_tells_it() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let sid = claims(token(&tokens, "id_token"))["sid"].clone();
    let asked = service.asked();
    let [(_, headers, body)] = asked.as_slice() else { panic!("{} questions", asked.len()) };
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(
        body["request"],
        json!({"client_id": client.id, "requested_scopes": ["openid", "offline_access"],
               "granted_scopes": ["openid", "offline_access"], "granted_audience": [],
               "grant_types": ["authorization_code"], "payload": {"grant_type": ["authorization_code"]}})
    );
    let session = &body["session"];
    is_a_session_of_hydras(session);
    assert_eq!((&session["client_id"], &session["extra"]), (&json!(client.id), &json!({})));
    assert_eq!(session["kid"], "", "the access token is not signed");
    let id_token = &session["id_token"];
    assert_eq!(id_token["subject"], "alice");
    has_members(&id_token["expires_at"], "access_token authorize_code refresh_token");
    let said = &id_token["id_token_claims"];
    assert_eq!(
        [&said["iss"], &said["sub"], &said["aud"], &said["nonce"], &said["ext"]],
        [
            &json!(ISSUER),
            &json!("alice"),
            &json!([client.id]),
            &json!("a-nonce-of-some-length"),
            &json!({"sid": sid})
        ]
    );
    for made_later in ["jti", "at_hash", "c_hash"] {
        assert_eq!(said[made_later], "", "{made_later}");
    }
    assert_eq!(said["exp"], NO_TIME);
    for told in ["iat", "rat", "auth_time"] {
        assert!(said[told].as_str().unwrap() > NO_TIME, "{told}: {said}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_told_which_keys_sign_and_nothing_of_a_login_that_there_was_not() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    client.token(&[("grant_type", "client_credentials")]).await.ok();
    let asked = service.asked();
    assert_eq!(asked.len(), 3);
    for (_, _, body) in &asked {
        is_a_session_of_hydras(&body["session"]);
        assert_eq!(body["session"]["kid"], header(token(&tokens, "access_token"))["kid"]);
    }
    for (_, _, body) in &asked[..2] {
        let id_token = &body["session"]["id_token"];
        assert_eq!(id_token["headers"]["extra"]["kid"], header(token(&tokens, "id_token"))["kid"]);
        assert!(id_token["id_token_claims"]["rat"].as_str().unwrap() > NO_TIME);
    }
    let own = &asked[2].2["session"]["id_token"];
    has_members(&own["expires_at"], "access_token");
    let said = &own["id_token_claims"];
    assert_eq!(
        [&said["sub"], &said["aud"], &said["rat"], &said["auth_time"]],
        [&json!(""), &Value::Null, &json!(NO_TIME), &json!(NO_TIME)]
    );
    assert_eq!(own["subject"], client.id, "as in Hydra");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_told_what_was_sent_but_no_secret_code_or_token() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let by_header = sluice.client(&json!({})).await;
    let by_form = sluice.client(&json!({"token_endpoint_auth_method": "client_secret_post"})).await;
    let tokens = tokens_of(&sluice, &by_form, "alice").await;
    let refresh_token = token(&tokens, "refresh_token");
    let narrower =
        [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("scope", "offline_access")];
    by_form.token(&narrower).await.ok();
    let own = [("grant_type", "client_credentials"), ("scope", "email profile")];
    by_form.token(&own).await.ok();
    by_header.token(&[&own[..], &[("response_type", "token")]].concat()).await.ok();
    let asked = service.asked();
    let told: Vec<_> = asked.iter().map(|(_, _, body)| body["request"]["payload"].clone()).collect();
    let id = [by_form.id.as_str()];
    let expected = [
        json!({"grant_type": ["authorization_code"], "client_id": id}),
        json!({"grant_type": ["refresh_token"], "scope": ["offline_access"], "client_id": id}),
        json!({"grant_type": ["client_credentials"], "scope": ["email profile"], "client_id": id}),
        json!({"grant_type": ["client_credentials"], "scope": ["email profile"], "response_type": ["token"]}),
    ];
    assert_eq!(told, expected);
    for secret in [by_form.secret.as_deref().unwrap(), refresh_token] {
        assert!(asked.iter().all(|(_, _, body)| !body.to_string().contains(secret)));
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_told_of_which_consent_and_session_tokens_are() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    client.token(&[("grant_type", "client_credentials")]).await.ok();
    let consents = "/admin/oauth2/auth/sessions/consent?subject=alice";
    let consents = sluice.ask_json(Method::GET, consents, None, 200).await;
    let (id, sid) = (&consents[0]["consent_request_id"], &consents[0]["consent_request"]["login_session_id"]);
    assert!(id.is_string() && sid.is_string(), "{consents}");
    let told = |(_, _, body): &Asked| {
        let session = &body["session"];
        (session["consent_challenge"].clone(), session["id_token"]["id_token_claims"]["ext"].clone())
    };
    let told: Vec<_> = service.asked().iter().map(told).collect();
    let of_alice = (id.clone(), json!({"sid": sid}));
    assert_eq!(told, [of_alice.clone(), of_alice, (json!(""), json!({}))]);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_told_what_was_asked_for_and_what_was_granted() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let with = Authorize { scope: "openid offline_access email", ..Authorize::default() };
    let challenge = browser.begin(&client, &with).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let granted = json!(["openid", "offline_access"]);
    let verifier = accept_consent(&sluice, &challenge, &json!({"grant_scope": granted})).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    let asked = service.asked();
    assert_eq!(asked.len(), 2);
    for (_, _, body) in &asked {
        let request = &body["request"];
        assert_eq!(request["requested_scopes"], json!(["openid", "offline_access", "email"]), "{request}");
        assert_eq!(request["granted_scopes"], granted, "{request}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_asked_for_every_grant_type() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    let bearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    let grant_types = ["authorization_code", "refresh_token", "client_credentials", exchange, bearer];
    let client = sluice.client(&json!({"grant_types": grant_types})).await;
    let idp = Idp::new("one");
    idp.trusted(&sluice, &json!({})).await;
    let assertion = idp.assertion(&sluice, &json!({}));
    service.say(replacing(&json!({"plan": "gold"}), &json!({})));

    let tokens = tokens_of(&sluice, &client, "alice").await;
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    let own = client.token(&[("grant_type", "client_credentials")]).await.ok();
    let access_token = token(&refreshed, "access_token");
    let kind = ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token");
    let exchanged =
        client.token(&[("grant_type", exchange), ("subject_token", access_token), kind]).await.ok();
    let borne = client.token(&[("grant_type", bearer), ("assertion", &assertion)]).await.ok();

    let asked: Vec<_> = service.asked().into_iter().map(|(_, _, body)| body["request"].clone()).collect();
    let told: Vec<_> = asked.iter().map(|request| request["grant_types"][0].as_str().unwrap()).collect();
    assert_eq!(told, grant_types);
    assert_eq!(asked[4]["payload"], json!({"grant_type": [bearer], "assertion": [assertion]}));
    for answer in [tokens, refreshed, own, exchanged, borne] {
        let said = sluice.introspect(token(&answer, "access_token")).await;
        assert_eq!((&said["active"], &said["ext"]), (&json!(true), &json!({"plan": "gold"})));
    }
    sluice.node.stop().await;
}

/// What introspection says of the tokens of an answer, whether by the access or the refresh token; a JWT says it itself.
async fn ext(sluice: &TestSluice, tokens: &Value) -> Value {
    let access_token = token(tokens, "access_token");
    let said = sluice.introspect(access_token).await["ext"].clone();
    assert_eq!(sluice.introspect(token(tokens, "refresh_token")).await["ext"], said);
    if access_token.contains('.') {
        assert_eq!(claims(access_token)["ext"]["plan"], said["plan"]);
    }
    said
}

/// What the id token of an answer and userinfo say about `vip`.
async fn vip(client: &TestClient, tokens: &Value) -> Value {
    let (id_token, userinfo) =
        (claims(token(tokens, "id_token")), client.userinfo(token(tokens, "access_token")).await.1);
    assert_eq!([&id_token["sub"], &userinfo["sub"]], ["alice"; 2], "the server's words stay");
    assert_eq!(id_token["vip"], userinfo["vip"]);
    userinfo["vip"].clone()
}

async fn what_a_hook_says_stays_with_the_grant(backend: Backend) {
    let (sluice, service) = with_token_hook(backend).await;
    // More than a token carries of what a consent page says.
    let plan = json!({"plan": "gold", "long": "x".repeat(2_000)});
    for strategy in ["opaque", "jwt"] {
        let client = sluice.client(&json!({"access_token_strategy": strategy})).await;
        service.say(replacing(&plan, &json!({"vip": true, "sub": "mallory"})));
        let mut tokens = tokens_of(&sluice, &client, "alice").await;
        assert_eq!((ext(&sluice, &tokens).await, vip(&client, &tokens).await), (plan.clone(), json!(true)));
        service.say(Says::Status(StatusCode::NO_CONTENT));
        for _ in 0..2 {
            tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
            let said = (ext(&sluice, &tokens).await, vip(&client, &tokens).await);
            assert_eq!(said, (plan.clone(), json!(true)));
            let asked = service.asked();
            let told = &asked.last().unwrap().2["session"];
            assert_eq!(told["extra"], plan);
            assert_eq!(told["id_token"]["id_token_claims"]["ext"]["vip"], true);
        }
        for says in [Says::Json(json!({"session": {}})), Says::Status(StatusCode::NO_CONTENT)] {
            service.say(says);
            tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
            let said = (ext(&sluice, &tokens).await, vip(&client, &tokens).await);
            assert_eq!(said, (Value::Null, Value::Null));
        }
    }
    sluice.node.stop().await;
}

async fn a_pair_that_is_answered_again_says_what_a_hook_said_of_it(backend: Backend) {
    let (sluice, service) = with_token_hook(backend).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let mut pairs = Vec::new();
    for plan in ["silver", "lead"] {
        service.say(replacing(&json!({"plan": plan}), &json!({"vip": plan})));
        pairs.push(client.refresh(token(&tokens, "refresh_token")).await.ok());
    }
    service.say(Says::Status(StatusCode::NO_CONTENT));
    let next = client.refresh(token(&pairs[1], "refresh_token")).await.ok();
    pairs.push(next);
    for pair in &pairs {
        let said =
            (sluice.introspect(token(pair, "access_token")).await["ext"].clone(), vip(&client, pair).await);
        assert_eq!(said, (json!({"plan": "silver"}), json!("silver")));
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consents_are_listed_with_what_their_page_said_whatever_a_hook_says() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    service.say(replacing(&json!({"plan": "gold"}), &json!({"vip": true})));
    let session = json!({"access_token": {"seats": 2}, "id_token": {"name": "Alice"}});
    let tokens = client.redeem(&code_with(&sluice, &client, &session).await).await.ok();
    assert_eq!(ext(&sluice, &tokens).await, json!({"plan": "gold", "seats": 2}));
    let (_, userinfo) = client.userinfo(token(&tokens, "access_token")).await;
    assert_eq!((&userinfo["vip"], &userinfo["name"]), (&json!(true), &json!("Alice")));
    let consents = "/admin/oauth2/auth/sessions/consent?subject=alice";
    assert_eq!(sluice.ask_json(Method::GET, consents, None, 200).await[0]["session"], session);
    sluice.node.stop().await;
}

/// FAPI 2.0: nothing is written at a refresh.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_hook_says_of_a_refresh_without_rotation_is_for_its_tokens_alone() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = fapi_client(&sluice).await;
    service.say(replacing(&json!({"plan": "gold"}), &json!({"vip": "gold"})));
    let tokens = client.tokens(&sluice).await;
    let form = [("grant_type", "refresh_token"), ("refresh_token", token(&tokens, "refresh_token"))];
    for (says, expected) in [
        (replacing(&json!({"plan": "silver"}), &json!({"vip": "silver"})), "silver"),
        (Says::Status(StatusCode::NO_CONTENT), "gold"),
    ] {
        service.say(says);
        let fresh = client.token(&sluice, &form).await.ok();
        let access_token = token(&fresh, "access_token");
        assert_eq!(sluice.introspect(access_token).await["ext"], json!({"plan": expected}));
        assert_eq!(claims(token(&fresh, "id_token"))["vip"], expected);
        let proof = client.bound.userinfo_proof(&sluice, access_token);
        let told = userinfo(&sluice, &format!("DPoP {access_token}"), &[&proof]).await.ok();
        assert_eq!(told["vip"], "gold");
    }
    sluice.node.stop().await;
}

/// As Hydra reads it. What the consent page may say for a JWT, a hook may say too of an opaque token.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_may_say_nothing_and_as_much_as_a_consent_page() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    service.say(Says::Status(StatusCode::NO_CONTENT));
    let mut tokens = tokens_of(&sluice, &client, "alice").await;
    let groups: Vec<String> = (0..600).map(|n| format!("group-{n}")).collect();
    let (much, nothing) = (json!({"groups": groups}), Value::Null);
    let said = [
        (json!({"session": {"access_token": much}}), &much),
        (json!({}), &nothing),
        (json!({"session": {"access_token": much}}), &much),
        (json!({"session": null}), &nothing),
    ];
    for (answer, told) in said {
        service.say(Says::Json(answer));
        tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
        let ext = ext(&sluice, &tokens).await;
        assert_eq!(&ext["groups"], &told["groups"], "{ext}");
    }
    sluice.node.stop().await;
}

/// In a signed token it stands twice: once more sealed, for this server.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_jwt_could_hold_is_refused_before_anything_is_used_up() {
    let (sluice, service) = with_token_hook(Backend::Sqlite).await;
    let client = sluice.client(&json!({"access_token_strategy": "jwt"})).await;
    let saying = |length: usize| replacing(&json!({"long": "x".repeat(length)}), &json!({}));
    let code = code(&sluice, &client).await;
    service.say(saying(9_000));
    client.redeem(&code).await.refused_with("server_error");
    service.say(saying(4_000));
    let tokens = client.redeem(&code).await.ok();
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    let refresh_token = token(&tokens, "refresh_token");
    service.say(saying(6_000));
    client.refresh(refresh_token).await.refused_with("server_error");
    service.say(Says::Status(StatusCode::NO_CONTENT));
    let refreshed = client.refresh(refresh_token).await.ok();
    assert!(sluice.is_active(token(&refreshed, "access_token")).await);
    sluice.node.stop().await;
}

async fn a_hook_that_refuses_leaves_the_code_as_it_was(backend: Backend) {
    let (sluice, service) = with_token_hook(backend).await;
    let client = sluice.client(&json!({})).await;
    let code = code(&sluice, &client).await;
    service.say(Says::Status(StatusCode::FORBIDDEN));
    let refused = client.redeem(&code).await;
    assert_eq!((refused.status, &refused.body["error"]), (403, &json!("access_denied")));
    client.token(&[("grant_type", "client_credentials")]).await.refused_with("access_denied");
    service.say(Says::Status(StatusCode::NO_CONTENT));
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
}

async fn a_hook_that_fails_leaves_the_refresh_token_as_it_was(backend: Backend) {
    let (sluice, service) = with_token_hook(backend).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let refresh_token = token(&tokens, "refresh_token");
    let failures = [
        Says::Status(BUSY),
        Says::Status(StatusCode::FOUND),
        Says::Status(StatusCode::OK),
        Says::Text("no JSON".to_owned()),
        Says::Json(json!({"session": "none"})),
        Says::Json(json!({"session": {"access_token": ["no", "object"]}})),
        replacing(&json!({"long": "x".repeat(8_190)}), &json!({})),
        Says::Text("x".repeat(100_000)),
    ];
    for failure in failures {
        service.say(failure);
        let refused = client.refresh(refresh_token).await;
        assert_eq!((refused.status, &refused.body["error"]), (500, &json!("server_error")));
    }
    service.say(Says::Status(StatusCode::NO_CONTENT));
    // Had it been rotated, this one would be its predecessor, and the next of no use.
    let refreshed = client.refresh(refresh_token).await.ok();
    client.refresh(token(&refreshed, "refresh_token")).await.ok();
    sluice.node.stop().await;
}

async fn a_code_that_comes_again_revokes_whatever_the_hook_says(backend: Backend) {
    let (sluice, service) = with_token_hook(backend).await;
    let client = sluice.client(&json!({})).await;
    let code = code(&sluice, &client).await;
    let tokens = client.redeem(&code).await.ok();
    service.say(Says::Status(BUSY));
    client.redeem(&code).await.refused_with("invalid_grant");
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_does_not_answer_refuses() {
    let service = HookService::start().await;
    // Bound, so that nobody else gets the port, but nobody listens.
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let gone = silent.local_addr().unwrap();
    for url in [service.url("token"), format!("http://{gone}/")] {
        let settings = [("oauth2.token_hook", url.as_str()), ("oauth2.hook_timeout", "1s")];
        let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
        let client = sluice.client(&json!({})).await;
        service.say(Says::Nothing);
        let asked = client.token(&[("grant_type", "client_credentials")]);
        let refused = tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap();
        assert_eq!((refused.status, &refused.body["error"]), (500, &json!("server_error")));
        sluice.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_asks_the_refresh_hook_first_and_the_token_hook_about_its_answer() {
    let service = HookService::start().await;
    let (first, second) = (service.url("refresh"), service.url("token"));
    let settings = [("oauth2.refresh_token_hook", first.as_str()), ("oauth2.token_hook", second.as_str())];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    assert_eq!(service.asked().len(), 1, "a code is no business of the refresh hook");
    service.say(replacing(&json!({"plan": "gold"}), &json!({})));
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    let asked = service.asked();
    let hooks: Vec<_> = asked.iter().map(|(hook, ..)| hook.as_str()).collect();
    assert_eq!(hooks, ["refresh", "token"]);
    let refresh = &asked[0].2;
    let scope = json!(["openid", "offline_access"]);
    assert_eq!(
        [&refresh["subject"], &refresh["client_id"], &refresh["granted_scopes"]],
        [&json!("alice"), &json!(client.id), &scope]
    );
    assert_eq!(
        refresh["requester"],
        json!({"client_id": client.id, "granted_scopes": scope, "granted_audience": [],
               "grant_types": ["refresh_token"]})
    );
    assert_eq!(refresh["session"]["extra"], json!({}));
    assert_eq!(asked[1].2["session"]["extra"], json!({"plan": "gold"}));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_knows_by_a_key_who_asks() {
    let service = HookService::start().await;
    let url = service.url("token");
    for (place, header, expected) in [("header", "x-key", "s3cret"), ("cookie", "cookie", "x-key=s3cret")] {
        let settings = [
            ("oauth2.token_hook.url", url.as_str()),
            ("oauth2.token_hook.auth.type", "api_key"),
            ("oauth2.token_hook.auth.config.in", place),
            ("oauth2.token_hook.auth.config.name", "x-key"),
            ("oauth2.token_hook.auth.config.value", "s3cret"),
        ];
        let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
        let client = sluice.client(&json!({})).await;
        client.token(&[("grant_type", "client_credentials")]).await.ok();
        let asked = service.asked();
        assert_eq!(asked[0].1[header], expected);
        sluice.node.stop().await;
    }
}
