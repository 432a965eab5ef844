//! Identities: people's records.
//!
//! [`model`]: what an identity is. [`email`]: what it is found by. [`repository`]: the atomic steps.

pub mod email;
pub mod model;
pub mod repository;

pub use email::{Email, InvalidEmail};
pub use model::{Identity, IdentityStatus, LoginNameHash};
pub use repository::{
    Changed, EndsSessions, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage,
    IdentityRepository, NewCredential, NewEmail, Registration,
};
