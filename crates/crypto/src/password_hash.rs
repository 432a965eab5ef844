//! Argon2id (RFC 9106) and its strings: `$argon2id$v=19$m=65536,t=1,p=4$salt$hash`. Argon2i is verified where it was
//! imported ([`crate::foreign_hash`]), as is version 16 of both; neither is ever made.
//!
//! [`hash`] and [`verify`] work in a [`HashMemory`] that the caller keeps, so that a hash does not allocate what it
//! needs anew. Both take long: they belong on [`crate::hash_pool`].

use std::hint::black_box;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sluice_primitives::secret::same_bytes;
use thiserror::Error;
use zeroize::Zeroizing;

/// The length of a hash we make, in bytes.
const HASH: usize = 32;
/// What a stored hash and its salt may be long, in bytes.
const STORED_HASH: std::ops::RangeInclusive<usize> = 16..=64;
const STORED_SALT: std::ops::RangeInclusive<usize> = 8..=64;
/// A longer string is no hash, in bytes.
const MAX_STRING: usize = 512;

/// Why no hash came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PasswordHashError {
    /// The string is no Argon2id hash, or of a version or with parameters that are not known.
    #[error("not an Argon2id hash")]
    Malformed,
    /// More memory, passes or lanes than [`Argon2Params`] allows, or too few.
    #[error("the parameters of the hash are out of bounds")]
    OutOfBounds,
    /// More memory than the [`HashMemory`] may hold.
    #[error("the hash needs more memory than is set aside for one")]
    TooMuchMemory,
    /// The system gives no memory for it now.
    #[error("there is no memory for the hash now")]
    NoMemory,
    /// A salt below 8 or above 64 bytes.
    #[error("a salt has 8 to 64 bytes")]
    Salt,
    /// The computation failed.
    #[error("the hash could not be computed")]
    Failed,
}

/// What a hash costs. Always within bounds: 8 KiB for each lane to 1 GiB of memory, 1 to 64 passes, 1 to 64 lanes, and
/// 4 GiB at most over all passes, so that no stored string can keep a core busy for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argon2Params {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl Default for Argon2Params {
    /// 64 MiB, 1 pass, 4 lanes.
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, passes: 1, lanes: 4 }
    }
}

impl Argon2Params {
    /// The most memory, in KiB: 1 GiB.
    pub const MAX_MEMORY_KIB: u32 = 1024 * 1024;
    const MAX_PASSES: u32 = 64;
    const MAX_LANES: u32 = 64;
    /// The most memory times passes, in KiB: 4 GiB.
    pub const MAX_WORK_KIB: u32 = 4 * 1024 * 1024;

    /// What client secrets that somebody chose are hashed with: 19 MiB, 2 passes, 1 lane.
    pub const CLIENT_SECRET: Self = Self { memory_kib: 19 * 1024, passes: 2, lanes: 1 };

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`PasswordHashError::OutOfBounds`] outside the bounds above.
    pub fn new(memory_kib: u32, passes: u32, lanes: u32) -> Result<Self, PasswordHashError> {
        let fits = (1..=Self::MAX_PASSES).contains(&passes)
            && (1..=Self::MAX_LANES).contains(&lanes)
            && (8 * lanes..=Self::MAX_MEMORY_KIB).contains(&memory_kib)
            && u64::from(memory_kib) * u64::from(passes) <= u64::from(Self::MAX_WORK_KIB);
        if fits { Ok(Self { memory_kib, passes, lanes }) } else { Err(PasswordHashError::OutOfBounds) }
    }

    /// The memory, in KiB.
    pub const fn memory_kib(&self) -> u32 {
        self.memory_kib
    }

    /// How often the memory is gone over.
    pub const fn passes(&self) -> u32 {
        self.passes
    }

    /// How many lanes the memory is split into.
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }

    /// `m=65536,t=1,p=4`, in this order, without more.
    fn parse(text: &str) -> Option<Result<Self, PasswordHashError>> {
        let (memory, rest) = text.strip_prefix("m=")?.split_once(",t=")?;
        let (passes, lanes) = rest.split_once(",p=")?;
        Some(Self::new(memory.parse().ok()?, passes.parse().ok()?, lanes.parse().ok()?))
    }
}

