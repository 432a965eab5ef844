//! Refresh tokens: sealed grant id and generation. Of use only together with the grant's row.

use serde::{Deserialize, Serialize};
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::{GrantId, Rng, Timestamp};
use sluice_protocol::ClientId;
use sluice_token::Confirmation;

use crate::grant::Generation;

/// What Hydra puts before its refresh tokens.
pub const PREFIX: &str = "ory_rt_";
/// What most fit into before they are sealed, in bytes.
const USUAL: usize = 192;

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

#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    grant: [u8; 16],
    client: &'a str,
    generation: u32,
    expires_at: i64,
    confirmation: Option<Confirmation>,
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
        let bytes = postcard::to_extend(&wire, Vec::with_capacity(USUAL)).unwrap_or_default();
        [PREFIX, &sealer.seal(Purpose::RefreshToken, &bytes, rng)].concat()
    }

    /// Reads a presented token; expiry is the caller's to check.
    ///
    /// # Errors
    /// [`OpenError`] for anything that this installation did not issue as a refresh token.
    pub fn open(presented: &str, sealer: &Sealer) -> Result<Self, OpenError> {
        let bytes =
            sealer.open(Purpose::RefreshToken, presented.strip_prefix(PREFIX).unwrap_or(presented))?;
        let wire: Wire<'_> = postcard::from_bytes(&bytes).map_err(|_| OpenError::Malformed)?;
        Ok(Self {
            grant: GrantId::from_bytes(wire.grant),
            client: wire.client.parse().map_err(|_| OpenError::Malformed)?,
            generation: Generation(wire.generation),
            expires_at: Timestamp::from_millis(wire.expires_at),
            confirmation: wire.confirmation,
        })
    }
}
