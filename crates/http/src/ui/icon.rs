//! `GET /ui/icon.svg`: the mark, as tabs and bookmarks show it, kept by browsers as the style sheet is. A page that names none
//! has browsers look for one where its policy forbids it.

use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::response::Response;
use sluice_oauth::Config;

use super::stylesheet::{asset, version_of};

const ICON: &str = include_str!("icon.svg");

static VERSION: LazyLock<String> = LazyLock::new(|| version_of(ICON));

/// Where the pages find it.
pub(super) fn icon(config: &Config) -> String {
    format!("{}/ui/icon.svg?v={}", config.issuer.path(), *VERSION)
}

/// The icon. Without the hash in the address browsers ask again each time.
pub(super) async fn show(RawQuery(query): RawQuery) -> Response {
    asset(query.as_deref(), &VERSION, ("image/svg+xml", ICON))
}
