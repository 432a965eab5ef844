//! Which key the tokens of a request are bound to: DPoP (RFC 9449 §5) or the client's certificate (RFC 8705 §3).

use sluice_primitives::Timestamp;
use sluice_token::Confirmation;

use crate::caller::Caller;
use crate::client::Client;
use crate::grant_handler::TokenError;

/// Binds tokens to keys.
#[derive(Debug, Default)]
pub struct SenderConstraint;

impl SenderConstraint {
    /// The key that the tokens of this request are bound to.
    ///
    /// # Errors
    /// [`TokenError`] if a proof does not hold, or the client must bind and does not.
    pub async fn of(
        &self,
        _client: &Client,
        _caller: &Caller,
        _now: Timestamp,
    ) -> Result<Option<Confirmation>, TokenError> {
        Ok(None)
    }
}
