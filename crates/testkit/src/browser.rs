//! A browser without windows: cookies, and redirects that a test follows one by one. And the login and consent pages, as
//! an application of their own would be.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime, ManualClock, Timestamp};
use url::Url;

use crate::client::{Authorize, TestClient};
use crate::node::TestSluice;

/// A client that follows no redirect.
pub(crate) fn without_redirects() -> reqwest::Client {
    // Fails if another test was first: then there is one.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("an HTTP client")
}

/// What a browser got.
#[derive(Debug, Clone)]
pub struct Page {
    /// The status.
    pub status: StatusCode,
    /// Where it is sent, if it is.
    pub location: Option<Url>,
    /// The text.
    pub body: String,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
}

impl Page {
    /// Where it is sent.
    pub fn location(&self) -> &Url {
        self.location.as_ref().unwrap_or_else(|| panic!("no redirect but {}: {}", self.status, self.body))
    }

    /// A parameter of the address where it is sent.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let url = self.location.as_ref()?;
        url.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
    }

    /// A parameter that must be there.
    pub fn expect(&self, name: &str) -> String {
        self.parameter(name)
            .unwrap_or_else(|| panic!("no `{name}` in {:?} ({}): {}", self.location, self.status, self.body))
    }
}

/// A browser: its cookies and nothing else.
#[derive(Clone)]
pub struct Browser {
    public: Url,
    http: reqwest::Client,
    /// Its cookies, by name.
    pub cookies: BTreeMap<String, String>,
    /// When those end that said so.
    ends: BTreeMap<String, Timestamp>,
    clock: Option<Arc<ManualClock>>,
    /// What it says in the head of each request.
    said: Vec<(&'static str, String)>,
}

impl Browser {
    /// A browser that has never been at this public listener. It keeps its cookies however long they say.
    pub fn of(public: Url) -> Self {
        let (cookies, ends) = (BTreeMap::new(), BTreeMap::new());
        Self { public, http: without_redirects(), cookies, ends, clock: None, said: Vec::new() }
    }

    /// The same browser, which forgets its cookies when they say, by this clock.
    #[must_use]
    pub(crate) fn by(self, clock: Arc<ManualClock>) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// The same browser, which says this in the head of each request.
    #[must_use]
    pub fn saying(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.said.push((name, value.into()));
        self
    }

    /// The same browser, led to another node.
    #[must_use]
    pub fn at(&self, sluice: &TestSluice) -> Self {
        Self { public: sluice.public.clone(), ..self.clone() }
    }

    /// Visits a page of the server; the issuer's name stands for the node's own address.
    pub async fn visit(&mut self, url: &str) -> Page {
        self.request(Method::GET, url, None, &[]).await
    }

    /// Sends a form.
    pub async fn submit(&mut self, url: &str, form: &[(&str, &str)]) -> Page {
        self.request(Method::POST, url, Some(form), &[]).await
    }

