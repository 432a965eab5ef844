use serde_json::{Value, json};

use super::stub::{Stub, reply};
use crate::cli::Exit;

fn key() -> Value {
    json!({ "kid": "k1", "kty": "EC", "alg": "ES256", "use": "sig", "crv": "P-256", "x": "x", "y": "y", "d": "private" })
}

#[tokio::test]
async fn a_created_key_is_shown_with_its_set() {
    let stub = Stub::answering(201, json!({ "keys": [key()] })).await;
    let outcome = stub.run("sluice create jwks web k1 --alg ES256").await;
    assert_eq!(outcome.out, "SET ID  KEY ID  ALGORITHM  USE\nweb     k1      ES256      sig\n");
    let asked = stub.only();
    assert_eq!(asked.line, "POST /admin/keys/web");
    assert_eq!(asked.json(), json!({ "alg": "ES256", "kid": "k1", "use": "sig" }));
}

#[tokio::test]
async fn what_is_private_in_a_key_is_left_out_on_request() {
    let secret = json!({ "kid": "s", "kty": "oct", "k": "shared" });
    let stub = Stub::answering(200, json!({ "keys": [key(), secret] })).await;
    let whole = stub.run("sluice get jwks web --format json").await.out;
    assert!(whole.contains("private") && whole.contains("shared"));
    let public: Value =
        serde_json::from_str(&stub.run("sluice get jwk web --public --format json").await.out).unwrap();
    let mut expected = key();
    expected["set"] = "web".into();
    expected.as_object_mut().unwrap().remove("d");
    assert_eq!(public, expected);
}

#[tokio::test]
async fn keys_of_several_sets_are_one_list() {
    let stub = Stub::answering(200, json!({ "keys": [key()] })).await;
    let outcome = stub.run("sluice get jwks web mobile").await;
    assert_eq!(
        outcome.out,
        "SET ID  KEY ID  ALGORITHM  USE\nweb     k1      ES256      sig\nmobile  k1      ES256      sig\n"
    );
    assert_eq!(stub.run("sluice delete jwks web").await.out, "ID  web\n");
}

#[tokio::test]
async fn keys_are_named_by_their_ids_and_one_that_is_got_by_its_set() {
    let stub = Stub::answering(200, json!({ "keys": [key()] })).await;
    assert_eq!(stub.run("sluice create jwk web k1 -q").await.out, "k1\n");
    assert_eq!(stub.run("sluice get jwk web -q").await.out, "web\n");
    assert_eq!(stub.run("sluice get jwk web mobile -q").await.out, "k1\nk1\n");
    let mut older = key();
    older["kid"] = "k0".into();
    let stub = Stub::answering(200, json!({ "keys": [key(), older] })).await;
    assert_eq!(stub.run("sluice get jwk web -q").await.out, "k1\nk0\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"kty":"oct","k":"c2VjcmV0","kid":"mine"}"#).unwrap();
    let import = format!("sluice import jwk web {} -q", file.path().display());
    assert_eq!(stub.run(&import).await.out, "mine\n");
}

#[tokio::test]
async fn of_a_set_that_could_not_be_deleted_nothing_is_printed() {
    for line in
        ["sluice delete jwks web", "sluice delete jwks web mobile --format json", "sluice delete jwk web -q"]
    {
        let outcome = Stub::answering(404, json!({ "error": "not_found" })).await.run(line).await;
        assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, ""), "{line}");
        assert!(outcome.err.starts_with("error: web: not_found"), "{}", outcome.err);
    }
}

#[tokio::test]
async fn of_keys_that_were_not_imported_nothing_is_printed() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"kty":"oct","k":"c2VjcmV0","kid":"mine"}"#).unwrap();
    let stub = Stub::answering(400, json!({ "error": "invalid_request" })).await;
    for format in ["table", "json", "yaml"] {
        let import = format!("sluice import jwk web {} --format {format}", file.path().display());
        let outcome = stub.run(&import).await;
        assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, ""), "{format}");
    }
}

#[tokio::test]
async fn an_introspection_shows_what_the_token_says() {
    let says = json!({
        "active": true, "sub": "ada", "client_id": "photos", "scope": "openid", "exp": 1_735_693_200,
        "token_use": "access_token",
    });
    let stub = Stub::answering(200, says).await;
    let outcome = stub.run("sluice introspect token ory_at_a.b --scope openid,offline").await;
    let expected = "\
ACTIVE     true
SUBJECT    ada
CLIENT ID  photos
SCOPE      openid
EXPIRY     2025-01-01T01:00:00Z
TOKEN USE  access_token
";
    assert_eq!(outcome.out, expected);
    let asked = stub.only();
    assert_eq!(asked.line, "POST /admin/oauth2/introspect");
    assert_eq!(asked.body, "token=ory_at_a.b&scope=openid+offline");
}

