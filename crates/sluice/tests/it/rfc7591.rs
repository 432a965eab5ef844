//! OAuth 2.0 Dynamic Client Registration (RFC 7591).

use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Clock;
use sluice_testkit::{Authorize, Backend, ISSUER, TestClient, TestSluice};

use crate::answer::{Answer, http};
use crate::both_stores::on_both_stores;
use crate::jwt::verified;
use crate::legs::{audience_for, token, tokens_of};
use crate::requests::Signer;

on_both_stores! {
    a_client_that_registers_itself_is_a_client,
    an_agent_that_says_to_be_of_the_web_is_registered_as_what_it_is,
    an_initial_access_token_says_who_may_register,
}

pub(crate) const ENABLED: (&str, &str) = ("oidc.dynamic_client_registration.enabled", "true");
pub(crate) const INITIAL: &str = "an-initial-access-token";

/// What an ordinary application says.
pub(crate) fn application() -> Value {
    json!({"client_name": "Application", "redirect_uris": ["https://app.test/callback"],
           "grant_types": ["authorization_code", "refresh_token"]})
}

/// The ordinary application, changed.
pub(crate) fn application_with(changes: &Value) -> Value {
    let mut metadata = application();
    metadata.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    metadata
}

/// Asks `/oauth2/register` of a node.
pub(crate) async fn ask(
    sluice: &TestSluice,
    (method, path): (Method, &str),
    bearer: Option<&str>,
    body: Option<&Value>,
) -> Answer {
    let mut request = http().request(method, sluice.public.join(path).unwrap());
    if let Some(token) = bearer {
        request = request.bearer_auth(token);
    }
    if let Some(body) = body {
        request = request.json(body);
    }
    Answer::to(request).await
}

/// Registers.
pub(crate) async fn register(sluice: &TestSluice, bearer: Option<&str>, body: &Value) -> Answer {
    ask(sluice, (Method::POST, "/oauth2/register"), bearer, Some(body)).await
}

