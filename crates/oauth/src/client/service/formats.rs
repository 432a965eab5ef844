//! What a registration needs besides the client itself: keys of the algorithms that it wants, and the word of its sector.

use sluice_crypto::jwk::SigningAlgorithm;

use super::{By, ClientService, ClientServiceError, Trust};
use crate::client::model::Client;
use crate::keys::{ACCESS_TOKEN_SET, ID_TOKEN_SET, KeyError, SigningKeys};
use crate::sector;

impl ClientService {
    /// Makes keys of the algorithms that the client wants what it is sent to be signed with.
    pub(super) async fn make_keys_for(&self, client: &Client, by: By) -> Result<(), ClientServiceError> {
        make_keys(&*self.0.keys, client).await?;
        let encrypts = client.formats.request_object_encryption.as_ref();
        // Not for anybody: some libraries read none of the keys where one is for ECDH-ES.
        if by != By::Itself(Trust::Anybody)
            && let Some(algorithm) = encrypts.and_then(|how| how.alg.parse().ok())
        {
            self.0.keys.ensure_for_request_objects(algorithm).await?;
        }
        Ok(())
    }

    /// Asks the sector of a client whether its redirect URIs belong there, unless it was asked that before.
    pub(super) async fn check_sector(
        &self,
        client: &Client,
        stored: Option<&Client>,
    ) -> Result<(), ClientServiceError> {
        let known = stored.is_some_and(|stored| {
            stored.sector_identifier_uri == client.sector_identifier_uri
                && client.redirect_uris.iter().all(|uri| stored.redirect_uris.contains(uri))
        });
        if known { Ok(()) } else { Ok(sector::check(client, &*self.0.sectors).await?) }
    }
}

/// Makes keys of the algorithms that the client wants what it is sent to be signed with.
pub(crate) async fn make_keys(keys: &dyn SigningKeys, client: &Client) -> Result<(), KeyError> {
    for (set, algorithm) in wanted_keys(client) {
        keys.ensure(set, algorithm).await?;
    }
    Ok(())
}

/// The algorithms that the client names, by the set that the key is in. A FAPI 2.0 client's access tokens are signed as its
/// id tokens, unless it says otherwise.
fn wanted_keys(client: &Client) -> Vec<(&'static str, SigningAlgorithm)> {
    let formats = &client.formats;
    let id_tokens = client.id_token_signed_response_alg.as_ref();
    let fapi = id_tokens.filter(|_| client.security.profile.is_fapi());
    let named = [
        (ID_TOKEN_SET, id_tokens),
        (ID_TOKEN_SET, client.userinfo_signed_response_alg.as_ref()),
        (ID_TOKEN_SET, formats.authorization_signing_alg.as_ref()),
        (ID_TOKEN_SET, formats.introspection_signing_alg.as_ref()),
        (ACCESS_TOKEN_SET, formats.access_token_signing_alg.as_ref().or(fapi)),
    ];
    named.into_iter().filter_map(|(set, name)| Some((set, name?.parse().ok()?))).collect()
}
