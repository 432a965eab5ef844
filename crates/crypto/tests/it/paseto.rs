//! PASETO: the official vectors of version 4, another implementation as oracle, attacks.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::SigningKey;
use sluice_crypto::paseto::{PasetoError, PasetoKey, PasetoPublicKey, key_id};
use sluice_primitives::OsRng;

/// The public key of the vectors 4-S-1 to 4-S-3.
const PUBLIC: &str = "1eb9dbbbbc047c03fd70604e0071f0987e16b28b757225c11f00415d0e20b1a2";
const SEED: &str = "b4cbfb43df4ce210727d953e4a713307fa19bb7d9f85041438d9e11b942a3774";
const PAYLOAD: &[u8] = br#"{"data":"this is a signed message","exp":"2022-01-01T00:00:00+00:00"}"#;
/// Token and implicit assertion.
const VECTORS: [(&str, &[u8]); 3] = [
    (
        "v4.public.eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDowMCJ9bg_XBBzds8lTZShVlwwKSgeKpLT3yukTw6JUz3W4h_ExsQV-P0V54zemZDcAxFaSeef1QlXEFtkqxT1ciiQEDA",
        b"",
    ),
    (
        "v4.public.eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDowMCJ9v3Jt8mx_TdM2ceTGoqwrh4yDFn0XsHvvV_D0DtwQxVrJEBMl0F2caAdgnpKlt4p7xBnx1HcO-SPo8FPp214HDw.eyJraWQiOiJ6VmhNaVBCUDlmUmYyc25FY1Q3Z0ZUaW9lQTlDT2NOeTlEZmdMMVc2MGhhTiJ9",
        b"",
    ),
    (
        "v4.public.eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDowMCJ9NPWciuD3d0o5eXJXG5pJy-DiVEoyPYWs1YSTwWHNJq6DZD3je5gf-0M4JR9ipdUSJbIovzmBECeaWmaqcaP0DQ.eyJraWQiOiJ6VmhNaVBCUDlmUmYyc25FY1Q3Z0ZUaW9lQTlDT2NOeTlEZmdMMVc2MGhhTiJ9",
        br#"{"test-vector":"4-S-3"}"#,
    ),
];
/// Made by pyseto with the seed 00 01 … 1f, the footer that we write and the implicit assertion `network`.
const ORACLE_ID: &str = "k4.pid.aFyPJn8JR0dpgdue6cBXcpbaztu3TwZXLnZuye0dXYtz";
const ORACLE: &str = "v4.public.eyJzdWIiOiIxIn0oD4ORAH3uYhqYvtGA31hTLhiQ-AxrlNfNoa9LqW1QJdma8rN5Qu1f4GxFIcUlWDlM6QLgziQJ92UTrMAbd6cA.eyJraWQiOiJrNC5waWQuYUZ5UEpuOEpSMGRwZ2R1ZTZjQlhjcGJhenR1M1R3WlhMblp1eWUwZFhZdHoifQ";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|place| u8::from_str_radix(&hex[place..place + 2], 16).unwrap()).collect()
}

fn public() -> PasetoPublicKey {
    PasetoPublicKey::from_bytes(&bytes(PUBLIC)).unwrap()
}

fn oracle() -> PasetoKey {
    PasetoKey::from_seed(&std::array::from_fn(|place| u8::try_from(place).unwrap())).unwrap()
}

#[test]
fn the_official_vectors_verify() {
    for (token, implicit) in VECTORS {
        assert_eq!(public().verify(token, implicit).as_deref(), Ok(PAYLOAD));
        assert_eq!(public().verify(token, b"another"), Err(PasetoError::NotAuthentic));
    }
    let from_seed = PasetoKey::from_seed(&bytes(SEED).try_into().unwrap()).unwrap();
    assert_eq!(from_seed.id(), public().id());
}

