//! Hashes of client secrets in all their forms.

use proptest::prelude::*;
use sluice_crypto::digest::MacKey;
use sluice_crypto::password_hash::HashMemory;
use sluice_crypto::secret_hash::{
    FastHashKeys, SecretHashError, SlowHash, StoredSecretHash, hash_chosen, hash_generated, key_of,
    verify_fast, verify_slow,
};
use sluice_primitives::{Secret, SeededRng};

/// Made by Python's `hashlib`, in the form that Hydra writes.
const PBKDF2_SHA256: &str =
    "$pbkdf2-sha256$i=25000,l=32$MDEyMzQ1Njc4OWFiY2RlZg$LjzQQQfBu6oiuVew1rMcxHa9TJUIzcdEP64wW5xKh1M";
const PBKDF2_SHA512: &str = "$pbkdf2-sha512$i=10000,l=64$MDEyMzQ1Njc4OWFiY2RlZg$Ku2kkJn6DxC9USh74Agbkv4vbBI4ZhZ8d47MX26bL/eRW8hekiZ5S9cnh202r0tlRpHPMeEkni4bLxrm9+9Cvw";

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn key(id: u8) -> (u8, MacKey) {
    (id, MacKey::new(&[id; 32]))
}

fn slow(stored: &str) -> SlowHash {
    match stored.parse() {
        Ok(StoredSecretHash::Slow(hash)) => hash,
        other => panic!("{stored} is {other:?}"),
    }
}

fn fast(stored: &str, keys: &FastHashKeys, text: &str) -> Result<bool, SecretHashError> {
    match stored.parse()? {
        StoredSecretHash::Fast(hash) => verify_fast(&hash, keys, &secret(text)),
        StoredSecretHash::Slow(_) => panic!("{stored} is slow"),
    }
}

#[test]
fn a_generated_secret_verifies_fast() {
    let keys = FastHashKeys::new(key(0x0a), vec![]);
    let stored = hash_generated(&keys, &secret("generated"));
    assert!(stored.starts_with("$sluice$v=1$k=0a$"), "{stored}");
    assert_eq!(fast(&stored, &keys, "generated"), Ok(true));
    assert_eq!(fast(&stored, &keys, "Generated"), Ok(false));
}

#[test]
fn a_secret_of_an_older_key_verifies_until_the_key_is_gone() {
    let stored = hash_generated(&FastHashKeys::new(key(1), vec![]), &secret("generated"));
    assert_eq!(fast(&stored, &FastHashKeys::new(key(2), vec![key(1)]), "generated"), Ok(true));
    let gone = FastHashKeys::new(key(2), vec![]);
    assert_eq!(fast(&stored, &gone, "generated"), Err(SecretHashError::UnknownKey(1)));
}

#[test]
fn two_keys_with_one_id_both_verify() {
    let stored = hash_generated(&FastHashKeys::new(key(1), vec![]), &secret("generated"));
    let same_id = (1, MacKey::new(b"another key"));
    assert_eq!(fast(&stored, &FastHashKeys::new(same_id.clone(), vec![key(1)]), "generated"), Ok(true));
    assert_eq!(fast(&stored, &FastHashKeys::new(key(1), vec![same_id]), "generated"), Ok(true));
}

#[test]
fn it_is_told_which_key_made_a_hash() {
    let place = |stored: &str, keys: &FastHashKeys, text: &str| match stored.parse() {
        Ok(StoredSecretHash::Fast(hash)) => key_of(&hash, keys, &secret(text)),
        other => panic!("{stored} is {other:?}"),
    };
    let of = |id| hash_generated(&FastHashKeys::new(key(id), vec![]), &secret("generated"));
    let keys = FastHashKeys::new(key(3), vec![key(2), key(1)]);
    for (id, expected) in [(3, 0), (2, 1), (1, 2)] {
        assert_eq!(place(&of(id), &keys, "generated"), Ok(Some(expected)));
        assert_eq!(place(&of(id), &keys, "another"), Ok(None));
        assert_eq!(keys.place_of(id), Some(expected));
    }
    assert_eq!(place(&of(4), &keys, "generated"), Err(SecretHashError::UnknownKey(4)));
    assert_eq!(keys.place_of(4), None);
    // Only who brings the secret tells two keys with one id apart.
    let same_id = FastHashKeys::new((1, MacKey::new(b"another key")), vec![key(1)]);
    assert_eq!(place(&of(1), &same_id, "generated"), Ok(Some(1)));
    assert_eq!(same_id.place_of(1), Some(1));
}

