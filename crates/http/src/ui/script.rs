//! `GET /ui/sluice.js`: what the pages do better with a script, kept by browsers as the style sheet is.

use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::response::Response;
use sluice_oauth::Config;
use sluice_oauth::config::PageFile;

use super::stylesheet::{address, asset};

static SCRIPT: LazyLock<PageFile> =
    LazyLock::new(|| PageFile::new("text/javascript; charset=utf-8", include_bytes!("sluice.js")));

/// What it says, in English: a page in another language has the words with it.
pub(super) const SENTENCES: [&str; 11] = [
    "Your browser could not prepare this form. Please reload the page.",
    "One moment: your browser is preparing the form.",
    "Show",
    "Hide",
    "Show {field}",
    "Hide {field}",
    "This device has a passkey for your account already.",
    "No passkey was used. You can try again.",
    "Your browser could not use a passkey.",
    "Copied.",
    "Your browser could not copy it.",
];

/// Where the pages find it. Their policy must allow it: [`super::policy::Policy::with_script`].
pub(crate) fn script(config: &Config) -> String {
    address(config, "/ui/sluice.js", &SCRIPT)
}

/// The script. Without the hash in the address browsers ask again each time.
pub(super) async fn show(RawQuery(query): RawQuery) -> Response {
    asset(query.as_deref(), &SCRIPT)
}
