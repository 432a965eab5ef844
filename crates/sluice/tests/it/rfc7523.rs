//! RFC 7523 §2.1 and §3: assertions of issuers that an administrator trusts (Hydra's trust API) are grants.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Backend, ISSUER, TestClient, TestSluice, TokenAnswer};

use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::keyed::{Key, changed, jti};
use crate::legs::{delete, token};

on_both_stores! {
    an_issuer_is_trusted_until_that_is_taken_back,
    an_assertion_is_a_grant_once,
    a_trust_ends_at_its_time,
    a_trust_ends_with_its_key,
}

pub(crate) const ISSUERS: &str = "/admin/trust/grants/jwt-bearer/issuers";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TRUSTED: &str = "https://idp.example.com";

/// An issuer of assertions.
pub(crate) struct Idp {
    key: Key,
    kid: &'static str,
}

impl Idp {
    pub(crate) fn new(kid: &'static str) -> Self {
        Self { key: Key::new(), kid }
    }

    /// What makes it trusted to speak of alice, changed by `changes`.
    fn trust(&self, sluice: &TestSluice, changes: &Value) -> Value {
        let expires_at = in_an_hour(sluice);
        let trust = json!({"issuer": TRUSTED, "subject": "alice", "scope": ["profile", "email"],
                           "jwk": self.key.registered(self.kid), "expires_at": expires_at});
        changed(trust, changes)
    }

    pub(crate) async fn trusted(&self, sluice: &TestSluice, changes: &Value) -> Value {
        sluice.ask_json(Method::POST, ISSUERS, Some(&self.trust(sluice, changes)), 201).await
    }

    /// An assertion about alice, changed by `changes`.
    pub(crate) fn assertion(&self, sluice: &TestSluice, changes: &Value) -> String {
        self.assertion_with(&json!({"alg": "ES256", "kid": self.kid}), sluice, changes)
    }

    fn assertion_with(&self, header: &Value, sluice: &TestSluice, changes: &Value) -> String {
        let now = sluice.clock.now().as_secs();
        let claims = json!({"iss": TRUSTED, "sub": "alice", "aud": format!("{ISSUER}oauth2/token"),
                            "exp": now + 300, "iat": now, "jti": jti()});
        self.key.sign(header, &changed(claims, changes))
    }
}

fn in_an_hour(sluice: &TestSluice) -> String {
    let millis = (sluice.clock.now() + Lifetime::hours(1)).as_millis();
    jiff::Timestamp::from_millisecond(millis).unwrap().to_string()
}

async fn exchanger(sluice: &TestSluice, changes: &Value) -> TestClient {
    sluice.client(&changed(json!({"grant_types": [GRANT]}), changes)).await
}

/// Asks for tokens by an assertion.
pub(crate) async fn exchange(client: &TestClient, assertion: &str, more: &[(&str, &str)]) -> TokenAnswer {
    client.token(&[&[("grant_type", GRANT), ("assertion", assertion)], more].concat()).await
}

