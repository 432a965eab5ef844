//! A token taken apart, strictly (RFC 7515 §5.2, RFC 8725 §3).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::jwk::member::is_present;

/// A longer token is refused unread, in bytes.
pub const MAX_TOKEN: usize = 16 * 1024;

/// Why a token was refused. Tells nothing about its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// Longer than [`MAX_TOKEN`].
    #[error("the token is too long")]
    TooLong,
    /// Not three parts of unpadded base64url, or no JSON object where one must be.
    #[error("not a compact JWS")]
    Malformed,
    /// The header has a `crit` member: no extension is understood here (RFC 7515 §4.1.11).
    #[error("the token asks for an extension that is not understood")]
    CriticalHeader,
    /// The header names `none`, an unknown algorithm, or one that was not allowed.
    #[error("the token is signed with an algorithm that is not allowed")]
    AlgorithmNotAllowed,
    /// No key has the token's `kid` and algorithm. Fetching the keys again may help.
    #[error("the token is signed with a key that is not known")]
    UnknownKey,
    /// No key that could have made the signature did.
    #[error("the signature of the token is wrong")]
    WrongSignature,
    /// `typ` is not what the token must be.
    #[error("the token is of another type")]
    WrongType,
    /// The header must bring a public key and brings none, or one that cannot be used.
    #[error("the token brings no usable public key")]
    UnusableKey,
}

/// The members of a header that count. `jku`, `x5u` and `x5c` do not, and `jwk` does in a proof of possession only
/// ([`super::verify_with_embedded_key`]): no other token brings its own key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Header {
    /// The algorithm, as written.
    pub alg: String,
    /// The name of the key.
    #[serde(default)]
    pub kid: Option<String>,
    /// What kind of token it says it is.
    #[serde(default)]
    pub typ: Option<String>,
    #[serde(default, rename = "crit", deserialize_with = "is_present")]
    critical: bool,
}

/// A token whose signature is right.
#[derive(Debug, Clone)]
pub struct VerifiedJws {
    /// The header.
    pub header: Header,
    /// The payload, byte for byte.
    pub payload: Vec<u8>,
}

impl VerifiedJws {
    /// The payload as JSON.
    ///
    /// # Errors
    /// [`VerifyError::Malformed`] if it is not what is expected.
    pub fn claims<T: DeserializeOwned>(&self) -> Result<T, VerifyError> {
        serde_json::from_slice(&self.payload).map_err(|_| VerifyError::Malformed)
    }
}

/// What a token says before anything was checked: good for finding out whose key to check it with, for nothing else.
#[derive(Debug, Clone)]
pub struct UnverifiedJws {
    /// The header.
    pub header: Header,
    payload: Vec<u8>,
}

impl UnverifiedJws {
    /// The payload as JSON. Nobody vouches for it.
    ///
    /// # Errors
    /// [`VerifyError::Malformed`] if it is not what is expected.
    pub fn unverified_claims<T: DeserializeOwned>(&self) -> Result<T, VerifyError> {
        serde_json::from_slice(&self.payload).map_err(|_| VerifyError::Malformed)
    }

    /// `iss`, if there is one. Nobody vouches for it.
    pub fn unverified_issuer(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Claimed {
            iss: String,
        }
        self.unverified_claims::<Claimed>().ok().map(|claimed| claimed.iss)
    }
}

/// Reads a token without checking its signature; everything else is as strict as in [`super::verify()`].
///
/// # Errors
/// [`VerifyError::TooLong`], [`VerifyError::Malformed`] or [`VerifyError::CriticalHeader`].
pub fn unverified_parts(token: &str) -> Result<UnverifiedJws, VerifyError> {
    let parts = Parts::of(token)?;
    Ok(UnverifiedJws { payload: parts.payload()?, header: parts.header })
}

/// A token taken apart. The payload is still encoded: it is decoded when the signature is known to be right.
pub(super) struct Parts<'a> {
    pub(super) header: Header,
    pub(super) signed: &'a str,
    pub(super) signature: Vec<u8>,
    /// The header again, decoded, for those who want more of it.
    pub(super) header_json: Vec<u8>,
    payload: &'a str,
}

impl<'a> Parts<'a> {
    pub(super) fn of(token: &'a str) -> Result<Self, VerifyError> {
        if token.len() > MAX_TOKEN {
            return Err(VerifyError::TooLong);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(VerifyError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(VerifyError::Malformed)?;
        if payload.contains('.') {
            return Err(VerifyError::Malformed);
        }
        let header_json = decode(header)?;
        let header: Header = serde_json::from_slice(&header_json).map_err(|_| VerifyError::Malformed)?;
        if header.critical {
            return Err(VerifyError::CriticalHeader);
        }
        Ok(Self { header, signed, signature: decode(signature)?, header_json, payload })
    }

    pub(super) fn payload(&self) -> Result<Vec<u8>, VerifyError> {
        decode(self.payload)
    }

    pub(super) fn verified(self) -> Result<VerifiedJws, VerifyError> {
        Ok(VerifiedJws { payload: self.payload()?, header: self.header })
    }
}

fn decode(part: &str) -> Result<Vec<u8>, VerifyError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| VerifyError::Malformed)
}
