//! Keys: their form, their names, where they come from.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::{Jwk, JwkError, JwkSet, MacAlgorithm, PrivateMember, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, VerifyingKey, verify};
use sluice_primitives::SeededRng;

use crate::keys;

#[test]
fn the_thumbprint_of_rfc_7638_comes_out() {
    let key: Jwk = serde_json::from_str(
        r#"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}"#,
    )
    .unwrap();
    assert_eq!(key.thumbprint().unwrap(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

#[test]
fn the_thumbprint_of_rfc_8037_comes_out() {
    let key: Jwk = serde_json::from_str(
        r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
    )
    .unwrap();
    assert_eq!(key.thumbprint().unwrap(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

#[test]
fn a_key_and_its_public_part_have_the_same_thumbprint() {
    for key in keys::generated() {
        assert_eq!(key.thumbprint().unwrap(), key.public().thumbprint().unwrap());
    }
}

#[test]
fn the_public_part_holds_nothing_private() {
    for key in keys::generated() {
        assert!(key.is_private());
        let json = serde_json::to_value(key.public()).unwrap();
        for member in ["k", "d", "p", "q", "dp", "dq", "qi"] {
            assert!(json.get(member).is_none(), "{member} of {}", key.kty);
        }
        assert!(!key.public().is_private());
    }
}

#[test]
fn a_key_is_quick_to_use_unless_it_is_a_large_rsa_key() {
    let rsa = |bytes: usize, e: &str| {
        let n = Some(URL_SAFE_NO_PAD.encode(vec![0xff_u8; bytes]));
        Jwk { kty: "RSA".to_owned(), n, e: Some(e.to_owned()), ..Jwk::default() }
    };
    // 65537, three, and 65537 with a leading zero.
    for (bytes, e) in [(256, "AQAB"), (512, "AQAB"), (512, "Aw"), (512, "AAEAAQ")] {
        assert!(rsa(bytes, e).is_quick(), "{bytes} {e}");
    }
    // 65539, and a longer one.
    for (bytes, e) in [(513, "AQAB"), (1024, "Aw"), (256, "AQAD"), (256, "AQAAAQ")] {
        assert!(!rsa(bytes, e).is_quick(), "{bytes} {e}");
    }
    assert!(keys::generated().iter().all(Jwk::is_quick));
}

#[test]
fn a_key_takes_as_much_memory_as_is_in_it() {
    let rsa = |bytes: usize| {
        let n = Some(URL_SAFE_NO_PAD.encode(vec![0xff_u8; bytes]));
        Jwk { kty: "RSA".to_owned(), n, e: Some("AQAB".to_owned()), ..Jwk::default() }
    };
    let (small, large) = (rsa(256), rsa(1024));
    assert!(large.memory() - small.memory() > 1000);
    let listed = Jwk { x5c: Some(vec!["x".to_owned(); 16]), ..small.clone() };
    assert!(listed.memory() - small.memory() > 16 * 16);
    let ready = |key: &Jwk| VerifyingKey::from_jwk(key).unwrap().memory();
    let bound = Jwk { alg: Some("RS256".to_owned()), ..small.clone() };
    assert!(ready(&small) > 5 * ready(&bound), "it is ready for six algorithms");
    assert!(ready(&large) > 2 * ready(&small));
}

/// The key with these members in the place of its own.
fn changed(key: &Jwk, members: &Value) -> Jwk {
    let mut json = serde_json::to_value(key).unwrap();
    json.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    serde_json::from_value(json).unwrap()
}

#[test]
fn a_key_that_is_what_it_says_is_well_formed() {
    let for_encryption = KeyManagement::ALL
        .map(|algorithm| Jwk::generate_encryption(algorithm, "k".to_owned(), RsaSize::default()).unwrap());
    for key in keys::generated().iter().chain(&for_encryption) {
        for key in [key, &key.public()] {
            assert_eq!(key.check(), Ok(()), "{key:?}");
            let free = Jwk { alg: None, key_use: Some("enc".to_owned()), ..key.clone() };
            assert_eq!(free.check(), Ok(()), "{key:?}");
            let unknown = Jwk { alg: Some("magic".to_owned()), ..key.clone() };
            assert_eq!(unknown.check(), Ok(()), "{key:?}");
        }
    }
    let x25519 = r#"{"kty":"OKP","crv":"X25519","x":"vrH3UK7T-QyUiQ6kXZ06bO4ENl18pTA81LQoIq7wcTE","d":"4JUM25tWlTod4FkZRno1H6Uxoh0SaFlp42iSqGr_C20","alg":"ECDH-ES"}"#;
    let x25519: Jwk = serde_json::from_str(x25519).unwrap();
    assert_eq!((x25519.check(), x25519.public().check()), (Ok(()), Ok(())));
    let rsa = keys::key_for(SigningAlgorithm::RS256);
    let without_primes = Jwk { p: None, q: None, dp: None, dq: None, qi: None, ..rsa };
    assert_eq!(without_primes.check(), Ok(()), "it is whole, and signs nothing here");
    let n = URL_SAFE_NO_PAD.encode([0xff_u8; 128]);
    let small = json!({"kty": "RSA", "n": n, "e": "AQAB", "d": n});
    assert_eq!(changed(&Jwk::default(), &small).check(), Ok(()), "so are those of 1024 bits");
    assert_eq!(changed(&Jwk::default(), &json!({"kty": "magic", "x": "!"})).check(), Ok(()));
}

/// As Hydra 1.x wrote them (RFC 7518 §6.3.2).
#[test]
fn what_an_rsa_key_leaves_out_follows_from_its_primes() {
    let generated = keys::generated()[0].clone();
    for whole in [keys::key_for(SigningAlgorithm::RS256), generated] {
        for left_out in
            [json!({"dp": null, "dq": null, "qi": null}), json!({"dp": null}), json!({"qi": null})]
        {
            let key = changed(&whole, &left_out);
            assert_eq!(key.check(), Ok(()), "{left_out}");
            let token = SigningKey::from_jwk(&key).unwrap().sign(None, b"{}").unwrap();
            let verifying = VerifyingKey::from_jwk(&whole).unwrap();
            let algorithm = whole.signing_algorithm().unwrap();
            assert!(verify(&token, &[verifying], &[algorithm]).is_ok(), "{left_out}");
            assert_eq!(key.completed().as_ref(), Ok(&whole), "{left_out}");
        }
        assert_eq!(whole.clone().completed(), Ok(whole));
    }
}

#[test]
fn an_rsa_key_is_completed_by_nothing_but_primes_of_its_own() {
    let whole = keys::key_for(SigningAlgorithm::RS256);
    let bare = changed(&whole, &json!({"dp": null, "dq": null, "qi": null}));
    let without_primes = changed(&bare, &json!({"p": null, "q": null}));
    for key in [without_primes, changed(&bare, &json!({"q": null})), whole.public()] {
        assert_eq!(key.clone().completed(), Ok(key), "there is nothing that it follows from");
    }
    let signer = |key: &Jwk| SigningKey::from_jwk(key).map(drop);
    let without_primes = changed(&bare, &json!({"p": null, "q": null}));
    assert_eq!(signer(&without_primes), Err(JwkError::MissingMember("p")));
    for (members, why) in [
        (json!({"p": "BA"}), JwkError::Invalid),
        (json!({"p": "AQ"}), JwkError::Invalid),
        (json!({"q": ""}), JwkError::Invalid),
        (json!({"p": keys::generated()[0].p}), JwkError::Invalid),
        (json!({"d": null}), JwkError::MissingMember("d")),
        (json!({"q": "!"}), JwkError::MalformedMember("q")),
        (json!({"p": "A".repeat(1400)}), JwkError::MalformedMember("p")),
    ] {
        assert_eq!(changed(&bare, &members).check(), Err(why), "{members}");
    }
}

#[test]
fn a_key_whose_members_are_malformed_or_contradict_each_other_is_not_well_formed() {
    let (rsa, other) = (keys::key_for(SigningAlgorithm::RS256), &keys::generated()[0]);
    let (p256, p384) = (keys::key_for(SigningAlgorithm::ES256), keys::key_for(SigningAlgorithm::ES384));
    let ed25519 = keys::key_for(SigningAlgorithm::EdDSA);
    let padded = |member: Option<&str>| format!("{}=", member.unwrap());
    let of_another = PrivateMember::encode(&[1; 32]);
    let table = [
        (&rsa, json!({"n": "!!!"}), JwkError::MalformedMember("n")),
        (&rsa, json!({"n": padded(rsa.n.as_deref())}), JwkError::MalformedMember("n")),
        (&rsa, json!({"e": "Ag"}), JwkError::Invalid),
        (&rsa, json!({"n": null}), JwkError::MissingMember("n")),
        (&rsa, json!({"n": other.n}), JwkError::Invalid),
        (&rsa, json!({"d": other.d}), JwkError::Invalid),
        (&rsa, json!({"q": null}), JwkError::MissingMember("q")),
        (&rsa, json!({"alg": "ES256"}), JwkError::WrongAlgorithm),
        (&rsa, json!({"alg": "ECDH-ES"}), JwkError::WrongAlgorithm),
        (&rsa, json!({"alg": "HS256"}), JwkError::WrongAlgorithm),
        (&p256, json!({"x": p256.y}), JwkError::Invalid),
        (&p256, json!({"y": padded(p256.y.as_deref())}), JwkError::MalformedMember("y")),
        (&p256, json!({"d": of_another}), JwkError::Invalid),
        (&p256, json!({"crv": "P-384"}), JwkError::MalformedMember("x")),
        (&p256, json!({"alg": "ES512"}), JwkError::WrongAlgorithm),
        (&p256, json!({"alg": "RSA-OAEP"}), JwkError::WrongAlgorithm),
        (&p384, json!({"alg": "RS256"}), JwkError::WrongAlgorithm),
        (&ed25519, json!({"x": "AA"}), JwkError::MalformedMember("x")),
        (&ed25519, json!({"d": of_another}), JwkError::Invalid),
        (&ed25519, json!({"alg": "ECDH-ES"}), JwkError::WrongAlgorithm),
    ];
    for (key, members, why) in table {
        assert_eq!(changed(key, &members).check(), Err(why), "{members}");
    }
    let unknown = json!({"crv": "secp256k1"});
    assert_eq!(changed(&p256, &unknown).check(), Ok(()), "nobody here knows what it must be");
}

#[test]
fn a_certificate_beside_a_key_is_base64_of_der() {
    let key = keys::key_for(SigningAlgorithm::ES256);
    let with = |entry: &str| Jwk { x5c: Some(vec![entry.to_owned()]), ..key.clone() };
    let long = [&[0x30_u8, 0x82, 0x01, 0x00][..], &[5; 256][..]].concat();
    for der in [&[0x30, 0x02, 0x05, 0x00][..], long.as_slice()] {
        assert_eq!(with(&STANDARD.encode(der)).check(), Ok(()));
        let cut = &der[..der.len() - 1];
        let followed = [der, &[0][..]].concat();
        let pem = format!("-----BEGIN CERTIFICATE-----\n{}", STANDARD.encode(der));
        for wrong in [STANDARD.encode(cut), STANDARD.encode(followed), pem] {
            assert_eq!(with(&wrong).check(), Err(JwkError::MalformedMember("x5c")), "{wrong}");
        }
    }
    for wrong in ["", "!!!", "MAA", "MIA=", "MIX///////8=", "BQA=", "MAIFAA"] {
        assert_eq!(with(wrong).check(), Err(JwkError::MalformedMember("x5c")), "{wrong}");
    }
}

#[test]
fn debug_prints_no_private_member() {
    let symmetric = Jwk::generate_symmetric(MacAlgorithm::HS256, "mac".to_owned(), &SeededRng::new(1));
    for key in keys::generated().iter().chain([&symmetric]) {
        let printed = format!("{key:?}");
        let privates = [&key.k, &key.d, &key.p, &key.q, &key.dp, &key.dq, &key.qi];
        for private in privates.into_iter().flatten() {
            assert!(!printed.contains(private.expose()));
        }
    }
}

#[test]
fn a_private_key_survives_json() {
    for key in keys::generated() {
        let json = serde_json::to_string(key).unwrap();
        let read: Jwk = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        let token = SigningKey::from_jwk(&read).unwrap().sign(None, b"{}").unwrap();
        let public = VerifyingKey::from_jwk(&key.public()).unwrap();
        assert!(verify(&token, &[public], &SigningAlgorithm::ALL).is_ok());
    }
}

#[test]
fn every_form_of_a_pem_holds_the_same_key() {
    let forms: [&[&str]; 5] = [
        &[keys::RSA, keys::RSA_PKCS1, keys::RSA_SPKI, keys::RSA_PKCS1_PUBLIC],
        &[keys::P256, keys::P256_SEC1, keys::P256_SPKI],
        &[keys::P384, keys::P384_SEC1, keys::P384_SPKI],
        &[keys::P521, keys::P521_SEC1, keys::P521_SPKI],
        &[keys::ED25519, keys::ED25519_SPKI],
    ];
    for pems in forms {
        let thumbprints: Vec<_> =
            pems.iter().map(|pem| Jwk::from_pem(pem).unwrap().thumbprint().unwrap()).collect();
        assert!(thumbprints.windows(2).all(|pair| pair[0] == pair[1]), "{thumbprints:?}");
        for pem in pems {
            let key = Jwk::from_pem(pem).unwrap();
            assert_eq!(key.is_private(), pem.contains("PRIVATE"));
            assert_eq!(SigningKey::from_jwk(&key).is_ok(), pem.contains("PRIVATE"));
            assert!(VerifyingKey::from_jwk(&key).is_ok());
        }
    }
}

#[test]
fn what_is_no_key_is_refused() {
    for text in ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
        assert!(Jwk::from_pem(text).is_err());
    }
    let encrypted = keys::ED25519.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    assert_eq!(Jwk::from_pem(&encrypted).unwrap_err(), JwkError::NotPem);
}

#[test]
fn a_generated_rsa_key_is_as_long_as_asked() {
    let key = Jwk::generate(SigningAlgorithm::RS256, "long".to_owned(), RsaSize::Bits3072).unwrap();
    assert_eq!(key.n.unwrap().len(), 3072 / 8 * 4 / 3);
}

#[test]
fn a_symmetric_key_is_as_long_as_its_hash() {
    for (algorithm, characters) in [(MacAlgorithm::HS256, 43), (MacAlgorithm::HS512, 86)] {
        let key = Jwk::generate_symmetric(algorithm, "mac".to_owned(), &SeededRng::new(1));
        assert_eq!(key.k.unwrap().expose().len(), characters);
    }
}

#[test]
fn a_published_set_leaves_out_symmetric_keys() {
    let symmetric = Jwk::generate_symmetric(MacAlgorithm::HS256, "mac".to_owned(), &SeededRng::new(1));
    let set = JwkSet { keys: vec![symmetric, keys::key_for(SigningAlgorithm::ES256)] };
    let public = set.public();
    assert_eq!(public.keys.len(), 1);
    assert!(!public.keys[0].is_private());
    assert!(public.find("key-1").is_some() && public.find("mac").is_none());
}

#[test]
fn one_strange_entry_does_not_cost_the_other_keys_of_a_set() {
    let good = serde_json::to_string(&keys::key_for(SigningAlgorithm::ES256).public()).unwrap();
    let strange = r#"{"kty":7},"what",{"kty":""},{"kty":"EC"},{"kty":"AKP","kid":"pq","pub":"AA"}"#;
    let json = format!(r#"{{"keys":[{strange},{good}]}}"#);
    let set = JwkSet::understood(json.as_bytes()).unwrap();
    assert_eq!(set.keys.len(), 1);
    assert_eq!(VerifyingKey::usable_of(&set).len(), 1);
    assert_eq!(JwkSet::understood(b"[]").unwrap_err(), JwkError::NotAKey);
}

#[test]
fn a_key_with_long_lists_is_left_out_of_a_set() {
    let good = keys::key_for(SigningAlgorithm::ES256).public();
    let list = |entries: usize| Some(vec!["verify".to_owned(); entries]);
    let lists = [(list(16), list(16)), (list(17), None), (None, list(17))];
    let keys = lists.map(|(key_ops, x5c)| Jwk { key_ops, x5c, ..good.clone() });
    let json = serde_json::to_vec(&JwkSet { keys: keys.to_vec() }).unwrap();
    assert_eq!(JwkSet::understood(&json).unwrap().keys, keys[..1]);
}

#[test]
fn a_key_whose_halves_do_not_belong_together_is_refused() {
    for algorithm in SigningAlgorithm::ALL {
        let (mine, other) =
            (keys::key_for(algorithm), Jwk::generate(algorithm, "b".to_owned(), RsaSize::default()).unwrap());
        let mixed = Jwk { d: other.d, ..mine };
        assert_eq!(SigningKey::from_jwk(&mixed).unwrap_err(), JwkError::Invalid, "{algorithm}");
    }
}

#[test]
fn a_short_rsa_key_is_refused_for_that() {
    let n = Some(URL_SAFE_NO_PAD.encode(vec![0xff_u8; 128]));
    let short = Jwk { n, ..keys::key_for(SigningAlgorithm::RS256) };
    let refused = SigningKey::from_jwk(&short).unwrap_err();
    assert_eq!(refused, JwkError::RsaSize);
    assert!(refused.to_string().starts_with("an RSA key of fewer than 2048 bits cannot sign here"));
}

#[test]
fn a_point_that_is_not_on_the_curve_is_refused() {
    let key = keys::key_for(SigningAlgorithm::ES256).public();
    let moved = Jwk { x: key.y.clone(), y: key.x.clone(), ..key };
    assert_eq!(VerifyingKey::from_jwk(&moved).unwrap_err(), JwkError::Invalid);
}

#[test]
fn a_key_for_encryption_neither_signs_nor_verifies() {
    let key = Jwk { key_use: Some("enc".to_owned()), ..keys::key_for(SigningAlgorithm::RS256) };
    assert_eq!(SigningKey::from_jwk(&key).unwrap_err(), JwkError::NotForSignatures);
    assert_eq!(VerifyingKey::from_jwk(&key).unwrap_err(), JwkError::NotForSignatures);
    let key = Jwk { key_use: None, key_ops: Some(vec!["verify".to_owned()]), ..key };
    assert_eq!(SigningKey::from_jwk(&key).unwrap_err(), JwkError::NotForSignatures);
    assert!(VerifyingKey::from_jwk(&key).is_ok());
}

#[test]
fn an_algorithm_that_does_not_fit_the_key_is_refused() {
    for alg in ["HS256", "none", "RS256", "ES384", "RSA-OAEP"] {
        let key = Jwk { alg: Some(alg.to_owned()), ..keys::key_for(SigningAlgorithm::ES256) };
        assert_eq!(VerifyingKey::from_jwk(&key).unwrap_err(), JwkError::WrongAlgorithm);
        assert_eq!(SigningKey::from_jwk(&key).unwrap_err(), JwkError::WrongAlgorithm);
    }
}

#[test]
fn a_short_rsa_key_is_refused() {
    let key = keys::key_for(SigningAlgorithm::RS256).public();
    let short = Jwk { n: key.n.as_ref().map(|n| n[..172].to_owned()), ..key };
    assert_eq!(VerifyingKey::from_jwk(&short).unwrap_err(), JwkError::RsaSize);
}
