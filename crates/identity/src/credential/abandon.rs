//! Passwords whose secret is lost, taken away: nobody can prove to know them any more. Their people set others by mail, as
//! those do who never had one.

use futures_util::{StreamExt, stream};
use sluice_commit::StoreError;
use sluice_crypto::OpenError;
use sluice_crypto::credential::{CredentialError, StoredCredential};
use sluice_primitives::AttemptId;

use super::secrets::{IN_FLIGHT, PAGE, StoredCredentials};
use crate::identity::{Changed, Identity, IdentityChange, NewCredential};

/// What was taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AbandonedCredentials {
    /// Credentials that are gone.
    pub abandoned: u64,
    /// Records that changed meanwhile: run it again.
    pub changed: u64,
}

impl StoredCredentials {
    /// How many credentials need a secret that is not configured. Looks at every record.
    ///
    /// # Errors
    /// The store's.
    pub async fn lost(&self) -> Result<u64, StoreError> {
        let (mut lost, mut after) = (0, None);
        loop {
            let page = self.page(after, PAGE).await?;
            lost += page.identities.iter().map(|identity| u64::from(self.is_lost(identity))).sum::<u64>();
            after = page.next;
            if after.is_none() {
                return Ok(lost);
            }
        }
    }

    /// Takes away the credentials that need a secret that is not configured.
    ///
    /// # Errors
    /// The store's; what was taken away until then is.
    pub async fn abandon(&self) -> Result<AbandonedCredentials, StoreError> {
        let (mut done, mut after) = (AbandonedCredentials::default(), None);
        loop {
            let page = self.page(after, PAGE).await?;
            after = page.next;
            let lost: Vec<_> =
                page.identities.into_iter().filter(|identity| self.is_lost(identity)).collect();
            let mut work =
                stream::iter(lost).map(|identity| self.take_away(identity)).buffer_unordered(IN_FLIGHT);
            while let Some(one) = work.next().await {
                match one? {
                    Changed::Done => done.abandoned += 1,
                    Changed::Stale | Changed::Taken => done.changed += 1,
                }
            }
            if after.is_none() {
                return Ok(done);
            }
        }
    }

    /// Whether the credential would verify if there were another secret. One that is spoilt would not.
    fn is_lost(&self, identity: &Identity) -> bool {
        let stored = StoredCredential::parse(&identity.credential);
        let in_use = stored.and_then(|stored| self.keys.secret_in_use(&stored));
        match in_use {
            Err(CredentialError::UnknownPepper(_)) => true,
            Err(CredentialError::Sealed(cause)) => cause != OpenError::Malformed,
            Ok(_) | Err(_) => false,
        }
    }

    async fn take_away(&self, identity: Identity) -> Result<Changed, StoreError> {
        let now = self.clock.now();
        let change = IdentityChange {
            // Without a password nobody will know any more who may have chosen it.
            username: identity.may_be_a_strangers().then(String::new),
            credential: Some(NewCredential { stored: String::new(), hardening: false }),
            ..IdentityChange::of(&identity, now, AttemptId::generate(now, &*self.rng))
        };
        self.identities.change(&change).await
    }
}
