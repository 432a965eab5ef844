use std::sync::Arc;

use axum::http::header::LINK;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::stub::{Stub, reply};
use crate::cli::remote::{Import, RemoteCommand, client};
use crate::cli::{Cli, Commands, Exit};

fn photos() -> Value {
    json!({
        "client_id": "photos",
        "client_secret": "s3cret",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": "openid offline",
        "audience": [],
        "redirect_uris": ["http://127.0.0.1:5555/callback"],
    })
}

#[tokio::test]
async fn a_created_client_is_shown_with_its_secret() {
    let stub = Stub::answering(201, photos()).await;
    let outcome = stub.run("sluice create client --grant-type authorization_code,refresh_token --scope openid,offline --redirect-uri http://127.0.0.1:5555/callback").await;
    let expected = "\
CLIENT ID       photos
CLIENT SECRET   s3cret
GRANT TYPES     authorization_code, refresh_token
RESPONSE TYPES  code
SCOPE           openid offline
AUDIENCE
REDIRECT URIS   http://127.0.0.1:5555/callback
";
    assert_eq!((outcome.exit, outcome.out.as_str(), outcome.err.as_str()), (Exit::Success, expected, ""));
    let asked = stub.only();
    assert_eq!(
        (asked.line.as_str(), asked.header("content-type")),
        ("POST /admin/clients", "application/json")
    );
    let body = json!({
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": "openid offline",
        "redirect_uris": ["http://127.0.0.1:5555/callback"],
        "token_endpoint_auth_method": "client_secret_basic",
        "subject_type": "public",
        "metadata": {},
    });
    assert_eq!(asked.json(), body);
}

#[tokio::test]
async fn every_flag_of_a_client_has_its_field() {
    let stub = Stub::answering(201, photos()).await;
    stub.run(
        "sluice create oauth2-client --id photos --name P --secret s --grant-type a --response-type b --scope c \
         --audience d,e --redirect-uri f --post-logout-callback g --token-endpoint-auth-method none \
         --access-token-strategy jwt --access-token-jwt-typ JWT --authorization-response-iss=false --subject-type pairwise --sector-identifier-uri h --jwks-uri i \
         --id-token-signed-response-alg RS256 --request-object-signing-alg ES256 --request-uri j --allowed-cors-origin k --skip-consent \
         --skip-logout-consent=false --frontchannel-logout-callback l --frontchannel-logout-session-required \
         --backchannel-logout-callback m --backchannel-logout-session-required=true --owner n --contact o \
         --contact p --client-uri q --logo-uri r --policy-uri s --tos-uri t --metadata {\"u\":1}",
    )
    .await;
    let expected = json!({
        "client_id": "photos", "client_name": "P", "client_secret": "s", "grant_types": ["a"],
        "response_types": ["b"], "scope": "c", "audience": ["d", "e"], "redirect_uris": ["f"],
        "post_logout_redirect_uris": ["g"], "token_endpoint_auth_method": "none", "access_token_strategy": "jwt",
        "access_token_jwt_typ": "JWT", "authorization_response_iss": false, "subject_type": "pairwise", "sector_identifier_uri": "h", "jwks_uri": "i",
        "id_token_signed_response_alg": "RS256", "request_object_signing_alg": "ES256", "request_uris": ["j"], "allowed_cors_origins": ["k"],
        "skip_consent": true, "skip_logout_consent": false, "frontchannel_logout_uri": "l",
        "frontchannel_logout_session_required": true, "backchannel_logout_uri": "m",
        "backchannel_logout_session_required": true, "owner": "n", "contacts": ["o", "p"], "client_uri": "q",
        "logo_uri": "r", "policy_uri": "s", "tos_uri": "t", "metadata": {"u": 1},
    });
    assert_eq!(stub.only().json(), expected);
}

#[tokio::test]
async fn a_client_is_created_from_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"client_name": "From a file"}"#).unwrap();
    let stub = Stub::answering(201, photos()).await;
    let line = format!("sluice create client --name ignored --id photos --file {}", file.path().display());
    assert_eq!(stub.run(&line).await.exit, Exit::Success);
    assert_eq!(stub.only().json(), json!({ "client_name": "From a file", "client_id": "photos" }));
}

#[tokio::test]
async fn a_file_that_is_no_client_is_refused_without_repeating_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hunter2").unwrap();
    let stub = Stub::answering(201, photos()).await;
    let outcome = stub.run(&format!("sluice create client --file {}", file.path().display())).await;
    assert_eq!(outcome.exit, Exit::Failure);
    assert!(outcome.err.contains("it is no JSON object (line 1, column 1)"), "{}", outcome.err);
    assert!(!outcome.err.contains("hunter2"));
    assert!(stub.asked().is_empty());
}

#[tokio::test]
async fn one_client_is_an_object_and_several_are_a_list() {
    let stub = Stub::answering(200, json!({ "client_id": "a" })).await;
    assert_eq!(stub.run("sluice get client a --format json").await.out, "{\"client_id\":\"a\"}\n");
    let several = stub.run("sluice get client a b/c --format json").await;
    assert_eq!(several.out, "[{\"client_id\":\"a\"},{\"client_id\":\"a\"}]\n");
    assert_eq!(stub.asked()[2].line, "GET /admin/clients/b%2Fc");
}

