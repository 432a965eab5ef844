//! Request objects by reference (OpenID Connect Core §6.2, RFC 9101 §5.2): fetched from where their client said, when it
//! was registered, that they would be, and from nowhere else.

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_crypto::digest::sha256;
use sluice_crypto::jwe::MAX_TOKEN;
use sluice_net::{FetchLimits, Fetcher};
use thiserror::Error;
use url::Url;

use super::error::RequestObjectError;
use crate::client::Client;

/// A longer URI is refused, in bytes (OpenID Connect Core §6.2).
const MAX_URI: usize = 512;
/// What an answer may say that it is.
const MEDIA_TYPES: [&str; 2] = ["application/oauth-authz-req+jwt", "application/jwt"];

/// There is no request object at a URI.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the request object could not be fetched: {0}")]
pub struct RequestObjectUnreachable(pub String);

/// Where request objects are fetched. Guarded against inner networks, endless bodies and slow servers.
#[async_trait]
pub trait RequestObjectSource: Send + Sync {
    /// The request object at `uri`.
    async fn fetch(&self, uri: &Url) -> Result<Vec<u8>, RequestObjectUnreachable>;
}

#[async_trait]
impl RequestObjectSource for Fetcher {
    async fn fetch(&self, uri: &Url) -> Result<Vec<u8>, RequestObjectUnreachable> {
        let usual = self.limits();
        let limits = FetchLimits {
            https_only: true,
            max_redirects: 0,
            max_bytes: usual.max_bytes.min(MAX_TOKEN),
            ..usual
        };
        let answer = self.get_with(uri, &MEDIA_TYPES.join(", "), limits).await;
        let answer = answer.map_err(|why| RequestObjectUnreachable(why.to_string()))?;
        if !answer.status.is_success() {
            let status = answer.status.as_u16();
            return Err(RequestObjectUnreachable(format!("the answer has the status {status}")));
        }
        let named = answer.content_type.as_deref().and_then(|text| text.split(';').next()).map(str::trim);
        if !named.is_some_and(|named| MEDIA_TYPES.iter().any(|known| known.eq_ignore_ascii_case(named))) {
            return Err(RequestObjectUnreachable(
                "the answer is not of the type of a request object".to_owned(),
            ));
        }
        Ok(answer.body.into())
    }
}

/// The object at `uri`, if the client registered that.
pub(super) async fn fetch(
    source: &dyn RequestObjectSource,
    uri: &str,
    client: &Client,
) -> Result<String, RequestObjectError> {
    let (place, fragment) = uri.split_once('#').unwrap_or((uri, ""));
    let registered = |own: &String| own.split('#').next() == Some(place);
    if uri.len() > MAX_URI || !client.request_uris.iter().any(registered) {
        return Err(RequestObjectError::NotRegistered);
    }
    let url = Url::parse(place).map_err(|_| RequestObjectError::NotRegistered)?;
    let body = source.fetch(&url).await?;
    // OpenID Connect Core §6.2: a fragment may be the hash of what is there.
    if hash(fragment).is_some_and(|hash| hash != sha256(&body)) {
        return Err(RequestObjectUnreachable("it is not what the fragment says".to_owned()).into());
    }
    let text = String::from_utf8(body);
    let text = text.map_err(|_| RequestObjectUnreachable("it is no text".to_owned()))?;
    Ok(text.trim_ascii().to_owned())
}

/// The SHA-256 that a fragment is, if it can be one.
fn hash(fragment: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(fragment).ok()?.try_into().ok()
}