async fn an_issuer_is_trusted_until_that_is_taken_back(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (first, second) = (Idp::new("one"), Idp::new("two"));
    let made = first.trusted(&sluice, &json!({})).await;
    let told = [
        ("issuer", json!(TRUSTED)),
        ("subject", json!("alice")),
        ("allow_any_subject", json!(false)),
        ("scope", json!(["profile", "email"])),
        ("public_key", json!({"set": TRUSTED, "kid": "one"})),
    ];
    for (name, value) in told {
        assert_eq!(made[name], value, "{made}");
    }
    assert!(made["jwk"].is_null(), "the key is not told: {made}");
    let again = Idp { key: Key::new(), kid: "one" }.trust(&sluice, &json!({}));
    sluice.ask_json(Method::POST, ISSUERS, Some(&again), 409).await;
    // A moment later, so that the ids tell the order.
    sluice.advance(Lifetime::secs(1));
    let other = second.trusted(&sluice, &json!({"subject": null, "allow_any_subject": true})).await;
    assert_eq!((&other["subject"], &other["allow_any_subject"]), (&json!(""), &json!(true)));
    sluice.advance(Lifetime::secs(1));
    let elsewhere = Idp::new("one").trusted(&sluice, &json!({"issuer": "https://other.example.com"})).await;

    let one = format!("{ISSUERS}/{}", made["id"].as_str().unwrap());
    assert_eq!(sluice.ask_json(Method::GET, &one, None, 200).await, made);
    let all = sluice.ask_json(Method::GET, ISSUERS, None, 200).await;
    assert_eq!(all, json!([made, other, elsewhere]));
    assert_eq!(sluice.ask(Method::GET, ISSUERS, None).await.headers()["x-total-count"], "3");
    let of_issuer = format!("{ISSUERS}?issuer={TRUSTED}&page_size=1");
    let page = sluice.ask(Method::GET, &of_issuer, None).await;
    let links = page.headers()["link"].to_str().unwrap().to_owned();
    assert_eq!(page.headers()["x-total-count"], "3", "of whichever issuer");
    assert_eq!(page.json::<Value>().await.unwrap(), json!([made]));
    let next = links.split('<').nth(2).and_then(|link| link.split('>').next()).unwrap();
    assert_eq!(sluice.ask_json(Method::GET, next, None, 200).await, json!([other]));
    sluice.ask_json(Method::GET, &format!("{ISSUERS}?page_token=made-up"), None, 400).await;

    delete(&sluice, &one).await;
    sluice.ask_json(Method::GET, &one, None, 404).await;
    sluice.ask_json(Method::DELETE, &one, None, 404).await;
    sluice.ask_json(Method::GET, &format!("{ISSUERS}/no-id"), None, 404).await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_describe_an_issuer_is_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let idp = Idp::new("one");
    let long = "x".repeat(256);
    let missing = [
        json!({"issuer": null}),
        json!({"subject": ""}),
        json!({"allow_any_subject": true}),
        json!({"expires_at": null}),
        json!({"jwk": idp.key.jwk}),
    ];
    for changes in &missing {
        let refused = sluice.ask_json(Method::POST, ISSUERS, Some(&idp.trust(&sluice, changes)), 400).await;
        assert_eq!(refused["error"], "missing_required_parameter", "{changes}: {refused}");
    }
    let wrong = [
        json!({"issuer": long}),
        json!({"issuer": "a\nb"}),
        json!({"subject": long}),
        json!({"scope": ["a b"]}),
        json!({"expires_at": "2020-01-01T00:00:00Z"}),
        json!({"expires_at": "tomorrow"}),
        json!({"jwk": {"kty": "oct", "k": "c2VjcmV0", "kid": "one"}}),
        json!({"jwk": {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "one"}}),
        json!({"jwk": changed(idp.key.registered("one"), &json!({"kid": long}))}),
        json!({"jwk": changed(idp.key.registered("one"), &json!({"use": "enc"}))}),
    ];
    for changes in &wrong {
        sluice.ask_json(Method::POST, ISSUERS, Some(&idp.trust(&sluice, changes)), 400).await;
    }
    assert_eq!(sluice.ask_json(Method::GET, ISSUERS, None, 200).await, json!([]));
    sluice.node.stop().await;
}

async fn an_assertion_is_a_grant_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let node = sluice.second_node().await;
    let (idp, client) = (Idp::new("one"), exchanger(&sluice, &json!({})).await);
    let trust = idp.trusted(&sluice, &json!({})).await;
    let assertion = idp.assertion(&sluice, &json!({}));
    let more = [("scope", "profile"), ("audience", "https://api.test")];
    let tokens = exchange(&client, &assertion, &more).await.ok();
    assert_eq!((&tokens["refresh_token"], &tokens["id_token"]), (&Value::Null, &Value::Null));
    let access_token = token(&tokens, "access_token");
    let said = sluice.introspect(access_token).await;
    let facts = [&said["active"], &said["sub"], &said["client_id"], &said["scope"], &said["aud"]];
    assert_eq!(
        facts,
        [&json!(true), &json!("alice"), &json!(client.id), &json!("profile"), &json!(["https://api.test"])]
    );
    // §3, point 7: once, at whichever node.
    exchange(&client.at(&node), &assertion, &more).await.refused_with("invalid_grant");
    // A token of it is revoked like any other.
    client.revoke(access_token).await.ok();
    assert!(!sluice.is_active(access_token).await);

    delete(&sluice, &format!("{ISSUERS}/{}", trust["id"].as_str().unwrap())).await;
    exchange(&client, &idp.assertion(&sluice, &json!({})), &[]).await.refused_with("invalid_grant");
    node.node.stop().await;
    sluice.node.stop().await;
}

/// §3, point 7: not by how it is written or signed, and not by its `jti` alone.
#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_is_told_by_its_issuer_and_its_jti() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = exchanger(&sluice, &json!({})).await;
    let (idp, other) = (Idp::new("one"), Idp::new("two"));
    let elsewhere = "https://other.example.com";
    idp.trusted(&sluice, &json!({})).await;
    other.trusted(&sluice, &json!({"issuer": elsewhere})).await;
    exchange(&client, &idp.assertion(&sluice, &json!({"jti": "once"})), &[]).await.ok();
    let now = sluice.clock.now().as_secs();
    let again = idp.assertion(&sluice, &json!({"jti": "once", "nbf": now}));
    exchange(&client, &again, &[]).await.refused_with("invalid_grant");
    let of_other = other.assertion(&sluice, &json!({"iss": elsewhere, "jti": "once"}));
    exchange(&client, &of_other, &[]).await.ok();
    sluice.node.stop().await;
}

