//! How passwords are kept.

use std::sync::Arc;

use proptest::prelude::*;
use sluice_crypto::credential::{
    Attempt, CredentialError, CredentialKeys, CredentialState, ExportedHash, Peppers, StoredCredential,
    Verified,
};
use sluice_crypto::foreign_hash::{ForeignHash, ForeignHashError};
use sluice_crypto::password_hash::{self, Argon2Params, HashMemory, PasswordHashError};
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::{IdentityId, NetworkId, OsRng, Secret, SeededRng};

use crate::foreign_vectors::{PASSWORD, VECTORS};

const OWNER: IdentityId = IdentityId::from_bytes([1; 16]);
const OTHER: IdentityId = IdentityId::from_bytes([2; 16]);
const SALT: [u8; 16] = [9; 16];

fn secrets(names: &[&str]) -> Vec<Secret<Vec<u8>>> {
    names.iter().map(|name| Secret::new(name.as_bytes().to_vec())).collect()
}

fn keys(peppers: &[&str], storage: &[&str]) -> CredentialKeys {
    CredentialKeys::new(Peppers::new(&secrets(peppers)).unwrap(), Arc::new(sealer(storage)))
}

fn sealer(storage: &[&str]) -> Sealer {
    Sealer::new(NetworkId::from_bytes([7; 16]), &secrets(storage))
}

fn usual() -> CredentialKeys {
    keys(&["pepper"], &["storage"])
}

fn cheap() -> Argon2Params {
    Argon2Params::new(64, 1, 4).unwrap()
}

fn dearer() -> Argon2Params {
    Argon2Params::new(128, 1, 4).unwrap()
}

fn verify(keys: &CredentialKeys, stored: &str, password: &str) -> Result<Verified, CredentialError> {
    let stored = StoredCredential::parse(stored).unwrap();
    let attempt =
        Attempt { owner: Some(OWNER), stored: Some(&stored), password: password.as_bytes(), raw: None };
    keys.verify(&attempt, cheap(), SALT, &mut HashMemory::new())
}

/// The replacement, which must verify without another one.
fn replaced(keys: &CredentialKeys, stored: &str, password: &str) -> String {
    let Ok(Verified::Right { replacement: Some(replacement) }) = verify(keys, stored, password) else {
        panic!("not right, or nothing to store")
    };
    assert_eq!(verify(keys, &replacement, password), Ok(Verified::Right { replacement: None }));
    replacement
}

fn foreign(keys: &CredentialKeys, hash: &str) -> String {
    keys.foreign(OWNER, &ForeignHash::parse(hash).unwrap(), &OsRng)
}

fn imported() -> (&'static str, String) {
    let hash = VECTORS.iter().find(|(scheme, ..)| *scheme == "salted-digest").unwrap().2;
    (hash, foreign(&usual(), hash))
}

#[test]
fn a_provisional_credential_verifies_and_is_replaced_by_a_hardened_one() {
    let keys = usual();
    let stored = keys.provisional(OWNER, PASSWORD.as_bytes(), &OsRng);
    assert!(stored.starts_with("p1$"));
    assert_eq!(StoredCredential::parse(&stored).unwrap().state(), CredentialState::Provisional);
    assert_eq!(verify(&keys, &stored, "another"), Ok(Verified::Wrong));
    assert!(replaced(&keys, &stored, PASSWORD).starts_with("h1$"));
}

#[test]
fn hardening_yields_what_the_password_yields() {
    let keys = usual();
    let provisional = keys.provisional(OWNER, PASSWORD.as_bytes(), &OsRng);
    let mut memory = HashMemory::new();
    let hardened = keys.harden(OWNER, &provisional, cheap(), &mut memory).unwrap();
    assert_eq!(verify(&keys, &hardened, PASSWORD), Ok(Verified::Right { replacement: None }));
    assert_eq!(verify(&keys, &hardened, "another"), Ok(Verified::Wrong));
    let parsed = StoredCredential::parse(&hardened).unwrap();
    assert_eq!((parsed.state(), parsed.params()), (CredentialState::Hardened, Some(cheap())));
    assert_eq!(parsed.pepper(), keys.peppers().ids().first().copied());
}

