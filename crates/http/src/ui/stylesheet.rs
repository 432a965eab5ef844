//! `GET /ui/style.css`: kept by browsers for as long as they like, because another content has another address. So are the
//! script and the icon.

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
static VERSION: LazyLock<String> = LazyLock::new(|| version_of(STYLE));

/// Where the pages find it.
pub(crate) fn stylesheet(config: &Config) -> String {
    format!("{}/ui/style.css?v={}", config.issuer.path(), *VERSION)
}

/// The style sheet. Without the hash in the address browsers ask again each time.
pub(super) async fn show(RawQuery(query): RawQuery) -> Response {
    asset(query.as_deref(), &VERSION, ("text/css; charset=utf-8", STYLE))
}

/// The beginning of the hash of a content, in hexadecimal.
pub(super) fn version_of(content: &str) -> String {
    sha256(content.as_bytes()).iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a String takes whatever is written
        text
    })
}

/// A content of this version and type, for whoever asks with this query.
pub(super) fn asset(
    query: Option<&str>,
    version: &str,
    (media_type, content): (&str, &'static str),
) -> Response {
    let current = query.and_then(|query| query.strip_prefix("v=")) == Some(version);
    let caching = if current { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, caching),
        (ETAG, &format!("\"{version}\"")),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, content).into_response()
}