/// Memory that hashes are computed in. It grows to what was needed most and stays until [`HashMemory::release`]. What a
/// hash leaves in it is overwritten by the next, not zeroed.
#[derive(Default)]
pub struct HashMemory {
    blocks: Vec<Block>,
    limit_kib: Option<u32>,
    /// How many blocks the system had not for a hash.
    lacked: Option<usize>,
}

impl std::fmt::Debug for HashMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HashMemory").field("held_kib", &self.held_kib()).finish_non_exhaustive()
    }
}

impl HashMemory {
    /// Memory that grows to whatever [`Argon2Params`] allows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory that grows to `limit_kib` at most: a hash that needs more fails.
    pub const fn with_limit(limit_kib: u32) -> Self {
        Self { blocks: Vec::new(), limit_kib: Some(limit_kib), lacked: None }
    }

    /// How much is held now, in KiB.
    pub const fn held_kib(&self) -> usize {
        self.blocks.capacity()
    }

    /// Gives the memory back.
    pub fn release(&mut self) {
        self.blocks = Vec::new();
    }

    /// How many blocks of 1 KiB the system had not for a hash, if it had not since this was last asked.
    pub(crate) const fn lacked(&mut self) -> Option<usize> {
        self.lacked.take()
    }

    /// Makes room for a hash that brings `kib` of memory of its own, and that ends the process if it finds none. Whether there is
    /// some is asked here, a moment before it is taken: of two hashes that ask at once, each may be told of what only one can have.
    pub(crate) fn yield_to(&mut self, kib: u32) -> Result<(), PasswordHashError> {
        let blocks = usize::try_from(kib).unwrap_or(usize::MAX);
        if let Some(limit) = self.limit_kib {
            if kib > limit {
                return Err(PasswordHashError::TooMuchMemory);
            }
            if self.held_kib().saturating_add(blocks) > limit as usize {
                self.release();
            }
        }
        if is_there(blocks) {
            return Ok(());
        }
        self.release();
        if is_there(blocks) { Ok(()) } else { Err(self.lacks(blocks)) }
    }

    /// Notes that the system has not so many blocks now.
    pub(crate) const fn lacks(&mut self, blocks: usize) -> PasswordHashError {
        self.lacked = Some(blocks);
        PasswordHashError::NoMemory
    }

    fn compute(
        &mut self,
        (algorithm, version, params): (Algorithm, Version, Argon2Params),
        password: &[u8],
        salt: &[u8],
        out: &mut [u8],
    ) -> Result<(), PasswordHashError> {
        if self.limit_kib.is_some_and(|limit| params.memory_kib > limit) {
            return Err(PasswordHashError::TooMuchMemory);
        }
        let inner = Params::new(params.memory_kib, params.passes, params.lanes, Some(out.len()))
            .map_err(|_| PasswordHashError::OutOfBounds)?;
        let needed = inner.block_count();
        if self.blocks.len() < needed {
            self.release(); // first: old and new together would be more than the limit
            self.blocks.try_reserve_exact(needed).map_err(|_| self.lacks(needed))?;
            self.blocks.resize(needed, Block::new());
        }
        let blocks = self.blocks.get_mut(..needed).ok_or(PasswordHashError::Failed)?;
        Argon2::new(algorithm, version, inner)
            .hash_password_into_with_memory(password, salt, out, blocks)
            .map_err(|_| PasswordHashError::Failed)
    }
}

/// Whether the system gives memory for so many blocks, of 1 KiB each.
pub(crate) fn is_there(blocks: usize) -> bool {
    let mut room: Vec<Block> = Vec::new();
    let is_given = room.try_reserve_exact(blocks).is_ok();
    // Or the compiler may leave it out: nobody uses the memory.
    black_box(&room);
    is_given
}

