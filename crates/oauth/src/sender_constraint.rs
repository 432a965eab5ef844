//! To which key the tokens of a request are bound, and whether who presents one holds it: a DPoP key (RFC 9449) or the
//! client's certificate (RFC 8705 §3).

use std::fmt;
use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::digest::sha256;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{Clock, Rng, Timestamp};
use sluice_protocol::ErrorCode;
use sluice_token::Confirmation;
use sluice_token::dpop::ProofMemory;
use thiserror::Error;

use crate::caller::{Caller, PresentedCertificate};
use crate::client::{Client, SecurityProfile};
use crate::config::Config;
use crate::dpop::{DpopError, DpopVerifier, Occasion, Unspent};
use crate::grant_handler::TokenError;
use crate::replay::ReplayRepository;

/// What the constraint works with.
pub struct SenderConstraintParts {
    /// What it is told.
    pub config: Arc<Config>,
    /// Seals nonces.
    pub sealer: Arc<Sealer>,
    /// Where proofs are spent.
    pub replay: Arc<dyn ReplayRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

/// How an access token was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenScheme {
    /// As a bearer token (RFC 6750 §2).
    Bearer,
    /// With a proof (RFC 9449 §7.1).
    Dpop,
}

/// An access token at one of this server's own resources.
#[derive(Clone, Copy)]
pub struct PresentedToken<'a> {
    /// The token.
    pub token: &'a str,
    /// How it came.
    pub scheme: TokenScheme,
    /// The method of the request.
    pub method: &'a str,
    /// The path of the resource, below the address of this server.
    pub path: &'a str,
    /// What else the request brings.
    pub caller: &'a Caller,
}

impl fmt::Debug for PresentedToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, method, path, .. } = self;
        f.debug_struct("PresentedToken")
            .field("scheme", scheme)
            .field("method", method)
            .field("path", path)
            .finish_non_exhaustive()
    }
}

/// Why an access token is not good in the hands of who presents it.
#[derive(Debug, Clone, Error)]
pub enum NotHolder {
    /// The proof does not hold.
    #[error(transparent)]
    Proof(#[from] DpopError),
    /// A token that is bound to a DPoP key was presented as a bearer token (RFC 9449 §7.2).
    #[error("the access token is bound to a DPoP key and was presented without a proof")]
    Unproven,
    /// A token that is not bound to a DPoP key was presented as if it were.
    #[error("the access token is not bound to a DPoP key")]
    NotBound,
    /// The token is bound to another key.
    #[error("the access token is bound to another key")]
    OtherKey,
    /// The token is bound to a certificate, and another one came, or none (RFC 8705 §3).
    #[error("the access token is bound to a certificate that did not come with it")]
    Certificate,
}

impl NotHolder {
    /// The error value (RFC 9449 §7.1, RFC 8705 §3).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Proof(error) => error.code(),
            Self::Unproven | Self::NotBound | Self::OtherKey | Self::Certificate => ErrorCode::InvalidToken,
        }
    }

    /// The sentence that is said of the error: a token that is bound and comes as a plain one is as good as ever.
    pub fn description(&self) -> &'static str {
        match self {
            Self::Unproven => "The access token is bound to a key: present it with a proof (DPoP).",
            Self::Certificate => {
                "The access token is bound to a certificate: present it over a connection with that certificate."
            }
            Self::Proof(_) | Self::NotBound | Self::OtherKey => self.code().description(),
        }
    }
}

/// What the tokens of a request are bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// The key; none: to nobody.
    pub(crate) confirmation: Option<Confirmation>,
    /// The proof that came with the request: to be spent before anything is given away.
    pub(crate) proof: Option<Unspent>,
}

/// Binds tokens to keys.
pub struct SenderConstraint {
    dpop: DpopVerifier,
    clock: Arc<dyn Clock>,
}

impl SenderConstraint {
    /// A constraint.
    pub fn new(parts: SenderConstraintParts) -> Self {
        let dpop = DpopVerifier::new(parts.config, parts.sealer, parts.rng, parts.replay);
        Self { dpop, clock: parts.clock }
    }

    /// The key that the tokens of this token request are bound to. The client's certificate if it registered that, else the
    /// DPoP key that it proves to hold. Nothing is written.
    ///
    /// # Errors
    /// [`TokenError`] if a proof does not hold, or the client must bind and does not.
    pub(crate) fn of(&self, client: &Client, caller: &Caller, now: Timestamp) -> Result<Bound, TokenError> {
        let occasion = Occasion {
            method: "POST",
            path: "/oauth2/token",
            access_token: None,
            profile: client.security.profile,
            now,
        };
        let proof = self.dpop.proven(&caller.dpop, &occasion)?;
        if client.security.dpop_bound_access_tokens && proof.is_none() {
            return Err(TokenError::ProofMissing);
        }
        let certificate = caller.certificate.as_ref().map(thumbprint);
        if client.security.tls_client_certificate_bound_access_tokens {
            let certificate = certificate.ok_or(TokenError::CertificateMissing)?;
            // Registered for both, it proves both; the key of the proof is the one that goes with each request.
            if !client.security.dpop_bound_access_tokens {
                return Ok(Bound { confirmation: Some(Confirmation::X5tS256(certificate)), proof });
            }
        }
        if client.security.profile.is_fapi() && proof.is_none() {
            return Err(TokenError::ProofMissing);
        }
        Ok(Bound { confirmation: proof.map(|proof| Confirmation::Jkt(proof.key)), proof })
    }

