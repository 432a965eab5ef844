//! The only crate that names a cryptography library.
//!
//! [`aead`]: sealed values. [`digest`]: hashes and keyed hashes. [`jwk`], [`jws`], [`jwe`]: keys, signatures,
//! encryption to a public key. [`certificate`]: what TLS clients present.
//! //! [`password_hash`], [`secret_hash`]: passwords and client secrets. [`hash_pool`]: where slow hashes run.

pub mod aead;
pub mod certificate;
pub mod digest;
pub mod hash_pool;
pub mod jwe;
pub mod jwk;
pub mod jws;
pub mod password_hash;
pub mod secret_hash;

pub use aead::{OpenError, Purpose, Sealer, SystemSecret};
