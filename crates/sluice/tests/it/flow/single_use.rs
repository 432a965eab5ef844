//! Verifiers and codes work once, and in the browser that the flow began in.

use serde_json::json;
use sluice_testkit::{Authorize, Backend, Browser, TestSluice, accept_consent, accept_login, redirect_to};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use crate::both_stores::on_both_stores;
use crate::keyed::redemption;
use crate::legs::{consent_challenge, consent_verifier, login_verifier, reject_consent, token};

on_both_stores! {
    a_consent_verifier_works_once,
    of_two_consent_verifiers_of_a_flow_the_first_wins_whatever_its_subject,
    a_rejection_that_comes_after_a_consent_is_not_told_to_the_client,
    a_consent_that_comes_after_a_rejection_is_refused_at_the_node_that_knows_of_it,
    a_login_verifier_replayed_in_its_browser_leads_to_one_grant,
    a_page_that_answers_for_a_flow_that_is_over_is_sent_to_its_beginning,
    a_verifier_in_another_browser_writes_nothing,
    of_64_redemptions_of_a_code_one_succeeds_and_the_grant_is_revoked,
    of_64_returns_of_a_consent_verifier_one_gets_a_code,
    a_code_that_comes_again_revokes_the_grant_whatever_it_asks_for,
    a_code_that_another_presents_is_not_burnt,
}

const AT_ONCE: usize = 64;

async fn a_consent_verifier_works_once(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let verifier = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let first = browser.visit(&verifier).await;
    let after_first = sluice.written();
    let second = browser.visit(&verifier).await;
    assert_eq!((second.status.as_u16(), second.location), (410, None));
    assert!(second.body.contains("Back to the application"), "{}", second.body);
    assert_eq!(sluice.written(), after_first);
    client.redeem(&first.expect("code")).await.ok();
    assert_eq!(browser.visit(&verifier).await.status, 410, "neither does redeeming the code free it");
    sluice.node.stop().await;
}

async fn of_two_consent_verifiers_of_a_flow_the_first_wins_whatever_its_subject(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&client, &Authorize::default()).await;
    let mut verifiers = Vec::new();
    for subject in ["alice", "mallory"] {
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": subject})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        verifiers.push(accept_consent(&sluice, &challenge, &json!({})).await);
    }
    let before = sluice.written();
    let code = browser.visit(&verifiers[0]).await.expect("code");
    assert_eq!(browser.visit(&verifiers[1]).await.status, 410);
    assert_eq!(sluice.written().grant_inserts - before.grant_inserts, 1);
    let tokens = client.redeem(&code).await.ok();
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["sub"], "alice");
    sluice.node.stop().await;
}

async fn a_rejection_that_comes_after_a_consent_is_not_told_to_the_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    let accepted = accept_consent(&sluice, &challenge, &json!({})).await;
    let rejected = reject_consent(&sluice, &challenge).await;
    let code = browser.visit(&accepted).await.expect("code");
    let before = sluice.written();
    for node in [&sluice, &other] {
        let late = browser.at(node).visit(&rejected).await;
        assert_eq!((late.status.as_u16(), late.location), (410, None));
    }
    assert_eq!(sluice.written(), before);
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
    other.node.stop().await;
}

/// Nobody is let in by a no: it needs no store to be sure.
#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_is_told_to_the_client_also_while_the_store_does_not_answer() {
    let sluice = TestSluice::start(Backend::Postgres).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    let rejected = reject_consent(&sluice, &challenge).await;
    let (database, connection) = tokio_postgres::connect(&sluice.database.dsn, NoTls).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    database.batch_execute("BEGIN; LOCK TABLE oauth_grant IN ACCESS EXCLUSIVE MODE").await.unwrap();
    assert_eq!(browser.visit(&rejected).await.expect("error"), "access_denied");
    database.batch_execute("COMMIT").await.unwrap();
    sluice.node.stop().await;
}

