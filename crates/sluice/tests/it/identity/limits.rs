//! How often one may ask, and that nobody is kept out by others.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, SmtpServer, TestSluice};

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, node};
use super::postbox;
use crate::answer::Answer;
use crate::both_stores::on_both_stores;

on_both_stores! {
    registrations_from_one_network_are_counted,
    logins_from_one_network_are_counted_right_ones_too,
    codes_and_mails_are_counted,
    whoever_guesses_waits_and_nobody_else_does,
    a_client_that_contradicts_its_proxy_is_not_taken_for_the_machine_of_the_proxy,
}

/// Nobody is spared, and requests come from where the proxy says.
const COUNTED: [(&str, &str); 2] = [("identity.limits.exempt", ""), ("serve.trusted_proxies", "127.0.0.0/8")];

/// Asks from this address.
async fn from(api: &Api, address: &str, path: &str, body: Value) -> Answer {
    let request = api.request(Method::POST, path).header("x-forwarded-for", address);
    Answer::to(request.json(&body)).await
}

async fn register_from(api: &Api, address: &str, email: &str) -> Answer {
    from(api, address, "/auth/register", json!({"email": email, "password": PASSWORD})).await
}

async fn log_in_from(api: &Api, address: &str, password: &str) -> Answer {
    from(api, address, "/auth/login", json!({"email": ALICE, "password": password})).await
}

#[track_caller]
fn waits(answer: &Answer, seconds: &str) {
    answer.is_problem(429, "too_many_requests");
    assert_eq!(answer.header("retry-after"), seconds);
}

async fn counting(backend: Backend, settings: &[(&str, &str)]) -> (TestSluice, Api) {
    let sluice = node(backend, &[&COUNTED, settings].concat()).await;
    let api = Api::of(&sluice);
    (sluice, api)
}

async fn registrations_from_one_network_are_counted(backend: Backend) {
    let (sluice, api) = counting(backend, &[("identity.limits.registrations_per_network", "2")]).await;
    for name in ["one", "two"] {
        let made = register_from(&api, "192.0.2.1", &format!("{name}@example.com")).await;
        assert_eq!(made.status, 201, "{}", made.body);
    }
    waits(&register_from(&api, "192.0.2.1", ALICE).await, "1800");
    let malformed = register_from(&api, "192.0.2.1", "x").await;
    malformed.is_about("email", "email_malformed");
    assert_eq!(register_from(&api, "192.0.2.2", BOB).await.status, 201, "another network");
    for (last, status) in [("1", 201), ("ffff:1", 201), ("2", 429)] {
        let address = format!("2001:db8:0:7::{last}");
        let made = register_from(&api, &address, &format!("six-{}@example.com", last.len())).await;
        assert_eq!(made.status, status, "one /64 is one network: {address}");
    }
    sluice.advance(Lifetime::secs(1799));
    waits(&register_from(&api, "192.0.2.1", ALICE).await, "1");
    sluice.advance(Lifetime::secs(1));
    assert_eq!(register_from(&api, "192.0.2.1", ALICE).await.status, 201);
    sluice.node.stop().await;
}

async fn logins_from_one_network_are_counted_right_ones_too(backend: Backend) {
    let (sluice, api) = counting(backend, &[("identity.limits.logins_per_network", "3")]).await;
    api.register(ALICE).await;
    for password in [PASSWORD, ANOTHER, PASSWORD] {
        assert_ne!(log_in_from(&api, "192.0.2.1", password).await.status, 429);
    }
    waits(&log_in_from(&api, "192.0.2.1", PASSWORD).await, "1200");
    assert_eq!(log_in_from(&api, "192.0.2.2", PASSWORD).await.status, 200);
    sluice.advance(Lifetime::secs(1200));
    // A stranger who was right took the turn of the others.
    sluice.advance(Lifetime::secs(5));
    assert_eq!(log_in_from(&api, "192.0.2.1", PASSWORD).await.status, 200);
    sluice.node.stop().await;
}

