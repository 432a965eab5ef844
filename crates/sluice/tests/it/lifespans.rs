//! How long the tokens of a client live, by grant: what `PUT /admin/clients/{id}/lifespans` says, or else the settings.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Backend, TestClient, TestSluice};

use crate::authorization_errors::Change::With;
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::legs::{token, tokens_of};
use crate::response::answer;
use crate::rfc7523::{Idp, exchange};
use crate::rfc8628;

on_both_stores! {
    each_grant_has_lifespans_of_its_own,
    what_a_client_does_not_say_the_settings_say,
    a_refresh_token_is_of_use_as_long_as_it_is_said_to_live,
}

/// Each grant and what its access, id and refresh tokens live, in minutes; no two alike.
const GRANTS: [(&str, [Option<i64>; 3]); 6] = [
    ("authorization_code", [Some(11), Some(12), Some(13)]),
    ("refresh_token", [Some(14), Some(15), Some(16)]),
    ("client_credentials", [Some(17), None, None]),
    ("device_authorization", [Some(18), Some(19), Some(20)]),
    ("implicit", [Some(21), Some(22), None]),
    ("jwt_bearer", [Some(23), None, None]),
];
const KINDS: [&str; 3] = ["access_token", "id_token", "refresh_token"];

/// Everything that Hydra's API has, by name.
fn lifespans() -> Value {
    let mut all = json!({});
    for (grant, lives) in GRANTS {
        for (kind, minutes) in KINDS.iter().zip(lives) {
            let Some(minutes) = minutes else { continue };
            all[format!("{grant}_grant_{kind}_lifespan")] = json!(format!("{minutes}m0s"));
        }
    }
    all
}

/// A client that may have tokens by every grant.
async fn client_of_all_grants(sluice: &TestSluice) -> TestClient {
    let metadata = json!({
        "grant_types": [
            "authorization_code",
            "implicit",
            "refresh_token",
            "client_credentials",
            "urn:ietf:params:oauth:grant-type:device_code",
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
        ],
        "response_types": ["code", "id_token token", "code id_token token"],
    });
    sluice.client(&metadata).await
}

/// Sets what is in `lifespans` and nothing else; the client as it is told.
async fn put(sluice: &TestSluice, client: &TestClient, lifespans: &Value) -> Value {
    let path = format!("/admin/clients/{}/lifespans", client.id);
    sluice.ask_json(Method::PUT, &path, Some(lifespans), 200).await
}

/// The tokens by each grant that the client may use, all made now.
async fn tokens_by_all_grants(sluice: &TestSluice, client: &TestClient) -> Vec<(&'static str, Value)> {
    let by_code = tokens_of(sluice, client, "alice").await;
    let refreshed = client.refresh(token(&by_code, "refresh_token")).await.ok();
    let own = client.token(&[("grant_type", "client_credentials")]).await.ok();
    let given = rfc8628::begin(client).await;
    rfc8628::connect(sluice, &mut sluice.browser(), &given, &json!({})).await;
    let by_device = rfc8628::poll(client, &given).await.ok();
    let idp = Idp::new("one");
    idp.trusted(sluice, &json!({})).await;
    let by_assertion = exchange(client, &idp.assertion(sluice, &json!({})), &[]).await.ok();
    let mut all = vec![
        ("authorization_code", by_code),
        ("refresh_token", refreshed),
        ("client_credentials", own),
        ("device_authorization", by_device),
        ("jwt_bearer", by_assertion),
    ];
    // What comes through the browser is the implicit grant's, with a code beside it or without.
    for response_type in ["id_token token", "code id_token token"] {
        let in_front = answer(sluice, client, &[With("response_type", response_type)]).await;
        let mut tokens = json!(in_front.parameters);
        tokens["expires_in"] = json!(in_front.get("expires_in").parse::<i64>().unwrap());
        all.push(("implicit", tokens));
    }
    all
}

/// How long each token is said to live, by the answer, by introspection and by itself; in minutes.
async fn told(sluice: &TestSluice, tokens: &Value) -> [Option<i64>; 3] {
    let now = sluice.clock.now().as_secs();
    let left = |said: &Value| (said["exp"].as_i64().unwrap_or_else(|| panic!("no end in {said}")) - now) / 60;
    let access = left(&sluice.introspect(token(tokens, "access_token")).await);
    assert_eq!(tokens["expires_in"], access * 60, "{tokens}");
    let refresh = match tokens["refresh_token"].as_str() {
        Some(refresh_token) => Some(left(&sluice.introspect(refresh_token).await)),
        None => None,
    };
    [Some(access), tokens["id_token"].as_str().map(|id_token| left(&claims(id_token))), refresh]
}

