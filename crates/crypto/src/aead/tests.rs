use super::*;
use sluice_primitives::{OsRng, SeededRng};

fn sealer(network: u8, secrets: &[&str]) -> Sealer {
    let secrets: Vec<_> = secrets.iter().map(|secret| Secret::new(secret.as_bytes().to_vec())).collect();
    Sealer::new(NetworkId::from_bytes([network; 16]), &secrets)
}

#[test]
fn what_is_sealed_opens_to_the_same_value() {
    let sealer = sealer(1, &["first"]);
    let sealed = sealer.seal(Purpose::AccessToken, b"payload", &OsRng);
    assert_eq!(sealer.open(Purpose::AccessToken, &sealed).unwrap(), b"payload");
}

#[test]
fn a_value_opens_for_its_own_purpose_only() {
    let sealer = sealer(1, &["first"]);
    let sealed = sealer.seal(Purpose::AccessToken, b"payload", &OsRng);
    for purpose in PURPOSES.into_iter().filter(|purpose| *purpose != Purpose::AccessToken) {
        assert_eq!(sealer.open(purpose, &sealed), Err(OpenError::NotAuthentic));
    }
}

#[test]
fn a_value_of_another_network_does_not_open() {
    let sealed = sealer(1, &["first"]).seal(Purpose::AccessToken, b"payload", &OsRng);
    assert_eq!(sealer(2, &["first"]).open(Purpose::AccessToken, &sealed), Err(OpenError::NotAuthentic));
}

#[test]
fn an_old_secret_still_opens_and_a_removed_one_does_not() {
    let sealed = sealer(1, &["old"]).seal(Purpose::AccessToken, b"payload", &OsRng);
    assert!(sealer(1, &["new", "old"]).open(Purpose::AccessToken, &sealed).is_ok());
    assert!(sealer(1, &["new"]).open(Purpose::AccessToken, &sealed).is_err());
}

#[test]
fn it_is_known_which_secret_sealed_a_value() {
    let sealed = sealer(1, &["old"]).seal(Purpose::SigningKey, b"payload", &OsRng);
    let place = |secrets: &[&str]| sealer(1, secrets).secret_of(Purpose::SigningKey, &sealed);
    assert_eq!((place(&["old"]), place(&["new", "old"])), (Ok(0), Ok(1)));
    assert_eq!(place(&["new"]), Err(OpenError::UnknownKey));
}

#[test]
fn values_of_a_key_that_is_not_here_are_counted_by_their_purpose() {
    let (other, own) = (sealer(1, &["old"]), sealer(1, &["new"]));
    for purpose in [Purpose::AccessToken, Purpose::AccessToken, Purpose::LoginChallenge] {
        assert_eq!(own.open(purpose, &other.seal(purpose, b"payload", &OsRng)), Err(OpenError::UnknownKey));
    }
    for wrong in [own.seal(Purpose::RefreshToken, b"payload", &OsRng), "nonsense".to_owned()] {
        assert!(own.open(Purpose::AccessToken, &wrong).is_err());
    }
    let counts = Purpose::all().map(|purpose| own.of_unknown_key(purpose).unwrap());
    let counted: Vec<_> = counts.filter(|count| *count > 0).collect();
    assert_eq!(counted, [1, 2], "in the order of the purposes");
    let part = Sealer::from_subkeys(NetworkId::from_bytes([1; 16]), &[own.subkeys(Purpose::AccessToken)]);
    assert_eq!(part.of_unknown_key(Purpose::AccessToken), Some(0));
    assert_eq!(part.of_unknown_key(Purpose::RefreshToken), None, "nothing of it opens here");
}

#[test]
fn each_purpose_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = Purpose::all().map(Purpose::as_str).collect();
    assert_eq!(names.len(), PURPOSES.len());
}

