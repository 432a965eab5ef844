//! Whom this server believes about its clients.

use sluice_net::{ForwardedCertificatePolicy, TrustedProxies};

/// Whom this server believes about its clients: proxies that say where a request comes from, and those that pass on the
/// certificate of the client (RFC 8705).
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are what their types say")]
pub struct Proxies {
    pub addresses: TrustedProxies,
    pub certificates: ForwardedCertificatePolicy,
}
