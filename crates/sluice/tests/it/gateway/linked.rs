//! A gateway in a process of its own, which has a link and nothing else.

use std::process::Stdio;

use reqwest::StatusCode;
use serde_json::Value;
use sluice_testkit::Backend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::Instant;

use super::relay::Relay;
use super::with_database::gateway_on;
use super::{LINK_TOKEN, Routes, Seen, serves_health_alone, site};
use crate::application::{Application, http_client};
use crate::process::{Process, until};
use crate::program::run;

/// Starts `serve gateway` with a link to this server.
pub(super) async fn gateway_of(server: &Process, routes: &Routes, more: &[(&str, &str)]) -> Process {
    started(command_of(server, routes, more)).await
}

async fn started(mut command: Command) -> Process {
    Process::listening_as(command.spawn().unwrap(), ["gateway", "health"]).await
}

/// The command that [`gateway_of`] runs.
fn command_of(server: &Process, routes: &Routes, more: &[(&str, &str)]) -> Command {
    let link = server.listeners["link"].to_string();
    let path = routes.path();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.args(["serve", "gateway"]);
    let settings = [
        ("gateway.routes", path.as_str()),
        ("gateway.access_log", "off"),
        ("gateway.link.url", link.as_str()),
        ("gateway.link.token", LINK_TOKEN),
        ("serve.gateway.host", "127.0.0.1"),
        ("serve.gateway.port", "0"),
        ("serve.decisions.port", "0"),
        ("serve.admin.port", "0"),
        ("log.format", "json"),
    ];
    for (key, value) in settings.iter().chain(more) {
        command.args(["--set", &format!("{key}={value}")]);
    }
    command.env_clear().env("SLUICE_LOG", "warn,sluice::app=info");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_with_nothing_but_a_link_knows_tokens_and_hears_revocations() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Postgres, &routes).await;
    let server = site.start().await;
    let process = gateway_of(&server, &routes, &[]).await;
    until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
    serves_health_alone(&process).await;
    let (gateway, application) = (Seen::of(&process), Application::register(&[&server]).await);
    let mut took = Vec::new();
    for _ in 0..5 {
        let tokens = application.redeem(&application.log_in("alice").await.unwrap()).await.unwrap();
        let (status, seen) = gateway.ask("/orders/7", &tokens.access).await;
        assert_eq!((status, &seen["oauth-user-id"]), (StatusCode::OK, &"alice".into()));
        application.revoke(&tokens).await.unwrap();
        let revoked = Instant::now();
        gateway.until("/orders/7", &tokens.access, StatusCode::UNAUTHORIZED).await;
        took.push(revoked.elapsed());
    }
    println!("a gateway with a link refused after {took:.1?}");
    process.tell_to_stop();
    assert!(process.ended().await.success());
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_server_a_gateway_refuses_once_its_knowledge_is_too_old() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let process = gateway_of(&server, &routes, &[("gateway.max_feed_age", "5s")]).await;
    let (gateway, application) = (Seen::of(&process), Application::register(&[&server]).await);
    let tokens = application.redeem(&application.log_in("alice").await.unwrap()).await.unwrap();
    assert_eq!(gateway.status("/orders/7", &tokens.access).await, StatusCode::OK);
    server.kill().await;
    // For a while it goes on with what it knows; then nobody can be asked, and nothing is guessed.
    gateway.until("/orders/7", &tokens.access, StatusCode::BAD_GATEWAY).await;
    assert_eq!(gateway.status("/refusing/7", &tokens.access).await, StatusCode::BAD_GATEWAY);
    assert_eq!(gateway.status("/orders/7", "nobody").await, StatusCode::UNAUTHORIZED);
    assert_eq!(process.readiness().await, Some(StatusCode::SERVICE_UNAVAILABLE));
    process.tell_to_stop();
    assert!(process.ended().await.success());
}

