//! Whom TLS trusts: the certificates of the system, and those of one more file.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};
use tracing::warn;

use super::FetchError;
use crate::tls::{ALPN_HTTP_1_1, ALPN_HTTP_2};

/// The TLS side of the client. A system without certificates is no error: then https fails when it is tried.
pub(super) fn client_config(extra_ca_file: Option<&Path>) -> Result<ClientConfig, FetchError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        warn!(%error, "some certificates of the system cannot be used");
    }
    roots.add_parsable_certificates(found.certs);
    if let Some(path) = extra_ca_file {
        add_file(&mut roots, path)?;
    }
    if roots.is_empty() {
        warn!("the system trusts no certificate: outbound https will fail");
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(FetchError::SetupTls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN_HTTP_2.to_vec(), ALPN_HTTP_1_1.to_vec()];
    Ok(config)
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), FetchError> {
    let failed = |source| FetchError::ExtraCa { path: path.to_owned(), source };
    for certificate in certificates_in(path).map_err(failed)? {
        roots.add(certificate).map_err(|error| failed(error.into()))?;
    }
    Ok(())
}

/// The certificates of a PEM file: at least one.
pub(crate) fn certificates_in(
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, Box<dyn Error + Send + Sync>> {
    let certificates =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, pem::Error>>)?;
    if certificates.is_empty() {
        return Err("the file holds no certificate".into());
    }
    Ok(certificates)
}
