//! Why a DPoP proof does not hold.

use sluice_crypto::jws::VerifyError;
use thiserror::Error;

/// Why a DPoP proof does not hold (RFC 9449 §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProofError {
    /// The header is longer than a proof.
    #[error("the DPoP header is too long")]
    TooLong,
    /// It is no JWT of type `dpop+jwt`, or not signed by the key in its header.
    #[error("the DPoP proof: {0}")]
    Signature(#[from] VerifyError),
    /// Claims are missing, or of the wrong type.
    #[error("claims of the DPoP proof are missing or malformed")]
    Claims,
    /// `htm` is another method.
    #[error("`htm` of the DPoP proof is another method")]
    Method,
    /// `htu` is another address.
    #[error("`htu` of the DPoP proof is another address")]
    Target,
    /// `iat` is too old or too far ahead.
    #[error("`iat` of the DPoP proof is too old or too far ahead")]
    NotNow,
    /// `exp` has passed, or `nbf` is ahead.
    #[error("`exp` of the DPoP proof has passed, or `nbf` is ahead")]
    OutOfTime,
    /// There is no nonce, or one that this server did not give or that is too old.
    #[error("the DPoP proof has no nonce that is good")]
    Nonce,
    /// `ath` is the hash of another access token, or missing.
    #[error("`ath` of the DPoP proof is not the hash of the access token")]
    AccessToken,
    /// The proof was presented before.
    #[error("the DPoP proof was presented before")]
    Replayed,
    /// As many proofs as can be remembered are still good: it may be presented again in a while.
    #[error("no more DPoP proofs can be remembered now")]
    NoRoom,
}
