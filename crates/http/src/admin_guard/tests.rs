use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use sluice_testkit::Captured;
use tower::ServiceExt;

use super::*;

const LANGUAGE: (&str, &str) = ("accept-language", "en-GB,en;q=0.5");

fn cors(origins: &[&str]) -> Arc<CorsPolicy> {
    Arc::new(CorsPolicy {
        allowed_origins: origins.iter().map(|&origin| origin.to_owned()).collect(),
        allowed_methods: Vec::new(),
        allowed_headers: Vec::new(),
        exposed_headers: Vec::new(),
        allow_credentials: true,
        max_age: Duration::ZERO,
    })
}

fn check(port: &OpenPort, host: &str, headers: &[(&'static str, &str)]) -> Result<(), Stranger> {
    asks(port, (Method::GET, "/admin/clients"), host, headers)
}

fn asks(
    port: &OpenPort,
    (method, path): (Method, &'static str),
    host: &str,
    headers: &[(&'static str, &str)],
) -> Result<(), Stranger> {
    let all = headers.iter().copied().chain([("host", host)]).map(|(name, value)| {
        (name.parse::<http::HeaderName>().unwrap(), value.parse::<http::HeaderValue>().unwrap())
    });
    port.check((&method, &Uri::from_static(path)), &all.collect())
}

#[test]
fn programs_use_whatever_name_they_like() {
    let open = OpenPort::default();
    let programs: [&[(&str, &str)]; 5] = [
        &[],
        &[("user-agent", "Go-http-client/1.1"), ("accept-encoding", "gzip")],
        // That after a redirect.
        &[("user-agent", "Go-http-client/1.1"), ("referer", "https://hydra.example.com/clients")],
        // The fetch of Node.js.
        &[("user-agent", "node"), ("accept-language", "*"), ("sec-fetch-mode", "cors")],
        &[("user-agent", "Mozilla/5.0 (Windows NT; Windows NT 10.0; de-DE) WindowsPowerShell/5.1")],
    ];
    for host in ["hydra-admin:4445", "hydra-admin.auth.svc.cluster.local:4445", "admin.sso.example.com", ""] {
        for headers in programs {
            assert_eq!(check(&open, host, headers), Ok(()), "{host} {headers:?}");
        }
    }
}

#[test]
fn a_browser_is_answered_at_addresses_and_names_that_nobody_can_register() {
    let open = OpenPort::default();
    for host in [
        "127.0.0.1:4445",
        "10.0.0.5",
        "[::1]:4445",
        "localhost:4445",
        "hydra",
        "hydra.LOCAL.:4445",
        "hydra-admin.auth.svc:4445",
        "hydra.home.arpa",
        "Home.ARPA.:4445",
    ] {
        assert_eq!(check(&open, host, &[LANGUAGE]), Ok(()), "{host}");
    }
    let page: [&[(&str, &str)]; 4] = [
        &[LANGUAGE],
        &[LANGUAGE, ("referer", "http://evil.test:4445/")],
        &[("accept-language", "*"), ("user-agent", "Deno/2.4.0")],
        &[("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")],
    ];
    for headers in page {
        assert_eq!(check(&open, "evil.test:4445", headers), Err(Stranger::Host), "{headers:?}");
    }
    let own = [("origin", "http://evil.test:4445")];
    assert_eq!(check(&open, "evil.test:4445", &own), Err(Stranger::Host));
    for host in [
        "evil.local.test",
        "evil.notlocal",
        "127.0.0.1.evil.test",
        "evil.test.",
        "10.0.0.5.nip.io:80",
        "a.8.b.d.0.1.0.0.2.ip6.arpa",
        "x.e164.arpa",
        "evilhome.arpa",
    ] {
        assert_eq!(check(&open, host, &[LANGUAGE]), Err(Stranger::Host), "{host}");
    }
    // Whom a certificate has shown to be here.
    for site in ["same-origin", "none"] {
        assert_eq!(check(&open, "admin.example.com", &[LANGUAGE, ("sec-fetch-site", site)]), Ok(()));
    }
}

#[test]
fn the_name_of_http_2_counts_as_host_does() {
    let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, http::HeaderValue::from_static("en"))]);
    let check =
        |uri: &'static str| OpenPort::default().check((&Method::GET, &Uri::from_static(uri)), &headers);
    assert_eq!(check("https://evil.test:4445/admin/clients"), Err(Stranger::Host));
    assert_eq!(check("https://10.0.0.5:4445/admin/clients"), Ok(()));
}

#[test]
fn where_names_are_listed_no_other_counts_for_anybody() {
    let listed = OpenPort { hosts: vec!["admin.example.com".to_owned()], ..OpenPort::default() };
    let program: &[(&str, &str)] = &[];
    for headers in [program, &[LANGUAGE]] {
        for host in ["Admin.example.com:4445", "127.0.0.1:4445", "hydra.auth.svc"] {
            assert_eq!(check(&listed, host, headers), Ok(()), "{host}");
        }
        assert_eq!(check(&listed, "evil.test:4445", headers), Err(Stranger::Host));
    }
    assert_eq!(check(&listed, "evil.test", &[("sec-fetch-site", "same-origin")]), Err(Stranger::Host));
}

#[test]
fn a_page_of_another_origin_speaks_only_if_it_may() {
    let here = "10.0.0.5:4445";
    for port in
        [OpenPort::default(), OpenPort { cors: Some(cors(&["https://ui.test"])), ..OpenPort::default() }]
    {
        for origin in ["https://evil.test", "null", "", "http://10.0.0.5:4446", "10.0.0.5:4445"] {
            assert_eq!(check(&port, here, &[("origin", origin)]), Err(Stranger::Site), "{origin}");
        }
        assert_eq!(check(&port, here, &[("origin", "http://10.0.0.5:4445")]), Ok(()));
        for site in ["cross-site", "same-site"] {
            assert_eq!(check(&port, here, &[("sec-fetch-site", site)]), Err(Stranger::Site), "{site}");
        }
    }
    let open = OpenPort { cors: Some(cors(&["https://ui.test"])), ..OpenPort::default() };
    for headers in [
        &[("origin", "https://ui.test")][..],
        &[("origin", "https://ui.test"), ("sec-fetch-site", "cross-site")],
    ] {
        assert_eq!(check(&open, here, headers), Ok(()));
    }
    let proxied = [("origin", "https://admin.example.com"), ("sec-fetch-site", "same-origin")];
    assert_eq!(check(&OpenPort::default(), "sluice:4445", &proxied), Ok(()), "a proxy changed the name");
}

/// `*` is the default where cross-origin requests are allowed: with it, every page would be an administrator.
#[test]
fn what_allows_every_origin_lets_no_page_speak_but_those_that_are_named() {
    let speaks = |patterns: &[&str], origin: &str| {
        let open = OpenPort { cors: Some(cors(patterns)), ..OpenPort::default() };
        let headers = [("origin", origin), ("sec-fetch-site", "cross-site")];
        check(&open, "10.0.0.5:4445", &headers).is_ok()
            && check(&open, "10.0.0.5:4445", &headers[..1]).is_ok()
    };
    for anybody in ["*", "https://*", "https://*:8443", "https://app*"] {
        assert!(!speaks(&[anybody], "https://app.evil.test:8443"), "{anybody}");
        assert!(speaks(&[anybody, "https://ui.test"], "https://ui.test"), "{anybody}");
    }
    for (named, origin) in [
        ("https://*.example.com", "https://ui.example.com"),
        ("https://*-ui.example.com", "https://new-ui.example.com"),
        ("http://localhost:*", "http://localhost:5173"),
    ] {
        assert!(speaks(&[named], origin), "{named}");
        assert!(!speaks(&[named], "https://evil.test"), "{named}");
    }
}

#[test]
fn a_proxy_may_introspect_with_the_headers_of_a_browser_but_at_no_name_that_is_not_listed() {
    let open = OpenPort::default();
    let passed_on = [
        LANGUAGE,
        ("origin", "https://app.example.com"),
        ("referer", "https://app.example.com/"),
        ("sec-fetch-site", "same-site"),
    ];
    let introspection = (Method::POST, INTROSPECTION);
    assert_eq!(asks(&open, introspection.clone(), "sso.example.com", &passed_on), Ok(()));
    let others = [
        (Method::GET, INTROSPECTION),
        (Method::POST, "/admin/oauth2/introspect/x"),
        (Method::DELETE, "/admin/oauth2/tokens"),
    ];
    for asked in others {
        assert_eq!(asks(&open, asked, "sso.example.com", &passed_on), Err(Stranger::Site));
    }
    let listed = OpenPort { hosts: vec!["admin.example.com".to_owned()], ..OpenPort::default() };
    assert_eq!(asks(&listed, introspection.clone(), "sso.example.com", &passed_on), Err(Stranger::Host));
    assert_eq!(asks(&listed, introspection, "admin.example.com", &passed_on), Ok(()));
}

#[tokio::test]
async fn who_has_not_the_token_is_refused_with_a_reason_that_is_logged_too() {
    let guard = AdminGuard::Credential(Arc::from([Secret::new("the right one".to_owned())]));
    let app = Router::new().route("/", get(async || "in")).layer(from_fn_with_state(guard, layer));
    let (log, _capturing) = Captured::everything();
    for (header, reason) in [("Basic eDp5", "none was sent"), ("Bearer a-guess", "is another than")] {
        let request = http::Request::get("/").header("authorization", header).body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(response.headers()[WWW_AUTHENTICATE], CHALLENGE);
        assert!(log.text().contains(reason), "{}", log.text());
    }
    assert!(!log.text().contains("a-guess"), "{}", log.text());
}
