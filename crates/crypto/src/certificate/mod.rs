//! Certificates that TLS clients present (RFC 5280, RFC 8705).
//!
//! [`ClientCertificate`]: what is in one. [`TrustAnchors`]: whether a configured authority vouches for one. `subject`: names of subjects,
//! compared.
//!
//! That the client holds the private key is the business of whoever ended the TLS connection.

mod anchors;
mod subject;

pub use anchors::TrustAnchors;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use sluice_primitives::Timestamp;
use thiserror::Error;
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::time::Time;

use crate::digest::sha256;
use crate::jwk::member::{decode_integer, decode_sized};
use crate::jwk::{Jwk, JwkError};

/// A longer certificate is refused unread, in bytes.
pub const MAX_CERTIFICATE: usize = 64 * 1024;

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// No DER-encoded X.509 certificate, or longer than [`MAX_CERTIFICATE`].
    #[error("not an X.509 certificate")]
    Malformed,
    /// No PEM text, or not the number of certificates in it that must be there.
    #[error("not a PEM-encoded certificate")]
    NotPem,
    /// It, or one on the way to the trust anchor, is not valid yet or not any more.
    #[error("the certificate is not valid at this time")]
    NotValidNow,
    /// No way leads from it to a trust anchor, or it is not for authenticating clients.
    #[error("no configured authority vouches for the certificate")]
    Untrusted,
}

/// A certificate that a client presented.
#[derive(Clone)]
pub struct ClientCertificate {
    der: Vec<u8>,
    certificate: Certificate,
    /// The alternative names of the subject, in their order.
    names: Vec<GeneralName>,
}

impl ClientCertificate {
    /// Reads a certificate as it is sent.
    ///
    /// # Errors
    /// [`CertificateError::Malformed`] if it is none, or its alternative names cannot be read.
    pub fn from_der(der: &[u8]) -> Result<Self, CertificateError> {
        let certificate = read(der)?;
        let names = certificate.tbs_certificate().get_extension::<SubjectAltName>();
        let names = names.map_err(|_| CertificateError::Malformed)?;
        let names = names.map(|(_critical, SubjectAltName(names))| names).unwrap_or_default();
        Ok(Self { der: der.to_vec(), certificate, names })
    }

    /// Reads the one certificate in a PEM text.
    ///
    /// # Errors
    /// [`CertificateError::NotPem`] if there is none or more than one, else as [`ClientCertificate::from_der`].
    pub fn from_pem(pem: &str) -> Result<Self, CertificateError> {
        let mut found = CertificateDer::pem_slice_iter(pem.as_bytes());
        match (found.next(), found.next()) {
            (Some(Ok(der)), None) => Self::from_der(&der),
            _ => Err(CertificateError::NotPem),
        }
    }

    /// The certificate as it was sent.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// SHA-256 of the certificate: what `x5t#S256` holds before it is encoded (RFC 8705 §3.1).
    pub fn thumbprint_s256(&self) -> [u8; 32] {
        sha256(&self.der)
    }

    /// The public key, with the certificate in `x5c` and `x5t#S256`.
    ///
    /// # Errors
    /// [`JwkError`] if it is not an RSA, ECDSA or Ed25519 key.
    pub fn to_jwk(&self) -> Result<Jwk, JwkError> {
        Ok(Jwk {
            x5c: Some(vec![STANDARD.encode(&self.der)]),
            x5t_s256: Some(URL_SAFE_NO_PAD.encode(self.thumbprint_s256())),
            ..self.public_key()?
        })
    }

    /// Whether a registered key is the one of this certificate (RFC 8705 §2.2). If the key names a certificate in `x5c`,
    /// it must be this one.
    pub fn public_key_matches(&self, registered: &Jwk) -> bool {
        let same_certificate = match registered.x5c.as_deref() {
            None => true,
            Some([]) => false,
            Some([first, ..]) => STANDARD.decode(first).is_ok_and(|der| der == self.der),
        };
        same_certificate && self.public_key().is_ok_and(|own| same_key(&own, registered))
    }

