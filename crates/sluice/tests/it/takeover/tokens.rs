//! Refresh tokens that a Hydra issued go on to work, each as the first of its grant.

use reqwest::Method;
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, PrivateCluster, TestClient, TestSluice};

use super::{HYDRA_SECRET, Site, application, counts, summary};
use crate::both_stores::on_both_stores;
use crate::legs::token;

on_both_stores!(
    a_refresh_token_of_hydra_is_exchanged_once,
    a_refresh_token_of_hydra_is_introspected_and_revoked,
    what_only_looks_like_a_token_of_hydra_is_refused,
    a_later_import_follows_what_was_rotated_there,
    what_was_exchanged_here_goes_on_when_its_token_is_revoked_there,
    a_token_needs_its_client,
    a_client_that_lost_a_scope_by_a_clock_behind_utc_uses_up_no_token,
    a_hydra_that_seals_no_sessions_is_read_too,
);

/// The living one of alice, to the client `web`.
pub(super) const OF_ALICE: &str =
    "ory_rt_okepsQvQe0b_fv_s3V72iR2LQ7qtzu6V2h6LHbX40tQ.bfMKCQ4SRdrFMNMytClZau6UVv61l3OFhf3zPdqj3js";
/// The living one of carol, to the public client `spa`, and the one that it took the place of.
const OF_CAROL: &str =
    "ory_rt_r2If6H5d46d4F_ddgY8_Zy8XJ4r3CbjiY0rHX_RQi_4.d6mboo37Fh_fk56IvOhXQ7IG2YOTu66oA6NwlmKmq9s";
const BEFORE: &str =
    "ory_rt_RGq6j8eCNGEDLAd-y2VYi_vqqHm4oTDqrYbCz0SUTa0.56dlBb7MuTgsVCDK9p5JD27S6vDz7BAxxuY40SySGOw";

fn web(sluice: &TestSluice) -> TestClient {
    application(sluice, ("web", Some("web-secret-0123456")), "client_secret_basic")
}

fn spa(sluice: &TestSluice) -> TestClient {
    application(sluice, ("spa", None), "none")
}

/// A server with all that the Hydra had.
async fn taken_over(backend: Backend) -> TestSluice {
    let site = Site::new(backend).await;
    let ended = site.import(HYDRA_SECRET, &[]);
    assert_eq!(counts(&summary(&ended), "tokens"), [2, 0, 0], "{}", ended.stderr);
    site.serves().await
}

async fn a_refresh_token_of_hydra_is_exchanged_once(backend: Backend) {
    let sluice = taken_over(backend).await;
    let (web, spa) = (web(&sluice), spa(&sluice));
    let tokens = web.refresh(OF_ALICE).await.ok();
    assert_eq!(tokens["scope"], "openid offline photos");
    assert!(tokens["id_token"].is_string(), "{tokens}");
    let said = sluice.introspect(token(&tokens, "access_token")).await;
    assert_eq!((said["active"].as_bool(), said["sub"].as_str()), (Some(true), Some("alice")), "{said}");
    assert_eq!(said["aud"][0], "https://api.example.com", "{said}");
    assert_eq!(said["ext"]["plan"], "gold", "{said}");
    assert_eq!(said["sid"], "9634ebd8-4a2d-4642-95d6-5d4fe212c1f7", "{said}");
    let (status, person) = web.userinfo(token(&tokens, "access_token")).await;
    assert_eq!((status, person["email"].as_str()), (200, Some("alice@example.com")), "{person}");
    // The chain goes on with tokens of this server, and two tabs get the same pair.
    let beside = web.refresh(OF_ALICE).await.ok();
    assert_eq!(beside["scope"], tokens["scope"]);
    let next = web.refresh(token(&tokens, "refresh_token")).await.ok();
    sluice.advance(Lifetime::minutes(2));
    // Who presents the old one now has stolen it, or was stolen from.
    web.refresh(OF_ALICE).await.refused_with("invalid_grant");
    web.refresh(token(&next, "refresh_token")).await.refused_with("invalid_grant");
    // Other people are not touched.
    let of_carol = spa.refresh(OF_CAROL).await.ok();
    assert_eq!(sluice.introspect(token(&of_carol, "access_token")).await["sub"], "carol");
    sluice.node.stop().await;
}

