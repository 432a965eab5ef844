//! `GET /ui/theme.css` and `GET /ui/logo`: what operators make the pages look like, kept by browsers as the style sheet is.

use axum::extract::RawQuery;
use axum::http::header::{CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue};
use axum::response::Response;
use sluice_oauth::Config;

use super::UiState;
use super::error;
use super::stylesheet::{address, asset};

pub(super) const THEME: &str = "/ui/theme.css";
pub(super) const LOGO: &str = "/ui/logo";

/// What a logo may do that is opened by itself: an SVG is a document, and its scripts would be ours. Styles are part of the picture.
const INERT: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Where the pages find the style sheet that comes after the built-in one, if there is one.
pub(super) fn theme(config: &Config) -> Option<String> {
    config.pages.look.stylesheet.as_ref().map(|file| address(config, THEME, file))
}

/// Where they find the logo, if there is one.
pub(super) fn logo(config: &Config) -> Option<String> {
    config.pages.look.logo.as_ref().map(|file| address(config, LOGO, file))
}

/// The style sheet.
pub(super) async fn show_theme(ui: UiState, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    match &ui.config.pages.look.stylesheet {
        Some(file) => asset(query.as_deref(), file),
        None => error::not_found(ui, headers).await,
    }
}

/// The logo.
pub(super) async fn show_logo(ui: UiState, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let Some(file) = &ui.config.pages.look.logo else {
        return error::not_found(ui, headers).await;
    };
    let mut answer = asset(query.as_deref(), file);
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(INERT));
    answer
}
