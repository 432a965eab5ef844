//! Tokens that prove possession of the key they bring, and nothing else: `DPoP` proofs (RFC 9449 §4.2).

use serde::Deserialize;

use super::read::{Parts, VerifiedJws, VerifyError};
use super::verify::VerifyingKey;
use crate::jwk::member::decode_integer;
use crate::jwk::{Jwk, SigningAlgorithm};

/// The modulus of an embedded RSA key is no longer, in bytes: anybody may send one, and we do the work.
pub const MAX_EMBEDDED_MODULUS: usize = 512;

/// Checks a token with the public key in its own header, and gives that key, without members that do not count. Whoever
/// sent the token holds the private key; who that is, the key does not tell.
///
/// # Errors
/// [`VerifyError`] unless `typ` is exactly this one, the algorithm is `allowed`, and the header has a `jwk` that is public,
/// asymmetric, not too long, and made the signature (RFC 9449 §4.3).
pub fn verify_with_embedded_key(
    token: &str,
    allowed: &[SigningAlgorithm],
    typ: &str,
) -> Result<(VerifiedJws, Jwk), VerifyError> {
    #[derive(Deserialize)]
    struct Embedding {
        jwk: Jwk,
    }
    let parts = Parts::of(token)?;
    if parts.header.typ.as_deref() != Some(typ) {
        return Err(VerifyError::WrongType);
    }
    let algorithm = parts.header.alg.parse().map_err(|_| VerifyError::AlgorithmNotAllowed)?;
    if !allowed.contains(&algorithm) {
        return Err(VerifyError::AlgorithmNotAllowed);
    }
    let Embedding { jwk } =
        serde_json::from_slice(&parts.header_json).map_err(|_| VerifyError::UnusableKey)?;
    let key = usable(&jwk, algorithm).ok_or(VerifyError::UnusableKey)?;
    let key = key.for_algorithm(algorithm).ok_or(VerifyError::UnusableKey)?;
    key.verify_sig(parts.signed.as_bytes(), &parts.signature).map_err(|_| VerifyError::WrongSignature)?;
    Ok((parts.verified()?, bare(jwk)))
}

fn usable(jwk: &Jwk, algorithm: SigningAlgorithm) -> Option<VerifyingKey> {
    let modulus = jwk.n.as_ref().map_or(Ok(Vec::new()), |n| decode_integer("n", Some(n))).ok()?;
    if jwk.is_private() || modulus.len() > MAX_EMBEDDED_MODULUS {
        return None;
    }
    // Bound to the one algorithm, so that it is parsed once.
    let alg = jwk.alg.clone().or_else(|| Some(algorithm.as_str().to_owned()));
    VerifyingKey::from_jwk(&Jwk { alg, ..jwk.clone() }).ok()
}

/// The key without what is said about it.
fn bare(jwk: Jwk) -> Jwk {
    let Jwk { kty, crv, x, y, n, e, .. } = jwk;
    Jwk { kty, crv, x, y, n, e, ..Jwk::default() }
}
