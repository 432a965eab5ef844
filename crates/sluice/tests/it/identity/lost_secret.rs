//! A secret that is lost for good: what needs it is given up, and everybody gets back in.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use sluice::app::{EmbeddedNode, EmbeddedOptions};
use sluice_primitives::{Lifetime, ManualClock, OsRng};
use sluice_testkit::{Backend, Database, ISSUER, KeysInTurn, SmtpServer, TestSluice};

use super::people::{ALICE, ANOTHER, Api, PASSWORD, hardened, node_on};
use super::postbox::{code, node, sends_to, to};
use crate::both_stores::on_both_stores;
use crate::legs::{token, tokens_of};
use crate::program::run;

on_both_stores!(what_needs_a_lost_secret_is_given_up_and_everybody_gets_back_in);

const LOST: &str = "the-system-secret-of-last-year";
const NEW: &str = "the-system-secret-of-this-year";
const MACHINE: &[(&str, &str)] = &[("grant_type", "client_credentials")];

/// Why a node with the new secret does not start.
async fn refusal(database: &Database, clock: &Arc<ManualClock>) -> String {
    let settings = [("dsn", database.dsn.as_str()), ("secrets.system", NEW), ("urls.self.issuer", ISSUER)];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let options = EmbeddedOptions {
        settings,
        clock: Arc::clone(clock) as _,
        rng: Arc::new(OsRng),
        keys: Arc::new(KeysInTurn),
    };
    EmbeddedNode::start(options).await.err().expect("the node does not start").to_string()
}

/// What `sluice secrets …` prints.
fn secrets(database: &Database, arguments: &[&str]) -> String {
    let (dsn, secrets) = (format!("dsn={}", database.dsn), format!("secrets.system={NEW}"));
    let all =
        [&["secrets"][..], arguments, &["--dev", "--set", dsn.as_str(), "--set", secrets.as_str()]].concat();
    let ended = run(&all, &[]);
    assert!(ended.success, "{}", ended.stderr);
    ended.stdout
}

/// The client, with a secret that is new and its only one.
async fn rotated(sluice: &TestSluice, client: &str) -> Value {
    let rotate = format!("/admin/clients/{client}/secrets/rotate");
    let rotated = sluice.ask_json(Method::POST, &rotate, None, 200).await;
    sluice.ask_json(Method::DELETE, &rotate, None, 200).await;
    rotated
}

async fn what_needs_a_lost_secret_is_given_up_and_everybody_gets_back_in(backend: Backend) {
    let smtp = SmtpServer::start().await;
    let settings = [("identity.registration.verify_email", "false")];
    let before = node(backend, &smtp, &[&settings[..], &[("secrets.system", LOST)]].concat()).await;
    Api::of(&before).register(ALICE).await;
    hardened(&before, 1).await;
    let client = before.client(&json!({"id_token_signed_response_alg": "ES384"})).await;
    tokens_of(&before, &client, "alice").await;
    let signing = before.client(&json!({"token_endpoint_auth_method": "client_secret_jwt"})).await;
    let (database, clock) = (Arc::clone(&before.database), Arc::clone(&before.clock));
    before.node.stop().await;

    assert!(refusal(&database, &clock).await.contains("cannot be opened"));
    let considered = secrets(&database, &["abandon"]);
    let of_clients = "client secrets   1 to be forgotten";
    let of_others = ["keys at rest     6 to be deleted", "passwords        1 to be taken away"];
    for said in of_others.into_iter().chain([of_clients, &client.id, &signing.id]) {
        assert!(considered.contains(said), "{said} in {considered}");
    }
    assert!(refusal(&database, &clock).await.contains("cannot be opened"), "nothing was done");
    let done = secrets(&database, &["abandon", "--yes"]);
    for said in ["Took 1 passwords away.\n", "Forgot 1 client secrets.\n", "Deleted 6 keys.\n"] {
        assert!(done.contains(said), "{said} in {done}");
    }
    let again = secrets(&database, &["abandon", "--yes"]);
    assert!(!again.contains("Deleted") && !again.contains("Forgot") && again.contains(&client.id), "{again}");

    let smtp_url = smtp.url();
    let settings = [&sends_to(&smtp_url)[..], &settings, &[("secrets.system", NEW)]].concat();
    let after = node_on((Arc::clone(&database), clock), &settings).await;
    let api = Api::of(&after);
    api.log_in(ALICE, PASSWORD).await.is_problem(401, "invalid_credentials");
    api.post("/auth/recovery", json!({"email": ALICE})).await.is_done(202);
    let mail = to(&smtp.wait_for(1).await, ALICE)[0].clone();
    let confirmed = json!({"email": ALICE, "code": code(&mail), "new_password": ANOTHER});
    api.post("/auth/recovery/confirm", confirmed).await.is_done(204);
    after.advance(Lifetime::secs(1));
    assert_eq!(api.log_in(ALICE, ANOTHER).await.status, 200);

    client.at(&after).token(MACHINE).await.refused_with("invalid_client");
    let rotated = rotated(&after, &client.id).await;
    assert!(self::rotated(&after, &signing.id).await["client_secret"].is_string());
    let mut client = client.at(&after);
    client.secret = rotated["client_secret"].as_str().map(str::to_owned);
    let tokens = tokens_of(&after, &client, "alice").await;
    assert!(!token(&tokens, "id_token").is_empty(), "what the client wants is signed again");
    after.node.stop().await;
    let status = secrets(&database, &["status"]);
    assert!(!status.contains("not configured"), "{status}");
}
