//! Trust in issuers whose assertions are exchanged for access tokens (RFC 7523).
//!
//! [`repository`]: whom an administrator trusts, with which key and for which subjects. [`service`]: how that is changed;
//! [`key_sets`]: by its keys. [`assertion`]: what a trusted issuer says.

pub mod assertion;
pub mod key_sets;
pub mod repository;
pub mod service;

pub use assertion::{Assertion, AssertionRefused, TrustedAssertions};
pub use key_sets::KeySets;
pub use repository::{TrustedIssuer, TrustedIssuerRepository};
pub(crate) use service::checked;
pub use service::{ListTrusted, NewTrust, TrustError, TrustPage, TrustService};
pub use sluice_crypto::jwk::Jwk;
pub use sluice_primitives::TrustId;