#[test]
fn only_the_provisional_credential_of_its_owner_is_hardened() {
    let keys = usual();
    let mut memory = HashMemory::new();
    let provisional = keys.provisional(OWNER, PASSWORD.as_bytes(), &OsRng);
    let mut harden = |owner, stored: &str| keys.harden(owner, stored, cheap(), &mut memory).unwrap_err();
    assert_eq!(harden(OTHER, &provisional), CredentialError::OtherOwner);
    assert_eq!(harden(OWNER, ""), CredentialError::NotProvisional);
    assert_eq!(harden(OWNER, &imported().1), CredentialError::NotProvisional);
    assert_eq!(harden(OWNER, "p1$"), CredentialError::Sealed(OpenError::Malformed));
    let elsewhere = self::keys(&["pepper"], &["other"]).provisional(OWNER, b"x", &OsRng);
    assert_eq!(harden(OWNER, &elsewhere), CredentialError::Sealed(OpenError::UnknownKey));
}

#[test]
fn a_credential_moved_to_another_identity_is_refused() {
    let keys = usual();
    for moved in [keys.provisional(OTHER, PASSWORD.as_bytes(), &OsRng), {
        let hash = ForeignHash::parse(imported().0).unwrap();
        keys.foreign(OTHER, &hash, &OsRng)
    }] {
        assert_eq!(verify(&keys, &moved, PASSWORD), Err(CredentialError::OtherOwner));
    }
}

#[test]
fn a_sealed_hash_does_not_pass_for_a_pre_hash() {
    let (_, sealed) = imported();
    let disguised = sealed.replacen("f1$", "p1$", 1);
    assert_eq!(verify(&usual(), &disguised, PASSWORD), Err(CredentialError::Sealed(OpenError::NotAuthentic)));
}

#[test]
fn an_imported_hash_verifies_and_is_replaced() {
    let keys = usual();
    for (scheme, password, hash) in VECTORS.iter().filter(|(scheme, ..)| *scheme != "firescrypt") {
        let stored = foreign(&keys, hash);
        assert!(stored.starts_with("f1$") && !stored.contains(hash));
        assert_eq!(StoredCredential::parse(&stored).unwrap().state(), CredentialState::Foreign);
        assert_eq!(verify(&keys, &stored, "another"), Ok(Verified::Wrong), "{scheme}");
        replaced(&keys, &stored, password);
    }
}

#[test]
fn what_was_typed_does_not_replace_a_hash_that_is_also_one_of_other_passwords() {
    let keys = usual();
    let of_72_bytes = foreign(&keys, "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i");
    let of_71_bytes = foreign(&keys, "$2b$04$abcdefghijklmnopqrstuu.gc7UY/21CSNJGJg21jJzx9QiOpJ9bO");
    let (whole, mistyped) = ("x".repeat(72), "x".repeat(72) + "mistyped");
    let twice = format!("{PASSWORD}\0{PASSWORD}");
    let with_zero = foreign(&keys, VECTORS[0].2);
    for (stored, password) in [(&of_72_bytes, &mistyped), (&of_72_bytes, &whole), (&with_zero, &twice)] {
        assert_eq!(verify(&keys, stored, password), Ok(Verified::Right { replacement: None }));
        let parsed = StoredCredential::parse(stored).unwrap();
        let attempt =
            Attempt { owner: Some(OWNER), stored: Some(&parsed), password: password.as_bytes(), raw: None };
        let outcome = keys.verify(&attempt, cheap(), SALT, &mut HashMemory::with_limit(63));
        let too_little = CredentialError::Argon2(PasswordHashError::TooMuchMemory);
        assert_eq!(outcome, Err(too_little), "the time tells nothing");
    }
    assert_eq!(verify(&keys, &of_72_bytes, &whole.replacen('x', "y", 1)), Ok(Verified::Wrong));
    replaced(&keys, &of_71_bytes, &"x".repeat(71));
}

