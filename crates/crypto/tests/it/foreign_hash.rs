//! Hashes that other systems made.

use proptest::prelude::*;
use sluice_crypto::foreign_hash::{ForeignHash, ForeignHashError};
use sluice_crypto::password_hash::HashMemory;

use crate::foreign_vectors::{PASSWORD, VECTORS};

fn verify(hash: &str, password: &[u8]) -> bool {
    ForeignHash::parse(hash).unwrap().verify(password, &mut HashMemory::new()).unwrap()
}

#[test]
fn a_hash_of_another_program_verifies_its_password_only() {
    for (scheme, password, hash) in VECTORS {
        let parsed = ForeignHash::parse(hash).unwrap();
        assert_eq!((parsed.scheme(), parsed.as_str()), (*scheme, *hash));
        assert!(verify(hash, password.as_bytes()), "{hash}");
        assert!(!verify(hash, format!("{password}!").as_bytes()), "{hash}");
        assert!(!verify(hash, b"another"), "{hash}");
    }
}

#[test]
fn the_names_that_kratos_gives_to_crypt_are_read_too() {
    for (short, long) in [("$1$", "$md5-crypt$"), ("$5$", "$sha256-crypt$"), ("$6$", "$sha512-crypt$")] {
        let renamed = VECTORS.iter().filter_map(|(_, password, hash)| {
            Some((password, format!("{long}{}", hash.strip_prefix(short)?)))
        });
        let mut seen = 0;
        for (password, hash) in renamed {
            assert!(verify(&hash, password.as_bytes()), "{hash}");
            seen += 1;
        }
        assert!(seen > 0);
    }
}

#[test]
fn padding_bits_of_a_bcrypt_hash_stand_for_nothing_and_all_others_count() {
    let hash = |salt: char, last: char| {
        format!("$2b$05$abcdefghijklmnopqrstu{salt}FiPhXf1sVd3pCCRO.uVh34H/qI/Zsu{last}")
    };
    for (salt, last) in [('u', 'S'), ('v', 'S'), ('9', 'S'), ('u', 'T'), ('u', 'V'), ('9', 'V')] {
        let hash = hash(salt, last);
        assert!(verify(&hash, PASSWORD.as_bytes()), "{hash}");
        assert_eq!(ForeignHash::parse(&hash).unwrap().as_str(), hash, "it is kept as it was imported");
    }
    for (salt, last) in [('t', 'S'), ('u', 'R'), ('u', 'W')] {
        assert!(!verify(&hash(salt, last), PASSWORD.as_bytes()), "{salt} {last}");
    }
    for (salt, last) in [('-', 'S'), ('u', '=')] {
        let refused = ForeignHash::parse(&hash(salt, last)).unwrap_err();
        assert_eq!(refused, ForeignHashError::Malformed("bcrypt"), "{salt} {last}");
    }
}

#[test]
fn a_hash_that_differs_in_one_digit_does_not_verify() {
    for (_, password, hash) in VECTORS.iter().filter(|(scheme, ..)| *scheme != "firescrypt") {
        let place = hash.trim_end_matches('=').len() - 4;
        let mut changed = hash.to_string();
        let other = if hash.as_bytes()[place] == b'x' { "y" } else { "x" };
        changed.replace_range(place..=place, other);
        let verified = ForeignHash::parse(&changed)
            .map(|parsed| parsed.verify(password.as_bytes(), &mut HashMemory::new()));
        assert_ne!(verified, Ok(Ok(true)), "{changed}");
    }
}

