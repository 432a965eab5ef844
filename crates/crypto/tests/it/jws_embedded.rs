//! Tokens that bring their own key (RFC 9449 §4), and those that must not pass as one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::EncodingKey;
use jsonwebtoken::crypto::sign;
use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_crypto::jwk::{Jwk, MacAlgorithm, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{
    MAX_EMBEDDED_MODULUS, SigningKey, VerifyError, VerifyingKey, sign_hmac, verify, verify_hmac,
    verify_with_embedded_key,
};

use crate::keys;

const TYP: &str = "dpop+jwt";

/// The proof of RFC 9449 §4.1.
const RFC_9449: &str = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg";

/// A token with this header, rightly signed with the key of the tests for this algorithm.
fn signed(header: &Value, algorithm: SigningAlgorithm) -> String {
    let pem = keys::pem_for(algorithm).as_bytes();
    let key = match algorithm {
        SigningAlgorithm::ES256 => EncodingKey::from_ec_pem(pem).unwrap(),
        SigningAlgorithm::EdDSA => EncodingKey::from_ed_pem(pem).unwrap(),
        _ => EncodingKey::from_rsa_pem(pem).unwrap(),
    };
    let message = format!("{}.e30", URL_SAFE_NO_PAD.encode(header.to_string()));
    let signature = sign(message.as_bytes(), &key, algorithm.as_str().parse().unwrap()).unwrap();
    format!("{message}.{signature}")
}

fn proof(change: impl FnOnce(&mut Value)) -> String {
    let key = Jwk { kid: None, alg: None, ..keys::key_for(SigningAlgorithm::ES256).public() };
    let mut header = json!({"typ": TYP, "alg": "ES256", "jwk": key});
    change(&mut header);
    signed(&header, SigningAlgorithm::ES256)
}

fn refused(token: &str) -> VerifyError {
    verify_with_embedded_key(token, &SigningAlgorithm::ALL, TYP).unwrap_err()
}

#[test]
fn the_proof_of_rfc_9449_verifies_and_its_key_has_the_printed_thumbprint() {
    let (jws, key) = verify_with_embedded_key(RFC_9449, &[SigningAlgorithm::ES256], TYP).unwrap();
    assert_eq!(jws.claims::<Value>().unwrap()["htm"], "POST");
    assert_eq!(key.thumbprint().unwrap(), "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
    assert_eq!(URL_SAFE_NO_PAD.encode(key.thumbprint_bytes().unwrap()), key.thumbprint().unwrap());
}

#[test]
fn a_proof_with_a_key_of_any_type_verifies() {
    for algorithm in [SigningAlgorithm::ES256, SigningAlgorithm::EdDSA, SigningAlgorithm::PS256] {
        let key = keys::key_for(algorithm);
        let header = json!({"typ": TYP, "alg": algorithm.as_str(), "jwk": key.public()});
        let (_, brought) = verify_with_embedded_key(&signed(&header, algorithm), &[algorithm], TYP).unwrap();
        assert_eq!(brought.thumbprint(), key.thumbprint());
        assert!(brought.kid.is_none() && brought.alg.is_none() && !brought.is_private());
    }
}

#[test]
fn only_a_proof_may_bring_its_key() {
    let keys = [VerifyingKey::from_jwk(&keys::key_for(SigningAlgorithm::EdDSA)).unwrap()];
    assert!(verify(&proof(|_| ()), &keys, &SigningAlgorithm::ALL).is_err());
}

#[test]
fn a_token_of_another_type_is_no_proof() {
    for typ in [json!("JWT"), json!("at+jwt"), json!("DPoP+JWT"), json!("application/dpop+jwt"), Value::Null]
    {
        assert_eq!(refused(&proof(|header| header["typ"] = typ)), VerifyError::WrongType);
    }
}

#[test]
fn an_algorithm_that_is_not_allowed_is_refused() {
    for alg in ["none", "None", "HS256", "HS512", "ES256K", ""] {
        let token = proof(|header| header["alg"] = json!(alg));
        assert_eq!(refused(&token), VerifyError::AlgorithmNotAllowed);
    }
    let only = [SigningAlgorithm::PS256];
    assert_eq!(
        verify_with_embedded_key(&proof(|_| ()), &only, TYP).unwrap_err(),
        VerifyError::AlgorithmNotAllowed
    );
}

#[test]
fn an_hmac_with_the_embedded_key_as_secret_is_refused() {
    let key = keys::key_for(SigningAlgorithm::ES256).public();
    let header = json!({"typ": TYP, "alg": "HS256", "jwk": key}).to_string();
    let forged = sign_hmac(Some(TYP), b"{}", keys::P256_SPKI.as_bytes(), MacAlgorithm::HS256).unwrap();
    let (_, rest) = forged.split_once('.').unwrap();
    let token = format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header));
    assert_eq!(refused(&token), VerifyError::AlgorithmNotAllowed);
}

