//! A running server: requests to it, and its answers.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LINK, WWW_AUTHENTICATE};
use reqwest::{Client, Method, RequestBuilder, StatusCode, redirect};
use rustls::ClientConfig;
use serde_json::Value;
use url::Url;

use super::error::RemoteError;
use super::refusal::Refusal;

const USER_AGENT: &str = concat!("Sluice/", env!("CARGO_PKG_VERSION"));
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
/// What the admin port asks for.
const ADMIN_PORT: &str = "Bearer realm=\"sluice admin\"";
const ADMIN_TOKEN_ADVICE: &str =
    "the variable SLUICE_ADMIN_TOKEN must hold serve.admin.bearer_token of that server";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running server. Redirects are not followed and proxies not used, so that a credential goes where it was sent.
pub(super) struct Server {
    client: Client,
    base: Url,
}

/// What a server answers.
pub(super) struct Reply {
    endpoint: String,
    pub(super) status: StatusCode,
    headers: HeaderMap,
    /// `Null` if there is no body, or none that is JSON.
    pub(super) json: Value,
}

impl Server {
    pub(super) fn new(base: Url, headers: HeaderMap, tls: ClientConfig) -> Result<Self, RemoteError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .user_agent(USER_AGENT)
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| RemoteError::Setup(error.into()))?;
        Ok(Self { client, base })
    }

    /// A URL below the endpoint; each segment is escaped.
    pub(super) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.set_query(None);
        // http and https URLs always have a path.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    pub(super) async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Reply, RemoteError> {
        self.try_get(path, query).await?.accepted()
    }

    /// As [`Self::get`], but a refusal is an answer too.
    pub(super) async fn try_get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Reply, RemoteError> {
        self.send(self.client.get(with_query(self.url(path), query))).await
    }

    pub(super) async fn delete(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Reply, RemoteError> {
        let request = self.client.delete(with_query(self.url(path), query));
        self.send(request).await?.accepted()
    }

    /// Sends JSON.
    pub(super) async fn send_json(
        &self,
        method: Method,
        path: &[&str],
        json: &Value,
    ) -> Result<Reply, RemoteError> {
        let request = self.client.request(method, self.url(path));
        let request = request.header(CONTENT_TYPE, JSON).body(json.to_string());
        self.send(request).await?.accepted()
    }

    /// Sends a `POST` without a body.
    pub(super) async fn post(&self, path: &[&str]) -> Result<Reply, RemoteError> {
        self.send(self.client.post(self.url(path))).await?.accepted()
    }

    /// Posts a form, as the client that `authorization` names if there is one.
    pub(super) async fn post_form(
        &self,
        url: Url,
        form: &[(&str, &str)],
        authorization: Option<HeaderValue>,
    ) -> Result<Reply, RemoteError> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut request = self.client.post(url).header(CONTENT_TYPE, FORM).body(body);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        self.send(request).await?.accepted()
    }

    async fn send(&self, request: RequestBuilder) -> Result<Reply, RemoteError> {
        let failed = |error: reqwest::Error| RemoteError::Unreachable {
            endpoint: self.base.to_string(),
            source: error.without_url(),
        };
        let response = request.header(ACCEPT, JSON).send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(failed)?;
        let json = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Reply { endpoint: self.base.to_string(), status, headers, json })
    }
}

impl Reply {
    /// The answer, if it is one.
    fn accepted(self) -> Result<Self, RemoteError> {
        if self.status.is_success() { Ok(self) } else { Err(RemoteError::Refused(self.refusal())) }
    }

    /// The answer, read as a refusal.
    pub(super) fn refusal(self) -> Refusal {
        let is_of_admin_port =
            self.headers.get(WWW_AUTHENTICATE).is_some_and(|challenge| challenge == ADMIN_PORT);
        let refusal = Refusal::read(self.endpoint, self.status, &self.json);
        if is_of_admin_port { refusal.advising(ADMIN_TOKEN_ADVICE) } else { refusal }
    }

    /// The JSON of an answer that must have some.
    pub(super) fn into_json(self) -> Result<Value, RemoteError> {
        if self.json.is_null() {
            return Err(RemoteError::Nonsense { endpoint: self.endpoint, reason: "it is not JSON" });
        }
        Ok(self.json)
    }

    /// The token of the next page, from the header `Link` (RFC 8288).
    pub(super) fn next_page_token(&self) -> Option<String> {
        let links = self.headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
        let next = links.flat_map(|value| value.split(',')).find(|link| link.contains("rel=\"next\""))?;
        let (_, target) = next.split_once('<')?;
        let (target, _) = target.split_once('>')?;
        let (_, query) = target.split_once('?')?;
        let mut parameters = form_urlencoded::parse(query.as_bytes());
        let (_, token) = parameters.find(|(name, _)| name == "page_token")?;
        Some(token.into_owned()).filter(|token| !token.is_empty())
    }
}

fn with_query(mut url: Url, query: &[(&str, &str)]) -> Url {
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}