#[tokio::test]
async fn a_refusal_is_told_in_the_servers_words() {
    let error = json!({ "error": "not_found", "error_description": "There is no client \u{1b}[31mghost." });
    let outcome = Stub::answering(404, error).await.run("sluice get client ghost").await;
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, ""));
    assert_eq!(outcome.err, "error: not_found: There is no client \\u{1b}[31mghost. (404 Not Found)\n");
}

#[tokio::test]
async fn a_page_of_clients_says_where_the_next_one_is() {
    let stub = Stub::start(|asked| {
        let mut response = reply(200, &json!([photos()]));
        if !asked.line.contains("page_token") {
            let link = "</admin/clients?page_size=1>; rel=\"first\",</admin/clients?page_size=1&page_token=n%2B1>; rel=\"next\"";
            response = ([(LINK, link)], response).into_response();
        }
        response
    })
    .await;
    let first = stub.run("sluice list clients --page-size 1").await;
    assert!(first.out.starts_with("CLIENT ID  CLIENT SECRET  GRANT TYPES"), "{}", first.out);
    assert!(first.out.ends_with("\n\nNEXT PAGE TOKEN  n+1\nIS LAST PAGE     false\n"), "{}", first.out);
    let last = stub.run("sluice list clients --page-size 1 --page-token n+1 --format json").await;
    let json: Value = serde_json::from_str(&last.out).unwrap();
    assert_eq!(json, json!({ "items": [photos()], "next_page_token": "", "is_last_page": true }));
    let lines: Vec<String> = stub.asked().into_iter().map(|asked| asked.line).collect();
    assert_eq!(lines, ["GET /admin/clients?page_size=1", "GET /admin/clients?page_size=1&page_token=n%2B1"]);
    assert_eq!(stub.run("sluice list clients -q").await.out, "photos\n");
}

#[tokio::test]
async fn an_update_changes_only_what_is_given() {
    let stub = Stub::answering(200, photos()).await;
    let outcome =
        stub.run("sluice update client photos --scope openid,profile --audience= --skip-consent=false").await;
    assert_eq!(outcome.exit, Exit::Success);
    let asked = stub.only();
    assert_eq!(asked.line, "PATCH /admin/clients/photos");
    let patch = json!([
        { "op": "add", "path": "/scope", "value": "openid profile" },
        { "op": "add", "path": "/audience", "value": [] },
        { "op": "add", "path": "/skip_consent", "value": false },
    ]);
    assert_eq!(asked.json(), patch);
}

#[tokio::test]
async fn an_update_with_nothing_to_change_is_a_usage_error() {
    let stub = Stub::answering(200, photos()).await;
    assert_eq!(stub.run("sluice update client photos").await.exit, Exit::Usage);
    assert!(stub.asked().is_empty());
}

#[tokio::test]
async fn an_update_from_a_file_replaces_the_client() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{}").unwrap();
    let stub = Stub::answering(200, photos()).await;
    stub.run(&format!("sluice update client photos --file {}", file.path().display())).await;
    assert_eq!(stub.only().line, "PUT /admin/clients/photos");
}

#[tokio::test]
async fn what_could_not_be_deleted_is_told_and_the_rest_is_deleted() {
    let stub = Stub::start(|asked| {
        if asked.line.ends_with("/b") {
            reply(404, &json!({ "error": "not_found" }))
        } else {
            reply(204, &Value::Null)
        }
    })
    .await;
    let outcome = stub.run("sluice delete client a b c").await;
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, "ID\na\nc\n"));
    assert_eq!(outcome.err, "error: b: not_found (404 Not Found)\n");
    assert_eq!(stub.run("sluice delete client a").await.out, "ID  a\n");
}

/// Answers with the client that it is sent, but refuses that with the id `taken`.
async fn registry() -> Stub {
    Stub::start(|asked| match asked.json()["client_id"].as_str() {
        Some("taken") => reply(409, &json!({ "error": "taken" })),
        _ => reply(201, &asked.json()),
    })
    .await
}

#[tokio::test]
async fn clients_are_imported_from_files_with_their_ids_and_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("one"), photos().to_string()).unwrap();
    std::fs::write(path("list"), json!([{ "client_id": "a" }, { "client_id": "b" }]).to_string()).unwrap();
    // As `hydra list clients --format json` prints them.
    let listed = json!({ "items": [{ "client_id": "c" }], "next_page_token": "", "is_last_page": true });
    std::fs::write(path("listed"), listed.to_string()).unwrap();
    let stub = registry().await;
    let line = format!("sluice import oauth2-client {} {} {}", path("one"), path("list"), path("listed"));
    let outcome = stub.run(&format!("{line} --format json")).await;
    let expected = json!([photos(), { "client_id": "a" }, { "client_id": "b" }, { "client_id": "c" }]);
    assert_eq!((outcome.exit, outcome.err.as_str()), (Exit::Success, ""));
    assert_eq!(serde_json::from_str::<Value>(&outcome.out).unwrap(), expected);
    let asked = stub.asked();
    assert!(asked.iter().all(|asked| asked.line == "POST /admin/clients"), "{asked:?}");
    assert_eq!(asked.iter().map(super::stub::Asked::json).collect::<Vec<_>>(), *expected.as_array().unwrap());
    let alone = stub.run(&format!("sluice import client {}", path("one"))).await;
    assert!(alone.out.starts_with("CLIENT ID       photos\nCLIENT SECRET   s3cret\n"), "{}", alone.out);
}