async fn a_refresh_token_of_hydra_is_introspected_and_revoked(backend: Backend) {
    let sluice = taken_over(backend).await;
    let said = sluice.introspect(OF_ALICE).await;
    assert_eq!((said["active"].as_bool(), said["token_use"].as_str()), (Some(true), Some("refresh_token")));
    assert_eq!((said["client_id"].as_str(), said["sub"].as_str()), (Some("web"), Some("alice")), "{said}");
    spa(&sluice).revoke(OF_ALICE).await.refused_with("unauthorized_client");
    assert!(sluice.is_active(OF_ALICE).await);
    assert_eq!(web(&sluice).revoke(OF_ALICE).await.status, 200);
    assert!(!sluice.is_active(OF_ALICE).await);
    web(&sluice).refresh(OF_ALICE).await.refused_with("invalid_grant");
    let deleted = sluice.ask(Method::DELETE, "/admin/keys/hydra.refresh-token", None).await;
    assert_eq!(deleted.status(), 204);
    sluice.advance(Lifetime::minutes(1));
    spa(&sluice).refresh(OF_CAROL).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

async fn what_only_looks_like_a_token_of_hydra_is_refused(backend: Backend) {
    let sluice = taken_over(backend).await;
    let (random, mac) = OF_ALICE.split_once('.').unwrap();
    let (other, _) = OF_CAROL.split_once('.').unwrap();
    // Whoever has read Hydra's database knows the MAC.
    for forged in [format!("{other}.{mac}"), format!("ory_rt_AAAA.{mac}"), format!("{random}.AAAA")] {
        web(&sluice).refresh(&forged).await.refused_with("invalid_grant");
        assert!(!sluice.is_active(&forged).await, "{forged}");
    }
    spa(&sluice).refresh(OF_ALICE).await.refused_with("invalid_grant");
    spa(&sluice).refresh(BEFORE).await.refused_with("invalid_grant");
    web(&sluice).refresh(OF_ALICE).await.ok();
    sluice.node.stop().await;
}

async fn a_later_import_follows_what_was_rotated_there(backend: Backend) {
    let site = Site::new(backend).await;
    let cluster = PrivateCluster::shared().await;
    let swap = "UPDATE hydra_oauth2_refresh SET active = NOT active WHERE subject = 'carol'";
    cluster.execute(site.hydra.name(), swap).await;
    assert_eq!(counts(&summary(&site.import(HYDRA_SECRET, &[])), "tokens"), [2, 0, 0]);
    let sluice = site.serves().await;
    assert!(sluice.is_active(BEFORE).await);
    cluster.execute(site.hydra.name(), swap).await;
    let again = summary(&site.import(HYDRA_SECRET, &["--only", "tokens"]));
    assert_eq!((counts(&again, "tokens"), again["tokens"]["ended"].as_u64()), ([1, 1, 0], Some(1)));
    spa(&sluice).refresh(BEFORE).await.refused_with("invalid_grant");
    spa(&sluice).refresh(OF_CAROL).await.ok();
    web(&sluice).refresh(OF_ALICE).await.ok();
    sluice.node.stop().await;
}

async fn what_was_exchanged_here_goes_on_when_its_token_is_revoked_there(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    let sluice = site.serves().await;
    let web = web(&sluice);
    let tokens = web.refresh(OF_ALICE).await.ok();
    let revoked = "UPDATE hydra_oauth2_refresh SET active = FALSE WHERE subject = 'alice'";
    PrivateCluster::shared().await.execute(site.hydra.name(), revoked).await;
    assert_eq!(site.again("tokens"), ([0, 1, 0], 0));
    web.refresh(token(&tokens, "refresh_token")).await.ok();
    sluice.node.stop().await;
}

async fn a_token_needs_its_client(backend: Backend) {
    let site = Site::new(backend).await;
    let ended = site.import(HYDRA_SECRET, &["--only", "tokens"]);
    assert_eq!(counts(&summary(&ended), "tokens"), [0, 0, 2]);
    assert!(!ended.success && ended.stderr.contains("its client web is not here"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("bfMKCQ4SRdrFMNMytClZau6UVv61l3OFhf3zPdqj3js"), "{}", ended.stderr);
}

async fn a_client_that_lost_a_scope_by_a_clock_behind_utc_uses_up_no_token(backend: Backend) {
    let site = Site::new(backend).await;
    // An hour after the token was issued, in California.
    let lost = "UPDATE hydra_client SET scope = 'openid photos', updated_at = '2024-11-27 18:10:00' WHERE id = 'web'";
    PrivateCluster::shared().await.execute(site.hydra.name(), lost).await;
    site.import(HYDRA_SECRET, &[]);
    let sluice = site.serves().await;
    let web = web(&sluice);
    web.refresh(OF_ALICE).await.refused_with("invalid_scope");
    sluice.advance(Lifetime::minutes(2));
    let back = json!([{"op": "replace", "path": "/scope", "value": "openid offline photos"}]);
    sluice.ask_json(Method::PATCH, "/admin/clients/web", Some(&back), 200).await;
    web.refresh(OF_ALICE).await.ok();
    sluice.node.stop().await;
}

async fn a_hydra_that_seals_no_sessions_is_read_too(backend: Backend) {
    let site = Site::new(backend).await;
    let plain = r#"UPDATE hydra_oauth2_refresh SET session_data =
        '{"id_token":{"id_token_claims":{"sub":"alice","auth_time":"2024-11-28T01:09:29Z"},"subject":"alice"},"extra":{"plan":"lead"}}'
        WHERE subject = 'alice'"#;
    PrivateCluster::shared().await.execute(site.hydra.name(), plain).await;
    assert_eq!(counts(&summary(&site.import(HYDRA_SECRET, &[])), "tokens"), [2, 0, 0]);
    let sluice = site.serves().await;
    let tokens = web(&sluice).refresh(OF_ALICE).await.ok();
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["ext"]["plan"], "lead");
    sluice.node.stop().await;
}
