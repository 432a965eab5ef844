//! Signing keys, and those that request objects are encrypted with.
//!
//! [`ring`]: the keys that this server uses, in memory; `loaded` is one reading of them, `published` what all may read of it, `encryption`
//! those that are not for signatures. [`rotation`]: how signing keys come and go; `life` says by times alone where one is, `removal`
//! deletes them. [`service`]: what an administrator may do with key sets; `shown` tells that he read them; `silent` of a key that he brings along and that does not
//! sign; `on_demand` rotates at his word. `at_rest`: how keys are sealed; [`reseal`]: with another secret; `abandon`: what is done if there is none any
//! more. [`repository`]: stored keys.

mod abandon;
mod at_rest;
mod encryption;
#[cfg(test)]
pub(crate) mod fake;
mod id_token_hint;
mod life;
mod loaded;
mod maker;
mod on_demand;
mod published;
mod removal;
pub mod repository;
pub mod reseal;
pub mod ring;
pub mod rotation;
pub mod service;
mod shown;
mod signing_keys;
mod silent;

pub use at_rest::KeyError;
pub use encryption::{REQUEST_OBJECT_ALGORITHMS, REQUEST_OBJECT_SET};
pub use id_token_hint::{IdTokenHint, NoHint};
pub use maker::{KeyMaker, NewKeys};
pub use on_demand::{KeyStatus, Rotate};
pub use repository::{KeyRepository, KeyState, StoredKey};
pub use reseal::{Resealed, SealedKeys};
pub use ring::{ACCESS_TOKEN_SET, DefaultAlgorithms, ID_TOKEN_SET, KeyRing, RingOptions};
pub use rotation::{JWKS_MAX_AGE, KeyRotation, Rotated, RotationPolicy, RotationPolicyError};
pub use service::{KeyService, KeyServiceError, NewKey};
pub use signing_keys::SigningKeys;