#[tokio::test]
async fn a_token_that_is_not_active_is_an_answer_and_no_failure() {
    let outcome =
        Stub::answering(200, json!({ "active": false })).await.run("sluice introspect token x").await;
    assert_eq!((outcome.exit, outcome.err.as_str()), (Exit::Success, ""));
    assert!(outcome.out.starts_with("ACTIVE     false\n"), "{}", outcome.out);
}

#[tokio::test]
async fn a_revocation_does_not_repeat_the_token() {
    let stub = Stub::answering(200, Value::Null).await;
    let outcome = stub.run("sluice revoke token ory_rt_x --client-id a:b --client-secret s&").await;
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Success, "REVOKED  true\n"));
    let asked = stub.only();
    assert_eq!((asked.line.as_str(), asked.body.as_str()), ("POST /oauth2/revoke", "token=ory_rt_x"));
    // a%3Ab:s%26
    assert_eq!(asked.header("authorization"), "Basic YSUzQWI6cyUyNg==");
}

#[tokio::test]
async fn access_tokens_of_a_client_are_deleted_together() {
    let stub = Stub::answering(204, Value::Null).await;
    assert_eq!(stub.run("sluice delete access-tokens photos").await.out, "ID  photos\n");
    assert_eq!(stub.only().line, "DELETE /admin/oauth2/tokens?client_id=photos");
}

#[tokio::test]
async fn client_credentials_are_shown_as_tokens() {
    let tokens = json!({ "access_token": "at", "token_type": "bearer", "expires_in": 3599, "scope": "a" });
    let stub = Stub::answering(200, tokens).await;
    let line = "sluice perform client-credentials --client-id c --client-secret s --scope a,b --audience x";
    let outcome = stub.run(line).await;
    let expected = "\
ACCESS TOKEN   at
REFRESH TOKEN  <empty>
ID TOKEN       <empty>
EXPIRY         2025-01-01T00:59:59Z
";
    assert_eq!(outcome.out, expected);
    assert_eq!(stub.only().body, "grant_type=client_credentials&scope=a+b&audience=x");
    let json: Value = serde_json::from_str(&stub.run(&format!("{line} --format json")).await.out).unwrap();
    assert_eq!(json["expiry"], "2025-01-01T00:59:59Z");
}

#[tokio::test]
async fn a_client_that_may_not_use_basic_is_sent_in_the_form() {
    let stub = Stub::start(|asked| match asked.header("authorization") {
        "" => reply(200, &json!({ "access_token": "at" })),
        _ => reply(401, &json!({ "error": "invalid_client" })),
    })
    .await;
    let outcome = stub.run("sluice perform client-credentials --client-id c --client-secret s").await;
    assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
    assert_eq!(stub.asked()[1].body, "grant_type=client_credentials&client_id=c&client_secret=s");
}

#[tokio::test]
async fn client_credentials_need_a_secret() {
    let stub = Stub::answering(200, json!({})).await;
    assert_eq!(stub.run("sluice perform client-credentials --client-id c").await.exit, Exit::Usage);
    assert!(stub.asked().is_empty());
}

#[tokio::test]
async fn a_challenge_is_told_to_be_what_the_server_knows_it_as() {
    let stub = Stub::start(|asked| {
        if !asked.line.contains("/requests/consent?") {
            return reply(404, &json!({ "error": "not_found" }));
        }
        let request = json!({
            "subject": "ada", "requested_scope": ["openid"], "request_url": "http://localhost/oauth2/auth",
            "client": { "client_id": "photos", "client_name": "Photos" },
        });
        reply(200, &request)
    })
    .await;
    let outcome = stub.run("sluice debug challenge abc").await;
    let expected = "\
CHALLENGE        consent
STATE            open
CLIENT ID        photos
CLIENT NAME      Photos
SUBJECT          ada
SCOPE            openid
REQUEST URL      http://localhost/oauth2/auth
SEND BROWSER TO
";
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Success, expected));
    assert_eq!(stub.asked()[1].line, "GET /admin/oauth2/auth/requests/consent?consent_challenge=abc");
}

