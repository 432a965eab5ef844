//! What is revoked on one node is revoked on all; what comes later is not touched.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestClient, TestSluice};
use tokio_postgres::NoTls;

use crate::both_stores::on_both_stores;
use crate::legs::{delete, token, tokens_of};
use crate::process::until;

on_both_stores! {
    a_client_that_does_not_exist_has_nothing_to_revoke,
    a_client_that_was_deleted_keeps_nothing_that_another_node_gave_it_meanwhile,
    what_is_revoked_on_one_node_is_revoked_on_the_other,
    revoking_a_token_revokes_its_grant_and_no_other,
    an_access_token_that_a_refresh_replaced_is_revoked_alone,
    wide_revocations_do_not_touch_later_logins,
    refreshing_launders_no_revocation,
    a_token_of_a_client_for_itself_can_be_revoked,
    what_ended_long_ago_leaves_nothing_behind_when_it_is_revoked,
    a_client_revokes_only_what_is_its_own,
    a_node_that_starts_knows_what_was_revoked_before,
    the_tokens_of_a_deleted_client_hold_no_more,
    a_revoked_consent_is_listed_no_more,
}

async fn is_active(sluice: &TestSluice, tokens: &Value) -> [bool; 2] {
    let refresh_token = tokens.get("refresh_token").and_then(Value::as_str);
    let refreshes = match refresh_token {
        Some(refresh_token) => sluice.is_active(refresh_token).await,
        None => false,
    };
    [sluice.is_active(token(tokens, "access_token")).await, refreshes]
}

