//! Encrypted tokens that must not pass.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_crypto::jwe::{
    ContentEncryption, DecryptError, DecryptionKey, EncryptionKey, KeyManagement, MAX_TOKEN, decrypt, encrypt,
};
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize, SigningAlgorithm};

use crate::keys;

fn jwk(pem: &str) -> Jwk {
    Jwk { alg: None, ..Jwk::from_pem(pem).unwrap() }
}

fn token(algorithm: KeyManagement, enc: ContentEncryption) -> String {
    let pem = if algorithm.as_str().starts_with("RSA") { keys::RSA } else { keys::P256 };
    let key = EncryptionKey::for_algorithm(&jwk(pem).public(), algorithm).unwrap();
    encrypt(b"a secret of sixteen bytes and more", &key, enc, None).unwrap()
}

fn ours() -> [DecryptionKey; 2] {
    [keys::RSA, keys::P256].map(|pem| DecryptionKey::from_jwk(&jwk(pem)).unwrap())
}

fn refused(token: &str) -> DecryptError {
    decrypt(token, &ours()).unwrap_err()
}

/// The token with its header changed.
fn with_header(token: &str, change: impl FnOnce(&mut Value)) -> String {
    let (header, rest) = token.split_once('.').unwrap();
    let mut header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    change(&mut header);
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()))
}

/// The token with one part changed.
fn with_part(token: &str, which: usize, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    let mut bytes = URL_SAFE_NO_PAD.decode(&parts[which]).unwrap();
    change(&mut bytes);
    parts[which] = URL_SAFE_NO_PAD.encode(bytes);
    parts.join(".")
}

fn each_combination() -> impl Iterator<Item = (KeyManagement, ContentEncryption)> {
    KeyManagement::ALL.into_iter().flat_map(|algorithm| ContentEncryption::ALL.map(|enc| (algorithm, enc)))
}

#[test]
fn whatever_part_was_changed_the_error_is_the_same() {
    for (algorithm, enc) in each_combination() {
        let token = token(algorithm, enc);
        for part in 1..5 {
            let changed = with_part(&token, part, |bytes| match bytes.last_mut() {
                Some(last) => *last ^= 1,
                None => bytes.push(0),
            });
            assert_eq!(refused(&changed), DecryptError::NotDecrypted, "{algorithm} {enc} {part}");
            let longer = with_part(&token, part, |bytes| bytes.push(0));
            assert_eq!(refused(&longer), DecryptError::NotDecrypted, "{algorithm} {enc} {part}");
        }
    }
}

#[test]
fn a_shortened_tag_is_refused() {
    for enc in ContentEncryption::ALL {
        let token = token(KeyManagement::EcdhEs, enc);
        for length in [0, 1, 4, 8, 12, 15] {
            let cut = with_part(&token, 4, |tag| tag.truncate(length));
            assert_eq!(refused(&cut), DecryptError::NotDecrypted, "{enc} {length}");
        }
    }
}

#[test]
fn bytes_moved_from_the_ciphertext_into_the_tag_are_refused() {
    let token = token(KeyManagement::EcdhEs, ContentEncryption::A128Gcm);
    let mut moved = Vec::new();
    let shorter = with_part(&token, 3, |bytes| moved = bytes.split_off(bytes.len() - 4));
    let token = with_part(&shorter, 4, |tag| {
        moved.extend_from_slice(tag);
        *tag = moved;
    });
    assert_eq!(refused(&token), DecryptError::NotDecrypted);
}

#[test]
fn a_changed_header_is_refused() {
    for (algorithm, enc) in each_combination() {
        let changed = with_header(&token(algorithm, enc), |header| header["typ"] = json!("JWT"));
        assert_eq!(refused(&changed), DecryptError::NotDecrypted);
    }
}

#[test]
fn another_key_does_not_decrypt() {
    for algorithm in [KeyManagement::RsaOaep256, KeyManagement::EcdhEs, KeyManagement::EcdhEsA256Kw] {
        let other = Jwk::generate_encryption(algorithm, "enc-1".to_owned(), RsaSize::default()).unwrap();
        let other = [DecryptionKey::from_jwk(&other).unwrap()];
        let token = token(algorithm, ContentEncryption::A256Gcm);
        assert_eq!(decrypt(&token, &other).unwrap_err(), DecryptError::NotDecrypted);
        assert_eq!(decrypt(&token, &[]).unwrap_err(), DecryptError::NotDecrypted);
    }
}

