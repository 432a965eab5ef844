//! OAuth 2.0 Form Post Response Mode: the browser posts the answer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sluice_crypto::digest::sha256;
use sluice_testkit::{Backend, TestSluice};

use crate::authorization_errors::Change::{With, Without};
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::response::{Response, answer, client_for, last_page, refusal};

on_both_stores! {
    a_code_that_was_posted_is_redeemed,
}

const FORM_POST: crate::authorization_errors::Change<'_> = With("response_mode", "form_post");

async fn a_code_that_was_posted_is_redeemed(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let answer = answer(&sluice, &client, &[FORM_POST]).await;
    assert_eq!((answer.way, answer.uri.as_str()), ("form_post", client.redirect_uri.as_str()));
    assert_eq!(answer.names(), ["code", "iss", "scope", "state"]);
    client.redeem(answer.get("code")).await.ok();
    sluice.node.stop().await;
}

/// Form Post Response Mode §2, §4: one page, kept by nobody, that runs its own script and no other.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_posts_itself_and_does_nothing_else() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let page = last_page(&sluice, &mut sluice.browser(), &asked(&client, &[FORM_POST])).await;
    assert_eq!((page.status.as_u16(), &page.location), (200, &None));
    let header = |name: &str| page.headers.get(name).map_or("", |value| value.to_str().unwrap());
    assert_eq!((header("cache-control"), header("referrer-policy")), ("no-store", "no-referrer"));
    assert!(header("content-type").starts_with("text/html"));
    let (before, script) = page.body.split_once("<script>").unwrap();
    let script = script.split_once("</script>").unwrap().0;
    let hash = STANDARD.encode(sha256(script.as_bytes()));
    let policy = header("content-security-policy");
    assert!(
        policy.contains("default-src 'none'") && policy.contains(&format!("script-src 'sha256-{hash}'")),
        "{policy}"
    );
    assert!(before.contains("method=\"post\"") && before.contains("<noscript><button>"), "{before}");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_says_breaks_out_of_nothing() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({"redirect_uris": ["https://app.test/callback?a=1&b=2"]})).await;
    let state = "\"><script>alert('evil')</script>&#34;";
    let changes = [FORM_POST, With("state", state), With("prompt", "none")];
    let page = sluice.browser().visit(&asked(&client, &changes)).await;
    assert_eq!(page.body.matches("<script>").count(), 1, "{}", page.body);
    let answer = Response::of(&page);
    assert_eq!((answer.get("state"), answer.uri.as_str()), (state, "https://app.test/callback?a=1&b=2"));
    assert_eq!(answer.get("error"), "login_required");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_errors_are_posted_as_well() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let types = ["id_token", "id_token token", "code id_token", "code token", "code id_token token"];
    let client = client_for(&sluice, &types, json!({})).await;
    for asked in types {
        let changes = [With("response_type", asked), FORM_POST];
        let answer = answer(&sluice, &client, &changes).await;
        assert_eq!(answer.way, "form_post", "{asked}");
        assert_eq!(answer.parameters.contains_key("code"), asked.contains("code"), "{asked}");
        let changes = [With("response_type", asked), FORM_POST, With("prompt", "none")];
        let refused = refusal(&sluice, &client, &changes).await;
        refused.refused_with("login_required");
        assert_eq!(refused.way, "form_post", "{asked}");
    }
    let code = sluice.client(&json!({})).await;
    let changes = [FORM_POST, Without("state"), With("prompt", "none")];
    assert_eq!(refusal(&sluice, &code, &changes).await.names(), ["error", "error_description", "iss"]);
    sluice.node.stop().await;
}
