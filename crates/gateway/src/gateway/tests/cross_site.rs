//! Pages of other sites, whose requests a browser sends with the cookie that the token is in.

use super::*;
use crate::route::TokenSources;

fn by_cookie() -> RoutePolicy {
    let sources = TokenSources {
        cookie: Some("session".to_owned()),
        origins: vec![HeaderValue::from_static("https://app.example.com")],
        ..TokenSources::default()
    };
    RoutePolicy { sources, ..RoutePolicy::default() }
}

fn post() -> Ask {
    Ask::to("/orders").method(Method::POST)
}

fn with_cookie(ask: Ask) -> Ask {
    ask.header("cookie", "a=b; session=alice")
}

#[tokio::test]
async fn with_a_cookie_only_pages_of_the_host_and_those_that_are_named_do_something() {
    let gateway = GivenGateway::with(&[("/orders", by_cookie())]);
    for (origin, passes) in [
        ("https://api.example.com", true),
        ("https://API.example.com", true),
        ("https://app.example.com", true),
        ("https://evil.example", false),
        ("https://api.example.com.evil.example", false),
        ("https://api.example.com:8443", false),
        ("http://api.example.com", false),
        ("http://app.example.com", false),
        ("null", false),
        ("", false),
    ] {
        let judged = gateway.judge(&with_cookie(post()).header("origin", origin)).await;
        if passes {
            assert_eq!(caller(&judged).subject(), Some("alice"), "{origin}");
        } else {
            assert_eq!(refusal(&judged), Refusal::CrossSite, "{origin}");
            assert_eq!(gateway.gateway.refuse(&judged).status(), 403);
        }
    }
    let two = with_cookie(post())
        .header("origin", "https://api.example.com")
        .header("origin", "https://evil.example");
    assert_eq!(refusal(&gateway.judge(&two).await), Refusal::CrossSite);
}

#[tokio::test]
async fn the_port_of_the_scheme_need_not_be_named() {
    let gateway = GivenGateway::with(&[("/orders", by_cookie())]);
    for (host, origin, passes) in [
        ("api.example.com:443", "https://api.example.com", true),
        ("api.example.com:8443", "https://api.example.com:8443", true),
        ("api.example.com:8443", "https://api.example.com", false),
        ("api.example.com:80", "https://api.example.com", false),
    ] {
        let judged = gateway.judge(&with_cookie(post()).host(host).header("origin", origin)).await;
        assert_eq!(matches!(judged.verdict, Verdict::Caller(_)), passes, "{host} {origin}");
    }
}

#[tokio::test]
async fn where_a_proxy_ended_tls_unnamed_the_page_is_of_the_host_all_the_same() {
    let gateway = GivenGateway::with(&[("/orders", by_cookie())]);
    for origin in ["https://api.example.com", "http://api.example.com"] {
        let ask = with_cookie(post()).header("origin", origin);
        let asked = Asked { https: false, ..ask.asked() };
        let Judging::Now(judged) = gateway.gateway.judge(&asked) else { panic!("somebody was asked") };
        assert_eq!(caller(&judged).subject(), Some("alice"), "{origin}");
    }
}

#[tokio::test]
async fn a_websocket_is_opened_by_no_page_of_another_site() {
    let gateway = GivenGateway::with(&[("/orders", by_cookie())]);
    let opening = [("upgrade", "websocket"), ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")];
    for (name, value) in opening {
        let ask = |origin| with_cookie(Ask::to("/orders")).header(name, value).header("origin", origin);
        assert_eq!(refusal(&gateway.judge(&ask("https://evil.example")).await), Refusal::CrossSite, "{name}");
        assert_eq!(caller(&gateway.judge(&ask("https://api.example.com")).await).subject(), Some("alice"));
    }
}

#[tokio::test]
async fn what_only_reads_or_comes_from_no_page_or_brings_its_token_itself_passes() {
    let preflights = RoutePolicy {
        preflight: Preflight::Pass,
        cors_credentials: vec![HeaderValue::from_static("https://own.example")],
        ..by_cookie()
    };
    let gateway = GivenGateway::with(&[("/orders", by_cookie()), ("/own", preflights)]);
    let evil = |ask: Ask| ask.header("origin", "https://evil.example");
    let passing = [
        evil(with_cookie(Ask::to("/orders"))),
        evil(with_cookie(Ask::to("/orders").method(Method::HEAD))),
        evil(with_cookie(Ask::to("/orders").method(Method::OPTIONS))),
        with_cookie(post()),
        evil(post().bearer("alice")),
        evil(post().bearer("alice").header("cookie", "a=b")),
        with_cookie(Ask::to("/own").method(Method::POST)).header("origin", "https://own.example"),
    ];
    for ask in passing {
        let judged = gateway.judge(&ask).await;
        assert_eq!(caller(&judged).subject(), Some("alice"), "{:?}", ask.asked());
    }
    let nobody = gateway.judge(&evil(post())).await;
    assert_eq!(refusal(&nobody), Refusal::TokenMissing, "there is no cookie");
}
