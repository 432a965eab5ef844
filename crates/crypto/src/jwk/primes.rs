//! What an RSA key that names its primes may leave out, as Hydra 1.x and go-jose did: only `d` must be there (RFC 7518 §6.3.2), and the rest
//! follows from it (RFC 8017 §3.2).

use crypto_bigint::{BoxedUint, NonZero, Odd};
use zeroize::Zeroizing;

use super::member::{PrivateMember, decode_private};
use super::{Jwk, JwkError, RSA_MODULUS};

/// A number that is secret.
type Number = Zeroizing<BoxedUint>;

impl Jwk {
    /// The key, with `dp`, `dq` and `qi` where it names its primes and leaves these out; what it has is as it was. A key without both primes, or
    /// of a size that is not used here, is as it was altogether.
    ///
    /// # Errors
    /// [`JwkError`] if they do not follow from its members.
    pub fn completed(self) -> Result<Self, JwkError> {
        let is_whole = self.dp.is_some() && self.dq.is_some() && self.qi.is_some();
        let names_primes = self.kty == "RSA" && self.p.is_some() && self.q.is_some();
        if is_whole || !names_primes || self.rsa_public().is_err() {
            return Ok(self);
        }
        let (d, p, q) =
            (number("d", self.d.as_ref())?, number("p", self.p.as_ref())?, number("q", self.q.as_ref())?);
        let dp = self.dp.clone().map_or_else(|| exponent(&d, &p), Ok)?;
        let dq = self.dq.clone().map_or_else(|| exponent(&d, &q), Ok)?;
        let qi = self.qi.clone().map_or_else(|| coefficient(&p, &q), Ok)?;
        Ok(Self { dp: Some(dp), dq: Some(dq), qi: Some(qi), ..self })
    }
}

/// A private member as a number. All have room for as much, so that how long this takes says little of them.
fn number(name: &'static str, member: Option<&PrivateMember>) -> Result<Number, JwkError> {
    let bytes = decode_private(name, member)?;
    let room = u32::try_from(8 * *RSA_MODULUS.end()).unwrap_or(u32::MAX);
    let read = BoxedUint::from_be_slice(&bytes, room).map_err(|_| JwkError::MalformedMember(name))?;
    Ok(Zeroizing::new(read))
}

/// The private exponent for one of the primes: `d` modulo that less one.
fn exponent(d: &Number, prime: &Number) -> Result<PrivateMember, JwkError> {
    let less_one = prime.wrapping_sub(BoxedUint::one());
    let less_one = NonZero::new(less_one).into_option().ok_or(JwkError::Invalid)?;
    Ok(written(d.rem(&less_one)))
}

/// What undoes a multiplication with the second prime modulo the first.
fn coefficient(p: &Number, q: &Number) -> Result<PrivateMember, JwkError> {
    let p = Odd::new(BoxedUint::clone(p)).into_option().ok_or(JwkError::Invalid)?;
    let q = Zeroizing::new(q.rem(p.as_nz_ref()));
    q.invert_odd_mod(&p).into_option().map(written).ok_or(JwkError::Invalid)
}

fn written(number: BoxedUint) -> PrivateMember {
    let number = Zeroizing::new(number);
    PrivateMember::encode(&Zeroizing::new(number.to_be_bytes_trimmed_vartime().into_vec()))
}
