//! Why a DPoP proof does not hold.

use sluice_commit::StoreError;
use sluice_protocol::ErrorCode;
use sluice_token::dpop::ProofError;
use thiserror::Error;

/// Why a DPoP proof does not hold (RFC 9449 §4.3).
#[derive(Debug, Clone, Error)]
pub enum DpopError {
    /// There is more than one `DPoP` header, or one that is no text.
    #[error("there is more than one DPoP header, or one that is no text")]
    Unclear,
    /// There is no `DPoP` header where one must be.
    #[error("the DPoP header is missing")]
    Missing,
    /// The proof is none, or for another occasion.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DpopError {
    /// The error value (RFC 9449 §5, §8). That no proof can be remembered now is nothing that the client can mend.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Proof(ProofError::Nonce) => ErrorCode::UseDpopNonce,
            Self::Proof(ProofError::NoRoom) => ErrorCode::TemporarilyUnavailable,
            Self::Store(error) if error.is_temporary() => ErrorCode::TemporarilyUnavailable,
            Self::Store(_) => ErrorCode::ServerError,
            _ => ErrorCode::InvalidDpopProof,
        }
    }
}
