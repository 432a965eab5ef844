//! Tokens that others made, as the RFCs and other programs print them.

use sluice_crypto::jwk::{Jwk, MacAlgorithm, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, VerifyError, VerifyingKey, unverified_parts, verify, verify_hmac};

use crate::keys;

const RFC_7515_A1: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const RFC_7515_A2: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
const RFC_7515_A3: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
const RFC_8037_A4: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
/// The same with the name that RFC 9864 gives the algorithm, made by Python's `cryptography`.
const RFC_9864: &str = "eyJhbGciOiJFZDI1NTE5In0.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.UxhIYLHGg39NVCLpQAVD_UcfOmnGSCzLFZoXYkLiIbFccmOb_qObsgjzLKsfJw-4NlccUgvYrEHrRbNV0HcZAQ";
/// Made by Node.js with the P-521 key of these tests.
const NODE_ES512: &str = "eyJhbGciOiJFUzUxMiJ9.eyJzdWIiOiJhbGljZSJ9.AWv9OLC0xrXj-bG6Pq2d_oJ8WmviRSHXD3p8Mujk85EQixVgE94KRfAmZwnntwARDDfvFEc_Wf0Ykior_GSb3eVDAEiI9JVv9C2ykMx6TgBWuElZ_iQ3AGEv4JKszYE1v2G2jUJqchb4dJhdNPE2NXq2HLr7_2mbRPPC5chOENegNLvi";

fn public(json: &str) -> VerifyingKey {
    VerifyingKey::from_jwk(&serde_json::from_str(json).unwrap()).unwrap()
}

#[test]
fn the_hmac_token_of_rfc_7515_verifies() {
    let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let key = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, key).unwrap();
    let jws = verify_hmac(RFC_7515_A1, &key, &[MacAlgorithm::HS256]).unwrap();
    assert_eq!(jws.claims::<serde_json::Value>().unwrap()["iss"], "joe");
    assert_eq!(jws.header.typ.as_deref(), Some("JWT"));
}

#[test]
fn the_rsa_token_of_rfc_7515_verifies() {
    let key = public(
        r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#,
    );
    assert!(verify(RFC_7515_A2, &[key], &[SigningAlgorithm::RS256]).is_ok());
}

#[test]
fn the_ecdsa_token_of_rfc_7515_verifies() {
    let key = public(
        r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
    );
    let jws = verify(RFC_7515_A3, &[key], &[SigningAlgorithm::ES256]).unwrap();
    assert_eq!(jws.claims::<serde_json::Value>().unwrap()["exp"], 1_300_819_380);
}

#[test]
fn the_ed25519_token_of_rfc_8037_verifies_and_is_signed_alike() {
    let key: Jwk = serde_json::from_str(
        r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
    )
    .unwrap();
    let verifying = VerifyingKey::from_jwk(&key.public()).unwrap();
    let jws = verify(RFC_8037_A4, &[verifying], &[SigningAlgorithm::EdDSA]).unwrap();
    assert_eq!(jws.payload, b"Example of Ed25519 signing");
    let signed = SigningKey::from_jwk(&key).unwrap().sign(None, b"Example of Ed25519 signing").unwrap();
    assert_eq!(signed, RFC_8037_A4);
}

#[test]
fn ed25519_has_two_names_in_tokens_and_in_keys() {
    let plain = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let plain: Jwk = serde_json::from_str(plain).unwrap();
    for alg in [None, Some("EdDSA"), Some("Ed25519")] {
        let jwk = Jwk { alg: alg.map(str::to_owned), ..plain.clone() };
        assert_eq!(jwk.signing_algorithm().unwrap(), SigningAlgorithm::EdDSA);
        let key = VerifyingKey::from_jwk(&jwk).unwrap();
        for token in [RFC_8037_A4, RFC_9864] {
            let keys = std::slice::from_ref(&key);
            assert!(verify(token, keys, &[SigningAlgorithm::EdDSA]).is_ok(), "{alg:?} {token}");
            assert!(verify(token, keys, &[SigningAlgorithm::ES256]).is_err());
        }
    }
    assert_eq!("Ed25519".parse::<SigningAlgorithm>(), Ok(SigningAlgorithm::EdDSA));
}

#[test]
fn an_es512_token_of_another_program_verifies() {
    let key = VerifyingKey::from_jwk(&Jwk::from_pem(keys::P521_SPKI).unwrap()).unwrap();
    let jws = verify(NODE_ES512, &[key], &[SigningAlgorithm::ES512]).unwrap();
    assert_eq!(jws.payload, br#"{"sub":"alice"}"#);
}

#[test]
fn what_is_signed_verifies_to_the_same_payload_and_header() {
    for algorithm in SigningAlgorithm::ALL {
        let key = keys::key_for(algorithm);
        let signing = SigningKey::from_jwk(&key).unwrap();
        let verifying = [VerifyingKey::from_jwk(&key.public()).unwrap()];
        for typ in [None, Some("JWT"), Some("at+jwt"), Some("dpop+jwt")] {
            let token = signing.sign(typ, br#"{"sub":"alice"}"#).unwrap();
            let jws = verify(&token, &verifying, &[algorithm]).unwrap();
            assert_eq!(jws.payload, br#"{"sub":"alice"}"#);
            assert_eq!(jws.header.typ.as_deref(), typ);
            assert_eq!(jws.header.kid.as_deref(), Some("key-1"));
            assert_eq!(jws.header.alg, algorithm.as_str());
        }
    }
}

#[test]
fn a_token_can_be_read_before_its_key_is_known() {
    let token = SigningKey::from_jwk(&keys::key_for(SigningAlgorithm::ES256)).unwrap();
    let token = token.sign(Some("JWT"), br#"{"iss":"client-1"}"#).unwrap();
    let seen = unverified_parts(&token).unwrap();
    assert_eq!(seen.header.kid.as_deref(), Some("key-1"));
    assert_eq!(seen.unverified_claims::<serde_json::Value>().unwrap()["iss"], "client-1");
    assert_eq!(unverified_parts("a.b").unwrap_err(), VerifyError::Malformed);
}
