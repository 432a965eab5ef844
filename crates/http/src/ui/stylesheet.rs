//! `GET /ui/style.css`: kept by browsers for as long as they like, because another content has another address. So are the
//! script, the icon, and what operators add.

use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use sluice_oauth::Config;
use sluice_oauth::config::PageFile;

static STYLE: LazyLock<PageFile> =
    LazyLock::new(|| PageFile::new("text/css; charset=utf-8", include_bytes!("style.css")));

/// Where the pages find it.
pub(crate) fn stylesheet(config: &Config) -> String {
    address(config, "/ui/style.css", &STYLE)
}

/// The style sheet. Without the hash in the address browsers ask again each time.
pub(super) async fn show(RawQuery(query): RawQuery) -> Response {
    asset(query.as_deref(), &STYLE)
}

/// Where the pages find what is at this path, in this version.
pub(super) fn address(config: &Config, path: &str, file: &PageFile) -> String {
    format!("{}{path}?v={}", config.issuer.path(), file.version())
}

/// A file, for whoever asks with this query.
pub(super) fn asset(query: Option<&str>, file: &PageFile) -> Response {
    let version = file.version();
    let current = query.and_then(|query| query.strip_prefix("v=")) == Some(version);
    let caching = if current { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, file.media_type()),
        (CACHE_CONTROL, caching),
        (ETAG, &format!("\"{version}\"")),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Bytes::from_owner(file.content())).into_response()
}
