//! A certificate with its key, as it is shown.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use sluice_primitives::Timestamp;
use webpki::EndEntityCert;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::time::Time;

use super::pair::Pem;
use super::{AcceptorError, TlsError};

/// How long a certificate that is shown is valid: it, or that of its chain which is the first to expire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateValidity {
    /// Its file, or how the text was given.
    pub source: String,
    /// When it becomes valid.
    pub not_before: Timestamp,
    /// The last second it is valid in.
    pub not_after: Timestamp,
}

/// A certificate with its key, as it is shown.
#[derive(Debug)]
pub(super) struct Certified {
    /// What messages call it.
    pub(super) source: String,
    pub(super) key: Arc<CertifiedKey>,
    /// The DNS names that it is for, each once, in lower case.
    pub(super) names: Vec<String>,
    /// When it becomes valid in itself, and the last second that it is; `None` if that cannot be read.
    life: Option<(Timestamp, Timestamp)>,
    pub(super) validity: Option<CertificateValidity>,
}

impl Certified {
    /// Of one that is shown anyway: that nothing says which names it is for, or how long, is for its clients to complain about.
    pub(super) fn of(pem: &Pem, provider: &CryptoProvider) -> Result<Self, AcceptorError> {
        let (source, key) = (pem.chain_name.clone(), Arc::new(pem.certified(provider)?));
        let life = key.cert.first().and_then(|leaf| validity(&source, leaf));
        let life = life.map(|validity| (validity.not_before, validity.not_after));
        let chain = key.cert.iter().filter_map(|der| validity(&source, der));
        let validity = chain.min_by_key(|validity| validity.not_after);
        let names = dns_names(&key).unwrap_or_default();
        Ok(Self { source, key, names, life, validity })
    }

    /// Of one that is shown by its names alone.
    pub(super) fn by_name(pem: &Pem, provider: &CryptoProvider) -> Result<Self, AcceptorError> {
        let certified = Self::of(pem, provider)?;
        if certified.names.is_empty() { Err(pem.chain_is_bad(TlsError::NoName)) } else { Ok(certified) }
    }

    /// Of two for one name that is shown of which this is greater: it is valid already `at` this moment, and expires last. One that says
    /// neither is before any other.
    pub(super) fn rank(&self, at: Timestamp) -> (bool, Option<Timestamp>) {
        (self.is_valid_already(at), self.life.map(|(_, not_after)| not_after))
    }

    /// Whether it is valid, or was, `at` this moment.
    pub(super) fn is_valid_already(&self, at: Timestamp) -> bool {
        self.life.is_some_and(|(not_before, _)| not_before <= at)
    }

    /// Whether it is valid already at one of two moments and not at the other: the clock may have been ahead.
    pub(super) fn is_other_at(&self, one: Timestamp, other: Timestamp) -> bool {
        self.is_valid_already(one) != self.is_valid_already(other)
    }

    /// Whether it is the same certificate, wherever it was read.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.key.cert.first() == other.key.cert.first()
    }
}

/// The names in the certificate; `None` if it cannot be read.
fn dns_names(certified: &CertifiedKey) -> Option<Vec<String>> {
    let certificate = EndEntityCert::try_from(certified.cert.first()?).ok()?;
    let mut names: Vec<String> = certificate.valid_dns_names().map(str::to_ascii_lowercase).collect();
    names.sort_unstable();
    names.dedup();
    Some(names)
}

fn validity(source: &str, der: &[u8]) -> Option<CertificateValidity> {
    let certificate = Certificate::from_der(der).ok()?;
    let validity = certificate.tbs_certificate().validity();
    let (not_before, not_after) = (point(validity.not_before), point(validity.not_after));
    Some(CertificateValidity { source: source.to_owned(), not_before, not_after })
}

fn point(time: Time) -> Timestamp {
    Timestamp::from_secs(i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX))
}
