//! Envoy over gRPC.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use prost::Message;
use sluice_net::PeerAddress;
use tower::Service;

use super::{BEARER, ByToken, LOCAL, NO_HOSTS, STRANGER, Seen, ask, header, service};
use crate::decision::{DecisionBody, DecisionService};

/// Envoy's messages, written down a second time so that a slip in the first is seen.
mod words {
    use std::collections::HashMap;

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Question {
        #[prost(message, optional, tag = "1")]
        pub(super) attributes: Option<Attributes>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Attributes {
        #[prost(bytes = "vec", tag = "1")]
        pub(super) source: Vec<u8>,
        #[prost(message, optional, tag = "4")]
        pub(super) request: Option<Outer>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Outer {
        #[prost(message, optional, tag = "2")]
        pub(super) http: Option<Http>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Http {
        #[prost(string, tag = "1")]
        pub(super) id: String,
        #[prost(string, tag = "2")]
        pub(super) method: String,
        #[prost(map = "string, string", tag = "3")]
        pub(super) headers: HashMap<String, String>,
        #[prost(string, tag = "4")]
        pub(super) path: String,
        #[prost(string, tag = "5")]
        pub(super) host: String,
        #[prost(string, tag = "6")]
        pub(super) scheme: String,
        #[prost(int64, tag = "9")]
        pub(super) size: i64,
        #[prost(string, tag = "11")]
        pub(super) body: String,
        #[prost(bytes = "vec", tag = "12")]
        pub(super) raw_body: Vec<u8>,
    }

    /// An answer as a tree of fields: number, then number of the inner one, and so on, to the texts.
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Answer {
        #[prost(message, optional, tag = "1")]
        pub(super) status: Option<Number>,
        #[prost(message, optional, tag = "2")]
        pub(super) denied: Option<Denied>,
        #[prost(message, optional, tag = "3")]
        pub(super) ok: Option<Ok>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Number {
        #[prost(int32, tag = "1")]
        pub(super) number: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Denied {
        #[prost(message, optional, tag = "1")]
        pub(super) status: Option<Number>,
        #[prost(message, repeated, tag = "2")]
        pub(super) headers: Vec<HeaderOption>,
        #[prost(string, tag = "3")]
        pub(super) body: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Ok {
        #[prost(message, repeated, tag = "2")]
        pub(super) headers: Vec<HeaderOption>,
        #[prost(string, repeated, tag = "5")]
        pub(super) remove: Vec<String>,
        #[prost(message, repeated, tag = "6")]
        pub(super) answer_headers: Vec<HeaderOption>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct HeaderOption {
        #[prost(message, optional, tag = "1")]
        pub(super) header: Option<Header>,
        #[prost(int32, tag = "3")]
        pub(super) action: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Header {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) value: String,
    }
}

use words::{Answer, Attributes, HeaderOption, Http, Outer, Question};

fn check_request(headers: &[(&str, &str)]) -> Vec<u8> {
    check_request_of(order(headers))
}

fn check_request_for(host: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    check_request_of(Http { host: host.to_owned(), ..order(headers) })
}

fn order(headers: &[(&str, &str)]) -> Http {
    Http {
        id: "a request".to_owned(),
        method: "POST".to_owned(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        path: "/orders/7?page=2".to_owned(),
        host: "api.example.com".to_owned(),
        scheme: "https".to_owned(),
        ..Http::default()
    }
}

fn check_request_of(http: Http) -> Vec<u8> {
    // Peer{address: Address{socket_address: SocketAddress{address: "192.0.2.1"}}}
    let source = [&[0x0a, 13, 0x0a, 11, 0x12, 9][..], b"192.0.2.1"].concat();
    let attributes = Attributes { source, request: Some(Outer { http: Some(http) }) };
    Question { attributes: Some(attributes) }.encode_to_vec()
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

async fn call(service: &DecisionService<ByToken>, peer: &str, body: Vec<u8>) -> Response<DecisionBody> {
    let mut request = Request::post("/envoy.service.auth.v3.Authorization/Check")
        .header("content-type", "application/grpc")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    request.extensions_mut().insert(PeerAddress(SocketAddr::new(peer.parse().unwrap(), 4711)));
    service.clone().call(request).await.unwrap()
}

async fn answer(response: Response<DecisionBody>) -> Answer {
    assert_eq!(header(&response, "content-type"), Some("application/grpc"));
    let body = response.into_body().collect().await.unwrap();
    assert_eq!(body.trailers().unwrap().get("grpc-status").unwrap(), "0");
    let bytes = body.to_bytes();
    assert_eq!(bytes[..5], framed(&bytes[5..])[..5]);
    Answer::decode(&bytes[5..]).unwrap()
}

fn lines(headers: &[HeaderOption]) -> Vec<(&str, &str, i32)> {
    headers
        .iter()
        .map(|option| {
            let header = option.header.as_ref().unwrap();
            (header.name.as_str(), header.value.as_str(), option.action)
        })
        .collect()
}

#[tokio::test]
async fn envoy_is_told_over_grpc_what_to_set_and_what_to_remove() {
    for later in [false, true] {
        let (service, judge) = service(later);
        let headers = [
            ("authorization", "Bearer alice"),
            ("oauth-user-id", "mallory"),
            ("oauth-admin", "yes"),
            (":path", "/"),
        ];
        let answer = answer(call(&service, LOCAL, framed(&check_request(&headers))).await).await;
        assert_eq!(answer.status.unwrap().number, 0);
        let ok = answer.ok.unwrap();
        let mut set = lines(&ok.headers);
        set.sort_unstable();
        assert_eq!(set, [("oauth-client-id", "shop", 2), ("oauth-user-id", "alice", 2)]);
        assert_eq!(ok.remove, ["oauth-admin"]);
        assert_eq!(lines(&ok.answer_headers), [("ratelimit", "\"orders\";r=1", 2)]);
        let expected = Seen {
            line: "POST https://api.example.com/orders/7?page=2".to_owned(),
            client: "192.0.2.1".to_owned(),
            ..Seen::default()
        };
        assert_eq!(*judge.seen.lock(), [expected]);
        assert_eq!(*judge.recorded.lock(), [("- /orders/7".to_owned(), 200, "caller")]);
    }
}

#[tokio::test]
async fn envoy_is_told_over_grpc_what_to_answer_to_a_refused_request() {
    for (token, status) in [("Bearer forged", 401), ("Bearer down", 502), ("Bearer often", 429)] {
        let (service, _) = service(false);
        let body = framed(&check_request(&[("authorization", token)]));
        let answer = answer(call(&service, LOCAL, body).await).await;
        assert_eq!(answer.status.unwrap().number, 7);
        let denied = answer.denied.unwrap();
        assert_eq!(denied.status.unwrap().number, status);
        assert_eq!(
            lines(&denied.headers),
            [("www-authenticate", "Bearer", 2), ("www-authenticate", "DPoP", 0)],
        );
        assert_eq!(denied.body, "{}");
    }
}

#[tokio::test]
async fn envoy_is_told_over_grpc_to_refuse_what_is_no_host_to_the_gateway() {
    let (service, judge) = service(false);
    for host in NO_HOSTS {
        let body = framed(&check_request_for(host, &[("authorization", "Bearer alice")]));
        let answer = answer(call(&service, LOCAL, body).await).await;
        assert_eq!(answer.status.unwrap().number, 7, "{host}");
        let denied = answer.denied.unwrap();
        assert_eq!(denied.status.unwrap().number, 400, "{host}");
        let problem = lines(&denied.headers);
        assert!(problem.contains(&("content-type", "application/problem+json", 2)), "{host}");
    }
    assert!(judge.seen.lock().is_empty());
}

/// Over HTTP/2 the scheme is the client's word: behind a proxy that ends TLS it is another than that of its address.
#[tokio::test]
async fn the_scheme_is_that_which_envoy_says() {
    for (said, scheme, expected) in
        [("http", "https", "http"), ("https", "http", "https"), ("wss", "http", "https")]
    {
        let (service, judge) = service(false);
        let question = Http { scheme: scheme.to_owned(), ..order(&[("x-forwarded-proto", said)]) };
        call(&service, LOCAL, framed(&check_request_of(question))).await;
        let line = judge.seen.lock().pop().unwrap().line;
        assert_eq!(line, format!("POST {expected}://api.example.com/orders/7?page=2"), "{said} {scheme}");
    }
}

#[tokio::test]
async fn a_preflight_of_whose_body_envoy_has_some_is_none() {
    let preflight = [("origin", "https://app.example"), ("access-control-request-method", "PUT")];
    let asked = || Http { method: "OPTIONS".to_owned(), ..order(&preflight) };
    for (question, is_preflight) in [
        (asked(), true),
        (Http { size: -1, ..asked() }, true),
        (Http { size: 1, ..asked() }, false),
        (Http { body: "{".to_owned(), ..asked() }, false),
        (Http { raw_body: vec![0xff], ..asked() }, false),
    ] {
        let (service, judge) = service(false);
        let said = format!("{question:?}");
        call(&service, LOCAL, framed(&check_request_of(question))).await;
        assert_eq!(judge.seen.lock().pop().unwrap().preflight, is_preflight, "{said}");
    }
}

#[tokio::test]
async fn a_call_that_is_no_question_fails() {
    let good = framed(&check_request(&[]));
    let mut compressed = good.clone();
    compressed[0] = 1;
    let two = [good.clone(), good.clone()].concat();
    for (peer, body, status, recorded) in [
        (LOCAL, Vec::new(), "3", 400),
        (LOCAL, framed(b""), "3", 400),
        (LOCAL, framed(b"nonsense"), "3", 400),
        (LOCAL, good[..good.len() - 1].to_vec(), "3", 400),
        (LOCAL, two, "3", 400),
        (LOCAL, compressed, "12", 415),
        (LOCAL, vec![0; 2 * 1024 * 1024], "8", 413),
        (STRANGER, good, "7", 403),
    ] {
        let (service, judge) = service(false);
        let response = call(&service, peer, body).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(header(&response, "grpc-status"), Some(status));
        assert!(judge.seen.lock().is_empty());
        assert_eq!(*judge.recorded.lock(), [("- ".to_owned(), recorded, "unreadable")]);
    }
}

#[tokio::test]
async fn what_is_not_grpc_is_told_so() {
    let (service, _) = service(false);
    let response = ask(&service, "/envoy.service.auth.v3.Authorization/Check", &[BEARER]).await;
    assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}
