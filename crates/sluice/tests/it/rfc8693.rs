//! RFC 8693, section by section: a token is exchanged for another one.

mod bounds;
mod gateway;

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, TokenAnswer, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::keyed::{Key, changed, send};
use crate::legs::{delete, token, tokens_of};
use crate::rfc7523::Idp;
use crate::userinfo::about_user;

on_both_stores! {
    a_client_narrows_a_token_of_its_own,
    an_exchanged_token_ends_with_what_it_was_exchanged_for,
    an_exchanged_token_is_revoked_without_its_origin,
    an_id_token_and_a_refresh_token_stand_for_their_grant,
}

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const REFRESH_TOKEN: &str = "urn:ietf:params:oauth:token-type:refresh_token";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// A client that logs users in.
async fn shop(sluice: &TestSluice, changes: &Value) -> TestClient {
    let grant_types = json!(["authorization_code", "refresh_token", "client_credentials", GRANT]);
    sluice.client(&changed(json!({"grant_types": grant_types}), changes)).await
}

/// A client that exchanges tokens of others.
async fn service(sluice: &TestSluice, policy: Value) -> TestClient {
    let changes = json!({"grant_types": [GRANT, "client_credentials"], "token_exchange": policy,
                         "scope": "openid profile email"});
    sluice.client(&changes).await
}

async fn impersonator(sluice: &TestSluice) -> TestClient {
    service(sluice, json!({"impersonation": true, "subject_token_clients": ["*"]})).await
}

async fn delegate(sluice: &TestSluice) -> TestClient {
    service(sluice, json!({"delegation": true, "subject_token_clients": ["*"]})).await
}

async fn exchange_of(
    client: &TestClient,
    (subject, kind): (&str, &str),
    more: &[(&str, &str)],
) -> TokenAnswer {
    let form = [("grant_type", GRANT), ("subject_token", subject), ("subject_token_type", kind)];
    client.token(&[&form, more].concat()).await
}

/// Exchanges an access token.
async fn exchange(client: &TestClient, subject: &str, more: &[(&str, &str)]) -> TokenAnswer {
    exchange_of(client, (subject, ACCESS_TOKEN), more).await
}

fn access(tokens: &Value) -> String {
    token(tokens, "access_token").to_owned()
}

/// An access token of alice with more scope than most.
async fn alices(sluice: &TestSluice, client: &TestClient) -> Value {
    let more = [("audience", "https://api.test")];
    let with =
        Authorize { scope: "openid offline_access profile email", more: &more, ..Authorize::default() };
    let page = sluice.browser().log_in_with(sluice, client, &with, &json!({"subject": "alice"})).await;
    client.redeem(&page.expect("code")).await.ok()
}

