//! `GET /ui/style.css`: kept by browsers for as long as they like, because another content has another address.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use sluice_crypto::digest::sha256;
use sluice_oauth::Config;

const STYLE: &str = include_str!("style.css");

/// The beginning of the hash of the content, in hexadecimal.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    sha256(STYLE.as_bytes()).iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a String takes whatever is written
        text
    })
});

/// Where the pages find it.
pub(crate) fn stylesheet(config: &Config) -> String {
    format!("{}/ui/style.css?v={}", config.issuer.path(), *VERSION)
}

/// The style sheet. Without the hash in the address browsers ask again each time.
pub(super) async fn show(RawQuery(query): RawQuery) -> Response {
    let current = query.as_deref().and_then(|query| query.strip_prefix("v=")) == Some(VERSION.as_str());
    let caching = if current { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, "text/css; charset=utf-8"),
        (CACHE_CONTROL, caching),
        (ETAG, &format!("\"{}\"", *VERSION)),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, STYLE).into_response()
}