/// A client that registered itself.
pub(crate) async fn registered(sluice: &TestSluice, body: &Value) -> Value {
    let answer = register(sluice, None, body).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

async fn open(backend: Backend) -> TestSluice {
    TestSluice::with(backend, &[ENABLED]).await
}

/// §3.2.1: the bodies of oidc-agent 4.2.6.
async fn an_agent_that_says_to_be_of_the_web_is_registered_as_what_it_is(backend: Backend) {
    let sluice = open(backend).await;
    let own = "edu.kit.data.oidc-agent:/redirect";
    let local = ["http://localhost:4242", "http://localhost:28853", "http://localhost:8080"];
    let named: Vec<_> = local.into_iter().chain([own]).collect();
    let agent = |response_type: &str, grant_type: &str| {
        json!({"application_type": "web", "client_name": "oidc-agent:vm", "response_types": [response_type],
               "grant_types": ["refresh_token", grant_type], "scope": "openid offline_access",
               "redirect_uris": named})
    };
    let by_code = registered(&sluice, &agent("code", "authorization_code")).await;
    assert_eq!((&by_code["application_type"], &by_code["redirect_uris"]), (&json!("native"), &json!(named)));
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    let by_device = registered(&sluice, &agent("token", device)).await;
    assert_eq!((&by_device["application_type"], &by_device["redirect_uris"]), (&json!("web"), &json!(local)));
    sluice.node.stop().await;
}

/// §3.2.1.
async fn a_client_that_registers_itself_is_a_client(backend: Backend) {
    let sluice = open(backend).await;
    let answer = register(&sluice, None, &application()).await;
    assert_eq!((answer.status, answer.header("cache-control")), (201, "no-store"), "{}", answer.body);
    let made = answer.json();
    let id = made["client_id"].as_str().unwrap();
    assert_eq!(made["client_id_issued_at"], sluice.clock.now().as_secs());
    assert_eq!(made["client_secret_expires_at"], 0);
    assert_eq!(made["registration_client_uri"], format!("{ISSUER}oauth2/register/{id}"));
    assert_eq!(made["registration_access_token"].as_str().unwrap().len(), 43);
    assert_eq!(made["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(
        (&made["client_name"], &made["scope"]),
        (&json!("Application"), &json!("offline_access offline openid"))
    );

    let client = TestClient::of(sluice.public.clone(), &made);
    let tokens = tokens_of(&sluice, &client, "alice").await;
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    let shown = sluice.ask_json(Method::GET, &format!("/admin/clients/{id}"), None, 200).await;
    assert_eq!(
        (&shown["client_name"], shown.get("registration_access_token")),
        (&json!("Application"), None)
    );
    sluice.node.stop().await;
}

/// §1.2, §3.1.
async fn an_initial_access_token_says_who_may_register(backend: Backend) {
    let initial = ("oidc.dynamic_client_registration.initial_access_token", INITIAL);
    let sluice = TestSluice::with(backend, &[ENABLED, initial]).await;
    let machine =
        json!({"grant_types": ["client_credentials"], "scope": "reports", "audience": ["https://api.test"]});
    for (bearer, challenge) in [
        (None, "Bearer realm=\"sluice\""),
        (Some("an-initial-access-tokeN"), "Bearer realm=\"sluice\", error=\"invalid_token\""),
    ] {
        let refused = register(&sluice, bearer, &machine).await;
        refused.refused_with(401, "invalid_token");
        assert_eq!(refused.header("www-authenticate"), challenge);
    }
    let made = register(&sluice, Some(INITIAL), &machine).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let client = TestClient::of(sluice.public.clone(), &made.json());
    let form = [("grant_type", "client_credentials"), ("scope", "reports"), ("audience", "https://api.test")];
    client.token(&form).await.ok();
    let unstorable = application_with(&json!({"client_name": "a\u{0}b"}));
    let refused = register(&sluice, Some(INITIAL), &unstorable).await;
    refused.refused_with(400, "invalid_client_metadata");
    assert!(refused.body.contains("cannot be stored"), "{}", refused.body);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_registers_where_it_is_not_enabled() {
    let (closed, open) = (TestSluice::start(Backend::Sqlite).await, open(Backend::Sqlite).await);
    for method in [Method::POST, Method::GET, Method::PUT, Method::DELETE] {
        let path = if method == Method::POST { "/oauth2/register" } else { "/oauth2/register/app" };
        let answer = ask(&closed, (method, path), Some("token"), None).await;
        assert_eq!((answer.status, answer.json()["error"].is_string()), (404, true), "{}", answer.body);
    }
    for (sluice, endpoint) in [(&closed, Value::Null), (&open, json!(format!("{ISSUER}oauth2/register")))] {
        let url = sluice.public.join("/.well-known/openid-configuration").unwrap();
        assert_eq!(Answer::to(http().get(url)).await.ok()["registration_endpoint"], endpoint);
    }
    closed.node.stop().await;
    open.node.stop().await;
}

/// §3.1: or a page of any site could have the browsers that show it register clients here.
#[tokio::test(flavor = "multi_thread")]
async fn who_registers_sends_json_and_says_so() {
    let sluice = open(Backend::Sqlite).await;
    let send = |name: &'static str, value: &'static str| {
        let request = http().post(sluice.public.join("/oauth2/register").unwrap());
        Answer::to(request.header(name, value).body(application().to_string()))
    };
    for (name, value) in [
        ("content-type", "text/plain"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("content-type", "multipart/form-data; boundary=x"),
        ("origin", "https://evil.test"),
    ] {
        let refused = send(name, value).await;
        refused.refused_with(415, "invalid_client_metadata");
        assert!(refused.body.contains("application/json"), "{value}: {}", refused.body);
    }
    for (name, value) in [("content-type", "application/json;charset=utf-8"), ("user-agent", "an old script")]
    {
        let made = send(name, value).await;
        assert_eq!(made.status, 201, "{value}: {}", made.body);
    }
    sluice.node.stop().await;
}

/// §3.2.2.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_named() {
    let sluice = open(Backend::Sqlite).await;
    for (changes, error, named) in [
        (json!({"redirect_uris": ["https://app.test/#a"]}), "invalid_redirect_uri", "https://app.test/#a"),
        (json!({"redirect_uris": ["http://app.test/cb"]}), "invalid_redirect_uri", "http://app.test/cb"),
        (json!({"redirect_uris": ["view-source:https://a.test"]}), "invalid_redirect_uri", "view-source"),
        (json!({"redirect_uris": []}), "invalid_redirect_uri", "redirect_uris"),
        (json!({"redirect_uris": "none"}), "invalid_client_metadata", "redirect_uris"),
        (json!({"client_secret": "a-secret-of-my-own"}), "invalid_client_metadata", "secret"),
        (json!({"skip_consent": true}), "invalid_client_metadata", "skip_consent"),
        (json!({"skip_logout_consent": true}), "invalid_client_metadata", "skip_logout_consent"),
        (json!({"metadata": {"tier": "gold"}}), "invalid_client_metadata", "metadata"),
        (json!({"access_token_strategy": "jwt"}), "invalid_client_metadata", "access_token_strategy"),
        (json!({"access_token_jwt_typ": "JWT"}), "invalid_client_metadata", "access_token_jwt_typ"),
        (
            json!({"authorization_response_iss": false}),
            "invalid_client_metadata",
            "authorization_response_iss",
        ),
        (json!({"token_exchange": {"impersonation": true}}), "invalid_client_metadata", "token_exchange"),
        (json!({"audience": ["https://api.test"]}), "invalid_client_metadata", "audience"),
        (
            json!({"authorization_details_types": ["payment"]}),
            "invalid_client_metadata",
            "authorization_details_types",
        ),
        (json!({"grant_types": ["client_credentials"]}), "invalid_client_metadata", "client_credentials"),
        (json!({"grant_types": ["authorization_code", "password"]}), "invalid_client_metadata", "password"),
        (json!({"response_types": ["code", "none"]}), "invalid_client_metadata", "none"),
        (json!({"response_types": ["code id_token"]}), "invalid_client_metadata", "implicit"),
        (json!({"implicit_grant_id_token_lifespan": "900h"}), "invalid_client_metadata", "lifespans"),
        (json!({"logo_uri": "javascript:alert(1)"}), "invalid_client_metadata", "logo_uri"),
        (json!({"client_name": "x".repeat(201)}), "invalid_client_metadata", "client_name"),
        (json!({"client_name": "a\u{0}b"}), "invalid_client_metadata", "client_name"),
        (
            json!({"token_endpoint_auth_method": "magic"}),
            "invalid_client_metadata",
            "token_endpoint_auth_method",
        ),
    ] {
        let refused = register(&sluice, None, &application_with(&changes)).await;
        refused.refused_with(400, error);
        assert!(refused.body.contains(named), "{changes}: {}", refused.body);
    }
    let hybrid =
        json!({"grant_types": ["authorization_code", "implicit"], "response_types": ["code id_token"]});
    registered(&sluice, &application_with(&hybrid)).await;
    for body in ["", "[]", "nonsense", "{\"a\":"] {
        let request = http().post(sluice.public.join("/oauth2/register").unwrap()).body(body);
        Answer::to(request).await.refused_with(400, "invalid_client_metadata");
    }
    let long = application_with(&json!({"client_name": "x".repeat(70_000)}));
    register(&sluice, None, &long).await.refused_with(413, "invalid_client_metadata");
    sluice.node.stop().await;
}

/// §5: what this server sees of other hosts is not told to who names them.
#[tokio::test(flavor = "multi_thread")]
async fn a_registrant_learns_nothing_of_the_hosts_that_it_names() {
    let guarded = ("clients.http.disallow_private_ip_ranges", "true");
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, guarded]).await;
    let mut told = std::collections::BTreeSet::new();
    for host in ["127.0.0.1:1", "10.0.0.1", "nobody.invalid"] {
        let sector = json!({"sector_identifier_uri": format!("https://{host}/sector.json")});
        let refused = register(&sluice, None, &application_with(&sector)).await;
        refused.refused_with(400, "invalid_client_metadata");
        assert!(refused.body.contains("sector_identifier_uri"), "{}", refused.body);
        told.insert(refused.body);
    }
    assert_eq!(told.len(), 1, "{told:?}");
    let keys = json!({"jwks_uri": "http://app.test/keys", "token_endpoint_auth_method": "private_key_jwt"});
    let refused = register(&sluice, None, &application_with(&keys)).await;
    refused.refused_with(400, "invalid_client_metadata");
    assert!(refused.body.contains("jwks_uri"), "{}", refused.body);
    sluice.node.stop().await;
}

/// §3.2.1: what the server decides, it tells.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_registrant_cannot_choose_is_chosen_for_it() {
    let sluice = open(Backend::Sqlite).await;
    let changes = json!({"client_id": "admin-console", "owner": "operator", "scope": "openid admin",
                         "client_secret_expires_at": 1, "created_at": "1999-01-01T00:00:00Z"});
    let made = registered(&sluice, &application_with(&changes)).await;
    assert_ne!(made["client_id"], "admin-console");
    assert_eq!((made.get("owner"), &made["scope"]), (None, &json!("openid")));
    assert_eq!(made["client_secret_expires_at"], 0);
    sluice.node.stop().await;

    let scope = ("oidc.dynamic_client_registration.default_scope", "openid,profile");
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, scope]).await;
    assert_eq!(registered(&sluice, &application()).await["scope"], "openid profile");
    sluice.node.stop().await;
}

