//! DPoP (RFC 9449): a client proves with each request that it holds a key, and tokens are bound to that key.
//!
//! `DpopVerifier`: what the checks of [`sluice_token::dpop`] are told about this server, and where a proof is spent. `seen`: proofs
//! that are remembered. `error`: refusals.
//!
//! What is bound to a proven key is for [`crate::sender_constraint`] to say.

mod error;
mod seen;
mod verifier;

pub use error::DpopError;
pub(crate) use sluice_token::dpop::Proven as Unspent;
pub use sluice_token::dpop::algorithm_names;
pub(crate) use verifier::{DpopVerifier, Occasion};
