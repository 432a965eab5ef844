//! The only crate that names a cryptography library.
//!
//! [`aead`]: sealed values. [`digest`]: hashes and keyed hashes. [`jwk`], [`jws`]: keys, signatures.
//! [`password_hash`], [`secret_hash`]: passwords and client secrets. [`hash_pool`]: where slow hashes run.

pub mod aead;
pub mod digest;
pub mod hash_pool;
pub mod jwk;
pub mod jws;
pub mod password_hash;
pub mod secret_hash;

pub use aead::{OpenError, Purpose, Sealer, SystemSecret};