#[tokio::test]
async fn what_cannot_be_imported_is_told_and_the_rest_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let clients = json!([{ "client_id": "a" }, { "client_id": "taken" }, { "client_id": "b" }]);
    std::fs::write(path("list"), clients.to_string()).unwrap();
    std::fs::write(path("broken"), "hunter2").unwrap();
    std::fs::write(path("number"), "1").unwrap();
    let stub = registry().await;
    let [broken, missing, number, list] = ["broken", "missing", "number", "list"].map(path);
    let outcome = stub.run(&format!("sluice import clients {broken} {missing} {number} {list} -q")).await;
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, "a\nb\n"));
    let errors: Vec<_> = outcome.err.lines().collect();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert_eq!(
        errors[0],
        format!("error: cannot use {broken}: it is no JSON client or list (line 1, column 1)")
    );
    assert!(errors[1].starts_with(&format!("error: cannot use {missing}: ")), "{}", errors[1]);
    assert_eq!(
        errors[2],
        format!("error: cannot use {number}: it holds neither a client nor a list of clients")
    );
    assert_eq!(errors[3], "error: taken: taken (409 Conflict)");
}

/// Nobody else hears of the secrets that were made until then.
#[tokio::test]
async fn an_import_that_is_interrupted_tells_what_was_imported() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"[{"client_id": "a"}, {"client_id": "b"}, {"client_id": "c"}]"#).unwrap();
    let told = Arc::new(Notify::new());
    let teller = told.clone();
    let stub = Stub::start(move |asked| {
        teller.notify_one();
        let mut client = asked.json();
        client["client_secret"] = "made".into();
        reply(201, &client)
    })
    .await;
    let line = ["sluice", "import", "oauth2-client", file.path().to_str().unwrap(), "--format", "json"];
    let Commands::Remote(command) = Cli::read(line).unwrap().command else { panic!("not remote") };
    let RemoteCommand::Import(verb) = *command else { panic!("no import") };
    let Import::Client(args) = &verb.noun else { panic!("not of clients") };
    let answer = client::import(args, &stub.server(), || told.notified()).await.unwrap();
    let mut out = Vec::new();
    verb.output.print(&answer, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "{\"client_id\":\"a\",\"client_secret\":\"made\"}\n");
    assert_eq!(answer.failures(), ["interrupted: 2 clients were not imported"]);
    assert_eq!(stub.only().json(), json!({ "client_id": "a" }));
}

#[tokio::test]
async fn a_hash_is_not_taken_for_the_secret_of_a_client() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let hash = "$pbkdf2-sha256$i=1000,l=32$//79c2FsdHNhbHQ$d0lGOtY/bjwRKEhXkYPe2hsAb/jz5yqBJbVyoQy8C2w";
    let clients =
        json!([{ "client_id": "photos", "client_secret": hash }, { "client_id": "a", "client_secret": "s" }]);
    std::fs::write(file.path(), clients.to_string()).unwrap();
    let stub = registry().await;
    let outcome = stub.run(&format!("sluice import oauth2-client {} -q", file.path().display())).await;
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, "a\n"));
    let reason = "its client_secret is a hash, not the secret: `sluice import hydra` takes clients from the database of Hydra with these, or leave it out to have a new one made";
    assert_eq!(outcome.err, format!("error: photos: {reason}\n"));
    assert_eq!(stub.only().json()["client_id"], "a");
}

#[tokio::test]
async fn a_client_without_an_id_is_told_by_its_place_in_the_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"[{"client_name": "one"}, {"client_name": "two"}]"#).unwrap();
    let stub = Stub::answering(400, json!({ "error": "invalid_client_metadata" })).await;
    let path = file.path().display();
    let outcome = stub.run(&format!("sluice import oauth2-client {path}")).await;
    assert_eq!(outcome.exit, Exit::Failure);
    assert!(
        outcome.err.contains(&format!("error: client 2 of {path}: invalid_client_metadata")),
        "{}",
        outcome.err
    );
}

#[tokio::test]
async fn a_rotated_secret_is_shown() {
    let stub = Stub::answering(200, photos()).await;
    let outcome = stub.run("sluice rotate client-secret photos --format json").await;
    assert!(outcome.out.contains("s3cret"));
    assert_eq!(stub.only().line, "POST /admin/clients/photos/secrets/rotate");
}