/// The server is there, and can be asked: only of revocations nothing is heard.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_hears_of_no_revocations_asks_about_tokens_or_refuses_them_as_the_route_says() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let relay = Relay::before(server.listeners["link"].clone()).await;
    let settings = [("gateway.link.url", relay.url.as_str()), ("gateway.max_feed_age", "5s")];
    let process = gateway_of(&server, &routes, &settings).await;
    let (gateway, application) = (Seen::of(&process), Application::register(&[&server]).await);
    let log_in = async || application.redeem(&application.log_in("alice").await.unwrap()).await.unwrap();
    let (lasting, revoked) = (log_in().await, log_in().await);
    for path in ["/orders/7", "/refusing/7"] {
        for tokens in [&lasting, &revoked] {
            assert_eq!(gateway.status(path, &tokens.access).await, StatusCode::OK, "{path}");
        }
    }
    relay.swallow_feed(true);
    gateway.until("/refusing/7", &lasting.access, StatusCode::BAD_GATEWAY).await;
    let (status, seen) = gateway.ask("/orders/7", &lasting.access).await;
    assert_eq!((status, &seen["oauth-user-id"]), (StatusCode::OK, &"alice".into()));
    assert_eq!(process.readiness().await, Some(StatusCode::SERVICE_UNAVAILABLE));
    // Nothing tells of it but the answer about the token.
    application.revoke(&revoked).await.unwrap();
    assert_eq!(gateway.status("/orders/7", &revoked.access).await, StatusCode::UNAUTHORIZED);
    assert_eq!(gateway.status("/refusing/7", &revoked.access).await, StatusCode::BAD_GATEWAY);
    assert_eq!(gateway.status("/orders/7", &lasting.access).await, StatusCode::OK);
    relay.swallow_feed(false);
    gateway.until("/refusing/7", &lasting.access, StatusCode::OK).await;
    assert_eq!(gateway.status("/refusing/7", &revoked.access).await, StatusCode::UNAUTHORIZED);
    process.kill().await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_without_the_sealing_key_asks_about_sealed_tokens() {
    let routes = Routes::fresh().await;
    let mut site = site(Backend::Sqlite, &routes).await;
    site.set(&[("serve.link.sealing_key", "false")]);
    let server = site.start().await;
    let process = gateway_of(&server, &routes, &[]).await;
    let (gateway, application) = (Seen::of(&process), Application::register(&[&server]).await);
    let tokens = application.redeem(&application.log_in("alice").await.unwrap()).await.unwrap();
    let (status, seen) = gateway.ask("/orders/7", &tokens.access).await;
    assert_eq!((status, &seen["oauth-user-id"]), (StatusCode::OK, &"alice".into()));
    application.revoke(&tokens).await.unwrap();
    gateway.until("/orders/7", &tokens.access, StatusCode::UNAUTHORIZED).await;
    assert_eq!(gateway.status("/orders/7", "nobody").await, StatusCode::UNAUTHORIZED);
    process.kill().await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_key_of_a_gateway_with_a_link_is_in_its_log() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let file = routes.directory.path().join("gateway.yml");
    std::fs::write(&file, "serve: {gateway: {tls: {enabeld: true}}}").unwrap();
    let mut command = command_of(&server, &routes, &[]);
    command.arg("--config").arg(&file).env("GATEWAY_ACCES_LOG", "stderr");
    let process = started(command).await;
    for warning in [
        "serve.gateway.tls.enabeld: unknown key, ignored (did you mean serve.gateway.tls.enabled?)",
        "GATEWAY_ACCES_LOG: unknown environment variable, ignored",
    ] {
        process.has_logged(warning);
    }
    process.kill().await;
    server.kill().await;
}

