//! ECDH-ES: agreeing on a key with an ephemeral one (RFC 7518 §4.6, RFC 8037 §3.2).

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::kdf::{SskdfDigestAlgorithmId, get_sskdf_digest_algorithm, sskdf_digest};
use aws_lc_rs::key_wrap::{AES_128, AES_256, AesKek, KeyWrap};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use super::{ContentEncryption, KeyManagement};
use crate::jwk::member::{decode_private, decode_sized};
use crate::jwk::{Curve, Jwk, JwkError};

/// AES key wrap makes a key so much longer, in bytes (RFC 3394 §2.2).
const WRAPPING: usize = 8;

/// A curve that keys can be agreed upon on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgreementCurve {
    Nist(Curve),
    X25519,
}

impl AgreementCurve {
    pub(super) fn of(jwk: &Jwk) -> Result<Self, JwkError> {
        match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("EC", _) => jwk.curve().map(Self::Nist),
            ("OKP", Some("X25519")) => Ok(Self::X25519),
            _ => Err(JwkError::UnknownKeyType),
        }
    }

    const fn algorithm(self) -> &'static agreement::Algorithm {
        match self {
            Self::Nist(Curve::P256) => &agreement::ECDH_P256,
            Self::Nist(Curve::P384) => &agreement::ECDH_P384,
            Self::Nist(Curve::P521) => &agreement::ECDH_P521,
            Self::X25519 => &agreement::X25519,
        }
    }

    /// The public part of a key on this curve, as the library wants it. Whether the point is on the curve is checked
    /// when it is parsed.
    fn public(self, jwk: &Jwk) -> Result<Vec<u8>, JwkError> {
        match self {
            Self::Nist(curve) => jwk.point(curve),
            Self::X25519 => decode_sized("x", jwk.x.as_ref(), 32),
        }
    }

    /// The public part as it is written into a header.
    fn describe(self, public: &[u8]) -> Result<Jwk, Unspecified> {
        let encode = |bytes: &[u8]| Some(URL_SAFE_NO_PAD.encode(bytes));
        match self {
            Self::Nist(curve) => {
                let coordinates = public.strip_prefix(&[4]).ok_or(Unspecified)?;
                let (x, y) = coordinates.split_at_checked(curve.width()).ok_or(Unspecified)?;
                let (kty, crv) = ("EC".to_owned(), Some(curve.name().to_owned()));
                Ok(Jwk { kty, crv, x: encode(x), y: encode(y), ..Jwk::default() })
            }
            Self::X25519 => {
                let (kty, crv) = ("OKP".to_owned(), Some("X25519".to_owned()));
                Ok(Jwk { kty, crv, x: encode(public), ..Jwk::default() })
            }
        }
    }
}

/// The public key of a recipient.
pub(super) struct Recipient {
    curve: AgreementCurve,
    key: agreement::ParsedPublicKey,
}

impl Recipient {
    pub(super) fn from_jwk(jwk: &Jwk) -> Result<Self, JwkError> {
        let curve = AgreementCurve::of(jwk)?;
        let key = UnparsedPublicKey::new(curve.algorithm(), curve.public(jwk)?);
        Ok(Self { curve, key: key.try_into().map_err(|_| JwkError::Invalid)? })
    }

    /// Agrees with a new ephemeral key, which the header must name.
    pub(super) fn agree(
        &self,
        derivation: &Derivation<'_>,
    ) -> Result<(Jwk, Zeroizing<Vec<u8>>), Unspecified> {
        let ephemeral = PrivateKey::generate(self.curve.algorithm())?;
        let described = self.curve.describe(ephemeral.compute_public_key()?.as_ref())?;
        let key = agree(&ephemeral, self.key.clone(), Unspecified, |secret| derivation.derive(secret))?;
        Ok((described, key))
    }
}

/// Our private key.
pub(super) struct AgreementKey {
    curve: AgreementCurve,
    key: PrivateKey,
}

impl AgreementKey {
    pub(super) fn from_jwk(jwk: &Jwk) -> Result<Self, JwkError> {
        let curve = AgreementCurve::of(jwk)?;
        let scalar = decode_private("d", jwk.d.as_ref())?;
        let key = PrivateKey::from_private_key(curve.algorithm(), &scalar)
            .map_err(|_| JwkError::MalformedMember("d"))?;
        let public = key.compute_public_key().map_err(|_| JwkError::Invalid)?;
        if public.as_ref() == curve.public(jwk)? { Ok(Self { curve, key }) } else { Err(JwkError::Invalid) }
    }

    /// Agrees with the ephemeral key of a header. It must be on our curve: a point elsewhere would give away the private
    /// key, bit by bit.
    pub(super) fn agree(
        &self,
        ephemeral: &Jwk,
        derivation: &Derivation<'_>,
    ) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
        if AgreementCurve::of(ephemeral) != Ok(self.curve) {
            return Err(Unspecified);
        }
        let public = self.curve.public(ephemeral).map_err(|_| Unspecified)?;
        let public = UnparsedPublicKey::new(self.curve.algorithm(), public);
        agree(&self.key, public, Unspecified, |secret| derivation.derive(secret))
    }
}

