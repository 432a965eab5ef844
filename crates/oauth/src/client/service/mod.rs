//! What an administrator may do with clients: Hydra's admin API without HTTP.
//!
//! `error`: refusals. `formats`: what a registration needs besides the client. `listing`: pages and their sealed tokens. `management`: by what a client manages itself. `origins`: a word about those that have no effect. `secrets`: which secrets a changed client has. `tokens`: what it was granted. `turns`: changes at the same time.
//!
//! A change reads the client, edits it and replaces it if its revision is still the same, else starts again.

mod error;
mod formats;
mod listing;
mod management;
mod origins;
mod secrets;
mod tokens;
mod turns;

use std::fmt;
use std::sync::Arc;

use sluice_commit::chain;
use sluice_crypto::Sealer;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, Lifetime, Rng, Secret, Timestamp};
use sluice_protocol::{ClientId, GrantType};
use sluice_token::{Marker, RevocationSet, Target};
use tracing::{info, warn};

pub use error::{ClientServiceError, RefusedPatch};
pub(crate) use formats::make_keys;
pub use listing::{ClientPage, ListClients};
pub use management::Management;

use super::directory::ClientDirectory;
use super::dynamic::Trust;
use super::model::{Client, Lifespans};
use super::registration::{self, ClientMetadata, RegistrationError, RegistrationRules};
use super::repository::{ClientRepository, Replacement};
use super::secret::ClientSecrets;
use crate::grant::Insertion;
use crate::keys::SigningKeys;
use crate::sector::SectorSource;
use origins::UnusedOrigins;
use secrets::{Former, NewSecrets, Settled};
use turns::Turns;

/// What the service works with.
#[derive(Clone)]
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct ClientServiceParts {
    pub repo: Arc<dyn ClientRepository>,
    pub directory: Arc<ClientDirectory>,
    pub revocations: Arc<RevocationSet>,
    pub secrets: ClientSecrets,
    /// Seals page tokens.
    pub sealer: Arc<Sealer>,
    /// Seals the secrets of clients that sign with them.
    pub at_rest: Arc<Sealer>,
    /// Makes keys of the algorithms that clients want.
    pub keys: Arc<dyn SigningKeys>,
    /// Reads sector identifier documents.
    pub sectors: Arc<dyn SectorSource>,
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
    pub rules: RegistrationRules,
    /// The longest life of an access token by configuration: so long the marker of a deleted client is kept.
    pub marker_lifetime: Lifetime,
}

/// Registers, changes and deletes clients.
pub struct ClientService(ClientServiceParts, UnusedOrigins, Turns);

/// A client, and its secret in plain text if this call made or set one: the only time it can be told.
#[derive(Debug, Clone)]
pub struct Registered {
    /// The client as it is stored now.
    pub client: Arc<Client>,
    /// Its new secret.
    pub secret: Option<Secret<String>>,
    /// By what it manages itself, if this call made that.
    pub management: Option<Management>,
}

/// Who registers or changes a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Administrator,
    Itself(Trust),
}

impl ClientService {
    /// The service of these parts.
    pub const fn new(parts: ClientServiceParts) -> Self {
        Self(parts, UnusedOrigins::new(), Turns::new())
    }

    /// Registers a client. One that authenticates and has no secret chosen for it is given one, by whatever method, as with
    /// Hydra; it counts while the method uses it.
    ///
    /// # Errors
    /// [`ClientServiceError::Invalid`] for refused metadata, [`ClientServiceError::Taken`] if its id is in use.
    pub async fn create(&self, metadata: ClientMetadata) -> Result<Registered, ClientServiceError> {
        let made = self.register(metadata, By::Administrator).await?;
        info!(target: "sluice_audit", { client.id = %made.client.id }, "client registered by an administrator");
        Ok(made)
    }

    async fn register(&self, metadata: ClientMetadata, by: By) -> Result<Registered, ClientServiceError> {
        let id = self.new_id(&metadata.client_id)?;
        registration::check_keys(&metadata, None)?;
        let chosen = metadata.client_secret.clone();
        let mut client = registration::register(id, metadata, &self.0.rules, self.now())?;
        registration::check_recipients(&client, None)?;
        self.check_sector(&client, None).await?;
        let former = Former { client: None, by };
        let secret = Settled::default().settle(&self.0, &mut client, former, chosen).await?;
        self.make_keys_for(&client, by).await?;
        let management = self.manage(&mut client);
        client.registered_itself = by == By::Itself(Trust::Anybody);
        match self.0.repo.insert(&client).await? {
            Insertion::Inserted => {
                self.0.directory.forget(&client.id);
                self.1.tell_of(&client, &self.0.rules);
                Ok(Registered { client: Arc::new(client), secret, management })
            }
            Insertion::Taken => Err(ClientServiceError::Taken),
        }
    }

