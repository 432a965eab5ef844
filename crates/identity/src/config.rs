//! What the identity service is told. If a [`Config`] exists, it is right.

use sluice_crypto::password_hash::Argon2Params;

use crate::login::LockoutConfig;

/// What the identity service is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// What a password hash costs; default 64 MiB, 1 pass, 4 lanes. Must fit into what the hash pool allows one hash.
    pub password_hash: Argon2Params,
    /// How guessing is slowed down.
    pub lockout: LockoutConfig,
}