#[tokio::test]
async fn a_spent_challenge_says_where_the_browser_goes_on() {
    let stub = Stub::answering(410, json!({ "redirect_to": "http://localhost/on" })).await;
    let outcome = stub.run("sluice debug challenge abc --format json").await;
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(json["state"], "expired, or already answered");
    assert_eq!(json["request"]["redirect_to"], "http://localhost/on");
    assert_eq!(outcome.exit, Exit::Success);
}

#[tokio::test]
async fn a_challenge_that_is_none_is_a_failure() {
    let stub = Stub::answering(404, json!({ "error": "not_found" })).await;
    let outcome = stub.run("sluice debug challenge x").await;
    assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, ""));
    assert!(outcome.err.starts_with("error: this is no challenge of this server"), "{}", outcome.err);
    let outcome = stub.run("sluice debug challenge x --format json").await;
    let json: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((outcome.exit, &json["state"]), (Exit::Failure, &json!("unknown")));
}

/// Somebody who may not ask, or asks while the database is away, would take a good challenge for a wrong one.
#[tokio::test]
async fn whoever_is_not_answered_is_not_told_that_a_challenge_is_none() {
    for (status, error) in [(401, "unauthorized"), (503, "temporarily_unavailable")] {
        let stub = Stub::answering(status, json!({ "error": error })).await;
        let outcome = stub.run("sluice debug challenge x").await;
        assert_eq!((outcome.exit, outcome.out.as_str()), (Exit::Failure, ""));
        assert!(outcome.err.starts_with(&format!("error: {error} ({status} ")), "{}", outcome.err);
        assert!(!outcome.err.contains("no challenge"), "{}", outcome.err);
        assert_eq!(stub.only().line, "GET /admin/oauth2/auth/requests/login?login_challenge=x");
    }
    let away = Stub::start(|asked| {
        let knows_none = asked.line.contains("/requests/login?");
        let (status, error) = if knows_none { (404, "not_found") } else { (503, "temporarily_unavailable") };
        reply(status, &json!({ "error": error }))
    });
    let outcome = away.await.run("sluice debug challenge x").await;
    assert!(outcome.err.starts_with("error: temporarily_unavailable (503 "), "{}", outcome.err);
}

#[tokio::test]
async fn an_address_without_a_challenge_is_told_to_have_none() {
    let stub = Stub::answering(404, json!({ "error": "not_found" })).await;
    let page = stub.run("sluice debug challenge https://login.example.org/login?x=hunter2").await;
    let expected = "error: the address has no challenge: neither login_challenge nor consent_challenge nor logout_challenge";
    assert_eq!((page.exit, page.err.as_str()), (Exit::Usage, format!("{expected}\n").as_str()));
    let back =
        stub.run("sluice debug challenge http://id.example.org/oauth2/auth?login_verifier=hunter2").await;
    assert!(back.err.starts_with(&format!("{expected}; its login_verifier is none")), "{}", back.err);
    assert!(!back.err.contains("hunter2") && stub.asked().is_empty(), "{}", back.err);
}

#[tokio::test]
async fn a_rotation_says_which_keys_were_made_and_when_they_sign() {
    let made = json!({
        "kid": "k2", "set": "hydra.openid.id-token", "alg": "ES256", "state": "announced",
        "created_at": "2025-01-01T00:00:00Z", "signs_from": "2025-01-01T02:00:00Z",
    });
    let stub = Stub::answering(201, json!({ "keys": [made] })).await;
    let outcome = stub.run("sluice keys rotate --set id-token --alg ES256").await;
    let (header, row) = outcome.out.split_once('\n').unwrap();
    assert!(header.starts_with("KEY ID  SET ID"), "{header}");
    assert!(row.contains("announced") && row.contains("2025-01-01T02:00:00Z"), "{row}");
    let asked = stub.only();
    assert_eq!(asked.line, "POST /admin/keys");
    let expected =
        json!({ "set": "hydra.openid.id-token", "alg": "ES256", "at_once": false, "revoke": false });
    assert_eq!(asked.json(), expected);
    stub.run("sluice keys rotate --now --revoke").await;
    let asked = &stub.asked()[1..];
    let sets: Vec<_> = asked.iter().map(|asked| asked.json()["set"].clone()).collect();
    assert_eq!(sets, ["hydra.openid.id-token", "hydra.jwt.access-token"]);
    assert!(asked.iter().all(|asked| asked.json()["revoke"] == true && asked.json()["at_once"] == true));
}

