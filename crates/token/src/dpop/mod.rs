//! DPoP (RFC 9449): a client proves with each request that it holds a key, and tokens are bound to that key.
//!
//! [`ProofVerifier`]: the checks in their order. [`ProofMemory`]: proofs that this process has seen. `proof`: what a proof
//! says. `target`: addresses, compared. `nonce`: nonces of this server. `error`: refusals.
//!
//! Where a proof is spent for good, and what is bound to a proven key, is for the authorization server to say.

mod error;
mod memory;
mod nonce;
mod proof;
mod target;
mod verifier;

pub use error::ProofError;
pub use memory::ProofMemory;
pub use proof::{ALGORITHMS, algorithm_names};
pub use verifier::{NonceRule, Occasion, ProofVerifier, ProofVerifierParts, Proven};
