//! scrypt (RFC 7914), and what Firebase makes of it.

use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use sluice_primitives::secret::same_bytes;
use zeroize::Zeroizing;

use super::ForeignHashError;
use super::encoding::{bytes, decimal, fields, numbers, web_bytes};
use crate::password_hash::HashMemory;

/// The most memory, in KiB: 1 GiB.
const MAX_MEMORY_KIB: u64 = 1024 * 1024;
/// Memory times `p`, in KiB: some four seconds.
const MAX_WORK_KIB: u64 = 2 * 1024 * 1024;
const MAX_LOG_N: u32 = 24;
const MAX_R: u32 = 64;
const MAX_P: u32 = 64;
const HASH: std::ops::RangeInclusive<usize> = 16..=64;
const MAX_SALT: usize = 128;
/// What Firebase encrypts may be long, in bytes; its keys have 64.
const SIGNER_KEY: std::ops::RangeInclusive<usize> = 16..=128;

/// What scrypt costs, within bounds.
#[derive(Clone, Copy)]
struct Cost {
    params: scrypt::Params,
    memory_kib: u32,
}

impl Cost {
    /// `ln=14,r=8,p=1`.
    fn parse(text: &str, name: &'static str) -> Result<Self, ForeignHashError> {
        let [cost, r, p] = numbers(text, ["ln", "r", "p"]).ok_or(ForeignHashError::Malformed(name))?;
        Self::new(cost, r, p).ok_or(ForeignHashError::OutOfBounds(name))
    }

    fn new(cost: u32, r: u32, p: u32) -> Option<Self> {
        // No N fits the bounds above whose logarithm could be taken for another N, nor the other way round.
        let log_n = match cost {
            1..=MAX_LOG_N => cost,
            _ if cost.is_power_of_two() => cost.trailing_zeros(),
            _ => return None,
        };
        if !(1..=MAX_LOG_N).contains(&log_n) || !(1..=MAX_R).contains(&r) || !(1..=MAX_P).contains(&p) {
            return None;
        }
        let memory_kib = (u64::from(r) << log_n).div_ceil(8);
        let fits = memory_kib <= MAX_MEMORY_KIB && memory_kib * u64::from(p) <= MAX_WORK_KIB;
        let params = scrypt::Params::new(u8::try_from(log_n).ok()?, r, p).ok().filter(|_| fits)?;
        Some(Self { params, memory_kib: u32::try_from(memory_kib).ok()? })
    }

    fn compute(
        &self,
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
        memory: &mut HashMemory,
    ) -> Result<(), ForeignHashError> {
        memory.yield_to(self.memory_kib)?;
        scrypt::scrypt(password, salt, &self.params, out).map_err(|_| ForeignHashError::Failed)
    }
}

#[derive(Clone)]
pub(super) struct Scrypt {
    cost: Cost,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl Scrypt {
    /// What follows `$scrypt$`.
    pub(super) fn parse(rest: &str) -> Result<Self, ForeignHashError> {
        let malformed = ForeignHashError::Malformed("scrypt");
        let [cost, salt, hash] = fields(rest).ok_or(malformed)?;
        let cost = Cost::parse(cost, "scrypt")?;
        let (salt, hash) = bytes(salt).zip(bytes(hash)).ok_or(malformed)?;
        Self::new(cost, salt, hash)
    }

    /// What follows `scrypt$`: `N$salt$r$p$hash`; the salt is not encoded.
    pub(super) fn parse_django(rest: &str) -> Result<Self, ForeignHashError> {
        let malformed = ForeignHashError::Malformed("scrypt");
        let [n, salt, r, p, hash] = fields(rest).ok_or(malformed)?;
        let (n, r, p) =
            (decimal(n).ok_or(malformed)?, decimal(r).ok_or(malformed)?, decimal(p).ok_or(malformed)?);
        let hash = bytes(hash).ok_or(malformed)?;
        let cost = n.is_power_of_two().then(|| Cost::new(n.trailing_zeros(), r, p)).flatten();
        Self::new(cost.ok_or(ForeignHashError::OutOfBounds("scrypt"))?, salt.as_bytes().to_vec(), hash)
    }

    fn new(cost: Cost, salt: Vec<u8>, hash: Vec<u8>) -> Result<Self, ForeignHashError> {
        let fits = HASH.contains(&hash.len()) && salt.len() <= MAX_SALT;
        if fits { Ok(Self { cost, salt, hash }) } else { Err(ForeignHashError::OutOfBounds("scrypt")) }
    }

    pub(super) const fn memory_kib(&self) -> u32 {
        self.cost.memory_kib
    }

    pub(super) fn matches(&self, password: &[u8], memory: &mut HashMemory) -> Result<bool, ForeignHashError> {
        let mut computed = Zeroizing::new(vec![0; self.hash.len()]);
        self.cost.compute(password, &self.salt, &mut computed, memory)?;
        Ok(same_bytes(&computed, &self.hash))
    }
}

/// The key of the project, encrypted (AES-256-CTR, from a counter of 0) with what scrypt makes of the password.
#[derive(Clone)]
pub(super) struct FirebaseScrypt {
    cost: Cost,
    /// The salt and the separator of the project.
    salt: Vec<u8>,
    hash: Vec<u8>,
    signer_key: Vec<u8>,
}

impl FirebaseScrypt {
    /// What follows `$firescrypt$`. Firebase exports salts and hashes in the base64 of URLs, and shows the rest in the other.
    pub(super) fn parse(rest: &str) -> Result<Self, ForeignHashError> {
        let malformed = ForeignHashError::Malformed("firescrypt");
        let [cost, salt, hash, separator, signer_key] = fields(rest).ok_or(malformed)?;
        let cost = Cost::parse(cost, "firescrypt")?;
        let (salt, separator) = web_bytes(salt).zip(web_bytes(separator)).ok_or(malformed)?;
        let (hash, signer_key) = web_bytes(hash).zip(web_bytes(signer_key)).ok_or(malformed)?;
        let has_salt = !salt.is_empty();
        let salt = [salt, separator].concat();
        let fits = SIGNER_KEY.contains(&signer_key.len()) && salt.len() <= MAX_SALT;
        if fits && hash.len() == signer_key.len() {
            Ok(Self { cost, salt, hash, signer_key })
        } else if fits && !has_salt {
            Err(ForeignHashError::NoSalt("firescrypt"))
        } else {
            Err(ForeignHashError::OutOfBounds("firescrypt"))
        }
    }

    pub(super) const fn memory_kib(&self) -> u32 {
        self.cost.memory_kib
    }

    pub(super) fn matches(&self, password: &[u8], memory: &mut HashMemory) -> Result<bool, ForeignHashError> {
        let mut key = Zeroizing::new([0; 32]);
        self.cost.compute(password, &self.salt, key.as_mut(), memory)?;
        let encrypted = encrypt(&key, &self.signer_key).ok_or(ForeignHashError::Failed)?;
        Ok(same_bytes(&encrypted, &self.hash))
    }
}

fn encrypt(key: &[u8; 32], plain: &[u8]) -> Option<Vec<u8>> {
    let key = EncryptingKey::ctr(UnboundCipherKey::new(&AES_256, key).ok()?).ok()?;
    let mut buffer = plain.to_vec();
    // The counter is what Firebase chose; the result is compared and thrown away.
    key.less_safe_encrypt(&mut buffer, EncryptionContext::Iv128(FixedLength::from([0; 16]))).ok()?;
    Some(buffer)
}
