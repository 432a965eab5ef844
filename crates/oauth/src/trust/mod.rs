//! Trust in issuers whose assertions are exchanged for access tokens (RFC 7523).
//!
//! [`repository`]: whom an administrator trusts, with which key and for which subjects.

pub mod repository;

pub use repository::{TrustedIssuer, TrustedIssuerRepository};
