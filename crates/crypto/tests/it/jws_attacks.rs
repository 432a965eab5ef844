//! Tokens that must not pass (RFC 8725).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use proptest::prelude::*;
use serde_json::json;
use sluice_crypto::jwk::{Jwk, MacAlgorithm, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{
    MAX_CANDIDATES, MAX_TOKEN, SigningKey, VerifyError, VerifyingKey, unverified_parts, verify, verify_hmac,
    verify_trying,
};

use crate::keys;

fn verifying(algorithm: SigningAlgorithm) -> VerifyingKey {
    VerifyingKey::from_jwk(&keys::key_for(algorithm).public()).unwrap()
}

fn token(algorithm: SigningAlgorithm) -> String {
    SigningKey::from_jwk(&keys::key_for(algorithm)).unwrap().sign(Some("JWT"), br#"{"sub":"alice"}"#).unwrap()
}

/// A token with this header, signed with the Ed25519 key of the tests.
fn with_header(header: &str) -> String {
    let token = SigningKey::from_jwk(&keys::key_for(SigningAlgorithm::EdDSA)).unwrap();
    let token = token.sign(None, b"{}").unwrap();
    let (_, rest) = token.split_once('.').unwrap();
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header))
}

fn refused(token: &str) -> VerifyError {
    let keys: Vec<_> = SigningAlgorithm::ALL.into_iter().map(verifying).collect();
    verify(token, &keys, &SigningAlgorithm::ALL).unwrap_err()
}

#[test]
fn a_token_without_signature_is_refused_under_every_spelling_of_none() {
    for none in ["none", "None", "NONE", "nOnE", ""] {
        let header = URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"{none}"}}"#));
        assert_eq!(refused(&format!("{header}.e30.")), VerifyError::AlgorithmNotAllowed);
        assert_eq!(
            verify_hmac(&format!("{header}.e30."), b"secret", &MacAlgorithm::ALL).unwrap_err(),
            VerifyError::AlgorithmNotAllowed
        );
    }
}

#[test]
fn an_hmac_with_the_public_key_as_secret_is_refused() {
    for secret in [keys::RSA_SPKI, keys::P256_SPKI, keys::ED25519_SPKI] {
        let key = EncodingKey::from_secret(secret.as_bytes());
        let forged = encode(&Header::new(Algorithm::HS256), &json!({"sub": "alice"}), &key).unwrap();
        assert_eq!(refused(&forged), VerifyError::AlgorithmNotAllowed);
    }
}

#[test]
fn a_signature_passes_for_no_mac() {
    let signed = token(SigningAlgorithm::RS256);
    assert_eq!(
        verify_hmac(&signed, keys::RSA_SPKI.as_bytes(), &MacAlgorithm::ALL).unwrap_err(),
        VerifyError::AlgorithmNotAllowed
    );
}

#[test]
fn a_symmetric_key_is_no_verifying_key() {
    let rng = sluice_primitives::SeededRng::new(1);
    let key = Jwk::generate_symmetric(MacAlgorithm::HS256, "key-1".to_owned(), &rng);
    assert!(VerifyingKey::from_jwk(&key).is_err());
    assert!(SigningKey::from_jwk(&key).is_err());
}

#[test]
fn an_algorithm_that_is_not_allowed_is_refused_though_the_key_is_right() {
    let (signed, keys) = (token(SigningAlgorithm::ES256), [verifying(SigningAlgorithm::ES256)]);
    assert_eq!(
        verify(&signed, &keys, &[SigningAlgorithm::RS256]).unwrap_err(),
        VerifyError::AlgorithmNotAllowed
    );
    assert_eq!(verify(&signed, &keys, &[]).unwrap_err(), VerifyError::AlgorithmNotAllowed);
}

#[test]
fn a_key_bound_to_one_algorithm_verifies_no_other_of_its_family() {
    let (signed, bound) = (token(SigningAlgorithm::RS256), [verifying(SigningAlgorithm::PS256)]);
    assert_eq!(verify(&signed, &bound, &SigningAlgorithm::ALL).unwrap_err(), VerifyError::UnknownKey);
    let free = Jwk { alg: None, ..keys::key_for(SigningAlgorithm::PS256).public() };
    let free = [VerifyingKey::from_jwk(&free).unwrap()];
    assert!(verify(&signed, &free, &SigningAlgorithm::ALL).is_ok());
}

