//! OAuth 2.0 Dynamic Client Registration Management (RFC 7592).

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Backend, TestClient, TestSluice};

use crate::answer::Answer;
use crate::both_stores::on_both_stores;
use crate::legs::{change_client, token, tokens_of};
use crate::rfc7591::{ENABLED, INITIAL, application, application_with, ask, register, registered};

on_both_stores! {
    a_client_reads_changes_and_deletes_itself,
    a_change_on_one_node_counts_on_the_other_at_once,
}

/// A client that manages itself.
struct Own<'a> {
    sluice: &'a TestSluice,
    id: String,
    token: String,
}

impl<'a> Own<'a> {
    fn of(sluice: &'a TestSluice, made: &Value) -> Self {
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Self { sluice, id: text("client_id"), token: text("registration_access_token") }
    }

    async fn ask(&self, method: Method, body: Option<&Value>) -> Answer {
        let path = format!("/oauth2/register/{}", self.id);
        ask(self.sluice, (method, &path), Some(&self.token), body).await
    }

    async fn read(&self) -> Answer {
        self.ask(Method::GET, None).await
    }

    async fn put(&self, body: &Value) -> Answer {
        self.ask(Method::PUT, Some(body)).await
    }
}

async fn open(backend: Backend) -> TestSluice {
    TestSluice::with(backend, &[ENABLED]).await
}

/// §2.1, §2.2, §2.3, §5.
async fn a_client_reads_changes_and_deletes_itself(backend: Backend) {
    let sluice = open(backend).await;
    let made = registered(&sluice, &application()).await;
    let own = Own::of(&sluice, &made);
    let read = own.read().await.ok();
    for same in ["registration_access_token", "registration_client_uri", "client_id_issued_at", "scope"] {
        assert_eq!(read[same], made[same], "{same}");
    }
    assert!(read.get("client_secret").is_none(), "it is told once");

    let changed =
        own.put(&application_with(&json!({"client_id": own.id, "client_name": "Renamed"}))).await.ok();
    assert_eq!((&changed["client_name"], &changed["client_id"]), (&json!("Renamed"), &made["client_id"]));
    assert_eq!(changed["client_id_issued_at"], made["client_id_issued_at"]);
    own.read().await.refused_with(401, "invalid_token");
    let own = Own::of(&sluice, &changed);
    assert_eq!(own.read().await.ok()["client_name"], "Renamed");

    let client = TestClient::of(sluice.public.clone(), &made);
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let deleted = own.ask(Method::DELETE, None).await;
    assert_eq!((deleted.status, deleted.body.as_str()), (204, ""));
    own.read().await.refused_with(401, "invalid_token");
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    assert!(!sluice.is_active(token(&tokens, "refresh_token")).await);
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_client");
    sluice.ask_json(Method::GET, &format!("/admin/clients/{}", own.id), None, 404).await;
    sluice.node.stop().await;
}

async fn a_change_on_one_node_counts_on_the_other_at_once(backend: Backend) {
    let one = open(backend).await;
    let other = TestSluice::on(one.database.clone(), one.clock.clone(), &[ENABLED]).await;
    let made = registered(&one, &application()).await;
    Own::of(&other, &made).read().await.ok();
    let changed = Own::of(&one, &made).put(&application()).await.ok();
    Own::of(&other, &made).read().await.refused_with(401, "invalid_token");
    let changed = Own::of(&other, &changed).put(&application()).await.ok();
    Own::of(&one, &changed).read().await.ok();
    one.node.stop().await;
    other.node.stop().await;
}

/// §2.1: who does not own a client does not learn whether there is one.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_and_an_unknown_client_look_alike() {
    let sluice = open(Backend::Sqlite).await;
    let (made, other) =
        (registered(&sluice, &application()).await, registered(&sluice, &application()).await);
    let known = made["client_id"].as_str().unwrap();
    let foreign = other["registration_access_token"].as_str().unwrap();
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let mut seen = Vec::new();
        for id in [known, "unknown", "\u{7f}"] {
            let body = (method == Method::PUT).then(application);
            let path = format!("/oauth2/register/{id}");
            let refused = ask(&sluice, (method.clone(), &path), Some(foreign), body.as_ref()).await;
            refused.refused_with(401, "invalid_token");
            seen.push((refused.body.clone(), refused.header("www-authenticate").to_owned()));
            let refused = ask(&sluice, (method.clone(), &path), None, body.as_ref()).await;
            refused.refused_with(401, "invalid_token");
            assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"sluice\"");
        }
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
    }
    Own::of(&sluice, &made).read().await.ok();
    sluice.node.stop().await;
}

