//! Proof Key for Code Exchange, method S256 (RFC 7636). A pair for each user, made once: the driver shares the machine.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::driver::Failure;

/// A verifier, and what is told of it beforehand.
#[derive(Clone)]
pub(crate) struct Proof {
    /// 43 characters.
    pub(crate) verifier: String,
    /// The hash of the verifier.
    pub(crate) challenge: String,
}

impl Proof {
    /// Another one.
    pub(crate) fn fresh() -> Result<Self, Failure> {
        let mut random = [0; 32];
        for part in random.chunks_mut(8) {
            let bytes = random_number()?.to_le_bytes();
            part.copy_from_slice(&bytes);
        }
        Ok(Self::of(URL_SAFE_NO_PAD.encode(random)))
    }

    fn of(verifier: String) -> Self {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        Self { verifier, challenge }
    }
}

/// A number that no other run has.
pub(crate) fn random_number() -> Result<u64, Failure> {
    getrandom::u64().map_err(|_| Failure::Setup("the operating system gives no random numbers".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7636_appendix_b_holds() {
        let proof = Proof::of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(proof.challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn verifiers_are_long_enough_and_differ() {
        let (one, other) = (Proof::fresh().unwrap(), Proof::fresh().unwrap());
        assert_eq!(one.verifier.len(), 43);
        assert_ne!(one.verifier, other.verifier);
    }
}
