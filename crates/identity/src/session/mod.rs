//! Sessions of the identity service: of its API and of the account pages.
//!
//! [`service`]: how a session begins and goes on; `visit`: in a browser; `ending`: how it ends. [`access_token`], `refresh_token`: what it is
//! shown by. [`terms`]: on what terms it is issued. [`model`]: what a session is. [`repository`]: the atomic steps.

pub mod access_token;
mod ending;
pub mod model;
mod refresh_token;
pub mod repository;
pub mod service;
pub mod terms;
mod visit;

pub use access_token::{AccessTokenKeys, Caller, NoSigningKey, acr_of};
pub use model::IdentitySession;
pub use repository::{IdentitySessionRepository, MAX_SESSIONS, Rotation, SessionRotation};
pub use service::{RefreshOutcome, SessionService, TokenPair, Unauthenticated};
pub use terms::SessionTerms;
