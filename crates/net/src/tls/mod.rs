//! TLS for listeners: rustls, and nothing older than TLS 1.2.
//!
//! [`PemSource`]: where certificate and key are. [`TlsAcceptorHandle`]: the configuration in force, replaced when the
//! files change. [`self_signed`]: a certificate for a laptop. [`client_config`]: the other side.

mod acceptor;
mod beside;
mod by_name;
mod certified;
mod client;
mod client_certificates;
mod folder;
mod pair;
mod pem_source;
mod self_signed;
mod sources;

pub use acceptor::{Reload, TlsAcceptorHandle};
pub use certified::CertificateValidity;
pub use client::{ClientTls, client_config};
pub use pem_source::PemSource;
pub use self_signed::{SelfSigned, self_signed};

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// HTTP/2 in the handshake's list of protocols (RFC 9113 §3.1).
pub(crate) const ALPN_HTTP_2: &[u8] = b"h2";
/// HTTP/1.1 in the handshake's list of protocols (RFC 7301 §6).
pub(crate) const ALPN_HTTP_1_1: &[u8] = b"http/1.1";

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not base64.
    #[error("the PEM text is not base64")]
    NotBase64(#[source] base64::DecodeError),
    /// The text holds no certificate.
    #[error("the PEM text holds no certificate")]
    NoCertificate,
    /// The text is not PEM, or not of the kind that is needed.
    #[error("the PEM text cannot be used")]
    NotPem(#[source] rustls::pki_types::pem::Error),
    /// It is read with a passphrase only, and a server has nobody to ask for one.
    #[error("the private key is encrypted: store it without a passphrase")]
    EncryptedKey,
    /// Certificate and key do not belong together, or are of a kind that is not supported.
    #[error("certificate and key cannot be used")]
    Unusable(#[source] rustls::Error),
    /// It is to be shown by name, and has no DNS name among its alternative names (RFC 5280 §4.2.1.6).
    #[error("the certificate is for no DNS name, so nobody would be shown it")]
    NoName,
    /// A certificate cannot be made, for instance for a name that is none.
    #[error("a self-signed certificate cannot be made")]
    NotMade(#[source] rcgen::Error),
    /// The time lies outside what a certificate can say.
    #[error("the clock shows a time that no certificate can hold")]
    TimeOutOfRange,
}

/// Why a listener cannot use its certificate, and what of it was no good.
#[derive(Debug)]
pub struct AcceptorError {
    /// A file, or how the text was given.
    of: String,
    error: TlsError,
}

impl AcceptorError {
    /// What is wrong with it.
    pub const fn error(&self) -> &TlsError {
        &self.error
    }
}

impl fmt::Display for AcceptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            // It says itself which file.
            error @ TlsError::Unreadable { .. } => write!(f, "{error}"),
            error => write!(f, "{}: {error}", self.of),
        }
    }
}

impl Error for AcceptorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}
