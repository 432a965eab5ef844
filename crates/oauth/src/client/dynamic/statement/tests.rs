use async_trait::async_trait;
use serde_json::json;
use sluice_crypto::jwk::{Jwk, RsaSize};
use sluice_crypto::jws::SigningKey;

use super::*;
use crate::client_auth::FetchedKeySet;

const ISSUER: &str = "https://directory.example";
const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

struct Published(Option<String>);

#[async_trait]
impl KeySetSource for Published {
    async fn fetch(&self, _: &Url) -> Result<FetchedKeySet, KeysNotFetched> {
        let body = self.0.clone().ok_or_else(|| KeysNotFetched::NotThere("nobody is there".to_owned()))?;
        Ok(FetchedKeySet { body: body.into_bytes(), max_age: None })
    }
}

fn key() -> Jwk {
    Jwk::generate(SigningAlgorithm::ES256, "k".to_owned(), RsaSize::default()).unwrap()
}

fn set(key: &Jwk) -> String {
    serde_json::to_string(&JwkSet { keys: vec![key.public()] }).unwrap()
}

fn signed(key: &Jwk, claims: &Value) -> String {
    SigningKey::from_jwk(key).unwrap().sign(None, claims.to_string().as_bytes()).unwrap()
}

fn verifying(keys: StatementKeys, published: Option<String>) -> Statements {
    let policy = SoftwareStatements::Verify { keys, issuers: vec![ISSUER.to_owned()] };
    let source = Arc::new(Published(published));
    Statements::new(&policy, source, vec!["https://auth.example".to_owned()]).unwrap()
}

fn here(key: &Jwk) -> Statements {
    verifying(StatementKeys::Set(set(key)), None)
}

fn registration(statement: &str) -> Map<String, Value> {
    let members =
        json!({"client_name": "mine", "contacts": ["a@app.example"], "software_statement": statement});
    members.as_object().unwrap().clone()
}

async fn refused(statements: &Statements, statement: &str) -> StatementError {
    statements.apply(&mut registration(statement), NOW).await.unwrap_err()
}

#[tokio::test]
async fn what_a_statement_says_of_the_client_takes_precedence() {
    let key = key();
    let claims = json!({
        "iss": ISSUER, "aud": "https://auth.example", "iat": 1_699_999_000, "exp": 1_700_001_000,
        "client_name": "theirs", "client_id": "chosen", "client_secret": "chosen", "software_id": "s-1",
    });
    let statement = signed(&key, &claims);
    let mut members = registration(&statement);
    let used = here(&key).apply(&mut members, NOW).await.unwrap();
    assert_eq!(used, Some(Statement { text: statement, names_what_is_shown: false }));
    let expected = json!({"client_name": "theirs", "contacts": ["a@app.example"], "software_id": "s-1"});
    assert_eq!(Value::Object(members), expected);
}

#[tokio::test]
async fn who_signed_a_statement_vouches_for_a_client_that_shows_nothing_else() {
    let (key, redirect_uris) = (key(), json!(["https://app.example/cb"]));
    let name_and_uris = json!({"iss": ISSUER, "client_name": "theirs", "redirect_uris": redirect_uris});
    let all = json!({"iss": ISSUER, "client_name": "theirs", "redirect_uris": redirect_uris,
                     "policy_uri": "https://app.example/privacy"});
    let device_code = "urn:ietf:params:oauth:grant-type:device_code";
    let for_devices = json!({"iss": ISSUER, "client_name": "theirs", "redirect_uris": redirect_uris,
                             "grant_types": [device_code]});
    for (claims, by_itself, vouches) in [
        (&name_and_uris, json!({}), true),
        (&name_and_uris, json!({"client_name": "mine", "contacts": ["a@app.example"]}), true),
        (&name_and_uris, json!({"policy_uri": "https://evil.example/privacy"}), false),
        (&all, json!({"policy_uri": "https://evil.example/privacy"}), true),
        (&all, json!({"logo_uri": "https://evil.example/logo.png"}), false),
        (&all, json!({"post_logout_redirect_uris": ["https://evil.example/"]}), false),
        (&all, json!({"initiate_login_uri": "https://evil.example/login"}), false),
        (&name_and_uris, json!({"grant_types": ["authorization_code"]}), true),
        (&name_and_uris, json!({"grant_types": ["authorization_code", device_code]}), false),
        (&for_devices, json!({"grant_types": [device_code]}), true),
        (&json!({"iss": ISSUER, "client_name": "theirs"}), json!({}), false),
        (&json!({"iss": ISSUER, "redirect_uris": redirect_uris}), json!({}), false),
        (&json!({"iss": ISSUER, "redirect_uris": redirect_uris, "client_name": null}), json!({}), false),
    ] {
        let mut members = by_itself.as_object().unwrap().clone();
        members.insert(MEMBER.to_owned(), signed(&key, claims).into());
        let used = here(&key).apply(&mut members, NOW).await.unwrap().unwrap();
        assert_eq!(used.names_what_is_shown, vouches, "{claims} {by_itself}");
    }
}

