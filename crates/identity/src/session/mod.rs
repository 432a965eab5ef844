//! Sessions of the identity service: of its API and of the account pages.
//!
//! [`model`]: what a session is. [`repository`]: the atomic steps.

pub mod model;
pub mod repository;

pub use model::IdentitySession;
pub use repository::{IdentitySessionRepository, Rotation, SessionRotation};