#[test]
fn hashes_of_hydra_verify() {
    let mut memory = HashMemory::new();
    for stored in [PBKDF2_SHA256, PBKDF2_SHA512] {
        assert_eq!(verify_slow(&slow(stored), &secret("correct horse"), &mut memory), Ok(true));
        assert_eq!(verify_slow(&slow(stored), &secret("wrong horse"), &mut memory), Ok(false));
    }
}

#[test]
fn bcrypt_hashes_verify_under_each_of_their_names() {
    let mut memory = HashMemory::new();
    for version in ["2a", "2b", "2y"] {
        let stored = slow(&format!("${version}$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
        assert_eq!(verify_slow(&stored, &secret("U*U"), &mut memory), Ok(true));
        assert_eq!(verify_slow(&stored, &secret("U*V"), &mut memory), Ok(false));
    }
}

/// The hash is of 72 times `x`.
#[test]
fn a_secret_of_which_bcrypt_would_read_the_beginning_alone_is_none() {
    let mut memory = HashMemory::new();
    let stored = slow("$2a$05$cwjyqTbXORC4B5U2UtI7E.X2iE0ndHPrAXaZmF583moXUrb7YNkUS");
    let mut verified = |length: usize| verify_slow(&stored, &secret(&"x".repeat(length)), &mut memory);
    assert_eq!((verified(71), verified(72)), (Ok(false), Ok(true)));
    assert_eq!((verified(73), verified(144)), (Ok(false), Ok(false)));
    let is_cut = |length: usize| stored.reads_part_of(&secret(&"x".repeat(length)));
    assert!(is_cut(73) && !is_cut(72));
    assert!(!slow(PBKDF2_SHA256).reads_part_of(&secret(&"x".repeat(73))), "others read all of it");
}

#[test]
fn a_chosen_secret_verifies_slowly() {
    let mut memory = HashMemory::new();
    let stored = hash_chosen(&secret("chosen"), &SeededRng::new(1), &mut memory).unwrap();
    assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
    assert_eq!(verify_slow(&slow(&stored), &secret("chosen"), &mut memory), Ok(true));
    assert_eq!(verify_slow(&slow(&stored), &secret("another"), &mut memory), Ok(false));
}

#[test]
fn a_stored_hash_cannot_keep_a_core_busy_for_long() {
    for stored in [
        "$2a$17$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
        "$2a$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
        &PBKDF2_SHA256.replace("25000", "5000001"),
        &PBKDF2_SHA256.replace("25000", "0"),
    ] {
        assert_eq!(stored.parse::<StoredSecretHash>(), Err(SecretHashError::OutOfBounds), "{stored}");
    }
}

#[test]
fn a_pbkdf2_hash_whose_length_is_not_what_it_says_is_refused() {
    for stored in [PBKDF2_SHA256.replace("l=32", "l=31"), "$pbkdf2-sha256$i=1,l=0$AAAA$".to_owned()] {
        assert_eq!(stored.parse::<StoredSecretHash>(), Err(SecretHashError::OutOfBounds), "{stored}");
    }
}

#[test]
fn what_is_no_hash_is_refused() {
    let mac = "A".repeat(43);
    for stored in [
        "",
        "plain text",
        "$1$abc$def",
        "$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
        "$sluice$v=2$k=0a$AAAA",
        "$sluice$v=1$k=0a$AAAA",
        &format!("$sluice$v=1$k=+a${mac}"),
        &format!("$sluice$v=1$k=00a${mac}"),
        &format!("$sluice$v=1$k=0a${mac}="),
    ] {
        assert_eq!(stored.parse::<StoredSecretHash>(), Err(SecretHashError::UnknownForm), "{stored}");
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(form in "(sluice|2a|2b|2y|argon2id|pbkdf2-sha256|pbkdf2-sha512)?", rest: String) {
        let _ = rest.parse::<StoredSecretHash>();
        let _ = format!("${form}${rest}").parse::<StoredSecretHash>();
    }

    #[test]
    fn a_generated_secret_verifies_as_itself_only(right: String, wrong: String) {
        let keys = FastHashKeys::new(key(7), vec![]);
        let stored = hash_generated(&keys, &secret(&right));
        prop_assert_eq!(fast(&stored, &keys, &right), Ok(true));
        prop_assert_eq!(fast(&stored, &keys, &wrong), Ok(right == wrong));
    }
}
