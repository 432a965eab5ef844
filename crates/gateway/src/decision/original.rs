//! The request that another proxy asks about, as that proxy describes it.

use std::net::Ipv4Addr;

use http::request::Parts;
use http::{HeaderMap, Method};
use sluice_net::{ClientAddress, is_host, is_over_tls};

use super::endpoint::Endpoint;
use super::malformed::Malformed;
use crate::authn::Asked;

/// The original request: all that a verdict needs but its headers, which came with the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Original<'a> {
    pub(super) method: Method,
    pub(super) https: bool,
    pub(super) host: &'a str,
    pub(super) path: &'a str,
    pub(super) query: Option<&'a str>,
    /// Whether the proxy says that it has a body, which does not come with the question.
    pub(super) has_body: bool,
    pub(super) client: ClientAddress,
}

impl Original<'_> {
    /// The request as the gateway judges it.
    pub(super) fn asked<'b>(&'b self, headers: &'b HeaderMap, certificate: Option<[u8; 32]>) -> Asked<'b> {
        Asked {
            method: &self.method,
            https: self.https,
            host: self.host,
            path: self.path,
            query: self.query,
            headers,
            has_body: self.has_body,
            client: self.client.address,
            certificate,
            last: None,
        }
    }
}

/// What the asking proxy says over HTTP about the original request. `client` is whom `X-Forwarded-For` and
/// `Forwarded` lead to.
///
/// # Errors
/// [`Malformed`] if the proxy does not say enough, or what cannot be.
pub(super) fn original<'a>(
    endpoint: Endpoint,
    question: &'a Parts,
    client: ClientAddress,
    envoy_prefix: &str,
) -> Result<Original<'a>, Malformed> {
    let headers = &question.headers;
    match endpoint {
        Endpoint::TokenValidation => token_alone(question),
        Endpoint::AuthRequest => {
            let method = method(headers, "x-original-method")?;
            let target = required(headers, "x-original-uri")?;
            let host = host_in("x-original-host", question)?;
            described(headers, method, host, (target, "x-original-uri"), client)
        }
        Endpoint::ForwardAuth => {
            let method = method(headers, "x-forwarded-method")?;
            let target = required(headers, "x-forwarded-uri")?;
            let host = host_in("x-forwarded-host", question)?;
            described(headers, method, host, (target, "x-forwarded-uri"), client)
        }
        Endpoint::EnvoyHttp | Endpoint::EnvoyGrpc => {
            let target = question.uri.path_and_query().map_or("", |target| target.as_str());
            let target = target.strip_prefix(envoy_prefix).unwrap_or(target);
            described(headers, question.method.clone(), host(question)?, (target, "path"), client)
        }
    }
}

/// A question about a token, whatever the request is. The address of the client is what the proxy says; without a word it is nobody's,
/// never the proxy's.
fn token_alone(question: &Parts) -> Result<Original<'_>, Malformed> {
    let client = match one(&question.headers, "oauth-ip")? {
        Some(address) => {
            ClientAddress::named(address.parse().map_err(|_| Malformed::Unreadable("oauth-ip"))?)
        }
        None => ClientAddress { address: Ipv4Addr::UNSPECIFIED.into(), is_named: false },
    };
    Ok(Original {
        method: question.method.clone(),
        https: true,
        host: "",
        path: question.uri.path(),
        query: None,
        has_body: false,
        client,
    })
}

fn described<'a>(
    headers: &HeaderMap,
    method: Method,
    host: &'a str,
    (target, name): (&'a str, &'static str),
    client: ClientAddress,
) -> Result<Original<'a>, Malformed> {
    if !target.starts_with('/') {
        return Err(Malformed::Unreadable(name));
    }
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let https = one(headers, "x-forwarded-proto")?.is_some_and(|scheme| is_over_tls(scheme.as_bytes()));
    Ok(Original { method, https, host, path, query, has_body: has_body(headers), client })
}

/// Length and coding of a question are its own, so a proxy says those of the original request under other names. Empty, or a length of 0:
/// it has no body.
fn has_body(headers: &HeaderMap) -> bool {
    let mut lengths = headers.get_all("x-original-content-length").iter();
    let mut codings = headers.get_all("x-original-transfer-encoding").iter();
    lengths.any(|length| !length.is_empty() && length != "0") || codings.any(|coding| !coding.is_empty())
}

fn method(headers: &HeaderMap, name: &'static str) -> Result<Method, Malformed> {
    required(headers, name)?.parse().map_err(|_| Malformed::Unreadable(name))
}

/// The host that the proxy names in this header, else that of the question.
fn host_in<'a>(name: &'static str, question: &'a Parts) -> Result<&'a str, Malformed> {
    match one(&question.headers, name)? {
        Some(host) => readable(host, name),
        None => host(question),
    }
}

/// The host that the question itself is for: some proxies pass on that of the original request.
fn host(question: &Parts) -> Result<&str, Malformed> {
    let host = match question.uri.authority() {
        Some(authority) => authority.as_str(),
        None => required(&question.headers, "host")?,
    };
    readable(host, "host")
}

/// A host as the gateway itself takes it. The application might read any other differently, and so not be asked what was judged.
fn readable<'a>(host: &'a str, name: &'static str) -> Result<&'a str, Malformed> {
    if is_host(host.as_bytes()) { Ok(host) } else { Err(Malformed::Unreadable(name)) }
}

fn required<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a str, Malformed> {
    one(headers, name)?.ok_or(Malformed::Missing(name))
}

/// The only line of a header.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Malformed> {
    let mut lines = headers.get_all(name).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        return Err(Malformed::Repeated(name));
    }
    line.to_str().map(Some).map_err(|_| Malformed::Unreadable(name))
}