async fn a_trust_ends_at_its_time(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (idp, client) = (Idp::new("one"), exchanger(&sluice, &json!({})).await);
    idp.trusted(&sluice, &json!({})).await;
    sluice.advance(Lifetime::secs(3_590));
    exchange(&client, &idp.assertion(&sluice, &json!({})), &[]).await.ok();
    sluice.advance(Lifetime::secs(10));
    exchange(&client, &idp.assertion(&sluice, &json!({})), &[]).await.refused_with("invalid_grant");
    // One that has ended makes room for another.
    idp.trusted(&sluice, &json!({})).await;
    exchange(&client, &idp.assertion(&sluice, &json!({})), &[]).await.ok();
    sluice.node.stop().await;
}

/// As in Hydra, where the keys of an issuer are a set of its name.
async fn a_trust_ends_with_its_key(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let node = sluice.second_node().await;
    let (one, two) = (Idp::new("one"), Idp::new("two"));
    let client = exchanger(&sluice, &json!({})).await;
    for idp in [&one, &two] {
        idp.trusted(&sluice, &json!({})).await;
    }
    let set = "/admin/keys/https:%2F%2Fidp.example.com";
    let shown = sluice.ask_json(Method::GET, set, None, 200).await;
    let shown: Vec<_> =
        shown["keys"].as_array().unwrap().iter().map(|key| (&key["kid"], &key["d"])).collect();
    assert_eq!(shown, [(&json!("one"), &Value::Null), (&json!("two"), &Value::Null)]);
    exchange(&client, &one.assertion(&sluice, &json!({})), &[]).await.ok();
    delete(&sluice, &format!("{set}/one")).await;
    let refused = exchange(&client.at(&node), &one.assertion(&sluice, &json!({})), &[]).await;
    refused.refused_with("invalid_grant");
    exchange(&client, &two.assertion(&sluice, &json!({})), &[]).await.ok();
    delete(&sluice, set).await;
    let refused = exchange(&client.at(&node), &two.assertion(&sluice, &json!({})), &[]).await;
    refused.refused_with("invalid_grant");
    assert_eq!(sluice.ask_json(Method::GET, ISSUERS, None, 200).await, json!([]));
    node.node.stop().await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_claim_of_an_assertion_is_checked() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (idp, client) = (Idp::new("one"), exchanger(&sluice, &json!({})).await);
    idp.trusted(&sluice, &json!({})).await;
    let now = sluice.clock.now().as_secs();
    let wrong = [
        json!({"iss": "https://other.example.com"}),
        json!({"iss": null}),
        json!({"sub": "bob"}),
        json!({"sub": null}),
        json!({"aud": "https://other.example.com"}),
        json!({"aud": []}),
        json!({"aud": null}),
        json!({"exp": now}),
        json!({"exp": null}),
        json!({"exp": now + 721 * 3600}),
        json!({"nbf": now + 120}),
        json!({"iat": now + 120}),
        json!({"iat": null}),
        json!({"jti": null}),
        json!({"jti": ""}),
        json!({"jti": "x".repeat(513)}),
    ];
    for changes in &wrong {
        let answer = exchange(&client, &idp.assertion(&sluice, changes), &[]).await;
        assert_eq!(answer.body["error"], "invalid_grant", "{changes}: {}", answer.body);
    }
    for changes in [json!({"aud": ISSUER}), json!({"aud": ["https://a.test", ISSUER]}), json!({"nbf": now})] {
        exchange(&client, &idp.assertion(&sluice, &changes), &[]).await.ok();
    }
    client.token(&[("grant_type", GRANT)]).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_trusted_key_signs() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (idp, client) = (Idp::new("one"), exchanger(&sluice, &json!({})).await);
    idp.trusted(&sluice, &json!({})).await;
    let stranger = Idp::new("one");
    let refused = exchange(&client, &stranger.assertion(&sluice, &json!({})), &[]).await;
    let sentence = refused.body["error_description"].as_str().unwrap();
    assert!(sentence.starts_with("The assertion is invalid, "), "{sentence}");
    refused.refused_with("invalid_grant");
    let own_key = json!({"alg": "ES256", "kid": "one", "jwk": stranger.key.jwk, "jku": "https://evil.test/"});
    for header in
        [json!({"alg": "none"}), json!({"alg": "HS256"}), json!({"alg": "ES256", "kid": "two"}), own_key]
    {
        let assertion = stranger.assertion_with(&header, &sluice, &json!({}));
        exchange(&client, &assertion, &[]).await.refused_with("invalid_grant");
    }
    for text in ["no-jwt", "a.b.c", "e30.e30."] {
        exchange(&client, text, &[]).await.refused_with("invalid_grant");
    }
    // Without the name of a key, that which fits is found.
    Idp::new("zero").trusted(&sluice, &json!({})).await;
    let unnamed = idp.assertion_with(&json!({"alg": "ES256"}), &sluice, &json!({}));
    exchange(&client, &unnamed, &[]).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_more_than_the_trust_and_the_registration_allow() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (idp, client) = (Idp::new("one"), exchanger(&sluice, &json!({"scope": "profile openid"})).await);
    idp.trusted(&sluice, &json!({})).await;
    let nothing = exchange(&client, &idp.assertion(&sluice, &json!({})), &[]).await.ok();
    assert_eq!(nothing["scope"], "", "nothing is granted that is not asked for");
    for scope in ["email", "openid", "profile openid"] {
        let assertion = idp.assertion(&sluice, &json!({}));
        exchange(&client, &assertion, &[("scope", scope)]).await.refused_with("invalid_scope");
        // A refusal does not use the assertion up.
        exchange(&client, &assertion, &[("scope", "profile")]).await.ok();
    }
    let assertion = idp.assertion(&sluice, &json!({}));
    let elsewhere = [("audience", "https://elsewhere.test")];
    exchange(&client, &assertion, &elsewhere).await.refused_with("invalid_target");
    let unregistered = sluice.client(&json!({})).await;
    exchange(&unregistered, &assertion, &[]).await.refused_with("unauthorized_client");
    let mut nobody = client;
    nobody.secret = Some("wrong".to_owned());
    exchange(&nobody, &assertion, &[]).await.refused_with("invalid_client");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trust_of_any_subject_is_one_of_each() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (idp, client) = (Idp::new("one"), exchanger(&sluice, &json!({})).await);
    let any = json!({"subject": null, "allow_any_subject": true, "scope": ["profile"]});
    idp.trusted(&sluice, &any).await;
    for subject in ["alice", "bob"] {
        let tokens = exchange(&client, &idp.assertion(&sluice, &json!({"sub": subject})), &[]).await.ok();
        assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["sub"], subject);
    }
    let email = [("scope", "email")];
    exchange(&client, &idp.assertion(&sluice, &json!({})), &email).await.refused_with("invalid_scope");
    // What is said of one subject goes before.
    idp.trusted(&sluice, &json!({"scope": ["email"]})).await;
    exchange(&client, &idp.assertion(&sluice, &json!({})), &email).await.ok();
    let of_bob = idp.assertion(&sluice, &json!({"sub": "bob"}));
    exchange(&client, &of_bob, &email).await.refused_with("invalid_scope");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_another_issuer_speaks_of_did_not_log_in_but_can_be_logged_out() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let strategies = ["jwt", "opaque"];
    let idp = Idp::new("one");
    idp.trusted(&sluice, &json!({})).await;
    let mut made = Vec::new();
    for strategy in strategies {
        let client = exchanger(&sluice, &json!({"access_token_strategy": strategy})).await;
        let tokens = exchange(&client, &idp.assertion(&sluice, &json!({})), &[]).await.ok();
        made.push(token(&tokens, "access_token").to_owned());
    }
    assert!(claims(&made[0])["auth_time"].is_null(), "RFC 9068 §2.2.1");
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    for (access_token, strategy) in made.iter().zip(strategies) {
        assert!(!sluice.is_active(access_token).await, "{strategy}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_say_what_an_assertion_may_lack() {
    let settings = [
        ("oauth2.grant.jwt.jti_optional", "true"),
        ("oauth2.grant.jwt.iat_optional", "true"),
        ("oauth2.grant.jwt.max_ttl", "10m"),
        ("oauth2.grant.jwt.omit_assertion_audience", "false"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let strategy = json!({"access_token_strategy": "jwt", "jwt_bearer_grant_access_token_lifespan": "5m0s"});
    let (idp, client) = (Idp::new("one"), exchanger(&sluice, &strategy).await);
    idp.trusted(&sluice, &json!({})).await;
    let now = sluice.clock.now().as_secs();
    let plain = idp.assertion(&sluice, &json!({"jti": null, "iat": null, "aud": ISSUER}));
    for _ in 0..2 {
        let tokens = exchange(&client, &plain, &[("audience", "https://api.test")]).await.ok();
        assert_eq!(tokens["expires_in"], 300);
        let said = claims(token(&tokens, "access_token"));
        assert_eq!((&said["sub"], &said["aud"]), (&json!("alice"), &json!(["https://api.test", ISSUER])));
    }
    let long = idp.assertion(&sluice, &json!({"exp": now + 601}));
    exchange(&client, &long, &[]).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}