/// §2.2.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_of_the_same_client_and_sets_no_secret() {
    let sluice = open(Backend::Sqlite).await;
    let made = registered(&sluice, &application()).await;
    let (own, secret) = (Own::of(&sluice, &made), made["client_secret"].clone());
    for changes in [
        json!({"client_id": "another"}),
        json!({"client_id": own.id, "client_secret": "a-secret-of-my-own"}),
        json!({"client_id": own.id, "skip_consent": true}),
    ] {
        own.put(&application_with(&changes)).await.refused_with(400, "invalid_client_metadata");
    }
    let answer =
        own.put(&application_with(&json!({"client_id": own.id, "client_secret": secret}))).await.ok();
    let client = TestClient::of(sluice.public.clone(), &made);
    tokens_of(&sluice, &client, "alice").await;
    // What was registered and is not named any more is gone.
    let own = Own::of(&sluice, &answer);
    let bare = own.put(&json!({"redirect_uris": ["https://app.test/callback"]})).await.ok();
    assert_eq!((bare.get("client_name"), &bare["grant_types"]), (None, &json!(["authorization_code"])));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_administrator_said_of_a_client_stays() {
    let sluice = open(Backend::Sqlite).await;
    let made = registered(&sluice, &application()).await;
    let client = TestClient::of(sluice.public.clone(), &made);
    for (field, value) in [
        ("skip_consent", json!(true)),
        ("metadata", json!({"tier": "gold"})),
        ("owner", json!("operator")),
        ("scope", json!("openid offline_access reports")),
    ] {
        change_client(&sluice, &client, field, value).await;
    }
    let own = Own::of(&sluice, &made);
    let read = own.read().await.ok();
    assert_eq!((&read["skip_consent"], read.get("owner"), read.get("metadata")), (&json!(true), None, None));
    // The client sends back what it was told.
    let changed = own.put(&read).await.ok();
    assert_eq!(
        (&changed["skip_consent"], &changed["scope"]),
        (&json!(true), &json!("openid offline_access reports"))
    );
    let shown = sluice.ask_json(Method::GET, &format!("/admin/clients/{}", own.id), None, 200).await;
    assert_eq!((&shown["owner"], &shown["metadata"]), (&json!("operator"), &json!({"tier": "gold"})));
    sluice.node.stop().await;
}

/// §2.2: who manages a client need not be who was invited to register it.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_keeps_what_it_has_and_gains_nothing() {
    let initial = ("oidc.dynamic_client_registration.initial_access_token", INITIAL);
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, initial]).await;
    let machine = json!({"grant_types": ["client_credentials"], "scope": "reports",
                         "audience": ["https://api.test"], "authorization_details_types": ["payment"]});
    let invited = register(&sluice, Some(INITIAL), &machine).await.json();
    let kept = Own::of(&sluice, &invited).put(&machine).await.ok();
    let own = Own::of(&sluice, &kept);
    let kept = own.put(&json!({"grant_types": ["client_credentials"]})).await.ok();
    for same in ["scope", "audience", "authorization_details_types", "grant_types"] {
        assert_eq!(kept[same], machine[same], "{same}");
    }
    let own = Own::of(&sluice, &kept);
    own.put(&json!({"grant_types": ["client_credentials"], "audience": ["https://other.test"]}))
        .await
        .refused_with(400, "invalid_client_metadata");

    let body = application_with(&json!({"scope": "openid"}));
    let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&body), 201).await;
    let own = Own::of(&sluice, &made);
    for gain in [
        json!({"audience": ["https://api.test"]}),
        json!({"authorization_details_types": ["payment"]}),
        json!({"grant_types": ["client_credentials"]}),
    ] {
        own.put(&application_with(&gain)).await.refused_with(400, "invalid_client_metadata");
    }
    let changed = own.put(&application_with(&json!({"scope": "openid reports"}))).await.ok();
    assert_eq!(changed["scope"], "openid");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_undo_how_strict_an_administrator_is_with_it() {
    let types = ("oidc.subject_identifiers.supported_types", "public,pairwise");
    let salt = ("oidc.subject_identifiers.pairwise.salt", "a-salt-of-some-length");
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, types, salt]).await;
    let strict = json!({"require_pushed_authorization_requests": true, "dpop_bound_access_tokens": true,
                        "subject_type": "pairwise"});
    let lax = json!({"require_pushed_authorization_requests": false, "dpop_bound_access_tokens": false,
                     "subject_type": "public"});
    for body in [application(), application_with(&lax)] {
        let made =
            sluice.ask_json(Method::POST, "/admin/clients", Some(&application_with(&strict)), 201).await;
        let changed = Own::of(&sluice, &made).put(&body).await.ok();
        for (member, value) in strict.as_object().unwrap() {
            assert_eq!(&changed[member], value, "{member}");
        }
    }
    sluice.node.stop().await;
}

