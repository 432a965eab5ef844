//! Whether the tokens of a grant can be made, and to whom its id token is encrypted. Asked before the grant is redeemed or refreshed, as there is no
//! way back.

use sluice_primitives::GrantId;

use super::{TokenError, TokenService};
use crate::client::Client;
use crate::grant::Grant;
use crate::issuing::encrypt::Recipient;

impl TokenService {
    /// The key that the id token of a grant is encrypted to, if its client wants that; with each token that is signed there has to be a key
    /// for that. `may_identify`: whether there may be an id token. Only where a key cannot be had the grant's row is read, which says
    /// whether there is one. Nothing is needed where what is presented is sure to be refused: then redemption or rotation has to tell
    /// theft, and revoke, so nothing may refuse it before.
    pub(super) async fn recipient(
        &self,
        client: &Client,
        (grant, may_identify): (GrantId, bool),
        is_refused: impl FnOnce(&Grant) -> Result<bool, TokenError> + Send,
    ) -> Result<Option<Recipient>, TokenError> {
        let signs = self.issuer.check_access_token_key(client);
        let recipient = if may_identify { self.issuer.id_token_recipient(client).await } else { Ok(None) };
        let (why, is_for_all) = match (signs, recipient) {
            (Ok(()), Ok(recipient)) => return Ok(recipient),
            (Err(why), _) => (why, true),
            (Ok(()), Err(why)) => (why, false),
        };
        let Some(grant) = self.grants.find(grant).await? else { return Err(why.into()) };
        let is_needed = is_for_all || grant.scope.contains("openid");
        if is_refused(&grant)? || !is_needed { Ok(None) } else { Err(why.into()) }
    }
}