/// As earlier versions imported them.
fn of_faulty_bcrypt() -> String {
    let hash = "$2x$05$abcdefghijklmnopqrstuuFiPhXf1sVd3pCCRO.uVh34H/qI/ZsuS";
    assert_eq!(ForeignHash::parse(hash).unwrap_err(), ForeignHashError::FaultyBcrypt);
    let of_owner = [OWNER.as_bytes().as_slice(), hash.as_bytes()].concat();
    format!("f1${}", sealer(&["storage"]).seal(Purpose::ForeignHash, &of_owner, &OsRng))
}

#[test]
fn a_stored_hash_of_the_faulty_bcrypt_verifies_though_none_is_imported_any_more() {
    let (keys, stored) = (usual(), of_faulty_bcrypt());
    assert_eq!(verify(&keys, &stored, "another"), Ok(Verified::Wrong));
    replaced(&keys, &stored, PASSWORD);
}

#[test]
fn a_stored_hash_of_the_faulty_bcrypt_is_exported_as_one_that_is_imported_and_verifies() {
    let exported = usual().export(OWNER, &of_faulty_bcrypt()).unwrap();
    assert!(matches!(exported, ExportedHash::Foreign(_)));
    let elsewhere = self::keys(&["another"], &["another"]);
    let moved = foreign(&elsewhere, exported.expose());
    assert_eq!(verify(&elsewhere, &moved, "another"), Ok(Verified::Wrong));
    replaced(&elsewhere, &moved, PASSWORD);
}

#[test]
fn argon2_of_the_bare_password_verifies_and_is_replaced() {
    let keys = usual();
    let bare = password_hash::hash(cheap(), PASSWORD.as_bytes(), &SALT, &mut HashMemory::new()).unwrap();
    let parsed = StoredCredential::parse(&bare).unwrap();
    assert_eq!((parsed.state(), parsed.params()), (CredentialState::Foreign, Some(cheap())));
    assert_eq!(verify(&keys, &bare, "another"), Ok(Verified::Wrong));
    assert!(replaced(&keys, &bare, PASSWORD).starts_with("h1$"));
}

#[test]
fn a_hash_of_other_parameters_or_an_older_pepper_is_replaced_when_the_password_is_right() {
    let (old, new) = (keys(&["old"], &["storage"]), keys(&["new", "old"], &["storage"]));
    let mut memory = HashMemory::new();
    let costly = new.hardened(PASSWORD.as_bytes(), dearer(), SALT, &mut memory).unwrap();
    let peppered = old.hardened(PASSWORD.as_bytes(), cheap(), SALT, &mut memory).unwrap();
    let provisional = old.provisional(OWNER, PASSWORD.as_bytes(), &OsRng);
    for stored in [costly, peppered, provisional] {
        assert_eq!(verify(&new, &stored, "another"), Ok(Verified::Wrong));
        let replacement = StoredCredential::parse(&replaced(&new, &stored, PASSWORD)).unwrap();
        assert_eq!(
            (replacement.params(), replacement.pepper()),
            (Some(cheap()), Some(new.peppers().ids()[0]))
        );
    }
}

#[test]
fn a_credential_of_a_pepper_that_is_gone_is_an_error_that_names_it() {
    let (old, new) = (keys(&["old"], &["storage"]), keys(&["new"], &["storage"]));
    let gone = CredentialError::UnknownPepper(old.peppers().ids()[0]);
    let hardened = old.hardened(PASSWORD.as_bytes(), cheap(), SALT, &mut HashMemory::new()).unwrap();
    for stored in [hardened, old.provisional(OWNER, PASSWORD.as_bytes(), &OsRng)] {
        assert_eq!(verify(&new, &stored, PASSWORD), Err(gone));
        assert_eq!(new.secret_in_use(&StoredCredential::parse(&stored).unwrap()), Err(gone));
    }
}