async fn what_is_revoked_on_one_node_is_revoked_on_the_other(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    for name in ["access_token", "refresh_token"] {
        let tokens = tokens_of(&sluice, &client, "alice").await;
        assert_eq!(is_active(&other, &tokens).await, [true, true]);
        assert_eq!(client.revoke(token(&tokens, name)).await.ok(), json!({}));
        assert_eq!(is_active(&sluice, &tokens).await, [false, false], "here at once");
        let there = client.at(&other);
        there.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
        other.node.catch_up().await.unwrap();
        assert_eq!(is_active(&other, &tokens).await, [false, false]);
        assert_eq!(there.userinfo(token(&tokens, "access_token")).await.0, 401);
    }
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn revoking_a_token_revokes_its_grant_and_no_other(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (tokens, bystander) =
        (tokens_of(&sluice, &client, "alice").await, tokens_of(&sluice, &client, "alice").await);
    let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
    client.revoke(token(&refreshed, "access_token")).await;
    assert_eq!(is_active(&sluice, &tokens).await, [false, false]);
    assert_eq!(is_active(&sluice, &refreshed).await, [false, false]);
    assert_eq!(is_active(&sluice, &bystander).await, [true, true]);
    for again in [token(&tokens, "access_token"), token(&refreshed, "refresh_token"), "unknown", "a.b.c"] {
        assert_eq!(client.revoke(again).await.ok(), json!({}), "RFC 7009 §2.2");
    }
    assert_eq!(client.post("/oauth2/revoke", &[]).await.status, 400);
    sluice.node.stop().await;
}

async fn an_access_token_that_a_refresh_replaced_is_revoked_alone(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    let grant_types = ["authorization_code", "refresh_token", exchange];
    let client = sluice.client(&json!({"grant_types": grant_types})).await;
    let first = tokens_of(&sluice, &client, "alice").await;
    let form = [
        ("grant_type", exchange),
        ("subject_token", token(&first, "access_token")),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
    ];
    let exchanged = client.token(&form).await.ok();
    let beside = client.refresh(token(&first, "refresh_token")).await.ok();
    sluice.advance(Lifetime::secs(2));
    // Replaced within the second in which it was issued.
    let second = client.refresh(token(&beside, "refresh_token")).await.ok();
    let last = client.refresh(token(&second, "refresh_token")).await.ok();
    assert!(other.is_active(token(&exchanged, "access_token")).await);
    // The first goes first, and what was exchanged for it.
    for old in [&first, &second] {
        let access_token = token(old, "access_token");
        client.revoke(access_token).await.ok();
        let written = sluice.written();
        client.revoke(access_token).await.ok();
        assert_eq!(sluice.written(), written, "once is enough");
        other.node.catch_up().await.unwrap();
        for node in [&sluice, &other] {
            assert!(!node.is_active(access_token).await);
            assert!(!node.is_active(token(&exchanged, "access_token")).await, "it was exchanged for it");
            assert_eq!(is_active(node, &last).await, [true, true]);
        }
    }
    assert!(sluice.is_active(token(&beside, "access_token")).await, "nobody revoked it");
    client.revoke(token(&first, "refresh_token")).await.ok();
    for tokens in [&beside, &last] {
        assert_eq!(is_active(&sluice, tokens).await, [false, false], "an old refresh token is of the grant");
    }
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn wide_revocations_do_not_touch_later_logins(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let (client, neighbour) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let admin = "/admin/oauth2";
    let wide = [
        (format!("{admin}/auth/sessions/login?subject=alice"), false),
        (format!("{admin}/auth/sessions/consent?subject=alice&all=true"), false),
        (format!("{admin}/auth/sessions/consent?subject=alice&client={}", client.id), true),
        (format!("{admin}/tokens?client_id={}", client.id), true),
    ];
    for (path, spares_the_neighbour) in wide {
        let before = tokens_of(&sluice, &client, "alice").await;
        let beside = tokens_of(&sluice, &neighbour, "alice").await;
        sluice.advance(Lifetime::millis(1));
        delete(&sluice, &path).await;
        sluice.advance(Lifetime::millis(1));
        let after = tokens_of(&sluice, &client, "alice").await;
        for node in [&sluice, &other] {
            node.node.catch_up().await.unwrap();
            assert_eq!(is_active(node, &before).await, [false, false], "{path}");
            assert_eq!(is_active(node, &beside).await, [spares_the_neighbour; 2], "{path}");
            assert_eq!(is_active(node, &after).await, [true, true], "{path}");
        }
        client.at(&other).refresh(token(&after, "refresh_token")).await.ok();
        sluice.advance(Lifetime::millis(1));
    }
    other.node.stop().await;
    sluice.node.stop().await;
}

/// Markers are held against the time of the authentication and of the consent, never against `iat`.
async fn refreshing_launders_no_revocation(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(10));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    sluice.advance(Lifetime::secs(10));
    // The other node may not have heard yet: the store has.
    client.at(&other).refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    let code = {
        let mut browser = sluice.browser();
        let verifier = crate::legs::consent_verifier(&sluice, &client, &mut browser, "bob").await;
        sluice.advance(Lifetime::secs(10));
        delete(&sluice, &format!("/admin/oauth2/tokens?client_id={}", client.id)).await;
        sluice.advance(Lifetime::secs(10));
        browser.visit(&verifier).await.parameter("code")
    };
    if let Some(code) = code {
        client.redeem(&code).await.refused_with("invalid_grant");
    }
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn a_token_of_a_client_for_itself_can_be_revoked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    let ask = [("grant_type", "client_credentials"), ("scope", "email")];
    let before = sluice.written();
    let tokens = [client.token(&ask).await.ok(), client.token(&ask).await.ok()];
    assert_eq!(sluice.written(), before, "nothing is written for them");
    assert_eq!(tokens[0].get("refresh_token"), None);
    let said = sluice.introspect(token(&tokens[0], "access_token")).await;
    assert_eq!(
        (&said["sub"], &said["client_id"], &said["scope"]),
        (&json!(client.id), &json!(client.id), &json!("email"))
    );
    client.revoke(token(&tokens[0], "access_token")).await;
    for node in [&sluice, &other] {
        node.node.catch_up().await.unwrap();
        assert_eq!(is_active(node, &tokens[0]).await, [false, false]);
        assert_eq!(is_active(node, &tokens[1]).await, [true, false]);
    }
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("/admin/oauth2/tokens?client_id={}", client.id)).await;
    sluice.advance(Lifetime::secs(1));
    let later = client.token(&ask).await.ok();
    for node in [&sluice, &other] {
        node.node.catch_up().await.unwrap();
        assert_eq!(is_active(node, &tokens[1]).await, [false, false]);
        assert_eq!(is_active(node, &later).await, [true, false]);
    }
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn what_ended_long_ago_leaves_nothing_behind_when_it_is_revoked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let ask = [("grant_type", "client_credentials")];
    let [ended, living] = [client.token(&ask).await.ok(), client.token(&ask).await.ok()];
    let of_user = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::minutes(59));
    let before = sluice.written();
    client.revoke(token(&living, "access_token")).await.ok();
    assert_ne!(sluice.written(), before);
    assert_eq!(is_active(&sluice, &living).await, [false, false]);
    sluice.advance(Lifetime::minutes(7));
    let before = sluice.written();
    client.revoke(token(&ended, "access_token")).await.ok();
    assert_eq!(sluice.written(), before, "it holds nowhere");
    assert_eq!(is_active(&sluice, &living).await, [false, false]);
    // What a user granted lives on by its refresh token.
    client.revoke(token(&of_user, "access_token")).await.ok();
    assert_ne!(sluice.written(), before);
    assert_eq!(is_active(&sluice, &of_user).await, [false, false]);
    client.refresh(token(&of_user, "refresh_token")).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

/// Tokens that were revoked, and what then becomes of the rows.
async fn revoked_and_then(sluice: &TestSluice, sql: &str) -> (TestClient, Value) {
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(sluice, &client, "alice").await;
    client.revoke(token(&tokens, "refresh_token")).await.ok();
    let (database, connection) = tokio_postgres::connect(&sluice.database.dsn, NoTls).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    database.batch_execute(sql).await.unwrap();
    (client, tokens)
}