/// Each signs at once, so that the last one goes on to sign; Hydra prints the newest first.
#[tokio::test]
async fn the_first_key_of_a_set_is_put_last_and_shown_first() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let key = |kid: &str| json!({ "kty": "oct", "k": "c2VjcmV0", "kid": kid });
    let set = json!({ "set": "web", "keys": [key("new"), key("refused"), key("old"), key("refused too")] });
    std::fs::write(file.path(), set.to_string()).unwrap();
    let stub = Stub::start(|asked| {
        let is_refused = asked.json()["kid"].as_str().unwrap().starts_with("refused");
        reply(if is_refused { 400 } else { 200 }, &json!({ "error": "invalid_request" }))
    })
    .await;
    let outcome = stub.run(&format!("sluice import jwk web {} --format json", file.path().display())).await;
    let kids: Vec<_> = stub.asked().iter().map(|asked| asked.json()["kid"].clone()).collect();
    assert_eq!(kids, ["refused too", "old", "refused", "new"]);
    let shown: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((&shown["keys"][0]["kid"], &shown["keys"][1]["kid"]), (&json!("new"), &json!("old")));
    let errors: Vec<_> = outcome.err.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
    assert_eq!((outcome.exit, errors), (Exit::Failure, vec!["refused", "refused too"]));
}

#[tokio::test]
async fn a_key_and_its_public_part_in_files_of_their_own_are_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let pair = rcgen::KeyPair::generate().unwrap();
    std::fs::write(path("key.pem"), pair.serialize_pem()).unwrap();
    std::fs::write(path("public.pem"), pair.public_key_pem()).unwrap();
    for files in [["key.pem", "public.pem"], ["public.pem", "key.pem"]] {
        let stub = Stub::answering(200, json!({})).await;
        let [first, second] = files.map(path);
        let outcome = stub.run(&format!("sluice import jwk web {first} {second}")).await;
        assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
        let asked = stub.asked();
        assert_eq!((asked.len(), asked[0].json()["d"].is_string()), (1, true), "{files:?}");
    }
}

#[tokio::test]
async fn keys_are_imported_from_files_under_their_thumbprints() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let pair = rcgen::KeyPair::generate().unwrap();
    std::fs::write(path("key.pem"), pair.serialize_pem()).unwrap();
    std::fs::write(path("key.json"), r#"{"kty":"oct","k":"c2VjcmV0","kid":"mine"}"#).unwrap();
    std::fs::write(path("no.key"), "nothing").unwrap();
    let stub = Stub::answering(200, json!({})).await;
    let outcome = stub.run(&format!("sluice import jwk web {} {}", path("key.pem"), path("key.json"))).await;
    assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
    let asked = stub.asked();
    let key = asked[1].json();
    let kid = key["kid"].as_str().unwrap();
    assert_eq!((asked[1].line.as_str(), kid.len()), (format!("PUT /admin/keys/web/{kid}").as_str(), 43));
    assert_eq!((&key["alg"], &key["use"], key["d"].is_string()), (&json!("ES256"), &json!("sig"), true));
    assert_eq!(asked[0].line, "PUT /admin/keys/web/mine", "the first file comes last");
    assert!(outcome.out.contains(kid) && !outcome.out.contains(key["d"].as_str().unwrap()));
    let shown = stub.run(&format!("sluice import jwk web {} --format json", path("key.pem"))).await;
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let mut public = key.clone();
    public.as_object_mut().unwrap().remove("d");
    public["set"] = "web".into();
    assert_eq!(shown, json!({ "set": "web", "keys": [public] }));
    let shared = stub.run(&format!("sluice import jwk web {} --format json", path("key.json"))).await;
    assert!(shared.out.contains("mine") && !shared.out.contains("c2VjcmV0"), "{}", shared.out);

    let refused = stub.run(&format!("sluice keys import web {}", path("no.key"))).await;
    assert_eq!((refused.exit, stub.asked().len()), (Exit::Failure, 4));
    assert!(refused.err.contains("no.key"), "{}", refused.err);
    let unfit = stub.run(&format!("sluice keys import web {} --alg RS256", path("key.pem"))).await;
    assert!(unfit.err.contains("does not fit its type"), "{}", unfit.err);
    stub.run(&format!("sluice keys import web {} --use enc --alg ECDH-ES", path("key.pem"))).await;
    let key = stub.asked()[4].json();
    assert_eq!((&key["alg"], &key["use"]), (&json!("ECDH-ES"), &json!("enc")));
}
