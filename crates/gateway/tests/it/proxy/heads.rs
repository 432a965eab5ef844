//! What the upstream sees of a request, and the client of an answer.

use sluice_gateway::Refusal;

use super::given::*;

/// What the upstream gets for `request`.
async fn seen(setup: impl FnOnce(&mut Setup), request: &str) -> Message {
    let (address, mut requests) = Backend::bind().await.recording();
    let mut prepared = Setup::to(&[address]);
    setup(&mut prepared);
    let world = prepared.start().await;
    let answer = world.ask(request).await;
    assert_eq!((answer.status(), answer.text()), (200, "ok"), "{request:?}");
    in_time(requests.recv()).await.unwrap()
}

#[tokio::test]
async fn path_and_query_go_on_byte_for_byte() {
    for target in ["/", "/a%2fb/%C3%A4//c;d=1?x=%20&y=+", "/?", "//double", "/a:b@c!$&'()*+,;="] {
        let seen = seen(|_| {}, &format!("GET {target} HTTP/1.1\r\nhost: api.example\r\n\r\n")).await;
        assert_eq!(seen.line(), format!("GET {target} HTTP/1.1"));
    }
}

#[tokio::test]
async fn an_empty_path_before_a_query_goes_on_as_a_slash() {
    let seen = seen(|_| {}, "GET http://api.example?x=1 HTTP/1.1\r\nhost: api.example\r\n\r\n").await;
    assert_eq!(seen.line(), "GET /?x=1 HTTP/1.1");
}