/// Another server has taken over, which the revocation never reached; the node that wrote it remembers it.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_lost_of_a_revocation_is_written_when_it_is_asked_for_again() {
    let sluice = TestSluice::start(Backend::Postgres).await;
    let lost = "UPDATE oauth_grant SET revoked_at = NULL; DELETE FROM revocation";
    let (client, tokens) = revoked_and_then(&sluice, lost).await;
    let late = sluice.second_node().await;
    assert_eq!(is_active(&late, &tokens).await, [true, true], "it is lost");
    client.revoke(token(&tokens, "refresh_token")).await.ok();
    client.at(&late).refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    late.node.catch_up().await.unwrap();
    assert_eq!(is_active(&late, &tokens).await, [false, false]);
    late.node.stop().await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_row_any_more_is_revoked_once() {
    let sluice = TestSluice::start(Backend::Postgres).await;
    let (client, tokens) = revoked_and_then(&sluice, "DELETE FROM oauth_grant").await;
    let before = sluice.written();
    for name in ["refresh_token", "access_token"] {
        client.revoke(token(&tokens, name)).await.ok();
    }
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

async fn a_client_revokes_only_what_is_its_own(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, other) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let refused = |answer: sluice_testkit::TokenAnswer| answer.status;
    for name in ["access_token", "refresh_token"] {
        assert!((400..500).contains(&refused(other.revoke(token(&tokens, name)).await)));
    }
    let mut stranger: TestClient = client.clone();
    stranger.secret = Some("not-the-secret-of-this-client".into());
    stranger.revoke(token(&tokens, "access_token")).await.refused_with("invalid_client");
    assert_eq!(is_active(&sluice, &tokens).await, [true, true]);
    sluice.node.stop().await;
}

async fn a_node_that_starts_knows_what_was_revoked_before(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (alice, bob) = (tokens_of(&sluice, &client, "alice").await, tokens_of(&sluice, &client, "bob").await);
    let carol = tokens_of(&sluice, &client, "carol").await;
    client.revoke(token(&alice, "access_token")).await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=bob").await;
    let late = sluice.second_node().await;
    assert_eq!(is_active(&late, &alice).await, [false, false]);
    assert_eq!(is_active(&late, &bob).await, [false, false]);
    assert_eq!(is_active(&late, &carol).await, [true, true]);
    late.node.stop().await;
    sluice.node.stop().await;
}

async fn the_tokens_of_a_deleted_client_hold_no_more(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    assert_eq!(is_active(&other, &tokens).await, [true, true]);
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("/admin/clients/{}", client.id)).await;
    assert_eq!(is_active(&sluice, &tokens).await, [false, false]);
    other.node.catch_up().await.unwrap();
    assert_eq!(is_active(&other, &tokens).await, [false, false]);
    client.at(&other).refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_client");
    // Another client that takes the name is given nothing of its predecessor's.
    sluice.advance(Lifetime::secs(1));
    let heir =
        sluice.client(&json!({"client_id": client.id, "client_secret": "the-secret-of-the-heir"})).await;
    assert_eq!(is_active(&sluice, &tokens).await, [false, false]);
    heir.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    other.node.stop().await;
    sluice.node.stop().await;
}

async fn a_revoked_consent_is_listed_no_more(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::millis(1));
    let kept = tokens_of(&sluice, &client, "alice").await;
    let path = "/admin/oauth2/auth/sessions/consent";
    let list = format!("{path}?subject=alice");
    let listed = sluice.ask_json(reqwest::Method::GET, &list, None, 200).await;
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let oldest = listed[1]["consent_request_id"].as_str().unwrap();
    delete(&sluice, &format!("{path}?consent_request_id={oldest}")).await;
    assert_eq!(is_active(&sluice, &tokens).await, [false, false]);
    assert_eq!(is_active(&sluice, &kept).await, [true, true]);
    let listed = sluice.ask_json(reqwest::Method::GET, &list, None, 200).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["consent_request"]["client"]["client_id"], client.id);
    sluice.node.stop().await;
}

/// Another node knows it for a moment longer: what it issues then is covered by no marker of the deletion.
async fn a_client_that_was_deleted_keeps_nothing_that_another_node_gave_it_meanwhile(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let metadata = json!({"grant_types": ["client_credentials"]});
    let client = sluice.client(&metadata).await;
    other.node.catch_up().await.unwrap();
    let there = client.at(&other);
    let ask = [("grant_type", "client_credentials")];
    there.token(&ask).await.ok();
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("/admin/clients/{}", client.id)).await;
    sluice.advance(Lifetime::secs(1));
    // It may have heard already.
    let late = there.token(&ask).await;
    sluice.advance(Lifetime::secs(1));
    other.node.catch_up().await.unwrap();
    if late.status == 200 {
        let tokens = late.ok();
        for node in [&other, &sluice] {
            until("heard", async || {
                node.node.catch_up().await.unwrap();
                !node.is_active(token(&tokens, "access_token")).await
            })
            .await;
        }
    }
    there.token(&ask).await.refused_with("invalid_client");
    other.node.stop().await;
    sluice.node.stop().await;
}

/// As with Hydra, whoever is gone already is no failure.
async fn a_client_that_does_not_exist_has_nothing_to_revoke(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/tokens?client_id=nobody").await;
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}
