//! Consent: a remembered decision of a user about a client.
//!
//! [`repository`]: how decisions are found and forgotten. They are stored together with the grant they led to.
//! [`service`]: what an administrator may do.

pub mod repository;
pub mod service;

pub use repository::{ConsentRepository, Forget, RememberedConsent};
pub use service::{ConsentPage, ConsentService, InvalidPageToken, Revoke};