#[test]
fn a_named_key_is_the_only_one_tried() {
    let key = EncryptionKey::from_jwk(&Jwk { kid: Some("a".to_owned()), ..jwk(keys::P256) }).unwrap();
    let token = encrypt(b"{}", &key, ContentEncryption::A128Gcm, None).unwrap();
    for (kid, opens) in [(Some("a"), true), (Some("b"), false), (None, false)] {
        let key = Jwk { kid: kid.map(str::to_owned), ..jwk(keys::P256) };
        assert_eq!(decrypt(&token, &[DecryptionKey::from_jwk(&key).unwrap()]).is_ok(), opens);
    }
}

#[test]
fn where_many_keys_could_be_meant_the_key_is_named() {
    let another = || {
        let jwk = Jwk::generate_encryption(KeyManagement::EcdhEs, "other".to_owned(), RsaSize::default());
        DecryptionKey::from_jwk(&jwk.unwrap()).unwrap()
    };
    let own = |kid: &str| Jwk { kid: Some(kid.to_owned()), ..jwk(keys::P256) };
    let ours = || DecryptionKey::from_jwk(&own("ours")).unwrap();
    let encrypted = |jwk: &Jwk| {
        let key = EncryptionKey::from_jwk(jwk).unwrap();
        encrypt(b"{}", &key, ContentEncryption::A128Gcm, None).unwrap()
    };
    let unnamed = encrypted(&Jwk { kid: None, ..own("ours") });
    assert!(decrypt(&unnamed, &[another(), ours()]).is_ok());
    let many = [another(), another(), ours()];
    assert_eq!(decrypt(&unnamed, &many).unwrap_err(), DecryptError::NotDecrypted);
    assert!(decrypt(&encrypted(&own("ours")), &many).is_ok());
}

#[test]
fn a_key_bound_to_one_algorithm_decrypts_with_no_other() {
    let bound = Jwk { alg: Some("RSA-OAEP-256".to_owned()), ..jwk(keys::RSA) };
    let bound = [DecryptionKey::from_jwk(&bound).unwrap()];
    let other = token(KeyManagement::RsaOaep, ContentEncryption::A128Gcm);
    assert_eq!(decrypt(&other, &bound).unwrap_err(), DecryptError::NotDecrypted);
    assert!(decrypt(&token(KeyManagement::RsaOaep256, ContentEncryption::A128Gcm), &bound).is_ok());
}

#[test]
fn a_compressed_token_is_refused_unread() {
    for zip in [json!("DEF"), json!("none"), Value::Null, json!(false)] {
        let token = with_header(&token(KeyManagement::EcdhEs, ContentEncryption::A128Gcm), |header| {
            header["zip"] = zip;
        });
        assert_eq!(refused(&token), DecryptError::Compressed);
    }
}

#[test]
fn a_header_that_asks_for_an_extension_is_refused() {
    for crit in [json!(["exp"]), json!([]), Value::Null] {
        let token = with_header(&token(KeyManagement::EcdhEs, ContentEncryption::A128Gcm), |header| {
            header["crit"] = crit;
        });
        assert_eq!(refused(&token), DecryptError::CriticalHeader);
    }
}

#[test]
fn an_algorithm_that_is_not_supported_is_refused() {
    let token = token(KeyManagement::RsaOaep, ContentEncryption::A128Gcm);
    for alg in ["RSA1_5", "dir", "none", "A128KW", "PBES2-HS256+A128KW", "ECDH-1PU", ""] {
        let changed = with_header(&token, |header| header["alg"] = json!(alg));
        assert_eq!(refused(&changed), DecryptError::AlgorithmNotSupported, "{alg}");
    }
    for enc in ["A192GCM", "A192CBC-HS384", "none", ""] {
        let changed = with_header(&token, |header| header["enc"] = json!(enc));
        assert_eq!(refused(&changed), DecryptError::AlgorithmNotSupported, "{enc}");
    }
}

#[test]
fn a_token_that_is_too_long_is_not_read() {
    assert_eq!(refused(&"a".repeat(MAX_TOKEN + 1)), DecryptError::TooLong);
}

