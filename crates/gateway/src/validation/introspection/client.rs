//! How the gateway authenticates itself to an issuer (RFC 6749 §2.3.1, RFC 6750 §2.1).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, InvalidHeaderValue};
use http::{HeaderMap, HeaderValue};
use url::form_urlencoded::byte_serialize;
use zeroize::Zeroizing;

use crate::validation::config::IntrospectionClient;

/// The headers and the beginning of the form.
type Credentials<'a> = (HeaderMap, Vec<(&'static str, &'a str)>);

/// What says who the gateway is.
pub(super) fn credentials(client: &IntrospectionClient) -> Result<Credentials<'_>, InvalidHeaderValue> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let mut form = Vec::with_capacity(4);
    let authorization = match client {
        IntrospectionClient::None => None,
        IntrospectionClient::Basic(id, secret) => {
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = Zeroizing::new(format!("{}:{}", encoded(id), encoded(secret.expose())));
            Some(Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes()))))
        }
        IntrospectionClient::Post(id, secret) => {
            form.extend([("client_id", id.as_str()), ("client_secret", secret.expose().as_str())]);
            None
        }
        IntrospectionClient::Bearer(token) => Some(Zeroizing::new(format!("Bearer {}", token.expose()))),
    };
    if let Some(authorization) = authorization {
        let mut value = HeaderValue::from_str(&authorization)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok((headers, form))
}