/// OpenID Connect clients name no scope when they register.
#[tokio::test(flavor = "multi_thread")]
async fn who_names_no_scope_may_ask_for_all_that_is_announced() {
    let pages = [ENABLED, ("urls.login", "/ui/login"), ("urls.consent", "/ui/consent")];
    let sluice = TestSluice::with(Backend::Sqlite, &pages).await;
    let url = sluice.public.join("/.well-known/openid-configuration").unwrap();
    let said = Answer::to(http().get(url)).await.ok();
    let announced: Vec<String> = serde_json::from_value(said["scopes_supported"].clone()).unwrap();
    assert!(announced.iter().any(|scope| scope == "email"), "{announced:?}");
    let client = TestClient::of(sluice.public.clone(), &registered(&sluice, &application()).await);
    for scope in announced.iter().chain([&announced.join(" ")]) {
        let with = Authorize { scope, ..Authorize::default() };
        sluice.browser().begin(&client, &with).await;
    }
    sluice.node.stop().await;
}

/// RFC 8707, RFC 9728: clients that read the metadata of a resource ask for it, and say nothing of it when they register.
#[tokio::test(flavor = "multi_thread")]
async fn who_names_no_audience_may_ask_for_the_resources_that_are_configured() {
    let resources = "https://api.test,https://tools.test/mcp";
    let default = ("oidc.dynamic_client_registration.default_audience", resources);
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, default]).await;
    let made = registered(&sluice, &application()).await;
    assert_eq!(made["audience"], json!(["https://api.test", "https://tools.test/mcp"]));
    let client = TestClient::of(sluice.public.clone(), &made);
    for resource in ["https://api.test/orders", "https://tools.test/mcp"] {
        assert_eq!(audience_for(&sluice, &client, resource).await, json!([resource]));
    }
    let other = application_with(&json!({"audience": ["https://other.test"]}));
    register(&sluice, None, &other).await.refused_with(400, "invalid_client_metadata");
    sluice.node.stop().await;
}

