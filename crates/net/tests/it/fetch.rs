//! Fetching: limits, redirects, what an answer tells.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request};
use axum::response::Redirect;
use axum::routing::{any, get};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, StatusCode};
use sluice_net::{FetchError, FetchPolicy, Fetcher, Limits, self_signed};
use url::Url;

use crate::given::*;

/// Answers with the request it got.
async fn echo(request: Request) -> String {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1024).await.unwrap();
    format!("{} {:?} {}", parts.method, parts.headers, String::from_utf8_lossy(&body))
}

async fn many_bytes(Path(bytes): Path<usize>) -> Vec<u8> {
    vec![b'x'; bytes]
}

/// A body without end and without length.
async fn endless() -> Body {
    Body::from_stream(stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[0; 1000]))))
}

async fn server() -> Running {
    let kept = ([("cache-control", "public, max-age=300"), ("age", "60")], "{}");
    let router = Router::new()
        .route("/echo", any(echo))
        .route("/bytes/{bytes}", get(many_bytes))
        .route("/endless", any(endless))
        .route("/silent", get(std::future::pending::<()>))
        .route("/kept", get(move || async move { kept }))
        .route("/unkept", get(|| async { ([("cache-control", "max-age=9, no-store")], "{}") }))
        .route("/loop", get(|| async { Redirect::to("/loop") }))
        .route("/twice", get(|| async { Redirect::to("/once") }))
        .route("/once", get(|| async { Redirect::temporary("kept") }))
        .route("/inside", get(|| async { Redirect::to("http://127.0.0.1:1/secret") }))
        .route("/inside/by-name", get(|| async { Redirect::to("http://localhost:1/secret") }))
        .route("/file", get(|| async { Redirect::to("file:///etc/passwd") }));
    running(router, Limits::default()).await
}

fn everywhere() -> FetchPolicy {
    FetchPolicy { allow_private: true, ..FetchPolicy::default() }
}

fn url(server: &Running, path: &str) -> Url {
    Url::parse(&format!("http://{}{path}", server.address)).unwrap()
}

async fn get_with(policy: FetchPolicy, url: &Url) -> Result<sluice_net::Fetched, FetchError> {
    in_time(Fetcher::new(policy).unwrap().get(url, "application/json")).await
}

#[tokio::test]
async fn an_answer_is_whole_whatever_its_status() {
    let server = server().await;
    let fetched = get_with(everywhere(), &url(&server, "/kept")).await.unwrap();
    assert_eq!((fetched.status, &fetched.body[..]), (StatusCode::OK, &b"{}"[..]));
    assert_eq!(fetched.content_type.as_deref(), Some("text/plain; charset=utf-8"));
    assert_eq!(fetched.max_age, Some(Duration::from_mins(4)));
    let unkept = get_with(everywhere(), &url(&server, "/unkept")).await.unwrap();
    assert_eq!(unkept.max_age, Some(Duration::ZERO));
    let missing = get_with(everywhere(), &url(&server, "/missing")).await.unwrap();
    assert_eq!((missing.status, missing.max_age), (StatusCode::NOT_FOUND, None));
}

#[tokio::test]
async fn a_request_says_no_more_than_it_must() {
    let server = server().await;
    let fetched = get_with(everywhere(), &url(&server, "/echo")).await.unwrap();
    let echoed = String::from_utf8(fetched.body.to_vec()).unwrap();
    assert!(echoed.contains("\"accept\": \"application/json\""), "{echoed}");
    for unwanted in ["cookie", "referer", "accept-encoding", "authorization"] {
        assert!(!echoed.contains(unwanted), "{echoed}");
    }
}

