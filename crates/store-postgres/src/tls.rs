//! TLS to the server, with libpq's three degrees of trust.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sluice_commit::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::dsn::Verification;

/// A connector for this degree of trust.
pub(crate) fn connector(
    verification: Verification,
    root_certificates: Option<&Path>,
) -> Result<MakeRustlsConnect, StoreError> {
    Ok(MakeRustlsConnect::new(configuration(verification, root_certificates)?))
}

fn configuration(
    verification: Verification,
    root_certificates: Option<&Path>,
) -> Result<ClientConfig, StoreError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(StoreError::fault)?;
    Ok(match verification {
        Verification::Host => builder.with_root_certificates(roots(root_certificates)?).with_no_client_auth(),
        Verification::Authority | Verification::None => {
            let trust =
                AnyHost { authority: authority(verification, root_certificates, &provider)?, provider };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(trust)).with_no_client_auth()
        }
    })
}

fn authority(
    verification: Verification,
    root_certificates: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<WebPkiServerVerifier>>, StoreError> {
    if verification == Verification::None {
        return Ok(None);
    }
    let roots = Arc::new(roots(root_certificates)?);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
    verifier.map(Some).map_err(StoreError::fault)
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, StoreError> {
    let mut store = RootCertStore::empty();
    let Some(file) = file else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(store);
    };
    let unreadable = |cause: &dyn std::fmt::Display| {
        StoreError::Invalid(format!("sslrootcert {}: {cause}", file.display()))
    };
    for certificate in CertificateDer::pem_file_iter(file).map_err(|cause| unreadable(&cause))? {
        store.add(certificate.map_err(|cause| unreadable(&cause))?).map_err(|cause| unreadable(&cause))?;
    }
    // Whoever trusts nobody would be told no more than that of each server.
    if store.is_empty() { Err(unreadable(&"has no certificate")) } else { Ok(store) }
}

/// Trusts a certificate of the authorities whatever host it names, or, without authorities, any certificate. The server has to have its key in any
/// case: else whoever stands between could show that of the server, and SCRAM would be bound to it (`channel_binding`). So one that cannot be read, as
/// of X.509 version 1, will not do.
#[derive(Debug)]
struct AnyHost {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
