//! Client authentication by certificate (RFC 8705 §2). That the client holds the key was proven in the handshake.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
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
    /// No authority is configured that could vouch for it, and no proxy is said to ask one.
    #[error(
        "no authority is configured whose certificates are accepted (oauth2.mtls.trust_anchors), and no proxy is \
         said to verify them (oauth2.mtls.proxy_verifies)"
    )]
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
    pub(super) anchors: Option<Arc<ArcSwap<TrustAnchors>>>,
    /// Whether a proxy asks an authority about each certificate that it passes on.
    pub(super) proxy_verifies: bool,
    pub(super) keys: Arc<ClientKeys>,
}

impl CertificateVerifier {
    /// `tls_client_auth` (RFC 8705 §2.1): an authority vouches for the certificate, which has the registered name.
    pub(super) fn verify_name(
        &self,
        client: &Client,
        presented: Option<&PresentedCertificate>,
        now: Timestamp,
    ) -> Result<(), CertificateAuthError> {
        let (presented, certificate) = read(presented, now)?;
        self.verify_issuer(presented, now)?;
        let registered = client.security.tls_client_auth.as_ref();
        if registered.is_some_and(|name| has_name(&certificate, name)) {
            Ok(())
        } else {
            Err(CertificateAuthError::OtherName)
        }
    }

    /// Where authorities are configured, one of them vouches for every certificate; of one that a proxy passed on without its
    /// chain, directly. Where none are, a proxy's word is good only if it is said to ask: many pass on what they did not verify.
    fn verify_issuer(
        &self,
        presented: &PresentedCertificate,
        now: Timestamp,
    ) -> Result<(), CertificateAuthError> {
        let forwarded = presented.chain.is_none();
        match &self.anchors {
            Some(anchors) => {
                let chain = presented.chain.as_deref().unwrap_or_default();
                Ok(anchors.load().verify(&presented.leaf, chain, now.as_secs())?)
            }
            None if forwarded && self.proxy_verifies => Ok(()),
            None => Err(CertificateAuthError::NoTrustAnchors),
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

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
    use url::Url;

    use super::*;
    use crate::client::fake::client;
    use crate::client_auth::{FetchedKeySet, KeySetSource, KeysNotFetched};

    const NOW: Timestamp = Timestamp::from_secs(1_893_456_000);

    struct Nowhere;

    #[async_trait]
    impl KeySetSource for Nowhere {
        async fn fetch(&self, _: &Url) -> Result<FetchedKeySet, KeysNotFetched> {
            Err(KeysNotFetched::NotThere("nobody is there".to_owned()))
        }
    }

    fn named(name: &str) -> CertificateParams {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters
    }

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut parameters = named("Authority");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
    }

    /// The leaf as a proxy passes it on, or as the listener saw it.
    fn presented(leaf: &[u8], chain: Option<Vec<Vec<u8>>>) -> PresentedCertificate {
        PresentedCertificate { leaf: leaf.to_vec(), chain }
    }

    /// Whether the certificate is that of the client with the name `CN=client`.
    fn verify(
        (anchors, proxy_verifies): (Option<&str>, bool),
        presented: &PresentedCertificate,
    ) -> Result<(), CertificateAuthError> {
        let anchors = anchors.map(|pem| Arc::new(in_force(pem)));
        let keys = Arc::new(ClientKeys::new(Arc::new(Nowhere)));
        let verifier = CertificateVerifier { anchors, proxy_verifies, keys };
        verifier.verify_name(&registered(), Some(presented), NOW)
    }

    fn in_force(pem: &str) -> ArcSwap<TrustAnchors> {
        ArcSwap::from_pointee(TrustAnchors::from_pem(pem).unwrap())
    }

    fn registered() -> Client {
        let mut client = client("app");
        client.security.tls_client_auth = Some(CertificateName::SubjectDn("CN=client".to_owned()));
        client
    }

    #[test]
    fn an_authority_that_was_replaced_vouches_for_nobody_any_more() {
        let (former, next) = (authority(), authority());
        let anchors = Arc::new(in_force(&former.pem()));
        let keys = Arc::new(ClientKeys::new(Arc::new(Nowhere)));
        let verifier =
            CertificateVerifier { anchors: Some(Arc::clone(&anchors)), proxy_verifies: false, keys };
        let key = KeyPair::generate().unwrap();
        let of = |issuer: &CertifiedIssuer<'static, KeyPair>| {
            presented(named("client").signed_by(&key, issuer).unwrap().der(), None)
        };
        let (old, new) = (of(&former), of(&next));
        let verify = |shown: &PresentedCertificate| verifier.verify_name(&registered(), Some(shown), NOW);
        let untrusted: Result<(), CertificateAuthError> = Err(CertificateError::Untrusted.into());
        assert_eq!((verify(&old), verify(&new)), (Ok(()), untrusted));
        anchors.store(Arc::new(TrustAnchors::from_pem(&next.pem()).unwrap()));
        assert_eq!((verify(&old), verify(&new)), (untrusted, Ok(())));
    }

    #[test]
    fn what_a_proxy_passes_on_is_verified_like_what_the_listener_sees() {
        let authority = authority();
        let anchors = authority.pem();
        let key = KeyPair::generate().unwrap();
        let good = named("client").signed_by(&key, &authority).unwrap();
        let forged = named("client").self_signed(&key).unwrap();
        for chain in [None, Some(Vec::new())] {
            for proxy_verifies in [false, true] {
                let how = (Some(anchors.as_str()), proxy_verifies);
                assert_eq!(verify(how, &presented(good.der(), chain.clone())), Ok(()));
                assert_eq!(
                    verify(how, &presented(forged.der(), chain.clone())),
                    Err(CertificateError::Untrusted.into())
                );
            }
        }
    }

    #[test]
    fn without_authorities_only_a_proxy_that_verifies_is_believed() {
        let key = KeyPair::generate().unwrap();
        let (own, other) =
            (named("client").self_signed(&key).unwrap(), named("other").self_signed(&key).unwrap());
        let (forwarded, seen) = (presented(own.der(), None), presented(own.der(), Some(Vec::new())));
        assert_eq!(verify((None, false), &forwarded), Err(CertificateAuthError::NoTrustAnchors));
        assert_eq!(verify((None, true), &forwarded), Ok(()));
        for proxy_verifies in [false, true] {
            assert_eq!(verify((None, proxy_verifies), &seen), Err(CertificateAuthError::NoTrustAnchors));
        }
        assert_eq!(verify((None, true), &presented(other.der(), None)), Err(CertificateAuthError::OtherName));
    }
}