#[test]
fn a_hash_that_would_cost_too_much_is_refused() {
    let (salt, hash) = ("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let sha_crypt = "salt$".to_owned() + &"a".repeat(43);
    for costly in [
        "$P$HNAVfa1aIqsG.80iaUi3MeqgPvsbMV1".to_owned(),
        "$H$4NAVfa1aIqsG.80iaUi3MeqgPvsbMV1".to_owned(),
        "$S$HZs5FK7XIakUyl6aHYwvw85Fvd4TEcZ7gjwLw/N8TJtb/zSSi3JP".to_owned(),
        VECTORS[0].2.replace("$05$", "$17$"),
        VECTORS[0].2.replace("$05$", "$31$"),
        format!("$pbkdf2-sha256$i=10000001,l=32${salt}${hash}"),
        format!("$pbkdf2-sha1$i=5000001,l=32${salt}${hash}"),
        format!("$pbkdf2-sha256$0${salt}${hash}"),
        format!("pbkdf2_sha256$4294967295${salt}${hash}"),
        format!("$scrypt$ln=21,r=8,p=1${salt}${hash}"),
        format!("$scrypt$ln=20,r=8,p=3${salt}${hash}"),
        format!("$scrypt$ln=25,r=1,p=1${salt}${hash}"),
        format!("$scrypt$ln=1000,r=8,p=1${salt}${hash}"),
        format!("$scrypt$ln=2147483648,r=8,p=1${salt}${hash}"),
        format!("$scrypt$ln=10,r=65,p=1${salt}${hash}"),
        format!("$scrypt$ln=10,r=8,p=65${salt}${hash}"),
        format!("$scrypt$ln=10,r=0,p=1${salt}${hash}"),
        format!("$scrypt$ln=0,r=8,p=1${salt}${hash}"),
        format!("scrypt$1000$salt$8$1${hash}"),
        format!("scrypt$2097152$salt$8$1${hash}"),
        format!("bcrypt_sha256${}", VECTORS[0].2.replace("$05$", "$17$")),
        format!("$firescrypt$ln=21,r=8,p=1${salt}${hash}$Bw==${hash}"),
        format!("$5$rounds=2000001${sha_crypt}"),
        format!("$5$rounds=999${sha_crypt}"),
        format!("$argon2i$v=19$m=1048577,t=1,p=1${salt}${hash}"),
        format!("$argon2id$v=19$m=65536,t=65,p=1${salt}${hash}"),
    ] {
        let refused = ForeignHash::parse(&costly).unwrap_err();
        assert!(matches!(refused, ForeignHashError::OutOfBounds(_)), "{costly}: {refused}");
    }
}

#[test]
fn a_hash_in_the_form_of_firebase_that_another_program_made_without_a_salt_is_refused_as_such() {
    let key = "A".repeat(88);
    let with = |salt: &str, hash: &str| {
        ForeignHash::parse(&format!("$firescrypt$ln=14,r=8,p=1${salt}${hash}$Bw==${key}"))
    };
    assert_eq!(with("", "JDJhJDEwJE4=").unwrap_err(), ForeignHashError::NoSalt("firescrypt"));
    assert_eq!(with("AAAA", "JDJhJDEwJE4=").unwrap_err(), ForeignHashError::OutOfBounds("firescrypt"));
    assert!(with("", &key).is_ok());
}

#[test]
fn what_is_no_known_hash_is_refused() {
    for unknown in [
        "",
        "$",
        "password",
        "$unknown$x",
        "$argon2d$v=19$m=8,t=1,p=1$x$y",
        "{MD5}x",
        "{CRYPT}abcdefghijklm",
        "{CRYPT}{CRYPT}$1$saltsalt$BsXyQbZiQujHkdhwPwdol.",
        "$2z$05$x",
        "bcrypt$x",
        "$wp$1$saltsalt$BsXyQbZiQujHkdhwPwdol.",
        "$wp$2b$05$Sn7/2zMJtMGK9XHKFL6ujuDGuwnfbvE80F88pmqDanzcwYwNmPLOK",
        "bcrypt$$1$saltsalt$BsXyQbZiQujHkdhwPwdol.",
    ] {
        assert_eq!(ForeignHash::parse(unknown).unwrap_err(), ForeignHashError::UnknownForm, "{unknown}");
    }
    for malformed in [
        "$2b$05$short",
        "$argon2i$v=17$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2i$t=1,m=64,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$v=19=$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$v=19$m=64,t=1,p=1=$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$v=19$m=64,t=1,p=1$c29t=ZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$pbkdf2-sha256$i=1000,l=31$AAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "$pbkdf2-sha256$i=+100,l=32$AAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "$scrypt$ln=10,r=8$AAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "scrypt$1024$salt$8$1",
        "scrypt$ln=10$salt$8$1$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "bcrypt$$2b$05$short",
        "bcrypt_sha256$$2b$05$short",
        "{crypt}$5$salt$short",
        "$wp$2y$05$short",
        "$P$",
        "$P$BNAVfa1aIqsG.80iaUi3MeqgPvsbMV",
        "$P$ BNAVfa1aIqsG.80iaUi3MeqgPvsbMV1",
        "$P$?NAVfa1aIqsG.80iaUi3MeqgPvsbMV1",
        "$P$é6NAVfa1aIqsG.80iaUi3MeqgPvsbMV",
        "$S$DZs5FK7XIakUyl6aHYwvw85Fvd4TEcZ7gjwLw/N8TJtb/zSSi3J",
        "$1$toolongasalt$aaaaaaaaaaaaaaaaaaaaaa",
        "$1$aaaaaaaaaaaaaaaaaaaaaa",
        "$5$salt$short",
        "$1$a:b$21Mu3dG6kQFO3z8Yv5UDT/",
        "$1$a b$21Mu3dG6kQFO3z8Yv5UDT/",
        "{SSHA}AAAA",
        "{SSHA}qqqqqqqqqqqqqqqqqqqqqqqqqqo=",
        "$sha1$AAAA",
        "$hmac-sha256$AAAA$AAAA",
    ] {
        let refused = ForeignHash::parse(malformed).unwrap_err();
        assert!(matches!(refused, ForeignHashError::Malformed(_)), "{malformed}: {refused}");
    }
}

#[test]
fn a_hash_of_the_faulty_bcrypt_is_refused_as_such() {
    // Of crypt(3), and as `$2b$` has it: they differ for other passwords.
    let faulty = "$2x$05$abcdefghijklmnopqrstuuFiPhXf1sVd3pCCRO.uVh34H/qI/ZsuS";
    assert_eq!(ForeignHash::parse(faulty).unwrap_err(), ForeignHashError::FaultyBcrypt);
    assert!(verify(&faulty.replace("$2x$", "$2b$"), PASSWORD.as_bytes()));
}

#[test]
fn a_template_without_the_password_is_refused() {
    let constant = "$md5$pf=e1NBTFR9$AAAA$nMKuihunqT2jm0b8EBnEgQ==";
    assert_eq!(ForeignHash::parse(constant).unwrap_err(), ForeignHashError::OutOfBounds("digest"));
}

#[test]
fn a_hash_that_needs_more_memory_than_is_set_aside_fails() {
    for (_, password, hash) in
        VECTORS.iter().filter(|(scheme, ..)| scheme.ends_with("scrypt") && *scheme != "bcrypt")
    {
        let mut memory = HashMemory::with_limit(100);
        let refused = ForeignHash::parse(hash).unwrap().verify(password.as_bytes(), &mut memory).unwrap_err();
        assert_eq!(refused, ForeignHashError::TooMuchMemory, "{hash}");
    }
}

#[test]
fn a_hash_with_memory_of_its_own_makes_the_pool_give_back_what_it_holds() {
    let mut memory = HashMemory::with_limit(1200);
    let params = sluice_crypto::password_hash::Argon2Params::new(256, 1, 1).unwrap();
    sluice_crypto::password_hash::hash(params, b"password", b"saltsalt", &mut memory).unwrap();
    assert_eq!(memory.held_kib(), 256);
    let scrypt = VECTORS.iter().find(|(scheme, ..)| *scheme == "scrypt").unwrap().2;
    assert!(ForeignHash::parse(scrypt).unwrap().verify(PASSWORD.as_bytes(), &mut memory).unwrap());
    assert_eq!(memory.held_kib(), 0);
}

#[test]
fn crypt_takes_no_password_that_would_make_it_slow() {
    let long = vec![b'x'; 4096];
    for (_, _, hash) in
        VECTORS.iter().filter(|(scheme, ..)| scheme.ends_with("crypt") && scheme.contains('-'))
    {
        assert!(!verify(hash, &long));
    }
}

#[test]
fn phpass_takes_passwords_of_512_bytes_and_no_longer_ones() {
    for (hash, length, is_taken) in [
        ("$P$5saltsaltxfPuFZYx9wBTgChJpuDGb0", 512, true),
        ("$P$5saltsaltwhXcf2GaJAjkSTAFsq/9o1", 513, false),
        ("$S$5saltsaltnV647QG8jc6c1wykRswTrbxoaIm5YqgcQxoJQqp9taF", 512, true),
        ("$S$5saltsalt5m3zANp0vVOVuCSf11TezQuoqdbO9l.t4FH827IDqCU", 513, false),
    ] {
        assert_eq!(verify(hash, &vec![b'x'; length]), is_taken, "{hash}");
    }
}

#[test]
fn phpass_makes_as_many_rounds_as_take_a_moment() {
    for hash in
        ["$P$GNAVfa1aIqsG.80iaUi3MeqgPvsbMV1", "$S$GZs5FK7XIakUyl6aHYwvw85Fvd4TEcZ7gjwLw/N8TJtb/zSSi3JP"]
    {
        assert!(ForeignHash::parse(hash).is_ok(), "{hash}");
    }
}

#[test]
fn a_hash_does_not_print_what_is_in_it() {
    let printed = format!("{:?}", ForeignHash::parse(VECTORS[0].2).unwrap());
    assert_eq!(printed, "ForeignHash { scheme: \"bcrypt\", .. }");
}

proptest! {
    #[test]
    fn parsing_never_panics(
        garbage: String,
        form in "(\\$(2b|argon2id?|pbkdf2(-sha(1|256|512))?|scrypt|firescrypt|1|5|6|md5|sha1|hmac-(sha1|md5))\\$|\\{(SSHA|crypt)\\}\\$?|pbkdf2_sha1\\$|scrypt\\$|bcrypt\\$)",
        fields in "[a-z0-9=,+/.$]{0,120}",
    ) {
        let _ = ForeignHash::parse(&garbage);
        let _ = ForeignHash::parse(&format!("{form}{garbage}"));
        let _ = ForeignHash::parse(&format!("{form}{fields}"));
    }
}
