//! What is between a gateway and the link of its server, and may swallow the feed.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use reqwest::{Client, StatusCode};
use tokio::net::TcpListener;
use url::Url;

use crate::application::http_client;

/// Passes questions on to a link.
pub(super) struct Relay {
    pub(super) url: Url,
    wire: Arc<Wire>,
}

struct Wire {
    link: Url,
    http: Client,
    swallows_feed: AtomicBool,
}

impl Relay {
    /// To this link.
    pub(super) async fn before(link: Url) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let wire = Arc::new(Wire { link, http: http_client(), swallows_feed: AtomicBool::new(false) });
        let router = Router::new().fallback(pass_on).with_state(wire.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, wire }
    }

    /// From here on, or up to here, questions about the feed get no answer. All others do.
    pub(super) fn swallow_feed(&self, swallows: bool) {
        self.wire.swallows_feed.store(swallows, Ordering::SeqCst);
    }
}

async fn pass_on(State(wire): State<Arc<Wire>>, uri: Uri, headers: HeaderMap, question: Bytes) -> Response {
    if wire.swallows_feed.load(Ordering::SeqCst) && uri.path().ends_with("/feed") {
        return pending().await;
    }
    let mut request = wire.http.post(wire.link.join(uri.path()).unwrap()).body(question);
    for name in [AUTHORIZATION, CONTENT_TYPE] {
        request = request.header(&name, &headers[&name]);
    }
    let Ok(answer) = request.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    let (status, content) = (answer.status(), answer.headers().get(CONTENT_TYPE).cloned());
    let mut response = (status, answer.bytes().await.unwrap_or_default()).into_response();
    if let Some(content) = content {
        response.headers_mut().insert(CONTENT_TYPE, content);
    }
    response
}
