//! Encrypted tokens: as the RFCs and other programs print them, and there and back.

use sluice_crypto::jwe::{ContentEncryption, DecryptionKey, EncryptionKey, KeyManagement, decrypt, encrypt};
use sluice_crypto::jwk::{Jwk, JwkError, JwkSet, RsaSize, SigningAlgorithm};

use crate::keys;

const RFC_7516_A1: &str = "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.OKOawDo13gRp2ojaHV7LFpZcgV7T6DVZKTyKOMTYUmKoTCVJRgckCL9kiMT03JGeipsEdY3mx_etLbbWSrFr05kLzcSr4qKAq7YN7e9jwQRb23nfa6c9d-StnImGyFDbSv04uVuxIp5Zms1gNxKKK2Da14B8S4rzVRltdYwam_lDp5XnZAYpQdb76FdIKLaVmqgfwX7XWRxv2322i-vDxRfqNzo_tETKzpVLzfiwQyeyPGLBIO56YJ7eObdv0je81860ppamavo35UgoRdbYaBcoh9QcfylQr66oc6vFWXRcZ_ZT2LawVCWTIy3brGPi6UklfCpIMfIjf7iGdXKHzg.48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX_EFShS8iB7j6jiSdiwkIr3ajwQzaBtQD_A.XFBoMYUZodetZdvTiFvSkQ";
const RFC_7516_A1_KEY: &str = r#"{"kty":"RSA","n":"oahUIoWw0K0usKNuOR6H4wkf4oBUXHTxRvgb48E-BVvxkeDNjbC4he8rUWcJoZmds2h7M70imEVhRU5djINXtqllXI4DFqcI1DgjT9LewND8MW2Krf3Spsk_ZkoFnilakGygTwpZ3uesH-PFABNIUYpOiN15dsQRkgr0vEhxN92i2asbOenSZeyaxziK72UwxrrKoExv6kc5twXTq4h-QChLOln0_mtUZwfsRaMStPs6mS6XrgxnxbWhojf663tuEQueGC-FCMfra36C9knDFGzKsNa7LZK2djYgyD3JR_MB_4NUJW_TqOQtwHYbxevoJArm-L5StowjzGy-_bq6Gw","e":"AQAB","d":"kLdtIj6GbDks_ApCSTYQtelcNttlKiOyPzMrXHeI-yk1F7-kpDxY4-WY5NWV5KntaEeXS1j82E375xxhWMHXyvjYecPT9fpwR_M9gV8n9Hrh2anTpTD93Dt62ypW3yDsJzBnTnrYu1iwWRgBKrEYY46qAZIrA2xAwnm2X7uGR1hghkqDp0Vqj3kbSCz1XyfCs6_LehBwtxHIyh8Ripy40p24moOAbgxVw3rxT_vlt3UVe4WO3JkJOzlpUf-KTVI2Ptgm-dARxTEtE-id-4OJr0h-K-VFs3VSndVTIznSxfyrj8ILL6MG_Uv8YAu7VILSB3lOW085-4qE3DzgrTjgyQ","p":"1r52Xk46c-LsfB5P442p7atdPUrxQSy4mti_tZI3Mgf2EuFVbUoDBvaRQ-SWxkbkmoEzL7JXroSBjSrK3YIQgYdMgyAEPTPjXv_hI2_1eTSPVZfzL0lffNn03IXqWF5MDFuoUYE0hzb2vhrlN_rKrbfDIwUbTrjjgieRbwC6Cl0","q":"wLb35x7hmQWZsWJmB_vle87ihgZ19S8lBEROLIsZG4ayZVe9Hi9gDVCOBmUDdaDYVTSNx_8Fyw1YYa9XGrGnDew00J28cRUoeBB_jKI1oma0Orv1T9aXIWxKwd4gvxFImOWr3QRL9KEBRzk2RatUBnmDZJTIAfwTs0g68UZHvtc","dp":"ZK-YwE7diUh0qR1tR7w8WHtolDx3MZ_OTowiFvgfeQ3SiresXjm9gZ5KLhMXvo-uz-KUJWDxS5pFQ_M0evdo1dKiRTjVw_x4NyqyXPM5nULPkcpU827rnpZzAJKpdhWAgqrXGKAECQH0Xt4taznjnd_zVpAmZZq60WPMBMfKcuE","dq":"Dq0gfgJ1DdFGXiLvQEZnuKEN0UUmsJBxkjydc3j4ZYdBiMRAy86x0vHCjywcMlYYg4yoC4YZa9hNVcsjqA3FeiL19rk8g6Qn29Tt0cj8qqyFpz9vNDBUfCAiJVeESOjJDZPYHdHY8v1b-o-Z2X5tvLx-TCekf7oxyeKDUqKWjis","qi":"VIMpMYbPf47dT1w_zDUXfPimsSegnMOA1zTaX7aGk_8urY6R8-ZW1FxU7AlWAyLWybqq6t16VFd7hQd0y6flUK4SlOydB61gwanOsXGOAOv82cHq0E3eL4HrtZkUuKvnPrMnsUUFlfUdybVzxyjz9JF_XyaY14ardLSjf4L_FNY"}"#;
const RFC_7520_5_4: &str = "eyJhbGciOiJFQ0RILUVTK0ExMjhLVyIsImtpZCI6InBlcmVncmluLnRvb2tAdHVja2Jvcm91Z2guZXhhbXBsZSIsImVwayI6eyJrdHkiOiJFQyIsImNydiI6IlAtMzg0IiwieCI6InVCbzRrSFB3Nmtiang1bDB4b3dyZF9vWXpCbWF6LUdLRlp1NHhBRkZrYllpV2d1dEVLNml1RURzUTZ3TmROZzMiLCJ5Ijoic3AzcDVTR2haVkMyZmFYdW1JLWU5SlUyTW84S3BvWXJGRHI1eVBOVnRXNFBnRXdaT3lRVEEtSmRhWTh0YjdFMCJ9LCJlbmMiOiJBMTI4R0NNIn0.0DJjBXri_kBcC46IkU5_Jk9BqaQeHdv2.mH-G2zVqgztUtnW_.tkZuOO9h95OgHJmkkrfLBisku8rGf6nzVxhRM3sVOhXgz5NJ76oID7lpnAi_cPWJRCjSpAaUZ5dOR3Spy7QuEkmKx8-3RCMhSYMzsXaEwDdXta9Mn5B7cCBoJKB0IgEnj_qfo1hIi-uEkUpOZ8aLTZGHfpl05jMwbKkTe2yK3mjF6SBAsgicQDVCkcY9BLluzx1RmC3ORXaM0JaHPB93YcdSDGgpgBWMVrNU1ErkjcMqMoT_wtCex3w03XdLkjXIuEr2hWgeP-nkUZTPU9EoGSPj6fAS-bSz87RCPrxZdj_iVyC6QWcqAu07WNhjzJEPc4jVntRJ6K53NgPQ5p99l3Z408OUqj4ioYezbS6vTPlQ.WuGzxmcreYjpHGJoa17EBg";
const RFC_7520_5_4_KEY: &str = r#"{"kty":"EC","kid":"peregrin.took@tuckborough.example","use":"enc","crv":"P-384","x":"YU4rRUzdmVqmRtWOs2OpDE_T5fsNIodcG8G5FWPrTPMyxpzsSOGaQLpe2FpxBmu2","y":"A8-yxCHxkfBz3hKZfI1jUYMjUhsEveZ9THuwFjH2sCNdtksRJU7D5-SkgaFL1ETP","d":"iTx2pk7wW-GqJkHcEkFQb2EFyYcO7RugmaW3mRrQVAOUiPommT0IdnYK2xDlZh-j"}"#;
/// Made by jwcrypto with the RSA key of these tests: RSA-OAEP-256, A256CBC-HS512.
const JWCRYPTO_RSA: &str = "eyJhbGciOiAiUlNBLU9BRVAtMjU2IiwgImVuYyI6ICJBMjU2Q0JDLUhTNTEyIn0.bsp1b4FmuW-cnP6cFO51CYc71E80aghQP4-Rc7VB_lLoJ758oBzNUkAf4SVZWz2rGm8UQUOc5UR11PcU0NcdmsWQOZbvTWFVo1N45rGw_c8rhqGKjwnt_DD10Y5gBD_JsbkDtFfLWebgZP_viGERFA7qguIIh8pLw4qXZHj1YO7vOmUoppPCwUONG-mgN4a6Bl17_x8rpu3L0huPIPmZwsPxtpXEdOMyoK1SCRRb3sGd8EjkikZZ40wotZELmkHu2RcrNYg9htIoSA6a8BfjwVzZF7kcUUpyDg76QNSwWqcO85NKAiScTir8o2AYlX8n-Y2-S1TA6yAi1v-XtGggMQ.4CjzOJdSggypLQQOL4p5Xg.7SXzr5XennHKJ9SpuvysUg.CFAWBKOD5xeJ5H_X0ijJGRdeAVJ_YRI7NqkRKs_TYjA";
/// The same with the P-521 key: ECDH-ES+A256KW, A256GCM.
const JWCRYPTO_P521: &str = "eyJhbGciOiJFQ0RILUVTK0EyNTZLVyIsImVuYyI6IkEyNTZHQ00iLCJlcGsiOnsiY3J2IjoiUC01MjEiLCJrdHkiOiJFQyIsIngiOiJBZl9CUmNUZzBsbHJ0YTc5OHZRSTlOdmowUDI1VjBWM1o2T0ZCcWdFTlBTTVY3U1RieXNOWG5CUF9NbC11RXk5eXB2YzY3NkhjNXFjWFVMLVJFMWF5QWpwIiwieSI6IkFOVzk5dDYwX3VTbUh0MG9wWTZ5cTltelljYXktUTlMM3pYQ0VELTh2M2ZaX3BYYVpzLVdzM1QtUXFXNXpPaEFrSnBmMEZfNk9Ua0dYNEZuLW5nb2V2NVIifX0.pXBEuPGGRKg-_aajC44C9aNCNVgE0_jyYzTopfCSPsK5urjTW0Yfiw.81DfQ_p61eMFuGqw.xjNm9mriw4FZlJqUzzEJ.CoLHd_8rLWXnzqyW5_gBiw";
/// The same with the P-256 key: ECDH-ES, A128CBC-HS256, between Alice and Bob.
const JWCRYPTO_P256: &str = "eyJhbGciOiJFQ0RILUVTIiwiYXB1IjoiUVd4cFkyVSIsImFwdiI6IlFtOWkiLCJlbmMiOiJBMTI4Q0JDLUhTMjU2IiwiZXBrIjp7ImNydiI6IlAtMjU2Iiwia3R5IjoiRUMiLCJ4Ijoic01TX1pSdUJOdlNrb1gyMlpxdll2T3FzalN1Q0FnZm9aSW1SRW9peWhiSSIsInkiOiJHTWpDdVJmTWl0Tmc3VDltSDFNaXZKV0Vpa3J6QTZrTHZYNTBMd0J1d1NzIn19..Is2TSOqgdC1_EUEzWeawQw.uBfAj2NhKPUATQn8v8R2_A.xT-NKxCAlwePHwkpS3rJtQ";
/// The same on X25519: ECDH-ES, A256GCM.
const JWCRYPTO_X25519: &str = "eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTI1NkdDTSIsImVwayI6eyJjcnYiOiJYMjU1MTkiLCJrdHkiOiJPS1AiLCJ4IjoicnJrZlZUT0ppQVp0ZnAySDAwWWxxMFVQVHhFMVRrVWtMUkcwQXV5NGh4USJ9fQ..qoTnLRX8ZJD8dmmC.Qd6LDm_9JLeLgbdg1OuO.ZUe1XEZTd5nv8rAAteJ0ow";
const X25519: &str = r#"{"kty":"OKP","crv":"X25519","x":"vrH3UK7T-QyUiQ6kXZ06bO4ENl18pTA81LQoIq7wcTE","d":"4JUM25tWlTod4FkZRno1H6Uxoh0SaFlp42iSqGr_C20"}"#;

