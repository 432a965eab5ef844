//! Certificates of clients: what is in them, whose they are, who vouches for them.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use sluice_crypto::certificate::{CertificateError, ClientCertificate, MAX_CERTIFICATE, TrustAnchors};
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize, SigningAlgorithm};
use sluice_primitives::Timestamp;

use crate::keys;

/// Self-signed with the P-256 key of the tests; every kind of alternative name, a level of two attributes, and an
/// `OU` in UTF-16.
const P256: &str = include_str!("certificates/p256.pem");
const RSA: &str = include_str!("certificates/rsa.pem");
const ED25519: &str = include_str!("certificates/ed25519.pem");

/// 2030-01-01, within the lifetimes of all certificates here but where a test says otherwise.
const NOW: i64 = 1_893_456_000;
const YEAR: i64 = 365 * 24 * 3600;

fn certificate(pem: &str) -> ClientCertificate {
    ClientCertificate::from_pem(pem).unwrap()
}

#[test]
fn the_alternative_names_are_told_apart() {
    let client = certificate(P256);
    assert_eq!(client.san_dns(), ["client.example", "Other.example"]);
    assert_eq!(client.san_uris(), ["https://client.example/id"]);
    assert_eq!(client.san_emails(), ["ops@example.com"]);
    assert_eq!(
        client.san_ips().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["192.0.2.1", "2001:db8::1"]
    );
    let plain = certificate(RSA);
    assert!(plain.san_dns().is_empty() && plain.san_uris().is_empty() && plain.san_ips().is_empty());
}

#[test]
fn the_lifetime_is_read_from_both_notations() {
    let client = certificate(P256);
    assert_eq!(client.not_before(), Timestamp::from_secs(1_735_689_600));
    assert_eq!(client.not_after(), Timestamp::from_secs(2_840_140_800));
}

#[test]
fn the_thumbprint_is_what_openssl_prints() {
    for (pem, printed) in [
        (P256, "7f2654b786a812a9882e2ded4e240f8480e067b5128d798ab13759b48b9e8fd5"),
        (ED25519, "a9c865d7ac8b8b04abd5e92617d334796f02d8406d9ac4e345a01575a2032dc1"),
        (RSA, "371c928700dfdda2fdb32541316861d147ae0ec3d5b5d959cfae088de0a69b17"),
    ] {
        let printed: Vec<u8> =
            (0..64).step_by(2).map(|at| u8::from_str_radix(&printed[at..at + 2], 16).unwrap()).collect();
        assert_eq!(certificate(pem).thumbprint_s256(), *printed);
    }
}

#[test]
fn the_subject_is_compared_whatever_its_strings_are_encoded_in() {
    let client = certificate(P256);
    for name in [
        "emailAddress=ops@example.com,UID=client-1+CN=Client One,OU=Payments,O=Example Ltd,C=GB",
        "EMAILADDRESS=OPS@EXAMPLE.COM, CN=client one + UID=CLIENT-1, ou=payments, o=example ltd, c=gb",
        "1.2.840.113549.1.9.1=ops@example.com,UID=client-1+CN=Client One,OU=Payments,O=Example Ltd,C=GB",
        "emailAddress=#160F6F7073406578616D706C652E636F6D,UID=client-1+CN=Client One,OU=Payments,O=Example Ltd,C=GB",
    ] {
        assert!(client.subject_dn_matches(name), "{name}");
    }
    for name in [
        "",
        "CN=Client One",
        "emailAddress=ops@example.com,CN=Client One,OU=Payments,O=Example Ltd,C=GB",
        "C=GB,O=Example Ltd,OU=Payments,UID=client-1+CN=Client One,emailAddress=ops@example.com",
        "emailAddress=ops@example.com,UID=client-2+CN=Client One,OU=Payments,O=Example Ltd,C=GB",
    ] {
        assert!(!client.subject_dn_matches(name), "{name}");
    }
}

#[test]
fn a_name_beyond_ascii_matches_however_it_is_escaped() {
    let client = certificate(RSA);
    for name in [
        r"CN=client,O=Käse\, GmbH,C=DE",
        r"CN=client,O=K\C3\A4se\2C GMBH,C=DE",
        "CN=client,O=Ka\u{308}se\\, GmbH,C=DE",
    ] {
        assert!(client.subject_dn_matches(name), "{name}");
    }
    assert!(!client.subject_dn_matches(r"CN=client,O=Kase\, GmbH,C=DE"));
}

#[test]
fn the_written_name_of_a_subject_matches_it() {
    for pem in [RSA, ED25519] {
        let client = certificate(pem);
        assert!(client.subject_dn_matches(&client.subject_dn()), "{}", client.subject_dn());
    }
}

