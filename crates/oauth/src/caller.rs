//! What a request to an endpoint for clients brings beside its form.

use std::net::IpAddr;

/// What a request brings beside its form. Nothing of it is believed yet.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The `DPoP` header (RFC 9449 §4.1).
    pub dpop: DpopHeader,
    /// The certificate of the client, if the connection or an allow-listed proxy brought one.
    pub certificate: Option<PresentedCertificate>,
    /// The client's address, as far as it is known.
    pub address: Option<IpAddr>,
}

/// The `DPoP` header of a request.
#[derive(Debug, Clone, Default)]
pub enum DpopHeader {
    /// There is none.
    #[default]
    None,
    /// One proof.
    One(String),
    /// More than one, or one that is no text: never right (RFC 9449 §4.3, check 1).
    Unclear,
}

/// A certificate whose key the client proved to hold in the TLS handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedCertificate {
    /// The certificate, DER.
    pub leaf: Vec<u8>,
    /// The rest of the chain, if this server saw the handshake; none if a proxy did.
    pub chain: Option<Vec<Vec<u8>>>,
}
