use http::header::{LINK, LOCATION};
use serde_json::{Value, json};
use sluice_identity::{Email, Identity};
use sluice_oauth::login_session::{LoginSession, LoginSessionRepository};
use sluice_primitives::{Clock, Lifetime, Timestamp};
use sluice_store_contract::given;
use sluice_testkit::Captured;

use crate::identity::tests::world::{ALICE, Answer, PASSWORD, World};

/// An address whose mail some servers send to somebody else.
const ROUTED: &str = "stranger%example.net@example.com";

async fn ask(world: &World, method: &str, path: &str, body: Value) -> Answer {
    world.ask(method, path, "", body).await
}

/// The path of the identity with this address.
async fn path_of(world: &World, email: &str) -> String {
    let found = ask(world, "GET", &format!("/admin/identities?email={email}"), Value::Null).await;
    format!("/admin/identities/{}", found.json[0]["id"].as_str().unwrap())
}

fn emails(answer: &Answer) -> Vec<&str> {
    answer.json.as_array().unwrap().iter().map(|identity| identity["email"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_identity_lives_from_creation_to_deletion() {
    let world = World::new().await;
    let new = json!({"email": " Alice@Example.com", "username": "Alice", "password": PASSWORD, "email_verified": true});
    let made = ask(&world, "POST", "/admin/identities", new).await;
    let path = format!("/admin/identities/{}", made.json["id"].as_str().unwrap());
    let at = "2025-06-15T15:06:40Z";
    let expected = json!({
        "id": made.json["id"],
        "email": ALICE,
        "email_verified": true,
        "email_verified_at": at,
        "username": "Alice",
        "status": "active",
        "has_password": true,
        "created_at": at,
        "updated_at": at,
    });
    assert_eq!((made.status, made.header(LOCATION), &made.json), (201, path.as_str(), &expected));
    assert_eq!(world.log_in(PASSWORD).await.status, 200);
    assert_eq!(ask(&world, "GET", &path, Value::Null).await.json, expected);
    let patched = ask(&world, "PATCH", &path, json!({"username": null})).await;
    assert_eq!(
        (patched.status, &patched.json["username"], &patched.json["email"]),
        (200, &json!(""), &json!(ALICE))
    );
    let put = ask(&world, "PUT", &path, json!({"email": "alice@example.org"})).await;
    assert_eq!(
        (&put.json["email"], &put.json["email_verified"]),
        (&json!("alice@example.org"), &json!(false))
    );
    assert_eq!(ask(&world, "DELETE", &path, Value::Null).await.status, 204);
    assert_eq!(ask(&world, "GET", &path, Value::Null).await.status, 404);
    assert_eq!(ask(&world, "DELETE", &path, Value::Null).await.status, 404);
}

/// The console of an administrator may send no more than what it edits.
#[tokio::test]
async fn an_address_that_stays_stays_verified_if_a_put_does_not_say_otherwise() {
    let world = World::new().await;
    let new = json!({"email": ALICE, "username": "Alice", "password": PASSWORD, "email_verified": true});
    let made = ask(&world, "POST", "/admin/identities", new).await;
    let path = format!("/admin/identities/{}", made.json["id"].as_str().unwrap());
    let verified = async |body: Value| ask(&world, "PUT", &path, body).await.json["email_verified"].clone();
    assert_eq!(verified(json!({"email": ALICE, "username": "Al"})).await, json!(true));
    assert_eq!(verified(json!({"email": ALICE, "email_verified": false})).await, json!(false));
    assert_eq!(verified(json!({"email": ALICE, "email_verified": true})).await, json!(true));
    assert_eq!(ask(&world, "PUT", &path, json!({"email": ALICE, "email_verified": null})).await.status, 400);
}

/// It is there from an import, or an earlier version gave it away.
#[tokio::test]
async fn an_address_that_nobody_is_given_stays_where_it_is() {
    let (world, _) = World::with_alice().await;
    let login_name = ROUTED.parse::<Email>().unwrap().login_name();
    let made = Identity { login_name, ..given::identity(ROUTED) };
    let path = format!("/admin/identities/{}", given::registered(&*world.store, made).await.id);
    let put = ask(&world, "PUT", &path, json!({"email": ROUTED, "email_verified": true})).await;
    assert_eq!((put.status, &put.json["email_verified"]), (200, &json!(true)));
    let put = ask(&world, "PUT", &path, json!({"email": ROUTED, "username": "x"})).await;
    assert_eq!((put.status, &put.json["username"], &put.json["email"]), (200, &json!("x"), &json!(ROUTED)));
    let same = ask(&world, "PUT", &path, json!({"email": ROUTED, "username": "x"})).await;
    assert_eq!((same.status, &same.json), (200, &put.json));
    let edit = json!({"email": "b%c@example.com", "status": "disabled"});
    for person in [path, path_of(&world, ALICE).await] {
        let before = ask(&world, "GET", &person, Value::Null).await.json;
        assert_eq!(ask(&world, "PATCH", &person, edit.clone()).await.status, 400);
        assert_eq!(ask(&world, "PATCH", &person, json!({"email": "b@127.0.0.1"})).await.status, 400);
        assert_eq!(ask(&world, "GET", &person, Value::Null).await.json, before);
    }
    let nobody = format!("/admin/identities/{}", given::identity_id());
    assert_eq!(ask(&world, "PATCH", &nobody, edit).await.status, 404);
}

#[tokio::test]
async fn whoever_is_disabled_is_out_at_once_and_back_when_enabled() {
    let (world, tokens) = World::with_alice().await;
    let path = path_of(&world, ALICE).await;
    let disabled = ask(&world, "PATCH", &path, json!({"status": "disabled"})).await;
    assert_eq!((disabled.status, &disabled.json["status"]), (200, &json!("disabled")));
    assert_eq!(
        world.ask("GET", "/auth/me", &tokens.access, Value::Null).await.problem(),
        (401, "invalid_token")
    );
    let refreshed = world.post("/auth/refresh", json!({"refresh_token": tokens.refresh})).await;
    assert_eq!(refreshed.problem(), (401, "invalid_refresh_token"));
    assert_eq!(world.log_in(PASSWORD).await.problem(), (401, "invalid_credentials"));
    assert_eq!(ask(&world, "PATCH", &path, json!({"status": "active"})).await.status, 200);
    world.clock.advance(Lifetime::millis(1));
    assert_eq!(world.log_in(PASSWORD).await.status, 200);
}

#[tokio::test]
async fn an_edit_in_which_nothing_differs_writes_nothing() {
    let (world, _) = World::with_alice().await;
    let path = path_of(&world, ALICE).await;
    let before = ask(&world, "GET", &path, Value::Null).await.json;
    assert_eq!(world.post("/auth/recovery", json!({"email": ALICE})).await.status, 202);
    let code = crate::identity::tests::world::code(&world.mails().await.remove(0));
    world.clock.advance(Lifetime::secs(1));
    for (method, edit) in [
        ("PUT", json!({"email": ALICE, "username": "Alice"})),
        ("PATCH", json!({"status": "active"})),
        ("PATCH", json!({"email": " Alice@Example.com", "email_verified": false})),
        ("PATCH", json!({})),
    ] {
        let after = ask(&world, method, &path, edit.clone()).await;
        assert_eq!((after.status, &after.json), (200, &before), "{method} {edit}");
    }
    let new = json!({"email": ALICE, "code": code, "new_password": "battery staple"});
    assert_eq!(world.post("/auth/recovery/confirm", new).await.status, 204, "the code is good");
}

#[tokio::test]
async fn whoever_is_deleted_is_out_at_once() {
    let (world, tokens) = World::with_alice().await;
    let path = path_of(&world, ALICE).await;
    assert_eq!(ask(&world, "DELETE", &path, Value::Null).await.status, 204);
    assert_eq!(
        world.ask("GET", "/auth/me", &tokens.access, Value::Null).await.problem(),
        (401, "invalid_token")
    );
    assert_eq!(world.log_in(PASSWORD).await.problem(), (401, "invalid_credentials"));
}

#[tokio::test]
async fn an_imported_hash_is_taken_and_never_shown() {
    let world = World::new().await;
    let hash = "{SSHA}yI6cZwQadOA1e+/f+T+H3eCQQhRzYWx0";
    let made = ask(&world, "POST", "/admin/identities", json!({"email": ALICE, "password_hash": hash})).await;
    assert_eq!((made.status, &made.json["has_password"]), (201, &json!(true)));
    assert!(!made.json.to_string().contains("SSHA"));
    let unknown = json!({"email": "bob@example.com", "password_hash": "secret-hash"});
    let unknown = ask(&world, "POST", "/admin/identities", unknown).await;
    assert_eq!(unknown.status, 400);
    assert!(!unknown.json.to_string().contains("secret-hash"), "{}", unknown.json);
    let large = "$scrypt$ln=14,r=8,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0c2FsdHNhbHRzYWx0c2FsdHNhbHQ";
    let large = json!({"email": "bob@example.com", "password_hash": large});
    let large = ask(&world, "POST", "/admin/identities", large).await;
    assert_eq!(large.status, 400, "no login could compute it");
    assert!(large.json.to_string().contains("needs more memory"), "{}", large.json);
    let both = json!({"email": "bob@example.com", "password_hash": hash, "password": PASSWORD});
    assert_eq!(ask(&world, "POST", "/admin/identities", both).await.status, 400);
    let none = ask(&world, "POST", "/admin/identities", json!({"email": "bob@example.com"})).await;
    assert_eq!((none.status, &none.json["has_password"]), (201, &json!(false)));
}

#[tokio::test]
async fn what_cannot_be_is_refused_in_the_manner_of_the_admin_api() {
    let world = World::new().await;
    world.register(ALICE).await;
    world.register("bob@example.com").await;
    let path = path_of(&world, "bob@example.com").await;
    let table = [
        ("POST", "/admin/identities", json!({"email": "x"}), 400),
        ("POST", "/admin/identities", json!({"email": "c@example.com", "password": "short"}), 400),
        ("POST", "/admin/identities", json!({"email": "c@example.com", "status": "gone"}), 400),
        ("POST", "/admin/identities", json!({"email": ALICE}), 409),
        ("POST", "/admin/identities", json!([]), 400),
        ("PUT", path.as_str(), json!({}), 400),
        ("PUT", path.as_str(), json!({"email": "bob@example.com", "password": "battery staple"}), 400),
        ("PATCH", path.as_str(), json!({"email": null}), 400),
        ("PATCH", path.as_str(), json!({"email": ALICE}), 409),
        ("PATCH", path.as_str(), json!({"password_hash": null}), 400),
        ("PATCH", path.as_str(), json!({"status": 1}), 400),
        ("PATCH", "/admin/identities/x", json!({}), 404),
        ("GET", "/admin/identities/x", Value::Null, 404),
        ("GET", "/admin/identities?page_token=x", Value::Null, 400),
        ("GET", "/admin/identities?status=gone", Value::Null, 400),
    ];
    for (method, path, body, status) in table {
        let refused = ask(&world, method, path, body.clone()).await;
        assert_eq!(refused.status, status, "{method} {path} {body}: {}", refused.json);
        assert!(refused.json["error"].is_string() && refused.json["error_description"].is_string());
    }
}

#[tokio::test]
async fn a_new_record_has_what_is_said_and_nothing_that_is_passed_over() {
    let world = World::new().await;
    let create = async |body: Value| ask(&world, "POST", "/admin/identities", body).await;
    let nothing = json!({
        "email": ALICE, "username": null, "password": null, "password_hash": null, "status": null, "email_verified": null,
    });
    let made = create(nothing).await;
    assert_eq!(
        (made.status, &made.json["username"], &made.json["email_verified"]),
        (201, &json!(""), &json!(false))
    );
    for (member, named) in
        [("usrname", "`usrname`"), ("id", "sluice import identities"), ("created_at", "`created_at`")]
    {
        let refused =
            create(json!({"email": "bob@example.com", member: "018f0000-0000-7000-8000-000000000000"})).await;
        assert_eq!(refused.status, 400, "{member}");
        assert!(refused.json["error_description"].as_str().unwrap().contains(named), "{}", refused.json);
    }
    let taken = create(json!({"email": ALICE})).await;
    let reason = json!("The e-mail address belongs to another identity.");
    assert_eq!((taken.status, &taken.json["error_description"]), (409, &reason));
}

#[tokio::test]
async fn a_listing_links_to_its_next_page_and_is_searched() {
    let world = World::new().await;
    for name in ["ann", "bob", "cyd"] {
        world.register(&format!("{name}@example.com")).await;
        world.clock.advance(Lifetime::millis(1));
    }
    let first = ask(&world, "GET", "/admin/identities?page_size=2", Value::Null).await;
    assert_eq!(emails(&first), ["ann@example.com", "bob@example.com"]);
    let links = first.header(LINK);
    assert!(links.starts_with("</admin/identities?page_size=2>; rel=\"first\",<"), "{links}");
    let next = links.split(",<").nth(1).unwrap().strip_suffix(">; rel=\"next\"").unwrap();
    let second = ask(&world, "GET", next, Value::Null).await;
    assert_eq!(emails(&second), ["cyd@example.com"]);
    assert!(!second.header(LINK).contains("next"));
    let found = async |query: &str| {
        let answer = ask(&world, "GET", &format!("/admin/identities?{query}"), Value::Null).await;
        emails(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("email=BOB%40example.com").await, ["bob@example.com"]);
    assert_eq!(found("email=nobody").await, Vec::<String>::new());
    assert_eq!(found("text=CYD").await, ["cyd@example.com"]);
    assert_eq!(found("email=bob%40example.com&status=disabled").await, Vec::<String>::new());
    assert_eq!(found("status=active").await.len(), 3);
}

#[tokio::test]
async fn sessions_are_seen_and_ended() {
    let (world, tokens) = World::with_alice().await;
    let other = world.log_in(PASSWORD).await.tokens();
    let path = path_of(&world, ALICE).await;
    let listed = ask(&world, "GET", &format!("{path}/sessions"), Value::Null).await;
    assert_eq!((listed.status, listed.json.as_array().unwrap().len()), (200, 2));
    assert_eq!((&listed.json[0]["amr"], listed.json[0].get("current")), (&json!(["pwd"]), None));
    let one = format!("{path}/sessions/{}", listed.json[0]["id"].as_str().unwrap());
    assert_eq!(ask(&world, "DELETE", &one, Value::Null).await.status, 204);
    assert_eq!(ask(&world, "DELETE", &one, Value::Null).await.status, 404);
    let me = async |access: &str| world.ask("GET", "/auth/me", access, Value::Null).await.status;
    assert_eq!(me(&tokens.access).await + me(&other.access).await, 200 + 401);
    assert_eq!(ask(&world, "DELETE", &format!("{path}/sessions"), Value::Null).await.status, 204);
    assert_eq!((me(&tokens.access).await, me(&other.access).await), (401, 401));
    let nobody = "/admin/identities/018f0000-0000-7000-8000-000000000000/sessions";
    for method in ["GET", "DELETE"] {
        assert_eq!(ask(&world, method, nobody, Value::Null).await.status, 404, "{method}");
    }
}

/// A browser in which this person logged in to an application.
fn browser_of(person: &str, now: Timestamp) -> LoginSession {
    LoginSession {
        subject: person.parse().unwrap(),
        authenticated_at: now,
        last_seen_at: now,
        expires_at: now + Lifetime::hours(1),
        ..given::session()
    }
}

#[tokio::test]
async fn of_a_browser_that_is_not_known_neither_device_nor_network_is_told() {
    let (world, _) = World::with_alice().await;
    let path = path_of(&world, ALICE).await;
    let person = path.strip_prefix("/admin/identities/").unwrap();
    let unknown = LoginSession { origin: None, ..browser_of(person, world.clock.now()) };
    assert!(LoginSessionRepository::insert(&*world.store, unknown).await.unwrap());
    let listed = ask(&world, "GET", &format!("{path}/sessions"), Value::Null).await.json;
    let told = ["device", "network"].map(|member| listed[1].get(member));
    assert_eq!((&listed[1]["kind"], told), (&json!("browser"), [None, None]));
}

#[tokio::test]
async fn browsers_are_seen_and_ended_too() {
    let (log, _guard) = Captured::begin();
    let (world, _) = World::with_alice().await;
    assert_eq!(world.register("bob@example.com").await.status, 201);
    let (path, bob) = (path_of(&world, ALICE).await, path_of(&world, "bob@example.com").await);
    let person = path.strip_prefix("/admin/identities/").unwrap();
    let browser = browser_of(person, world.clock.now());
    assert!(LoginSessionRepository::insert(&*world.store, browser.clone()).await.unwrap());
    let listed = ask(&world, "GET", &format!("{path}/sessions"), Value::Null).await.json;
    assert_eq!((&listed[0]["kind"], listed.as_array().unwrap().len()), (&json!("api"), 2));
    let expected = json!({
        "kind": "browser",
        "id": browser.id.to_string(),
        "remembered": true,
        "device": "Firefox",
        "network": "192.0.2.1",
        "amr": ["pwd", "otp"],
        "acr": "gold",
        "authenticated_at": "2025-06-15T15:06:40Z",
        "last_seen_at": "2025-06-15T15:06:40Z",
        "expires_at": "2025-06-15T16:06:40Z",
    });
    assert_eq!(listed[1], expected);
    let end = async |path: &str| {
        ask(&world, "DELETE", &format!("{path}/sessions/{}", browser.id), Value::Null).await.status
    };
    assert_eq!(end(&bob).await, 404, "it is not his");
    assert_eq!((end(&path).await, end(&path).await), (204, 404));
    let listed = ask(&world, "GET", &format!("{path}/sessions"), Value::Null).await.json;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let expected = format!("signed out by an administrator identity.id={person} session.id={}", browser.id);
    assert_eq!(told(&log, "by an administrator"), [expected]);
    let signed_out = format!("signed out identity.id={person} session.id={}", browser.id);
    assert_eq!(told(&log, "sluice_audit: signed out identity.id"), [signed_out]);
}

/// What the audit trail says with these words.
fn told(log: &Captured, words: &str) -> Vec<String> {
    let lines = log.lines(words);
    let told = lines.iter().map(|line| line.split_once("sluice_audit: ").expect("a line of the trail").1);
    told.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_session_that_an_administrator_ends_is_told_as_such() {
    let (log, _guard) = Captured::begin();
    let (world, _) = World::with_alice().await;
    let path = path_of(&world, ALICE).await;
    let listed = ask(&world, "GET", &format!("{path}/sessions"), Value::Null).await;
    let session = listed.json[0]["id"].as_str().unwrap();
    let one = format!("{path}/sessions/{session}");
    assert_eq!(ask(&world, "DELETE", &one, Value::Null).await.status, 204);
    assert_eq!(ask(&world, "DELETE", &one, Value::Null).await.status, 404);
    assert_eq!(ask(&world, "DELETE", &format!("{path}/sessions"), Value::Null).await.status, 204);
    let person = path.strip_prefix("/admin/identities/").unwrap();
    let all = format!("signed out by an administrator identity.id={person}");
    assert_eq!(told(&log, "by an administrator"), [format!("{all} session.id={session}"), all]);
}

#[tokio::test]
async fn what_of_a_record_an_administrator_changes_is_told_and_not_to_what() {
    let (log, _guard) = Captured::begin();
    let (world, _) = World::with_alice().await;
    let path = path_of(&world, ALICE).await;
    let person = path.strip_prefix("/admin/identities/").unwrap();
    let mut expected = Vec::new();
    for (edit, status, [email, verified, username]) in [
        (json!({"username": "Al"}), "active", [false, false, true]),
        (json!({"email_verified": true}), "active", [false, true, false]),
        // Which is not verified yet.
        (json!({"email": "a@example.org"}), "active", [true, true, false]),
        (json!({"email": "a@example.net"}), "active", [true, false, false]),
        (json!({"status": "disabled"}), "disabled", [false, false, false]),
    ] {
        assert_eq!(ask(&world, "PATCH", &path, edit.clone()).await.status, 200, "{edit}");
        expected.push(format!(
            "identity changed by an administrator identity.id={person} status=\"{status}\" \
             email={email} email_verified={verified} username={username}"
        ));
    }
    assert_eq!(told(&log, "by an administrator"), expected);
}

#[tokio::test]
async fn factors_are_seen_and_taken_away_but_not_shown() {
    let (world, tokens) = World::with_alice().await;
    let (secret, _) = world.enrol_app(&tokens).await;
    let path = format!("{}/factors", path_of(&world, ALICE).await);
    let listed = ask(&world, "GET", &path, Value::Null).await;
    assert_eq!(
        (&listed.json["factors"][0]["kind"], &listed.json["recovery_codes_left"]),
        (&json!("totp"), &json!(10))
    );
    assert!(!listed.json.to_string().contains(&secret.base32()));
    assert!(listed.json["factors"][0].get("sealed").is_none());
    let one = format!("{path}/{}", listed.json["factors"][0]["id"].as_str().unwrap());
    assert_eq!(ask(&world, "DELETE", &one, Value::Null).await.status, 204);
    assert_eq!(ask(&world, "DELETE", &one, Value::Null).await.status, 404);
    assert_eq!(world.log_in(PASSWORD).await.status, 200);
}

#[tokio::test]
async fn a_reset_takes_everything_away_and_sends_a_way_back_if_wanted() {
    let (world, tokens) = World::with_alice().await;
    world.enrol_app(&tokens).await;
    world.mails().await;
    let path = path_of(&world, ALICE).await;
    let reset = format!("{path}/credentials/reset");
    assert_eq!(ask(&world, "POST", &reset, json!({"send_mail": true})).await.status, 204);
    assert_eq!(
        world.ask("GET", "/auth/me", &tokens.access, Value::Null).await.problem(),
        (401, "invalid_token")
    );
    assert_eq!(world.log_in(PASSWORD).await.problem(), (401, "invalid_credentials"));
    assert_eq!(ask(&world, "GET", &path, Value::Null).await.json["has_password"], false);
    let code = crate::identity::tests::world::code(&world.mails().await.remove(0));
    let new = json!({"email": ALICE, "code": code, "new_password": "battery staple"});
    assert_eq!(world.post("/auth/recovery/confirm", new).await.status, 204);
    world.clock.advance(Lifetime::millis(1));
    assert_eq!(world.log_in("battery staple").await.status, 200);
    assert_eq!(ask(&world, "POST", &reset, Value::Null).await.status, 204);
    assert_eq!(world.mails().await.iter().filter(|mail| mail.subject.starts_with("Set")).count(), 0);
    assert_eq!(world.log_in("battery staple").await.status, 401);
}

#[tokio::test]
async fn a_reset_takes_the_name_that_a_stranger_may_have_chosen() {
    let world = World::new().await;
    assert_eq!(world.register(ALICE).await.status, 201);
    let bob = json!({"email": "bob@example.com", "username": "Bob"});
    let carol = json!({
        "email": "carol@example.com", "username": "Carol", "password": PASSWORD, "email_verified": true,
    });
    for made in [bob, carol] {
        assert_eq!(ask(&world, "POST", "/admin/identities", made).await.status, 201);
    }
    for (email, expected) in [(ALICE, ""), ("bob@example.com", "Bob"), ("carol@example.com", "Carol")] {
        let path = path_of(&world, email).await;
        let reset = ask(&world, "POST", &format!("{path}/credentials/reset"), Value::Null).await;
        assert_eq!(reset.status, 204);
        assert_eq!(ask(&world, "GET", &path, Value::Null).await.json["username"], expected, "{email}");
    }
}

#[tokio::test]
async fn who_is_disabled_is_reset_without_a_mail_only() {
    let (world, _) = World::with_alice().await;
    let path = path_of(&world, ALICE).await;
    let reset = format!("{path}/credentials/reset");
    ask(&world, "PATCH", &path, json!({"status": "disabled"})).await;
    let refused = ask(&world, "POST", &reset, json!({"send_mail": true})).await;
    assert_eq!(refused.status, 400);
    assert!(refused.json.to_string().contains("enable the identity first"), "{}", refused.json);
    assert!(world.mails().await.is_empty());
    assert_eq!(ask(&world, "GET", &path, Value::Null).await.json["has_password"], true);
    assert_eq!(ask(&world, "POST", &reset, Value::Null).await.status, 204);
    assert_eq!(ask(&world, "GET", &path, Value::Null).await.json["has_password"], false);
    ask(&world, "PATCH", &path, json!({"status": "active"})).await;
    assert_eq!(ask(&world, "POST", &reset, json!({"send_mail": true})).await.status, 204);
    let code = crate::identity::tests::world::code(&world.mails().await.remove(0));
    let new = json!({"email": ALICE, "code": code, "new_password": "battery staple"});
    assert_eq!(world.post("/auth/recovery/confirm", new).await.status, 204);
    let nobody = "/admin/identities/018f0000-0000-7000-8000-000000000000/credentials/reset";
    assert_eq!(ask(&world, "POST", nobody, json!({"send_mail": true})).await.status, 404);
}

/// The subjects of the mails that came since.
async fn subjects(world: &World) -> Vec<String> {
    world.mails().await.into_iter().map(|mail| mail.subject).collect()
}

#[tokio::test]
async fn who_has_the_address_is_told_what_an_administrator_does_unless_nobody_is_to_be() {
    let world = World::new().await;
    let new = json!({"email": ALICE, "password": PASSWORD, "email_verified": true});
    let made = ask(&world, "POST", "/admin/identities", new).await;
    let path = format!("/admin/identities/{}", made.json["id"].as_str().unwrap());
    let (quietly, reset) = (format!("{path}?notify=false"), format!("{path}/credentials/reset"));
    let other = json!({"email": "alice@example.org", "email_verified": true});
    let (back, none) = (json!({"email": ALICE, "email_verified": true}), <[&str; 0]>::default());
    assert_eq!(subjects(&world).await, none);
    assert_eq!(ask(&world, "PATCH", &quietly, other.clone()).await.status, 200);
    assert_eq!(ask(&world, "PATCH", &quietly, back).await.status, 200);
    assert_eq!(ask(&world, "POST", &format!("{reset}?notify=false"), Value::Null).await.status, 204);
    assert_eq!(subjects(&world).await, none);
    assert_eq!(
        ask(&world, "PATCH", &format!("{path}?notify=no"), json!({"username": "Al"})).await.status,
        400
    );
    assert_eq!(ask(&world, "PATCH", &path, json!({"username": "Al"})).await.status, 200);
    assert_eq!(subjects(&world).await, none);
    assert_eq!(ask(&world, "POST", &reset, Value::Null).await.status, 204);
    assert_eq!(ask(&world, "PATCH", &path, other).await.status, 200);
    let mails = world.mails().await;
    let mut told: Vec<_> = mails.iter().map(|mail| (mail.to.as_str(), mail.subject.as_str())).collect();
    told.sort_unstable();
    let expected = ["Your email address at Example was changed", "Your password at Example was changed"];
    assert_eq!(told, expected.map(|subject| (ALICE, subject)));
    assert_eq!(ask(&world, "DELETE", &path, Value::Null).await.status, 204);
    assert_eq!(subjects(&world).await, ["Your account at Example was deleted"]);
}

#[tokio::test]
async fn what_comes_to_nothing_takes_no_place_of_a_later_notice() {
    let world = World::new().await;
    for email in [ALICE, "bob@example.com"] {
        let new = json!({"email": email, "password": PASSWORD, "email_verified": true});
        assert_eq!(ask(&world, "POST", "/admin/identities", new).await.status, 201);
    }
    let path = path_of(&world, ALICE).await;
    for _ in 0..10 {
        let taken = ask(&world, "PATCH", &path, json!({"email": "bob@example.com"})).await;
        assert_eq!(taken.status, 409);
    }
    assert_eq!(subjects(&world).await, <[&str; 0]>::default());
    assert_eq!(ask(&world, "PATCH", &path, json!({"email": "alice@example.org"})).await.status, 200);
    assert_eq!(subjects(&world).await, ["Your email address at Example was changed"]);
}

#[tokio::test]
async fn at_an_address_that_nobody_verified_nobody_is_told_anything() {
    let world = World::new().await;
    let made = ask(&world, "POST", "/admin/identities", json!({"email": ALICE, "password": PASSWORD})).await;
    let path = format!("/admin/identities/{}", made.json["id"].as_str().unwrap());
    assert_eq!(ask(&world, "PATCH", &path, json!({"email": "alice@example.org"})).await.status, 200);
    assert_eq!(ask(&world, "DELETE", &path, Value::Null).await.status, 204);
    assert_eq!(subjects(&world).await, <[&str; 0]>::default());
}

#[tokio::test]
async fn without_mail_a_reset_that_needs_one_changes_nothing() {
    let world = World::without_mail().await;
    world.register(ALICE).await;
    let path = path_of(&world, ALICE).await;
    let refused = ask(&world, "POST", &format!("{path}/credentials/reset"), json!({"send_mail": true})).await;
    assert_eq!(refused.status, 400);
    assert_eq!(world.log_in(PASSWORD).await.status, 200);
}
