//! Whether what lies in the database needs no secret but those that are known here. A sample is looked at: all of it would
//! take minutes where there are many people; `sluice secrets status` does.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::credential::CredentialKeys;
use sluice_identity::credential::StoredCredentials;
use sluice_identity::factor::SealedFactors;
use sluice_identity::mail::SealedMails;
use sluice_primitives::{Clock, Rng};
use tracing::error;

use super::stores::{Repositories, StartError};

/// What is in the database, and who looks at it.
pub(super) struct RequiredSecrets<'a> {
    pub(super) store: Arc<dyn Repositories>,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) rng: &'a Arc<dyn Rng>,
}

impl RequiredSecrets<'_> {
    /// Of passwords.
    ///
    /// # Errors
    /// [`StartError::MissingSecret`] if one is missing.
    pub(super) async fn of_passwords(&self, keys: &CredentialKeys) -> Result<(), StartError> {
        let everybody = StoredCredentials {
            identities: Arc::clone(&self.store) as _,
            keys: keys.clone(),
            clock: Arc::clone(self.clock),
            rng: Arc::clone(self.rng),
        };
        let missing = everybody.sample().await?.missing(&keys.peppers().ids());
        Ok(missing.map_or(Ok(()), Err)?)
    }

    /// Of second factors.
    ///
    /// # Errors
    /// [`StartError::SealedFactors`] if none of those looked at opens: nobody who has a factor could log in. Where some do, it is said in
    /// the log: a row that is broken keeps one person out, not all.
    pub(super) async fn of_factors(&self, at_rest: &Arc<Sealer>) -> Result<(), StartError> {
        let factors = SealedFactors {
            factors: Arc::clone(&self.store) as _,
            at_rest: Arc::clone(at_rest),
            rng: Arc::clone(self.rng),
        };
        let sampled = factors.sample(self.clock.now()).await?;
        if !sampled.contains_key(&None) {
            return Ok(());
        }
        if sampled.len() == 1 {
            return Err(StartError::SealedFactors);
        }
        error!(
            "some second factors cannot be opened with the secrets at rest that are configured; `sluice secrets status` counts"
        );
        Ok(())
    }

    /// Of mails. One that is missing keeps nobody out, so it is only said. Another node may have it, or this one after its next
    /// start: until then the mails are tried like those that a mail server does not take, for about a day.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn of_mails(&self, at_rest: &Arc<Sealer>) -> Result<(), StartError> {
        let mails = SealedMails {
            outbox: Arc::clone(&self.store) as _,
            at_rest: Arc::clone(at_rest),
            rng: Arc::clone(self.rng),
        };
        if mails.sample(self.clock.now()).await?.contains_key(&None) {
            error!(
                "mails were sealed with a secret at rest that is not configured: this node cannot send them; tries end after about a day"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