#[tokio::test]
async fn a_prefix_is_replaced_and_the_query_kept() {
    let rewrite = |setup: &mut Setup| {
        setup.route.rewrite_prefix = Some("/v2".to_owned());
        setup.route.prefix_segments = 1;
    };
    let seen = seen(rewrite, "GET /api/users?x=1 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(seen.line().ends_with("/users?x=1 HTTP/1.1") && seen.line().starts_with("GET /v2"), "{seen:?}");
}

#[tokio::test]
async fn hop_by_hop_headers_go_no_further_and_lies_about_the_origin_are_replaced() {
    let request = "GET / HTTP/1.1\r\nhost: api.example\r\nconnection: keep-alive, x-mine\r\nx-mine: 1\r\n\
        keep-alive: timeout=5\r\nte: gzip\r\nproxy-connection: keep-alive\r\nproxy-authorization: Basic eA==\r\n\
        upgrade: h2c\r\nx-forwarded-for: 127.0.0.1\r\nforwarded: for=127.0.0.1\r\nx-forwarded-proto: https\r\n\
        oauth-user-id: root\r\naccept: */*\r\n\r\n";
    let seen = seen(|_| {}, request).await;
    for gone in [
        "connection",
        "x-mine",
        "keep-alive",
        "te",
        "proxy-connection",
        "proxy-authorization",
        "upgrade",
        "oauth-user-id",
    ] {
        assert_eq!(seen.header(gone), None, "{seen:?}");
    }
    assert_eq!(seen.header("accept"), Some("*/*"));
    assert_eq!(seen.all("x-forwarded-for"), ["127.0.0.1"], "the peer's, this time");
    assert_eq!(seen.all("forwarded"), ["for=127.0.0.1;proto=http;host=\"api.example\""]);
    assert_eq!(seen.header("x-forwarded-proto"), Some("http"));
    assert_eq!(seen.header("x-forwarded-host"), Some("api.example"));
}

#[tokio::test]
async fn a_trusted_proxys_word_is_continued() {
    let request = "GET / HTTP/1.1\r\nhost: api.example\r\nx-forwarded-for: 203.0.113.9\r\nx-forwarded-proto: https\r\n\r\n";
    let seen = seen(|setup| setup.trusts = true, request).await;
    assert_eq!(seen.all("x-forwarded-for"), ["203.0.113.9, 127.0.0.1"]);
    assert_eq!(seen.header("x-forwarded-proto"), Some("https"));
    assert_eq!(seen.header("forwarded"), None);
}

#[tokio::test]
async fn a_client_takes_nothing_away_that_a_trusted_proxy_says() {
    let request = "GET / HTTP/1.1\r\nhost: api.example\r\nx-forwarded-for: 203.0.113.9\r\nx-forwarded-host: www.example\r\n\
        connection: close, X-Forwarded-For, X-Forwarded-Host\r\n\r\n";
    let believing = |setup: &mut Setup| {
        setup.trusts = true;
        setup.route.enrichment.forward_host = true;
    };
    let told = seen(believing, request).await;
    assert_eq!(told.all("x-forwarded-for"), ["203.0.113.9, 127.0.0.1"]);
    assert_eq!(told.all("x-forwarded-host"), ["www.example"]);
    assert_eq!(told.header("forwarded"), None);
    let forwarded =
        "GET / HTTP/1.1\r\nhost: api.example\r\nforwarded: for=203.0.113.9\r\nconnection: forwarded\r\n\r\n";
    let told = seen(|setup| setup.trusts = true, forwarded).await;
    assert!(told.header("forwarded").unwrap().starts_with("for=203.0.113.9, for=127.0.0.1;"), "{told:?}");
    let of_a_client = seen(|_| {}, request).await;
    assert_eq!(of_a_client.all("x-forwarded-for"), ["127.0.0.1"], "the peer's");
    assert_eq!(of_a_client.all("x-forwarded-host"), ["api.example"]);
}

#[tokio::test]
async fn the_host_that_was_judged_is_told_whatever_a_trusted_proxy_passes_on() {
    let request = "GET / HTTP/1.1\r\nhost: www.example\r\nx-forwarded-for: 203.0.113.9\r\nx-forwarded-host: admin.example\r\n\
        x-forwarded_host: admin.example\r\nforwarded: host=admin.example\r\n\r\n";
    let told = seen(|setup| setup.trusts = true, request).await;
    assert_eq!(told.all("x-forwarded-host"), ["www.example"]);
    assert_eq!(told.all("forwarded"), ["for=unknown, for=127.0.0.1;proto=http;host=\"www.example\""]);
    assert!(!told.head.contains("admin"), "{told:?}");
}

#[tokio::test]
async fn the_host_is_kept_or_replaced_as_the_route_says() {
    assert_eq!(seen(|_| {}, GET).await.all("host"), ["api.example"]);
    let replaced = seen(|setup| setup.route.preserve_host = false, GET).await;
    assert!(replaced.header("host").unwrap().starts_with("127.0.0.1:"), "{replaced:?}");
    let absolute = "GET http://real.example/a HTTP/1.1\r\nhost: other.example\r\n\r\n";
    let seen = seen(|_| {}, absolute).await;
    assert_eq!((seen.line(), seen.all("host")), ("GET /a HTTP/1.1", vec!["real.example"]));
}

/// Programs that go by `X-Forwarded-Host` refuse an empty one.
#[tokio::test]
async fn of_a_request_without_a_host_none_is_told() {
    let old = seen(|_| {}, "GET / HTTP/1.0\r\nx-forwarded-host: b.example\r\n\r\n").await;
    assert_eq!(old.all("x-forwarded-host"), [""; 0]);
    assert_eq!(seen(|_| {}, GET).await.all("x-forwarded-host"), ["api.example"]);
}

#[tokio::test]
async fn the_gateway_names_itself_behind_the_proxies_before_it() {
    let naming = |setup: &mut Setup| setup.route.enrichment.via = true;
    let request = "GET / HTTP/1.1\r\nhost: a\r\nvia: 1.1 edge\r\nvia: 2 cdn\r\n\r\n";
    let (own, old) = (format!("1.1 {PSEUDONYM}"), format!("1.0 {PSEUDONYM}"));
    assert_eq!(seen(naming, request).await.all("via"), ["1.1 edge", "2 cdn", own.as_str()]);
    assert_eq!(seen(naming, "GET / HTTP/1.0\r\n\r\n").await.all("via"), [old.as_str()]);
    assert_eq!(seen(|_| {}, request).await.all("via"), ["1.1 edge", "2 cdn"], "unless the route says so");
}

/// RFC 9110 §7.6.2. Of other methods it says nothing.
#[tokio::test]
async fn an_options_goes_as_far_as_it_says() {
    let asked =
        |method: &str, hops: &str| format!("{method} /a HTTP/1.1\r\nhost: a\r\nmax-forwards: {hops}\r\n\r\n");
    for (method, hops, left) in [("OPTIONS", "1", "0"), ("OPTIONS", "7", "6"), ("GET", "0", "0")] {
        assert_eq!(seen(|_| {}, &asked(method, hops)).await.all("max-forwards"), [left], "{method} {hops}");
    }
    let mut world = Setup::to(&[nowhere()]).start().await;
    for (path, methods) in [("/a", Some("GET, HEAD, OPTIONS")), ("/all", None)] {
        let answer = world.ask(&asked("OPTIONS", "0").replace("/a ", &format!("{path} "))).await;
        assert_eq!((answer.status(), answer.text(), answer.header("allow")), (204, "", methods), "{path}");
        assert_eq!(answer.header("ratelimit"), Some("announced"), "{path}");
        assert_eq!(world.told().await.upstream, None, "{path}");
    }
}

/// RFC 9110 §9.3.7: it is about the gateway, and nobody's token is asked for.
#[tokio::test]
async fn an_options_about_no_path_is_answered_by_the_gateway() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.refusal = Some(Refusal::TokenMissing);
    let mut world = setup.start().await;
    for hops in ["", "max-forwards: 0\r\n", "max-forwards: 3\r\n"] {
        let answer = world.ask(&format!("OPTIONS * HTTP/1.1\r\nhost: a\r\n{hops}\r\n")).await;
        assert_eq!((answer.status(), answer.text()), (204, ""), "{hops}");
        let told = world.told().await;
        assert_eq!((told.verdict, told.path.as_str(), told.upstream), ("asterisk", "*", None), "{hops}");
    }
}

