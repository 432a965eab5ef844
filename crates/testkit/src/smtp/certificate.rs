//! A private authority, and the one certificate it vouches for.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;

pub(super) struct Authority {
    pub(super) ca_pem: String,
    pub(super) server: ServerConfig,
}

pub(super) fn authority() -> Authority {
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca_key = KeyPair::generate().expect("a key");
    let ca_pem = ca.self_signed(&ca_key).expect("a certificate").pem();
    let issuer = Issuer::new(ca, ca_key);

    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut server = CertificateParams::new(names).expect("names");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().expect("a key");
    let certificate = server.signed_by(&key, &issuer).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("certificate and key belong together");
    Authority { ca_pem, server }
}