#[test]
fn anything_but_five_parts_of_base64url_is_refused() {
    let good = token(KeyManagement::EcdhEsA128Kw, ContentEncryption::A128Gcm);
    let changed = [format!("{good}."), format!(".{good}"), format!("{good}="), format!("{good}.e30")];
    let cases = ["", ".", "....", "a.b.c", "e30....", "bnVsbA....", "W10...."].map(str::to_owned);
    for token in cases.into_iter().chain(changed) {
        assert_eq!(refused(&token), DecryptError::Malformed, "{token}");
    }
    let twice = URL_SAFE_NO_PAD.encode(r#"{"alg":"ECDH-ES","alg":"RSA-OAEP","enc":"A128GCM"}"#);
    assert_eq!(refused(&format!("{twice}....")), DecryptError::Malformed);
}

#[test]
fn an_ephemeral_key_that_is_no_point_of_our_curve_is_refused() {
    let token = token(KeyManagement::EcdhEs, ContentEncryption::A128Gcm);
    let p384 = Jwk::from_pem(keys::P384_SPKI).unwrap();
    let zero = URL_SAFE_NO_PAD.encode([0; 32]);
    let points = [
        // Coordinates swapped: no solution of the curve's equation.
        json!({"kty": "EC", "crv": "P-256", "x": jwk(keys::P256).y, "y": jwk(keys::P256).x}),
        // The point at infinity, as far as it can be written.
        json!({"kty": "EC", "crv": "P-256", "x": zero, "y": zero}),
        json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
        json!({"kty": "EC", "crv": "P-256", "x": jwk(keys::P256).x}),
        serde_json::to_value(&p384).unwrap(),
        json!({"kty": "EC", "crv": "P-256K", "x": zero, "y": zero}),
        json!({"kty": "OKP", "crv": "X25519", "x": zero}),
        json!({"kty": "oct", "k": "AAAA"}),
        Value::Null,
    ];
    for epk in points {
        let changed = with_header(&token, |header| header["epk"] = epk.clone());
        assert_eq!(refused(&changed), DecryptError::NotDecrypted, "{epk}");
    }
    let without = with_header(&token, |header| {
        header.as_object_mut().unwrap().remove("epk");
    });
    assert_eq!(refused(&without), DecryptError::NotDecrypted);
}

#[test]
fn a_point_of_small_order_agrees_on_nothing() {
    let ours: Jwk = serde_json::from_str(
        r#"{"kty":"OKP","crv":"X25519","x":"hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo","d":"dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo"}"#,
    )
    .unwrap();
    let theirs = EncryptionKey::from_jwk(&ours.public()).unwrap();
    let token = encrypt(b"{}", &theirs, ContentEncryption::A128Gcm, None).unwrap();
    let ours = [DecryptionKey::from_jwk(&ours).unwrap()];
    assert!(decrypt(&token, &ours).is_ok());
    for first in [0, 1] {
        let mut point = [0; 32];
        point[0] = first;
        let changed = with_header(&token, |header| {
            header["epk"]["x"] = json!(URL_SAFE_NO_PAD.encode(point));
        });
        assert_eq!(decrypt(&changed, &ours).unwrap_err(), DecryptError::NotDecrypted);
    }
}

#[test]
fn a_recipient_whose_key_is_no_good_gets_nothing() {
    let key = jwk(keys::P256).public();
    let moved = Jwk { x: key.y.clone(), y: key.x.clone(), ..key };
    assert_eq!(EncryptionKey::from_jwk(&moved).unwrap_err(), JwkError::Invalid);
    let ed25519 = Jwk { alg: None, ..keys::key_for(SigningAlgorithm::EdDSA).public() };
    assert_eq!(EncryptionKey::from_jwk(&ed25519).unwrap_err(), JwkError::UnknownKeyType);
    for bytes in [128, 1025, 4096] {
        let n = Some(URL_SAFE_NO_PAD.encode(vec![0xff; bytes]));
        let key = Jwk { n, ..jwk(keys::RSA).public() };
        assert_eq!(EncryptionKey::from_jwk(&key).unwrap_err(), JwkError::RsaSize);
    }
}

#[test]
fn a_decrypted_token_does_not_print_its_payload() {
    let jwe = decrypt(&token(KeyManagement::EcdhEs, ContentEncryption::A128Gcm), &ours()).unwrap();
    assert!(!format!("{jwe:?}").contains("secret"));
    assert!(!format!("{:?}", ours()).contains(jwk(keys::P256).d.unwrap().expose()));
}

proptest! {
    #[test]
    fn a_changed_bit_never_decrypts(which in 0_usize..5, enc in 0_usize..4, bit: usize) {
        let mut bytes = token(KeyManagement::ALL[which], ContentEncryption::ALL[enc]).into_bytes();
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(changed) = String::from_utf8(bytes) {
            prop_assert!(decrypt(&changed, &ours()).is_err());
        }
    }

    #[test]
    fn reading_never_panics(text: String, header: String) {
        let _ = refused(&text);
        let _ = refused(&format!("{}....", URL_SAFE_NO_PAD.encode(header)));
    }

    #[test]
    fn parts_of_any_bytes_never_panic(parts: [Vec<u8>; 4]) {
        for alg in KeyManagement::ALL {
            let epk = jwk(keys::P256).public();
            let header = json!({"alg": alg.as_str(), "enc": "A128CBC-HS256", "epk": epk}).to_string();
            let rest = parts.each_ref().map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
            let token = format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header));
            prop_assert!(decrypt(&token, &ours()).is_err());
        }
    }
}
