//! The hybrid flow (OpenID Connect Core §3.3).

use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestSluice};

use crate::authorization_errors::Change::{With, Without};
use crate::both_stores::on_both_stores;
use crate::jwt::verified;
use crate::legs::token;
use crate::response::{NONCE, STATE, answer, client_for, half_hash, refusal};

on_both_stores! {
    an_id_token_vouches_for_what_comes_with_it,
    the_token_endpoint_says_the_same_as_the_authorization_endpoint,
    a_code_of_a_hybrid_flow_works_once,
}

const HYBRID: [&str; 3] = ["code id_token", "code token", "code id_token token"];

async fn an_id_token_vouches_for_what_comes_with_it(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &HYBRID, json!({})).await;
    for asked in ["code id_token", "code id_token token"] {
        let answer = answer(&sluice, &client, &[With("response_type", asked)]).await;
        let said = verified(&sluice, answer.get("id_token"), "RS256").await;
        assert_eq!(said["nonce"], NONCE);
        assert_eq!(said["c_hash"], half_hash(answer.get("code")), "OpenID Connect Core §3.3.2.11");
        assert_eq!(said["s_hash"], half_hash(STATE));
        match answer.parameters.get("access_token") {
            Some(access_token) => assert_eq!(said["at_hash"], half_hash(access_token)),
            None => assert!(said.get("at_hash").is_none(), "{said}"),
        }
    }
    let stateless = [With("response_type", "code id_token"), Without("state")];
    let answer = answer(&sluice, &client, &stateless).await;
    let said = verified(&sluice, answer.get("id_token"), "RS256").await;
    assert!(said.get("s_hash").is_none() && !answer.parameters.contains_key("state"));
    sluice.node.stop().await;
}

async fn the_token_endpoint_says_the_same_as_the_authorization_endpoint(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &HYBRID, json!({})).await;
    for asked in HYBRID {
        let answer = answer(&sluice, &client, &[With("response_type", asked)]).await;
        sluice.advance(Lifetime::secs(5));
        let tokens = client.redeem(answer.get("code")).await.ok();
        let later = verified(&sluice, token(&tokens, "id_token"), "RS256").await;
        assert_eq!(
            (&later["nonce"], &later["at_hash"]),
            (&json!(NONCE), &half_hash(token(&tokens, "access_token")))
        );
        if let Some(id_token) = answer.parameters.get("id_token") {
            let first = verified(&sluice, id_token, "RS256").await;
            for same in ["iss", "sub", "aud", "auth_time", "sid", "nonce"] {
                assert_eq!(first[same], later[same], "{asked}: {same}, OpenID Connect Core §3.3.3.6");
            }
            assert_ne!(first["jti"], later["jti"]);
        }
        if let Some(access_token) = answer.parameters.get("access_token") {
            let (first, later) = (
                sluice.introspect(access_token).await,
                sluice.introspect(token(&tokens, "access_token")).await,
            );
            assert_eq!((&first["active"], &later["active"]), (&json!(true), &json!(true)));
            assert_ne!(first["jti"], later["jti"]);
        }
        let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
        token(&refreshed, "id_token");
    }
    sluice.node.stop().await;
}

async fn a_code_of_a_hybrid_flow_works_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = client_for(&sluice, &HYBRID, json!({})).await;
    let answer = answer(&sluice, &client, &[With("response_type", "code token")]).await;
    let tokens = client.redeem(answer.get("code")).await.ok();
    assert!(sluice.is_active(answer.get("access_token")).await);
    client.redeem(answer.get("code")).await.refused_with("invalid_grant");
    for revoked in [answer.get("access_token"), token(&tokens, "access_token")] {
        assert!(
            !sluice.is_active(revoked).await,
            "RFC 6749 §4.1.2: what was issued for the code goes with it"
        );
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_is_needed_where_an_id_token_comes_through_the_browser() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &HYBRID, json!({})).await;
    for asked in ["code id_token", "code id_token token"] {
        let refused = refusal(&sluice, &client, &[With("response_type", asked), Without("nonce")]).await;
        refused.refused_with("invalid_request");
        assert_eq!(refused.way, "fragment");
    }
    answer(&sluice, &client, &[With("response_type", "code token"), Without("nonce")]).await.get("code");
    sluice.node.stop().await;
}

/// Without `openid` it is OAuth: a code and a token.
#[tokio::test(flavor = "multi_thread")]
async fn code_token_needs_no_openid() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &HYBRID, json!({})).await;
    let changes = [With("response_type", "code token"), With("scope", "email")];
    let answer = answer(&sluice, &client, &changes).await;
    let tokens = client.redeem(answer.get("code")).await.ok();
    assert!(tokens.get("id_token").is_none());
    assert_eq!(sluice.introspect(answer.get("access_token")).await["scope"], "email");
    sluice.node.stop().await;
}

/// A front-channel token that outlives everything else of its grant still finds it.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_lived_token_of_the_fragment_outlives_the_code() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client_for(&sluice, &HYBRID, json!({"implicit_grant_access_token_lifespan": "48h"})).await;
    for redeems in [true, false] {
        let answer = answer(&sluice, &client, &[With("response_type", "code token")]).await;
        if redeems {
            client.redeem(answer.get("code")).await.ok();
        }
        sluice.advance(Lifetime::hours(47));
        let (status, userinfo) = client.userinfo(answer.get("access_token")).await;
        assert_eq!((status, &userinfo["sub"]), (200, &json!("alice")));
        sluice.advance(Lifetime::hours(1));
        assert_eq!(client.userinfo(answer.get("access_token")).await.0, 401);
    }
    sluice.node.stop().await;
}
