//! DPoP (RFC 9449): a client proves with each request that it holds a key, and tokens are bound to that key.
//!
//! `DpopVerifier`: the checks in their order. `proof`: what a proof says. `target`: addresses, compared. `nonce`: nonces of
//! this server. `memory`: proofs that this node has seen. `error`: refusals.
//!
//! What is bound to a proven key is for [`crate::sender_constraint`] to say.

mod error;
mod memory;
mod nonce;
mod proof;
mod target;
mod verifier;

pub use error::DpopError;
pub use proof::ALGORITHMS;
pub(crate) use verifier::{DpopVerifier, Occasion, Unspent};
