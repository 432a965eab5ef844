//! Signing keys.
//!
//! [`ring`]: the keys that this server signs with, in memory; `loaded` is one reading of them. [`service`]: what an
//! administrator may do with key sets. `at_rest`: how keys are sealed. [`repository`]: stored keys.

mod at_rest;
#[cfg(test)]
pub(crate) mod fake;
mod id_token_hint;
mod loaded;
pub mod repository;
pub mod ring;
pub mod service;

pub use at_rest::KeyError;
pub use id_token_hint::IdTokenHint;
pub use repository::{KeyRepository, KeyState, StoredKey};
pub use ring::{ACCESS_TOKEN_SET, ID_TOKEN_SET, KeyRing};
pub use service::{KeyService, KeyServiceError, NewKey};
