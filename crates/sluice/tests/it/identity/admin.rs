//! `/admin/identities`: people's records, as administrators read and write them.

use reqwest::Method;
use reqwest::header::{LINK, LOCATION};
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Backend, TestSluice};

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, node};
use super::subject::{PAGES, log_in};
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::jwt::claims;
use crate::legs::token;

on_both_stores! {
    a_record_lives_from_creation_to_deletion,
    a_listing_goes_from_page_to_page_and_is_searched,
    a_browser_is_listed_and_signed_out_by_its_id,
    what_cannot_be_is_refused_in_the_manner_of_the_admin_api,
}

/// Asks with this body; a body of `null` is none.
pub(super) async fn ask(sluice: &TestSluice, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = (!body.is_null()).then_some(&body);
    let answer = sluice.ask(method.parse().unwrap(), path, body).await;
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    for secret in ["\"credential", "1$", "$argon2", "login_name", "sealed", "revision", "attempt", PASSWORD] {
        assert!(!text.contains(secret), "{path} tells {secret}: {text}");
    }
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

async fn a_record_lives_from_creation_to_deletion(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let new = json!({"email": " Alice@Example.com", "username": "Alice", "password": PASSWORD, "email_verified": true});
    let answer = sluice.ask(Method::POST, "/admin/identities", Some(&new)).await;
    let location = answer.headers()[LOCATION].to_str().unwrap().to_owned();
    let made: Value = answer.json().await.unwrap();
    let id = made["id"].as_str().unwrap();
    let expected = json!({
        "id": id,
        "email": ALICE,
        "email_verified": true,
        "email_verified_at": made["created_at"],
        "username": "Alice",
        "status": "active",
        "has_password": true,
        "created_at": made["created_at"],
        "updated_at": made["created_at"],
    });
    assert_eq!((made.clone(), location.as_str()), (expected, format!("/admin/identities/{id}").as_str()));
    assert_eq!(ask(&sluice, "GET", &location, Value::Null).await, (200, made.clone()));
    let tokens = api.tokens(ALICE).await;
    assert_eq!(api.get("/auth/me", &tokens).await.ok()["id"], id);

    sluice.advance(Lifetime::secs(1));
    let (status, patched) = ask(&sluice, "PATCH", &location, json!({"username": "Alice L."})).await;
    assert_eq!((status, &patched["username"], &patched["email"]), (200, &json!("Alice L."), &json!(ALICE)));
    assert_ne!(patched["updated_at"], made["updated_at"]);
    let (_, moved) = ask(&sluice, "PATCH", &location, json!({"email": "alice@example.org"})).await;
    assert_eq!((&moved["email"], &moved["email_verified"]), (&json!("alice@example.org"), &json!(false)));
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    assert_eq!(api.log_in("alice@example.org", PASSWORD).await.status, 200);
    assert_eq!(api.me(&tokens).await, 200, "another address signs nobody out");
    let (status, put) = ask(&sluice, "PUT", &location, json!({"email": ALICE})).await;
    assert_eq!((status, &put["username"], &put["has_password"]), (200, &json!(""), &json!(true)));

    assert_eq!(ask(&sluice, "DELETE", &location, Value::Null).await, (204, Value::Null));
    for method in ["GET", "DELETE"] {
        assert_eq!(ask(&sluice, method, &location, Value::Null).await.0, 404);
    }
    api.get("/auth/me", &tokens).await.is_problem(401, "invalid_token");
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    assert_eq!(api.sign_up(ALICE, PASSWORD).await.status, 201, "the address is free");
    sluice.node.stop().await;
}

/// All e-mail addresses that a listing shows, page by page, and how long the pages are.
async fn walk(sluice: &TestSluice, query: &str) -> (Vec<String>, Vec<usize>) {
    let (mut path, mut emails, mut pages) = (format!("/admin/identities?{query}"), Vec::new(), Vec::new());
    loop {
        let answer = sluice.ask(Method::GET, &path, None).await;
        let links = answer.headers()[LINK].to_str().unwrap().to_owned();
        assert!(links.contains("rel=\"first\""), "{links}");
        let page: Vec<Value> = answer.json().await.unwrap();
        pages.push(page.len());
        emails.extend(page.iter().map(|identity| identity["email"].as_str().unwrap().to_owned()));
        let next = links.split(',').find(|link| link.ends_with("rel=\"next\""));
        let Some(next) = next else { return (emails, pages) };
        path = next.split(['<', '>']).nth(1).unwrap().to_owned();
        assert!(pages.len() < 20, "it goes on for ever: {path}");
    }
}

async fn a_listing_goes_from_page_to_page_and_is_searched(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    let mut all = Vec::new();
    for name in ["ann", "bob", "cyd", "dan", "élise", "fay", "gus"] {
        let email = format!("{name}@example.com");
        api.register(&email).await;
        sluice.advance(Lifetime::millis(2));
        all.push(email);
    }
    let emails = async |query: &str| walk(&sluice, query).await.0;
    assert_eq!(walk(&sluice, "page_size=3").await, (all.clone(), vec![3, 3, 1]));
    assert_eq!(walk(&sluice, "page_size=250").await, (all.clone(), vec![7]));
    assert_eq!(emails("").await, all, "in the order in which they registered");
    assert_eq!(emails("email=BOB%40example.com").await, ["bob@example.com"]);
    assert_eq!(emails("email=E%CC%81LISE%40example.com").await, ["élise@example.com"]);
    assert_eq!(emails("email=bob").await, [""; 0]);
    assert_eq!(emails("text=AY%40").await, ["fay@example.com"]);
    assert_eq!(emails("text=someBODY&page_size=2").await, all, "the username");
    for wildcard in ["%25", "_", "%27", "%5C"] {
        assert_eq!(emails(&format!("text={wildcard}")).await, [""; 0], "no wildcard: {wildcard}");
    }
    let (_, found) = ask(&sluice, "GET", "/admin/identities?email=cyd%40example.com", Value::Null).await;
    super::login::set_status(&sluice, found[0]["id"].as_str().unwrap(), "disabled").await;
    assert_eq!(emails("status=disabled").await, ["cyd@example.com"]);
    assert_eq!(emails("status=active&page_size=2").await.len(), 6);
    assert_eq!(emails("status=active&text=cyd").await, [""; 0]);
    sluice.node.stop().await;
}

async fn a_browser_is_listed_and_signed_out_by_its_id(backend: Backend) {
    let sluice = node(backend, &PAGES).await;
    let api = Api::of(&sluice);
    let person = format!("/admin/identities/{}", api.register(ALICE).await);
    let client = sluice.client(&json!({})).await;
    let tokens = log_in(&mut Witness::of(sluice.browser()), &client, "openid", PASSWORD).await;
    let sid = claims(token(&tokens, "id_token"))["sid"].clone();
    api.tokens(ALICE).await;

    let sessions = format!("{person}/sessions");
    let (status, listed) = ask(&sluice, "GET", &sessions, Value::Null).await;
    assert_eq!((status, &listed[0]["kind"], listed.as_array().unwrap().len()), (200, &json!("api"), 2));
    let browser = (&listed[1]["kind"], &listed[1]["id"], &listed[1]["remembered"]);
    assert_eq!(browser, (&json!("browser"), &sid, &json!(true)));
    let one = format!("{sessions}/{}", sid.as_str().unwrap());
    assert_eq!(ask(&sluice, "DELETE", &one, Value::Null).await.0, 204);
    assert_eq!(ask(&sluice, "DELETE", &one, Value::Null).await.0, 404);
    assert!(!sluice.is_active(token(&tokens, "access_token")).await, "what it was granted is over");
    let (_, listed) = ask(&sluice, "GET", &sessions, Value::Null).await;
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["kind"]), (1, &json!("api")));
    sluice.node.stop().await;
}