#[test]
fn a_value_whose_secret_is_missing_is_told_from_one_that_is_broken() {
    let sealed = sealer(1, &["old"]).seal(Purpose::TotpSecret, b"payload", &OsRng);
    let by = |network, secrets: &[&str], sealed: &str| {
        sealer(network, secrets).sealed_by(Purpose::TotpSecret, sealed)
    };
    assert_eq!(by(1, &["old"], &sealed), SealedBy::Known(0));
    assert_eq!(by(1, &["new", "old"], &sealed), SealedBy::Known(1));
    assert_eq!(by(1, &["new"], &sealed), SealedBy::Unknown);
    assert_eq!(by(2, &["old"], &sealed), SealedBy::Broken, "a row of another database");
    assert_eq!(by(1, &["old"], "nonsense"), SealedBy::Broken);
}

#[test]
fn a_purpose_with_secrets_of_its_own_opens_with_no_other() {
    let own = [Secret::new(b"own".to_vec())];
    let separate = || sealer(1, &["first"]).with_own_secrets(Purpose::SessionCookie, &own);
    let sealed = separate().seal(Purpose::SessionCookie, b"payload", &OsRng);
    assert_eq!(separate().open(Purpose::SessionCookie, &sealed).unwrap(), b"payload");
    assert_eq!(sealer(1, &["first"]).open(Purpose::SessionCookie, &sealed), Err(OpenError::UnknownKey));
    let common = separate().seal(Purpose::AccessToken, b"payload", &OsRng);
    assert!(sealer(1, &["first"]).open(Purpose::AccessToken, &common).is_ok());
}

#[test]
fn each_purpose_stands_where_its_key_is_looked_for() {
    for (place, purpose) in PURPOSES.into_iter().enumerate() {
        assert_eq!(usize::from(purpose as u8), place + 1);
    }
    assert_eq!(PURPOSES.len(), usize::from(Purpose::LoginEnrolment as u8));
}

#[test]
fn a_sealer_of_subkeys_opens_and_seals_for_their_purpose_and_no_other() {
    let whole = sealer(1, &["new", "old"]);
    let carried = serde_json::to_string(&whole.subkeys(Purpose::AccessToken)).unwrap();
    let subkeys: SealedSubkeys = serde_json::from_str(&carried).unwrap();
    let part = Sealer::from_subkeys(NetworkId::from_bytes([1; 16]), &[subkeys]);
    for secrets in [["new"], ["old"]] {
        let sealed = sealer(1, &secrets).seal(Purpose::AccessToken, b"payload", &OsRng);
        assert_eq!(part.open(Purpose::AccessToken, &sealed).unwrap(), b"payload");
    }
    let sealed = part.seal(Purpose::AccessToken, b"payload", &OsRng);
    assert_eq!(sealer(1, &["new"]).open(Purpose::AccessToken, &sealed).unwrap(), b"payload");
    for purpose in PURPOSES.into_iter().filter(|purpose| *purpose != Purpose::AccessToken) {
        let sealed = whole.seal(purpose, b"payload", &OsRng);
        assert_eq!(part.open(purpose, &sealed), Err(OpenError::UnknownKey));
        assert_eq!(part.open(Purpose::AccessToken, &sealed), Err(OpenError::NotAuthentic));
        assert!(!part.knows(purpose) && part.seal(purpose, b"payload", &OsRng).is_empty());
    }
}

#[test]
fn subkeys_of_another_network_open_nothing() {
    let whole = sealer(1, &["first"]);
    let sealed = whole.seal(Purpose::AccessToken, b"payload", &OsRng);
    let subkeys = [whole.subkeys(Purpose::AccessToken)];
    let elsewhere = Sealer::from_subkeys(NetworkId::from_bytes([2; 16]), &subkeys);
    assert_eq!(elsewhere.open(Purpose::AccessToken, &sealed), Err(OpenError::NotAuthentic));
}

#[test]
fn subkeys_do_not_print_themselves_and_unknown_purposes_are_refused() {
    let printed = format!("{:?}", sealer(1, &["first"]).subkeys(Purpose::AccessToken));
    assert!(printed.contains("AccessToken") && printed.contains("[redacted]"), "{printed}");
    assert!(serde_json::from_str::<SealedSubkeys>("[0,[]]").is_err());
    assert!(serde_json::from_str::<SealedSubkeys>("[255,[]]").is_err());
}