/// What the derived key is for, and who agreed on it.
#[derive(Debug)]
pub(super) struct Derivation<'a> {
    /// `enc` if the derived key encrypts the content, `alg` if it wraps another.
    pub(super) algorithm: &'a str,
    /// In bytes.
    pub(super) length: usize,
    /// `apu`, decoded.
    pub(super) party_u: &'a [u8],
    /// `apv`, decoded.
    pub(super) party_v: &'a [u8],
}

impl<'a> Derivation<'a> {
    pub(super) fn new(management: KeyManagement, encryption: ContentEncryption) -> Self {
        let (algorithm, length) = match management {
            KeyManagement::EcdhEsA128Kw => (management.as_str(), 16),
            KeyManagement::EcdhEsA256Kw => (management.as_str(), 32),
            _ => (encryption.as_str(), encryption.key_length()),
        };
        Self { algorithm, length, party_u: &[], party_v: &[] }
    }

    pub(super) fn between(self, party_u: &'a [u8], party_v: &'a [u8]) -> Self {
        Self { party_u, party_v, ..self }
    }

    /// Concat KDF with SHA-256 (RFC 7518 §4.6.2, NIST SP 800-56A §5.8.1).
    fn derive(&self, secret: &[u8]) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
        let mut info = Vec::new();
        for part in [self.algorithm.as_bytes(), self.party_u, self.party_v] {
            info.extend_from_slice(&u32::try_from(part.len()).map_err(|_| Unspecified)?.to_be_bytes());
            info.extend_from_slice(part);
        }
        let bits = u32::try_from(self.length * 8).map_err(|_| Unspecified)?;
        info.extend_from_slice(&bits.to_be_bytes());
        let digest = get_sskdf_digest_algorithm(SskdfDigestAlgorithmId::Sha256).ok_or(Unspecified)?;
        let mut key = Zeroizing::new(vec![0; self.length]);
        sskdf_digest(digest, secret, &info, &mut key)?;
        Ok(key)
    }
}

/// Wraps a content encryption key (RFC 3394).
pub(super) fn wrap(wrapping_key: &[u8], key: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let mut wrapped = vec![0; key.len() + WRAPPING];
    let length = wrapping(wrapping_key)?.wrap(key, &mut wrapped)?.len();
    wrapped.truncate(length);
    Ok(wrapped)
}

/// Unwraps a content encryption key. What was changed does not unwrap.
pub(super) fn unwrap(wrapping_key: &[u8], wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
    let mut key = Zeroizing::new(vec![0; wrapped.len().checked_sub(WRAPPING).ok_or(Unspecified)?]);
    let length = wrapping(wrapping_key)?.unwrap(wrapped, &mut key)?.len();
    key.truncate(length);
    Ok(key)
}

fn wrapping(key: &[u8]) -> Result<AesKek, Unspecified> {
    AesKek::new(if key.len() == 16 { &AES_128 } else { &AES_256 }, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: &str = r#"{"kty":"EC","crv":"P-256","x":"gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0",
        "y":"SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps","d":"0_NxaRPUMQoAJt50Gz8YiTr8gRTwyEaCumd-MToTmIo"}"#;
    const BOB: &str = r#"{"kty":"EC","crv":"P-256","x":"weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",
        "y":"e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck","d":"VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw"}"#;

    #[test]
    fn both_sides_of_rfc_7518_appendix_c_derive_the_printed_key() {
        let read = |json: &str| serde_json::from_str::<Jwk>(json).unwrap();
        let derivation =
            || Derivation::new(KeyManagement::EcdhEs, ContentEncryption::A128Gcm).between(b"Alice", b"Bob");
        for (own, other) in [(ALICE, BOB), (BOB, ALICE)] {
            let key = AgreementKey::from_jwk(&read(own)).unwrap();
            let derived = key.agree(&read(other).public(), &derivation()).unwrap();
            assert_eq!(URL_SAFE_NO_PAD.encode(&derived), "VqqN6vgjbSBcIijNcacQGg");
        }
    }

    #[test]
    fn a_wrapped_key_is_as_in_rfc_3394() {
        let (kek, key): (Vec<u8>, Vec<u8>) = ((0..16).collect(), (0..16).map(|n| n * 0x11).collect());
        let wrapped = wrap(&kek, &key).unwrap();
        assert_eq!(wrapped[..8], [0x1f, 0xa6, 0x8b, 0x0a, 0x81, 0x12, 0xb4, 0x47]);
        assert_eq!(*unwrap(&kek, &wrapped).unwrap(), key);
        assert!(unwrap(&kek, &wrapped[..23]).is_err());
    }
}