    /// Whether the subject has this name, an RFC 4514 string, compared attribute by attribute (RFC 8705 §2.1.2).
    pub fn subject_dn_matches(&self, expected: &str) -> bool {
        subject::matches(self.certificate.tbs_certificate().subject(), expected)
    }

    /// The name of the subject as an RFC 4514 string.
    pub fn subject_dn(&self) -> String {
        self.certificate.tbs_certificate().subject().to_string()
    }

    /// The host names among the alternative names, as written: compare them without regard to case.
    pub fn san_dns(&self) -> Vec<&str> {
        self.named(|name| match name {
            GeneralName::DnsName(host) => Some(host.as_str()),
            _ => None,
        })
    }

    /// The URIs among the alternative names.
    pub fn san_uris(&self) -> Vec<&str> {
        self.named(|name| match name {
            GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str()),
            _ => None,
        })
    }

    /// The addresses among the alternative names.
    pub fn san_ips(&self) -> Vec<IpAddr> {
        self.named(|name| match name {
            GeneralName::IpAddress(octets) => address(octets.as_bytes()),
            _ => None,
        })
    }

    /// The e-mail addresses among the alternative names.
    pub fn san_emails(&self) -> Vec<&str> {
        self.named(|name| match name {
            GeneralName::Rfc822Name(email) => Some(email.as_str()),
            _ => None,
        })
    }

    /// When it becomes valid.
    pub fn not_before(&self) -> Timestamp {
        point(self.certificate.tbs_certificate().validity().not_before)
    }

    /// The last second it is valid in.
    pub fn not_after(&self) -> Timestamp {
        point(self.certificate.tbs_certificate().validity().not_after)
    }

    fn public_key(&self) -> Result<Jwk, JwkError> {
        let spki = self.certificate.tbs_certificate().subject_public_key_info().to_der();
        Jwk::from_spki(&spki.map_err(|_| JwkError::Invalid)?)
    }

    fn named<'a, T>(&'a self, select: impl Fn(&'a GeneralName) -> Option<T>) -> Vec<T> {
        self.names.iter().filter_map(select).collect()
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thumbprint = URL_SAFE_NO_PAD.encode(self.thumbprint_s256());
        f.debug_struct("ClientCertificate").field("thumbprint_s256", &thumbprint).finish_non_exhaustive()
    }
}

fn read(der: &[u8]) -> Result<Certificate, CertificateError> {
    if der.len() > MAX_CERTIFICATE {
        return Err(CertificateError::Malformed);
    }
    Certificate::from_der(der).map_err(|_| CertificateError::Malformed)
}

/// Whether two keys have the same public part, however it is written.
fn same_key(own: &Jwk, other: &Jwk) -> bool {
    if own.kty != other.kty || own.crv != other.crv {
        return false;
    }
    match public_part(own) {
        Ok(part) => public_part(other) == Ok(part),
        Err(_) => false,
    }
}

fn public_part(jwk: &Jwk) -> Result<[Vec<u8>; 2], JwkError> {
    match jwk.kty.as_str() {
        "RSA" => Ok([decode_integer("n", jwk.n.as_ref())?, decode_integer("e", jwk.e.as_ref())?]),
        "EC" => Ok([jwk.point(jwk.curve()?)?, Vec::new()]),
        "OKP" => Ok([decode_sized("x", jwk.x.as_ref(), 32)?, Vec::new()]),
        _ => Err(JwkError::UnknownKeyType),
    }
}

/// An address has four or sixteen octets here (RFC 5280 §4.2.1.6).
fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(|octets| IpAddr::V4(Ipv4Addr::from(octets)));
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(|octets| IpAddr::V6(Ipv6Addr::from(octets)))).ok()
}

fn point(time: Time) -> Timestamp {
    Timestamp::from_secs(i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX))
}
