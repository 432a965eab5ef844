//! Authorities that are configured to vouch for clients (`tls_client_auth`, RFC 8705 §2.1).

use std::fmt;
use std::time::Duration;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use super::{CertificateError, MAX_CERTIFICATE};

/// So many certificates between leaf and anchor are looked at, at most.
const MAX_INTERMEDIATES: usize = 8;

/// Certificates of authorities. Lists of revoked certificates are not looked at.
pub struct TrustAnchors(Vec<TrustAnchor<'static>>);

impl TrustAnchors {
    /// The certificates in a PEM text.
    ///
    /// # Errors
    /// [`CertificateError::NotPem`] if there is none, [`CertificateError::Malformed`] if one cannot be read.
    pub fn from_pem(pem: &str) -> Result<Self, CertificateError> {
        let mut anchors = Vec::new();
        for der in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let der = der.map_err(|_| CertificateError::NotPem)?;
            let anchor = anchor_from_trusted_cert(&der).map_err(|_| CertificateError::Malformed)?;
            anchors.push(anchor.to_owned());
        }
        if anchors.is_empty() { Err(CertificateError::NotPem) } else { Ok(Self(anchors)) }
    }

    /// Checks that `leaf` is, at this time, a certificate for authenticating clients, and that one of the authorities
    /// vouches for it, perhaps by way of `intermediates`.
    ///
    /// # Errors
    /// [`CertificateError`] if not.
    pub fn verify(
        &self,
        leaf: &[u8],
        intermediates: &[Vec<u8>],
        now_unix_secs: i64,
    ) -> Result<(), CertificateError> {
        if leaf.len() > MAX_CERTIFICATE || intermediates.len() > MAX_INTERMEDIATES {
            return Err(CertificateError::Malformed);
        }
        let leaf = CertificateDer::from(leaf);
        let leaf = EndEntityCert::try_from(&leaf).map_err(|_| CertificateError::Malformed)?;
        let intermediates: Vec<_> =
            intermediates.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
        let now = u64::try_from(now_unix_secs).map_err(|_| CertificateError::NotValidNow)?;
        leaf.verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &self.0,
            &intermediates,
            UnixTime::since_unix_epoch(Duration::from_secs(now)),
            KeyUsage::client_auth(),
            None,
            None,
        )
        .map(|_path| ())
        .map_err(|error| reason(&error))
    }
}

impl fmt::Debug for TrustAnchors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TrustAnchors").field(&self.0.len()).finish()
    }
}

fn reason(error: &webpki::Error) -> CertificateError {
    match error {
        webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. } => {
            CertificateError::NotValidNow
        }
        _ => CertificateError::Untrusted,
    }
}
