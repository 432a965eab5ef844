//! `GET /ui/icon.svg`: the mark, as tabs and bookmarks show it, kept by browsers as the style sheet is. A page that names none
//! has browsers look for one where its policy forbids it.

use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::response::Response;
use sluice_oauth::Config;
use sluice_oauth::config::PageFile;

use super::stylesheet::{address, asset};

static ICON: LazyLock<PageFile> =
    LazyLock::new(|| PageFile::new("image/svg+xml", include_bytes!("icon.svg")));

/// Where the pages find it.
pub(super) fn icon(config: &Config) -> String {
    address(config, "/ui/icon.svg", &ICON)
}

/// The icon. Without the hash in the address browsers ask again each time.
pub(super) async fn show(RawQuery(query): RawQuery) -> Response {
    asset(query.as_deref(), &ICON)
}