/// An access token of alice whose consent page said this about it.
async fn alices_with_claims(sluice: &TestSluice, client: &TestClient, claims: &Value) -> String {
    let mut browser = sluice.browser();
    let challenge = browser.begin(client, &Authorize::default()).await;
    let verifier = accept_login(sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let session = json!({"session": {"access_token": claims}});
    let verifier = accept_consent(sluice, &challenge, &session).await;
    let code = browser.visit(&verifier).await.expect("code");
    access(&client.redeem(&code).await.ok())
}

async fn a_client_narrows_a_token_of_its_own(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = shop(&sluice, &json!({})).await;
    let tokens = alices(&sluice, &client).await;
    let narrow = [("scope", "profile"), ("audience", "https://api.test")];
    let exchanged = exchange(&client, &access(&tokens), &narrow).await.ok();
    // §2.2.1.
    assert_eq!(exchanged["issued_token_type"], ACCESS_TOKEN);
    assert_eq!((&exchanged["token_type"], &exchanged["scope"]), (&json!("bearer"), &json!("profile")));
    assert!(exchanged["refresh_token"].is_null() && exchanged["id_token"].is_null());
    let said = sluice.introspect(&access(&exchanged)).await;
    assert_eq!(
        [&said["active"], &said["sub"], &said["scope"], &said["aud"], &said["act"]],
        [&json!(true), &json!("alice"), &json!("profile"), &json!(["https://api.test"]), &Value::Null]
    );
    assert_ne!(said["jti"], sluice.introspect(&access(&tokens)).await["jti"]);
    // Everything, if nothing is asked for; and a narrow one does not widen again.
    let same = exchange(&client, &access(&tokens), &[]).await.ok();
    assert_eq!(same["scope"], "openid offline_access profile email");
    let back = [("scope", "profile email")];
    exchange(&client, &access(&exchanged), &back).await.refused_with("invalid_scope");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_not_right_is_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({})).await;
    let subject = access(&tokens_of(&sluice, &client, "alice").await);
    let id_token = ("requested_token_type", ID_TOKEN);
    for more in [
        &[id_token][..],
        &[("requested_token_type", REFRESH_TOKEN)],
        &[("actor_token", subject.as_str())],
        &[("actor_token_type", ACCESS_TOKEN)],
        &[("actor_token", "made-up"), ("actor_token_type", ACCESS_TOKEN)],
        &[("actor_token", subject.as_str()), ("actor_token_type", REFRESH_TOKEN)],
    ] {
        exchange(&client, &subject, more).await.refused_with("invalid_request");
    }
    for (text, kind) in
        [(subject.as_str(), ID_TOKEN), (&subject, JWT), (&subject, "urn:x:saml"), ("", ACCESS_TOKEN)]
    {
        exchange_of(&client, (text, kind), &[]).await.refused_with("invalid_request");
    }
    // §2.2.2.
    let elsewhere = [("audience", "https://elsewhere.test")];
    exchange(&client, &subject, &elsewhere).await.refused_with("invalid_target");
    let resource = [("resource", "https://elsewhere.test/a")];
    exchange(&client, &subject, &resource).await.refused_with("invalid_target");
    exchange(&client, &subject, &[("scope", "email")]).await.refused_with("invalid_scope");
    let unregistered = sluice.client(&json!({})).await;
    exchange(&unregistered, &subject, &[]).await.refused_with("unauthorized_client");
    let public = shop(
        &sluice,
        &json!({"token_endpoint_auth_method": "none",
                                       "grant_types": ["authorization_code", GRANT]}),
    )
    .await;
    let own = access(&tokens_of(&sluice, &public, "alice").await);
    exchange(&public, &own, &[]).await.refused_with("unauthorized_client");
    client.revoke(&subject).await.ok();
    exchange(&client, &subject, &[]).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_clients_that_are_registered_for_it_exchange_tokens_of_others() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let shop = shop(&sluice, &json!({})).await;
    let subject = access(&alices(&sluice, &shop).await);
    let profile = [("scope", "profile")];
    for policy in [
        json!({}),
        json!({"impersonation": true, "delegation": true}),
        json!({"impersonation": true, "subject_token_clients": ["another"]}),
        json!({"subject_token_clients": ["*"]}),
    ] {
        let client = service(&sluice, policy.clone()).await;
        let answer = exchange(&client, &subject, &profile).await;
        assert_eq!(answer.body["error"], "invalid_request", "{policy}");
    }
    let named = service(&sluice, json!({"impersonation": true, "subject_token_clients": [shop.id]})).await;
    let exchanged = exchange(&named, &subject, &profile).await.ok();
    let said = sluice.introspect(&access(&exchanged)).await;
    assert_eq!(
        [&said["sub"], &said["client_id"], &said["act"]],
        [&json!("alice"), &json!(named.id), &Value::Null]
    );
    // §2.1: what both the token and the client may.
    let most = exchange(&named, &subject, &[]).await.ok();
    assert_eq!(most["scope"], "openid profile email", "the client may not be offline");
    exchange(&named, &subject, &[("scope", "offline_access")]).await.refused_with("invalid_scope");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_names_a_client_as_its_audience_may_be_exchanged_by_it() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let api = service(&sluice, json!({"impersonation": true})).await;
    let shop = shop(&sluice, &json!({"audience": [api.id]})).await;
    let subject = access(&tokens_of(&sluice, &shop, "alice").await);
    exchange(&api, &subject, &[]).await.refused_with("invalid_request");
    let with = Authorize { more: &[("audience", &*api.id)], ..Authorize::default() };
    let page = sluice.browser().log_in_with(&sluice, &shop, &with, &json!({"subject": "alice"})).await;
    let for_api = access(&shop.redeem(&page.expect("code")).await.ok());
    let exchanged = exchange(&api, &for_api, &[("audience", "https://api.test")]).await.ok();
    let said = sluice.introspect(&access(&exchanged)).await;
    assert_eq!((&said["sub"], &said["aud"]), (&json!("alice"), &json!(["https://api.test"])));
    // A token for one service does not become one for all.
    let refused = exchange(&api, &for_api, &[]).await;
    assert!(!refused.body.to_string().contains(&api.id), "it has named none: {}", refused.body);
    refused.refused_with("invalid_target");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_its_own_token_a_client_gets_no_further_than_the_user_let_it() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let more = json!({"audience": ["https://api.test", "https://other.test"]});
    let client = shop(&sluice, &more).await;
    let tokens = alices(&sluice, &client).await;
    let nowhere = access(&tokens_of(&sluice, &client, "bob").await);
    let (there, elsewhere) = ([("audience", "https://api.test")], [("audience", "https://other.test")]);
    let refresh_token = (token(&tokens, "refresh_token"), REFRESH_TOKEN);
    exchange(&client, &access(&tokens), &there).await.ok();
    exchange_of(&client, refresh_token, &there).await.ok();
    exchange(&client, &access(&tokens), &elsewhere).await.refused_with("invalid_target");
    exchange_of(&client, refresh_token, &elsewhere).await.refused_with("invalid_target");
    exchange(&client, &nowhere, &there).await.refused_with("invalid_target");
    // Nobody but the administrator decides where a client goes on its own behalf.
    let own = access(&client.token(&[("grant_type", "client_credentials")]).await.ok());
    exchange(&client, &own, &elsewhere).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_holds_an_exchanged_token_is_told_of_the_user_what_its_scope_covers() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (shop, client) = (shop(&sluice, &json!({})).await, impersonator(&sluice).await);
    let with = Authorize { scope: "openid profile email", ..Authorize::default() };
    let mut browser = sluice.browser();
    let challenge = browser.begin(&shop, &with).await;
    let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let told = json!({"name": "Alice", "email": "alice@app.test", "plan": "gold"});
    let verifier = accept_consent(&sluice, &challenge, &json!({"session": {"id_token": told}})).await;
    let subject = access(&shop.redeem(&browser.visit(&verifier).await.expect("code")).await.ok());
    let everything = json!({"sub": "alice", "name": "Alice", "email": "alice@app.test", "plan": "gold"});
    assert_eq!(about_user(shop.userinfo(&subject).await.1), everything);
    for (by, scope, expected) in [
        (&client, "openid", json!({"sub": "alice"})),
        (&shop, "openid", json!({"sub": "alice"})),
        (&client, "openid profile", json!({"sub": "alice", "name": "Alice"})),
        (&client, "openid email", json!({"sub": "alice", "email": "alice@app.test"})),
    ] {
        let exchanged = access(&exchange(by, &subject, &[("scope", scope)]).await.ok());
        assert_eq!(about_user(by.userinfo(&exchanged).await.1), expected, "{scope}");
    }
    sluice.node.stop().await;
}

