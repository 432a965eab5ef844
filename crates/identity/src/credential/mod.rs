//! What people prove themselves with.
//!
//! [`password`]: a password as typed, normalised. [`hasher`]: Argon2id in the bounded pool.

pub mod hasher;
pub mod password;

pub use hasher::{PasswordHasher, Verified};
pub use password::Password;
