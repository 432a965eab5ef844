//! Limits of single calls, and answers that try to take more.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Redirect;
use axum::routing::{any, get};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, StatusCode};
use sluice_net::{FetchError, FetchLimits, FetchPolicy, Fetched, Fetcher, Limits, SelfSigned, self_signed};
use tokio::sync::oneshot;
use url::Url;

use crate::given::*;

/// The beginning of something compressed: whoever unpacks it notices that the rest is missing.
const PACKED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03";

/// A body that begins and never ends.
async fn slow() -> Body {
    let beginning = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
    Body::from_stream(beginning.chain(stream::pending()))
}

async fn server() -> Running {
    let router = Router::new()
        .route("/small", any(|| async { "small" }))
        .route("/slow", any(slow))
        .route("/silent", any(std::future::pending::<()>))
        .route("/packed", get(|| async { ([("content-encoding", "gzip")], PACKED) }))
        .route("/moved", any(|| async { Redirect::temporary("/small") }))
        .route("/to-plain", get(|| async { Redirect::temporary("http://10.0.0.1/") }));
    running(router, Limits::default()).await
}

fn fetcher() -> Fetcher {
    Fetcher::new(FetchPolicy { allow_private: true, ..FetchPolicy::default() }).unwrap()
}

fn url(server: &Running, path: &str) -> Url {
    Url::parse(&format!("http://{}{path}", server.address)).unwrap()
}

async fn get_with(url: &Url, change: impl FnOnce(FetchLimits) -> FetchLimits) -> Result<Fetched, FetchError> {
    let fetcher = fetcher();
    in_time(fetcher.get_with(url, "*/*", change(fetcher.limits()))).await
}

#[tokio::test]
async fn a_body_that_stops_halfway_is_given_up_in_time() {
    let server = server().await;
    let timeout = Duration::from_millis(50);
    let refused = get_with(&url(&server, "/slow"), |limits| FetchLimits { timeout, ..limits }).await;
    assert!(matches!(refused, Err(FetchError::TimedOut)), "{refused:?}");
}

#[tokio::test]
async fn a_call_may_take_what_its_own_limits_say() {
    let server = server().await;
    let at_most = |max_bytes| move |limits| FetchLimits { max_bytes, ..limits };
    let refused = get_with(&url(&server, "/small"), at_most(4)).await;
    assert!(matches!(refused, Err(FetchError::TooLarge { limit: 4 })), "{refused:?}");
    assert_eq!(get_with(&url(&server, "/small"), at_most(5)).await.unwrap().body, "small");
    let refused = get_with(&url(&server, "/moved"), |limits| limits).await;
    assert!(matches!(refused, Err(FetchError::TooManyRedirects)), "{refused:?}");
    let once = |limits| FetchLimits { max_redirects: 1, ..limits };
    assert_eq!(get_with(&url(&server, "/moved"), once).await.unwrap().body, "small");
}

#[tokio::test]
async fn what_is_compressed_stays_so() {
    let server = server().await;
    let fetched = get_with(&url(&server, "/packed"), |limits| limits).await.unwrap();
    assert_eq!(fetched.body, PACKED);
}

#[tokio::test]
async fn a_post_has_its_own_time_and_follows_no_redirect() {
    let server = server().await;
    let fetcher = fetcher();
    let limits = FetchLimits { timeout: Duration::from_millis(50), max_redirects: 3, ..fetcher.limits() };
    for path in ["/silent", "/slow"] {
        let posted =
            in_time(fetcher.post_json_with(&url(&server, path), Bytes::new(), HeaderMap::new(), limits))
                .await;
        assert!(matches!(posted, Err(FetchError::TimedOut)), "{path}: {posted:?}");
    }
    let moved = url(&server, "/moved");
    let answer = in_time(fetcher.post_json(&moved, Bytes::new(), HeaderMap::new())).await.unwrap();
    assert_eq!(answer.status, StatusCode::TEMPORARY_REDIRECT);
}

#[tokio::test]
async fn an_answer_may_begin_soon_or_not_at_all_however_long_its_body_may_take() {
    let server = server().await;
    let begins = |limits| FetchLimits {
        timeout: AT_MOST * 2,
        head_timeout: Some(Duration::from_millis(50)),
        ..limits
    };
    let refused = get_with(&url(&server, "/silent"), begins).await;
    assert!(matches!(refused, Err(FetchError::TimedOut)), "{refused:?}");
}

/// Stands still with its whole runtime, as a process does that hangs.
async fn hung() {
    loop {
        std::thread::park();
    }
}

