//! The only crate that names a cryptography library.
//!
//! [`aead`]: sealed values. [`digest`]: hashes and keyed hashes. [`jwk`], [`jws`], [`jwe`]: keys, signatures,
//! encryption to a public key. [`paseto`]: the other kind of signed token. [`certificate`]: what TLS clients present.
//!
//! [`credential`]: how passwords are kept. [`password_hash`], [`foreign_hash`], [`secret_hash`]: slow hashes, those of
//! other systems, and those of client secrets. [`hash_pool`]: where slow hashes run. [`totp`]: authenticator apps. [`hydra`]: what a
//! Hydra sealed, for those who come from there.

pub mod aead;
pub mod certificate;
pub mod credential;
pub mod digest;
pub mod foreign_hash;
pub mod hash_pool;
pub mod hydra;
pub mod jwe;
pub mod jwk;
pub mod jws;
pub mod paseto;
pub mod password_hash;
pub mod secret_hash;
pub mod totp;

pub use aead::{OpenError, Purpose, SealedBy, SealedSubkeys, Sealer, SystemSecret, fingerprint};
