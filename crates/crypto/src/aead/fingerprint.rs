//! Fingerprint: what tells a secret from others where the secret itself must not be.

use sluice_primitives::NetworkId;

use super::SystemSecret;
use crate::digest::MacKey;

/// What fingerprints are made with, and nothing is sealed.
const INFO: &[u8] = b"fingerprint in the database";
/// How much of it is told, in bytes.
const LENGTH: usize = 2;

/// What tells a secret from others of one installation, in four hexadecimal digits. Two secrets have the same once in 65,536 times.
///
/// It is for the database, where others read it who have no other means to try guesses: it is so short that of a million secrets which
/// somebody may have thought of, fifteen that are wrong have it too. Whoever has any sealed value can try guesses at the same cost, and knows
/// which one is right.
pub fn fingerprint(network: NetworkId, secret: &SystemSecret) -> String {
    let mac = MacKey::derive(secret.expose(), INFO).mac(&[network.as_bytes()]);
    data_encoding::HEXLOWER.encode(mac.get(..LENGTH).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use sluice_primitives::Secret;

    use super::*;

    fn of(network: u8, secret: &str) -> String {
        fingerprint(NetworkId::from_bytes([network; 16]), &Secret::new(secret.as_bytes().to_vec()))
    }

    #[test]
    fn a_fingerprint_depends_on_secret_and_installation_and_is_short() {
        let one = of(1, "a-system-secret-for-tests");
        assert!(one.len() == 4 && one.chars().all(|digit| digit.is_ascii_hexdigit()), "{one}");
        assert_eq!(one, of(1, "a-system-secret-for-tests"));
        assert_ne!(one, of(2, "a-system-secret-for-tests"));
        assert_ne!(one, of(1, "another-secret-for-tests"));
    }
}
