//! Tokens of another issuer: JWTs by its metadata and keys, opaque ones by asking it (RFC 7662).

use std::fs;

use reqwest::StatusCode;
use rustix::process::Signal;
use serde_json::{Value, json};
use sluice_testkit::Backend;
use tempfile::TempDir;

use super::foreign::{Foreign, tokens_of, told_of};
use super::{Routes, Seen, phantom, site};
use crate::application::{Application, http_client};
use crate::jwt;
use crate::keyed::{Key, changed, part};
use crate::process::{Process, Site, until};

/// For whom clients of the other issuer get tokens, and whom a route demands.
const API: &str = "https://api.test";
/// What makes access tokens JWTs.
const JWTS: &[(&str, &str)] = &[("strategies.access_token", "jwt")];

/// A server with a gateway whose access log tells why it refused what.
struct Guard {
    #[expect(dead_code, reason = "held for its drop")]
    site: Site,
    server: Process,
    gateway: Seen,
    log: TempDir,
}

impl Guard {
    async fn start(routes: &Routes) -> Self {
        let (mut site, log) = (site(Backend::Sqlite, routes).await, tempfile::tempdir().unwrap());
        let path = log.path().join("access.log");
        site.set(&[
            ("gateway.access_log", path.to_str().unwrap()),
            ("gateway.phantom.issuer", phantom::GATEWAY),
        ]);
        let server = site.start().await;
        Self { site, gateway: Seen::of(&server), server, log }
    }

    /// The answer to this token is 401, and the log says why.
    async fn refuses(&self, path: &str, token: &str, verdict: &str) {
        let status = self.gateway.status(path, token).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}: {verdict}");
        self.logs(path, verdict).await;
    }

    /// The answer to this token is that it cannot be judged now.
    async fn cannot_tell(&self, path: &str, token: &str) {
        let (status, problem) = self.gateway.ask(path, token).await;
        assert_eq!((status, &problem["code"]), (StatusCode::BAD_GATEWAY, &json!("authority_unavailable")));
        self.logs(path, "issuer_unreachable").await;
    }

    /// The log comes to say this of the last request for a path.
    async fn logs(&self, path: &str, verdict: &str) {
        until(verdict, async || self.last_verdict(path).as_deref() == Some(verdict)).await;
    }

    fn last_verdict(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.log.path().join("access.log")).unwrap_or_default();
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let last = lines.rfind(|line| line["path"] == path)?;
        last["verdict"].as_str().map(str::to_owned)
    }

    async fn metrics(&self) -> String {
        let url = self.server.admin.join("/admin/metrics/prometheus").unwrap();
        http_client().get(url).send().await.unwrap().text().await.unwrap()
    }
}

/// What the upstream learns of `alice`, who came with a token of this issuer that is known by this name.
async fn alice_is_told(gateway: &Seen, path: &str, token: &str, (foreign, known_as): (&Foreign, &str)) {
    let (status, seen) = gateway.ask(path, token).await;
    assert_eq!(status, StatusCode::OK, "{seen}");
    let client = told_of(foreign.process(), token).await["client_id"].clone();
    for (header, value) in [
        ("oauth-user-id", json!("alice")),
        ("oauth-user-scope", json!("openid offline_access")),
        ("oauth-client-id", client),
        ("oauth-issuer", json!(known_as)),
    ] {
        assert_eq!(seen[header], value, "{header}");
    }
}

/// Somebody of this installation passes as before, and no other issuer is named.
async fn own_tokens_pass(guard: &Guard, path: &str) {
    let application = Application::register(&[&guard.server]).await;
    let (status, seen) = guard.gateway.ask(path, &tokens_of(&application, "alice").await.access).await;
    assert_eq!((status, &seen["oauth-user-id"]), (StatusCode::OK, &json!("alice")));
    assert!(seen.get("oauth-issuer").is_none(), "{seen}");
}

/// Routes for its JWTs. Of `late` nothing is known until the first token comes that way.
fn routes_of_jwts(routes: &Routes, foreign: &Foreign) {
    let issuer = foreign.issuer().as_str();
    let partner =
        format!("issuer: {issuer:?}, audience: [{issuer:?}, {API:?}], clock_skew: 0s, timeout: 30s");
    let issuers = format!("issuers:\n  partner: {{{partner}}}\n  late: {{{partner}}}\n");
    let route = |name: &str, more: &str| {
        format!("  - {{name: {name}, match: {{prefix: /{name}/}}, upstream: echo, {more}}}\n")
    };
    let all = [
        route("partner", "issuers: [sluice, partner]"),
        route("api", &format!("issuers: [partner], audience: {API:?}")),
        route("service", "issuers: [partner], phantom_token: {audience: service}"),
        route("own", "auth: required"),
        route("late", "issuers: [late]"),
    ];
    routes.rewrite(&issuers, &all.concat());
}

