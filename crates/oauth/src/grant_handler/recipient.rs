//! To whom the id token of a grant is encrypted. Asked before the grant is redeemed or refreshed, as there is no way back.

use sluice_primitives::GrantId;

use super::{TokenError, TokenService};
use crate::client::Client;
use crate::grant::Grant;
use crate::issuing::encrypt::Recipient;

impl TokenService {
    /// The key that the id token of a grant is encrypted to, if its client wants that. Only where it cannot be had the grant's
    /// row is read, which says whether there is an id token at all. There is none where what is presented is sure to be refused: then
    /// redemption or rotation has to tell theft, and revoke, so nothing may refuse it before.
    pub(super) async fn recipient(
        &self,
        client: &Client,
        grant: GrantId,
        is_refused: impl FnOnce(&Grant) -> Result<bool, TokenError> + Send,
    ) -> Result<Option<Recipient>, TokenError> {
        let why = match self.issuer.id_token_recipient(client).await {
            Ok(recipient) => return Ok(recipient),
            Err(why) => why,
        };
        let Some(grant) = self.grants.find(grant).await? else { return Err(why.into()) };
        if is_refused(&grant)? || !grant.scope.contains("openid") { Ok(None) } else { Err(why.into()) }
    }
}