/// A stored hash, taken apart and within bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredArgon2 {
    algorithm: Algorithm,
    version: Version,
    params: Argon2Params,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl StoredArgon2 {
    /// Takes a string apart.
    ///
    /// # Errors
    /// [`PasswordHashError::Malformed`] or [`PasswordHashError::OutOfBounds`].
    pub fn parse(phc: &str) -> Result<Self, PasswordHashError> {
        let rest = phc.strip_prefix("$argon2id$v=19$").ok_or(PasswordHashError::Malformed)?;
        Self::parse_rest((Algorithm::Argon2id, Version::V0x13), rest)
    }

    /// Takes a string that others made apart, which may be one of Argon2i too, and of version 16.
    ///
    /// # Errors
    /// As [`StoredArgon2::parse`].
    pub(crate) fn parse_foreign(phc: &str) -> Result<Self, PasswordHashError> {
        let malformed = PasswordHashError::Malformed;
        let (algorithm, rest) = match phc.strip_prefix("$argon2i$") {
            Some(rest) => (Algorithm::Argon2i, rest),
            None => (Algorithm::Argon2id, phc.strip_prefix("$argon2id$").ok_or(malformed)?),
        };
        let (version, rest) = match rest.strip_prefix("v=16$") {
            Some(rest) => (Version::V0x10, rest),
            None => (Version::V0x13, rest.strip_prefix("v=19$").ok_or(malformed)?),
        };
        Self::parse_rest((algorithm, version), rest)
    }

    fn parse_rest((algorithm, version): (Algorithm, Version), rest: &str) -> Result<Self, PasswordHashError> {
        let malformed = PasswordHashError::Malformed;
        if rest.len() > MAX_STRING {
            return Err(malformed);
        }
        let mut fields = rest.split('$');
        let (Some(params), Some(salt), Some(hash), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(malformed);
        };
        let params = Argon2Params::parse(params).ok_or(malformed)??;
        let salt = STANDARD_NO_PAD.decode(salt).map_err(|_| malformed)?;
        let hash = STANDARD_NO_PAD.decode(hash).map_err(|_| malformed)?;
        if !STORED_SALT.contains(&salt.len()) || !STORED_HASH.contains(&hash.len()) {
            return Err(PasswordHashError::OutOfBounds);
        }
        Ok(Self { algorithm, version, params, salt, hash })
    }

    /// What the hash was made with: a login may make it anew when the configuration asks for more.
    pub const fn params(&self) -> Argon2Params {
        self.params
    }

    /// Whether it is Argon2i.
    pub(crate) fn is_argon2i(&self) -> bool {
        self.algorithm == Algorithm::Argon2i
    }

    /// The salt.
    pub(crate) fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// Whether it is the hash of `password`.
    ///
    /// # Errors
    /// [`PasswordHashError::TooMuchMemory`], [`PasswordHashError::NoMemory`], or [`PasswordHashError::Failed`] if the
    /// computation fails.
    pub fn matches(&self, password: &[u8], memory: &mut HashMemory) -> Result<bool, PasswordHashError> {
        let mut computed = Zeroizing::new(vec![0; self.hash.len()]);
        memory.compute((self.algorithm, self.version, self.params), password, &self.salt, &mut computed)?;
        Ok(same_bytes(&computed, &self.hash))
    }
}

/// The hash of `password` as a string. `salt` is random, 16 bytes as a rule.
///
/// # Errors
/// [`PasswordHashError`] if the salt is too short or too long, or the memory too little.
pub fn hash(
    params: Argon2Params,
    password: &[u8],
    salt: &[u8],
    memory: &mut HashMemory,
) -> Result<String, PasswordHashError> {
    if !STORED_SALT.contains(&salt.len()) {
        return Err(PasswordHashError::Salt);
    }
    let mut computed = Zeroizing::new([0; HASH]);
    memory.compute((Algorithm::Argon2id, Version::V0x13, params), password, salt, computed.as_mut())?;
    let Argon2Params { memory_kib, passes, lanes } = params;
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(computed.as_ref()));
    Ok(format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}${hash}"))
}

/// Whether `phc` is the hash of `password`.
///
/// # Errors
/// [`PasswordHashError`] if it is no hash, or out of bounds.
pub fn verify(phc: &str, password: &[u8], memory: &mut HashMemory) -> Result<bool, PasswordHashError> {
    StoredArgon2::parse(phc)?.matches(password, memory)
}