/// With too little memory for one hash, whatever runs one fails.
#[test]
fn every_verification_runs_argon2() {
    let keys = usual();
    let elsewhere = self::keys(&["other"], &["other"]);
    let mut memory = HashMemory::new();
    let stored = [
        None,
        Some(String::new()),
        Some(keys.provisional(OWNER, PASSWORD.as_bytes(), &OsRng)),
        Some(keys.provisional(OTHER, PASSWORD.as_bytes(), &OsRng)),
        Some(elsewhere.provisional(OWNER, PASSWORD.as_bytes(), &OsRng)),
        Some(keys.hardened(PASSWORD.as_bytes(), cheap(), SALT, &mut memory).unwrap()),
        Some(elsewhere.hardened(PASSWORD.as_bytes(), cheap(), SALT, &mut memory).unwrap()),
        Some(imported().1),
    ];
    let long = "x".repeat(4097);
    for (stored, password) in
        stored.iter().flat_map(|stored| [(stored, PASSWORD), (stored, "another"), (stored, &long)])
    {
        let stored = stored.as_deref().map(|stored| StoredCredential::parse(stored).unwrap());
        let attempt =
            Attempt { owner: Some(OWNER), stored: stored.as_ref(), password: password.as_bytes(), raw: None };
        let outcome = keys.verify(&attempt, cheap(), SALT, &mut HashMemory::with_limit(63));
        assert_eq!(outcome, Err(CredentialError::Argon2(PasswordHashError::TooMuchMemory)), "{stored:?}");
    }
}

#[test]
fn an_unknown_account_and_one_without_a_password_are_wrong() {
    let absent = StoredCredential::parse("").unwrap();
    assert_eq!(absent.state(), CredentialState::Absent);
    for stored in [None, Some(&absent)] {
        let attempt = Attempt { owner: None, stored, password: b"", raw: None };
        let outcome = usual().verify(&attempt, cheap(), SALT, &mut HashMemory::new());
        assert_eq!(outcome, Ok(Verified::Wrong));
    }
}

#[test]
fn a_password_that_another_system_hashed_as_it_was_typed_is_right_and_hardened_as_it_is_normalised() {
    // Decomposed as a keyboard types it, and composed.
    let (typed, composed) = ("pa\u{308}sswo\u{308}rd", "p\u{e4}ssw\u{f6}rd");
    let keys = usual();
    for hashed in [typed, composed] {
        let hash = password_hash::hash(cheap(), hashed.as_bytes(), &SALT, &mut HashMemory::new()).unwrap();
        for stored in [foreign(&keys, &hash), hash] {
            let parsed = StoredCredential::parse(&stored).unwrap();
            let attempt = Attempt {
                owner: Some(OWNER),
                stored: Some(&parsed),
                password: composed.as_bytes(),
                raw: Some(typed.as_bytes()),
            };
            let verified = keys.verify(&attempt, cheap(), SALT, &mut HashMemory::new()).unwrap();
            let Verified::Right { replacement: Some(replacement) } = verified else { panic!("{verified:?}") };
            assert_eq!(verify(&keys, &replacement, composed), Ok(Verified::Right { replacement: None }));
            let wrong = Attempt { password: b"another", raw: Some(b"other"), ..attempt };
            assert_eq!(keys.verify(&wrong, cheap(), SALT, &mut HashMemory::new()), Ok(Verified::Wrong));
        }
    }
}

#[test]
fn the_memory_that_a_credential_needs_is_known() {
    let keys = usual();
    let argon2 = password_hash::hash(cheap(), b"x", &SALT, &mut HashMemory::new()).unwrap();
    let hardened = keys.hardened(b"x", cheap(), SALT, &mut HashMemory::new()).unwrap();
    let in_the_open = |stored: &str| StoredCredential::parse(stored).unwrap().params().unwrap().memory_kib();
    assert_eq!((in_the_open(&argon2), in_the_open(&hardened)), (64, 64));
    let scrypt = "$scrypt$ln=14,r=8,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0c2FsdHNhbHRzYWx0c2FsdHNhbHQ";
    for (hash, kib) in [(argon2.as_str(), 64), (scrypt, 16 * 1024), (imported().0, 0)] {
        let hash = ForeignHash::parse(hash).unwrap();
        assert_eq!(hash.memory_kib(), kib, "{hash:?}");
        if kib > 0 {
            let too_little = hash.verify(b"x", &mut HashMemory::with_limit(kib - 1));
            assert_eq!(too_little, Err(ForeignHashError::TooMuchMemory));
        }
    }
}

