//! An installation: its database, and the secrets that belong to it.

use std::sync::Arc;

use indicatif::ProgressBar;
use sluice_crypto::Sealer;
use sluice_crypto::credential::CredentialKeys;
use sluice_identity::credential::StoredCredentials;
use sluice_identity::factor::SealedFactors;
use sluice_identity::mail::SealedMails;
use sluice_primitives::{Clock, OsRng, Rng, SystemClock};

use super::trail;
use crate::app::{
    KeyMaterial, RequiredSecrets, SecretsError, StartError, Stores, key_material, open_migrated,
};
use crate::config::{Settings, Sources};
use crate::observability::LogGuard;

/// An installation that a command works on, without a server.
pub(crate) struct Installation {
    pub(crate) stores: Stores,
    pub(crate) secrets: KeyMaterial,
    pub(crate) at_rest: Arc<Sealer>,
    pub(crate) credentials: CredentialKeys,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    /// Behind all that may log while it ends.
    _logs: LogGuard,
}

impl Installation {
    /// Opens the database, and takes the secrets from the configuration. What the command does is logged until it lets go of it, beside this bar.
    pub(crate) async fn open(
        settings: &Settings,
        sources: &Sources,
        bar: &ProgressBar,
    ) -> Result<Self, StartError> {
        let logs = trail::begin(settings.log, bar)?;
        let (clock, rng): (Arc<dyn Clock>, Arc<dyn Rng>) = (Arc::new(SystemClock), Arc::new(OsRng));
        let secrets = key_material(settings, &sources.data_dir, &*rng)?;
        let peppers = secrets.peppers().ok_or(SecretsError::Missing)?;
        let stores = open_migrated(&settings.database, (&clock, &rng)).await?;
        let at_rest = Arc::new(secrets.at_rest(stores.network_id().await?));
        let credentials = CredentialKeys::new(peppers, Arc::clone(&at_rest));
        Ok(Self { stores, secrets, at_rest, credentials, clock, rng, _logs: logs })
    }

    /// Makes sure that the secrets are those of the database, as far as what is in it tells: a node opens what is sealed with them,
    /// and starts afterwards as before.
    pub(crate) async fn check_secrets(&self) -> Result<(), StartError> {
        let required =
            RequiredSecrets { store: self.stores.repositories(), clock: &self.clock, rng: &self.rng };
        required.to_seal(&self.at_rest).await?;
        required.of_passwords(&self.credentials).await.map(drop)
    }

    /// The stored credentials of everybody.
    pub(crate) fn stored_credentials(&self) -> StoredCredentials {
        StoredCredentials {
            identities: self.stores.repositories() as _,
            keys: self.credentials.clone(),
            clock: Arc::clone(&self.clock),
            rng: Arc::clone(&self.rng),
        }
    }

    /// The second factors of everybody.
    pub(crate) fn sealed_factors(&self) -> SealedFactors {
        SealedFactors {
            factors: self.stores.repositories() as _,
            at_rest: Arc::clone(&self.at_rest),
            rng: Arc::clone(&self.rng),
        }
    }

    /// The outbox of mails.
    pub(crate) fn sealed_mails(&self) -> SealedMails {
        SealedMails {
            outbox: self.stores.repositories() as _,
            at_rest: Arc::clone(&self.at_rest),
            rng: Arc::clone(&self.rng),
        }
    }
}
