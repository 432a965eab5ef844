//! Sealed values that were changed, cut off, made elsewhere, made for something else, or kept too long.

mod given;

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestSluice};

use crate::both_stores::on_both_stores;
use given::{Given, KINDS, Kind, admin, shown};

/// Secrets for what is at rest, so that `secrets.system` alone can differ between two nodes on one database.
const AT_REST: [(&str, &str); 2] =
    [("secrets.storage", "a-storage-secret-of-tests"), ("secrets.pepper", "a-pepper-that-tests-share")];

/// What an operator reads of those of `KINDS`, one after the other.
const PURPOSES: [&str; KINDS.len()] = [
    "login_challenge",
    "login_verifier",
    "consent_challenge",
    "consent_verifier",
    "logout_challenge",
    "logout_verifier",
    "authorization_code",
    "access_token",
    "refresh_token",
];

on_both_stores!(
    a_changed_value_is_refused_everywhere_and_writes_nothing,
    a_value_made_for_something_else_is_refused_everywhere_and_writes_nothing,
    a_value_sealed_under_another_secret_is_refused_everywhere,
    a_value_of_another_installation_is_refused_everywhere,
    an_expired_value_is_refused_everywhere_and_writes_nothing,
);

/// The value with the character at `position` (from the end if negative) replaced by another of the alphabet.
fn changed_at(value: &str, position: isize) -> String {
    let length = isize::try_from(value.len()).unwrap();
    let at = usize::try_from(if position < 0 { length + position } else { position }).unwrap();
    let mut bytes = value.as_bytes().to_vec();
    bytes[at] = if bytes[at] == b'Q' { b'g' } else { b'Q' };
    String::from_utf8(bytes).unwrap()
}

/// What somebody may make of a value: prefix, version, key id, nonce, ciphertext and tag each changed; cut; lengthened.
fn spoilt(value: &str) -> Vec<String> {
    let start = if value.starts_with("ory_") { 7 } else { 0 };
    let middle = isize::try_from(value.len() / 2).unwrap();
    let mut spoilt: Vec<_> =
        [start, start + 1, start + 2, start + 5, start + 17, start + 22, middle, -20, -3, -1]
            .into_iter()
            .map(|position| changed_at(value, position))
            .collect();
    let (half, _) = value.split_at(value.len() / 2);
    spoilt.extend([value[..value.len() - 1].to_owned(), value[1..].to_owned(), half.to_owned()]);
    spoilt.extend([
        format!("{value}A"),
        format!("{value}AAAA"),
        format!("{value}="),
        format!("{value}{value}"),
    ]);
    spoilt.extend(["A".to_owned(), "ory_ac_".to_owned(), "ory_rt_x".to_owned(), value.to_lowercase()]);
    spoilt.extend(["A".repeat(20), "....".to_owned(), "A".repeat(4096)]);
    spoilt
}

async fn a_changed_value_is_refused_everywhere_and_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let given = Given::on(&sluice).await;
    for kind in KINDS {
        for value in spoilt(given.value(kind)) {
            given.is_refused(&sluice, kind, &value).await;
        }
    }
    for kind in [Kind::AccessToken, Kind::RefreshToken, Kind::Code] {
        for value in spoilt(given.value(kind)) {
            given.means_nothing(&sluice, &value).await;
        }
    }
    given.still_holds(&sluice).await;
    sluice.node.stop().await;
}

async fn a_value_made_for_something_else_is_refused_everywhere_and_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let given = Given::on(&sluice).await;
    for kind in KINDS {
        for other in KINDS.into_iter().filter(|other| *other != kind) {
            let value = given.value(other);
            let bare = value.get(7..).filter(|_| value.starts_with("ory_")).unwrap_or(value);
            for value in
                [value, bare, &format!("ory_rt_{bare}"), &format!("ory_ac_{bare}"), &format!("ory_at_{bare}")]
            {
                given.is_refused(&sluice, kind, value).await;
            }
        }
    }
    for other in KINDS.into_iter().filter(|kind| !matches!(kind, Kind::AccessToken | Kind::RefreshToken)) {
        given.means_nothing(&sluice, given.value(other)).await;
    }
    given.still_holds(&sluice).await;
    sluice.node.stop().await;
}

/// How many values of an unknown key a node has met, by their purpose, as its metrics spell it.
async fn of_unknown_key(sluice: &TestSluice) -> BTreeMap<String, String> {
    let answer = sluice.ask(Method::GET, "/admin/metrics/prometheus", None).await;
    let metrics = answer.text().await.unwrap();
    let counts =
        metrics.lines().filter_map(|line| line.strip_prefix("sluice_values_of_unknown_key_total{purpose=\""));
    let counts = counts.map(|count| count.split_once("\"} ").unwrap());
    counts.map(|(purpose, count)| (purpose.to_owned(), count.to_owned())).collect()
}

async fn a_value_sealed_under_another_secret_is_refused_everywhere(backend: Backend) {
    let sluice = TestSluice::with(backend, &AT_REST).await;
    let given = Given::on(&sluice).await;
    let node = |system: &'static str| {
        let settings = [AT_REST[0], AT_REST[1], ("secrets.system", system)];
        let (database, clock) = (Arc::clone(&sluice.database), Arc::clone(&sluice.clock));
        async move { TestSluice::on(database, clock, &settings).await }
    };
    let foreign = node("another-system-secret-of-tests").await;
    for kind in KINDS {
        given.at(&foreign).is_refused(&foreign, kind, given.value(kind)).await;
        given.at(&foreign).means_nothing(&foreign, given.value(kind)).await;
    }
    let met = of_unknown_key(&foreign).await;
    for purpose in PURPOSES {
        assert_ne!(met[purpose], "0.0", "{purpose}: {met:?}");
    }
    let met = of_unknown_key(&sluice).await;
    assert!(met.len() > PURPOSES.len() && met.values().all(|count| count == "0.0"), "{met:?}");
    foreign.node.stop().await;
    // Behind a new secret the old one still opens.
    let rotated = node("another-system-secret-of-tests,a-system-secret-for-tests-only").await;
    given.at(&rotated).still_holds(&rotated).await;
    rotated.node.stop().await;
    sluice.node.stop().await;
}

