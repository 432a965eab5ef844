//! Client authentication by certificate (RFC 8705 §2). That the client holds the key was proven in the handshake.

use std::net::IpAddr;
use std::sync::Arc;

use sluice_crypto::certificate::{CertificateError, ClientCertificate, TrustAnchors};
use sluice_primitives::Timestamp;
use thiserror::Error;

use super::client_keys::ClientKeys;
use super::error::ClientAuthError;
use crate::caller::PresentedCertificate;
use crate::client::{CertificateName, Client};

/// Why a certificate does not authenticate a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CertificateAuthError {
    /// There is none.
    #[error("the client presented no certificate")]
    Missing,
    /// It cannot be read, is not valid now, or nobody vouches for it.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// No authority is configured that could vouch for it.
    #[error("no authority is configured whose certificates are accepted (oauth2.mtls.trust_anchors)")]
    NoTrustAnchors,
    /// It has another name than the client registered.
    #[error("the certificate does not have the name that the client registered")]
    OtherName,
    /// Its key is none of those that the client registered.
    #[error("the key of the certificate is not one that the client registered")]
    OtherKey,
}

/// Checks certificates.
pub(super) struct CertificateVerifier {
    pub(super) anchors: Option<Arc<TrustAnchors>>,
    pub(super) keys: Arc<ClientKeys>,
}

impl CertificateVerifier {
    /// `tls_client_auth` (RFC 8705 §2.1): an authority vouches for the certificate, which has the registered name. A chain
    /// that a proxy saw, the proxy has checked.
    pub(super) fn verify_name(
        &self,
        client: &Client,
        presented: Option<&PresentedCertificate>,
        now: Timestamp,
    ) -> Result<(), CertificateAuthError> {
        let (presented, certificate) = read(presented, now)?;
        if let Some(chain) = &presented.chain {
            let anchors = self.anchors.as_ref().ok_or(CertificateAuthError::NoTrustAnchors)?;
            anchors.verify(&presented.leaf, chain, now.as_secs())?;
        }
        let registered = client.security.tls_client_auth.as_ref();
        if registered.is_some_and(|name| has_name(&certificate, name)) {
            Ok(())
        } else {
            Err(CertificateAuthError::OtherName)
        }
    }

    /// `self_signed_tls_client_auth` (RFC 8705 §2.2): the client registered the key of the certificate.
    pub(super) async fn verify_key(
        &self,
        client: &Client,
        presented: Option<&PresentedCertificate>,
        now: Timestamp,
    ) -> Result<(), ClientAuthError> {
        let (_, certificate) = read(presented, now)?;
        if is_registered(&certificate, &self.keys.of(client, now).await?.set) {
            return Ok(());
        }
        match self.keys.newer(client, now).await? {
            Some(keys) if is_registered(&certificate, &keys.set) => Ok(()),
            _ => Err(CertificateAuthError::OtherKey.into()),
        }
    }
}

/// The certificate, if it is valid now.
fn read(
    presented: Option<&PresentedCertificate>,
    now: Timestamp,
) -> Result<(&PresentedCertificate, ClientCertificate), CertificateAuthError> {
    let presented = presented.ok_or(CertificateAuthError::Missing)?;
    let certificate = ClientCertificate::from_der(&presented.leaf)?;
    let second = Timestamp::from_secs(now.as_secs());
    if second < certificate.not_before() || second > certificate.not_after() {
        return Err(CertificateError::NotValidNow.into());
    }
    Ok((presented, certificate))
}

fn is_registered(certificate: &ClientCertificate, keys: &sluice_crypto::jwk::JwkSet) -> bool {
    keys.keys.iter().any(|key| certificate.public_key_matches(key))
}

/// Names are compared as RFC 5280 §7 says: hosts without regard to case, addresses as numbers.
fn has_name(certificate: &ClientCertificate, name: &CertificateName) -> bool {
    match name {
        CertificateName::SubjectDn(expected) => certificate.subject_dn_matches(expected),
        CertificateName::SanDns(expected) => {
            certificate.san_dns().iter().any(|own| own.eq_ignore_ascii_case(expected))
        }
        CertificateName::SanUri(expected) => certificate.san_uris().contains(&expected.as_str()),
        CertificateName::SanIp(expected) => {
            expected.parse::<IpAddr>().is_ok_and(|expected| certificate.san_ips().contains(&expected))
        }
        CertificateName::SanEmail(expected) => {
            certificate.san_emails().iter().any(|own| same_mailbox(own, expected))
        }
    }
}

/// Only the host of an address is without case (RFC 5280 §7.5).
fn same_mailbox(one: &str, other: &str) -> bool {
    match (one.rsplit_once('@'), other.rsplit_once('@')) {
        (Some((own, host)), Some((expected, at))) => own == expected && host.eq_ignore_ascii_case(at),
        _ => false,
    }
}
