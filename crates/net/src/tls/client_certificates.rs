//! Certificates of clients: asked for, never required, and of any issuer or none (RFC 8705 §2.2).

use rustls::DigitallySignedStruct;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DistinguishedName, Error, SignatureScheme};

/// The most bytes of a chain. It travels inside each ticket of the session (RFC 8446 §4.6.1), of which two are sent at
/// once, and common clients take 64 KiB.
const MOST_CHAIN_BYTES: usize = 16 * 1024;

/// Asks for a certificate and takes any of X.509 version 3, without a critical extension that is not known, whose key the client
/// proves to hold; with another the handshake fails, since its key is not read. Who issued it and until when it is valid is not
/// looked at: a self-signed certificate is as good as the client it is registered for.
#[derive(Debug)]
pub(super) struct AnyClientCertificate {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyClientCertificate {
    /// Verifies proofs by `algorithms`.
    pub(super) fn new(algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { algorithms }
    }
}

impl ClientCertVerifier for AnyClientCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// None, which means any: a client would keep back a certificate of an issuer that is not listed.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let bytes = end_entity.len() + intermediates.iter().map(|issuer| issuer.len()).sum::<usize>();
        if bytes > MOST_CHAIN_BYTES {
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