    /// The client with this id.
    ///
    /// # Errors
    /// [`ClientServiceError::NotFound`] if there is none.
    pub async fn get(&self, id: &ClientId) -> Result<Arc<Client>, ClientServiceError> {
        self.0.directory.registered(id).await?.ok_or(ClientServiceError::NotFound)
    }

    /// Replaces what is registered. The secret stays, whatever becomes of the method, and rotated ones as long as that uses one; unless
    /// `metadata` names a new one: then the old and all rotated ones are gone.
    ///
    /// # Errors
    /// Those of [`Self::create`], and [`ClientServiceError::NotFound`].
    pub async fn replace(
        &self,
        id: &ClientId,
        metadata: ClientMetadata,
    ) -> Result<Registered, ClientServiceError> {
        self.patch(id, |_| Ok(metadata.clone())).await
    }

    /// Replaces what is registered by what `edit` makes of it; `edit` is called again if another change comes first.
    ///
    /// # Errors
    /// Those of [`Self::replace`], and what `edit` refuses.
    pub async fn patch(
        &self,
        id: &ClientId,
        edit: impl Fn(&Client) -> Result<ClientMetadata, RefusedPatch> + Send,
    ) -> Result<Registered, ClientServiceError> {
        let changed = self.change(id, move |client| Ok(edit(client)?), By::Administrator).await?;
        let new_secret = changed.secret.is_some();
        info!(target: "sluice_audit", { client.id = %id, new_secret }, "client changed by an administrator");
        Ok(changed)
    }

    /// As [`Self::patch`]; with a new registration access token where the client changes itself.
    async fn change(
        &self,
        id: &ClientId,
        edit: impl Fn(&Client) -> Result<ClientMetadata, ClientServiceError> + Send,
        by: By,
    ) -> Result<Registered, ClientServiceError> {
        let mut settled = Settled::default();
        let mut turn = self.2.begin(id, &*self.0.rng);
        loop {
            let stored = self.stored(id).await?;
            let metadata = edit(&stored)?;
            registration::check_keys(&metadata, Some(&stored))?;
            let chosen = metadata.client_secret.clone();
            let mut next = registration::register(id.clone(), metadata, &self.0.rules, self.now())?;
            registration::check_recipients(&next, Some(&stored))?;
            self.check_sector(&next, Some(&stored)).await?;
            let former = Former { client: Some(&stored), by };
            let secret = settled.settle(&self.0, &mut next, former, chosen).await?;
            self.make_keys_for(&next, by).await?;
            next.registration_token_hash.clone_from(&stored.registration_token_hash);
            let management = if matches!(by, By::Itself(_)) { self.manage(&mut next) } else { None };
            next.registered_itself = by == By::Itself(Trust::Anybody)
                && (stored.registered_itself || says_otherwise(&stored, &next));
            next.created_at = stored.created_at;
            next.revision = stored.revision;
            if let Some(client) = self.swapped(next).await? {
                self.1.tell_of(&client, &self.0.rules);
                return Ok(Registered { client, secret, management });
            }
            turn.lost().await?;
        }
    }

    /// Sets the lifespans of a client and nothing else.
    ///
    /// # Errors
    /// [`ClientServiceError::Invalid`] if an access or ID token would live without end.
    pub async fn set_lifespans(
        &self,
        id: &ClientId,
        lifespans: Lifespans,
    ) -> Result<Arc<Client>, ClientServiceError> {
        registration::check_lifespans(&lifespans)?;
        let edited = self.edit(id, |client| {
            client.lifespans = lifespans;
            Ok(())
        });
        let client = edited.await?;
        let new_secret = false;
        info!(target: "sluice_audit", { client.id = %id, new_secret }, "client changed by an administrator");
        Ok(client)
    }

    /// Gives a client a new secret. The old one is accepted as well until [`Self::forget_rotated_secrets`]. Neither is while the
    /// method uses none.
    ///
    /// # Errors
    /// [`ClientServiceError::Invalid`] for a client that has no secret and does not authenticate by one.
    pub async fn rotate_secret(&self, id: &ClientId) -> Result<Registered, ClientServiceError> {
        let new = NewSecrets::made_by(&self.0.secrets);
        let rotated = |client: &mut Client| secrets::rotate(&self.0, client, &new);
        let client = self.edit(id, rotated).await?;
        info!(target: "sluice_audit", { client.id = %id }, "secret of a client rotated by an administrator");
        let (secret, _) = new.of(&client);
        Ok(Registered { secret: Some(secret.clone()), client, management: None })
    }

