//! The system secret is rotated: nobody is logged out, what is at rest is sealed again before the old one goes, and clients go
//! on if they were there meanwhile.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sluice::app::{EmbeddedNode, EmbeddedOptions};
use sluice_primitives::{Clock, ManualClock, OsRng, SystemClock};
use sluice_testkit::{
    Authorize, Backend, Browser, Database, ISSUER, KeysInTurn, TestClient, TestSluice, accept_consent,
    accept_login,
};

use crate::both_stores::on_both_stores;
use crate::program::run;
use crate::rfc7591::{self, ENABLED, application, registered};

on_both_stores!(
    a_rotated_system_secret_logs_nobody_out,
    a_node_without_the_secret_that_sealed_its_keys_does_not_start_until_they_are_sealed_again,
    a_client_with_a_new_secret_outlives_the_key_of_its_old_one,
    a_client_that_authenticates_meanwhile_keeps_its_secret,
    a_registration_access_token_that_is_used_meanwhile_goes_on,
);

const OLD: &str = "the-system-secret-of-last-year";
const BOTH: &str = "the-system-secret-of-this-year,the-system-secret-of-last-year";
const NEW: &str = "the-system-secret-of-this-year";

/// A database whose nodes come and go, each with secrets of its own.
struct Site {
    database: Arc<Database>,
    clock: Arc<ManualClock>,
}

impl Site {
    async fn fresh(backend: Backend) -> Self {
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        Self { database: Arc::new(Database::fresh(backend).await), clock }
    }

    async fn start(&self, secrets: &str) -> TestSluice {
        self.start_with(secrets, &[]).await
    }

    async fn start_with(&self, secrets: &str, settings: &[(&str, &str)]) -> TestSluice {
        let settings = [&[("secrets.system", secrets)], settings].concat();
        TestSluice::on(Arc::clone(&self.database), Arc::clone(&self.clock), &settings).await
    }

    /// Why a node does not start.
    async fn refusal(&self, secrets: &str) -> String {
        let settings =
            [("dsn", self.database.dsn.as_str()), ("secrets.system", secrets), ("urls.self.issuer", ISSUER)];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let options = EmbeddedOptions {
            settings,
            clock: self.clock.clone(),
            rng: Arc::new(OsRng),
            keys: Arc::new(KeysInTurn),
        };
        EmbeddedNode::start(options).await.err().expect("the node does not start").to_string()
    }

    /// What `sluice secrets …` prints.
    fn secrets(&self, action: &str, secrets: &str) -> String {
        let (dsn, secrets) = (format!("dsn={}", self.database.dsn), format!("secrets.system={secrets}"));
        let ended = run(&["secrets", action, "--dev", "--set", &dsn, "--set", &secrets], &[]);
        assert!(ended.success, "{}", ended.stderr);
        ended.stdout
    }
}

fn kid(id_token: &Value) -> String {
    let header = id_token.as_str().unwrap().split('.').next().unwrap();
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    header["kid"].as_str().unwrap().to_owned()
}

async fn public_keys(sluice: &TestSluice) -> Value {
    sluice.ask_json(Method::GET, "/.well-known/jwks.json", None, 200).await
}

/// Whether the login page may skip the login.
async fn is_known(sluice: &TestSluice, client: &TestClient, browser: &Browser) -> bool {
    let challenge = browser.at(sluice).begin(client, &Authorize::default()).await;
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await["skip"] == true
}

async fn a_rotated_system_secret_logs_nobody_out(backend: Backend) {
    let site = Site::fresh(backend).await;
    let before = site.start(OLD).await;
    let client = before.client(&json!({})).await;
    let mut browser = before.browser();
    let login = json!({"subject": "alice", "remember": true});
    let page = browser.log_in_with(&before, &client, &Authorize::default(), &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    let mut waiting = before.browser();
    let challenge = waiting.begin(&client, &Authorize::default()).await;
    let published = public_keys(&before).await;
    before.node.stop().await;

    let after = site.start(BOTH).await;
    let client = client.at(&after);
    assert!(is_known(&after, &client, &browser).await, "the session cookie opens");
    assert!(after.is_active(tokens["access_token"].as_str().unwrap()).await);
    let verifier = accept_login(&after, &challenge, &json!({"subject": "bob"})).await;
    let mut waiting = waiting.at(&after);
    let challenge = waiting.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&after, &challenge, &json!({})).await;
    let code = waiting.visit(&verifier).await.expect("code");
    let of_bob = client.redeem(&code).await.ok();
    let refreshed = client.refresh(tokens["refresh_token"].as_str().unwrap()).await.ok();
    assert_eq!(public_keys(&after).await, published);
    for id_token in [&of_bob["id_token"], &refreshed["id_token"]] {
        assert_eq!(kid(id_token), kid(&tokens["id_token"]));
    }
    after.node.stop().await;
}

