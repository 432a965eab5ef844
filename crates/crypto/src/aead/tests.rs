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
    assert_eq!(PURPOSES.len(), usize::from(Purpose::ProofOfWork as u8));
}

proptest::proptest! {
    #[test]
    fn any_changed_bit_does_not_open(payload: Vec<u8>, seed: u64, bit: usize) {
        let sealer = sealer(1, &["first"]);
        let sealed = sealer.seal(Purpose::LoginChallenge, &payload, &SeededRng::new(seed));
        proptest::prop_assert_eq!(&sealer.open(Purpose::LoginChallenge, &sealed).unwrap(), &payload);
        let mut bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        proptest::prop_assert!(sealer.open(Purpose::LoginChallenge, &URL_SAFE_NO_PAD.encode(bytes)).is_err());
    }

    #[test]
    fn opening_never_panics(garbage: String) {
        let _ = sealer(1, &["first"]).open(Purpose::LoginChallenge, &garbage);
    }
}
