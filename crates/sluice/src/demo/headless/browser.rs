//! A browser, as far as the server can tell: it keeps cookies, follows redirects and submits forms.

use std::collections::BTreeMap;

use cookie::Cookie;
use cookie::time::Duration;
use http::header::{COOKIE, LOCATION, ORIGIN, REFRESH, SET_COOKIE};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::form::Form;

const MAX_REDIRECTS: usize = 10;

/// Where the browser ended up.
#[derive(Debug)]
pub(super) enum Landing {
    /// On a page of the server.
    Page(Page),
    /// At the application, with what the server gave along.
    Application(Url),
}

#[derive(Debug)]
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) html: String,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum BrowserError {
    #[error("no answer from {0}")]
    Unreachable(String, #[source] reqwest::Error),
    #[error("a redirect without a usable Location")]
    Location,
    #[error("more than {MAX_REDIRECTS} redirects")]
    TooManyRedirects,
}

/// One person's browser.
pub(super) struct Browser {
    http: reqwest::Client,
    /// By name. All pages are of one host, and cookies do not tell ports apart.
    cookies: BTreeMap<String, String>,
    /// Where the application begins: it is not asked, for it may not be there.
    application: String,
}

impl Browser {
    /// A browser without cookies. `http` follows no redirects.
    pub(super) fn new(http: reqwest::Client, application: &str) -> Self {
        Self { http, cookies: BTreeMap::new(), application: application.to_owned() }
    }

    /// Opens an address.
    pub(super) async fn open(&mut self, url: Url) -> Result<Landing, BrowserError> {
        self.follow(url, None).await
    }

    /// Submits a form.
    pub(super) async fn submit(&mut self, form: &Form) -> Result<Landing, BrowserError> {
        self.follow(form.action.clone(), Some(form)).await
    }

    async fn follow(&mut self, first: Url, form: Option<&Form>) -> Result<Landing, BrowserError> {
        let (mut url, mut form) = (first, form);
        for _ in 0..=MAX_REDIRECTS {
            if url.as_str().starts_with(&self.application) {
                return Ok(Landing::Application(url));
            }
            let response = self.request(&url, form).await?;
            self.keep_cookies(response.headers());
            let status = response.status();
            if let Some(next) = refreshed(response.headers()) {
                (url, form) = (next, None);
                continue;
            }
            if !status.is_redirection() {
                let html = response.text().await.map_err(|error| unreachable_at(&url, error))?;
                return Ok(Landing::Page(Page { url, status, html }));
            }
            let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            url = location.and_then(|location| url.join(location).ok()).ok_or(BrowserError::Location)?;
            if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
                form = None;
            }
        }
        Err(BrowserError::TooManyRedirects)
    }

    async fn request(&self, url: &Url, form: Option<&Form>) -> Result<reqwest::Response, BrowserError> {
        let method = if form.is_some() { Method::POST } else { Method::GET };
        let mut request = self.http.request(method, url.clone()).header("sec-fetch-mode", "navigate");
        if !self.cookies.is_empty() {
            let pairs: Vec<String> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header(COOKIE, pairs.join("; "));
        }
        if let Some(form) = form {
            let origin = url.origin().ascii_serialization();
            request =
                request.header(ORIGIN, origin).header("sec-fetch-site", "same-origin").form(form.fields());
        }
        request.send().await.map_err(|error| unreachable_at(url, error))
    }

    fn keep_cookies(&mut self, headers: &HeaderMap) {
        let cookies = headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        for cookie in cookies.filter_map(|text| Cookie::parse(text).ok()) {
            let (name, value) = (cookie.name().to_owned(), cookie.value().to_owned());
            if cookie.max_age() == Some(Duration::ZERO) || value.is_empty() {
                self.cookies.remove(&name);
            } else {
                self.cookies.insert(name, value);
            }
        }
    }
}

/// Where a page leads by itself, at once.
fn refreshed(headers: &HeaderMap) -> Option<Url> {
    let (_, next) = headers.get(REFRESH)?.to_str().ok()?.split_once("0;url=")?;
    next.parse().ok()
}

/// The query is left out: it carries the flow.
fn unreachable_at(url: &Url, error: reqwest::Error) -> BrowserError {
    BrowserError::Unreachable(
        format!("{}{}", url.origin().ascii_serialization(), url.path()),
        error.without_url(),
    )
}