#[tokio::test]
async fn forms_and_json_are_posted_as_they_are() {
    let server = server().await;
    let fetcher = Fetcher::new(everywhere()).unwrap();
    let (echo, form) = (url(&server, "/echo"), [("logout_token", "a b&c")]);
    assert_eq!(fetcher.post_form(&echo, &form).await.unwrap(), StatusCode::OK);
    let form = fetcher.post_form_with(&echo, &form, HeaderMap::new(), fetcher.limits()).await.unwrap();
    let form = String::from_utf8(form.body.to_vec()).unwrap();
    assert!(form.starts_with("POST") && form.ends_with("logout_token=a+b%26c"), "{form}");
    assert!(form.contains("application/x-www-form-urlencoded"), "{form}");
    let key = headers(&[("authorization", "Bearer key")]);
    let json = fetcher.post_json(&url(&server, "/echo"), Bytes::from_static(b"[1]"), key).await.unwrap();
    let json = String::from_utf8(json.body.to_vec()).unwrap();
    assert!(
        json.ends_with("[1]") && json.contains("application/json") && json.contains("Bearer key"),
        "{json}"
    );
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_announced_or_not() {
    let server = server().await;
    let policy = FetchPolicy { max_body_bytes: 5000, ..everywhere() };
    assert_eq!(get_with(policy.clone(), &url(&server, "/bytes/5000")).await.unwrap().body.len(), 5000);
    for path in ["/bytes/5001", "/endless"] {
        let refused = get_with(policy.clone(), &url(&server, path)).await;
        assert!(matches!(refused, Err(FetchError::TooLarge { limit: 5000 })), "{path}: {refused:?}");
    }
    // Where only the status counts, it does, whatever comes behind it.
    let fetcher = Fetcher::new(policy).unwrap();
    assert_eq!(fetcher.post_form(&url(&server, "/endless"), &[]).await.unwrap(), StatusCode::OK);
    let refused = fetcher.post_form(&url(&server, "/bytes/1"), &[]).await.unwrap();
    assert_eq!(refused, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up_in_time() {
    let server = server().await;
    let policy = FetchPolicy { timeout: Duration::from_millis(50), ..everywhere() };
    let refused = get_with(policy, &url(&server, "/silent")).await;
    assert!(matches!(refused, Err(FetchError::TimedOut)), "{refused:?}");
}

#[tokio::test]
async fn redirects_are_followed_as_far_as_permitted() {
    let server = server().await;
    let with = |max_redirects| FetchPolicy { max_redirects, ..everywhere() };
    assert_eq!(get_with(with(2), &url(&server, "/twice")).await.unwrap().body, "{}");
    for (policy, path) in [(with(0), "/once"), (with(1), "/twice"), (with(255), "/loop")] {
        let refused = get_with(policy, &url(&server, path)).await;
        assert!(matches!(refused, Err(FetchError::TooManyRedirects)), "{path}: {refused:?}");
    }
}

#[tokio::test]
async fn a_redirect_from_an_exempt_url_to_a_private_address_is_refused() {
    let server = server().await;
    let exempt_urls = vec![format!("http://{}/**", server.address).parse().unwrap()];
    let policy = FetchPolicy { exempt_urls, max_redirects: 3, ..FetchPolicy::default() };
    assert!(get_with(policy.clone(), &url(&server, "/once")).await.is_ok());
    for path in ["/inside", "/inside/by-name"] {
        let refused = get_with(policy.clone(), &url(&server, path)).await;
        assert!(matches!(refused, Err(FetchError::PrivateAddress)), "{path}: {refused:?}");
    }
    let refused = get_with(policy, &url(&server, "/file")).await;
    assert!(matches!(refused, Err(FetchError::UnsupportedScheme)), "{refused:?}");
}

#[tokio::test]
async fn an_exempt_host_is_reached_by_name_and_by_no_other() {
    let server = server().await;
    let policy = FetchPolicy { exempt_hosts: vec!["localhost".into()], ..FetchPolicy::default() };
    let mut by_name = url(&server, "/kept");
    by_name.set_host(Some("localhost")).unwrap();
    assert!(get_with(policy.clone(), &by_name).await.is_ok());
    let refused = get_with(policy, &url(&server, "/kept")).await;
    assert!(matches!(refused, Err(FetchError::PrivateAddress)), "{refused:?}");
}

#[tokio::test]
async fn a_certificate_is_trusted_only_if_its_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let certificate = self_signed(&["127.0.0.1".into()], now()).unwrap();
    std::fs::write(&file, &certificate.certificate).unwrap();
    let router = Router::new().route("/", get(|| async { "encrypted" }));
    let server = running_tls(certificate.acceptor().unwrap(), router, Limits::default()).await;
    let url = Url::parse(&format!("https://{}/", server.address)).unwrap();
    let refused = get_with(everywhere(), &url).await;
    assert!(matches!(refused, Err(FetchError::Transport(_))), "{refused:?}");
    let trusting = FetchPolicy { extra_ca_file: Some(file.clone()), ..everywhere() };
    assert_eq!(get_with(trusting.clone(), &url).await.unwrap().body, "encrypted");
    std::fs::write(&file, "nothing").unwrap();
    assert!(matches!(Fetcher::new(trusting), Err(FetchError::ExtraCa { .. })));
}
