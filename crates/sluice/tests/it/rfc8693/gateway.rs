//! RFC 8693 at the gateway: whom an exchanged token is of.

use serde_json::{Value, json};
use sluice_testkit::Backend;

use super::{ACCESS_TOKEN, GRANT, JWT, access};
use crate::answer::{Answer, http};
use crate::application::Application;
use crate::process::{Process, Site};

const ROUTES: &str = "
routes:
  - {name: people, match: {prefix: /people}, subject: user}
  - {name: clients, match: {prefix: /clients}, subject: client, headers: {claims: {OAuth-Sub: sub}}}
";

/// Id and secret of a client.
type Registered = [String; 2];

async fn registered(server: &Process, metadata: &Value) -> Registered {
    let made = http().post(server.admin.join("/admin/clients").unwrap()).json(metadata);
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    ["client_id", "client_secret"].map(|name| made[name].as_str().unwrap().to_owned())
}

async fn token(server: &Process, [id, secret]: &Registered, form: &[(&str, &str)]) -> String {
    let own = [("client_id", id.as_str()), ("client_secret", secret.as_str())];
    let asked = http().post(server.public.join("/oauth2/token").unwrap()).form(&[form, &own].concat());
    access(&Answer::to(asked).await.ok())
}

async fn exchanged(server: &Process, by: &Registered, subject: &str, kind: &str) -> String {
    let form = [
        ("grant_type", GRANT),
        ("subject_token", subject),
        ("subject_token_type", ACCESS_TOKEN),
        ("requested_token_type", kind),
    ];
    token(server, by, &form).await
}

/// What another proxy is told of a request with this token.
async fn judged(server: &Process, path: &str, token: &str) -> Answer {
    let asked = http().get(server.listeners["decisions"].join("/oauth/forward_auth").unwrap());
    let asked = asked.header("x-forwarded-method", "GET").header("x-forwarded-host", "api.test");
    Answer::to(asked.header("x-forwarded-uri", path).bearer_auth(token)).await
}

async fn validated(server: &Process, token: &str) -> Answer {
    let url = server.listeners["decisions"].join("/oauth/token_validation").unwrap();
    Answer::to(http().get(url).bearer_auth(token)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_exchange_makes_a_person_of_a_client_that_is_called_like_one() {
    let directory = tempfile::tempdir().unwrap();
    let routes = directory.path().join("routes.yaml");
    std::fs::write(&routes, ROUTES).unwrap();
    let mut site = Site::fresh(Backend::Sqlite).await;
    site.set(&[
        ("gateway.routes", routes.to_str().unwrap()),
        ("gateway.access_log", "off"),
        ("serve.gateway.host", "127.0.0.1"),
        ("serve.gateway.port", "0"),
        ("serve.decisions.port", "0"),
    ]);
    let server = site.start().await;
    let client = json!({"client_id": "alice", "grant_types": ["client_credentials"], "audience": ["agent"],
                        "token_endpoint_auth_method": "client_secret_post"});
    let client = registered(&server, &client).await;
    let policy = json!({"delegation": true, "subject_token_clients": ["*"]});
    let agent = json!({"client_id": "agent", "grant_types": [GRANT], "audience": ["agent"],
                       "token_endpoint_auth_method": "client_secret_post", "token_exchange": policy});
    let agent = registered(&server, &agent).await;
    let own = [("grant_type", "client_credentials"), ("audience", "agent")];
    let of_client = token(&server, &client, &own).await;
    let application = Application::register(&[&server]).await;
    let code = application.log_in("alice").await.unwrap();
    let of_person = application.redeem(&code).await.unwrap().access;
    for kind in [ACCESS_TOKEN, JWT] {
        let token = exchanged(&server, &agent, &of_client, kind).await;
        assert_eq!(judged(&server, "/people/1", &token).await.status, 403, "{kind}");
        let told = judged(&server, "/clients/1", &token).await;
        let said = ["oauth-user-id", "oauth-client-id", "oauth-sub"].map(|name| told.header(name));
        assert_eq!((told.status, said), (200, ["", "agent", "alice"]), "{kind}");
        let told = validated(&server, &token).await;
        assert_eq!((told.status, told.header("oauth-user-id")), (200, ""), "{kind}");

        let token = exchanged(&server, &agent, &of_person, kind).await;
        let told = judged(&server, "/people/1", &token).await;
        assert_eq!((told.status, told.header("oauth-user-id")), (200, "alice"), "{kind}");
        assert_eq!(judged(&server, "/clients/1", &token).await.status, 403, "{kind}");
        assert_eq!(validated(&server, &token).await.header("oauth-user-id"), "alice", "{kind}");
    }
    server.kill().await;
}