#[tokio::test]
async fn a_registration_without_a_statement_is_as_it_was() {
    let mut members = Map::new();
    assert_eq!(here(&key()).apply(&mut members, NOW).await.unwrap(), None);
}

#[tokio::test]
async fn a_statement_of_another_key_does_not_hold() {
    let statement = signed(&key(), &json!({"iss": ISSUER}));
    let refused = refused(&here(&key()), &statement).await;
    assert_eq!(refused, StatementError::Signature(VerifyError::WrongSignature));
    assert_eq!(refused.code(), ErrorCode::InvalidSoftwareStatement);
}

#[tokio::test]
async fn a_statement_of_an_issuer_that_nobody_approved_is_not_approved() {
    let key = key();
    let statement = signed(&key, &json!({"iss": "https://other.example"}));
    let refused = refused(&here(&key), &statement).await;
    assert_eq!(refused.code(), ErrorCode::UnapprovedSoftwareStatement);
}

#[tokio::test]
async fn a_statement_holds_in_its_time_and_for_whom_it_is_meant() {
    let key = key();
    for (claims, why) in [
        (json!({"iss": ISSUER, "exp": 1_700_000_000}), StatementError::Time),
        (json!({"iss": ISSUER, "exp": 1_699_999_999.5}), StatementError::Time),
        (json!({"iss": ISSUER, "nbf": 1_700_000_061}), StatementError::Time),
        (json!({"iss": ISSUER, "iat": 1_700_000_060.5}), StatementError::Time),
        (json!({"iss": ISSUER, "exp": -1}), StatementError::Claims),
        (json!({"iss": ISSUER, "exp": "soon"}), StatementError::Claims),
        (json!({"iss": ISSUER, "aud": ["https://other.example"]}), StatementError::Audience),
        (json!({"sub": ISSUER}), StatementError::Claims),
    ] {
        assert_eq!(refused(&here(&key), &signed(&key, &claims)).await, why, "{claims}");
    }
    // RFC 7519 §2: a time may have a fraction.
    let claims = json!({"iss": ISSUER, "iat": 1_700_000_030.25, "nbf": 1.5, "exp": 1_700_000_000.5});
    let statement = signed(&key, &claims);
    assert!(here(&key).apply(&mut registration(&statement), NOW).await.is_ok());
}

#[tokio::test]
async fn keys_may_be_published() {
    let (key, url) = (key(), "https://directory.example/keys");
    let at = |published| verifying(StatementKeys::At(url.parse().unwrap()), published);
    let statement = signed(&key, &json!({"iss": ISSUER, "client_name": "theirs"}));
    let mut members = registration(&statement);
    at(Some(set(&key))).apply(&mut members, NOW).await.unwrap();
    assert_eq!(members["client_name"], "theirs");
    assert_eq!(refused(&at(None), &statement).await.code(), ErrorCode::TemporarilyUnavailable);
}

#[tokio::test]
async fn statements_are_refused_or_not_looked_at() {
    let source = || Arc::new(Published(None));
    let refusing = Statements::new(&SoftwareStatements::Refuse, source(), Vec::new()).unwrap();
    assert_eq!(refused(&refusing, "any").await, StatementError::NotTaken);
    let ignoring = Statements::new(&SoftwareStatements::Ignore, source(), Vec::new()).unwrap();
    let mut members = registration("any");
    assert_eq!(ignoring.apply(&mut members, NOW).await.unwrap(), None);
    assert_eq!(members["client_name"], "mine");
}
