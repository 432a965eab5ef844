//! `GET /ui/sluice.js`: what the pages do better with a script, kept by browsers as the style sheet is.

use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::response::Response;
use sluice_oauth::Config;

use super::stylesheet::{asset, version_of};

const SCRIPT: &str = include_str!("sluice.js");

static VERSION: LazyLock<String> = LazyLock::new(|| version_of(SCRIPT));

/// Where the pages find it. Their policy must allow it: [`super::policy::Policy::with_script`].
pub(crate) fn script(config: &Config) -> String {
    format!("{}/ui/sluice.js?v={}", config.issuer.path(), *VERSION)
}

/// The script. Without the hash in the address browsers ask again each time.
pub(super) async fn show(RawQuery(query): RawQuery) -> Response {
    asset(query.as_deref(), &VERSION, ("text/javascript; charset=utf-8", SCRIPT))
}
