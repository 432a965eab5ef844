use axum::http::header::LINK;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::stub::{Stub, reply};
use crate::cli::Exit;

const ADA: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

fn ada() -> Value {
    json!({
        "id": ADA,
        "email": "ada@example.com",
        "email_verified": true,
        "email_verified_at": "2025-01-01T00:00:00Z",
        "username": "Ada",
        "status": "active",
        "has_password": true,
        "created_at": "2025-01-01T00:00:00Z",
        "updated_at": "2025-01-02T00:00:00Z",
    })
}

#[tokio::test]
async fn a_person_is_made_with_a_password_from_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "correct horse battery staple\n").unwrap();
    let stub = Stub::answering(201, ada()).await;
    let line = format!(
        "sluice create identity --email ada@example.com --username Ada --email-verified --password-file {}",
        file.path().display()
    );
    let outcome = stub.run(&line).await;
    let expected = format!(
        "\
ID        {ADA}
EMAIL     ada@example.com
VERIFIED  true
USERNAME  Ada
STATUS    active
PASSWORD  true
CREATED   2025-01-01T00:00:00Z
UPDATED   2025-01-02T00:00:00Z
"
    );
    assert_eq!((outcome.exit, outcome.out, outcome.err.as_str()), (Exit::Success, expected, ""));
    let asked = stub.only();
    assert_eq!(asked.line, "POST /admin/identities");
    let body = json!({
        "email": "ada@example.com", "username": "Ada", "email_verified": true, "password": "correct horse battery staple",
    });
    assert_eq!(asked.json(), body);
}

#[tokio::test]
async fn people_are_searched_page_by_page() {
    let stub = Stub::start(|_| {
        let link = "</admin/identities?page_size=2&page_token=n>; rel=\"next\"";
        ([(LINK, link)], reply(200, &json!([ada()]))).into_response()
    })
    .await;
    let outcome = stub
        .run("sluice list identities --page-size 2 --text da --status active --email a@example.com --page-token m")
        .await;
    assert!(outcome.out.starts_with("ID "), "{}", outcome.out);
    assert!(outcome.out.ends_with("\n\nNEXT PAGE TOKEN  n\nIS LAST PAGE     false\n"), "{}", outcome.out);
    let expected =
        "GET /admin/identities?page_size=2&email=a%40example.com&text=da&status=active&page_token=m";
    assert_eq!(stub.only().line, expected);
}

#[tokio::test]
async fn pages_with_nobody_on_them_are_passed_over() {
    let stub = Stub::start(|asked| {
        let (next, people) = match asked.line.split_once("page_token=").map(|(_, token)| token) {
            None => ("a", json!([])),
            Some("a") => ("b", json!([])),
            Some("b") => ("c", json!([ada()])),
            other => panic!("{other:?}"),
        };
        let link = format!("</admin/identities?page_size=100&page_token={next}>; rel=\"next\"");
        ([(LINK, link)], reply(200, &people)).into_response()
    })
    .await;
    let outcome = stub.run("sluice list identities --text ada").await;
    assert!(outcome.out.contains(ADA), "{}", outcome.out);
    assert!(outcome.out.ends_with("\n\nNEXT PAGE TOKEN  c\nIS LAST PAGE     false\n"), "{}", outcome.out);
    assert_eq!(stub.asked().len(), 3);
}

#[tokio::test]
async fn a_list_that_breaks_off_behind_pages_with_nobody_on_them_names_the_one_to_go_on_with() {
    let stub = Stub::start(|asked| {
        if !asked.line.ends_with("page_token=m") {
            return reply(400, &json!({ "error": "invalid_request" }));
        }
        let link = "</admin/identities?page_size=100&page_token=a>; rel=\"next\"";
        ([(LINK, link)], reply(200, &json!([]))).into_response()
    })
    .await;
    let outcome = stub.run("sluice list identities --page-token m").await;
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, ""));
    let expected = "invalid_request (400 Bad Request); --page-token a goes on from there";
    assert!(outcome.err.contains(expected), "{}", outcome.err);
    let outcome = stub.run("sluice list identities --page-token x").await;
    assert!(!outcome.err.contains("--page-token"), "{}", outcome.err);
}

