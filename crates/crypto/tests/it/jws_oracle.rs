//! The `jsonwebtoken` crate reads what we write, and we read what it writes.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use serde_json::{Value, json};
use sluice_crypto::jwk::{MacAlgorithm, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, VerifyingKey, verify, verify_hmac};

use crate::keys;

/// The oracle knows no ES512.
const COMMON: [SigningAlgorithm; 9] = [
    SigningAlgorithm::RS256,
    SigningAlgorithm::RS384,
    SigningAlgorithm::RS512,
    SigningAlgorithm::PS256,
    SigningAlgorithm::PS384,
    SigningAlgorithm::PS512,
    SigningAlgorithm::ES256,
    SigningAlgorithm::ES384,
    SigningAlgorithm::EdDSA,
];

fn oracle_key(algorithm: SigningAlgorithm) -> EncodingKey {
    let pem = keys::pem_for(algorithm).as_bytes();
    match algorithm {
        SigningAlgorithm::ES256 | SigningAlgorithm::ES384 => EncodingKey::from_ec_pem(pem).unwrap(),
        SigningAlgorithm::EdDSA => EncodingKey::from_ed_pem(pem).unwrap(),
        _ => EncodingKey::from_rsa_pem(pem).unwrap(),
    }
}

#[test]
fn the_oracle_accepts_our_tokens_and_reads_our_keys() {
    for algorithm in COMMON {
        let key = keys::key_for(algorithm);
        let token = SigningKey::from_jwk(&key).unwrap().sign(Some("JWT"), br#"{"sub":"alice"}"#).unwrap();
        let read = serde_json::from_value(serde_json::to_value(key.public()).unwrap()).unwrap();
        let mut validation = Validation::new(algorithm.as_str().parse::<Algorithm>().unwrap());
        validation.required_spec_claims.clear();
        let told = decode::<Value>(&token, &DecodingKey::from_jwk(&read).unwrap(), &validation).unwrap();
        assert_eq!(told.claims["sub"], "alice", "{algorithm}");
        assert_eq!(told.header.kid.as_deref(), Some("key-1"));
    }
}

#[test]
fn we_accept_the_tokens_of_the_oracle() {
    for algorithm in COMMON {
        let header = Header {
            kid: Some("key-1".to_owned()),
            ..Header::new(algorithm.as_str().parse::<Algorithm>().unwrap())
        };
        let token = encode(&header, &json!({"sub": "alice"}), &oracle_key(algorithm)).unwrap();
        let key = VerifyingKey::from_jwk(&keys::key_for(algorithm).public()).unwrap();
        let jws = verify(&token, &[key], &[algorithm]).unwrap();
        assert_eq!(jws.claims::<Value>().unwrap()["sub"], "alice", "{algorithm}");
    }
}

#[test]
fn we_accept_client_assertions_that_the_oracle_made_with_a_secret() {
    for (ours, theirs) in
        MacAlgorithm::ALL.into_iter().zip([Algorithm::HS256, Algorithm::HS384, Algorithm::HS512])
    {
        let key = EncodingKey::from_secret(b"a client secret");
        let token = encode(&Header::new(theirs), &json!({"iss": "client-1"}), &key).unwrap();
        assert!(verify_hmac(&token, b"a client secret", &[ours]).is_ok());
        assert!(verify_hmac(&token, b"another secret", &[ours]).is_err());
    }
}
