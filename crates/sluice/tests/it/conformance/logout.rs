//! The plans for logouts: RP-initiated, front-channel, back-channel.

use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, ISSUER, TestClient, TestSluice};

use crate::legs::{login_request, token};
use crate::logout::{ask, log_in, log_out};

const BACK: &str = "https://app.test/goodbye";

async fn client(sluice: &TestSluice) -> TestClient {
    sluice.client(&json!({"post_logout_redirect_uris": [BACK]})).await
}

/// A browser in which `alice` is known, and her tokens.
async fn known(sluice: &TestSluice, client: &TestClient) -> (Browser, Value) {
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    let tokens = log_in(sluice, client, &mut browser, &login).await;
    sluice.advance(Lifetime::secs(1));
    (browser, tokens)
}

/// Whether the browser still has a session.
async fn is_known(sluice: &TestSluice, client: &TestClient, browser: &mut Browser) -> bool {
    login_request(sluice, client, browser, &Authorize::default()).await["skip"] == true
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_says_where_sessions_end_and_how_clients_hear_of_it() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let page = sluice.browser().visit("/.well-known/openid-configuration").await;
    let metadata: Value = serde_json::from_str(&page.body).unwrap();
    assert_eq!(metadata["end_session_endpoint"], format!("{ISSUER}oauth2/sessions/logout"));
    for channel in ["frontchannel", "backchannel"] {
        assert_eq!(metadata[format!("{channel}_logout_supported")], true);
        assert_eq!(metadata[format!("{channel}_logout_session_supported")], true);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_comes_back_with_the_state_that_was_sent_and_without_one_if_none_was() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice).await;
    for (state, back) in [(Some("x y&z"), "https://app.test/goodbye?state=x%20y%26z"), (None, BACK)] {
        let (mut browser, tokens) = known(&sluice, &client).await;
        let mut asked =
            vec![("id_token_hint", token(&tokens, "id_token")), ("post_logout_redirect_uri", BACK)];
        asked.extend(state.map(|state| ("state", state)));
        let page = log_out(&sluice, &mut browser, &asked).await;
        assert_eq!(page.location().as_str(), back);
        assert!(!is_known(&sluice, &client, &mut browser).await);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_that_names_no_address_ends_on_a_page_of_this_server() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice).await;
    for with_hint in [false, true] {
        for state in [None, Some("a-state")] {
            let (mut browser, tokens) = known(&sluice, &client).await;
            let mut asked = Vec::new();
            if with_hint {
                asked.push(("id_token_hint", token(&tokens, "id_token")));
            }
            asked.extend(state.map(|state| ("state", state)));
            // Whoever asks, the user is asked first.
            let page = log_out(&sluice, &mut browser, &asked).await;
            assert_eq!((page.status.as_u16(), &page.location), (200, &None), "{asked:?}");
            assert!(!page.body.contains("a-state"), "{}", page.body);
            assert!(!is_known(&sluice, &client, &mut browser).await, "{asked:?}");
            assert!(!sluice.is_active(token(&tokens, "access_token")).await, "{asked:?}");
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_that_cannot_be_trusted_leads_nowhere_and_ends_nothing() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = client(&sluice).await;
    let (mut browser, tokens) = known(&sluice, &client).await;
    let hint = token(&tokens, "id_token");
    let (signed, signature) = hint.rsplit_once('.').unwrap();
    let other = if signature.starts_with('A') { "B" } else { "A" };
    let modified = format!("{signed}.{other}{}", &signature[1..]);
    let refused: [&[(&str, &str)]; 6] = [
        // …-bad-post-logout-redirect-uri, …-query-added-to-post-logout-redirect-uri
        &[("id_token_hint", hint), ("post_logout_redirect_uri", "https://app.test/elsewhere")],
        &[("id_token_hint", hint), ("post_logout_redirect_uri", "https://app.test/goodbye?foo=bar")],
        // …-bad-id-token-hint, …-modified-id-token-hint
        &[("id_token_hint", "not-a-token"), ("post_logout_redirect_uri", BACK), ("state", "s")],
        &[("id_token_hint", "a.b.c"), ("post_logout_redirect_uri", BACK)],
        &[("id_token_hint", &modified), ("post_logout_redirect_uri", BACK), ("state", "s")],
        &[("id_token_hint", &modified)],
    ];
    for asked in refused {
        let page = ask(&mut browser, asked).await;
        assert_eq!((page.status.as_u16(), &page.location), (400, &None), "{asked:?}: {}", page.body);
        assert!(is_known(&sluice, &client, &mut browser).await, "{asked:?}");
    }
    // …-no-id-token-hint: the user is asked, and comes back to nobody.
    let page = ask(&mut browser, &[("post_logout_redirect_uri", BACK), ("state", "s")]).await;
    let asking = page.location.as_ref().map(url::Url::as_str).unwrap_or_default();
    assert!(asking.starts_with("http://login.test/logout?logout_challenge="), "{asking}: {}", page.body);
    assert!(is_known(&sluice, &client, &mut browser).await);
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
}