async fn an_exchanged_token_ends_with_what_it_was_exchanged_for(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = impersonator(&sluice).await;
    for end in 0..6 {
        let shop = shop(&sluice, &json!({})).await;
        let tokens = tokens_of(&sluice, &shop, "alice").await;
        let exchanged = access(&exchange(&client, &access(&tokens), &[]).await.ok());
        sluice.advance(Lifetime::secs(1));
        let again = access(&exchange(&client, &exchanged, &[]).await.ok());
        assert!(sluice.is_active(&exchanged).await && sluice.is_active(&again).await);
        sluice.advance(Lifetime::secs(1));
        match end {
            0 => drop(shop.revoke(token(&tokens, "refresh_token")).await.ok()),
            1 => delete(&sluice, &format!("/admin/clients/{}", shop.id)).await,
            2 => delete(&sluice, &format!("/admin/oauth2/tokens?client_id={}", shop.id)).await,
            3 => delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await,
            4 => {
                let path = "/admin/oauth2/auth/sessions/consent?subject=alice&client=";
                delete(&sluice, &format!("{path}{}", shop.id)).await;
            }
            _ => delete(&sluice, "/admin/oauth2/auth/sessions/consent?subject=alice&all=true").await,
        }
        assert!(!sluice.is_active(&exchanged).await && !sluice.is_active(&again).await, "{end}");
        sluice.advance(Lifetime::secs(1));
    }
    // What ended the tokens of this client does not end those that it exchanges later.
    let shop = shop(&sluice, &json!({})).await;
    let subject = access(&tokens_of(&sluice, &shop, "alice").await);
    let before = access(&exchange(&client, &subject, &[]).await.ok());
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("/admin/oauth2/tokens?client_id={}", client.id)).await;
    assert!(!sluice.is_active(&before).await);
    sluice.advance(Lifetime::secs(1));
    let after = access(&exchange(&client, &subject, &[]).await.ok());
    assert!(sluice.is_active(&after).await);
    sluice.node.stop().await;
}

