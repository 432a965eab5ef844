//! What userinfo costs the database: nothing while the consent page said little, since the token carries that itself.

use serde_json::{Map, Value, json};
use sluice_testkit::TestSluice;

use super::{about_user, tokens_with};
use crate::legs::token;
use crate::statements::account::{Account, Sent};

/// How often a thing is done that is counted.
const TIMES: u64 = 5;

/// What a consent page said, and what userinfo sends for it.
struct Case {
    registered: Value,
    said: Value,
    sent: Sent,
}

const ONE_READ_EACH: Sent = Sent { reads: TIMES, ..Sent::NONE };

async fn holds(sluice: &TestSluice, account: &Account, case: Case) {
    let client = sluice.client(&case.registered).await;
    let tokens = tokens_with(sluice, &client, &case.said).await;
    let access_token = token(&tokens, "access_token");
    let mut expected: Map<String, Value> = case.said.as_object().unwrap().clone();
    expected.insert("sub".to_owned(), "alice".into());
    let (status, told) = client.userinfo(access_token).await;
    assert_eq!((status, about_user(told.clone())), (200, Value::Object(expected)));
    let expected = (200, told);
    let ask = async || assert_eq!(client.userinfo(access_token).await, expected);
    assert_eq!(account.of(ask, TIMES).await, case.sent, "{}", account.told());
    let introspected = sluice.introspect(access_token).await;
    assert_eq!(introspected["active"], true);
    let told = introspected.to_string();
    assert!(!told.contains("of-the-consent-page"), "resource servers are not told: {told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn userinfo_sends_no_statement_where_the_consent_page_said_little() {
    let account = Account::open().await;
    let sluice = account.node().await;
    let largest = "of-the-consent-page".repeat(40);
    for said in [json!({}), json!({"name": "of-the-consent-page", "n": [1, 2]}), json!({"name": largest})] {
        holds(&sluice, &account, Case { registered: json!({}), said, sent: Sent::NONE }).await;
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_for_a_token_is_read_from_the_grant() {
    let account = Account::open().await;
    let sluice = account.node().await;
    let said = json!({"name": "of-the-consent-page".repeat(100)});
    holds(&sluice, &account, Case { registered: json!({}), said, sent: ONE_READ_EACH }).await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_token_leaves_it_to_the_grant() {
    let account = Account::open().await;
    let sluice = account.node().await;
    let registered = json!({"access_token_strategy": "jwt"});
    let said = json!({"name": "of-the-consent-page"});
    holds(&sluice, &account, Case { registered, said, sent: ONE_READ_EACH }).await;
    sluice.node.stop().await;
}