async fn codes_and_mails_are_counted(backend: Backend) {
    let smtp = SmtpServer::start().await;
    let limits = [
        ("identity.limits.codes_per_account", "2"),
        ("identity.limits.mails_per_address", "3"),
        ("identity.limits.mails_per_network", "4"),
    ];
    let sluice = postbox::node(backend, &smtp, &[&COUNTED[..], &limits].concat()).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let code = json!({"email": ALICE, "code": "ABCD-EFGH"});
    for _ in 0..2 {
        from(&api, "192.0.2.1", "/auth/recovery/check", code.clone()).await.is_problem(400, "wrong_code");
    }
    waits(&from(&api, "192.0.2.1", "/auth/recovery/check", code.clone()).await, "1800");
    from(&api, "192.0.2.2", "/auth/recovery/check", code).await.is_problem(400, "wrong_code");
    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.6"] {
        from(&api, address, "/auth/recovery", json!({"email": ALICE})).await.is_done(202);
    }
    waits(&from(&api, "192.0.2.3", "/auth/recovery", json!({"email": ALICE})).await, "1200");
    for _ in 0..3 {
        let wanted = from(&api, "192.0.2.4", "/auth/recovery", json!({"email": BOB})).await;
        wanted.is_done(202);
    }
    let unknown = from(&api, "192.0.2.5", "/auth/recovery", json!({"email": BOB})).await;
    waits(&unknown, "1200");
    from(&api, "192.0.2.4", "/auth/recovery", json!({"email": "carol@example.com"})).await.is_done(202);
    waits(&from(&api, "192.0.2.4", "/auth/recovery", json!({"email": "dave@example.com"})).await, "900");
    // Whatever strangers asked for, or registered with, the owner verifies the address.
    let tokens = api.tokens(ALICE).await;
    for _ in 0..3 {
        api.post_as(&tokens, "/auth/verification", Value::Null).await.is_done(202);
    }
    waits(&api.post_as(&tokens, "/auth/verification", Value::Null).await, "1200");
    sluice.node.stop().await;
}

async fn whoever_guesses_waits_and_nobody_else_does(backend: Backend) {
    let (sluice, api) = counting(backend, &[]).await;
    api.register(ALICE).await;
    assert_eq!(log_in_from(&api, "198.51.100.1", PASSWORD).await.status, 200, "from home");
    for _ in 0..6 {
        log_in_from(&api, "192.0.2.1", ANOTHER).await.is_problem(401, "invalid_credentials");
    }
    waits(&log_in_from(&api, "192.0.2.1", PASSWORD).await, "1");
    // The whole world guesses: whoever is known does not wait for strangers.
    for network in 0..60 {
        log_in_from(&api, &format!("203.0.113.{network}"), ANOTHER).await;
    }
    assert_eq!(log_in_from(&api, "203.0.113.200", PASSWORD).await.status, 429, "a stranger");
    assert_eq!(log_in_from(&api, "198.51.100.1", PASSWORD).await.status, 200, "the owner, from home");
    sluice.advance(Lifetime::secs(5));
    assert_eq!(log_in_from(&api, "203.0.113.200", PASSWORD).await.status, 200, "every delay has an end");
    // A stranger who was right took the turn of the others.
    sluice.advance(Lifetime::secs(5));
    assert_eq!(log_in_from(&api, "192.0.2.1", PASSWORD).await.status, 200);
    sluice.node.stop().await;
}

/// This machine is exempt, as it is by default, and the proxy is on it.
async fn a_client_that_contradicts_its_proxy_is_not_taken_for_the_machine_of_the_proxy(backend: Backend) {
    let limits =
        [("identity.limits.registrations_per_network", "2"), ("serve.trusted_proxies", "127.0.0.0/8")];
    let sluice = node(backend, &limits).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    let forged = async |address: &str, forwarded: &str, path: &str, body: &Value| {
        let request = api.request(Method::POST, path).header("x-forwarded-for", address);
        Answer::to(request.header("forwarded", forwarded).json(body)).await
    };
    let said = ["for=_x", "for=198.51.100.7", "for=127.0.0.1", "for=\"", "proto=https", "for=unknown"];
    let wrong = json!({"email": ALICE, "password": ANOTHER});
    for (forwarded, last) in said.into_iter().zip(1..) {
        let refused = forged(&format!("192.0.2.{last}"), forwarded, "/auth/login", &wrong).await;
        refused.is_problem(401, "invalid_credentials");
    }
    for forwarded in said {
        waits(&forged("192.0.2.9", forwarded, "/auth/login", &wrong).await, "1");
    }
    for (number, status) in [(1, 201), (2, 201), (3, 429)] {
        let new = json!({"email": format!("new-{number}@example.com"), "password": PASSWORD});
        let made = forged(&format!("192.0.2.{number}"), "for=_x", "/auth/register", &new).await;
        assert_eq!(made.status, status, "{}", made.body);
    }
    assert_eq!(log_in_from(&api, "192.0.2.1", PASSWORD).await.status, 200, "who says nothing of the kind");
    for name in ["carol", "dave", "erin"] {
        api.register(&format!("{name}@example.com")).await;
    }
    sluice.node.stop().await;
}
