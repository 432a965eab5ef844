//! How many statements PostgreSQL is sent for what is done most, so that none creeps in. It counts itself
//! (`pg_stat_statements`), whatever the server believes to have sent.
//!
//! [`account`]: a database that counts.

pub(crate) mod account;

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Authorize, TestClient, TestSluice, accept_consent, accept_login};

use crate::legs::{login_request, token, tokens_of};
use account::{Account, STRETCHES, Sent};

/// How often a thing is done that is counted.
const TIMES: u64 = 5;

/// A node on a database that counts.
async fn given() -> (TestSluice, Account) {
    let account = Account::open().await;
    let sluice = account.node().await;
    (sluice, account)
}

/// A client whose access tokens are of this kind.
async fn client_with(sluice: &TestSluice, strategy: &str) -> TestClient {
    sluice.client(&json!({"access_token_strategy": strategy})).await
}

/// Else another kind is counted than the test is about.
fn is_of(access_token: &str, strategy: &str) {
    assert_eq!(access_token.matches('.').count() == 2, strategy == "jwt", "{access_token}");
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_sends_no_statement_whatever_the_token_looks_like() {
    let (sluice, account) = given().await;
    for strategy in ["opaque", "jwt"] {
        let client = client_with(&sluice, strategy).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        let access_token = token(&tokens, "access_token");
        is_of(access_token, strategy);
        assert!(sluice.is_active(access_token).await);
        let sent = account.of(async || assert!(sluice.is_active(access_token).await), TIMES).await;
        assert_eq!(sent, Sent::NONE, "{strategy}: {}", account.told());
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_credentials_send_no_statement_whatever_the_token_looks_like() {
    let (sluice, account) = given().await;
    for strategy in ["opaque", "jwt"] {
        let client = client_with(&sluice, strategy).await;
        let ask = async || client.token(&[("grant_type", "client_credentials")]).await.ok();
        is_of(token(&ask().await, "access_token"), strategy);
        let sent = account.of(async || drop(ask().await), TIMES).await;
        assert_eq!(sent, Sent::NONE, "{strategy}: {}", account.told());
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_of_clients_sends_no_statement_until_one_changes() {
    let (sluice, account) = given().await;
    for _ in 0..3 {
        sluice.client(&json!({})).await;
    }
    // A node hears of its own changes, too.
    sluice.node.catch_up().await.unwrap();
    let first = sluice.ask(Method::GET, "/admin/clients?page_size=2", None).await;
    let links = first.headers()["link"].to_str().unwrap().to_owned();
    let next = links.split(",<").nth(1).unwrap().strip_suffix(">; rel=\"next\"").unwrap();
    for path in ["/admin/clients?page_size=2", next] {
        let list = async || drop(sluice.ask_json(Method::GET, path, None, 200).await);
        list().await;
        let sent = account.of(list, TIMES).await;
        assert_eq!(sent, Sent::NONE, "{path}: {}", account.told());
    }
    sluice.node.stop().await;
}

/// All eight requests: a browser that has never been here, and pages that ask what they are to show.
async fn log_in(sluice: &TestSluice, client: &TestClient, login: &Value) -> Value {
    let mut browser = sluice.browser();
    let asked = login_request(sluice, client, &mut browser, &Authorize::default()).await;
    let challenge = asked["challenge"].as_str().expect("a challenge");
    let verifier = accept_login(sluice, challenge, login).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(sluice, &challenge, &json!({})).await;
    let code = browser.visit(&verifier).await.expect("code");
    client.redeem(&code).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_sends_one_insert_and_one_update_and_reads_once_at_most() {
    let (sluice, account) = given().await;
    for algorithm in ["ES256", "RS256"] {
        let client = sluice.client(&json!({"id_token_signed_response_alg": algorithm})).await;
        // Who is to be recognised has a session besides.
        for (remember, most_inserts) in [(false, TIMES), (true, 2 * TIMES)] {
            let login = json!({"subject": "alice", "remember": remember});
            log_in(&sluice, &client, &login).await;
            let sent = account.of(async || drop(log_in(&sluice, &client, &login).await), TIMES).await;
            let Sent { inserts, updates, reads, others } = sent;
            assert_eq!(
                (inserts, updates, others),
                (most_inserts, TIMES, 0),
                "{algorithm}: {}",
                account.told()
            );
            assert!(reads <= TIMES, "{algorithm}: {}", account.told());
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_is_one_update() {
    let (sluice, account) = given().await;
    for strategy in ["opaque", "jwt"] {
        let client = client_with(&sluice, strategy).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        let mut newest = client.refresh(token(&tokens, "refresh_token")).await.ok();
        let refresh = async || newest = client.refresh(token(&newest, "refresh_token")).await.ok();
        let sent = account.of(refresh, TIMES).await;
        assert_eq!(sent, Sent { updates: TIMES, ..Sent::NONE }, "{strategy}: {}", account.told());
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_is_one_statement_and_reads_only_what_a_refresh_may_have_replaced() {
    let (sluice, account) = given().await;
    for (grant_types, reads) in
        [(json!(["authorization_code", "refresh_token"]), TIMES), (json!(["authorization_code"]), 0)]
    {
        let client = sluice.client(&json!({"grant_types": grant_types})).await;
        let mut issued = Vec::new();
        for _ in 0..=TIMES * STRETCHES as u64 {
            issued.push(tokens_of(&sluice, &client, "alice").await);
        }
        let mut revoke = async || {
            let tokens = issued.pop().expect("one for each time");
            client.revoke(token(&tokens, "access_token")).await.ok();
        };
        revoke().await;
        let sent = account.of(revoke, TIMES).await;
        // The revocation, and the word to other nodes that there is one: one word for two, if it takes long.
        let others = sent.others.clamp(TIMES + 1, 2 * TIMES);
        assert_eq!(sent, Sent { reads, others, ..Sent::NONE }, "{grant_types}: {}", account.told());
    }
    sluice.node.stop().await;
}

/// Else the tests above would pass with an account that counts nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_creeps_in_is_counted() {
    let (sluice, account) = given().await;
    // An unknown client is not remembered.
    let find = async || drop(sluice.ask_json(Method::GET, "/admin/clients/nobody", None, 404).await);
    let sent = account.of(find, TIMES).await;
    assert_eq!(sent, Sent { reads: TIMES, ..Sent::NONE }, "{}", account.told());
    let make = async || drop(sluice.client(&json!({})).await);
    let sent = account.of(make, TIMES).await;
    let told = account.told();
    assert!(sent.others >= TIMES && told.contains("INSERT INTO client"), "{told}");
    sluice.node.stop().await;
}
