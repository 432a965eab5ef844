//! Whether what lies in the database needs no secret but those that are known here. A sample is looked at: all of it would
//! take minutes where there are many people; `sluice secrets status` does.

use std::sync::Arc;

use sluice_crypto::credential::CredentialKeys;
use sluice_crypto::{SealedBy, Sealer};
use sluice_identity::credential::StoredCredentials;
use sluice_identity::factor::SealedFactors;
use sluice_identity::mail::SealedMails;
use sluice_oauth::client::client_with_missing_secret;
use sluice_oauth::keys::SealedKeys;
use sluice_primitives::{Clock, Rng};
use tracing::{error, warn};

use super::stores::{Repositories, StartError};

/// What is in the database, and who looks at it.
pub(crate) struct RequiredSecrets<'a> {
    pub(crate) store: Arc<dyn Repositories>,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) rng: &'a Arc<dyn Rng>,
}

impl RequiredSecrets<'_> {
    /// Whether what is sealed here opens on the nodes: signing keys are there before anybody is, and some were sealed with the secret
    /// that seals here. A node needs no such question, as it does not start without its keys.
    ///
    /// # Errors
    /// [`StartError::OtherSecrets`] if there are keys, and none of them was.
    pub(crate) async fn to_seal(&self, at_rest: &Arc<Sealer>) -> Result<(), StartError> {
        let keys = SealedKeys::new(Arc::clone(&self.store) as _, Arc::clone(at_rest), Arc::clone(self.rng));
        let sealed = keys.count().await?;
        let is_known = sealed.is_empty() || sealed.contains_key(&SealedBy::Known(0));
        if is_known { Ok(()) } else { Err(StartError::OtherSecrets) }
    }

    /// Of passwords. How much memory the hash takes that takes most of those looked at, in KiB.
    ///
    /// # Errors
    /// [`StartError::MissingSecret`] if one is missing.
    pub(crate) async fn of_passwords(&self, keys: &CredentialKeys) -> Result<u32, StartError> {
        let everybody = StoredCredentials {
            identities: Arc::clone(&self.store) as _,
            keys: keys.clone(),
            clock: Arc::clone(self.clock),
            rng: Arc::clone(self.rng),
        };
        let sampled = everybody.sample().await?;
        let missing = sampled.missing(&keys.peppers().ids());
        Ok(missing.map_or(Ok(sampled.most_memory_kib), Err)?)
    }

    /// Of second factors.
    ///
    /// # Errors
    /// [`StartError::SealedFactors`] if one of those looked at was sealed with a secret that is missing, or none of them opens: whoever has
    /// such a factor could not log in. One that is broken beside others that open is said in the log: it keeps one person out, and no secret
    /// helps.
    pub(super) async fn of_factors(&self, at_rest: &Arc<Sealer>) -> Result<(), StartError> {
        let factors = SealedFactors {
            factors: Arc::clone(&self.store) as _,
            at_rest: Arc::clone(at_rest),
            rng: Arc::clone(self.rng),
        };
        let sampled = factors.sample(self.clock.now()).await?;
        let none_opens = !sampled.is_empty() && !sampled.keys().any(|by| by.opens());
        if none_opens || sampled.contains_key(&SealedBy::Unknown) {
            return Err(StartError::SealedFactors);
        }
        if sampled.contains_key(&SealedBy::Broken) {
            error!("some second factors are broken: no secret opens them; `sluice secrets status` counts");
        }
        Ok(())
    }

    /// Of clients that sign with their secret, which is kept for them.
    ///
    /// # Errors
    /// [`StartError::SealedClientSecret`] if one is missing.
    pub(super) async fn of_clients(&self, at_rest: &Sealer) -> Result<(), StartError> {
        let missing = client_with_missing_secret(&*self.store, at_rest).await?;
        missing.map_or(Ok(()), |client| Err(StartError::SealedClientSecret(client.to_string())))
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
        if mails.sample(self.clock.now()).await?.contains_key(&SealedBy::Unknown) {
            error!(
                "mails were sealed with a secret at rest that is not configured: this node cannot send them; tries end after about a day"
            );
        }
        Ok(())
    }
}

/// Says that there are passwords whose hash takes more memory than one may have here, as where another node makes larger ones, or did:
/// whoever has such a one is refused, and all others are let in.
pub(super) fn tell_of_costly_passwords(most_kib: u32, limit_kib: u32) {
    if most_kib > limit_kib {
        warn!(
            needed_kib = most_kib,
            limit_kib,
            "the hashes of some passwords take more memory than identity.hash_pool.max_memory allows: whoever has such \
             a password cannot log in with it"
        );
    }
}

#[cfg(test)]
mod tests;