async fn an_exchanged_token_is_revoked_without_its_origin(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let node = sluice.second_node().await;
    let (shop, first, second) =
        (shop(&sluice, &json!({})).await, impersonator(&sluice).await, impersonator(&sluice).await);
    let subject = access(&tokens_of(&sluice, &shop, "alice").await);
    let one = access(&exchange(&first, &subject, &[]).await.ok());
    let two = access(&exchange(&second, &one, &[]).await.ok());
    let beside = access(&exchange(&first, &subject, &[]).await.ok());
    second.revoke(&one).await.refused_with("unauthorized_client");
    first.revoke(&one).await.ok();
    assert!(!sluice.is_active(&one).await && !sluice.is_active(&two).await);
    assert!(sluice.is_active(&subject).await && sluice.is_active(&beside).await);
    exchange(&second, &one, &[]).await.refused_with("invalid_request");
    node.node.catch_up().await.unwrap();
    assert!(!node.is_active(&two).await && node.is_active(&subject).await);
    node.node.stop().await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchanged_token_lives_no_longer_than_its_origin() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({})).await;
    let subject = access(&tokens_of(&sluice, &client, "alice").await);
    sluice.advance(Lifetime::minutes(50));
    let exchanged = exchange(&client, &subject, &[]).await.ok();
    let left = exchanged["expires_in"].as_i64().unwrap();
    assert!((590..=600).contains(&left), "{left}");
    assert_eq!(sluice.introspect(&access(&exchanged)).await["exp"], sluice.introspect(&subject).await["exp"]);
    sluice.advance(Lifetime::minutes(10));
    exchange(&client, &subject, &[]).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_acts_for_a_subject_is_named() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let shop = shop(&sluice, &json!({})).await;
    let subject = access(&tokens_of(&sluice, &shop, "alice").await);
    let client = delegate(&sluice).await;
    // §1.1: without an actor token, the client that asks.
    let one = exchange(&client, &subject, &[]).await.ok();
    let itself = json!({"sub": client.id, "client_id": client.id});
    assert_eq!(sluice.introspect(&access(&one)).await["act"], itself);
    // §4.1: with one, its subject; who acted before stands within.
    let bob = access(&tokens_of(&sluice, &shop, "bob").await);
    let with_actor =
        [("actor_token", bob.as_str()), ("actor_token_type", ACCESS_TOKEN), ("requested_token_type", JWT)];
    let two = exchange(&client, &access(&one), &with_actor).await.ok();
    assert_eq!(two["issued_token_type"], JWT);
    let act = json!({"sub": "bob", "client_id": shop.id, "act": itself});
    let said = claims(&access(&two));
    assert_eq!((&said["sub"], &said["act"]), (&json!("alice"), &act));
    assert_eq!(sluice.introspect(&access(&two)).await["act"], act);
    // Nobody washes that off.
    let client = impersonator(&sluice).await;
    let three = exchange(&client, &access(&two), &[]).await.ok();
    assert_eq!(sluice.introspect(&access(&three)).await["act"], act);
    // Who may act as others may not bring somebody to act for them, and the other way round.
    let with_actor = &with_actor[..2];
    exchange(&client, &subject, with_actor).await.refused_with("invalid_request");
    exchange(&shop, &subject, with_actor).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_handed_on_without_end() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({})).await;
    let mut subject = access(&tokens_of(&sluice, &client, "alice").await);
    for _ in 0..8 {
        subject = access(&exchange(&client, &subject, &[]).await.ok());
    }
    exchange(&client, &subject, &[]).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_says_who_may_act_lets_nobody_else() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let shop = shop(&sluice, &json!({})).await;
    let policy = json!({"delegation": true, "impersonation": true, "subject_token_clients": ["*"]});
    let (client, other) = (service(&sluice, policy.clone()).await, service(&sluice, policy).await);
    // §4.4.
    for may_act in [json!({"sub": client.id}), json!({"client_id": client.id})] {
        let subject = alices_with_claims(&sluice, &shop, &json!({"may_act": may_act})).await;
        exchange(&client, &subject, &[]).await.ok();
        exchange(&other, &subject, &[]).await.refused_with("invalid_request");
    }
    let bobs = alices_with_claims(&sluice, &shop, &json!({"may_act": {"sub": "bob"}})).await;
    let (bob, carol) =
        (access(&tokens_of(&sluice, &shop, "bob").await), access(&tokens_of(&sluice, &shop, "carol").await));
    let kind = ("actor_token_type", ACCESS_TOKEN);
    exchange(&client, &bobs, &[("actor_token", &bob), kind]).await.ok();
    exchange(&client, &bobs, &[("actor_token", &carol), kind]).await.refused_with("invalid_request");
    exchange(&client, &bobs, &[]).await.refused_with("invalid_request");
    // Nobody comes in where a client narrows its own.
    exchange(&shop, &bobs, &[]).await.ok();
    // What cannot be checked is not met.
    for may_act in [json!("bob"), json!({}), json!({"sub": "bob", "email": "bob@app.test"})] {
        let subject = alices_with_claims(&sluice, &shop, &json!({"may_act": may_act})).await;
        let answer = exchange(&client, &subject, &[("actor_token", &bob), kind]).await;
        assert_eq!(answer.body["error"], "invalid_request", "{may_act}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_may_act_is_one_of_the_issuer_that_says_so() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (shop, idp) = (shop(&sluice, &json!({})).await, Idp::new("one"));
    idp.trusted(&sluice, &json!({"subject": null, "allow_any_subject": true})).await;
    let policy = json!({"delegation": true, "subject_token_clients": ["*"]});
    let client = service(&sluice, policy).await;
    let bob = access(&tokens_of(&sluice, &shop, "bob").await);
    let own = access(&client.token(&[("grant_type", "client_credentials")]).await.ok());
    let foreign = |sub: &str| idp.assertion(&sluice, &json!({"sub": sub}));
    let (idps, there) = (json!("https://idp.example.com"), json!(sluice_testkit::ISSUER));
    let cases = [
        (json!({"sub": "bob"}), (bob.clone(), ACCESS_TOKEN), true),
        (json!({"sub": "bob", "iss": there}), (bob.clone(), ACCESS_TOKEN), true),
        (json!({"sub": "bob", "iss": idps}), (bob.clone(), ACCESS_TOKEN), false),
        (json!({"sub": "bob"}), (foreign("bob"), JWT), false),
        (json!({"sub": "bob", "iss": idps}), (foreign("bob"), JWT), true),
        (json!({"sub": client.id}), (foreign(&client.id), JWT), false),
        (json!({"sub": client.id}), (own.clone(), ACCESS_TOKEN), true),
        (json!({"client_id": client.id}), (own, ACCESS_TOKEN), true),
        (json!({"client_id": client.id}), (foreign(&client.id), JWT), false),
        // Through which client somebody acts does not make him that client.
        (json!({"client_id": shop.id}), (bob.clone(), ACCESS_TOKEN), false),
        (json!({"sub": "bob", "client_id": shop.id}), (bob, ACCESS_TOKEN), true),
    ];
    for (may_act, (actor, kind), may) in cases {
        let subject = alices_with_claims(&sluice, &shop, &json!({"may_act": may_act})).await;
        let with_actor = [("actor_token", actor.as_str()), ("actor_token_type", kind)];
        let answer = exchange(&client, &subject, &with_actor).await;
        assert_eq!(answer.status == 200, may, "{may_act} {kind}: {}", answer.body);
    }
    for (may_act, may) in
        [(json!({"sub": client.id}), false), (json!({"sub": client.id, "iss": there}), true)]
    {
        let subject = idp.assertion(&sluice, &json!({"may_act": may_act}));
        let answer = exchange_of(&client, (&subject, JWT), &[]).await;
        assert_eq!(answer.status == 200, may, "{may_act}: {}", answer.body);
    }
    sluice.node.stop().await;
}

async fn an_id_token_and_a_refresh_token_stand_for_their_grant(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let shop = shop(&sluice, &json!({})).await;
    let client = impersonator(&sluice).await;
    let tokens = alices(&sluice, &shop).await;
    // A refresh makes new ones of the same grant; the id token from before still names it.
    let refreshed = shop.refresh(token(&tokens, "refresh_token")).await.ok();
    let mut made = Vec::new();
    for id_token in [token(&tokens, "id_token"), token(&refreshed, "id_token")] {
        made.push(exchange_of(&client, (id_token, ID_TOKEN), &[("scope", "profile")]).await.ok());
    }
    let refresh_token = (token(&refreshed, "refresh_token"), REFRESH_TOKEN);
    made.push(exchange_of(&shop, refresh_token, &[("scope", "profile")]).await.ok());
    for exchanged in &made {
        let said = sluice.introspect(&access(exchanged)).await;
        assert_eq!((&said["sub"], &said["scope"]), (&json!("alice"), &json!("profile")));
    }
    let more = [("scope", "openid profile email offline_access")];
    exchange_of(&client, (token(&tokens, "id_token"), ID_TOKEN), &more).await.refused_with("invalid_scope");
    // A refresh token is its client's alone.
    exchange_of(&client, refresh_token, &[]).await.refused_with("invalid_request");
    let as_id_token = (token(&tokens, "access_token"), ID_TOKEN);
    exchange_of(&client, as_id_token, &[]).await.refused_with("invalid_request");

    shop.revoke(token(&refreshed, "refresh_token")).await.ok();
    for exchanged in &made {
        assert!(!sluice.is_active(&access(exchanged)).await);
    }
    let id_token = (token(&refreshed, "id_token"), ID_TOKEN);
    exchange_of(&client, id_token, &[]).await.refused_with("invalid_request");
    exchange_of(&shop, refresh_token, &[]).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_id_token_stands_for_nothing() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = shop(&sluice, &json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::hours(1));
    let id_token = (token(&tokens, "id_token"), ID_TOKEN);
    exchange_of(&client, id_token, &[]).await.refused_with("invalid_request");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_client_itself_speaks_of_that_client() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (shop, client) = (shop(&sluice, &json!({})).await, impersonator(&sluice).await);
    let form = [("grant_type", "client_credentials"), ("scope", "profile")];
    let own = access(&shop.token(&form).await.ok());
    for (by, expected) in [(&shop, &shop.id), (&client, &shop.id)] {
        let exchanged = exchange(by, &own, &[("requested_token_type", JWT)]).await.ok();
        let (said, token) = (sluice.introspect(&access(&exchanged)).await, claims(&access(&exchanged)));
        assert_eq!((&said["sub"], &token["sub"]), (&json!(expected), &json!(expected)));
        assert_eq!(token["client_id"], json!(by.id));
        assert!(token["auth_time"].is_null(), "RFC 9068 §2.2.1: nobody logged in: {token}");
    }
    let alices = access(&tokens_of(&sluice, &shop, "alice").await);
    let exchanged = exchange(&client, &alices, &[("requested_token_type", JWT)]).await.ok();
    assert!(claims(&access(&exchanged))["auth_time"].is_i64());
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_of_a_trusted_issuer_is_exchanged_once() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (idp, client) = (Idp::new("one"), impersonator(&sluice).await);
    idp.trusted(&sluice, &json!({})).await;
    let assertion = idp.assertion(&sluice, &json!({"act": {"sub": "robot"}}));
    let exchanged = exchange_of(&client, (&assertion, JWT), &[("scope", "profile")]).await.ok();
    let said = sluice.introspect(&access(&exchanged)).await;
    assert_eq!(
        [&said["sub"], &said["scope"], &said["act"]],
        [&json!("alice"), &json!("profile"), &json!({"sub": "robot"})]
    );
    let left = exchanged["expires_in"].as_i64().unwrap();
    assert!((295..=300).contains(&left), "as long as the assertion: {left}");
    exchange_of(&client, (&assertion, JWT), &[]).await.refused_with("invalid_request");
    let openid = idp.assertion(&sluice, &json!({}));
    exchange_of(&client, (&openid, JWT), &[("scope", "openid")]).await.refused_with("invalid_scope");
    let stranger = Idp::new("one").assertion(&sluice, &json!({}));
    exchange_of(&client, (&stranger, JWT), &[]).await.refused_with("invalid_request");
    let unprivileged = service(&sluice, json!({"subject_token_clients": ["*"]})).await;
    let fresh = idp.assertion(&sluice, &json!({}));
    exchange_of(&unprivileged, (&fresh, JWT), &[]).await.refused_with("invalid_request");
    // Somebody else's word is good for who acts, too.
    let shop = shop(&sluice, &json!({})).await;
    let subject = access(&tokens_of(&sluice, &shop, "bob").await);
    let actor = [("actor_token", fresh.as_str()), ("actor_token_type", JWT)];
    let exchanged = exchange(&delegate(&sluice).await, &subject, &actor).await.ok();
    let said = sluice.introspect(&access(&exchanged)).await;
    let act = json!({"sub": "alice", "iss": "https://idp.example.com"});
    assert_eq!((&said["sub"], &said["act"]), (&json!("bob"), &act));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_token_stays_bound_to_the_key_of_its_client_or_of_who_was_handed_it() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let post = json!({"token_endpoint_auth_method": "client_secret_post"});
    let (client, old, new) = (shop(&sluice, &post).await, Key::new(), Key::new());
    let secret = client.secret.clone().unwrap();
    let own = [("client_id", client.id.as_str()), ("client_secret", &secret)];
    let path = "/oauth2/token";
    let form = [&[("grant_type", "client_credentials")], &own[..]].concat();
    let bound = send(&sluice, path, &[("dpop", &old.proof(&sluice, path))], &form).await.ok();
    assert_eq!(bound["token_type"], "DPoP");
    let (subject, kind) = (access(&bound), ("subject_token_type", ACCESS_TOKEN));
    let form = [&[("grant_type", GRANT), ("subject_token", subject.as_str()), kind], &own[..]].concat();
    let narrowed = send(&sluice, path, &[("dpop", &old.proof(&sluice, path))], &form).await.ok();
    let said = sluice.introspect(&access(&narrowed)).await;
    assert_eq!((&said["cnf"]["jkt"], &said["token_type"]), (&json!(old.thumbprint()), &json!("DPoP")));
    let stolen = send(&sluice, path, &[("dpop", &new.proof(&sluice, path))], &form).await;
    stolen.refused_with(400, "invalid_request");
    send(&sluice, path, &[], &form).await.refused_with(400, "invalid_request");
    // Somebody else has it from who has the key, and needs one too.
    let policy = json!({"impersonation": true, "subject_token_clients": ["*"]});
    let other = json!({"token_endpoint_auth_method": "client_secret_post", "grant_types": [GRANT],
                       "token_exchange": policy});
    let other = sluice.client(&other).await;
    let secret = other.secret.clone().unwrap();
    let own = [("client_id", other.id.as_str()), ("client_secret", &secret)];
    let form = [&[("grant_type", GRANT), ("subject_token", subject.as_str()), kind], &own[..]].concat();
    send(&sluice, path, &[], &form).await.refused_with(400, "invalid_request");
    let rebound = send(&sluice, path, &[("dpop", &new.proof(&sluice, path))], &form).await.ok();
    let said = sluice.introspect(&access(&rebound)).await;
    assert_eq!((&said["cnf"]["jkt"], &said["token_type"]), (&json!(new.thumbprint()), &json!("DPoP")));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_the_consent_page_go_along() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (shop, client) = (shop(&sluice, &json!({})).await, impersonator(&sluice).await);
    // Small ones stand in the token, large ones in the grant.
    for plan in ["gold".to_owned(), "x".repeat(2_000)] {
        let subject = alices_with_claims(&sluice, &shop, &json!({"plan": plan})).await;
        for kind in [ACCESS_TOKEN, JWT] {
            let exchanged = exchange(&client, &subject, &[("requested_token_type", kind)]).await.ok();
            let said = sluice.introspect(&access(&exchanged)).await;
            assert_eq!(said["ext"], json!({"plan": plan}));
            if kind == JWT {
                assert_eq!(claims(&access(&exchanged))["ext"], json!({"plan": plan}));
            }
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_names_the_grants_that_carry_tokens_of_others() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let page = sluice.browser().visit("/.well-known/openid-configuration").await;
    let metadata: Value = serde_json::from_str(&page.body).unwrap();
    let grant_types = metadata["grant_types_supported"].as_array().unwrap();
    for name in [GRANT, "urn:ietf:params:oauth:grant-type:jwt-bearer"] {
        assert!(grant_types.contains(&json!(name)), "{metadata}");
    }
    sluice.node.stop().await;
}
