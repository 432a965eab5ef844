//! The formats in which proxies pass a certificate.

use std::borrow::Cow;

use http::HeaderName;
use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::ParsedCertificate;
use sfv::{Item, Parser};

use super::UnreadableCertificate;
use crate::quoted_list::split_unquoted;

const CLIENT_CERT: &str = "client-cert";
const X_FORWARDED_CLIENT_CERT: &str = "x-forwarded-client-cert";

/// How a header spells a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateHeaderFormat {
    /// DER as a byte sequence, `:MIIB…:` (RFC 9440 §2.2).
    ByteSequence,
    /// Percent-encoded PEM, as in nginx's `$ssl_client_escaped_cert`. Of several certificates the first counts.
    EscapedPem,
    /// Envoy's list of hops: the last, whose `Cert` is percent-encoded PEM. It is what the proxy itself saw; one without a
    /// `Cert` saw none, and any hop before it is only the word of who sent the request to the proxy.
    Envoy,
}

/// A header in which proxies pass a certificate. One that is empty passes none, nor does a byte sequence that is (`::`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateHeader {
    /// Its name.
    pub name: HeaderName,
    /// How it spells the certificate.
    pub format: CertificateHeaderFormat,
}

impl From<HeaderName> for CertificateHeader {
    /// `Client-Cert` and `X-Forwarded-Client-Cert` have their own formats, any other is taken for percent-encoded PEM.
    fn from(name: HeaderName) -> Self {
        let format = match name.as_str() {
            CLIENT_CERT => CertificateHeaderFormat::ByteSequence,
            X_FORWARDED_CLIENT_CERT => CertificateHeaderFormat::Envoy,
            _ => CertificateHeaderFormat::EscapedPem,
        };
        Self { name, format }
    }
}

/// What a header cannot be read for.
enum Flaw {
    Malformed,
    NotACertificate,
}

impl CertificateHeader {
    /// The certificate in a value of this header, DER, if there is one.
    pub(super) fn read(&self, value: &[u8]) -> Result<Option<Vec<u8>>, UnreadableCertificate> {
        self.certificate_in(value.trim_ascii()).map_err(|flaw| match flaw {
            Flaw::Malformed => UnreadableCertificate::Malformed(self.name.clone()),
            Flaw::NotACertificate => UnreadableCertificate::NotACertificate(self.name.clone()),
        })
    }

    fn certificate_in(&self, value: &[u8]) -> Result<Option<Vec<u8>>, Flaw> {
        if value.is_empty() {
            return Ok(None);
        }
        let text = str::from_utf8(value).map_err(|_| Flaw::Malformed)?;
        let certificate = match self.format {
            CertificateHeaderFormat::ByteSequence => byte_sequence(text)?,
            CertificateHeaderFormat::EscapedPem => Some(escaped_pem(text)?),
            CertificateHeaderFormat::Envoy => {
                let pem = last_certificate(text).ok_or(Flaw::Malformed)?;
                pem.map(|pem| escaped_pem(&pem)).transpose()?
            }
        };
        let Some(certificate) = certificate else { return Ok(None) };
        ParsedCertificate::try_from(&certificate).map_err(|_| Flaw::NotACertificate)?;
        Ok(Some(certificate.to_vec()))
    }
}

/// RFC 9651 §3.3.5; parameters are ignored. None if the sequence is empty: whatever the client shows, some proxies write the colons.
fn byte_sequence(text: &str) -> Result<Option<CertificateDer<'static>>, Flaw> {
    let item: Item = Parser::new(text).parse().map_err(|_| Flaw::Malformed)?;
    let bytes = item.bare_item.as_byte_sequence().ok_or(Flaw::Malformed)?;
    Ok((!bytes.is_empty()).then(|| CertificateDer::from(bytes.to_vec())))
}

fn escaped_pem(text: &str) -> Result<CertificateDer<'static>, Flaw> {
    let pem: Cow<'_, [u8]> = percent_decode_str(text).into();
    CertificateDer::from_pem_slice(&pem).map_err(|_| Flaw::NotACertificate)
}

/// The `Cert` of the last element. `None`: the list breaks its grammar. `Some(None)`: the last element has none.
#[expect(clippy::option_option, reason = "two different outcomes, told apart by the caller")]
fn last_certificate(list: &str) -> Option<Option<String>> {
    let mut last = None;
    for element in split_unquoted(list, b',')? {
        last = certificate_of_element(element)?;
    }
    Some(last)
}

/// The same for one element: `key=value` pairs between semicolons, where the case of keys does not count.
#[expect(clippy::option_option, reason = "two different outcomes, told apart by the caller")]
fn certificate_of_element(element: &str) -> Option<Option<String>> {
    let mut certificate = None;
    for pair in split_unquoted(element, b';')?.into_iter().filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=')?;
        if key.eq_ignore_ascii_case("cert") && certificate.replace(unquoted(value)?).is_some() {
            return None;
        }
    }
    Some(certificate)
}

/// Percent-encoded text holds no character that is escaped inside quotes, so a quoted value is taken as it is.
fn unquoted(value: &str) -> Option<String> {
    let bare = match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?,
        None => value,
    };
    (!bare.contains(['"', '\\'])).then(|| bare.to_owned())
}
