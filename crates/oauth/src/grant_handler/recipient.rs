//! To whom the id token of a grant is encrypted. Asked before the grant is redeemed or refreshed, as there is no way back.

use sluice_primitives::GrantId;

use super::{TokenError, TokenService};
use crate::client::Client;
use crate::issuing::encrypt::Recipient;

impl TokenService {
    /// The key that the id token of a grant is encrypted to, if its client wants that. Only where it cannot be had the grant's
    /// row is read, which says whether there is an id token at all.
    pub(super) async fn recipient(
        &self,
        client: &Client,
        grant: GrantId,
    ) -> Result<Option<Recipient>, TokenError> {
        let why = match self.issuer.id_token_recipient(client).await {
            Ok(recipient) => return Ok(recipient),
            Err(why) => why,
        };
        match self.grants.find(grant).await? {
            Some(grant) if !grant.scope.contains("openid") => Ok(None),
            _ => Err(why.into()),
        }
    }
}