    /// Spends the proof of a token request.
    ///
    /// # Errors
    /// [`DpopError`] if it was presented before.
    pub(crate) async fn spend(&self, proof: Option<Unspent>, now: Timestamp) -> Result<(), DpopError> {
        match proof {
            Some(proof) => self.dpop.spend(&proof, now).await,
            None => Ok(()),
        }
    }

    /// The DPoP key that a request to this endpoint proves to hold, for what is bound to it before there are tokens (RFC 9449
    /// §10.1); none without a proof. The proof of a public client, who may be anybody, leaves no row: each node remembers what
    /// it has seen. To repeat one elsewhere binds a request to a key that only its owner holds.
    ///
    /// # Errors
    /// [`DpopError`] if the proof does not hold.
    pub(crate) async fn proof_key(
        &self,
        client: &Client,
        caller: &Caller,
        (endpoint_path, now): (&str, Timestamp),
    ) -> Result<Option<[u8; 32]>, DpopError> {
        let occasion = Occasion {
            method: "POST",
            path: endpoint_path,
            access_token: None,
            profile: client.security.profile,
            now,
        };
        let Some(proof) = self.dpop.proven(&caller.dpop, &occasion)? else { return Ok(None) };
        if client.is_public() {
            self.dpop.seen().take_of_anybody(&proof, now)?;
        } else {
            self.dpop.spend(&proof, now).await?;
        }
        Ok(Some(proof.key))
    }

    /// Whether who presents an access token that is bound so holds the key.
    ///
    /// # Errors
    /// [`NotHolder`] if not, or if the token came in a way that does not fit.
    pub fn check_holder(
        &self,
        presented: &PresentedToken<'_>,
        confirmation: Option<Confirmation>,
    ) -> Result<(), NotHolder> {
        match (presented.scheme, confirmation) {
            (TokenScheme::Bearer, None) => Ok(()),
            (TokenScheme::Bearer, Some(Confirmation::X5tS256(expected))) => {
                let shown = presented.caller.certificate.as_ref().map(thumbprint);
                let is_it = shown.is_some_and(|shown| same_bytes(&shown, &expected));
                if is_it { Ok(()) } else { Err(NotHolder::Certificate) }
            }
            (TokenScheme::Bearer, Some(Confirmation::Jkt(_))) => Err(NotHolder::Unproven),
            (TokenScheme::Dpop, Some(Confirmation::Jkt(expected))) => {
                let occasion = Occasion {
                    method: presented.method,
                    path: presented.path,
                    access_token: Some(presented.token),
                    profile: SecurityProfile::None,
                    now: self.clock.now(),
                };
                let proof = self.dpop.proven(&presented.caller.dpop, &occasion)?.ok_or(DpopError::Missing)?;
                if !same_bytes(&proof.key, &expected) {
                    return Err(NotHolder::OtherKey);
                }
                // Only now: proofs of keys that anybody can make drive out none of those who hold theirs.
                Ok(self.dpop.seen().take_of_holder(&proof, occasion.now).map_err(DpopError::from)?)
            }
            (TokenScheme::Dpop, None | Some(Confirmation::X5tS256(_))) => Err(NotHolder::NotBound),
        }
    }

    /// The proofs that were seen at resources.
    pub fn seen_proofs(&self) -> &ProofMemory {
        self.dpop.seen().of_holders()
    }

    /// A nonce for the next proof, if proofs must have one (RFC 9449 §8.2).
    pub fn nonce(&self) -> Option<String> {
        self.dpop.nonce(self.clock.now())
    }
}

impl fmt::Debug for SenderConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SenderConstraint").finish_non_exhaustive()
    }
}

/// `x5t#S256` of a certificate (RFC 8705 §3.1).
fn thumbprint(certificate: &PresentedCertificate) -> [u8; 32] {
    sha256(&certificate.leaf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_presented_token_is_not_printed() {
        let (token, caller) = ("a-token-of-somebody", Caller::default());
        let presented = PresentedToken {
            token,
            scheme: TokenScheme::Dpop,
            method: "GET",
            path: "/userinfo",
            caller: &caller,
        };
        let printed = format!("{presented:?}");
        assert!(printed.contains("/userinfo") && !printed.contains(token), "{printed}");
    }
}