/// Its upstream is the gateway itself: without an end it would take up all that an upstream may have.
#[tokio::test]
async fn a_request_that_comes_round_again_is_refused_once_and_for_all() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.route.enrichment.via = true;
    setup.upstream.retries = 3;
    let mut world = setup.start().await;
    world.move_to(world.address);
    let answer = world.ask(GET).await;
    assert_eq!((answer.status(), answer.header("content-type")), (508, Some("application/problem+json")));
    assert!(answer.text().contains("\"code\":\"loop\""), "{answer:?}");
    let (inner, outer) = (world.told().await, world.told().await);
    let seen = |told: &Told| (told.status.map(|status| status.as_u16()), told.fault, told.retries);
    assert_eq!((seen(&inner), inner.upstream), ((Some(508), Some("loop"), 0), None));
    assert_eq!((seen(&outer), outer.upstream), ((Some(508), None, 0), Some(world.address.to_string())));
    assert!(!sluice_gateway::proxy::Fault::Loop.blames_server());
}

#[tokio::test]
async fn an_answer_loses_hop_by_hop_headers_and_keeps_the_rest() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.say(
                "HTTP/1.1 418 Short And Stout\r\nserver: theirs\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
                connection: x-hop\r\nx-hop: 1\r\nkeep-alive: 5\r\nset-cookie: a\r\nset-cookie: b\r\ncontent-length: 0\r\n\r\n",
            )
            .await;
        }
    });
    let world = Setup::to(&[address]).start().await;
    let answer = world.ask(GET).await;
    assert_eq!(answer.line(), "HTTP/1.1 418 Short And Stout");
    assert_eq!(answer.all("set-cookie"), ["a", "b"]);
    assert_eq!(answer.header("server"), Some("theirs"));
    assert_eq!(answer.all("date"), ["Thu, 01 Jan 1970 00:00:00 GMT"]);
    assert_eq!(answer.header("ratelimit"), Some("announced"));
    assert_eq!((answer.header("x-hop"), answer.header("keep-alive")), (None, None));
}

