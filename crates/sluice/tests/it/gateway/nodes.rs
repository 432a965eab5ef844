//! Servers with a gateway each, on one database.

use reqwest::StatusCode;
use sluice_testkit::Backend;
use tokio::time::Instant;

use super::{LINK_TOKEN, Routes, Seen, site};
use crate::application::{Application, http_client};
use crate::process::until;

/// Two gateways and two authorization servers on one database: revoked on one, refused on all.
async fn what_one_server_revokes_every_gateway_refuses(backend: Backend) {
    let routes = Routes::fresh().await;
    let site = site(backend, &routes).await;
    let (one, other) = (site.start().await, site.start().await);
    let application = Application::register(&[&one, &other]).await;
    let gateways = [Seen::of(&one), Seen::of(&other)];
    let mut took = Vec::new();
    for _ in 0..5 {
        let tokens = application.redeem(&application.log_in("alice").await.unwrap()).await.unwrap();
        for gateway in &gateways {
            let (status, seen) = gateway.ask("/orders/7", &tokens.access).await;
            assert_eq!((status, &seen["oauth-user-id"]), (StatusCode::OK, &"alice".into()));
        }
        application.at(&[&one]).revoke(&tokens).await.unwrap();
        let revoked = Instant::now();
        assert_eq!(gateways[0].status("/orders/7", &tokens.access).await, StatusCode::UNAUTHORIZED);
        gateways[1].until("/orders/7", &tokens.access, StatusCode::UNAUTHORIZED).await;
        took.push(revoked.elapsed());
    }
    println!("{backend:?}: the gateway of the other server refused after {took:.1?}");
    one.kill().await;
    other.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_revokes_every_gateway_refuses_on_sqlite() {
    what_one_server_revokes_every_gateway_refuses(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_revokes_every_gateway_refuses_on_postgres() {
    what_one_server_revokes_every_gateway_refuses(Backend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_people_and_jwts_pass_and_end_with_their_session() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let (gateway, http) = (Seen::of(&server), http_client());
    let post = async |path: &str, body: serde_json::Value, token: &str| {
        let request = http.post(server.public.join(path).unwrap()).bearer_auth(token).json(&body);
        let answer = request.send().await.unwrap();
        (answer.status(), answer.json::<serde_json::Value>().await.unwrap_or_default())
    };
    let who =
        serde_json::json!({"email": "a@example.com", "username": "A", "password": "a long pass phrase"});
    let (created, person) = post("/auth/register", who.clone(), "").await;
    assert_eq!(created, StatusCode::CREATED);
    let (_, pair) = post("/auth/login", who, "").await;
    let access = pair["access_token"].as_str().unwrap();
    let (status, seen) = gateway.ask("/orders/7", access).await;
    assert_eq!((status, &seen["oauth-user-id"]), (StatusCode::OK, &person["id"]));
    let (ended, _) = post("/auth/logout", pair.clone(), access).await;
    assert_eq!(ended, StatusCode::NO_CONTENT);
    assert_eq!(gateway.status("/orders/7", access).await, StatusCode::UNAUTHORIZED);
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_are_read_again_and_a_bad_file_changes_nothing() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let gateway = Seen::of(&server);
    assert_eq!(gateway.status("/orders/7", "nobody").await, StatusCode::UNAUTHORIZED);
    routes.write("none");
    gateway.until("/orders/7", "nobody", StatusCode::OK).await;
    routes.write("sometimes");
    let metrics = || async {
        let url = server.admin.join("/admin/metrics/prometheus").unwrap();
        http_client().get(url).send().await.unwrap().text().await.unwrap()
    };
    until("told of", async || metrics().await.contains("\nsluice_gateway_routes_in_force 0")).await;
    assert_eq!(gateway.status("/orders/7", "nobody").await, StatusCode::OK);
    assert!(
        metrics()
            .await
            .contains(r#"sluice_gateway_requests_total{route="orders",code="200",verdict="anonymous"}"#)
    );
    routes.write("required");
    gateway.until("/orders/7", "nobody", StatusCode::UNAUTHORIZED).await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_answers_those_who_bear_its_token_and_gives_no_other_key() {
    let routes = Routes::fresh().await;
    let site = site(Backend::Sqlite, &routes).await;
    let server = site.start().await;
    let url = server.listeners["link"].join("/link/v1/keys").unwrap();
    let ask = |token: &str| http_client().post(url.clone()).bearer_auth(token).json(&()).send();
    for token in ["", "the link of these tests, which is lon", "the link of these tests, which is long."] {
        assert_eq!(ask(token).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    }
    let keys: serde_json::Value = ask(LINK_TOKEN).await.unwrap().json().await.unwrap();
    let purposes: Vec<_> = keys["sealed"].as_array().unwrap().iter().map(|keys| keys[0].clone()).collect();
    assert_eq!(purposes, [14, 8], "the facts in JWTs, access tokens");
    let secret = |key: &serde_json::Value| key.get("d").is_some();
    assert!(!keys["jwks"]["keys"].as_array().unwrap().iter().any(secret));
    assert!(!keys["persons"].as_array().unwrap().iter().any(secret));
    let admin = server.listeners["link"].join("/admin/clients").unwrap();
    let answer = http_client().get(admin).bearer_auth(LINK_TOKEN).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND, "the link is no admin port");
    server.kill().await;
}