/// §2.2: a secret that an administrator chose may be sent along as one that was made.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_repeat_the_secret_that_was_chosen_for_it() {
    let sluice = open(Backend::Sqlite).await;
    let body = application_with(&json!({"client_secret": "a-secret-that-was-chosen"}));
    let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&body), 201).await;
    let own = Own::of(&sluice, &made);
    own.put(&application_with(&json!({"client_secret": "a-secret-of-my-own"})))
        .await
        .refused_with(400, "invalid_client_metadata");
    own.put(&body).await.ok();
    tokens_of(&sluice, &TestClient::of(sluice.public.clone(), &made), "alice").await;
    sluice.node.stop().await;
}

/// As with Hydra, a client that an administrator registers can manage itself, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_an_administrator_manages_itself_where_clients_may() {
    let sluice = open(Backend::Sqlite).await;
    let body = application_with(&json!({"client_id": "my app"}));
    let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&body), 201).await;
    assert!(made["registration_client_uri"].as_str().unwrap().ends_with("/oauth2/register/my%20app"));
    assert_eq!(Own::of(&sluice, &made).read().await.ok()["client_id"], "my app");
    sluice.node.stop().await;

    let closed = TestSluice::start(Backend::Sqlite).await;
    let made = closed.ask_json(Method::POST, "/admin/clients", Some(&application()), 201).await;
    assert!(made.get("registration_access_token").is_none() && made.get("registration_client_uri").is_none());
    closed.node.stop().await;
}

/// Whoever changes a client again and again fills its own network's quota, as who registers clients does.
#[tokio::test(flavor = "multi_thread")]
async fn a_network_registers_and_changes_so_many_clients_and_no_more() {
    let sluice = open(Backend::Sqlite).await;
    let own = Own::of(&sluice, &registered(&sluice, &application()).await);
    let stranger = Own { sluice: &sluice, id: own.id.clone(), token: "another".to_owned() };
    stranger.put(&application()).await.refused_with(401, "invalid_token");
    for _ in 1..300 {
        assert_eq!(own.put(&json!({})).await.status, 400);
    }
    let refused = own.put(&application()).await;
    refused.refused_with(429, "temporarily_unavailable");
    assert_eq!(refused.header("retry-after"), "600");
    register(&sluice, None, &application()).await.refused_with(429, "temporarily_unavailable");
    own.read().await.ok();
    sluice.advance(sluice_primitives::Lifetime::minutes(10));
    own.put(&application()).await.ok();
    sluice.node.stop().await;
}

/// Two changes with one token: one is first, and the other's token is the one before.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_makes_one_change() {
    let sluice = open(Backend::Sqlite).await;
    let own = Own::of(&sluice, &registered(&sluice, &application()).await);
    let body = application();
    let answers = tokio::join!(own.put(&body), own.put(&body), own.put(&body), own.put(&body));
    let statuses = [answers.0.status, answers.1.status, answers.2.status, answers.3.status];
    let done = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!((done, statuses.iter().filter(|status| **status == 401).count()), (1, 3), "{statuses:?}");
    sluice.node.stop().await;
}
