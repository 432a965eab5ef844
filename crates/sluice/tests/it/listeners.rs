//! The two listeners: who may use the admin one, an issuer with a path, and what watchers and browsers are told.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_net::MAX_HEADER_LINES;
use sluice_testkit::{Authorize, Backend, TestSluice, VERIFIER, accept_consent, accept_login};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use crate::answer::{Answer, http, http_with};
use crate::process::Site;

const CREDENTIAL: &str = "an-admin-credential-of-some-length";

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_api_can_ask_for_a_credential() {
    let settings = [("serve.admin.bearer_token", CREDENTIAL), ("serve.admin.profiling", "true")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let asked = |method: Method, path: &str, header: &str| {
        let request = http().request(method, sluice.admin.join(path).unwrap());
        Answer::to(if header.is_empty() { request } else { request.header("authorization", header) })
    };
    let guarded = [
        (Method::GET, "/admin/clients"),
        (Method::POST, "/admin/clients"),
        (Method::DELETE, "/admin/clients/x"),
        (Method::GET, "/admin/oauth2/auth/requests/login?login_challenge=x"),
        (Method::PUT, "/admin/oauth2/auth/requests/consent/accept?consent_challenge=x"),
        (Method::DELETE, "/admin/oauth2/auth/sessions/login?subject=alice"),
        (Method::POST, "/admin/oauth2/introspect"),
        (Method::DELETE, "/admin/oauth2/tokens?client_id=x"),
        (Method::GET, "/admin/keys/hydra.openid.id-token"),
        (Method::GET, "/admin/metrics/prometheus"),
        (Method::GET, "/metrics"),
        (Method::GET, "/admin/debug/pprof/heap"),
    ];
    let right = format!("Bearer {CREDENTIAL}");
    let wrong = [
        "",
        "Bearer",
        "Bearer wrong",
        CREDENTIAL,
        &format!("Basic {CREDENTIAL}"),
        &right[..right.len() - 1],
        &format!("{right}x"),
        &right.to_uppercase(),
    ];
    for (method, path) in guarded {
        for header in wrong {
            let answer = asked(method.clone(), path, header).await;
            let refusal = answer.json();
            assert_eq!(answer.status, 401, "{path} {header}");
            assert_eq!(refusal["error"], "The request could not be authorized", "{path} {header}");
            let why = refusal["error_description"].as_str().unwrap();
            assert!(why.contains("serve.admin.bearer_token") && !why.contains(CREDENTIAL), "{why}");
            assert!(answer.header("www-authenticate").starts_with("Bearer"), "{path}");
        }
        let answer = asked(method.clone(), path, &right).await;
        assert_ne!(answer.status, 401, "{path}");
    }
    for path in ["/health/alive", "/health/ready", "/version", "/.well-known/jwks.json"] {
        assert_eq!(asked(Method::GET, path, "").await.status, 200, "{path}");
    }
    sluice.node.stop().await;
}

/// An issuer whose endpoints are below its path.
const WITH_A_PATH: &str = "http://sluice.test/tenant/one";

/// Password managers look at the root of a site, whatever the path of the issuer.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_to_change_a_password_is_found_where_people_log_in_here() {
    let there = (302, Some("/tenant/one/ui/account/password"));
    for (login, found) in [("/tenant/one/ui/login", there), ("https://login.test/", (404, None))] {
        let settings = [("urls.self.issuer", WITH_A_PATH), ("urls.login", login)];
        let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
        let page = sluice.browser().visit("/.well-known/change-password").await;
        let location = page.location.as_ref().map(Url::path);
        assert_eq!((page.status.as_u16(), location), found, "{login}");
        let root = sluice.browser().visit("/").await;
        let location = root.location.as_ref().map(Url::path);
        let account = found.1.map(|_| "/tenant/one/ui/account");
        assert_eq!(location, account, "{login}");
        assert_eq!(root.status.as_u16(), if account.is_some() { 303 } else { 404 }, "{login}");
        sluice.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_may_have_a_path() {
    let settings = [("urls.self.issuer", WITH_A_PATH), ("serve.public.cors.enabled", "true")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let get = |path: &str| {
        Answer::to(http().get(sluice.public.join(path).unwrap()).header("origin", "https://spa.test"))
    };
    // Found where both specifications look, and where the one looks for the other's, and the same.
    let by_oidc = get("/tenant/one/.well-known/openid-configuration").await;
    let by_rfc_8414 = get("/.well-known/oauth-authorization-server/tenant/one").await;
    let by_section_5 = get("/.well-known/openid-configuration/tenant/one").await;
    for other in [&by_rfc_8414, &by_section_5] {
        assert_eq!(other.ok(), by_oidc.ok());
    }
    for answer in [&by_oidc, &by_rfc_8414, &by_section_5] {
        assert_eq!(answer.header("access-control-allow-origin"), "https://spa.test");
    }
    let metadata = by_oidc.json();
    assert_eq!(metadata["issuer"], WITH_A_PATH);
    let endpoints: Vec<(&String, &Value)> = metadata
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.ends_with("_endpoint") || *name == "jwks_uri")
        .collect();
    assert!(endpoints.len() >= 6, "{endpoints:?}");
    for (name, url) in endpoints {
        assert!(url.as_str().unwrap().starts_with("http://sluice.test/tenant/one/"), "{name} {url}");
    }
    assert_eq!(get("/tenant/one/.well-known/jwks.json").await.status, 200);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_goes_below_the_path_of_the_issuer_and_nothing_beside_it() {
    let sluice = TestSluice::with(Backend::Sqlite, &[("urls.self.issuer", WITH_A_PATH)]).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let url = client.authorize_url(&Authorize::default());
    assert_eq!(browser.visit(&url).await.status.as_u16(), 404);
    let page = browser.visit(&url.replace("/oauth2/", "/tenant/one/oauth2/")).await;
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("; Path=/;") || cookie.ends_with("; Path=/"), "{cookie}");
    let verifier = accept_login(&sluice, &page.expect("login_challenge"), &json!({"subject": "alice"})).await;
    assert!(verifier.starts_with("http://sluice.test/tenant/one/oauth2/auth?login_verifier="), "{verifier}");
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let page = browser.visit(&verifier).await;
    assert_eq!(page.expect("iss"), WITH_A_PATH);
    let (code, uri) = (page.expect("code"), client.redirect_uri.as_str());
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", uri),
        ("code_verifier", VERIFIER),
    ];
    assert_eq!(client.token(&form).await.status, 404);
    let tokens = client.post("/tenant/one/oauth2/token", &form).await.ok();
    let userinfo = sluice.public.join("/tenant/one/userinfo").unwrap();
    let request = http().get(userinfo).bearer_auth(tokens["access_token"].as_str().unwrap());
    assert_eq!(Answer::to(request).await.ok()["sub"], "alice");
    let revoked = client
        .post("/tenant/one/oauth2/revoke", &[("token", tokens["access_token"].as_str().unwrap())])
        .await;
    assert_eq!(revoked.status, 200);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_is_where_the_issuer_says_wherever_the_endpoints_are() {
    for (issuer, public, places) in [
        (
            "http://sluice.test/",
            "http://edge.test/id",
            ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"],
        ),
        (
            "http://sluice.test/one",
            "http://edge.test/",
            ["/one/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/one"],
        ),
        (
            "http://sluice.test/one/",
            "http://edge.test/id/",
            ["/one/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/one"],
        ),
    ] {
        let settings = [
            ("urls.self.issuer", issuer),
            ("urls.self.public", public),
            ("serve.public.cors.enabled", "true"),
        ];
        let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
        let get = |path: &str| {
            Answer::to(http().get(sluice.public.join(path).unwrap()).header("origin", "https://spa.test"))
        };
        let endpoint = format!("{}/oauth2/token", public.trim_end_matches('/'));
        for place in places {
            let answer = get(place).await;
            let metadata = answer.ok();
            assert_eq!(
                (&metadata["issuer"], &metadata["token_endpoint"]),
                (&json!(issuer), &json!(endpoint))
            );
            assert_eq!(answer.header("access-control-allow-origin"), "https://spa.test", "{place}");
        }
        let reached = public.parse::<Url>().unwrap();
        let below = format!("{}/.well-known/openid-configuration", reached.path().trim_end_matches('/'));
        assert_eq!(get(&below).await.status, 200);
        sluice.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_are_answered_on_both_listeners() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for listener in [&sluice.public, &sluice.admin] {
        let get = |path: &str| Answer::to(http().get(listener.join(path).unwrap()));
        assert_eq!(get("/health/alive").await.ok(), json!({"status": "ok"}));
        assert_eq!(get("/health/ready").await.ok(), json!({"status": "ok"}));
        assert_eq!(get("/version").await.ok(), json!({"version": env!("CARGO_PKG_VERSION")}));
    }
    // What belongs to one listener is not on the other.
    for (listener, path) in [
        (&sluice.public, "/admin/clients"),
        (&sluice.public, "/admin/metrics/prometheus"),
        (&sluice.admin, "/oauth2/auth"),
        (&sluice.admin, "/userinfo"),
    ] {
        assert_eq!(Answer::to(http().get(listener.join(path).unwrap())).await.status, 404, "{path}");
    }
    sluice.node.stop().await;
}

/// Over HTTP/1.1 the HTTP library refuses more than 100; over HTTP/2 each stream would hold as many as its client likes.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_too_many_header_lines_is_refused_and_logged() {
    let http = http_with(reqwest::ClientBuilder::http2_prior_knowledge);
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    for (listener, id) in [(&process.public, "lines-1"), (&process.admin, "lines-2")] {
        let ask = |lines: usize| {
            let request = http.get(listener.join("/health/alive").unwrap()).header("x-request-id", id);
            Answer::to((0..lines).fold(request, |request, _| request.header("cookie", "a=1")))
        };
        assert_eq!(ask(200).await.status, 200);
        let refused = ask(MAX_HEADER_LINES + 1).await;
        assert_eq!((refused.status, refused.header("x-request-id")), (431, id));
        assert_eq!(refused.json()["error_description"], "The request has too many header lines.");
        process.logs(&["too many header lines", r#""peer.address":"127.0.0.1""#, id]).await;
    }
    process.kill().await;
}

/// Says this on a connection of its own; all that is answered.
async fn said_at(listener: &Url, head: &str) -> String {
    let mut stream = TcpStream::connect(listener.socket_addrs(|| None).unwrap()[0]).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// The HTTP library refuses these by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_cannot_be_read_is_logged_and_counted() {
    let mut site = Site::fresh(Backend::Sqlite).await;
    site.log("sluice::observability::request_log");
    let process = site.start().await;
    let full = format!("GET /ui/login HTTP/1.1\r\nhost: sluice\r\ncookie: {}\r\n\r\n", "a".repeat(70_000));
    for (listener, name) in [(&process.public, "public"), (&process.admin, "admin")] {
        for (head, status) in [(&*full, 431), ("GET /?\" HTTP/1.1\r\nhost: sluice\r\n\r\n", 400)] {
            let answer = said_at(listener, head).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
            let (name, status) = (format!(r#""listener":"{name}""#), format!(r#""http.status":{status}"#));
            let peer = r#""peer.address":"127.0.0.1""#;
            process.logs(&["request could not be read", &name, &status, peer]).await;
        }
    }
    let metrics = process.admin.join("/admin/metrics/prometheus").unwrap();
    let metrics = Answer::to(http().get(metrics)).await.body;
    for status in [400, 431] {
        let counted = format!(r#"code="{status}",method="unknown",endpoint="{{unmatched}}"}} 2"#);
        assert!(metrics.contains(&counted), "{counted} in {metrics}");
        let measured = format!(r#"code="{status}",method="unknown""#);
        let is_measured = |line: &str| line.contains("_count{") && line.contains(&measured);
        assert!(!metrics.lines().any(is_measured), "{measured} in {metrics}");
    }
    process.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_over_http_1_1_says_once_for_which_host_it_is() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for listener in [&sluice.public, &sluice.admin] {
        for (path, version, hosts, status) in [
            ("/.well-known/jwks.json", "1.1", "", 400),
            ("/.well-known/jwks.json", "1.1", "host: a\r\nhost: b\r\n", 400),
            ("/.well-known/jwks.json", "1.1", "host: a\r\n", 200),
            ("/.well-known/jwks.json", "1.1", "host:\r\n", 200),
            ("/.well-known/jwks.json", "1.1", "host: a b/c\r\n", 400),
            ("/.well-known/jwks.json", "1.1", "host: user@a\r\n", 400),
            ("/.well-known/jwks.json", "1.1", "host: [::1]:4444\r\n", 200),
            ("/.well-known/jwks.json", "1.1", "host: [fe80::1%25eth0]:4444\r\n", 200),
            ("/.well-known/jwks.json", "1.1", "host: :4445\r\n", 200),
            ("/.well-known/jwks.json", "1.0", "", 200),
            ("/.well-known/jwks.json", "1.0", "host: a b/c\r\n", 400),
            // In absolute form another host counts than that of the header.
            ("http://a/.well-known/jwks.json", "1.1", "host: b\r\n", 200),
            ("http://a/.well-known/jwks.json", "1.1", "", 400),
            ("http://user@a/.well-known/jwks.json", "1.1", "host: a\r\n", 400),
            ("ftp://a/.well-known/jwks.json", "1.1", "host: a\r\n", 400),
            // Probes do not always say it.
            ("/health/alive", "1.1", "", 200),
            ("/health/ready", "1.1", "", 200),
            ("/version", "1.1", "", 200),
            ("/health/alive/", "1.1", "", 200),
            ("/health/alivex", "1.1", "", 400),
            ("/health/alive", "1.1", "host: a\r\nhost: b\r\n", 200),
            ("/health/alive", "1.1", "host: a b\r\n", 200),
        ] {
            let head = format!("GET {path} HTTP/{version}\r\n{hosts}connection: close\r\n\r\n");
            let answer = said_at(listener, &head).await;
            assert!(answer.starts_with(&format!("HTTP/{version} {status} ")), "{head}: {answer}");
            assert!(answer.to_lowercase().contains("x-request-id: "), "{answer}");
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_over_http_2_names_one_host_in_one_way() {
    let http = http_with(reqwest::ClientBuilder::http2_prior_knowledge);
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for listener in [&sluice.public, &sluice.admin] {
        let own = format!("{}:{}", listener.host_str().unwrap(), listener.port().unwrap());
        for (host, status) in
            [(None, 200), (Some(&*own), 200), (Some("evil.example"), 400), (Some("a b"), 400)]
        {
            let request = http.get(listener.join("/.well-known/jwks.json").unwrap());
            let request = host.into_iter().fold(request, |request, host| request.header("host", host));
            assert_eq!(Answer::to(request).await.status, status, "{host:?}");
        }
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_another_transfer_coding_than_chunks_is_refused() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for listener in [&sluice.public, &sluice.admin] {
        for (coding, is_known) in
            [("chunked", true), ("gzip, chunked", false), ("gzip\r\ntransfer-encoding: chunked", false)]
        {
            let head = format!(
                "POST /.well-known/jwks.json HTTP/1.1\r\nhost: a\r\ntransfer-encoding: {coding}\r\nconnection: close\r\n\r\n0\r\n\r\n"
            );
            let answer = said_at(listener, &head).await;
            let is_refused = answer.starts_with("HTTP/1.1 501 ");
            assert_eq!(is_refused, !is_known, "{coding}: {answer}");
            assert!(
                !is_refused || answer.contains("The transfer coding of the request is not known."),
                "{answer}"
            );
        }
    }
    sluice.node.stop().await;
}

/// A connection that was answered and stays open.
async fn answered_at(listener: &Url) -> TcpStream {
    let address = listener.socket_addrs(|| None).unwrap()[0];
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /health/alive HTTP/1.1\r\nhost: sluice\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "{}", String::from_utf8_lossy(&answer));
    }
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_serves_as_many_connections_as_are_configured() {
    let settings = [("serve.public.max_connections", "1"), ("serve.admin.max_connections", "1")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    for listener in [&sluice.public, &sluice.admin] {
        let first = answered_at(listener).await;
        let _second = answered_at(listener).await;
        // Nothing is waited for: its end came before the answer to the other.
        assert_eq!(first.into_std().unwrap().peek(&mut [0]).unwrap(), 0, "the first one made room");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_and_a_redirect_tell_browsers_to_be_careful() {
    let pages = [("urls.login", "/ui/login"), ("urls.consent", "/ui/consent"), ("urls.logout", "/ui/logout")];
    let sluice = TestSluice::with(Backend::Sqlite, &pages).await;
    let client = sluice.client(&json!({})).await;
    let mut browser = sluice.browser();
    let redirect = browser.visit(&client.authorize_url(&Authorize::default())).await;
    for page in
        [&redirect, &browser.visit(redirect.location().as_str()).await, &browser.visit("/oauth2/auth").await]
    {
        assert_eq!(page.headers["cache-control"], "no-store");
        assert_eq!(page.headers["referrer-policy"], "no-referrer");
    }
    let login = browser.visit(redirect.location().as_str()).await;
    for page in [&login, &browser.visit("/oauth2/auth").await] {
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.headers["x-frame-options"], "DENY");
        assert_eq!(page.headers["x-content-type-options"], "nosniff");
    }
    let cookie = redirect.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    sluice.node.stop().await;
}
