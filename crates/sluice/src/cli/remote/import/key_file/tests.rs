use rcgen::{CertificateParams, KeyPair};
use sluice_crypto::jwk::{RsaSize, SigningAlgorithm};

use super::*;

fn only(content: &[u8]) -> Jwk {
    let [found] = <[Found; 1]>::try_from(parse(content).unwrap()).unwrap();
    found.jwk
}

#[test]
fn a_private_key_and_its_certificate_are_one_key_in_either_order() {
    let pair = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["id.test".to_owned()]).unwrap().self_signed(&pair).unwrap();
    let (private, public) = (pair.serialize_pem(), certificate.pem());
    for text in [format!("{private}{public}"), format!("subject=id.test\n{public}{private}")] {
        let key = only(text.as_bytes());
        assert!(key.is_private() && key.x5c.is_some() && key.x5t_s256.is_some());
        assert_eq!(key.alg.as_deref(), Some("ES256"));
    }
    assert!(!only(public.as_bytes()).is_private());
    assert_eq!(only(certificate.der()).public(), only(public.as_bytes()));
    assert_eq!(only(pair.serialized_der()), only(private.as_bytes()));
    let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    assert_eq!(only(format!("{parameters}{private}").as_bytes()), only(private.as_bytes()));
}

#[test]
fn different_keys_in_a_file_stay_different() {
    let pem = KeyPair::generate().unwrap().serialize_pem() + &KeyPair::generate().unwrap().serialize_pem();
    assert_eq!(parse(pem.as_bytes()).unwrap().len(), 2);
}

#[test]
fn a_key_and_a_set_of_keys_are_read_as_json() {
    let jwk = Jwk::generate(SigningAlgorithm::EdDSA, "k".to_owned(), RsaSize::default()).unwrap();
    let one = serde_json::to_string_pretty(&jwk).unwrap();
    assert_eq!(parse(format!("\n {one}").as_bytes()).unwrap(), [Found { jwk: jwk.clone(), says_alg: true }]);
    let set = format!(r#"{{"keys": [{one}, {{"kty": "oct", "k": "AAAA"}}]}}"#);
    let found = parse(set.as_bytes()).unwrap();
    assert_eq!((found.len(), &found[0].jwk, found[1].says_alg), (2, &jwk, false));
}

#[test]
fn what_holds_no_key_is_refused() {
    let contents: [&[u8]; 6] = [
        b"",
        b"hello",
        b"{}",
        br#"{"keys": []}"#,
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAAAA",
    ];
    for content in contents {
        assert!(parse(content).is_err(), "{}", String::from_utf8_lossy(content));
    }
}
