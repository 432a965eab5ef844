//! Hashes of crypt(3): SHA-crypt and MD5-crypt.

use md5::{Digest as _, Md5};
use sha_crypt::{Params, sha256_crypt, sha512_crypt};
use sluice_primitives::secret::same_bytes;

use super::ForeignHashError;
use super::encoding::{CRYPT_DIGITS as DIGITS, crypt_digits as encode, decimal};

/// crypt(3) takes no longer passwords (libxcrypt), and the work grows with the length, in bytes.
const MAX_PASSWORD: usize = 512;
/// What is customary ends at 656 000; this many take a second or two.
const SHA_ROUNDS: std::ops::RangeInclusive<u32> = Params::ROUNDS_MIN..=2_000_000;
const SHA_SALT: usize = 16;
const MD5_SALT: usize = 8;
const MD5_ROUNDS: usize = 1000;
/// Which bytes of MD5 each four digits stand for.
const MD5_ORDER: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];

/// `$5$…` or `$6$…`, by Ulrich Drepper. The salt may be empty.
#[derive(Clone)]
pub(super) struct ShaCrypt {
    digest: ShaDigest,
    params: Params,
    salt: String,
    hash: String,
}

#[derive(Clone, Copy)]
enum ShaDigest {
    Sha256,
    Sha512,
}

impl ShaCrypt {
    /// What follows `$5$`.
    pub(super) fn parse_sha256(rest: &str) -> Result<Self, ForeignHashError> {
        Self::parse(ShaDigest::Sha256, rest)
    }

    /// What follows `$6$`.
    pub(super) fn parse_sha512(rest: &str) -> Result<Self, ForeignHashError> {
        Self::parse(ShaDigest::Sha512, rest)
    }

    fn parse(digest: ShaDigest, rest: &str) -> Result<Self, ForeignHashError> {
        let malformed = ForeignHashError::Malformed("SHA-crypt");
        let (params, salt_and_hash) = match rest.strip_prefix("rounds=") {
            Some(rest) => {
                let (rounds, rest) = rest.split_once('$').ok_or(malformed)?;
                let rounds = decimal(rounds).ok_or(malformed)?;
                let params = Params::new(rounds).ok().filter(|_| SHA_ROUNDS.contains(&rounds));
                (params.ok_or(ForeignHashError::OutOfBounds("SHA-crypt"))?, rest)
            }
            None => (Params::RECOMMENDED, rest),
        };
        let (salt, hash) = salt_and_hash.split_once('$').ok_or(malformed)?;
        if salt.len() > SHA_SALT || !is_salt(salt) || hash.len() != digest.digits() || !is_encoded(hash) {
            return Err(malformed);
        }
        Ok(Self { digest, params, salt: salt.to_owned(), hash: hash.to_owned() })
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let Self { digest, params, salt, hash } = self;
        password.len() <= MAX_PASSWORD
            && same_bytes(digest.crypt(password, salt.as_bytes(), *params).as_bytes(), hash.as_bytes())
    }
}

impl ShaDigest {
    /// How long the hash is in digits.
    const fn digits(self) -> usize {
        match self {
            Self::Sha256 => 43,
            Self::Sha512 => 86,
        }
    }

    fn crypt(self, password: &[u8], salt: &[u8], params: Params) -> String {
        match self {
            Self::Sha256 => encode_sha256(&sha256_crypt(password, salt, params)),
            Self::Sha512 => encode_sha512(&sha512_crypt(password, salt, params)),
        }
    }
}

/// `$1$…`, by Poul-Henning Kamp. No kept library has it.
#[derive(Clone)]
pub(super) struct Md5Crypt {
    salt: String,
    hash: String,
}

impl Md5Crypt {
    /// What follows `$1$`.
    pub(super) fn parse(rest: &str) -> Result<Self, ForeignHashError> {
        let malformed = ForeignHashError::Malformed("MD5-crypt");
        let (salt, hash) = rest.split_once('$').ok_or(malformed)?;
        if salt.len() > MD5_SALT || !is_salt(salt) || hash.len() != 22 || !is_encoded(hash) {
            return Err(malformed);
        }
        Ok(Self { salt: salt.to_owned(), hash: hash.to_owned() })
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        password.len() <= MAX_PASSWORD
            && same_bytes(md5_crypt(password, self.salt.as_bytes()).as_bytes(), self.hash.as_bytes())
    }
}

/// Salts are the digits above where programs make them up, but crypt(3) takes whatever fits into a field of `/etc/shadow`.
fn is_salt(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}

fn is_encoded(text: &str) -> bool {
    text.bytes().all(|byte| DIGITS.contains(&byte))
}

fn md5_crypt(password: &[u8], salt: &[u8]) -> String {
    let mut state: [u8; 16] = md5_begin(password, salt);
    for round in 0..MD5_ROUNDS {
        let last = state;
        let [first, end] = if round % 2 == 1 { [password, &last] } else { [&last, password] };
        let mut hasher = Md5::new();
        hasher.update(first);
        if round % 3 != 0 {
            hasher.update(salt);
        }
        if round % 7 != 0 {
            hasher.update(password);
        }
        hasher.update(end);
        state = hasher.finalize().into();
    }
    encode_md5(&state)
}

fn md5_begin(password: &[u8], salt: &[u8]) -> [u8; 16] {
    let inner: [u8; 16] =
        Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize().into();
    let mut hasher = Md5::new();
    for part in [password, b"$1$", salt] {
        hasher.update(part);
    }
    for byte in inner.iter().cycle().take(password.len()) {
        hasher.update([*byte]);
    }
    let mut length = password.len();
    while length > 0 {
        let first = password.first().copied().unwrap_or(0);
        hasher.update([if length & 1 == 1 { 0 } else { first }]);
        length >>= 1;
    }
    hasher.finalize().into()
}

fn encode_md5(state: &[u8; 16]) -> String {
    let mut text = String::with_capacity(22);
    for places in MD5_ORDER {
        encode(joined(state, places), 4, &mut text);
    }
    encode(byte(state, 11), 2, &mut text);
    text
}

fn encode_sha256(digest: &[u8; 32]) -> String {
    let (mut text, mut places) = (String::with_capacity(43), [0, 10, 20]);
    for _ in 0..10 {
        encode(joined(digest, places), 4, &mut text);
        let [high, middle, low] = places;
        places = [low + 1, high + 1, middle + 1];
    }
    encode((byte(digest, 31) << 8) | byte(digest, 30), 3, &mut text);
    text
}

fn encode_sha512(digest: &[u8; 64]) -> String {
    let (mut text, mut places) = (String::with_capacity(86), [0, 21, 42]);
    for _ in 0..21 {
        encode(joined(digest, places), 4, &mut text);
        let [high, middle, low] = places;
        places = [middle + 1, low + 1, high + 1];
    }
    encode(byte(digest, 63), 2, &mut text);
    text
}

/// The bytes at these places, the first one highest.
fn joined(digest: &[u8], [high, middle, low]: [usize; 3]) -> u32 {
    (byte(digest, high) << 16) | (byte(digest, middle) << 8) | byte(digest, low)
}

fn byte(digest: &[u8], place: usize) -> u32 {
    u32::from(digest.get(place).copied().unwrap_or(0))
}