/// A rejection writes nothing: what another node does not know of it is what docs/hydra.md says.
async fn a_consent_that_comes_after_a_rejection_is_refused_at_the_node_that_knows_of_it(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let other = sluice.second_node().await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    let accepted = accept_consent(&sluice, &challenge, &json!({})).await;
    let rejected = reject_consent(&sluice, &challenge).await;
    let before = sluice.written();
    for _ in 0..2 {
        assert_eq!(browser.visit(&rejected).await.expect("error"), "access_denied", "however often");
    }
    let late = browser.visit(&accepted).await;
    assert_eq!((late.status.as_u16(), late.location), (410, None));
    let path = format!("/admin/oauth2/auth/requests/consent?consent_challenge={challenge}");
    assert_eq!(sluice.ask(reqwest::Method::GET, &path, None).await.status(), 410);
    assert_eq!(sluice.written(), before);
    let code = browser.at(&other).visit(&accepted).await.expect("code");
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
    other.node.stop().await;
}

async fn a_login_verifier_replayed_in_its_browser_leads_to_one_grant(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let before = sluice.written();
    let login = login_verifier(&sluice, &client, &mut browser, "alice").await;
    let mut codes = 0;
    for _ in 0..3 {
        let page = browser.visit(&login).await;
        let challenge = page.expect("consent_challenge");
        let path = format!("/admin/oauth2/auth/requests/consent?consent_challenge={challenge}");
        if sluice.ask(reqwest::Method::GET, &path, None).await.status() == 410 {
            continue;
        }
        let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
        codes += usize::from(browser.visit(&verifier).await.parameter("code").is_some());
    }
    assert_eq!((codes, sluice.written().grant_inserts - before.grant_inserts), (1, 1));
    sluice.node.stop().await;
}

/// As with Hydra; and nothing of what it said is done.
async fn a_page_that_answers_for_a_flow_that_is_over_is_sent_to_its_beginning(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let login = browser.begin(&client, &Authorize::default()).await;
    let verifier = accept_login(&sluice, &login, &json!({"subject": "alice"})).await;
    let consent = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &consent, &json!({})).await;
    let code = browser.visit(&verifier).await.expect("code");
    let before = sluice.written();
    for (page, challenge) in [("login", &login), ("consent", &consent)] {
        for verb in ["accept", "reject"] {
            let path = format!("/admin/oauth2/auth/requests/{page}/{verb}?{page}_challenge={challenge}");
            let said = json!({"subject": "mallory", "remember": true, "grant_scope": ["openid"]});
            let over = sluice.ask_json(reqwest::Method::PUT, &path, Some(&said), 200).await;
            let again = browser.visit(&redirect_to(&over)).await;
            let asked = format!(
                "/admin/oauth2/auth/requests/login?login_challenge={}",
                again.expect("login_challenge")
            );
            let asked = sluice.ask_json(reqwest::Method::GET, &asked, None, 200).await;
            assert_eq!((&asked["skip"], &asked["subject"]), (&json!(false), &json!("")), "{page} {verb}");
        }
    }
    assert_eq!(sluice.written(), before);
    let tokens = client.redeem(&code).await.ok();
    assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["sub"], "alice");
    sluice.node.stop().await;
}

async fn a_verifier_in_another_browser_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"backchannel_logout_uri": "http://app.test/logout"})).await;
    let (mut browser, mut fresh, mut other) = (sluice.browser(), sluice.browser(), sluice.browser());
    other.begin(&client, &Authorize::default()).await;
    let before = sluice.written();
    let login = login_verifier(&sluice, &client, &mut browser, "alice").await;
    refused_without_trace(&sluice, &mut [&mut fresh, &mut other], &login).await;
    assert_eq!(sluice.written(), before);
    let challenge = browser.visit(&login).await.expect("consent_challenge");
    let consent = accept_consent(&sluice, &challenge, &json!({})).await;
    let before = sluice.written();
    refused_without_trace(&sluice, &mut [&mut fresh, &mut other], &consent).await;
    assert_eq!(sluice.written(), before);
    client.redeem(&browser.visit(&consent).await.expect("code")).await.ok();
    sluice.node.stop().await;
}

