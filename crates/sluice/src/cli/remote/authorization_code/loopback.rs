//! The address on this machine that the browser is sent back to (RFC 8252 §7.3).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use url::Url;

use super::page::Page;
use crate::cli::remote::error::RemoteError;

/// Browsers that may wait for a page at the same time.
const WAITING: usize = 8;
/// The most bytes of a form that comes back.
const LARGEST_FORM: usize = 64 * 1024;
/// How long the last page may take to reach the browser.
const LAST_PAGE: Duration = Duration::from_secs(2);

/// A port that is ours.
pub(super) struct Loopback {
    listener: TcpListener,
    address: SocketAddr,
}

/// A port at which browsers are answered.
pub(super) struct Serving {
    arrivals: mpsc::Receiver<Arrival>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
    address: SocketAddr,
}

/// A browser that came back, and waits for a page.
pub(super) struct Arrival {
    parameters: Vec<(String, String)>,
    page: oneshot::Sender<Page>,
}

struct Shared {
    authorization: Url,
    callback_path: String,
    arrivals: mpsc::Sender<Arrival>,
}

impl Loopback {
    /// Takes the port, 0 for any, before a browser is sent anywhere.
    pub(super) async fn bind(port: u16) -> Result<Self, RemoteError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let failed = |source| RemoteError::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// The redirect URI of this port.
    pub(super) fn callback(&self) -> String {
        format!("http://{}/callback", self.address)
    }

    /// Begins to answer. `/` leads to the authorization endpoint.
    pub(super) fn serve(self, authorization: Url, callback_path: String) -> Serving {
        let (to, arrivals) = mpsc::channel(WAITING);
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::new(Shared { authorization, callback_path, arrivals: to });
        let app = Router::new().fallback(answer).with_state(shared);
        let serving = axum::serve(self.listener, app).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        let server = tokio::spawn(async move { serving.await });
        Serving { arrivals, stop, server, address: self.address }
    }
}

impl Serving {
    /// The next browser that comes back.
    pub(super) async fn next(&mut self) -> Result<Arrival, RemoteError> {
        let gone = || std::io::Error::other("the listener ended");
        let failed = || RemoteError::Listen { address: self.address.to_string(), source: gone() };
        self.arrivals.recv().await.ok_or_else(failed)
    }

    /// Ends when the last page has reached its browser.
    pub(super) async fn stop(self) {
        let _ = self.stop.send(());
        let server = self.server.abort_handle();
        if timeout(LAST_PAGE, self.server).await.is_err() {
            server.abort();
        }
    }
}

impl Arrival {
    /// What came back under this name, once.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(candidate, _)| candidate == name).map(|(_, value)| value.as_str())
    }

    /// Shows the page; a browser that left does not see it.
    pub(super) fn show(self, page: Page) {
        let _ = self.page.send(page);
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path();
    if path == shared.callback_path {
        return come_back(&shared, request).await;
    }
    if path == "/" || path == "/perform-flow" {
        return Redirect::to(shared.authorization.as_str()).into_response();
    }
    StatusCode::NOT_FOUND.into_response()
}

async fn come_back(shared: &Shared, request: Request) -> Response {
    let encoded = match *request.method() {
        Method::GET => request.uri().query().unwrap_or_default().as_bytes().to_vec(),
        Method::POST => match to_bytes(request.into_body(), LARGEST_FORM).await {
            Ok(form) => form.to_vec(),
            Err(_) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        },
        _ => return StatusCode::METHOD_NOT_ALLOWED.into_response(),
    };
    let (page, shown) = oneshot::channel();
    let arrival = Arrival { parameters: form_urlencoded::parse(&encoded).into_owned().collect(), page };
    if shared.arrivals.send(arrival).await.is_err() {
        return StatusCode::GONE.into_response();
    }
    match shown.await {
        Ok(page) => Html(page.html()).into_response(),
        Err(_) => StatusCode::GONE.into_response(),
    }
}