#[test]
fn a_header_without_a_usable_public_key_is_refused() {
    let private = keys::key_for(SigningAlgorithm::ES256);
    let public = private.public();
    let with = |member: &str, value: Value| {
        let mut key = serde_json::to_value(&public).unwrap();
        key[member] = value;
        key
    };
    let unusable = [
        Value::Null,
        json!({}),
        json!("key"),
        json!([]),
        serde_json::to_value(&private).unwrap(),
        json!({"kty": "oct", "k": "AAAA"}),
        with("k", json!("AAAA")),
        with("crv", json!("P-256K")),
        with("crv", json!("P-384")),
        with("kty", json!("OKP")),
        with("kty", json!("RSA")),
        with("x", json!(public.y)),
        with("y", Value::Null),
        with("use", json!("enc")),
        with("alg", json!("ES384")),
        with("key_ops", json!(["encrypt"])),
    ];
    for jwk in unusable {
        let token = proof(|header| header["jwk"] = jwk.clone());
        assert_eq!(refused(&token), VerifyError::UnusableKey, "{jwk}");
    }
    let without = proof(|header| {
        header.as_object_mut().unwrap().remove("jwk");
    });
    assert_eq!(refused(&without), VerifyError::UnusableKey);
}

#[test]
fn a_key_that_did_not_make_the_signature_is_refused() {
    let other = Jwk::generate(SigningAlgorithm::ES256, "b".to_owned(), RsaSize::default()).unwrap();
    let token = proof(|header| header["jwk"] = serde_json::to_value(other.public()).unwrap());
    assert_eq!(refused(&token), VerifyError::WrongSignature);
}

#[test]
fn a_key_that_takes_long_to_use_is_refused() {
    let rsa = |n: Vec<u8>, e: Vec<u8>| {
        let key = json!({"kty": "RSA", "n": URL_SAFE_NO_PAD.encode(n), "e": URL_SAFE_NO_PAD.encode(e)});
        proof(|header| {
            header["alg"] = json!("RS256");
            header["jwk"] = key;
        })
    };
    for bytes in [1, 128, 255, MAX_EMBEDDED_MODULUS + 1, 1024, 2048] {
        assert_eq!(refused(&rsa(vec![0xff; bytes], vec![1, 0, 1])), VerifyError::UnusableKey, "{bytes}");
    }
    for exponent in [vec![0xff; 512], vec![0xff; 16], vec![1], vec![2], vec![0]] {
        assert_eq!(refused(&rsa(vec![0xff; 256], exponent)), VerifyError::UnusableKey);
    }
    assert_eq!(refused(&rsa(vec![0xff; MAX_EMBEDDED_MODULUS], vec![1, 0, 1])), VerifyError::WrongSignature);
}

#[test]
fn a_header_that_says_something_twice_or_asks_for_more_is_refused() {
    let header = proof(|_| ());
    let (header, rest) = header.split_once('.').unwrap();
    let header = String::from_utf8(URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    let twice = header.replacen('{', r#"{"jwk":{"kty":"oct"},"#, 1);
    let token = format!("{}.{rest}", URL_SAFE_NO_PAD.encode(twice));
    assert_eq!(refused(&token), VerifyError::UnusableKey);
    assert_eq!(refused(&proof(|header| header["crit"] = json!(["b64"]))), VerifyError::CriticalHeader);
}

#[test]
fn what_a_secret_signed_verifies_with_it_and_with_no_other() {
    for algorithm in MacAlgorithm::ALL {
        let token = sign_hmac(Some("JWT"), br#"{"iss":"a"}"#, b"a secret", algorithm).unwrap();
        let jws = verify_hmac(&token, b"a secret", &[algorithm]).unwrap();
        assert_eq!(
            (jws.payload.as_slice(), jws.header.typ.as_deref()),
            (&br#"{"iss":"a"}"#[..], Some("JWT"))
        );
        assert_eq!(verify_hmac(&token, b"another", &[algorithm]).unwrap_err(), VerifyError::WrongSignature);
        assert!(sign_hmac(None, b"{}", b"", algorithm).is_err());
    }
}

#[test]
fn a_signing_key_writes_no_key_into_the_header() {
    let token = SigningKey::from_jwk(&keys::key_for(SigningAlgorithm::ES256)).unwrap();
    assert_eq!(refused(&token.sign(Some(TYP), b"{}").unwrap()), VerifyError::UnusableKey);
}

proptest! {
    #[test]
    fn a_key_of_any_members_never_panics(kty in "RSA|EC|OKP|oct|.*", crv: String, x: String, n: Vec<u8>) {
        let jwk = json!({"kty": kty, "crv": crv, "x": x, "y": x, "n": URL_SAFE_NO_PAD.encode(&n), "e": "AQAB"});
        for alg in SigningAlgorithm::ALL {
            let header = json!({"typ": TYP, "alg": alg.as_str(), "jwk": jwk}).to_string();
            let token = format!("{}.e30.AAAA", URL_SAFE_NO_PAD.encode(header));
            prop_assert!(verify_with_embedded_key(&token, &SigningAlgorithm::ALL, TYP).is_err());
        }
    }
}