async fn what_cannot_be_is_refused_in_the_manner_of_the_admin_api(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    api.register(ALICE).await;
    sluice.advance(Lifetime::millis(2));
    let bob = format!("/admin/identities/{}", api.register(BOB).await);
    let nobody = "/admin/identities/018f0000-0000-7000-8000-000000000000";
    let new = "/admin/identities";
    let table = [
        ("POST", new, json!({}), 400),
        ("POST", new, json!({"email": "x"}), 400),
        ("POST", new, json!({"email": "carol%example.net@example.com"}), 400),
        ("POST", new, json!({"email": "carol@example.com", "password": "short"}), 400),
        ("POST", new, json!({"email": "carol@example.com", "password": 7}), 400),
        ("POST", new, json!({"email": "carol@example.com", "status": "gone"}), 400),
        ("POST", new, json!({"email": "carol@example.com", "username": "a".repeat(65)}), 400),
        ("POST", new, json!({"email": "carol@example.com", "username": "a\u{0}"}), 400),
        ("POST", new, json!({"email": "ALICE@example.com", "password": ANOTHER}), 409),
        ("POST", new, json!([]), 400),
        ("PUT", &bob, json!({}), 400),
        ("PUT", &bob, json!({"email": BOB, "password": ANOTHER}), 400),
        ("PUT", &bob, json!({"email": ALICE}), 409),
        ("PATCH", &bob, json!({"email": null}), 400),
        ("PATCH", &bob, json!({"email": "example.net!bob@example.com"}), 400),
        ("PATCH", &bob, json!({"email": "Alice@example.com"}), 409),
        ("PATCH", &bob, json!({"password_hash": ANOTHER}), 400),
        ("PATCH", &bob, json!({"status": 1}), 400),
        ("PATCH", nobody, json!({}), 404),
        ("PUT", nobody, json!({"email": "carol@example.com"}), 404),
        ("DELETE", nobody, Value::Null, 404),
        ("GET", nobody, Value::Null, 404),
        ("GET", "/admin/identities/x", Value::Null, 404),
        ("GET", "/admin/identities?page_token=x", Value::Null, 400),
        ("GET", "/admin/identities?status=gone", Value::Null, 400),
    ];
    for (method, path, body, expected) in table {
        let (status, refused) = ask(&sluice, method, path, body.clone()).await;
        assert_eq!(status, expected, "{method} {path} {body}: {refused}");
        assert!(refused["error"].is_string() && refused["error_description"].is_string(), "{refused}");
        assert!(!refused.to_string().contains(ANOTHER), "{refused}");
    }
    assert_eq!(walk(&sluice, "").await.0, [ALICE, BOB], "nothing was written");
    assert_eq!(api.log_in(BOB, PASSWORD).await.status, 200);
    sluice.node.stop().await;
}