async fn each_grant_has_lifespans_of_its_own(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_of_all_grants(&sluice).await;
    let set = put(&sluice, &client, &lifespans()).await;
    for (name, span) in lifespans().as_object().unwrap() {
        assert_eq!(&set[name], span, "{name}");
    }
    for (grant, tokens) in tokens_by_all_grants(&sluice, &client).await {
        let (_, expected) = GRANTS.iter().find(|(own, _)| *own == grant).unwrap();
        assert_eq!(told(&sluice, &tokens).await, *expected, "{grant}");
    }
    sluice.node.stop().await;
}

async fn what_a_client_does_not_say_the_settings_say(backend: Backend) {
    let settings = [("ttl.access_token", "31m"), ("ttl.id_token", "32m"), ("ttl.refresh_token", "33m")];
    let sluice = TestSluice::with(backend, &settings).await;
    let client = client_of_all_grants(&sluice).await;
    put(&sluice, &client, &lifespans()).await;
    // What is left out is taken back.
    let set = put(&sluice, &client, &json!({"client_credentials_grant_access_token_lifespan": "30m"})).await;
    for name in lifespans().as_object().unwrap().keys() {
        let expected = if name.starts_with("client") { json!("30m0s") } else { Value::Null };
        assert_eq!(set[name], expected, "{name}");
    }
    for (grant, tokens) in tokens_by_all_grants(&sluice, &client).await {
        let access = if grant == "client_credentials" { 30 } else { 31 };
        let has = |kind: &str, minutes| tokens[kind].is_string().then_some(minutes);
        let expected = [Some(access), has("id_token", 32), has("refresh_token", 33)];
        assert_eq!(told(&sluice, &tokens).await, expected, "{grant}");
    }
    sluice.node.stop().await;
}

/// The tokens themselves live as long as they say, and the grant behind them.
async fn a_refresh_token_is_of_use_as_long_as_it_is_said_to_live(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_of_all_grants(&sluice).await;
    put(&sluice, &client, &lifespans()).await;
    let (used, unused) =
        (tokens_of(&sluice, &client, "alice").await, tokens_of(&sluice, &client, "alice").await);
    let [almost_13_minutes, almost_16_minutes] = [13, 16].map(|minutes| Lifetime::secs(minutes * 60 - 1));
    sluice.advance(almost_13_minutes);
    let used = client.refresh(token(&used, "refresh_token")).await.ok();
    sluice.advance(Lifetime::secs(1));
    client.refresh(token(&unused, "refresh_token")).await.refused_with("invalid_grant");
    sluice.advance(Lifetime::minutes(3));
    sluice.node.tidy().await.unwrap();
    sluice.advance(Lifetime::minutes(10));
    client.refresh(token(&used, "refresh_token")).await.ok();
    let last = tokens_of(&sluice, &client, "alice").await;
    let last = client.refresh(token(&last, "refresh_token")).await.ok();
    sluice.advance(almost_16_minutes);
    assert!(sluice.is_active(token(&last, "refresh_token")).await);
    sluice.advance(Lifetime::secs(1));
    assert!(!sluice.is_active(token(&last, "refresh_token")).await);
    client.refresh(token(&last, "refresh_token")).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

/// Nobody could take back an access token that outlives the memory of revocations.
#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_has_an_end_within_a_month() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_of_all_grants(&sluice).await;
    put(&sluice, &client, &json!({"client_credentials_grant_access_token_lifespan": "10000h"})).await;
    let tokens = client.token(&[("grant_type", "client_credentials")]).await.ok();
    assert_eq!(told(&sluice, &tokens).await, [Some(31 * 24 * 60), None, None]);
    let path = format!("/admin/clients/{}/lifespans", client.id);
    for name in ["client_credentials_grant_access_token_lifespan", "implicit_grant_id_token_lifespan"] {
        sluice.ask_json(Method::PUT, &path, Some(&json!({name: "-1s"})), 400).await;
    }
    put(&sluice, &client, &json!({"authorization_code_grant_refresh_token_lifespan": "-1s"})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::hours(10 * 365 * 24));
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    sluice.node.stop().await;
}
