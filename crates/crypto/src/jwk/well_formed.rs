//! Whether a key is what it says it is. There are libraries that cannot read a set at all if one key in it is not.

use std::ops::RangeInclusive;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::member::{decode_integer, decode_private};
use super::{Jwk, JwkError, MAX_RSA_EXPONENT, MacAlgorithm, SigningAlgorithm};
use crate::jwe::{DecryptionKey, EncryptionKey, KeyManagement};
use crate::jws::{SigningKey, VerifyingKey};

/// RSA keys of other sizes are not used here, in bits.
const RSA_BITS: RangeInclusive<usize> = 2048..=8192;
/// What a certificate begins with in DER: it is a sequence.
const SEQUENCE: u8 = 0x30;

impl Jwk {
    /// Holds the members of an asymmetric key against its type and curve, and those of a private one against each other, whatever it is meant
    /// for. A key may stand this and still be of no use here: an RSA key of another size, or with an `alg` that is not known. Symmetric keys,
    /// and those of types and curves that are not known, are not looked at.
    ///
    /// # Errors
    /// [`JwkError`] says what is wrong.
    pub fn check(&self) -> Result<(), JwkError> {
        // What it is meant for says which parser takes it, and is not asked here.
        let free = Self { key_use: None, key_ops: None, alg: None, ..self.clone() };
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => free.check_rsa()?,
            ("OKP", Some("X25519")) => {
                EncryptionKey::from_jwk(&free)?;
                if free.d.is_some() {
                    DecryptionKey::from_jwk(&free)?;
                }
            }
            ("EC" | "OKP", _) => {
                match VerifyingKey::from_jwk(&free) {
                    Err(JwkError::UnknownKeyType) => return Ok(()),
                    checked => checked?,
                };
                if free.d.is_some() {
                    SigningKey::from_jwk(&free)?;
                }
            }
            _ => return Ok(()),
        }
        if self.x5c.iter().flatten().any(|entry| !is_like_a_certificate(entry)) {
            return Err(JwkError::MalformedMember("x5c"));
        }
        if self.names_another_kind() { Err(JwkError::WrongAlgorithm) } else { Ok(()) }
    }

    /// Private keys need not name their primes (RFC 7518 §6.3.2): nobody signs with one here then.
    fn check_rsa(&self) -> Result<(), JwkError> {
        let (n, e) = (decode_integer("n", self.n.as_ref())?, decode_integer("e", self.e.as_ref())?);
        let is_odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
        if !is_odd(&n) || !is_odd(&e) || e == [1] || e.len() > MAX_RSA_EXPONENT {
            return Err(JwkError::Invalid);
        }
        let primes = [("p", &self.p), ("q", &self.q), ("dp", &self.dp), ("dq", &self.dq), ("qi", &self.qi)];
        let has_primes = primes.iter().any(|(_, member)| member.is_some());
        if RSA_BITS.contains(&bits(&n)) {
            VerifyingKey::from_jwk(self)?;
            if has_primes {
                SigningKey::from_jwk(self)?;
                return Ok(());
            }
        }
        let private = primes.into_iter().chain([("d", &self.d)]);
        for (name, member) in private.filter(|(_, member)| member.is_some()) {
            decode_private(name, member.as_ref())?;
        }
        Ok(())
    }

    /// Whether `alg` names an algorithm that is known, and is not for keys of this type and curve.
    fn names_another_kind(&self) -> bool {
        let Some(named) = self.alg.as_deref() else { return false };
        if named.parse::<SigningAlgorithm>().is_ok() {
            return self.signing_algorithm().is_err();
        }
        if let Ok(management) = named.parse::<KeyManagement>() {
            return management.is_rsa() != (self.kty == "RSA") || self.crv.as_deref() == Some("Ed25519");
        }
        named.parse::<MacAlgorithm>().is_ok()
    }
}

/// How long a number without leading zeros is.
fn bits(number: &[u8]) -> usize {
    let leading = number.first().map_or(0, |first| first.leading_zeros());
    (8 * number.len()).saturating_sub(usize::try_from(leading).unwrap_or(0))
}

/// Whether an entry of `x5c` is base64 (not base64url, RFC 7517 §4.7) of one sequence in DER, to its end.
fn is_like_a_certificate(entry: &str) -> bool {
    let Ok(der) = STANDARD.decode(entry) else { return false };
    let [SEQUENCE, length, rest @ ..] = der.as_slice() else { return false };
    let length = usize::from(*length);
    let Some(size) = length.checked_sub(0x80) else { return rest.len() == length };
    // Four bytes say more than a key may be long.
    if size > 4 {
        return false;
    }
    let Some((size, content)) = rest.split_at_checked(size) else { return false };
    let length = size.iter().fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
    !size.is_empty() && content.len() == length
}