#[test]
fn a_certificate_matches_its_own_key_and_no_other() {
    let pairs = [(P256, keys::P256_SPKI), (RSA, keys::RSA_SPKI), (ED25519, keys::ED25519_SPKI)];
    for (pem, _) in pairs {
        for (other, spki) in pairs {
            let key = Jwk::from_pem(spki).unwrap();
            assert_eq!(certificate(pem).public_key_matches(&key), pem == other);
        }
    }
    let other = Jwk::generate(SigningAlgorithm::ES256, "b".to_owned(), RsaSize::default()).unwrap();
    assert!(!certificate(P256).public_key_matches(&other));
    let symmetric: Jwk = serde_json::from_str(r#"{"kty":"oct","k":"AAAA"}"#).unwrap();
    assert!(!certificate(P256).public_key_matches(&symmetric));
}

#[test]
fn a_key_matches_though_its_modulus_has_leading_zeros() {
    let key = Jwk::from_pem(keys::RSA_SPKI).unwrap();
    let n = key.n.as_ref().unwrap();
    // Three zero bytes are four characters, so that the rest stays as it is.
    let padded = Jwk { n: Some(format!("AAAA{n}")), ..key.clone() };
    assert!(certificate(RSA).public_key_matches(&padded));
    let malformed = Jwk { n: Some("!".to_owned()), ..key };
    assert!(!certificate(RSA).public_key_matches(&malformed));
}

#[test]
fn a_key_that_names_a_certificate_matches_that_one_only() {
    let client = certificate(P256);
    let key = Jwk::from_pem(keys::P256_SPKI).unwrap();
    let named = |chain: Vec<String>| Jwk { x5c: Some(chain), ..key.clone() };
    let (own, other) = (STANDARD.encode(client.der()), STANDARD.encode(certificate(RSA).der()));
    assert!(client.public_key_matches(&named(vec![own.clone()])));
    assert!(client.public_key_matches(&named(vec![own.clone(), other.clone()])));
    assert!(!client.public_key_matches(&named(vec![other.clone(), own.clone()])));
    assert!(!client.public_key_matches(&named(vec!["?".to_owned()])));
    assert!(!client.public_key_matches(&named(Vec::new())));
    // The certificate is the one, the key beside it is not.
    let mixed = Jwk { x5c: Some(vec![own]), ..Jwk::from_pem(keys::RSA_SPKI).unwrap() };
    assert!(!client.public_key_matches(&mixed));
}

#[test]
fn the_key_of_a_certificate_is_imported_with_it() {
    let key = Jwk::from_pem(P256).unwrap();
    assert_eq!(key.thumbprint(), Jwk::from_pem(keys::P256_SPKI).unwrap().thumbprint());
    assert!(!key.is_private());
    assert_eq!(key.x5c.as_deref(), Some(&[STANDARD.encode(certificate(P256).der())][..]));
    assert_eq!(key.x5t_s256.as_deref(), Some("fyZUt4aoEqmILi3tTiQPhIDgZ7USjXmKsTdZtIuej9U"));
    assert!(certificate(P256).public_key_matches(&key));
    let broken = P256.replacen("MII", "MIA", 1);
    assert_eq!(Jwk::from_pem(&broken).unwrap_err(), JwkError::NotPem);
}

#[test]
fn what_is_no_certificate_is_refused() {
    let two = format!("{P256}{RSA}");
    for text in ["", "hello", keys::P256_SPKI, &two] {
        assert_eq!(ClientCertificate::from_pem(text).unwrap_err(), CertificateError::NotPem);
    }
    let der = certificate(P256).der().to_vec();
    let mut longer = der.clone();
    longer.push(0);
    for bytes in [&[][..], &der[1..], &der[..der.len() - 1], &longer, &vec![0x30; MAX_CERTIFICATE + 1]] {
        assert_eq!(ClientCertificate::from_der(bytes).unwrap_err(), CertificateError::Malformed);
    }
}

/// An authority, another below it, and one that nobody asked.
struct Authorities {
    root: CertifiedIssuer<'static, KeyPair>,
    below: CertifiedIssuer<'static, KeyPair>,
    stranger: CertifiedIssuer<'static, KeyPair>,
}

static AUTHORITIES: LazyLock<Authorities> = LazyLock::new(|| {
    let key = || KeyPair::generate().unwrap();
    let root = CertifiedIssuer::self_signed(authority("Root"), key()).unwrap();
    let below = CertifiedIssuer::signed_by(authority("Below"), key(), &root).unwrap();
    // The same name as the root, and another key.
    let stranger = CertifiedIssuer::self_signed(authority("Root"), key()).unwrap();
    Authorities { root, below, stranger }
});

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

fn leaf(purposes: Vec<ExtendedKeyUsagePurpose>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "client");
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2035, 1, 1);
    params.extended_key_usages = purposes;
    params
}