#[test]
fn a_value_opens_in_memory_of_the_caller_if_it_fits() {
    let sealer = sealer(1, &["first"]);
    let sealed = sealer.seal(Purpose::AccessToken, b"payload", &OsRng);
    let mut buffer = [0; 64];
    assert_eq!(sealer.open_in(Purpose::AccessToken, &sealed, &mut buffer).unwrap(), b"payload");
    let mut short = [0; 16];
    assert_eq!(sealer.open_in(Purpose::AccessToken, &sealed, &mut short), Err(OpenError::Malformed));
    assert_eq!(sealer.open_in(Purpose::AccessToken, "", &mut buffer), Err(OpenError::Malformed));
}

#[test]
fn secrets_whose_keys_have_one_id_are_tried_one_after_the_other() {
    let id = |secret: &str| sealer(1, &[secret]).subkeys(Purpose::AccessToken).ready().next().unwrap().id;
    let twin =
        (0..100_000_u32).map(|number| number.to_string()).find(|secret| id(secret) == id("old")).unwrap();
    let sealed = sealer(1, &["old"]).seal(Purpose::AccessToken, b"payload", &OsRng);
    let both = sealer(1, &[&twin, "old"]);
    assert_eq!(both.open_with(Purpose::AccessToken, &sealed).unwrap(), (1, b"payload".to_vec()));
    assert_eq!(sealer(1, &[&twin]).open(Purpose::AccessToken, &sealed), Err(OpenError::NotAuthentic));
}

proptest::proptest! {
    #[test]
    fn any_changed_bit_does_not_open(payload: Vec<u8>, seed: u64, bit: usize) {
        let sealer = sealer(1, &["first"]);
        let sealed = sealer.seal(Purpose::LoginChallenge, &payload, &SeededRng::new(seed));
        proptest::prop_assert_eq!(&sealer.open(Purpose::LoginChallenge, &sealed).unwrap(), &payload);
        let mut bytes = URL_SAFE_NO_PAD.decode_to_vec(&sealed).unwrap();
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        proptest::prop_assert!(sealer.open(Purpose::LoginChallenge, &URL_SAFE_NO_PAD.encode_to_string(&bytes)).is_err());
    }

    #[test]
    fn opening_never_panics(garbage: String) {
        let _ = sealer(1, &["first"]).open(Purpose::LoginChallenge, &garbage);
    }
}

/// The last character has bits that stand for nothing, whatever the length; a text that sets them is another text of the same bytes.
#[test]
fn a_value_opens_from_one_text_only() {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let sealer = sealer(1, &["secret"]);
    for length in 0..100 {
        let sealed = sealer.seal(Purpose::AccessToken, &vec![7; length], &OsRng);
        let (front, _) = sealed.split_at(sealed.len() - 1);
        let texts = ALPHABET.iter().map(|last| format!("{front}{}", char::from(*last)));
        let opened = texts.filter(|text| sealer.open(Purpose::AccessToken, text).is_ok()).count();
        assert_eq!(opened, 1, "{length}");
        for wrong in
            [format!("{sealed}="), format!("{sealed}=="), format!("{sealed}\n"), format!(" {sealed}")]
        {
            assert_eq!(sealer.open(Purpose::AccessToken, &wrong), Err(OpenError::Malformed), "{wrong:?}");
        }
    }
}

#[test]
fn what_is_sealed_has_the_form_of_it_and_hardly_anything_else_has() {
    let sealer = sealer(1, &["first"]);
    for length in 0..100 {
        let sealed = sealer.seal(Purpose::AccessToken, &vec![0; length], &OsRng);
        assert!(Sealer::is_of_form(&sealed), "{sealed}");
        let (head, rest) = sealed.split_at(4);
        for other in
            [format!("B{sealed}"), format!("{head}.{rest}"), format!("{head}\u{e9}{rest}"), sealed + "="]
        {
            assert!(!Sealer::is_of_form(&other), "{other}");
        }
    }
    for other in [
        "",
        "AQ",
        "AQAA",
        &format!("AQ{}", "A".repeat(37)),
        "\u{1f600}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ] {
        assert!(!Sealer::is_of_form(other), "{other}");
    }
}