#[test]
fn a_header_that_asks_for_an_extension_is_refused() {
    for crit in [r#"["b64"]"#, "[]", "null", "\"exp\"", "false"] {
        let token = with_header(&format!(r#"{{"alg":"EdDSA","b64":false,"crit":{crit}}}"#));
        assert_eq!(refused(&token), VerifyError::CriticalHeader);
        assert_eq!(unverified_parts(&token).unwrap_err(), VerifyError::CriticalHeader);
    }
}

#[test]
fn a_header_brings_no_key_of_its_own() {
    let attacker = Jwk::generate(SigningAlgorithm::EdDSA, "evil".to_owned(), RsaSize::default()).unwrap();
    let header = json!({"alg": "EdDSA", "jwk": attacker.public(), "jku": "https://evil.example/jwks"});
    let header = URL_SAFE_NO_PAD.encode(header.to_string());
    let signed = SigningKey::from_jwk(&attacker).unwrap().sign(None, b"{}").unwrap();
    let (_, rest) = signed.split_once('.').unwrap();
    assert_eq!(refused(&format!("{header}.{rest}")), VerifyError::WrongSignature);
}

#[test]
fn a_header_that_says_something_twice_is_refused() {
    assert_eq!(refused(&with_header(r#"{"alg":"EdDSA","alg":"ES256"}"#)), VerifyError::Malformed);
    assert_eq!(refused(&with_header(r#"{"alg":"EdDSA","kid":"a","kid":"b"}"#)), VerifyError::Malformed);
}

#[test]
fn anything_but_three_parts_of_base64url_is_refused() {
    let good = token(SigningAlgorithm::EdDSA);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let cases = ["", ".", "..", "...", "e30", "e30.e30", "a.b.c.d.e"];
    let changed = [
        format!("{good}."),
        format!(".{good}"),
        format!("{good}="),
        format!("{good}\n"),
        format!(" {good}"),
        format!("{signed}.{signature}.{signature}"),
        good.replace('-', "+").replace('_', "/") + "/",
        signed.to_owned(),
    ];
    for token in cases.into_iter().map(str::to_owned).chain(changed) {
        assert_eq!(refused(&token), VerifyError::Malformed, "{token}");
    }
    assert_eq!(refused(&format!("{signed}.")), VerifyError::WrongSignature);
}

#[test]
fn a_token_that_is_too_long_is_not_read() {
    assert_eq!(refused(&"a".repeat(MAX_TOKEN + 1)), VerifyError::TooLong);
    assert_eq!(unverified_parts(&"a".repeat(MAX_TOKEN + 1)).unwrap_err(), VerifyError::TooLong);
}

#[test]
fn a_named_key_is_the_only_one_tried() {
    let key = keys::key_for(SigningAlgorithm::EdDSA);
    let signed = token(SigningAlgorithm::EdDSA);
    for kid in [Some("key-2".to_owned()), None] {
        let other = VerifyingKey::from_jwk(&Jwk { kid, ..key.public() }).unwrap();
        assert_eq!(verify(&signed, &[other], &SigningAlgorithm::ALL).unwrap_err(), VerifyError::UnknownKey);
    }
}

#[test]
fn without_a_name_so_many_keys_are_tried_and_no_more() {
    let right = keys::key_for(SigningAlgorithm::EdDSA);
    let signed =
        SigningKey::from_jwk(&Jwk { kid: None, ..right.clone() }).unwrap().sign(None, b"{}").unwrap();
    let mut keys: Vec<_> = (1..MAX_CANDIDATES)
        .map(|n| Jwk::generate(SigningAlgorithm::EdDSA, n.to_string(), RsaSize::default()).unwrap())
        .map(|key| VerifyingKey::from_jwk(&key).unwrap())
        .collect();
    keys.push(VerifyingKey::from_jwk(&right).unwrap());
    assert!(verify(&signed, &keys, &SigningAlgorithm::ALL).is_ok());
    let trying = |most: usize| verify_trying(most, &signed, &keys, &SigningAlgorithm::ALL);
    assert!(trying(MAX_CANDIDATES).is_ok());
    assert_eq!(trying(MAX_CANDIDATES - 1).unwrap_err(), VerifyError::WrongSignature);
    keys.rotate_right(1);
    let last = keys.remove(0);
    keys.push(verifying_other());
    keys.push(last);
    assert_eq!(verify(&signed, &keys, &SigningAlgorithm::ALL).unwrap_err(), VerifyError::WrongSignature);
}

fn verifying_other() -> VerifyingKey {
    let key = Jwk::generate(SigningAlgorithm::EdDSA, "other".to_owned(), RsaSize::default()).unwrap();
    VerifyingKey::from_jwk(&key).unwrap()
}

#[test]
fn an_empty_secret_makes_no_mac() {
    let key = EncodingKey::from_secret(b"");
    let forged = encode(&Header::new(Algorithm::HS256), &json!({}), &key).unwrap();
    assert_eq!(verify_hmac(&forged, b"", &MacAlgorithm::ALL).unwrap_err(), VerifyError::UnknownKey);
}

proptest! {
    #[test]
    fn a_changed_bit_never_verifies(which in 0_usize..10, bit: usize) {
        let algorithm = SigningAlgorithm::ALL[which];
        let mut bytes = token(algorithm).into_bytes();
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(changed) = String::from_utf8(bytes) {
            prop_assert!(verify(&changed, &[verifying(algorithm)], &[algorithm]).is_err());
        }
    }

    #[test]
    fn reading_never_panics(text: String) {
        let _ = unverified_parts(&text);
        let _ = refused(&text);
    }

    #[test]
    fn a_header_of_any_json_never_panics(header: String, typ: String) {
        let _ = unverified_parts(&with_header(&header));
        let _ = unverified_parts(&with_header(&json!({"alg": header, "typ": typ}).to_string()));
    }
}