fn read(json: &str) -> DecryptionKey {
    DecryptionKey::from_jwk(&serde_json::from_str(json).unwrap()).unwrap()
}

/// A key of the tests, for any algorithm of its type.
fn decrypting(pem: &str) -> Jwk {
    Jwk { alg: None, kid: Some("enc-1".to_owned()), ..Jwk::from_pem(pem).unwrap() }
}

#[test]
fn the_token_of_rfc_7516_a_1_is_decrypted() {
    let jwe = decrypt(RFC_7516_A1, &[read(RFC_7516_A1_KEY)]).unwrap();
    assert_eq!(*jwe.payload, b"The true sign of intelligence is not knowledge but imagination.");
    assert_eq!(jwe.header.algorithm, KeyManagement::RsaOaep);
    assert_eq!(jwe.header.encryption, ContentEncryption::A256Gcm);
}

#[test]
fn the_token_of_rfc_7520_5_4_is_decrypted() {
    let jwe = decrypt(RFC_7520_5_4, &[read(RFC_7520_5_4_KEY)]).unwrap();
    assert!(jwe.payload.starts_with(b"You can trust us to stick with you"));
    assert_eq!(jwe.header.kid.as_deref(), Some("peregrin.took@tuckborough.example"));
}

#[test]
fn tokens_of_another_program_are_decrypted() {
    for (token, pem) in [(JWCRYPTO_RSA, keys::RSA), (JWCRYPTO_P521, keys::P521), (JWCRYPTO_P256, keys::P256)]
    {
        let key = DecryptionKey::from_jwk(&decrypting(pem)).unwrap();
        assert_eq!(*decrypt(token, &[key]).unwrap().payload, br#"{"sub":"alice"}"#);
    }
    assert_eq!(*decrypt(JWCRYPTO_X25519, &[read(X25519)]).unwrap().payload, br#"{"sub":"alice"}"#);
}

#[test]
fn what_is_encrypted_is_decrypted_to_the_same_payload_and_header() {
    let x25519: Jwk = serde_json::from_str(X25519).unwrap();
    let mut keys: Vec<Jwk> = [keys::RSA, keys::P256, keys::P384, keys::P521].map(decrypting).to_vec();
    keys.push(Jwk { kid: Some("enc-1".to_owned()), ..x25519 });
    let mut combinations = 0;
    for key in &keys {
        let ours = [DecryptionKey::from_jwk(key).unwrap()];
        for algorithm in KeyManagement::ALL {
            let Ok(theirs) = EncryptionKey::for_algorithm(&key.public(), algorithm) else { continue };
            for enc in ContentEncryption::ALL {
                for length in [0, 1, 15, 16, 17, 5000] {
                    let token = encrypt(&vec![b'x'; length], &theirs, enc, Some("JWT")).unwrap();
                    let jwe = decrypt(&token, &ours).unwrap();
                    assert_eq!(*jwe.payload, vec![b'x'; length], "{algorithm} {enc} {length}");
                    assert_eq!((jwe.header.algorithm, jwe.header.encryption), (algorithm, enc));
                    assert_eq!(jwe.header.cty.as_deref(), Some("JWT"));
                    assert_eq!(jwe.header.kid.as_deref(), Some("enc-1"));
                }
                combinations += 1;
            }
        }
    }
    assert_eq!(combinations, (2 + 4 * 3) * 4);
}

#[test]
fn a_payload_is_never_encrypted_twice_alike() {
    let key = EncryptionKey::from_jwk(&decrypting(keys::P256)).unwrap();
    for enc in ContentEncryption::ALL {
        let tokens = [(); 2].map(|()| encrypt(b"{}", &key, enc, None).unwrap());
        let [one, other] = tokens.each_ref().map(|token| token.split('.').collect::<Vec<_>>());
        assert!(one[0] != other[0] && one[2] != other[2] && one[3] != other[3]);
    }
}

#[test]
fn generated_keys_encrypt_and_decrypt_but_do_not_sign() {
    for algorithm in [KeyManagement::RsaOaep256, KeyManagement::EcdhEs] {
        let key = Jwk::generate_encryption(algorithm, "enc-1".to_owned(), RsaSize::default()).unwrap();
        assert_eq!(key.key_use.as_deref(), Some("enc"));
        assert_eq!(key.alg.as_deref(), Some(algorithm.as_str()));
        let theirs = EncryptionKey::from_jwk(&key.public()).unwrap();
        assert_eq!(theirs.algorithm(), algorithm);
        let token = encrypt(b"{}", &theirs, ContentEncryption::A128Gcm, None).unwrap();
        assert!(decrypt(&token, &[DecryptionKey::from_jwk(&key).unwrap()]).is_ok());
        assert!(sluice_crypto::jws::SigningKey::from_jwk(&key).is_err());
        assert!(sluice_crypto::jws::VerifyingKey::from_jwk(&key).is_err());
    }
}

#[test]
fn a_key_for_signatures_neither_encrypts_nor_decrypts() {
    let signing = Jwk { key_use: Some("sig".to_owned()), ..decrypting(keys::RSA) };
    assert_eq!(EncryptionKey::from_jwk(&signing).unwrap_err(), JwkError::NotForEncryption);
    assert_eq!(DecryptionKey::from_jwk(&signing).unwrap_err(), JwkError::NotForEncryption);
    let signing = Jwk { key_use: None, key_ops: Some(vec!["sign".to_owned()]), ..signing };
    assert_eq!(DecryptionKey::from_jwk(&signing).unwrap_err(), JwkError::NotForEncryption);
    let bound = keys::key_for(SigningAlgorithm::RS256);
    assert_eq!(EncryptionKey::from_jwk(&bound).unwrap_err(), JwkError::WrongAlgorithm);
    let symmetric: Jwk = serde_json::from_str(r#"{"kty":"oct","k":"AAAA"}"#).unwrap();
    assert_eq!(EncryptionKey::from_jwk(&symmetric).unwrap_err(), JwkError::UnknownKeyType);
}

#[test]
fn a_public_key_decrypts_nothing_and_halves_must_belong_together() {
    for pem in [keys::RSA, keys::P256] {
        assert!(DecryptionKey::from_jwk(&decrypting(pem).public()).is_err());
    }
    let other = Jwk::generate(SigningAlgorithm::ES256, "b".to_owned(), RsaSize::default()).unwrap();
    let mixed = Jwk { d: other.d, ..decrypting(keys::P256) };
    assert_eq!(DecryptionKey::from_jwk(&mixed).unwrap_err(), JwkError::Invalid);
}

#[test]
fn the_key_of_a_set_that_is_meant_for_encryption_is_chosen() {
    let named = |kid: &str, key_use: Option<&str>, pem: &str| Jwk {
        kid: Some(kid.to_owned()),
        key_use: key_use.map(str::to_owned),
        ..decrypting(pem).public()
    };
    let set = JwkSet {
        keys: vec![
            named("signing", Some("sig"), keys::RSA),
            named("free", None, keys::RSA),
            named("curve", Some("enc"), keys::P256),
            named("meant", Some("enc"), keys::RSA),
        ],
    };
    let chosen = |algorithm| EncryptionKey::of(&set, algorithm).unwrap().kid().unwrap().to_owned();
    assert_eq!(chosen(KeyManagement::RsaOaep256), "meant");
    assert_eq!(chosen(KeyManagement::EcdhEsA128Kw), "curve");
    let without = JwkSet { keys: vec![named("signing", Some("sig"), keys::RSA)] };
    assert!(EncryptionKey::of(&without, KeyManagement::RsaOaep).is_none());
}

#[test]
fn every_name_of_an_algorithm_is_read_back() {
    for algorithm in KeyManagement::ALL {
        assert_eq!(algorithm.as_str().parse(), Ok(algorithm));
    }
    for encryption in ContentEncryption::ALL {
        assert_eq!(encryption.as_str().parse(), Ok(encryption));
    }
    for unknown in ["RSA1_5", "dir", "none", "rsa-oaep", "PBES2-HS256+A128KW", "A128KW", ""] {
        assert!(unknown.parse::<KeyManagement>().is_err());
    }
}