async fn a_value_of_another_installation_is_refused_everywhere(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let given = Given::on(&sluice).await;
    // Staging: the same secret, another database.
    let staging = TestSluice::start(backend).await;
    let own = Given::on(&staging).await;
    for kind in KINDS {
        own.is_refused(&staging, kind, given.value(kind)).await;
        own.means_nothing(&staging, given.value(kind)).await;
    }
    own.still_holds(&staging).await;
    staging.node.stop().await;
    sluice.node.stop().await;
}

async fn an_expired_value_is_refused_everywhere_and_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let given = Given::on(&sluice).await;
    sluice.advance(Lifetime::secs(60));
    given.is_refused(&sluice, Kind::Code, given.value(Kind::Code)).await;
    sluice.advance(Lifetime::minutes(29));
    let before = sluice.written();
    for (page, kind) in [
        ("login", Kind::LoginChallenge),
        ("consent", Kind::ConsentChallenge),
        ("logout", Kind::LogoutChallenge),
    ] {
        given.page_gets(&sluice, page, given.value(kind), 410).await;
    }
    for (kind, status) in
        [(Kind::LoginVerifier, 410), (Kind::ConsentVerifier, 410), (Kind::LogoutVerifier, 400)]
    {
        shown(&given.comes_back(kind, given.value(kind)).await, status, "expired");
    }
    let page = given.comes_back(Kind::ConsentVerifier, given.value(Kind::ConsentVerifier)).await;
    assert!(page.body.contains("http://sluice.test/oauth2/auth?client_id="), "a way out: {}", page.body);
    assert_eq!(sluice.written(), before);
    sluice.advance(Lifetime::minutes(31));
    let access_token = given.value(Kind::AccessToken);
    given.is_refused(&sluice, Kind::AccessToken, access_token).await;
    assert_eq!(sluice.introspect(access_token).await, json!({"active": false}));
    sluice.advance(Lifetime::hours(720));
    let refresh_token = given.value(Kind::RefreshToken);
    given.is_refused(&sluice, Kind::RefreshToken, refresh_token).await;
    assert_eq!(sluice.introspect(refresh_token).await, json!({"active": false}));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoilt_session_cookie_is_no_session_and_no_error() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let Given { browser, client, .. } = Given::on(&sluice).await;
    let name = browser.cookies.keys().find(|name| name.contains("session")).unwrap().clone();
    let good = browser.cookies[&name].clone();
    for value in spoilt(&good).into_iter().chain([browser.cookies["sluice_binding"].clone()]) {
        let mut browser = browser.clone();
        browser.cookies.insert(name.clone(), value);
        let silent = Authorize { more: &[("prompt", "none")], ..Authorize::default() };
        let page = browser.visit(&client.authorize_url(&silent)).await;
        assert_eq!(page.expect("error"), "login_required");
        let challenge = browser.begin(&client, &Authorize::default()).await;
        let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
        assert_eq!(admin(&sluice, &path, 200).await["skip"], json!(false));
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoilt_binding_cookie_does_not_open_the_flow_of_another() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let mut given = Given::on(&sluice).await;
    let good = given.browser.cookies["sluice_binding"].clone();
    let nobody = sluice.browser().cookies;
    let keep = std::mem::replace(&mut given.browser.cookies, nobody);
    let before = sluice.written();
    for value in spoilt(good.split('.').next().unwrap()) {
        given.browser.cookies.insert("sluice_binding".to_owned(), value.clone());
        for kind in [Kind::LoginVerifier, Kind::ConsentVerifier, Kind::LogoutVerifier] {
            if !value.contains(&good) {
                shown(&given.comes_back(kind, given.value(kind)).await, 400, &value);
            }
        }
    }
    assert_eq!(sluice.written(), before);
    given.browser.cookies = keep;
    given.still_holds(&sluice).await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoilt_page_token_is_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let given = Given::on(&sluice).await;
    given.browser.clone().log_in(&sluice, &given.client, "alice").await.expect("code");
    let consents = |token: &str| {
        format!("/admin/oauth2/auth/sessions/consent?subject=alice&page_size=1&page_token={token}")
    };
    let page = sluice.ask(reqwest::Method::GET, &consents(""), None).await;
    let link = page.headers()["link"].to_str().unwrap().to_owned();
    let token = link.split("page_token=").nth(1).unwrap().split(['>', '&']).next().unwrap().to_owned();
    admin(&sluice, &consents(&token), 200).await;
    for value in spoilt(&token).iter().chain([given.value(Kind::RefreshToken).to_owned()].iter()) {
        admin(&sluice, &consents(value), 400).await;
        admin(&sluice, &format!("/admin/clients?page_token={value}"), 400).await;
    }
    admin(&sluice, &format!("/admin/clients?page_token={token}"), 400).await;
    // What Hydra's document has as the default.
    for first in ["0", "1"] {
        admin(&sluice, &consents(first), 200).await;
        admin(&sluice, &format!("/admin/clients?page_token={first}"), 200).await;
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_of_one_installation_take_each_others_values() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let other = sluice.second_node().await;
    let given = Given::on(&sluice).await;
    given.at(&other).still_holds(&other).await;
    other.node.stop().await;
    sluice.node.stop().await;
}