#[tokio::test]
async fn nobody_is_listed_once_the_last_page_has_nobody() {
    let stub = Stub::start(|asked| {
        if asked.line.contains("page_token") {
            return reply(200, &json!([]));
        }
        let link = "</admin/identities?page_size=100&page_token=a>; rel=\"next\"";
        ([(LINK, link)], reply(200, &json!([]))).into_response()
    })
    .await;
    let outcome = stub.run("sluice list identities --status disabled").await;
    assert!(outcome.out.ends_with("IS LAST PAGE     true\n"), "{}", outcome.out);
    assert_eq!(stub.asked().len(), 2);
}

#[tokio::test]
async fn what_is_changed_of_a_person_is_what_is_given() {
    let stub = Stub::answering(200, ada()).await;
    stub.run(&format!("sluice update identity {ADA} --email-verified=F --username=")).await;
    let asked = stub.only();
    assert_eq!(asked.line, format!("PATCH /admin/identities/{ADA}"));
    assert_eq!(asked.json(), json!({ "email_verified": false, "username": "" }));
    assert_eq!(stub.run(&format!("sluice update identity {ADA}")).await.exit, Exit::Usage);
}

#[tokio::test]
async fn people_are_disabled_and_enabled_one_after_the_other() {
    let stub = Stub::start(|asked| {
        if asked.line.ends_with("/b") {
            reply(404, &json!({ "error": "not_found" }))
        } else {
            reply(200, &ada())
        }
    })
    .await;
    let outcome = stub.run("sluice disable identity a b").await;
    assert_eq!(
        (outcome.exit, outcome.err.as_str()),
        (Exit::Failure, "error: b: not_found (404 Not Found)\n")
    );
    stub.run("sluice enable identity a").await;
    let asked = stub.asked();
    let bodies: Vec<Value> = asked.iter().map(super::stub::Asked::json).collect();
    let [disabled, enabled] = ["disabled", "active"].map(|status| json!({ "status": status }));
    assert_eq!(bodies, [disabled.clone(), disabled, enabled]);
    assert!(asked.iter().all(|asked| asked.line.starts_with("PATCH /admin/identities/")));
}

#[tokio::test]
async fn credentials_are_reset_with_a_mail_if_wanted() {
    let stub = Stub::answering(204, Value::Null).await;
    assert_eq!(
        stub.run(&format!("sluice reset credentials {ADA} --send-mail")).await.out,
        format!("ID  {ADA}\n")
    );
    let asked = stub.only();
    assert_eq!(asked.line, format!("POST /admin/identities/{ADA}/credentials/reset"));
    assert_eq!(asked.json(), json!({ "send_mail": true }));
}

#[tokio::test]
async fn a_person_is_signed_out_of_some_sessions_or_of_all() {
    let stub = Stub::answering(204, Value::Null).await;
    stub.run("sluice delete session a s1 s2").await;
    stub.run("sluice delete sessions a").await;
    stub.run("sluice delete factor a f").await;
    stub.run("sluice delete identity a").await;
    let lines: Vec<String> = stub.asked().into_iter().map(|asked| asked.line).collect();
    let expected = ["a/sessions/s1", "a/sessions/s2", "a/sessions", "a/factors/f", "a"];
    assert_eq!(lines, expected.map(|path| format!("DELETE /admin/identities/{path}")));
}

#[tokio::test]
async fn sessions_and_factors_are_listed() {
    let session = json!({
        "id": "s1", "kind": "api", "device": "Firefox", "network": "192.0.2.1", "amr": ["pwd", "otp"], "acr": "aal2",
        "authenticated_at": "t1", "last_seen_at": "t2", "expires_at": "t3",
    });
    let browser = json!({
        "id": "s2", "kind": "browser", "remembered": true, "amr": ["pwd"], "acr": "aal1",
        "authenticated_at": "t4", "last_seen_at": "t5", "expires_at": "t6",
    });
    let out = Stub::answering(200, json!([session, browser])).await.run("sluice list sessions a").await.out;
    let expected = "\
ID  KIND     DEVICE   NETWORK    AMR       SIGNED IN  LAST SEEN  EXPIRES
s1  api      Firefox  192.0.2.1  pwd, otp  t1         t2         t3
s2  browser                      pwd       t4         t5         t6
";
    assert_eq!(out, expected);
    let factors = json!({
        "factors": [{ "id": "f", "kind": "totp", "name": "Phone", "created_at": "t1", "last_used_at": null }],
        "recovery_codes_left": 9,
    });
    let out = Stub::answering(200, factors).await.run("sluice list factors a").await.out;
    let expected = "\
ID  KIND  NAME   CREATED  LAST USED
f   totp  Phone  t1

RECOVERY CODES LEFT  9
";
    assert_eq!(out, expected);
}
