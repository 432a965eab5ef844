//! Fast hashes: salted digests and HMAC. Nothing here is slow, which is why imported hashes are sealed.

use aws_lc_rs::{digest, hmac};
use md5::{Digest as _, Md5};
use sluice_primitives::secret::same_bytes;
use zeroize::Zeroizing;

use super::ForeignHashError;
use super::encoding::{bytes, fields};

const MALFORMED: ForeignHashError = ForeignHashError::Malformed("digest");
const SALT: &[u8] = b"{SALT}";
const PASSWORD: &[u8] = b"{PASSWORD}";
/// How often the password may stand in a template.
const MAX_PARTS: usize = 8;
/// In bytes.
const MD5_BLOCK: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    const fn length(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    fn digest(self, data: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Md5 => return Md5::digest(data).to_vec(),
            Self::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        };
        digest::digest(algorithm, data).as_ref().to_vec()
    }
}

/// A digest of the password among other things.
#[derive(Clone)]
pub(super) struct Salted {
    algorithm: Algorithm,
    parts: Vec<Part>,
    hash: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq)]
enum Part {
    Password,
    Bytes(Vec<u8>),
}

impl Salted {
    /// Of `{SSHA}` the name, in any case, and base64 of the digest of password and salt, and the salt.
    pub(super) fn parse_ldap(name: &str, encoded: &str) -> Result<Self, ForeignHashError> {
        let algorithm = match &*name.to_ascii_uppercase() {
            "SSHA" => Algorithm::Sha1,
            "SSHA256" => Algorithm::Sha256,
            "SSHA512" => Algorithm::Sha512,
            _ => return Err(ForeignHashError::UnknownForm),
        };
        let decoded = bytes(encoded).ok_or(MALFORMED)?;
        let (hash, salt) = decoded.split_at_checked(algorithm.length()).ok_or(MALFORMED)?;
        if salt.is_empty() {
            return Err(MALFORMED);
        }
        Ok(Self { algorithm, parts: vec![Part::Password, Part::Bytes(salt.to_vec())], hash: hash.to_vec() })
    }

    /// What follows `$sha1$`: `pf=<template>$<salt>$<hash>`; for MD5 also the hash alone.
    pub(super) fn parse_kratos(form: &str, rest: &str) -> Result<Self, ForeignHashError> {
        let algorithm = match form {
            "md5" => Algorithm::Md5,
            "sha1" => Algorithm::Sha1,
            "sha256" => Algorithm::Sha256,
            _ => Algorithm::Sha512,
        };
        let (parts, hash) = match fields::<3>(rest) {
            Some([template, salt, hash]) => {
                let template = template.strip_prefix("pf=").and_then(bytes).ok_or(MALFORMED)?;
                (read_template(&template, &bytes(salt).ok_or(MALFORMED)?), hash)
            }
            None if algorithm == Algorithm::Md5 => (vec![Part::Password], rest),
            None => return Err(MALFORMED),
        };
        let hash = bytes(hash).filter(|hash| hash.len() == algorithm.length()).ok_or(MALFORMED)?;
        let passwords = parts.iter().filter(|part| **part == Part::Password).count();
        if !(1..=MAX_PARTS).contains(&passwords) {
            return Err(ForeignHashError::OutOfBounds("digest"));
        }
        Ok(Self { algorithm, parts, hash })
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let mut data = Zeroizing::new(Vec::with_capacity(self.parts.len() * (password.len() + 64)));
        for part in &self.parts {
            data.extend_from_slice(match part {
                Part::Password => password,
                Part::Bytes(bytes) => bytes,
            });
        }
        same_bytes(&self.algorithm.digest(&data), &self.hash)
    }
}

fn read_template(mut template: &[u8], salt: &[u8]) -> Vec<Part> {
    let (mut parts, mut literal) = (Vec::new(), Vec::new());
    while let Some((first, rest)) = template.split_first() {
        if let Some(after) = template.strip_prefix(SALT) {
            literal.extend_from_slice(salt);
            template = after;
        } else if let Some(after) = template.strip_prefix(PASSWORD) {
            parts.push(Part::Bytes(std::mem::take(&mut literal)));
            parts.push(Part::Password);
            template = after;
        } else {
            literal.push(*first);
            template = rest;
        }
    }
    parts.push(Part::Bytes(literal));
    parts
}

/// HMAC of the password. Kratos writes the hash as base64 of hexadecimal digits; base64 of the hash itself is read too.
#[derive(Clone)]
pub(super) struct Hmac {
    /// `None`: MD5.
    algorithm: Option<hmac::Algorithm>,
    key: Vec<u8>,
    hash: Vec<u8>,
}

impl Hmac {
    /// What follows `$hmac-sha256$`.
    pub(super) fn parse(form: &str, rest: &str) -> Result<Self, ForeignHashError> {
        let algorithm = match form {
            "hmac-md5" => None,
            "hmac-sha1" => Some(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
            "hmac-sha224" => Some(hmac::HMAC_SHA224),
            "hmac-sha256" => Some(hmac::HMAC_SHA256),
            "hmac-sha384" => Some(hmac::HMAC_SHA384),
            _ => Some(hmac::HMAC_SHA512),
        };
        let malformed = ForeignHashError::Malformed("HMAC");
        let [hash, key] = fields(rest).ok_or(malformed)?;
        let (hash, key) = bytes(hash).zip(bytes(key)).ok_or(malformed)?;
        let length =
            algorithm.map_or(Algorithm::Md5.length(), |algorithm| algorithm.digest_algorithm().output_len());
        let hash = if hash.len() == length {
            hash
        } else {
            data_encoding::HEXLOWER_PERMISSIVE.decode(&hash).map_err(|_| malformed)?
        };
        if hash.len() != length || key.is_empty() {
            return Err(malformed);
        }
        Ok(Self { algorithm, key, hash })
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        match self.algorithm {
            Some(algorithm) => {
                let key = hmac::Key::new(algorithm, &self.key);
                hmac::verify(&key, password, &self.hash).is_ok()
            }
            None => same_bytes(&hmac_md5(&self.key, password), &self.hash),
        }
    }
}

/// HMAC with MD5 (RFC 2104), which the library does not have.
fn hmac_md5(key: &[u8], data: &[u8]) -> [u8; 16] {
    let shortened: [u8; 16] = Md5::digest(key).into();
    let key: &[u8] = if key.len() > MD5_BLOCK { &shortened } else { key };
    let mut block = [0_u8; MD5_BLOCK];
    block.iter_mut().zip(key).for_each(|(place, byte)| *place = *byte);
    let inner = Md5::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(data).finalize();
    Md5::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}
