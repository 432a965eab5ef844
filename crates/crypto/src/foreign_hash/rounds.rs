//! PBKDF2 (RFC 8018 §5.2).

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA1, PBKDF2_HMAC_SHA256, PBKDF2_HMAC_SHA512};

use super::ForeignHashError;
use super::encoding::{adapted_bytes, bytes, decimal, fields, numbers};

/// How many rounds over all blocks of a hash: about three seconds.
const MAX_ROUNDS: u64 = 10_000_000;
const HASH: std::ops::RangeInclusive<usize> = 16..=128;
const MAX_SALT: usize = 256;
const MALFORMED: ForeignHashError = ForeignHashError::Malformed("PBKDF2");

#[derive(Clone)]
pub(super) struct Pbkdf2 {
    digest: Digest,
    rounds: NonZeroU32,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

impl Digest {
    fn named(form: &str) -> Option<Self> {
        match form {
            "pbkdf2" | "pbkdf2-sha1" | "pbkdf2_sha1" => Some(Self::Sha1),
            "pbkdf2-sha256" | "pbkdf2_sha256" => Some(Self::Sha256),
            "pbkdf2-sha512" => Some(Self::Sha512),
            _ => None,
        }
    }

    /// How much of the hash one chain of rounds gives, in bytes.
    const fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    const fn algorithm(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha1 => PBKDF2_HMAC_SHA1,
            Self::Sha256 => PBKDF2_HMAC_SHA256,
            Self::Sha512 => PBKDF2_HMAC_SHA512,
        }
    }
}

impl Pbkdf2 {
    /// What follows `$pbkdf2-sha256$`: as PHC if it begins with `i=`, else as passlib writes it.
    pub(super) fn parse(form: &str, rest: &str) -> Result<Self, ForeignHashError> {
        let digest = Digest::named(form).ok_or(ForeignHashError::UnknownForm)?;
        let [params, salt, hash] = fields(rest).ok_or(MALFORMED)?;
        if !params.starts_with("i=") {
            let (salt, hash) = (adapted_bytes(salt), adapted_bytes(hash));
            return Self::new(digest, decimal(params), salt, hash);
        }
        let hash = bytes(hash).ok_or(MALFORMED)?;
        let [rounds, length] = numbers(params, ["i", "l"]).ok_or(MALFORMED)?;
        if usize::try_from(length) != Ok(hash.len()) {
            return Err(MALFORMED);
        }
        Self::new(digest, Some(rounds), bytes(salt), Some(hash))
    }

    /// `pbkdf2_sha256$iterations$salt$hash`; the salt is not encoded.
    pub(super) fn parse_django(raw: &str) -> Result<Self, ForeignHashError> {
        let [form, rounds, salt, hash] = fields(raw).ok_or(MALFORMED)?;
        let digest = Digest::named(form).ok_or(ForeignHashError::UnknownForm)?;
        Self::new(digest, decimal(rounds), Some(salt.as_bytes().to_vec()), bytes(hash))
    }

    fn new(
        digest: Digest,
        rounds: Option<u32>,
        salt: Option<Vec<u8>>,
        hash: Option<Vec<u8>>,
    ) -> Result<Self, ForeignHashError> {
        let (Some(rounds), Some(salt), Some(hash)) = (rounds, salt, hash) else { return Err(MALFORMED) };
        let blocks = u64::try_from(hash.len().div_ceil(digest.length())).unwrap_or(u64::MAX);
        let bounded = u64::from(rounds).saturating_mul(blocks) <= MAX_ROUNDS;
        let fits = HASH.contains(&hash.len()) && salt.len() <= MAX_SALT;
        match NonZeroU32::new(rounds) {
            Some(rounds) if bounded && fits => Ok(Self { digest, rounds, salt, hash }),
            _ => Err(ForeignHashError::OutOfBounds("PBKDF2")),
        }
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let Self { digest, rounds, salt, hash } = self;
        pbkdf2::verify(digest.algorithm(), *rounds, salt, password, hash).is_ok()
    }
}