fn issued(issuer: &CertifiedIssuer<'static, KeyPair>, purposes: Vec<ExtendedKeyUsagePurpose>) -> Certificate {
    leaf(purposes).signed_by(&KeyPair::generate().unwrap(), issuer).unwrap()
}

fn anchors() -> TrustAnchors {
    TrustAnchors::from_pem(&AUTHORITIES.root.pem()).unwrap()
}

#[test]
fn a_client_that_an_authority_vouches_for_is_trusted() {
    for purposes in [vec![], vec![ExtendedKeyUsagePurpose::ClientAuth]] {
        let client = issued(&AUTHORITIES.root, purposes);
        anchors().verify(client.der(), &[], NOW).unwrap();
        assert!(ClientCertificate::from_der(client.der()).unwrap().subject_dn_matches("CN=client"));
    }
}

#[test]
fn an_authority_in_between_must_be_shown() {
    let client = issued(&AUTHORITIES.below, vec![]);
    let below = AUTHORITIES.below.der().to_vec();
    anchors().verify(client.der(), std::slice::from_ref(&below), NOW).unwrap();
    assert_eq!(anchors().verify(client.der(), &[], NOW).unwrap_err(), CertificateError::Untrusted);
    let many = vec![below; 9];
    assert_eq!(anchors().verify(client.der(), &many, NOW).unwrap_err(), CertificateError::Malformed);
}

#[test]
fn a_stranger_of_the_same_name_is_not_trusted() {
    let client = issued(&AUTHORITIES.stranger, vec![]);
    assert_eq!(anchors().verify(client.der(), &[], NOW).unwrap_err(), CertificateError::Untrusted);
    let shown = [AUTHORITIES.stranger.der().to_vec()];
    assert_eq!(anchors().verify(client.der(), &shown, NOW).unwrap_err(), CertificateError::Untrusted);
}

#[test]
fn a_client_is_no_authority() {
    let key = KeyPair::generate().unwrap();
    let middle = CertifiedIssuer::signed_by(leaf(vec![]), key, &AUTHORITIES.root).unwrap();
    let client = issued(&middle, vec![]);
    let shown = [middle.der().to_vec()];
    assert_eq!(anchors().verify(client.der(), &shown, NOW).unwrap_err(), CertificateError::Untrusted);
}

#[test]
fn a_certificate_for_servers_authenticates_no_client() {
    let server = issued(&AUTHORITIES.root, vec![ExtendedKeyUsagePurpose::ServerAuth]);
    assert_eq!(anchors().verify(server.der(), &[], NOW).unwrap_err(), CertificateError::Untrusted);
}

#[test]
fn a_certificate_out_of_its_time_is_refused() {
    let client = issued(&AUTHORITIES.root, vec![]);
    for now in [NOW - 10 * YEAR, NOW + 10 * YEAR, -1, i64::MIN] {
        assert_eq!(anchors().verify(client.der(), &[], now).unwrap_err(), CertificateError::NotValidNow);
    }
}

#[test]
fn a_self_signed_certificate_is_not_trusted() {
    for pem in [P256, RSA, ED25519] {
        assert!(anchors().verify(certificate(pem).der(), &[], NOW).is_err());
    }
}

#[test]
fn trust_anchors_are_at_least_one_certificate() {
    let two = format!("{}{}", AUTHORITIES.stranger.pem(), AUTHORITIES.root.pem());
    let client = issued(&AUTHORITIES.root, vec![]);
    TrustAnchors::from_pem(&two).unwrap().verify(client.der(), &[], NOW).unwrap();
    for text in ["", "hello", keys::P256_SPKI] {
        assert_eq!(TrustAnchors::from_pem(text).unwrap_err(), CertificateError::NotPem);
    }
    let broken = AUTHORITIES.root.pem().replacen("MII", "MIA", 1);
    assert!(TrustAnchors::from_pem(&broken).is_err());
}

proptest! {
    #[test]
    fn a_name_of_any_text_never_panics(text: String, key in "CN|O|[a-zA-Z0-9.]*", value: String) {
        let client = certificate(P256);
        let _ = client.subject_dn_matches(&text);
        let _ = client.subject_dn_matches(&format!("{key}={value},O=Example Ltd"));
    }

    #[test]
    fn a_changed_certificate_never_panics_and_is_never_trusted(bit: usize) {
        static CLIENT: LazyLock<Vec<u8>> =
            LazyLock::new(|| issued(&AUTHORITIES.root, vec![]).der().to_vec());
        let mut der = CLIENT.clone();
        let bit = bit % (der.len() * 8);
        der[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(anchors().verify(&der, &[], NOW).is_err());
        if let Ok(client) = ClientCertificate::from_der(&der) {
            let _ = (client.subject_dn(), client.to_jwk(), client.not_after(), client.san_ips());
        }
    }
}