/// §3.2.1, OpenID Connect Registration §2: it would expect RS256 else.
#[tokio::test(flavor = "multi_thread")]
async fn a_registrant_is_told_what_signs_its_id_tokens() {
    let default = ("oidc.default_id_token_signing_alg", "ES256");
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, default]).await;
    let changes = json!({"id_token_signed_response_alg": "RS256"});
    for (body, algorithm) in [(application(), "ES256"), (application_with(&changes), "RS256")] {
        let made = registered(&sluice, &body).await;
        assert_eq!(made["id_token_signed_response_alg"], algorithm);
        let tokens = tokens_of(&sluice, &TestClient::of(sluice.public.clone(), &made), "alice").await;
        verified(&sluice, token(&tokens, "id_token"), algorithm).await;
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_client_is_given_no_secret() {
    let sluice = open(Backend::Sqlite).await;
    let made = registered(&sluice, &application_with(&json!({"token_endpoint_auth_method": "none"}))).await;
    assert!(made.get("client_secret").is_none() && made["registration_access_token"].is_string());
    tokens_of(&sluice, &TestClient::of(sluice.public.clone(), &made), "alice").await;
    sluice.node.stop().await;
}

/// §5: whoever floods, floods its own network's quota.
#[tokio::test(flavor = "multi_thread")]
async fn a_network_registers_so_many_clients_and_no_more() {
    let sluice = open(Backend::Sqlite).await;
    for _ in 0..300 {
        assert_eq!(register(&sluice, None, &json!({})).await.status, 400);
    }
    let refused = register(&sluice, None, &application()).await;
    refused.refused_with(429, "temporarily_unavailable");
    let why = "This network registered or changed too many clients. Try again later.";
    assert_eq!(refused.json()["error_description"], why);
    assert_eq!(refused.header("retry-after"), "600");
    sluice.advance(sluice_primitives::Lifetime::minutes(10));
    registered(&sluice, &application()).await;
    sluice.node.stop().await;
}

/// §2.3.
#[tokio::test(flavor = "multi_thread")]
async fn a_software_statement_is_refused_unless_it_is_configured() {
    let sluice = open(Backend::Sqlite).await;
    let body = application_with(&json!({"software_statement": "a.b.c"}));
    register(&sluice, None, &body).await.refused_with(400, "unapproved_software_statement");
    sluice.node.stop().await;

    let ignore = ("oidc.dynamic_client_registration.software_statements", "ignore");
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, ignore]).await;
    assert!(registered(&sluice, &body).await.get("software_statement").is_none());
    sluice.node.stop().await;
}

