//! Refresh tokens: sealed grant id and generation. Of use only together with the grant's row.

use sluice_crypto::packed::{Pack, Packed, Unpack};
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::{GrantId, Rng, Timestamp};
use sluice_protocol::ClientId;
use sluice_token::Confirmation;

use crate::grant::Generation;

/// What Hydra puts before its refresh tokens.
pub const PREFIX: &str = "ory_rt_";

/// What a refresh token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshToken {
    /// Its grant.
    pub grant: GrantId,
    /// To whom it was issued.
    pub client: ClientId,
    /// Its place in the chain.
    pub generation: Generation,
    /// Until when it may be used; [`Timestamp::NEVER`] if without end.
    pub expires_at: Timestamp,
    /// The key that must be proven with it: of a public client whose access tokens are bound (RFC 9449 §5, RFC 8705 §7.1).
    pub confirmation: Option<Confirmation>,
}

#[cfg_attr(test, derive(Debug, PartialEq, serde::Serialize, serde::Deserialize))]
struct Wire<'a> {
    grant: [u8; 16],
    client: &'a str,
    generation: u32,
    expires_at: i64,
    confirmation: Option<Confirmation>,
}

impl Pack for Wire<'_> {
    fn pack(&self, to: &mut Vec<u8>) {
        self.grant.pack(to);
        self.client.pack(to);
        self.generation.pack(to);
        self.expires_at.pack(to);
        self.confirmation.pack(to);
    }
}

impl<'a> Unpack<'a> for Wire<'a> {
    fn unpack(from: &mut Packed<'a>) -> Option<Self> {
        Some(Self {
            grant: from.read()?,
            client: from.read()?,
            generation: from.read()?,
            expires_at: from.read()?,
            confirmation: from.read()?,
        })
    }
}

impl RefreshToken {
    /// The token as text.
    pub fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = Wire {
            grant: *self.grant.as_bytes(),
            client: self.client.as_str(),
            generation: self.generation.0,
            expires_at: self.expires_at.as_millis(),
            confirmation: self.confirmation,
        };
        sealer.seal_behind(PREFIX, Purpose::RefreshToken, |to| wire.pack(to), rng)
    }

    /// Reads a presented token; expiry is the caller's to check.
    ///
    /// # Errors
    /// [`OpenError`] for anything that this installation did not issue as a refresh token.
    pub fn open(presented: &str, sealer: &Sealer) -> Result<Self, OpenError> {
        let bytes =
            sealer.open(Purpose::RefreshToken, presented.strip_prefix(PREFIX).unwrap_or(presented))?;
        let wire: Wire<'_> = Packed::new(&bytes).read().ok_or(OpenError::Malformed)?;
        Ok(Self {
            grant: GrantId::from_bytes(wire.grant),
            client: wire.client.parse().map_err(|_| OpenError::Malformed)?,
            generation: Generation(wire.generation),
            expires_at: Timestamp::from_millis(wire.expires_at),
            confirmation: wire.confirmation,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packed_like_postcard::{is_packed_like_postcard, is_read_like_postcard};

    proptest! {
        #[test]
        fn a_token_has_the_form_that_postcard_gives_it(
            (grant, client) in any::<([u8; 16], String)>(),
            (generation, expires_at) in any::<(u32, i64)>(),
            key in any::<Option<(bool, [u8; 32])>>(),
            bits in any::<u8>(),
        ) {
            let confirmation =
                key.map(|(dpop, key)| if dpop { Confirmation::Jkt(key) } else { Confirmation::X5tS256(key) });
            let wire = Wire { grant, client: &client, generation, expires_at, confirmation };
            let mut bytes = is_packed_like_postcard(&wire);
            for place in 0..bytes.len() {
                is_read_like_postcard::<Wire<'_>>(&bytes[..place]);
                bytes[place] ^= bits;
                is_read_like_postcard::<Wire<'_>>(&bytes);
                bytes[place] ^= bits;
            }
        }
    }
}
