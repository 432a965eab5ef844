//! A certificate for a laptop: nobody vouches for it but itself.

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use sluice_primitives::{Secret, Timestamp};
use time::{Duration, OffsetDateTime};

use super::{PemSource, TlsAcceptorHandle, TlsError};

/// How long it is valid: less than the 398 days that browsers accept.
const VALIDITY: Duration = Duration::days(397);
/// How far the clock of a client may be behind.
const CLOCK_SKEW: Duration = Duration::hours(1);
/// What the certificate calls its subject.
const COMMON_NAME: &str = "Sluice, self-signed";

/// A certificate and its key, as PEM texts.
#[derive(Debug, Clone)]
pub struct SelfSigned {
    /// The certificate.
    pub certificate: String,
    /// Its private key: ECDSA on P-256, in PKCS #8.
    pub private_key: Secret<String>,
}

impl SelfSigned {
    /// What a listener needs to use it.
    ///
    /// # Errors
    /// [`TlsError`], never for a certificate of [`self_signed`].
    pub fn acceptor(&self) -> Result<TlsAcceptorHandle, TlsError> {
        let chain = PemSource::Text(Secret::new(self.certificate.clone()));
        let loaded = TlsAcceptorHandle::load(chain, PemSource::Text(self.private_key.clone()));
        loaded.map_err(|refused| refused.error)
    }
}

/// Makes a certificate for `hosts`, names or IP addresses, valid from an hour before `now` for 397 days.
///
/// # Errors
/// [`TlsError::NotMade`] if a host is neither a name nor an address.
pub fn self_signed(hosts: &[String], now: Timestamp) -> Result<SelfSigned, TlsError> {
    let now = OffsetDateTime::from_unix_timestamp(now.as_secs()).map_err(|_| TlsError::TimeOutOfRange)?;
    let not_before = now.checked_sub(CLOCK_SKEW).ok_or(TlsError::TimeOutOfRange)?;
    let mut params = CertificateParams::new(hosts).map_err(TlsError::NotMade)?;
    params.not_before = not_before;
    params.not_after = not_before.checked_add(VALIDITY).ok_or(TlsError::TimeOutOfRange)?;
    params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(TlsError::NotMade)?;
    let certificate = params.self_signed(&key).map_err(TlsError::NotMade)?;
    Ok(SelfSigned { certificate: certificate.pem(), private_key: Secret::new(key.serialize_pem()) })
}
