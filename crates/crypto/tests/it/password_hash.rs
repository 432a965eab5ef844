//! Argon2id.

use proptest::prelude::*;
use sluice_crypto::password_hash::{Argon2Params, HashMemory, PasswordHashError, StoredArgon2, hash, verify};

const CHEAP: (u32, u32, u32) = (64, 1, 4);

fn cheap() -> Argon2Params {
    Argon2Params::new(CHEAP.0, CHEAP.1, CHEAP.2).unwrap()
}

#[test]
fn the_hash_of_the_reference_implementation_comes_out() {
    let expected = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    let (params, mut memory) = (Argon2Params::new(65536, 2, 1).unwrap(), HashMemory::new());
    assert_eq!(hash(params, b"password", b"somesalt", &mut memory).unwrap(), expected);
    assert!(verify(expected, b"password", &mut memory).unwrap());
    assert!(!verify(expected, b"Password", &mut memory).unwrap());
}

#[test]
fn memory_that_was_used_before_changes_no_hash() {
    let mut used = HashMemory::new();
    hash(Argon2Params::new(256, 3, 1).unwrap(), b"another", b"saltsalt", &mut used).unwrap();
    let fresh = hash(cheap(), b"password", b"saltsalt", &mut HashMemory::new()).unwrap();
    assert_eq!(hash(cheap(), b"password", b"saltsalt", &mut used).unwrap(), fresh);
    assert_eq!(used.held_kib(), 256);
    used.release();
    assert_eq!(used.held_kib(), 0);
}

#[test]
fn a_stored_string_cannot_ask_for_more_than_the_bounds() {
    let tail = "c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    for params in [
        "m=1048577,t=1,p=1",
        "m=4294967295,t=1,p=1",
        "m=65536,t=65,p=1",
        "m=1048576,t=5,p=1",
        "m=65536,t=1,p=65",
        "m=65536,t=0,p=1",
        "m=65536,t=1,p=0",
        "m=7,t=1,p=1",
    ] {
        let stored = format!("$argon2id$v=19${params}${tail}");
        assert_eq!(StoredArgon2::parse(&stored).unwrap_err(), PasswordHashError::OutOfBounds, "{params}");
    }
}

#[test]
fn a_hash_that_needs_more_than_the_memory_may_hold_fails() {
    let mut memory = HashMemory::with_limit(63);
    let refused = hash(cheap(), b"password", b"saltsalt", &mut memory).unwrap_err();
    assert_eq!(refused, PasswordHashError::TooMuchMemory);
    assert_eq!(memory.held_kib(), 0);
}

#[test]
fn what_is_no_argon2id_hash_is_refused() {
    for stored in [
        "",
        "$argon2i$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$v=16$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$v=19$m=64,t=1,p=1,x=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ",
        "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc$",
        "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc=",
        "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ=$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
    ] {
        assert_eq!(StoredArgon2::parse(stored).unwrap_err(), PasswordHashError::Malformed, "{stored}");
    }
}

#[test]
fn a_salt_or_hash_of_no_length_is_refused() {
    let mut memory = HashMemory::new();
    assert_eq!(hash(cheap(), b"password", b"short", &mut memory).unwrap_err(), PasswordHashError::Salt);
    let stored = "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$";
    assert_eq!(StoredArgon2::parse(stored).unwrap_err(), PasswordHashError::OutOfBounds);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_password_verifies_against_its_own_hash_only(password: Vec<u8>, other: Vec<u8>, salt: [u8; 16]) {
        let mut memory = HashMemory::new();
        let stored = hash(cheap(), &password, &salt, &mut memory).unwrap();
        prop_assert!(verify(&stored, &password, &mut memory).unwrap());
        prop_assert_eq!(verify(&stored, &other, &mut memory).unwrap(), other == password);
        prop_assert_eq!(StoredArgon2::parse(&stored).unwrap().params(), cheap());
    }

    #[test]
    fn parsing_never_panics(tail: String) {
        let _ = StoredArgon2::parse(&format!("$argon2id$v=19${tail}"));
        let _ = StoredArgon2::parse(&tail);
    }
}
