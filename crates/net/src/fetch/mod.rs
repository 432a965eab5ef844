//! The one HTTP client for outbound requests: `jwks_uri`, back-channel logout, hooks.
//!
//! [`Fetcher`]: fetches. [`FetchPolicy`]: where to and how much. [`FetchLimits`]: how much for one call.
//! [`UrlPattern`]: exceptions. `public_address`: which
//! addresses are public. `resolver`: connects to these only. [`FetchPlaces`]: how much at once, and of whom. `cache_control`: how long an answer may be kept.
//! `roots`: whom TLS trusts. [`FetchError`]: what went wrong.
//!
//! Whom to call is often a client's choice, so that each call may be an attempt to reach what only this server can.
//! The address that is checked is the address that is connected to: names are resolved once, by the resolver here.
//! No proxies, no cookies, no decompression, nothing from the environment.

mod body;
mod cache_control;
mod error;
mod limits;
mod places;
mod policy;
mod public_address;
mod resolver;
mod roots;
#[cfg(test)]
mod tests;
mod url_pattern;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::{Client, RequestBuilder, Response, redirect};
use rustls::ClientConfig;
use tokio::time::timeout;
use url::{Host, Url};

pub use error::FetchError;
pub use limits::FetchLimits;
pub use places::{FetchPlace, FetchPlaces, host_of};
pub use policy::FetchPolicy;
pub use public_address::is_public;
pub use url_pattern::UrlPattern;

pub(crate) use roots::certificates_in;

use resolver::{LOOKUPS_AT_ONCE, Lookup, Lookups, Reach, Resolver, SystemLookup};

const USER_AGENT: &str = concat!("Sluice/", env!("CARGO_PKG_VERSION"));
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// How long unused connections are kept open.
const IDLE_FOR: Duration = Duration::from_secs(30);

/// An answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The status.
    pub status: StatusCode,
    /// The body, whole.
    pub body: Bytes,
    /// The `Content-Type`, as sent.
    pub content_type: Option<String>,
    /// How long the answer may be kept (RFC 9111 §5.2.2): zero if not at all, `None` if it does not say.
    pub max_age: Option<Duration>,
}

/// Makes outbound requests, and only permitted ones. Clones share connections, and the places for looking up names: who fetches what
/// strangers name fetches nothing else with the same.
#[derive(Debug, Clone)]
pub struct Fetcher {
    /// Reaches public addresses only.
    guarded: Client,
    /// For what the policy exempts.
    open: Client,
    policy: FetchPolicy,
}

impl Fetcher {
    /// Reads the trusted certificates and makes ready; nothing is connected yet.
    ///
    /// # Errors
    /// [`FetchError::ExtraCa`] if the policy's file of certificates is no good.
    pub fn new(policy: FetchPolicy) -> Result<Self, FetchError> {
        Self::with_lookup(policy, &(Arc::new(SystemLookup) as Arc<dyn Lookup>))
    }

    fn with_lookup(policy: FetchPolicy, lookup: &Arc<dyn Lookup>) -> Result<Self, FetchError> {
        let tls = roots::client_config(policy.extra_ca_file.as_deref())?;
        let lookups = Lookups::new(lookup.clone(), LOOKUPS_AT_ONCE);
        let resolver = |reach| Resolver { reach, lookups: lookups.clone() };
        let guarded = client(resolver(Reach::PublicOnly), tls.clone(), &policy)?;
        Ok(Self { guarded, open: client(resolver(Reach::Anything), tls, &policy)?, policy })
    }

    /// What the policy grants each call, to be changed for one.
    pub fn limits(&self) -> FetchLimits {
        FetchLimits::from(&self.policy)
    }

    /// `GET`, following as many redirects as the policy permits.
    ///
    /// # Errors
    /// [`FetchError`]; a status that is no success is not one.
    pub async fn get(&self, url: &Url, accept: &str) -> Result<Fetched, FetchError> {
        self.get_with(url, accept, self.limits()).await
    }

    /// `GET` with limits of its own.
    ///
    /// # Errors
    /// [`FetchError`]; a status that is no success is not one.
    pub async fn get_with(
        &self,
        url: &Url,
        accept: &str,
        limits: FetchLimits,
    ) -> Result<Fetched, FetchError> {
        let accept = HeaderValue::from_str(accept).map_err(|_| FetchError::InvalidHeader)?;
        let headers = HeaderMap::from_iter([(ACCEPT, accept)]);
        self.get_with_headers(url, headers, limits).await
    }

    /// `GET` with limits and headers of its own, which also go where a redirect leads: no credentials belong there.
    ///
    /// # Errors
    /// [`FetchError`]; a status that is no success is not one.
    pub async fn get_with_headers(
        &self,
        url: &Url,
        headers: HeaderMap,
        limits: FetchLimits,
    ) -> Result<Fetched, FetchError> {
        in_time(limits, self.get_through_redirects(url, headers, limits)).await
    }

    /// `POST` of a form to somebody of whose answer only the status counts: the rest is not read. Redirects are answers.
    ///
    /// # Errors
    /// [`FetchError`]; a status that is no success is not one.
    pub async fn post_form(&self, url: &Url, form: &[(&str, &str)]) -> Result<StatusCode, FetchError> {
        let limits = self.limits();
        let request = self.form(url, form, HeaderMap::new(), limits)?;
        let answered = timeout(limits.timeout, send(request, limits)).await;
        Ok(answered.unwrap_or(Err(FetchError::TimedOut))?.status())
    }

