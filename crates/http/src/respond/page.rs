//! Pages that public handlers answer with: errors, the end of a session, a form that posts itself.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sluice_crypto::digest::sha256;
use sluice_oauth::config::PageLanguage;
use sluice_protocol::ErrorCode;
use url::Url;

use super::oauth_error::{retry_after, status};
use crate::ui::views::{ErrorPage, ExpiredPage, LoggedOutPage, WayOut};
use crate::ui::{UiState, source};

/// What a page without frames and scripts may do.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The same of a page that any page may show in a frame: a click on it does nothing, and leads at most to what operators link to.
const FRAMED: &str =
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors *";

/// What is said of a login that cannot go on, and of a logout.
pub(crate) const SIGN_IN: &str = "This sign-in cannot go on";
pub(crate) const SIGN_OUT: &str = "This sign-out cannot go on";

/// An error as the user sees it.
pub(crate) struct ErrorView<'a> {
    /// What cannot go on: [`SIGN_IN`] or [`SIGN_OUT`].
    pub(crate) title: &'static str,
    pub(crate) code: ErrorCode,
    pub(crate) sentence: &'a str,
    pub(crate) way_out: Option<WayOut<'a>>,
    /// Whether the flow took too long, or was completed before.
    pub(crate) over: bool,
}

/// The error page: the configured one, told by its query (Hydra's `urls.error`), or our own.
pub(crate) fn error_page(ui: &UiState, view: &ErrorView<'_>) -> Response {
    if let Some(page) = &ui.config.pages.error {
        let mut page = page.clone();
        page.query_pairs_mut()
            .append_pair("error", view.code.as_str())
            .append_pair("error_description", view.sentence);
        let location = HeaderValue::from_str(page.as_str()).unwrap_or_else(|_| HeaderValue::from_static("/"));
        return (StatusCode::FOUND, [(LOCATION, location)]).into_response();
    }
    let brand = ui.brand();
    let way_out = view.way_out;
    let html = if view.over {
        ExpiredPage { brand: &brand, request_id: None, way_out }.render()
    } else {
        let page = ErrorPage {
            brand: &brand,
            title: view.title,
            sentence: view.sentence,
            error_code: view.code.as_str(),
            hint: None,
            request_id: None,
            way_out,
        };
        page.render()
    };
    let mut response =
        (if view.over { StatusCode::GONE } else { status(view.code) }, page(html, POLICY)).into_response();
    say_language(&ui.language, &mut response);
    retry_after(view.code, &mut response);
    response
}

/// Says which language a page is in (RFC 9110 §8.5). That it is another one for others need not be said: nobody keeps a page.
pub(crate) fn say_language(language: &PageLanguage, response: &mut Response) {
    if let Ok(tag) = HeaderValue::from_str(language.tag()) {
        response.headers_mut().insert(CONTENT_LANGUAGE, tag);
    }
}

/// Lets an error be seen in the frame, of any site, that it is about.
pub(crate) fn show_in_frame(response: &mut Response) {
    let headers = response.headers_mut();
    headers.remove(X_FRAME_OPTIONS);
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(FRAMED));
}

/// The page at the end of a session, with what clients want to be loaded in frames.
pub(crate) fn logged_out_page(ui: &UiState, frames: &[Url], continue_to: Option<&str>) -> Response {
    let brand = ui.brand();
    let html = LoggedOutPage {
        brand: &brand,
        script: &crate::ui::script(&ui.config),
        frontchannel_urls: frames.iter().map(Url::as_str).collect(),
        continue_url: continue_to,
    };
    let mut response = page(html.render(), &framing(frames, continue_to.is_some()));
    say_language(&ui.language, &mut response);
    response
}

/// The policy of a page with these frames, and with the script if it leads on. Their addresses are what clients say: none adds
/// a directive, or takes a frame of another away.
fn framing(frames: &[Url], leads_on: bool) -> String {
    let sources: Vec<_> = frames.iter().map(source).collect();
    let sources = if sources.is_empty() { "'none'".to_owned() } else { sources.join(" ") };
    let script = if leads_on { "; script-src 'self'" } else { "" };
    format!("{POLICY}{script}; frame-src {sources}")
}

/// A page that posts itself.
pub(crate) struct FormPostPage {
    pub(crate) html: String,
    pub(crate) content_security_policy: String,
}

#[derive(Template)]
#[template(
    source = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Continue</title></head><body>\
<form method=\"post\" action=\"{{ action }}\">{% for (name, value) in fields %}\
<input type=\"hidden\" name=\"{{ name }}\" value=\"{{ value }}\">{% endfor %}\
<noscript><button>Continue</button></noscript></form><script>document.forms[0].submit()</script></body></html>",
    ext = "html"
)]
struct FormPost<'a> {
    action: &'a str,
    fields: &'a [(String, String)],
}

/// The page of the Form Post Response Mode. Its one script is allowed by its hash.
pub(crate) fn form_post_page(action: &str, fields: &[(String, String)]) -> FormPostPage {
    let hash = STANDARD.encode(sha256(b"document.forms[0].submit()"));
    FormPostPage {
        html: FormPost { action, fields }.render().unwrap_or_default(),
        content_security_policy: format!("default-src 'none'; script-src 'sha256-{hash}'; base-uri 'none'"),
    }
}

fn page(html: Result<String, askama::Error>, policy: &str) -> Response {
    let Ok(html) = html else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let mut headers = HeaderMap::new();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    (headers, Html(html)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(frames: &[&str]) -> String {
        let frames: Vec<Url> = frames.iter().map(|url| url.parse().unwrap()).collect();
        let policy = framing(&frames, false);
        policy.strip_prefix(POLICY).and_then(|rest| rest.strip_prefix("; frame-src ")).unwrap().to_owned()
    }

    #[test]
    fn a_page_loads_its_frames_and_no_others() {
        assert_eq!(sources(&[]), "'none'");
        let frames = ["https://app.example/out?sid=1", "http://127.0.0.1:4446/out"];
        assert_eq!(sources(&frames), "https://app.example http://127.0.0.1:4446");
    }

    #[test]
    fn only_a_page_that_leads_on_has_the_script_that_does_not_wait_for_its_frames_without_end() {
        assert!(framing(&[], true).contains("; script-src 'self'; frame-src "));
        assert!(!framing(&[], false).contains("script-src"));
    }

    #[test]
    fn no_host_of_a_frame_says_anything_else_and_every_frame_is_loaded() {
        for host in ["a;sandbox", "a,b", "a;script-src", "[::1]:5000"] {
            let frames = [format!("https://{host}/out"), "https://good.example/out".to_owned()];
            assert_eq!(sources(&frames.each_ref().map(String::as_str)), "https: https://good.example");
        }
    }
}