    /// Accepts the current secret of a client only.
    ///
    /// # Errors
    /// [`ClientServiceError::NotFound`].
    pub async fn forget_rotated_secrets(&self, id: &ClientId) -> Result<Arc<Client>, ClientServiceError> {
        let edited = self.edit(id, |client| {
            client.secret_hashes.truncate(1);
            Ok(())
        });
        let client = edited.await?;
        info!(target: "sluice_audit", { client.id = %id }, "rotated secrets of a client taken away by an administrator");
        Ok(client)
    }

    /// Deletes a client and revokes all it was granted.
    ///
    /// # Errors
    /// [`ClientServiceError::NotFound`].
    pub async fn delete(&self, id: &ClientId) -> Result<(), ClientServiceError> {
        self.remove(id).await?;
        info!(target: "sluice_audit", { client.id = %id }, "client deleted by an administrator");
        Ok(())
    }

    async fn remove(&self, id: &ClientId) -> Result<(), ClientServiceError> {
        let stored = self.stored(id).await?;
        let at = self.now();
        let longest = stored.lifespans.longest_access_token().unwrap_or_default().max(self.0.marker_lifetime);
        let expires_at = at + longest;
        if !self.0.repo.delete(id, at, expires_at).await? {
            return Err(ClientServiceError::NotFound);
        }
        self.0.revocations.apply(&Marker { target: Target::Client(id.clone()), at, expires_at });
        self.0.directory.forget(id);
        // It is deleted, whatever becomes of this.
        if let Err(error) = self.end_late(&stored, self.now()).await {
            warn!(error = %chain(&error), client.id = %id, "what a client was granted while it was being deleted may hold still");
        }
        Ok(())
    }

    /// Changes the stored record itself.
    async fn edit(
        &self,
        id: &ClientId,
        change: impl Fn(&mut Client) -> Result<(), RegistrationError> + Send,
    ) -> Result<Arc<Client>, ClientServiceError> {
        let mut turn = self.2.begin(id, &*self.0.rng);
        loop {
            let mut client = self.stored(id).await?;
            change(&mut client)?;
            client.updated_at = self.now();
            if let Some(client) = self.swapped(client).await? {
                return Ok(client);
            }
            turn.lost().await?;
        }
    }

    /// Replaces the client if its revision still stands; the client as it is stored then.
    async fn swapped(&self, mut next: Client) -> Result<Option<Arc<Client>>, ClientServiceError> {
        match self.0.repo.replace(&next).await? {
            Replacement::Replaced => {
                self.0.directory.forget(&next.id);
                next.revision += 1;
                Ok(Some(Arc::new(next)))
            }
            Replacement::Changed => Ok(None),
            Replacement::Unknown => Err(ClientServiceError::NotFound),
        }
    }

    async fn stored(&self, id: &ClientId) -> Result<Client, ClientServiceError> {
        self.0.repo.find(id).await?.ok_or(ClientServiceError::NotFound)
    }

    /// The id that was asked for, or a random UUID.
    fn new_id(&self, asked: &str) -> Result<ClientId, RegistrationError> {
        let random = || uuid::Builder::from_random_bytes(random_bytes(&*self.0.rng)).into_uuid().to_string();
        let id = if asked.is_empty() { random().parse() } else { asked.parse() };
        id.map_err(|why| RegistrationError::Metadata(format!("Field client_id is refused: {why}.")))
    }

    /// The time by its clock.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}

/// Whether the client shows itself to people as another than before, or where it would not have been shown: on the page for devices, which
/// leads to no redirect URI.
fn says_otherwise(stored: &Client, next: &Client) -> bool {
    stored.name != next.name
        || stored.client_uri != next.client_uri
        || stored.logo_uri != next.logo_uri
        || stored.policy_uri != next.policy_uri
        || stored.tos_uri != next.tos_uri
        || stored.redirect_uris != next.redirect_uris
        || stored.post_logout_redirect_uris != next.post_logout_redirect_uris
        || stored.defaults.initiate_login_uri != next.defaults.initiate_login_uri
        || (next.may_use(GrantType::DeviceCode) && !stored.may_use(GrantType::DeviceCode))
}

impl fmt::Debug for ClientService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientService").field("rules", &self.0.rules).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