/// The token with other claims: under its old signature, under that of a key that nobody knows, and under none.
fn forged(good: &str) -> [String; 3] {
    let header = jwt::header(good);
    let claims = changed(jwt::claims(good), &json!({"sub": "mallory"}));
    let (_, signature) = good.rsplit_once('.').unwrap();
    let unsigned = json!({"alg": "none", "typ": "at+jwt"});
    [
        format!("{}.{}.{signature}", part(&header), part(&claims)),
        Key::new().sign(&changed(header, &json!({"alg": "ES256"})), &claims),
        format!("{}.{}.", part(&unsigned), part(&claims)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn jwts_of_another_issuer_pass_where_they_count_and_no_others() {
    let (foreign, routes) = (Foreign::start(JWTS).await, Routes::fresh().await);
    routes_of_jwts(&routes, &foreign);
    let guard = Guard::start(&routes).await;
    let application = Application::register(&[foreign.process()]).await;
    let person = tokens_of(&application, "alice").await.access;
    assert_eq!(jwt::claims(&person)["aud"], json!([foreign.issuer()]));
    let known_as = foreign.issuer().as_str();
    alice_is_told(&guard.gateway, "/partner/good", &person, (&foreign, known_as)).await;
    alice_is_told(&guard.gateway, "/partner/from-memory", &person, (&foreign, known_as)).await;
    own_tokens_pass(&guard, "/partner/own").await;
    guard.refuses("/own/good", &person, "token_not_authentic").await;
    guard.refuses("/api/of-a-person", &person, "wrong_audience").await;
    for token in forged(&person) {
        guard.refuses("/partner/forged", &token, "token_not_authentic").await;
    }
    let elsewhere = foreign.token_for("https://other.test", "1h").await;
    guard.refuses("/partner/elsewhere", &elsewhere, "wrong_audience").await;
    let client = foreign.token_for(API, "1h").await;
    let (status, seen) = guard.gateway.ask("/api/of-a-client", &client).await;
    assert_eq!((status, &seen["oauth-client-id"]), (StatusCode::OK, &jwt::claims(&client)["client_id"]));
    assert!(seen.get("oauth-user-id").is_none(), "it acts for itself, and is not who it says: {seen}");
    let brief = foreign.token_for(API, "1s").await;
    guard.gateway.until("/api/brief", &brief, StatusCode::UNAUTHORIZED).await;
    guard.logs("/api/brief", "token_expired").await;
    let (_, seen) = guard.gateway.ask("/service/good", &person).await;
    let said = phantom::verified(&guard.gateway, &seen["authorization"], "service").await;
    assert_eq!((&said["sub"], &said["idp"]), (&json!("alice"), &json!(foreign.issuer())));
    guard.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_of_another_issuer_are_fetched_and_old_ones_serve_while_it_is_away() {
    let (mut foreign, routes) = (Foreign::start(JWTS).await, Routes::fresh().await);
    routes_of_jwts(&routes, &foreign);
    let guard = Guard::start(&routes).await;
    let application = Application::register(&[foreign.process()]).await;
    let old = tokens_of(&application, "alice").await.access;
    assert_eq!(guard.gateway.status("/partner/old", &old).await, StatusCode::OK);
    foreign.replace_keys().await;
    let new = tokens_of(&application, "alice").await.access;
    assert_ne!(jwt::header(&new)["kid"], jwt::header(&old)["kid"]);
    // Not at once: an issuer is asked for its keys no more than once in ten seconds, whatever tokens name.
    guard.gateway.until("/partner/new", &new, StatusCode::OK).await;
    guard.refuses("/partner/old", &old, "token_not_authentic").await;

    foreign.kill().await;
    assert_eq!(guard.gateway.status("/partner/new", &new).await, StatusCode::OK);
    for token in forged(&new) {
        assert_ne!(guard.gateway.status("/partner/forged", &token).await, StatusCode::OK);
    }
    guard.cannot_tell("/late/new", &new).await;
    foreign.start_again().await;
    guard.gateway.until("/late/new", &new, StatusCode::OK).await;
    guard.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_another_issuer_has_removed_is_gone_after_sighup() {
    let (foreign, routes) = (Foreign::start(JWTS).await, Routes::fresh().await);
    routes_of_jwts(&routes, &foreign);
    let guard = Guard::start(&routes).await;
    let application = Application::register(&[foreign.process()]).await;
    let old = tokens_of(&application, "alice").await.access;
    assert_eq!(guard.gateway.status("/partner/old", &old).await, StatusCode::OK);
    foreign.replace_keys().await;
    assert_eq!(guard.gateway.status("/partner/old", &old).await, StatusCode::OK, "the keys are fresh");
    guard.server.signal(Signal::HUP);
    guard.gateway.until("/partner/old", &old, StatusCode::UNAUTHORIZED).await;
    guard.server.kill().await;
}

/// Routes for its opaque tokens, about which it is asked by a client of its own: `asked` believes an answer for a second, `remembered`
/// for an hour.
async fn routes_of_opaque_tokens(routes: &Routes, foreign: &Foreign, application: &Application) {
    let (client, secret) = application.register_client().await.unwrap();
    fs::write(routes.directory.path().join("secret"), secret).unwrap();
    let endpoint = foreign.issuer().join("/oauth2/introspect").unwrap();
    let how = format!(
        "endpoint: {:?}, client_id: {client:?}, client_secret_file: secret, auth: post, \
         timeout: 30s, negative_cache: 1s",
        endpoint.as_str()
    );
    let issuers = format!(
        "issuers:\n  asked: {{issuer: {:?}, introspection: {{{how}, cache: 1s}}}}\n  \
         remembered: {{introspection: {{{how}, cache: 1h}}}}\n",
        foreign.issuer().as_str()
    );
    let all = "  - {name: asked, match: {prefix: /asked/}, upstream: echo, issuers: [sluice, asked]}\n  \
               - {name: remembered, match: {prefix: /remembered/}, upstream: echo, issuers: remembered}\n";
    routes.rewrite(&issuers, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_issuer_is_asked_about_opaque_tokens_and_revokes_them() {
    let (foreign, routes) = (Foreign::start(&[]).await, Routes::fresh().await);
    let application = Application::register(&[foreign.process()]).await;
    routes_of_opaque_tokens(&routes, &foreign, &application).await;
    let guard = Guard::start(&routes).await;
    let tokens = tokens_of(&application, "alice").await;
    assert_ne!(tokens.access.matches('.').count(), 2, "a JWT: {}", tokens.access);
    let known_as = foreign.issuer().as_str();
    alice_is_told(&guard.gateway, "/asked/good", &tokens.access, (&foreign, known_as)).await;
    alice_is_told(&guard.gateway, "/remembered/good", &tokens.access, (&foreign, "remembered")).await;
    own_tokens_pass(&guard, "/asked/own").await;
    for path in ["/asked/nobody", "/remembered/nobody"] {
        guard.refuses(path, "nobody", "token_revoked").await;
    }
    application.revoke(&tokens).await.unwrap();
    guard.gateway.until("/asked/revoked", &tokens.access, StatusCode::UNAUTHORIZED).await;
    guard.logs("/asked/revoked", "token_revoked").await;
    assert_eq!(guard.gateway.status("/remembered/revoked", &tokens.access).await, StatusCode::OK);
    guard.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_another_issuer_is_away_its_answers_serve_and_tokens_without_one_get_502() {
    let (mut foreign, routes) = (Foreign::start(&[]).await, Routes::fresh().await);
    let application = Application::register(&[foreign.process()]).await;
    routes_of_opaque_tokens(&routes, &foreign, &application).await;
    let guard = Guard::start(&routes).await;
    let known = tokens_of(&application, "alice").await.access;
    let unknown = tokens_of(&application, "bob").await.access;
    assert_eq!(guard.gateway.status("/remembered/known", &known).await, StatusCode::OK);
    foreign.kill().await;
    assert_eq!(guard.gateway.status("/remembered/known", &known).await, StatusCode::OK);
    guard.cannot_tell("/remembered/unknown", &unknown).await;
    guard.cannot_tell("/asked/unknown", &unknown).await;
    own_tokens_pass(&guard, "/asked/own").await;
    let metrics = guard.metrics().await;
    for line in [
        r#"sluice_gateway_requests_total{route="asked",code="502",verdict="issuer_unreachable"} 1"#,
        r#"sluice_gateway_questions_total{issuer="remembered"} 2.0"#,
        r#"sluice_gateway_questions_failed_total{issuer="remembered"} 1.0"#,
        r#"sluice_gateway_questions_spared_total{issuer="remembered"} 1.0"#,
        r#"sluice_gateway_questions_failed_total{issuer="asked"} 1.0"#,
    ] {
        assert!(metrics.lines().any(|told| told == line), "{line} in\n{metrics}");
    }
    foreign.start_again().await;
    guard.gateway.until("/asked/unknown", &unknown, StatusCode::OK).await;
    guard.server.kill().await;
}
