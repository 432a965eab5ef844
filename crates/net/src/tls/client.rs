//! TLS as a client: with servers behind a proxy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};
use sluice_primitives::Secret;

use super::pem_source::private_key;
use super::{PemSource, TlsError};

/// How to meet a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// Certificates to trust, PEM. `None`: those of the system.
    pub ca_file: Option<PathBuf>,
    /// Certificate chain and key to show, PEM.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The protocols to offer (RFC 7301), the preferred one first.
    pub protocols: Vec<Vec<u8>>,
}

/// The configuration for `tls`: TLS 1.2 and 1.3, with aws-lc-rs.
///
/// # Errors
/// [`TlsError`]: a file cannot be read or holds something else.
pub fn client_config(tls: &ClientTls) -> Result<Arc<ClientConfig>, TlsError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)?
        .with_root_certificates(roots(tls.ca_file.as_deref())?);
    let mut config = match &tls.certificate {
        Some((chain, key)) => showing(builder, chain, key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols.clone_from(&tls.protocols);
    Ok(Arc::new(config))
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(TlsError::Unusable)?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn showing(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    chain: &Path,
    key: &Path,
) -> Result<ClientConfig, TlsError> {
    let key = private_key(read(key)?.expose())?;
    builder.with_client_auth_cert(certificates(chain)?, key).map_err(TlsError::Unusable)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(read(path)?.expose()).collect();
    let found = found.map_err(TlsError::NotPem)?;
    if found.is_empty() { Err(TlsError::NoCertificate) } else { Ok(found) }
}

fn read(path: &Path) -> Result<Secret<Vec<u8>>, TlsError> {
    PemSource::File(path.to_owned()).read()
}
