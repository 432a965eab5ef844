//! Hashes of PHP programs: phpass, by Solar Designer, and what WordPress makes since 6.8. No kept library has either.

use aws_lc_rs::{digest, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use sluice_primitives::secret::same_bytes;
use zeroize::Zeroizing;

use super::ForeignHashError;
use super::encoding::{CRYPT_DIGITS, crypt_digits};

/// Drupal takes no longer passwords, in bytes. phpass itself takes 4096; but each round hashes all of the password, and whoever tries one
/// chooses how long it is.
const MAX_PASSWORD: usize = 512;
/// The binary logarithm of the rounds: fewer are not made, and 2¹⁸ with the longest password are less than half a second. What is customary
/// ends at 2¹⁶.
const ROUNDS: std::ops::RangeInclusive<usize> = 7..=18;
const SALT: usize = 8;
const MALFORMED: ForeignHashError = ForeignHashError::Malformed("phpass");
/// What WordPress says a password is hashed for, so that its bcrypt hashes verify nowhere else.
const WORDPRESS_KEY: &[u8] = b"wp-sha384";

#[derive(Clone, Copy)]
enum Digest {
    Md5,
    Sha512,
}

/// `$P$…` of WordPress and others, `$H$…` of phpBB, `$S$…` of Drupal 7.
#[derive(Clone)]
pub(super) struct Phpass {
    digest: Digest,
    rounds: u32,
    salt: String,
    hash: String,
}

impl Phpass {
    /// What follows `$P$`, of MD5.
    pub(super) fn parse_md5(rest: &str) -> Result<Self, ForeignHashError> {
        Self::parse(Digest::Md5, rest)
    }

    /// What follows `$S$`, of SHA-512.
    pub(super) fn parse_drupal(rest: &str) -> Result<Self, ForeignHashError> {
        Self::parse(Digest::Sha512, rest)
    }

    fn parse(digest: Digest, rest: &str) -> Result<Self, ForeignHashError> {
        if !rest.is_ascii() {
            return Err(MALFORMED);
        }
        let (cost, rest) = rest.split_at_checked(1).ok_or(MALFORMED)?;
        let (salt, hash) = rest.split_at_checked(SALT).ok_or(MALFORMED)?;
        let is_hash = hash.len() == digest.digits() && hash.bytes().all(|byte| CRYPT_DIGITS.contains(&byte));
        let cost = CRYPT_DIGITS.iter().position(|digit| [*digit] == *cost.as_bytes());
        let (true, Some(cost)) = (is_hash, cost) else { return Err(MALFORMED) };
        if !ROUNDS.contains(&cost) {
            return Err(ForeignHashError::OutOfBounds("phpass"));
        }
        Ok(Self { digest, rounds: 1 << cost, salt: salt.to_owned(), hash: hash.to_owned() })
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let Self { digest, rounds, salt, hash } = self;
        password.len() <= MAX_PASSWORD
            && same_bytes(digest.stretch(password, salt.as_bytes(), *rounds).as_bytes(), hash.as_bytes())
    }
}

impl Digest {
    /// How long the hash is in digits: Drupal cuts it off, so that its column holds it.
    const fn digits(self) -> usize {
        match self {
            Self::Md5 => 22,
            Self::Sha512 => 43,
        }
    }

    /// The digest of the salt and the password, then so many times that of the last digest and the password.
    fn stretch(self, password: &[u8], salt: &[u8], rounds: u32) -> String {
        let mut state = self.of(salt, password);
        for _ in 0..rounds {
            state = self.of(&state, password);
        }
        let mut text = encode(&state);
        text.truncate(self.digits());
        text
    }

    fn of(self, first: &[u8], password: &[u8]) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(match self {
            Self::Md5 => Md5::new().chain_update(first).chain_update(password).finalize().to_vec(),
            Self::Sha512 => {
                let mut context = digest::Context::new(&digest::SHA512);
                context.update(first);
                context.update(password);
                context.finish().as_ref().to_vec()
            }
        })
    }
}

/// Three bytes are four digits, the lowest bits first.
fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let value = three.iter().rev().fold(0, |value, byte| (value << 8) | u32::from(*byte));
        let digits = match three.len() {
            1 => 2,
            2 => 3,
            _ => 4,
        };
        crypt_digits(value, digits, &mut text);
    }
    text
}

/// What WordPress has bcrypt hash: bcrypt reads 72 bytes at most, and these are 64, of all of the password.
pub(super) fn wordpress_password(password: &[u8]) -> Zeroizing<String> {
    let key = hmac::Key::new(hmac::HMAC_SHA384, WORDPRESS_KEY);
    Zeroizing::new(STANDARD.encode(hmac::sign(&key, password)))
}
