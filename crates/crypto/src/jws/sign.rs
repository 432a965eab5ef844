//! Writing a token: the key is parsed once, the usual headers are encoded once, the token is written into one string.

use std::fmt;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{self, KeyPairComponents, PublicKeyComponents};
use aws_lc_rs::signature::{
    EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
    RSA_PSS_SHA384, RSA_PSS_SHA512, RsaSignatureEncoding,
};
use base64_simd::URL_SAFE_NO_PAD;
use serde::Serialize;
use thiserror::Error;

use super::verify::mac_key;
use crate::jwk::member::{decode_private, decode_sized};
use crate::jwk::{Curve, Jwk, JwkError, MacAlgorithm, SigningAlgorithm};

/// The `typ`s whose header is encoded beforehand; any other works too, for one more allocation.
const USUAL_TYPES: [Option<&str>; 4] = [None, Some("JWT"), Some("at+jwt"), Some("logout+jwt")];

/// The cryptography library made no signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the token could not be signed")]
pub struct SignError;

/// A private key, ready to sign.
pub struct SigningKey {
    algorithm: SigningAlgorithm,
    kid: Option<String>,
    key: PrivateKey,
    /// The encoded headers of [`USUAL_TYPES`], in their order.
    headers: Vec<String>,
}

enum PrivateKey {
    Rsa(Box<rsa::KeyPair>, &'static RsaSignatureEncoding),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// Parses a private key. Its algorithm is `alg`, or what its type and curve imply (RS256 for RSA).
    ///
    /// # Errors
    /// [`JwkError`] if it is no private key for signatures, incomplete, or in contradiction to itself.
    pub fn from_jwk(jwk: &Jwk) -> Result<Self, JwkError> {
        jwk.allows("sign")?;
        let algorithm = jwk.signing_algorithm()?;
        let key = match (algorithm.curve(), rsa_encoding(algorithm)) {
            (Some(curve), _) => PrivateKey::Ecdsa(ecdsa_key(jwk, curve)?),
            (None, Some(encoding)) => PrivateKey::Rsa(Box::new(rsa_key(jwk)?), encoding),
            (None, None) => PrivateKey::Ed25519(ed25519_key(jwk)?),
        };
        let kid = jwk.kid.clone();
        let headers = USUAL_TYPES.iter().map(|typ| encode_header(algorithm.as_str(), kid.as_deref(), *typ));
        let headers = headers.collect::<Result<_, _>>().map_err(|_| JwkError::Invalid)?;
        Ok(Self { algorithm, kid, key, headers })
    }

    /// The algorithm of the signatures.
    pub const fn algorithm(&self) -> SigningAlgorithm {
        self.algorithm
    }

    /// The name that verifiers find the key by.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// Signs `payload_json` into a compact token whose header has this `typ`.
    ///
    /// # Errors
    /// [`SignError`] if the cryptography library fails, which it does for want of memory only.
    pub fn sign(&self, typ: Option<&str>, payload_json: &[u8]) -> Result<String, SignError> {
        let usual = USUAL_TYPES.iter().zip(&self.headers).find(|(known, _)| **known == typ);
        let (mut token, made);
        let header = if let Some((_, header)) = usual {
            header
        } else {
            made = encode_header(self.algorithm.as_str(), self.kid(), typ)?;
            &made
        };
        let length = header.len() + payload_json.len() + self.key.signature_length();
        token = String::with_capacity(length / 3 * 4 + 8);
        token.push_str(header);
        token.push('.');
        URL_SAFE_NO_PAD.encode_append(payload_json, &mut token);
        self.key.append_signature(&mut token)?;
        Ok(token)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (algorithm, kid) = (&self.algorithm, &self.kid);
        f.debug_struct("SigningKey").field("algorithm", algorithm).field("kid", kid).finish_non_exhaustive()
    }
}

impl PrivateKey {
    fn signature_length(&self) -> usize {
        match self {
            Self::Rsa(pair, _) => pair.public_modulus_len(),
            Self::Ecdsa(_) => 2 * Curve::P521.width(),
            Self::Ed25519(_) => 64,
        }
    }