    /// `POST` of a form with limits of its own and further `headers`, such as what the caller is authenticated by.
    ///
    /// # Errors
    /// [`FetchError`]; a status that is no success is not one.
    pub async fn post_form_with(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        headers: HeaderMap,
        limits: FetchLimits,
    ) -> Result<Fetched, FetchError> {
        in_time(limits, answer(self.form(url, form, headers, limits)?, limits)).await
    }

    fn form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        mut headers: HeaderMap,
        limits: FetchLimits,
    ) -> Result<RequestBuilder, FetchError> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        headers.insert(CONTENT_TYPE, FORM);
        Ok(self.request(Method::POST, url, limits)?.headers(headers).body(body))
    }

    /// `POST` of JSON, already written, with further `headers`, such as what a hook is authenticated by. Redirects
    /// are answers.
    ///
    /// # Errors
    /// [`FetchError`]; a status that is no success is not one.
    pub async fn post_json(&self, url: &Url, json: Bytes, headers: HeaderMap) -> Result<Fetched, FetchError> {
        self.post_json_with(url, json, headers, self.limits()).await
    }

    /// `POST` of JSON with limits of its own.
    ///
    /// # Errors
    /// [`FetchError`]; a status that is no success is not one.
    pub async fn post_json_with(
        &self,
        url: &Url,
        json: Bytes,
        mut headers: HeaderMap,
        limits: FetchLimits,
    ) -> Result<Fetched, FetchError> {
        headers.insert(CONTENT_TYPE, JSON);
        headers.entry(ACCEPT).or_insert(JSON);
        let request = self.request(Method::POST, url, limits)?.headers(headers).body(json);
        in_time(limits, answer(request, limits)).await
    }

    async fn get_through_redirects(
        &self,
        url: &Url,
        headers: HeaderMap,
        limits: FetchLimits,
    ) -> Result<Fetched, FetchError> {
        let mut url = url.clone();
        let mut redirects_left = limits.redirects();
        loop {
            let request = self.request(Method::GET, &url, limits)?.headers(headers.clone());
            let response = send(request, limits).await?;
            let Some(target) = redirect_target(&url, &response)? else {
                return read(response, limits).await;
            };
            redirects_left = redirects_left.checked_sub(1).ok_or(FetchError::TooManyRedirects)?;
            if url.scheme() == "https" && target.scheme() != "https" {
                return Err(FetchError::RedirectToPlainHttp);
            }
            url = target;
        }
    }

    /// A request that may be sent.
    fn request(&self, method: Method, url: &Url, limits: FetchLimits) -> Result<RequestBuilder, FetchError> {
        let client = self.client_for(url)?;
        if limits.https_only && url.scheme() != "https" && !self.policy.exempts_from_https(url) {
            return Err(FetchError::NotHttps);
        }
        Ok(client.request(method, url.clone()))
    }

    /// Checks what can be told from the URL, and chooses the client that checks the rest.
    fn client_for(&self, url: &Url) -> Result<&Client, FetchError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchError::UnsupportedScheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::Credentials);
        }
        if self.policy.exempts(url) {
            return Ok(&self.open);
        }
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) => None,
            None => return Err(FetchError::UnsupportedScheme),
        };
        match literal {
            Some(address) if !is_public(address) => Err(FetchError::PrivateAddress),
            _ => Ok(&self.guarded),
        }
    }
}

async fn in_time(
    limits: FetchLimits,
    fetching: impl Future<Output = Result<Fetched, FetchError>>,
) -> Result<Fetched, FetchError> {
    timeout(limits.timeout, fetching).await.unwrap_or(Err(FetchError::TimedOut))
}

async fn answer(request: RequestBuilder, limits: FetchLimits) -> Result<Fetched, FetchError> {
    read(send(request, limits).await?, limits).await
}

async fn send(request: RequestBuilder, limits: FetchLimits) -> Result<Response, FetchError> {
    let in_time = limits.head_timeout.unwrap_or(limits.timeout);
    let answered = timeout(in_time, request.send()).await.map_err(|_| FetchError::TimedOut)?;
    answered.map_err(FetchError::of)
}

async fn read(response: Response, limits: FetchLimits) -> Result<Fetched, FetchError> {
    let status = response.status();
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.map(str::to_owned);
    let max_age = cache_control::max_age(response.headers());
    let body = body::read(response, limits.max_bytes).await?;
    Ok(Fetched { status, body, content_type, max_age })
}

/// Decompression is turned off by name: another crate could turn it on by a feature, and a small answer would become a
/// large one.
fn client(resolver: Resolver, tls: ClientConfig, policy: &FetchPolicy) -> Result<Client, FetchError> {
    let mut client = Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(resolver)
        .redirect(redirect::Policy::none())
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .no_proxy()
        .referer(false)
        .user_agent(USER_AGENT)
        .connect_timeout(policy.connecting())
        .pool_max_idle_per_host(policy.idle_per_host)
        .pool_idle_timeout(IDLE_FOR);
    if let Some(silence) = policy.http2_keep_alive {
        client = client.http2_keep_alive_interval(silence).http2_keep_alive_timeout(silence);
    }
    client.build().map_err(FetchError::Setup)
}

/// Where the answer says to go instead, if it does.
fn redirect_target(from: &Url, response: &Response) -> Result<Option<Url>, FetchError> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else { return Ok(None) };
    let location = location.to_str().map_err(|_| FetchError::InvalidRedirect)?;
    from.join(location).map(Some).map_err(|_| FetchError::InvalidRedirect)
}
