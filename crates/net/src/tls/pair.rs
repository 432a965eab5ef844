//! A certificate chain and its key: where they are, and as they were read.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;
use sluice_primitives::Secret;

use super::pem_source::private_key;
use super::{AcceptorError, PemSource, TlsError};

/// Where a certificate chain and its key are.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) chain: PemSource,
    pub(super) private_key: PemSource,
}

impl Pair {
    pub(super) fn may_change(&self) -> bool {
        self.chain.may_change() || self.private_key.may_change()
    }

    /// What messages call the certificate.
    pub(super) fn name(&self) -> String {
        self.chain.name("cert")
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.chain, &self.private_key].into_iter().filter_map(PemSource::file)
    }

    pub(super) fn read(&self) -> Result<Pem, AcceptorError> {
        let (chain_name, key_name) = (self.name(), self.private_key.name("key"));
        let chain = self.chain.read().map_err(|error| AcceptorError { of: chain_name.clone(), error })?;
        let private_key =
            self.private_key.read().map_err(|error| AcceptorError { of: key_name.clone(), error })?;
        Ok(Pem { chain, private_key, chain_name, key_name })
    }
}

/// A certificate chain and its key, as read.
pub(super) struct Pem {
    chain: Secret<Vec<u8>>,
    private_key: Secret<Vec<u8>>,
    /// What messages call the one and the other.
    pub(super) chain_name: String,
    key_name: String,
}

impl Pem {
    /// A hash of both, to notice a change by. Equal hashes of different texts would only delay a reload.
    pub(super) fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.chain.expose(), self.private_key.expose()).hash(&mut hasher);
        hasher.finish()
    }

    /// Both, if they belong together.
    pub(super) fn certified(&self, provider: &CryptoProvider) -> Result<CertifiedKey, AcceptorError> {
        let chain = self.certificates().map_err(|error| self.chain_is_bad(error))?;
        let key = private_key(self.private_key.expose())
            .map_err(|error| AcceptorError { of: self.key_name.clone(), error })?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| AcceptorError {
            of: format!("{} and {}", self.chain_name, self.key_name),
            error: TlsError::Unusable(error),
        })
    }

    pub(super) fn chain_is_bad(&self, error: TlsError) -> AcceptorError {
        AcceptorError { of: self.chain_name.clone(), error }
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.chain.expose()).collect();
        let chain = chain.map_err(TlsError::NotPem)?;
        if chain.is_empty() { Err(TlsError::NoCertificate) } else { Ok(chain) }
    }
}