/// A server over HTTP/2 that hangs once it is asked.
async fn hanging(certificate: SelfSigned) -> SocketAddr {
    let (told, address) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let router = Router::new().route("/", get(hung));
            let server = running_tls(certificate.acceptor().unwrap(), router, Limits::default()).await;
            told.send(server.address).unwrap();
            drop(server.serving.await);
        });
    });
    address.await.unwrap()
}

#[tokio::test]
async fn a_connection_at_whose_other_end_nobody_is_ends_long_before_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let certificate = self_signed(&["127.0.0.1".into()], now()).unwrap();
    std::fs::write(&file, &certificate.certificate).unwrap();
    let policy = FetchPolicy {
        extra_ca_file: Some(file),
        allow_private: true,
        timeout: AT_MOST * 2,
        http2_keep_alive: Some(Duration::from_millis(50)),
        ..FetchPolicy::default()
    };
    let url = Url::parse(&format!("https://{}/", hanging(certificate).await)).unwrap();
    let refused = in_time(Fetcher::new(policy).unwrap().get(&url, "*/*")).await;
    assert!(matches!(refused, Err(FetchError::Transport(_))), "{refused:?}");
}

#[tokio::test]
async fn a_post_to_a_private_address_is_refused() {
    let fetcher = Fetcher::new(FetchPolicy::default()).unwrap();
    for url in ["http://127.0.0.1:1/", "https://localhost:1/", "https://169.254.169.254/"] {
        let url = Url::parse(url).unwrap();
        let refused = fetcher.post_json(&url, Bytes::new(), HeaderMap::new()).await;
        assert!(matches!(refused, Err(FetchError::PrivateAddress)), "{url}: {refused:?}");
    }
}

#[tokio::test]
async fn plain_http_is_refused_where_https_is_demanded_except_on_this_machine() {
    let server = server().await;
    let strict = |limits| FetchLimits { https_only: true, max_redirects: 1, ..limits };
    let mut by_name = url(&server, "/small");
    by_name.set_host(Some("localhost")).unwrap();
    for exempt in [url(&server, "/small"), by_name, url(&server, "/moved")] {
        assert_eq!(get_with(&exempt, strict).await.unwrap().body, "small", "{exempt}");
    }
    let elsewhere = ["http://10.0.0.1/", "http://[fd00::1]/", "http://localhost.test/", "http://1.1.1.1/"];
    let elsewhere = elsewhere.map(|url| Url::parse(url).unwrap());
    for refused in elsewhere.into_iter().chain([url(&server, "/to-plain")]) {
        let answer = get_with(&refused, strict).await;
        assert!(matches!(answer, Err(FetchError::NotHttps)), "{refused}: {answer:?}");
    }
}

#[tokio::test]
async fn where_this_machine_may_not_be_reached_plain_http_to_it_is_not_exempt() {
    let fetcher = Fetcher::new(FetchPolicy::default()).unwrap();
    let limits = FetchLimits { https_only: true, ..fetcher.limits() };
    let by_name = fetcher.get_with(&Url::parse("http://localhost:1/").unwrap(), "*/*", limits).await;
    assert!(matches!(by_name, Err(FetchError::NotHttps)), "{by_name:?}");
    let by_address = fetcher.get_with(&Url::parse("http://127.0.0.1:1/").unwrap(), "*/*", limits).await;
    assert!(matches!(by_address, Err(FetchError::PrivateAddress)), "{by_address:?}");
}

#[tokio::test]
async fn https_is_fetched_where_it_is_demanded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let certificate = self_signed(&["127.0.0.1".into()], now()).unwrap();
    std::fs::write(&file, &certificate.certificate).unwrap();
    let router = Router::new()
        .route("/", get(|| async { "encrypted" }))
        .route("/down", get(|| async { Redirect::temporary("http://127.0.0.1:1/") }));
    let server = running_tls(certificate.acceptor().unwrap(), router, Limits::default()).await;
    let policy = FetchPolicy { extra_ca_file: Some(file), allow_private: true, ..FetchPolicy::default() };
    let fetcher = Fetcher::new(policy).unwrap();
    let limits = FetchLimits { https_only: true, max_redirects: 1, ..fetcher.limits() };
    let url = |path: &str| Url::parse(&format!("https://{}{path}", server.address)).unwrap();
    let fetched = in_time(fetcher.get_with(&url("/"), "*/*", limits)).await.unwrap();
    assert_eq!(fetched.body, "encrypted");
    let refused = in_time(fetcher.get_with(&url("/down"), "*/*", limits)).await;
    assert!(matches!(refused, Err(FetchError::RedirectToPlainHttp)), "{refused:?}");
}
