//! Whom TLS trusts: the certificates of the system, those of one more file, or anybody.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::RemoteError;

/// The TLS side of the client. A system without certificates is no error: then https fails when it is tried.
pub(super) fn client_config(ca_file: Option<&Path>, is_lax: bool) -> Result<ClientConfig, RemoteError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| RemoteError::Setup(error.into()))?;
    let mut config = if is_lax {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAnybody(provider)))
            .with_no_client_auth()
    } else {
        builder.with_root_certificates(roots(ca_file)?).with_no_client_auth()
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, RemoteError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let Some(path) = ca_file else { return Ok(roots) };
    let failed = |reason: String| RemoteError::File { path: path.to_owned(), reason };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| failed(error.to_string()))?;
    if certificates.is_empty() {
        return Err(failed("it holds no certificate".to_owned()));
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    Ok(roots)
}

/// `--skip-tls-verify`: whoever answers is believed; that it holds the key of its certificate is still checked.
#[derive(Debug)]
struct TrustAnybody(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
