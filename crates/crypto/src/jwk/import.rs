//! Keys from PEM and DER: PKCS#8 (RFC 5958), PKCS#1 (RFC 8017 §A.1), SEC 1 (RFC 5915) and SPKI (RFC 5280 §4.1).
//!
//! Of a certificate (RFC 5280) the public key is taken. Encrypted keys are not read.

use aws_lc_rs::encoding::AsBigEndian;
use aws_lc_rs::signature::{EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pkcs1::{RsaPrivateKeyRef, RsaPublicKeyRef};
use pkcs8::der::SecretDocument;
use pkcs8::{ObjectIdentifier, PrivateKeyInfoRef, SubjectPublicKeyInfoRef};
use sec1::EcPrivateKey;

use super::{Curve, Jwk, JwkError, PrivateMember};
use crate::certificate::ClientCertificate;

/// `id-Ed25519` (RFC 8410 §3).
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

impl Jwk {
    /// The key in a PEM text: `PRIVATE KEY`, `RSA PRIVATE KEY`, `EC PRIVATE KEY`, `PUBLIC KEY`, `RSA PUBLIC
    /// KEY` or `CERTIFICATE`. It has no `kid`, and no `alg` unless its curve tells; from a certificate it has `x5c` and
    /// `x5t#S256`.
    ///
    /// # Errors
    /// [`JwkError`] if there is no such key.
    pub fn from_pem(pem: &str) -> Result<Self, JwkError> {
        let (label, der) = SecretDocument::from_pem(pem).map_err(|_| JwkError::NotPem)?;
        let der = der.as_bytes();
        match label {
            "PRIVATE KEY" => Self::from_pkcs8(der),
            "RSA PRIVATE KEY" => from_pkcs1(der),
            "EC PRIVATE KEY" => from_sec1(der),
            "PUBLIC KEY" => Self::from_spki(der),
            "RSA PUBLIC KEY" => from_pkcs1_public(der),
            "CERTIFICATE" => ClientCertificate::from_der(der).map_err(|_| JwkError::Invalid)?.to_jwk(),
            _ => Err(JwkError::NotPem),
        }
    }

    /// The private key in an unencrypted PKCS#8 structure.
    ///
    /// # Errors
    /// [`JwkError`] if there is no RSA, ECDSA or Ed25519 key in it.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, JwkError> {
        let info = PrivateKeyInfoRef::try_from(der).map_err(|_| JwkError::Invalid)?;
        let (algorithm, parameters) = info.algorithm.oids().map_err(|_| JwkError::UnknownKeyType)?;
        match algorithm {
            pkcs1::ALGORITHM_OID => from_pkcs1(info.private_key.as_bytes()),
            sec1::ALGORITHM_OID => {
                let curve = parameters.as_ref().and_then(Curve::with_oid).ok_or(JwkError::UnknownKeyType)?;
                let pair = EcdsaKeyPair::from_pkcs8(curve.signing(), der).map_err(|_| JwkError::Invalid)?;
                from_ecdsa(curve, &pair)
            }
            ED25519 => from_ed25519(&Ed25519KeyPair::from_pkcs8(der).map_err(|_| JwkError::Invalid)?),
            _ => Err(JwkError::UnknownKeyType),
        }
    }

    /// The public key in a `SubjectPublicKeyInfo`. A point must be uncompressed.
    ///
    /// # Errors
    /// [`JwkError`] if there is no RSA, ECDSA or Ed25519 key in it.
    pub fn from_spki(der: &[u8]) -> Result<Self, JwkError> {
        let info = SubjectPublicKeyInfoRef::try_from(der).map_err(|_| JwkError::Invalid)?;
        let (algorithm, parameters) = info.algorithm.oids().map_err(|_| JwkError::UnknownKeyType)?;
        let key = info.subject_public_key.as_bytes().ok_or(JwkError::Invalid)?;
        match algorithm {
            pkcs1::ALGORITHM_OID => from_pkcs1_public(key),
            sec1::ALGORITHM_OID => {
                let curve = parameters.as_ref().and_then(Curve::with_oid).ok_or(JwkError::UnknownKeyType)?;
                from_point(curve, key)
            }
            ED25519 if key.len() == 32 => Ok(octet_pair(key)),
            _ => Err(JwkError::UnknownKeyType),
        }
    }
}