    /// Sends a request with further headers.
    pub async fn request(
        &mut self,
        method: Method,
        url: &str,
        form: Option<&[(&str, &str)]>,
        headers: &[(&str, &str)],
    ) -> Page {
        self.forget();
        let mut target = self.public.join(url).expect("a URL");
        target.set_scheme("http").expect("http");
        target.set_host(self.public.host_str()).expect("a host");
        target.set_port(self.public.port()).expect("a port");
        let mut request = self.http.request(method, target);
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header(COOKIE, cookies.join("; "));
        }
        for (name, value) in &self.said {
            request = request.header(*name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(form) = form {
            request = request.form(form);
        }
        let answer = request.send().await.expect("the server answers");
        self.keep(&answer);
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let location = location.and_then(|text| self.public.join(text).ok());
        let (status, headers) = (answer.status(), answer.headers().clone());
        Page { status, location, headers, body: answer.text().await.unwrap_or_default() }
    }

    fn keep(&mut self, answer: &reqwest::Response) {
        for cookie in answer.headers().get_all(SET_COOKIE) {
            let text = cookie.to_str().expect("a cookie");
            let (pair, attributes) = text.split_once(';').unwrap_or((text, ""));
            let (name, value) = pair.split_once('=').expect("a cookie");
            let mut attributes = attributes.split(';').map(str::trim);
            let age = attributes.find_map(|attribute| attribute.strip_prefix("Max-Age="));
            self.ends.remove(name);
            if age == Some("0") || value.is_empty() {
                self.cookies.remove(name);
                continue;
            }
            self.cookies.insert(name.to_owned(), value.to_owned());
            if let (Some(age), Some(clock)) = (age, &self.clock) {
                let end = clock.now() + Lifetime::secs(age.parse().expect("a number of seconds"));
                self.ends.insert(name.to_owned(), end);
            }
        }
    }

    /// Is closed and opened again: it has the cookies that said when they end, if it goes by a clock.
    pub fn close(&mut self) {
        let ends = &self.ends;
        self.cookies.retain(|name, _| ends.contains_key(name));
    }

    fn forget(&mut self) {
        let Some(now) = self.clock.as_ref().map(|clock| clock.now()) else { return };
        let (cookies, ends) = (&mut self.cookies, &mut self.ends);
        ends.retain(|name, end| {
            let lives = now < *end;
            if !lives {
                cookies.remove(name);
            }
            lives
        });
    }

    /// Begins a flow; the login challenge.
    pub async fn begin(&mut self, client: &TestClient, with: &Authorize<'_>) -> String {
        self.visit(&client.authorize_url(with)).await.expect("login_challenge")
    }

    /// The whole flow: login as `subject`, consent to everything, back with a code.
    pub async fn log_in(&mut self, sluice: &TestSluice, client: &TestClient, subject: &str) -> Page {
        self.log_in_with(sluice, client, &Authorize::default(), &json!({"subject": subject})).await
    }

    /// The whole flow, with this request and this acceptance of the login.
    pub async fn log_in_with(
        &mut self,
        sluice: &TestSluice,
        client: &TestClient,
        with: &Authorize<'_>,
        login: &Value,
    ) -> Page {
        let challenge = self.begin(client, with).await;
        let verifier = accept_login(sluice, &challenge, login).await;
        let challenge = self.visit(&verifier).await.expect("consent_challenge");
        let verifier = accept_consent(sluice, &challenge, &json!({})).await;
        self.visit(&verifier).await
    }
}

/// Accepts a login as a login page does; where the browser goes next.
pub async fn accept_login(sluice: &TestSluice, challenge: &str, body: &Value) -> String {
    let path = format!("/admin/oauth2/auth/requests/login/accept?login_challenge={challenge}");
    redirect_to(&sluice.ask_json(Method::PUT, &path, Some(body), 200).await)
}

/// Accepts everything that was asked for as a consent page does, changed by `changes`; where the browser goes next.
pub async fn accept_consent(sluice: &TestSluice, challenge: &str, changes: &Value) -> String {
    let path = format!("/admin/oauth2/auth/requests/consent?consent_challenge={challenge}");
    let asked = sluice.ask_json(Method::GET, &path, None, 200).await;
    let mut body = json!({
        "grant_scope": asked["requested_scope"],
        "grant_access_token_audience": asked["requested_access_token_audience"],
    });
    if let (Some(body), Some(changes)) = (body.as_object_mut(), changes.as_object()) {
        body.extend(changes.clone());
    }
    let path = format!("/admin/oauth2/auth/requests/consent/accept?consent_challenge={challenge}");
    redirect_to(&sluice.ask_json(Method::PUT, &path, Some(&body), 200).await)
}

/// The `redirect_to` of an answer.
pub fn redirect_to(answer: &Value) -> String {
    answer["redirect_to"].as_str().unwrap_or_else(|| panic!("no redirect_to in {answer}")).to_owned()
}