#[test]
fn the_longest_password_is_right_and_a_longer_one_never() {
    let keys = usual();
    let (longest, longer) = ("x".repeat(4096), "x".repeat(4097));
    replaced(&keys, &keys.provisional(OWNER, longest.as_bytes(), &OsRng), &longest);
    for stored in [keys.provisional(OWNER, longer.as_bytes(), &OsRng), keys.provisional(OWNER, b"", &OsRng)] {
        assert_eq!(verify(&keys, &stored, &longer), Ok(Verified::Wrong));
    }
    let refused = keys.hardened(longer.as_bytes(), cheap(), SALT, &mut HashMemory::new());
    assert_eq!(refused, Err(CredentialError::TooLong));
}

#[test]
fn it_is_known_which_secrets_a_credential_needs() {
    let (old, new) = (keys(&["old"], &["old"]), keys(&["new", "old"], &["new", "old"]));
    let pepper = Some(old.peppers().ids()[0]);
    let in_use = |stored: &str| {
        let in_use = new.secret_in_use(&StoredCredential::parse(stored).unwrap()).unwrap();
        (in_use.pepper, in_use.storage)
    };
    assert_eq!(in_use(""), (None, None));
    assert_eq!(in_use(&old.provisional(OWNER, b"x", &OsRng)), (pepper, Some(1)));
    assert_eq!(in_use(&foreign(&old, imported().0)), (None, Some(1)));
    let hardened = old.hardened(b"x", cheap(), SALT, &mut HashMemory::new()).unwrap();
    assert_eq!(in_use(&hardened), (pepper, None));
}

#[test]
fn what_an_older_secret_sealed_is_sealed_anew() {
    let (old, new) = (keys(&["pepper"], &["old"]), keys(&["pepper"], &["new", "old"]));
    for stored in [old.provisional(OWNER, PASSWORD.as_bytes(), &OsRng), foreign(&old, imported().0)] {
        assert_eq!(new.reseal(OTHER, &stored, &OsRng), None);
        let moved = new.reseal(OWNER, &stored, &OsRng).unwrap();
        assert_eq!(new.reseal(OWNER, &moved, &OsRng), None);
        replaced(&keys(&["pepper"], &["new"]), &moved, PASSWORD);
    }
    assert_eq!(new.reseal(OWNER, "", &OsRng), None);
}

#[test]
fn an_imported_and_a_hardened_hash_can_be_exported_and_a_provisional_one_cannot() {
    let keys = usual();
    let (hash, stored) = imported();
    let exported = keys.export(OWNER, &stored).unwrap();
    assert!(matches!(exported, ExportedHash::Foreign(_)));
    assert_eq!(exported.expose(), hash);
    let hardened = keys.hardened(PASSWORD.as_bytes(), cheap(), SALT, &mut HashMemory::new()).unwrap();
    let exported = keys.export(OWNER, &hardened).unwrap();
    assert!(matches!(exported, ExportedHash::Hardened(_)));
    // An installation with other storage secrets but the same pepper goes on with it.
    let elsewhere = self::keys(&["first", "pepper"], &["another"]);
    replaced(&elsewhere, exported.expose(), PASSWORD);
    for refused in [String::new(), keys.provisional(OWNER, b"x", &OsRng)] {
        assert_eq!(keys.export(OWNER, &refused).unwrap_err(), CredentialError::NotExportable);
    }
    assert_eq!(keys.export(OTHER, &stored).unwrap_err(), CredentialError::OtherOwner);
}

#[test]
fn two_credentials_of_one_password_have_nothing_in_common() {
    let keys = usual();
    let rng = SeededRng::new(1);
    let mut memory = HashMemory::new();
    let mut hardened = || {
        let provisional = keys.provisional(OWNER, PASSWORD.as_bytes(), &rng);
        keys.harden(OWNER, &provisional, cheap(), &mut memory).unwrap()
    };
    let (first, second) = (hardened(), hardened());
    let tails = |stored: &str| stored.rsplit('$').take(2).map(str::to_owned).collect::<Vec<_>>();
    assert!(tails(&first).iter().zip(&tails(&second)).all(|(left, right)| left != right));
}

