//! Hashes (SHA-2, and SHA-1 for one lookup) and keyed hashes (HMAC-SHA-256), and the derivation of keys from secrets (HKDF, RFC 5869).

use aws_lc_rs::{digest, hkdf, hmac};

/// SHA-256 of `data`.
pub fn sha256(data: &[u8]) -> [u8; 32] {
    take32(digest::digest(&digest::SHA256, data).as_ref())
}

/// SHA-384 of `data`.
pub fn sha384(data: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA384, data).as_ref().to_vec()
}

/// SHA-512 of `data`.
pub fn sha512(data: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA512, data).as_ref().to_vec()
}

/// SHA-1 of `data`. Broken where collisions matter: only for lists of breached passwords, which are asked for the first
/// five hexadecimal digits of it (k-anonymity), and for hashes that others made.
pub fn sha1(data: &[u8]) -> [u8; 20] {
    let mut out = [0; 20];
    let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, data);
    for (to, from) in out.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    out
}

/// A key for HMAC-SHA-256, expanded once.
#[derive(Clone)]
pub struct MacKey(hmac::Key);

impl MacKey {
    /// A key made of these bytes.
    pub fn new(key: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// A key derived from `secret` for one use, named by `info` (HKDF-SHA-256).
    pub fn derive(secret: &[u8], info: &[u8]) -> Self {
        Self::new(&derive_key(secret, info))
    }

    /// The MAC of the concatenation of `parts`. The caller makes sure that parts cannot be confused: fixed lengths, or
    /// one variable part at the end.
    pub fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(part);
        }
        take32(context.sign().as_ref())
    }
}

/// Derives 32 bytes from `secret` for the use that `info` names (HKDF-SHA-256, RFC 5869).
pub fn derive_key(secret: &[u8], info: &[u8]) -> [u8; 32] {
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"sluice/v1");
    let mut key = [0; 32];
    let info = [info];
    let filled = salt.extract(secret).expand(&info, hkdf::HKDF_SHA256).and_then(|okm| okm.fill(&mut key));
    debug_assert!(filled.is_ok(), "32 bytes are within what HKDF-SHA-256 gives");
    key
}

fn take32(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha1_is_that_of_rfc_3174() {
        let expected = "a9993e364706816aba3e25717850c26c9cd0d89d";
        assert_eq!(data_encoding::HEXLOWER.encode(&sha1(b"abc")), expected);
    }

    #[test]
    fn a_derived_key_depends_on_secret_and_use() {
        let key = derive_key(b"secret", b"a");
        assert_ne!(key, [0; 32]);
        assert_ne!(key, derive_key(b"secret", b"b"));
        assert_ne!(key, derive_key(b"Secret", b"a"));
        assert_eq!(key, derive_key(b"secret", b"a"));
    }
}
