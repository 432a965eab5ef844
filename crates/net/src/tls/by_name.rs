//! Which certificate is shown: that of the name that was asked for.

use std::collections::HashMap;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use webpki::EndEntityCert;

use super::pair::Pem;
use super::{AcceptorError, TlsError};

/// Certificates by the names that they are for (SNI, RFC 6066 §3).
#[derive(Debug)]
pub(super) struct ByName {
    /// For who asks for no name, or for one that nobody has.
    first: Arc<CertifiedKey>,
    others: Vec<Arc<CertifiedKey>>,
    /// In lower case; `*.example.com` is for each name with one label more.
    names: HashMap<String, Arc<CertifiedKey>>,
}

/// A certificate beside the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Further {
    /// Its file.
    pub(super) source: String,
    /// In lower case.
    pub(super) names: Vec<String>,
}

impl ByName {
    /// The first of `read` is shown to whoever asks for no other; of two for the same name the earlier counts.
    pub(super) fn of(
        read: &[Pem],
        provider: &CryptoProvider,
    ) -> Result<(Self, Arc<[Further]>), AcceptorError> {
        let Some((first, others)) = read.split_first() else {
            return Err(AcceptorError { of: "cert".to_owned(), error: TlsError::NoCertificate });
        };
        let first = Arc::new(first.certified(provider)?);
        let mut found = Self { names: HashMap::new(), others: Vec::new(), first: Arc::clone(&first) };
        // It is shown anyway: that nothing says which names it is for is for its clients to complain about.
        for name in dns_names(&first).unwrap_or_default() {
            found.add(&name, &first);
        }
        let mut further = Vec::with_capacity(others.len());
        for pem in others {
            let certified = Arc::new(pem.certified(provider)?);
            let names = dns_names(&certified).filter(|names| !names.is_empty());
            let names = names.ok_or_else(|| pem.chain_is_bad(TlsError::NoName))?;
            for name in &names {
                found.add(name, &certified);
            }
            found.others.push(certified);
            further.push(Further { source: pem.chain_name.clone(), names });
        }
        Ok((found, further.into()))
    }

    fn add(&mut self, name: &str, certified: &Arc<CertifiedKey>) {
        self.names.entry(name.to_owned()).or_insert_with(|| Arc::clone(certified));
    }

    /// All certificates (DER): the first with its chain, leaf first, then the others likewise.
    pub(super) fn shown(&self) -> Arc<[Vec<u8>]> {
        let all = std::iter::once(&self.first).chain(&self.others);
        all.flat_map(|certified| certified.cert.iter().map(|der| der.to_vec())).collect()
    }

    fn named(&self, name: &str) -> Option<&Arc<CertifiedKey>> {
        let name = name.to_ascii_lowercase();
        self.names.get(&name).or_else(|| {
            let (_, rest) = name.split_once('.')?;
            self.names.get(&format!("*.{rest}"))
        })
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|name| self.named(name));
        Some(Arc::clone(named.unwrap_or(&self.first)))
    }
}

/// The names in the certificate, in lower case; `None` if it cannot be read.
fn dns_names(certified: &CertifiedKey) -> Option<Vec<String>> {
    let certificate = EndEntityCert::try_from(certified.cert.first()?).ok()?;
    Some(certificate.valid_dns_names().map(str::to_ascii_lowercase).collect())
}
