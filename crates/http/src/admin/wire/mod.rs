//! Hydra's JSON. A promise to others: nothing of it is a domain type.
//!
//! [`client`]: clients. [`client_form`]: clients as they are sent to us. [`lifespans`]: token lifespans, in Go's
//! notation ([`go_duration`]). [`jwks`]: key sets. [`trust`]: trusted issuers. [`identity`]: people, who are not of Hydra. [`flow`]: login, consent and logout requests. [`consent_session`]:
//! what a subject granted.

pub(crate) mod client;
mod client_extensions;
pub(crate) mod client_form;
pub(crate) mod consent_session;
pub(crate) mod flow;
pub(crate) mod go_duration;
pub(crate) mod identity;
pub(crate) mod jwks;
pub(crate) mod lifespans;
pub(crate) mod trust;
