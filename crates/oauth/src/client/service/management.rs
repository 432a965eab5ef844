//! By what a client manages itself (RFC 7592).

use sluice_primitives::Secret;
use sluice_protocol::ClientId;
use tracing::info;

use super::{By, ClientService, ClientServiceError, Registered};
use crate::client::dynamic::Trust;
use crate::client::model::Client;
use crate::client::registration::ClientMetadata;

/// By what a client manages itself (RFC 7592 §3). The token is told when it is made, and never again.
#[derive(Debug, Clone)]
pub struct Management {
    /// `registration_client_uri`.
    pub uri: String,
    /// `registration_access_token`.
    pub access_token: Secret<String>,
}

impl ClientService {
    /// The client as the store has it: what another node changed a moment ago counts already.
    ///
    /// # Errors
    /// [`ClientServiceError::NotFound`] if there is none.
    pub async fn read(&self, id: &ClientId) -> Result<Client, ClientServiceError> {
        self.stored(id).await
    }

    /// As [`Self::create`], by the client itself: it is given a secret if that is what it authenticates by. `word` says whether anybody
    /// vouches for what it calls itself.
    ///
    /// # Errors
    /// Those of [`Self::create`].
    pub async fn create_by_itself(
        &self,
        metadata: ClientMetadata,
        word: Trust,
    ) -> Result<Registered, ClientServiceError> {
        let made = self.register(metadata, By::Itself(word)).await?;
        info!(target: "sluice_audit", { client.id = %made.client.id }, "client registered itself");
        Ok(made)
    }

    /// As [`Self::patch`], by the client itself: it is given a new registration access token. Its secrets go with a method that
    /// uses one, and it is told a new one when it comes back to such a method. `word` is as in [`Self::create_by_itself`]: who manages a
    /// client need not have been invited.
    ///
    /// # Errors
    /// Those of [`Self::patch`].
    pub async fn patch_by_itself(
        &self,
        id: &ClientId,
        word: Trust,
        edit: impl Fn(&Client) -> Result<ClientMetadata, ClientServiceError> + Send,
    ) -> Result<Registered, ClientServiceError> {
        let changed = self.change(id, edit, By::Itself(word)).await?;
        let new_secret = changed.secret.is_some();
        info!(target: "sluice_audit", { client.id = %id, new_secret }, "client changed itself");
        Ok(changed)
    }

    /// As [`Self::delete`], by the client itself.
    ///
    /// # Errors
    /// Those of [`Self::delete`].
    pub async fn delete_by_itself(&self, id: &ClientId) -> Result<(), ClientServiceError> {
        self.remove(id).await?;
        info!(target: "sluice_audit", { client.id = %id }, "client deleted itself");
        Ok(())
    }

    /// Whether the client has this secret. One that somebody chose is hashed slowly to tell.
    ///
    /// # Errors
    /// [`ClientServiceError::Secret`] if that cannot be done now.
    pub(in crate::client) async fn has_secret(
        &self,
        client: &Client,
        secret: &Secret<String>,
    ) -> Result<bool, ClientServiceError> {
        Ok(self.0.secrets.is_one_of(client.secret_hashes_at(self.now()), secret).await?)
    }

    /// Gives the client another hash of the same registration access token, unless it was changed since it was read.
    ///
    /// # Errors
    /// [`ClientServiceError::NotFound`] if there is none.
    pub(in crate::client) async fn keep_token_as(
        &self,
        client: &Client,
        hash: String,
    ) -> Result<(), ClientServiceError> {
        let next = Client { registration_token_hash: Some(hash), ..client.clone() };
        self.swapped(next).await.map(drop)
    }

    /// Where the client manages itself, if clients may.
    pub fn management_uri(&self, id: &ClientId) -> Option<String> {
        let mut uri = self.0.rules.registration_endpoint.clone()?;
        uri.path_segments_mut().ok()?.push(id.as_str());
        Some(uri.into())
    }

    /// Gives the client a new registration access token, if clients may manage themselves.
    pub(super) fn manage(&self, client: &mut Client) -> Option<Management> {
        let uri = self.management_uri(&client.id)?;
        let (access_token, hash) = self.0.secrets.generate();
        client.registration_token_hash = Some(hash);
        Some(Management { uri, access_token })
    }
}
