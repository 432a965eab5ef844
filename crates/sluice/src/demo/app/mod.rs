//! The example application: one page, signed out or signed in.
//!
//! [`App`]: the application. `sign_in`, `account`: its routes. `sessions`: who is signed in, in memory. `pages`: the views
//! filled in.

mod account;
mod pages;
mod sessions;
mod sign_in;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use sluice_primitives::{Clock, Rng};
use tokio::net::TcpListener;
use url::Url;

use super::DemoParts;
use super::relying_party::RelyingParty;
use sessions::Sessions;

const STYLESHEET: &str = include_str!("../app.css");
const STYLESHEET_PATH: &str = "/style.css";
const ICON: &str = include_str!("../icon.svg");
const ICON_PATH: &str = "/icon.svg";

/// The example application.
pub(super) struct App {
    party: RelyingParty,
    sessions: Sessions,
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
}

impl App {
    pub(super) fn new(party: RelyingParty, world: DemoParts) -> Self {
        Self { party, sessions: Sessions::default(), clock: world.clock, rng: world.rng }
    }

    /// Where to open it.
    pub(super) fn url(&self) -> &str {
        &self.party.callbacks().home
    }

    /// Serves it until `stopped`.
    ///
    /// # Errors
    /// The listener's.
    pub(super) async fn serve(
        self,
        listener: TcpListener,
        stopped: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        axum::serve(listener, self.router()).with_graceful_shutdown(stopped).await
    }

    fn router(self) -> Router {
        let policy = content_security_policy(self.party.issuer());
        Router::new()
            .route("/", get(account::home))
            .route("/sign-in", get(sign_in::begin))
            .route("/callback", get(sign_in::finish))
            .route("/refresh", post(account::refresh))
            .route("/sign-out", post(account::sign_out))
            .route("/signed-out", get(account::signed_out))
            .route(STYLESHEET_PATH, get(stylesheet))
            .route(ICON_PATH, get(icon))
            .layer(axum::middleware::map_response(move |response| {
                std::future::ready(guarded(response, &policy))
            }))
            .with_state(Arc::new(self))
    }
}

async fn stylesheet() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLESHEET)
}

async fn icon() -> impl IntoResponse {
    ([(CONTENT_TYPE, "image/svg+xml")], ICON)
}

/// The pages show tokens: they are not kept, not framed, and run nothing.
fn guarded(mut response: axum::response::Response, policy: &HeaderValue) -> axum::response::Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Signing out is a form whose answer redirects to the server, which `form-action` must allow.
fn content_security_policy(issuer: &str) -> HeaderValue {
    let server = Url::parse(issuer).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' {server}; frame-ancestors 'none'; base-uri 'none'"
    );
    HeaderValue::from_str(&policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
}