#[test]
fn the_official_vectors_that_must_fail_do() {
    let other_purpose = "v4.local.vngXfCISbnKgiP6VWGuOSlYrFYU300fy9ijW33rznDYgxHNPwWluAY2Bgb0z54CUs6aYYkIJ-bOOOmJHPuX_34Agt_IPlNdGDpRdGNnBz2MpWJvB3cttheEc1uyCEYltj7wBQQYX.YXJiaXRyYXJ5LXN0cmluZy10aGF0LWlzbid0LWpzb24";
    assert_eq!(public().verify(other_purpose, br#"{"test-vector":"4-F-1"}"#), Err(PasetoError::Malformed));
    let another_key = "v4.public.eyJpbnZhbGlkIjoidGhpcyBzaG91bGQgbmV2ZXIgZGVjb2RlIn22Sp4gjCaUw0c7EH84ZSm_jN_Qr41MrgLNu5LIBCzUr1pn3Z-Wukg9h3ceplWigpoHaTLcwxj0NsI1vjTh67YB.eyJraWQiOiJ6VmhNaVBCUDlmUmYyc25FY1Q3Z0ZUaW9lQTlDT2NOeTlEZmdMMVc2MGhhTiJ9";
    assert_eq!(public().verify(another_key, br#"{"test-vector":"4-F-2"}"#), Err(PasetoError::NotAuthentic));
}

#[test]
fn the_id_of_a_key_is_that_of_the_official_vectors() {
    for (key, id) in [
        (
            "0000000000000000000000000000000000000000000000000000000000000000",
            "k4.pid.S_XQmeEwHbbvRmiyfXfHYpLGjXGzjTRSDoT1YtTakWFE",
        ),
        (
            "707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f",
            "k4.pid.9ShR3xc8-qVJ_di0tc9nx0IDIqbatdeM2mqLFBJsKRHs",
        ),
    ] {
        assert_eq!(PasetoPublicKey::from_bytes(&bytes(key)).unwrap().id(), id);
    }
    assert_eq!(PasetoPublicKey::from_bytes(&[0; 31]).unwrap_err(), PasetoError::Key);
}

#[test]
fn another_implementation_signs_the_same_token() {
    assert_eq!(oracle().id(), ORACLE_ID);
    assert_eq!(oracle().sign(br#"{"sub":"1"}"#, b"network").unwrap(), ORACLE);
    assert_eq!(key_id(ORACLE), Ok(Some(ORACLE_ID.to_owned())));
}

#[test]
fn a_changed_token_is_refused() {
    let (key, another) = (oracle(), PasetoKey::generate(&OsRng).unwrap());
    assert_eq!(another.public().verify(ORACLE, b"network"), Err(PasetoError::NotAuthentic));
    let mut parts: Vec<&str> = ORACLE.split('.').collect();
    let changed = URL_SAFE_NO_PAD.encode(format!(r#"{{"kid":"{}"}}"#, another.id()));
    parts[3] = &changed;
    assert_eq!(key.public().verify(&parts.join("."), b"network"), Err(PasetoError::NotAuthentic));
    assert_eq!(key.public().verify(&parts[..3].join("."), b"network"), Err(PasetoError::NotAuthentic));
    let body = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    for place in 0..body.len() {
        let mut forged = body.clone();
        forged[place] ^= 1;
        let token =
            format!("v4.public.{}.{}", URL_SAFE_NO_PAD.encode(forged), ORACLE.rsplit('.').next().unwrap());
        assert_eq!(key.public().verify(&token, b"network"), Err(PasetoError::NotAuthentic), "{place}");
    }
}

#[test]
fn what_is_no_token_of_version_4_is_refused() {
    let public = public();
    for malformed in
        ["", "v4.public.", "v4.public.AAAA", "v2.public.AAAA", "eyJhbGciOiJub25lIn0.e30.", "v4.public.a.b.c"]
    {
        assert_eq!(public.verify(malformed, b""), Err(PasetoError::Malformed), "{malformed}");
        assert_eq!(key_id(malformed), Err(PasetoError::Malformed), "{malformed}");
    }
    let long = format!("v4.public.{}", "A".repeat(64 * 1024));
    assert_eq!(public.verify(&long, b""), Err(PasetoError::Malformed));
}

#[test]
fn a_token_without_an_understood_footer_names_no_key() {
    assert_eq!(key_id(VECTORS[0].0), Ok(None));
    let (token, footer) = (VECTORS[0].0, URL_SAFE_NO_PAD.encode("not json"));
    assert_eq!(key_id(&format!("{token}.{footer}")), Ok(None));
}

#[test]
fn a_key_lives_in_a_jwk_and_comes_back() {
    let generated = Jwk::generate(SigningAlgorithm::EdDSA, "one".to_owned(), RsaSize::default()).unwrap();
    let key = PasetoKey::from_jwk(&generated).unwrap();
    let token = key.sign(b"{}", b"").unwrap();
    let public = PasetoPublicKey::from_jwk(&generated.public()).unwrap();
    assert_eq!(public.verify(&token, b"").as_deref(), Ok(b"{}".as_slice()));
    let written = key.to_jwk();
    assert_eq!((&written.d, &written.x), (&generated.d, &generated.x));
    assert_eq!(written.kid.as_deref(), Some(key.id()));
    assert!(SigningKey::from_jwk(&written).is_ok() && !public.to_jwk().is_private());
    assert_eq!(PasetoKey::from_jwk(&written).unwrap().id(), key.id());
}

#[test]
fn a_jwk_of_another_kind_or_use_is_refused() {
    let elliptic = Jwk::generate(SigningAlgorithm::ES256, "one".to_owned(), RsaSize::default()).unwrap();
    assert_eq!(PasetoKey::from_jwk(&elliptic).unwrap_err(), JwkError::WrongAlgorithm);
    assert_eq!(PasetoPublicKey::from_jwk(&elliptic).unwrap_err(), JwkError::WrongAlgorithm);
    let key = oracle().to_jwk();
    assert_eq!(PasetoKey::from_jwk(&key.public()).unwrap_err(), JwkError::MissingMember("d"));
    let encryption = Jwk { key_use: Some("enc".to_owned()), ..key.clone() };
    assert_eq!(PasetoKey::from_jwk(&encryption).unwrap_err(), JwkError::NotForSignatures);
    let mismatched = Jwk { x: Some(URL_SAFE_NO_PAD.encode(bytes(PUBLIC))), ..key };
    assert_eq!(PasetoKey::from_jwk(&mismatched).unwrap_err(), JwkError::Invalid);
}

#[test]
fn a_private_key_does_not_print_itself() {
    let key = oracle();
    assert_eq!(format!("{key:?}"), format!("PasetoKey {{ id: \"{ORACLE_ID}\", .. }}"));
}

#[test]
fn an_empty_payload_is_not_signed() {
    assert_eq!(oracle().sign(b"", b""), Err(PasetoError::NotSigned));
}

proptest::proptest! {
    #[test]
    fn verifying_never_panics(garbage: String) {
        let _ = public().verify(&garbage, b"");
        let _ = public().verify(&format!("v4.public.{garbage}"), b"");
        let _ = key_id(&format!("v4.public.{garbage}"));
    }
}