#[test]
fn the_hash_follows_from_pepper_salt_and_password_as_documented() {
    // Computed with Python: HKDF-SHA-256, HMAC-SHA-256 and argon2-cffi.
    let hardened = usual().hardened(PASSWORD.as_bytes(), cheap(), SALT, &mut HashMemory::new()).unwrap();
    assert_eq!(
        hardened,
        "h1$3f508d08$argon2id$v=19$m=64,t=1,p=4$CQkJCQkJCQkJCQkJCQkJCQ$nJuo9+lIxblhPfSda25WjI88UyZqaNBebRzijkzPOE0"
    );
}

#[test]
fn a_malformed_credential_is_refused() {
    let hardened = usual().hardened(b"x", cheap(), SALT, &mut HashMemory::new()).unwrap();
    for malformed in [
        "x".to_owned(),
        "p2$x".to_owned(),
        "h1$".to_owned(),
        "h1$0000000é$argon2id$".to_owned(),
        hardened.replacen("h1$", "h1$0", 1),
        hardened.to_uppercase(),
        "p".repeat(5000),
    ] {
        let refused = StoredCredential::parse(&malformed).unwrap_err();
        let in_the_hash = CredentialError::Argon2(PasswordHashError::Malformed);
        assert!(refused == CredentialError::Malformed || refused == in_the_hash, "{malformed}: {refused}");
    }
    assert!(StoredCredential::parse(&hardened.replace("m=64", "m=4294967295")).is_err());
    assert!(StoredCredential::parse(&format!("{hardened}$")).is_err());
}

#[test]
fn nothing_prints_a_secret() {
    let keys = keys(&["s3cret-pepper"], &["s3cret-storage"]);
    let stored = keys.provisional(OWNER, b"s3cret-password", &OsRng);
    let parsed = StoredCredential::parse(&stored).unwrap();
    let attempt =
        Attempt { owner: Some(OWNER), stored: Some(&parsed), password: b"s3cret-password", raw: None };
    let verified = keys.verify(&attempt, cheap(), SALT, &mut HashMemory::new()).unwrap();
    let exported = keys.export(OWNER, &foreign(&keys, imported().0)).unwrap();
    let printed = format!("{keys:?} {parsed:?} {attempt:?} {verified:?} {exported:?}");
    assert!(
        !printed.contains("s3cret") && !printed.contains("argon2id") && !printed.contains("SSHA"),
        "{printed}"
    );
    assert!(!printed.contains(stored.trim_start_matches("p1$")));
    assert!(!printed.contains(&format!("{:?}", b"s3cret-password")));
}

#[test]
fn the_id_of_a_pepper_reads_back() {
    let id = usual().peppers().ids()[0];
    assert_eq!(id.to_string().parse(), Ok(id));
    for wrong in ["", "0000000", "000000000", "0000000G", "+0000000", "ABCDEF01"] {
        assert!(wrong.parse::<sluice_crypto::credential::PepperId>().is_err(), "{wrong}");
    }
}

#[test]
fn there_are_no_peppers_without_secrets() {
    assert!(Peppers::new(&[]).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_password_verifies_against_its_own_credential_only(password: String, other: String, seed: u64) {
        let keys = usual();
        let stored = keys.provisional(OWNER, password.as_bytes(), &SeededRng::new(seed));
        let hardened = keys.harden(OWNER, &stored, cheap(), &mut HashMemory::new()).unwrap();
        for stored in [stored, hardened] {
            prop_assert_ne!(verify(&keys, &stored, &password), Ok(Verified::Wrong));
            prop_assert_eq!(verify(&keys, &stored, &other) == Ok(Verified::Wrong), other != password);
        }
    }

    #[test]
    fn parsing_never_panics(garbage: String) {
        let keys = usual();
        for mark in ["", "p1$", "h1$", "f1$", "$argon2id$", "h1$00000000$argon2id$v=19$"] {
            let stored = format!("{mark}{garbage}");
            if let Ok(parsed) = StoredCredential::parse(&stored) {
                let _ = keys.secret_in_use(&parsed);
            }
            let _ = keys.reseal(OWNER, &stored, &OsRng);
            let _ = keys.export(OWNER, &stored);
        }
    }
}