fn from_pkcs1(der: &[u8]) -> Result<Jwk, JwkError> {
    let key = RsaPrivateKeyRef::try_from(der).map_err(|_| JwkError::Invalid)?;
    if key.other_prime_infos.is_some() {
        return Err(JwkError::UnknownKeyType);
    }
    let private = |bytes: &[u8]| Some(PrivateMember::encode(bytes));
    Ok(Jwk {
        d: private(key.private_exponent.as_bytes()),
        p: private(key.prime1.as_bytes()),
        q: private(key.prime2.as_bytes()),
        dp: private(key.exponent1.as_bytes()),
        dq: private(key.exponent2.as_bytes()),
        qi: private(key.coefficient.as_bytes()),
        ..rsa(key.modulus.as_bytes(), key.public_exponent.as_bytes())
    })
}

fn from_pkcs1_public(der: &[u8]) -> Result<Jwk, JwkError> {
    let key = RsaPublicKeyRef::try_from(der).map_err(|_| JwkError::Invalid)?;
    Ok(rsa(key.modulus.as_bytes(), key.public_exponent.as_bytes()))
}

fn rsa(modulus: &[u8], exponent: &[u8]) -> Jwk {
    let (n, e) = (Some(URL_SAFE_NO_PAD.encode(modulus)), Some(URL_SAFE_NO_PAD.encode(exponent)));
    Jwk { kty: "RSA".to_owned(), n, e, ..Jwk::default() }
}

fn from_sec1(der: &[u8]) -> Result<Jwk, JwkError> {
    let key = EcPrivateKey::try_from(der).map_err(|_| JwkError::Invalid)?;
    let oid = key.parameters.and_then(sec1::EcParameters::named_curve);
    let curve = oid.as_ref().and_then(Curve::with_oid).ok_or(JwkError::UnknownKeyType)?;
    let pair = EcdsaKeyPair::from_private_key_der(curve.signing(), der).map_err(|_| JwkError::Invalid)?;
    from_ecdsa(curve, &pair)
}

fn from_ecdsa(curve: Curve, pair: &EcdsaKeyPair) -> Result<Jwk, JwkError> {
    let scalar = pair.private_key().as_be_bytes().map_err(|_| JwkError::Invalid)?;
    let public = from_point(curve, pair.public_key().as_ref())?;
    Ok(Jwk { d: Some(PrivateMember::encode(scalar.as_ref())), ..public })
}

fn from_point(curve: Curve, point: &[u8]) -> Result<Jwk, JwkError> {
    let Some((4, coordinates)) = point.split_first() else { return Err(JwkError::Invalid) };
    let (x, y) = coordinates.split_at_checked(curve.width()).ok_or(JwkError::Invalid)?;
    if y.len() != curve.width() {
        return Err(JwkError::Invalid);
    }
    Ok(Jwk {
        kty: "EC".to_owned(),
        crv: Some(curve.name().to_owned()),
        alg: Some(curve.algorithm().as_str().to_owned()),
        x: Some(URL_SAFE_NO_PAD.encode(x)),
        y: Some(URL_SAFE_NO_PAD.encode(y)),
        ..Jwk::default()
    })
}

fn from_ed25519(pair: &Ed25519KeyPair) -> Result<Jwk, JwkError> {
    let seed = pair.seed().and_then(|seed| seed.as_be_bytes()).map_err(|_| JwkError::Invalid)?;
    let public = octet_pair(pair.public_key().as_ref());
    Ok(Jwk { d: Some(PrivateMember::encode(seed.as_ref())), ..public })
}

fn octet_pair(public: &[u8]) -> Jwk {
    Jwk {
        kty: "OKP".to_owned(),
        crv: Some("Ed25519".to_owned()),
        alg: Some("EdDSA".to_owned()),
        x: Some(URL_SAFE_NO_PAD.encode(public)),
        ..Jwk::default()
    }
}