async fn refused_without_trace(sluice: &TestSluice, browsers: &mut [&mut Browser], verifier: &str) {
    let before = sluice.written();
    for browser in browsers {
        let cookies = browser.cookies.clone();
        let page = browser.visit(verifier).await;
        assert_eq!((page.status.as_u16(), page.location), (400, None), "{}", page.body);
        assert_eq!(browser.cookies, cookies, "no session for another browser");
        assert_eq!(sluice.written(), before);
    }
}

async fn of_64_redemptions_of_a_code_one_succeeds_and_the_grant_is_revoked(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let mut redemptions = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, code) = (client.clone(), code.clone());
        redemptions.spawn(async move { client.redeem(&code).await });
    }
    let (mut won, mut refused) = (Vec::new(), 0);
    for answer in redemptions.join_all().await {
        match (answer.status, answer.body["error"].as_str()) {
            (200, _) => won.push(answer.body),
            (400, Some("invalid_grant")) => refused += 1,
            _ => panic!("{answer:?}"),
        }
    }
    assert_eq!((won.len(), refused), (1, AT_ONCE - 1));
    assert!(!sluice.is_active(token(&won[0], "access_token")).await);
    assert!(!sluice.is_active(token(&won[0], "refresh_token")).await);
    client.refresh(token(&won[0], "refresh_token")).await.refused_with("invalid_grant");
    sluice.node.stop().await;
}

async fn of_64_returns_of_a_consent_verifier_one_gets_a_code(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let verifier = consent_verifier(&sluice, &client, &mut browser, "alice").await;
    let before = sluice.written();
    let mut returns = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (mut browser, verifier) = (browser.clone(), verifier.clone());
        returns.spawn(async move { browser.visit(&verifier).await });
    }
    let pages = returns.join_all().await;
    let codes: Vec<_> = pages.iter().filter_map(|page| page.parameter("code")).collect();
    let spent = pages.iter().filter(|page| page.status == 410).count();
    assert_eq!((codes.len(), spent), (1, AT_ONCE - 1));
    assert_eq!(sluice.written().grant_inserts - before.grant_inserts, 1);
    client.redeem(&codes[0]).await.ok();
    sluice.node.stop().await;
}

async fn a_code_that_comes_again_revokes_the_grant_whatever_it_asks_for(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for more in [("resource", "https://api.test"), ("authorization_details", r#"[{"type":"payment"}]"#)] {
        let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
        let tokens = client.redeem(&code).await.ok();
        let again = [redemption(&client, &code).as_slice(), &[more]].concat();
        client.token(&again).await.refused_with("invalid_grant");
        for name in ["access_token", "refresh_token"] {
            assert!(!sluice.is_active(token(&tokens, name)).await, "{more:?}: {name}");
        }
    }
    sluice.node.stop().await;
}

async fn a_code_that_another_presents_is_not_burnt(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, other) = (sluice.client(&json!({})).await, sluice.client(&json!({})).await);
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let code = browser.visit(&verifier).await.expect("code");
    let before = sluice.written();
    other.redeem(&code).await.refused_with("invalid_grant");
    let with = |verifier, redirect_uri| {
        [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ]
    };
    let own = client.redirect_uri.as_str();
    let wrong = "another-code-verifier-of-at-least-forty-three-characters";
    client.token(&with(wrong, own)).await.refused_with("invalid_grant");
    client.token(&with("", own)).await.refused_with("invalid_grant");
    let elsewhere = "https://app.test/elsewhere";
    client.token(&with(sluice_testkit::VERIFIER, elsewhere)).await.refused_with("invalid_grant");
    let mut stranger = client.clone();
    stranger.secret = Some("not-the-secret-of-this-client".into());
    stranger.redeem(&code).await.refused_with("invalid_client");
    assert_eq!(sluice.written(), before);
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
}
