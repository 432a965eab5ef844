//! New keys. Asymmetric ones come from the cryptography library, which draws from its own generator.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{EcdsaKeyPair, Ed25519KeyPair};
use sluice_primitives::Rng;
use zeroize::Zeroizing;

use super::{Curve, Jwk, JwkError, MacAlgorithm, PrivateMember, SigningAlgorithm};
use crate::jwe::KeyManagement;

/// The length of an RSA modulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RsaSize {
    /// 2048 bits, the default: what RFC 7518 §3.3 asks for at least.
    #[default]
    Bits2048,
    /// 3072 bits.
    Bits3072,
    /// 4096 bits.
    Bits4096,
}

impl Jwk {
    /// A new private key, with `use` = `sig`. `rsa` says how long the modulus is and matters for RSA only. An RSA key
    /// takes tens of milliseconds at 2048 bits, most of a second at 4096: not for an async thread.
    ///
    /// # Errors
    /// [`JwkError::NotGenerated`] if the cryptography library fails.
    pub fn generate(algorithm: SigningAlgorithm, kid: String, rsa: RsaSize) -> Result<Self, JwkError> {
        let made = match (algorithm.curve(), algorithm.is_rsa()) {
            (Some(curve), _) => on_curve(curve)?,
            (None, true) => rsa_pair(rsa)?,
            (None, false) => {
                let pair = Ed25519KeyPair::generate().map_err(|_| JwkError::NotGenerated)?;
                let der = pair.to_pkcs8v1().map_err(|_| JwkError::NotGenerated)?;
                Self::from_pkcs8(der.as_ref())?
            }
        };
        let alg = Some(algorithm.as_str().to_owned());
        Ok(Self { kid: Some(kid), alg, key_use: Some("sig".to_owned()), ..made })
    }

    /// A new private key to decrypt with, with `use` = `enc`: RSA, or on P-256. What [`Jwk::generate`] says about `rsa`
    /// holds here too.
    ///
    /// # Errors
    /// [`JwkError::NotGenerated`] if the cryptography library fails.
    pub fn generate_encryption(
        algorithm: KeyManagement,
        kid: String,
        rsa: RsaSize,
    ) -> Result<Self, JwkError> {
        let made = if algorithm.is_rsa() { rsa_pair(rsa)? } else { on_curve(Curve::P256)? };
        let alg = Some(algorithm.as_str().to_owned());
        Ok(Self { kid: Some(kid), alg, key_use: Some("enc".to_owned()), ..made })
    }

    /// A new symmetric key, as long as the hash.
    pub fn generate_symmetric(algorithm: MacAlgorithm, kid: String, rng: &dyn Rng) -> Self {
        let mut bytes = Zeroizing::new(vec![0; algorithm.key_length()]);
        rng.fill(&mut bytes);
        Self {
            kty: "oct".to_owned(),
            kid: Some(kid),
            alg: Some(algorithm.as_str().to_owned()),
            key_use: Some("sig".to_owned()),
            k: Some(PrivateMember::encode(&bytes)),
            ..Self::default()
        }
    }
}

fn on_curve(curve: Curve) -> Result<Jwk, JwkError> {
    let pair = EcdsaKeyPair::generate(curve.signing()).map_err(|_| JwkError::NotGenerated)?;
    let der = pair.to_pkcs8v1().map_err(|_| JwkError::NotGenerated)?;
    Jwk::from_pkcs8(der.as_ref())
}

fn rsa_pair(size: RsaSize) -> Result<Jwk, JwkError> {
    let pair = KeyPair::generate(size.into()).map_err(|_| JwkError::NotGenerated)?;
    let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| JwkError::NotGenerated)?;
    Jwk::from_pkcs8(der.as_ref())
}

impl From<RsaSize> for KeySize {
    fn from(size: RsaSize) -> Self {
        match size {
            RsaSize::Bits2048 => Self::Rsa2048,
            RsaSize::Bits3072 => Self::Rsa3072,
            RsaSize::Bits4096 => Self::Rsa4096,
        }
    }
}