async fn a_node_without_the_secret_that_sealed_its_keys_does_not_start_until_they_are_sealed_again(
    backend: Backend,
) {
    let site = Site::fresh(backend).await;
    let before = site.start(OLD).await;
    let published = public_keys(&before).await;
    before.node.stop().await;
    let refusal = site.refusal(NEW).await;
    assert!(refusal.contains("cannot be opened") && refusal.contains("sluice secrets reseal"), "{refusal}");
    assert!(!refusal.contains(OLD) && !refusal.contains(NEW), "{refusal}");

    let status = site.secrets("status", BOTH);
    assert!(
        status.contains("5 sealed with secrets.system #2: `sluice secrets reseal` moves them"),
        "{status}"
    );
    let lost = site.secrets("status", NEW);
    assert!(lost.contains("5 sealed with a secret that is not configured"), "{lost}");
    let resealed = site.secrets("reseal", BOTH);
    assert_eq!(resealed, "Sealed 5 keys with secrets.system #1; it had sealed 0 already.\n");
    let status = site.secrets("status", BOTH);
    assert!(status.contains("5 sealed with secrets.system #1, which seals\n"), "{status}");

    let after = site.start(NEW).await;
    assert_eq!(public_keys(&after).await, published);
    after.node.stop().await;
}

const MACHINE: &[(&str, &str)] = &[("grant_type", "client_credentials")];

/// The line of `sluice secrets status` that is about these hashes; empty if there is none.
fn line<'a>(status: &'a str, what: &str, of: &str) -> &'a str {
    let is_it = |line: &&str| line.starts_with(what) && line.contains("hashed with") && line.contains(of);
    status.lines().find(is_it).unwrap_or_default()
}

async fn a_client_with_a_new_secret_outlives_the_key_of_its_old_one(backend: Backend) {
    let site = Site::fresh(backend).await;
    let before = site.start(OLD).await;
    let old = before.client(&json!({})).await;
    before.node.stop().await;

    let between = site.start(BOTH).await;
    let rotate = format!("/admin/clients/{}/secrets/rotate", old.id);
    let rotated = between.ask_json(Method::POST, &rotate, None, 200).await;
    let new = TestClient::of(between.public.clone(), &rotated);
    new.token(MACHINE).await.ok();
    between.node.stop().await;
    site.secrets("reseal", BOTH);
    let status = site.secrets("status", BOTH);
    let needed = line(&status, "client secrets", "secrets.system #2");
    assert!(needed.contains(" 1 hashed with ") && needed.ends_with(&old.id), "{status}");
    assert!(line(&status, "client secrets", "secrets.system #1").ends_with("which hashes"), "{status}");
    let status = site.secrets("status", NEW);
    let refused = line(&status, "client secrets", "not configured");
    assert!(refused.contains(" 1 hashed with the key ") && refused.ends_with(&old.id), "{status}");

    let after = site.start(NEW).await;
    new.at(&after).token(MACHINE).await.ok();
    let wrong = old.at(&after).token(MACHINE).await;
    assert_eq!(wrong.status, 401, "{}", wrong.body);
    wrong.refused_with("invalid_client");
    after.ask_json(Method::DELETE, &rotate, None, 200).await;
    new.at(&after).token(MACHINE).await.ok();
    after.node.stop().await;
    let status = site.secrets("status", NEW);
    assert_eq!(line(&status, "client secrets", "not configured"), "", "{status}");
}

async fn a_client_that_authenticates_meanwhile_keeps_its_secret(backend: Backend) {
    let site = Site::fresh(backend).await;
    let before = site.start(OLD).await;
    let (here, away) = (before.client(&json!({})).await, before.client(&json!({})).await);
    before.node.stop().await;

    let between = site.start(BOTH).await;
    for _ in 0..2 {
        here.at(&between).token(MACHINE).await.ok();
    }
    between.node.stop().await;
    site.secrets("reseal", BOTH);
    let status = site.secrets("status", BOTH);
    let needed = line(&status, "client secrets", "secrets.system #2");
    assert!(needed.contains(" 1 hashed with ") && needed.ends_with(&away.id), "{status}");

    let after = site.start(NEW).await;
    here.at(&after).token(MACHINE).await.ok();
    away.at(&after).token(MACHINE).await.refused_with("invalid_client");
    after.node.stop().await;
}

async fn a_registration_access_token_that_is_used_meanwhile_goes_on(backend: Backend) {
    let site = Site::fresh(backend).await;
    let before = site.start_with(OLD, &[ENABLED]).await;
    let (here, away) = (registered(&before, &application()).await, registered(&before, &application()).await);
    before.node.stop().await;

    let read = async |sluice: &TestSluice, made: &Value| {
        let path = format!("/oauth2/register/{}", made["client_id"].as_str().unwrap());
        let token = made["registration_access_token"].as_str();
        rfc7591::ask(sluice, (Method::GET, &path), token, None).await.status
    };
    let between = site.start_with(BOTH, &[ENABLED]).await;
    assert_eq!(read(&between, &here).await, 200);
    assert_eq!(read(&between, &here).await, 200);
    between.node.stop().await;
    site.secrets("reseal", BOTH);
    let status = site.secrets("status", BOTH);
    let needed = line(&status, "registration access tokens", "secrets.system #2");
    assert!(needed.ends_with(away["client_id"].as_str().unwrap()), "{status}");
    assert!(!needed.contains(here["client_id"].as_str().unwrap()), "{status}");

    let after = site.start_with(NEW, &[ENABLED]).await;
    assert_eq!((read(&after, &here).await, read(&after, &away).await), (200, 401));
    after.node.stop().await;
}