    /// Signs what is in `token` and appends a dot and the signature.
    fn append_signature(&self, token: &mut String) -> Result<(), SignError> {
        let rng = SystemRandom::new();
        match self {
            Self::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(*encoding, &rng, token.as_bytes(), &mut signature).map_err(|_| SignError)?;
                append(token, &signature);
            }
            Self::Ecdsa(pair) => {
                let signature = pair.sign(&rng, token.as_bytes()).map_err(|_| SignError)?;
                append(token, signature.as_ref());
            }
            Self::Ed25519(pair) => {
                let signature = pair.try_sign(token.as_bytes()).map_err(|_| SignError)?;
                append(token, signature.as_ref());
            }
        }
        Ok(())
    }
}

/// Signs `payload_json` with a secret, as [`super::verify_hmac`] checks it.
///
/// # Errors
/// [`SignError`] for an empty secret.
pub fn sign_hmac(
    typ: Option<&str>,
    payload_json: &[u8],
    secret: &[u8],
    algorithm: MacAlgorithm,
) -> Result<String, SignError> {
    if secret.is_empty() {
        return Err(SignError);
    }
    let mut token = encode_header(algorithm.as_str(), None, typ)?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_append(payload_json, &mut token);
    let signature = hmac::sign(&mac_key(algorithm, secret), token.as_bytes());
    append(&mut token, signature.as_ref());
    Ok(token)
}

fn append(token: &mut String, signature: &[u8]) {
    token.push('.');
    URL_SAFE_NO_PAD.encode_append(signature, token);
}

fn encode_header(alg: &str, kid: Option<&str>, typ: Option<&str>) -> Result<String, SignError> {
    #[derive(Serialize)]
    struct Written<'a> {
        alg: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        kid: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        typ: Option<&'a str>,
    }
    let json = serde_json::to_vec(&Written { alg, kid, typ }).map_err(|_| SignError)?;
    Ok(URL_SAFE_NO_PAD.encode_to_string(json))
}

/// The private key of an RSA pair, which must name its primes.
pub(crate) fn rsa_key(jwk: &Jwk) -> Result<rsa::KeyPair, JwkError> {
    // The library would not say that it is for its size.
    let PublicKeyComponents { n, e } = jwk.rsa_public()?;
    let jwk = jwk.clone().completed()?;
    let components = KeyPairComponents {
        public_key: PublicKeyComponents { n: zeroize::Zeroizing::new(n), e: zeroize::Zeroizing::new(e) },
        d: decode_private("d", jwk.d.as_ref())?,
        p: decode_private("p", jwk.p.as_ref())?,
        q: decode_private("q", jwk.q.as_ref())?,
        dP: decode_private("dp", jwk.dp.as_ref())?,
        dQ: decode_private("dq", jwk.dq.as_ref())?,
        qInv: decode_private("qi", jwk.qi.as_ref())?,
    };
    rsa::KeyPair::from_components(&components).map_err(|_| JwkError::Invalid)
}

fn ecdsa_key(jwk: &Jwk, curve: Curve) -> Result<EcdsaKeyPair, JwkError> {
    let scalar = decode_private("d", jwk.d.as_ref())?;
    if scalar.len() != curve.width() {
        return Err(JwkError::MalformedMember("d"));
    }
    EcdsaKeyPair::from_private_key_and_public_key(curve.signing(), &scalar, &jwk.point(curve)?)
        .map_err(|_| JwkError::Invalid)
}

fn ed25519_key(jwk: &Jwk) -> Result<Ed25519KeyPair, JwkError> {
    let seed = decode_private("d", jwk.d.as_ref())?;
    if seed.len() != 32 {
        return Err(JwkError::MalformedMember("d"));
    }
    let public = decode_sized("x", jwk.x.as_ref(), 32)?;
    Ed25519KeyPair::from_seed_and_public_key(&seed, &public).map_err(|_| JwkError::Invalid)
}

fn rsa_encoding(algorithm: SigningAlgorithm) -> Option<&'static RsaSignatureEncoding> {
    match algorithm {
        SigningAlgorithm::RS256 => Some(&RSA_PKCS1_SHA256),
        SigningAlgorithm::RS384 => Some(&RSA_PKCS1_SHA384),
        SigningAlgorithm::RS512 => Some(&RSA_PKCS1_SHA512),
        SigningAlgorithm::PS256 => Some(&RSA_PSS_SHA256),
        SigningAlgorithm::PS384 => Some(&RSA_PSS_SHA384),
        SigningAlgorithm::PS512 => Some(&RSA_PSS_SHA512),
        SigningAlgorithm::ES256
        | SigningAlgorithm::ES384
        | SigningAlgorithm::ES512
        | SigningAlgorithm::EdDSA => None,
    }
}