/// §2.3, §3.2.1.
#[tokio::test(flavor = "multi_thread")]
async fn a_verified_software_statement_takes_precedence_and_is_told() {
    let (trusted, other) = (Signer::new(SigningAlgorithm::ES256), Signer::new(SigningAlgorithm::ES256));
    let directory = tempfile::tempdir().unwrap();
    let keys = directory.path().join("keys.json");
    std::fs::write(&keys, json!({"keys": [trusted.jwk]}).to_string()).unwrap();
    let settings = [
        ENABLED,
        ("oidc.dynamic_client_registration.software_statements", "verify"),
        ("oidc.dynamic_client_registration.software_statement_jwks", keys.to_str().unwrap()),
        ("oidc.dynamic_client_registration.software_statement_issuers", "https://directory.test"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let now = sluice.clock.now().as_secs();
    let with = |statement: &str| application_with(&json!({"software_statement": statement}));
    let claims = json!({"iss": "https://directory.test", "aud": ISSUER, "iat": now, "software_id": "s-1",
                        "client_name": "As the directory says", "client_id": "chosen"});
    let statement = trusted.sign(None, &claims);
    let made = registered(&sluice, &with(&statement)).await;
    assert_eq!(
        (&made["client_name"], &made["software_id"]),
        (&json!("As the directory says"), &json!("s-1"))
    );
    assert_eq!((&made["software_statement"], made["client_id"] == "chosen"), (&json!(statement), false));

    for (signer, iss, exp, error) in [
        (&other, "https://directory.test", now + 60, "invalid_software_statement"),
        (&trusted, "https://directory.test", now - 1, "invalid_software_statement"),
        (&trusted, "https://other.test", now + 60, "unapproved_software_statement"),
    ] {
        let statement = signer.sign(None, &json!({"iss": iss, "exp": exp, "client_name": "Another"}));
        register(&sluice, None, &with(&statement)).await.refused_with(400, error);
    }
    let skipping = trusted.sign(None, &json!({"iss": "https://directory.test", "skip_consent": true}));
    register(&sluice, None, &with(&skipping)).await.refused_with(400, "invalid_client_metadata");
    register(&sluice, None, &application_with(&json!({"software_statement": 1})))
        .await
        .refused_with(400, "invalid_software_statement");
    sluice.node.stop().await;
}