/// While the token is replaced, gateways have either.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_known_by_any_token_of_its_server() {
    const NEXT: &str = "the next token of the link, which is long";
    let routes = Routes::fresh().await;
    let mut site = site(Backend::Sqlite, &routes).await;
    site.set(&[("serve.link.token", &format!("[{NEXT:?}, {LINK_TOKEN:?}]"))]);
    let server = site.start().await;
    for token in [LINK_TOKEN, NEXT] {
        let process = gateway_of(&server, &routes, &[("gateway.link.token", token)]).await;
        until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
        process.kill().await;
    }
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_its_server_does_not_know_waits_unbound_and_says_so() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let stranger = [("gateway.link.token", "the token of another link, which is long")];
    let child = command_of(&server, &routes, &stranger).spawn().unwrap();
    let process = Process::listening_as(child, ["health", "health"]).await;
    let ready = http_client().get(process.admin.join("/health/ready").unwrap()).send().await.unwrap();
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    let ready: Value = ready.json().await.unwrap();
    assert_eq!(ready["errors"]["routes"], "no routes are served yet");
    assert_eq!(ready["errors"]["feed"], "revocations were not heard yet");
    assert!(!process.listeners.contains_key("gateway"), "{:?}", process.listeners);
    process.tell_to_stop();
    assert!(process.ended().await.success());
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_ends_says_until_its_last_answer_that_it_is_not_ready() {
    let (routes, slow) = (Routes::fresh().await, TcpListener::bind("127.0.0.1:0").await.unwrap());
    let upstream = format!("upstreams:\n  slow: {{servers: [\"http://{}\"]}}\n", slow.local_addr().unwrap());
    let route = "routes:\n  - {name: slow, match: {prefix: /}, upstream: slow, auth: none}\n";
    std::fs::write(routes.path(), upstream + route).unwrap();
    let (linked, with_database) =
        (site(Backend::Sqlite, &routes).await, site(Backend::Postgres, &routes).await);
    let server = linked.start().await;
    for process in [gateway_of(&server, &routes, &[]).await, gateway_on(&with_database).await] {
        until("ready", async || process.readiness().await == Some(StatusCode::OK)).await;
        let asking = tokio::spawn(http_client().get(process.listeners["gateway"].clone()).send());
        let (mut answering, _) = slow.accept().await.unwrap();
        assert!(answering.read(&mut [0; 4096]).await.unwrap() > 0);
        process.tell_to_stop();
        let unready = Some(StatusCode::SERVICE_UNAVAILABLE);
        until("not ready", async || process.readiness().await == unready).await;
        let ask = |path: &str| http_client().get(process.admin.join(path).unwrap()).send();
        let ready: Value = ask("/health/ready").await.unwrap().json().await.unwrap();
        assert_eq!(ready["errors"]["shutdown"], "the process ends, and takes no new requests");
        assert_eq!(
            ask("/metrics").await.unwrap().status(),
            StatusCode::OK,
            "what is under way can be watched"
        );
        answering.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        assert_eq!(asking.await.unwrap().unwrap().status(), StatusCode::NO_CONTENT);
        assert!(process.ended().await.success());
    }
    server.kill().await;
}

#[test]
fn a_gateway_without_any_setting_hears_that_a_link_is_enough() {
    let ended = run(&["serve", "gateway"], &[]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    for said in ["dsn: is required", "gateway.link.url and gateway.link.token"] {
        assert!(ended.stderr.contains(said), "{said} in {}", ended.stderr);
    }
    let server = run(&["serve", "all"], &[]);
    assert!(!server.stderr.contains("gateway.link"), "{}", server.stderr);
}

#[test]
fn a_gateway_whose_routes_file_is_missing_ends_before_it_waits_for_its_link() {
    let token = format!("gateway.link.token={LINK_TOKEN}");
    let settings =
        ["gateway.routes=/nowhere/routes.yaml", "gateway.link.url=http://127.0.0.1:9", token.as_str()];
    let mut command = vec!["serve", "gateway"];
    command.extend(settings.into_iter().flat_map(|setting| ["--set", setting]));
    let ended = run(&command, &[]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("/nowhere/routes.yaml cannot be read"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_is_served_beside_the_admin_endpoints_only() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    // Of the link it is told before it is of the others.
    for (listener, has_link) in [("admin", true), ("public", false)] {
        let process =
            Process::listening_as(site.spawn_with(&["serve", listener, "--auto-migrate"]), [listener; 2])
                .await;
        assert_eq!(process.listeners.contains_key("link"), has_link, "{listener}: {:?}", process.listeners);
        process.kill().await;
    }
}