#[tokio::test]
async fn answers_without_a_body_keep_their_headers_and_the_connection() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        for answer in [
            "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            OK,
        ] {
            peer.head().await;
            peer.say(answer).await;
        }
    });
    let world = Setup::to(&[address]).start().await;
    let mut client = Peer::new(world.connect().await);
    client.say("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let head = client.head().await.unwrap().to_lowercase();
    assert!(head.contains("content-length: 5000\r\n"), "{head}");
    for (status, etag) in [(304, true), (204, false)] {
        client.say(GET).await;
        let head = client.head().await.unwrap().to_lowercase();
        assert!(head.starts_with(&format!("http/1.1 {status}")) && head.contains("etag") == etag, "{head}");
    }
    client.say(GET).await;
    assert_eq!(client.answer().await.unwrap().text(), "ok");
}

/// Where its own server leads, as the application calls it.
#[tokio::test]
async fn a_location_leads_back_to_the_route_where_that_is_wanted() {
    let address = Backend::bind().await.serve(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let host = request.header("host").unwrap();
            let location = format!("location: http://{host}/v2/login\r\nrefresh: 0; /v2/x\r\n");
            peer.say(format!("HTTP/1.1 302 Found\r\n{location}content-length: 0\r\n\r\n")).await;
        }
    });
    for (is_wanted, preserves_host) in [(true, false), (true, true), (false, false)] {
        let mut setup = Setup::to(&[address]);
        (setup.route.rewrite_prefix, setup.route.prefix_segments) = (Some("/v2".to_owned()), 1);
        (setup.route.rewrite_location, setup.route.preserve_host) = (is_wanted, preserves_host);
        let world = setup.start().await;
        let answer = world.ask("GET /app/cart HTTP/1.1\r\nhost: api.example:8443\r\n\r\n").await;
        let expected = if is_wanted {
            "http://api.example:8443/app/login".to_owned()
        } else {
            format!("http://{address}/v2/login")
        };
        assert_eq!((answer.status(), answer.all("location")), (302, vec![expected.as_str()]));
        assert_eq!(answer.header("refresh"), Some("0; /v2/x"));
    }
}

#[tokio::test]
async fn what_goes_wrong_under_a_route_is_answered_with_its_limits_too() {
    let mut setup = Setup::to(&[nowhere()]);
    setup.route.max_body = Some(1);
    let world = setup.start().await;
    for (request, status) in [(GET, 502), ("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi", 413)]
    {
        let answer = world.ask(request).await;
        assert_eq!((answer.status(), answer.header("ratelimit")), (status, Some("announced")));
    }
    let malformed = world.ask("GET / HTTP/1.1\r\nhost: a@b\r\n\r\n").await;
    assert_eq!((malformed.status(), malformed.header("ratelimit")), (400, None), "it came to no route");
}

#[tokio::test]
async fn documents_and_refusals_are_answered_without_the_upstream() {
    let world = Setup::to(&[nowhere()]).start().await;
    let answer = world.ask("GET /document HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!((answer.status(), answer.text()), (200, "a document"));
    let mut setup = Setup::to(&[nowhere()]);
    setup.refusal = Some(sluice_gateway::Refusal::TokenMissing);
    let world = setup.start().await;
    let post = "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n";
    let answer = world.ask(post).await;
    assert_eq!((answer.status(), answer.text()), (401, "refused"), "and never 100");
    let connect = world.ask("CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n").await;
    assert_eq!(connect.status(), 501);
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_told_of() {
    let mut world = Setup::to(&[nowhere()]).start().await;
    let large = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "x".repeat(70_000));
    for (request, status) in [
        ("GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
        (large.as_str(), 431),
    ] {
        assert_eq!(world.ask(request).await.status(), status);
        let told = world.told().await;
        assert_eq!((told.status.unwrap().as_u16(), told.verdict), (status, "unreadable"));
        assert!(told.client.is_loopback() && told.path.is_empty(), "{told:?}");
    }
}
