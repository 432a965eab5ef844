//! Which secrets the mails of the outbox need, sealing them with the first one again, and what becomes of those that need a
//! lost one.

use std::fmt;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Rng, Timestamp};
use uuid::Uuid;

use super::repository::MailRepository;
use crate::resealed::{self, AT_EACH, Again, PAGE, ResealedRows, SealedCounts};

/// All that is in the outbox: what waits, and what was given up.
pub struct SealedMails {
    /// The outbox.
    pub outbox: Arc<dyn MailRepository>,
    /// What opens and seals.
    pub at_rest: Arc<Sealer>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl SealedMails {
    /// How many mails each secret sealed.
    ///
    /// # Errors
    /// The store's.
    pub async fn count(&self) -> Result<SealedCounts, StoreError> {
        let (mut counts, mut after) = (SealedCounts::new(), None);
        loop {
            let page = self.outbox.sealed_mails(after, PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(counts) };
            after = Some(*last);
            self.look(&page, &mut counts);
        }
    }

    fn look(&self, mails: &[(Uuid, String)], counts: &mut SealedCounts) {
        for (_, sealed) in mails {
            resealed::count(counts, &self.at_rest, Purpose::Mail, sealed);
        }
    }

    /// The same of some five hundred mails, spread over the time since the oldest was written: what a server can afford to
    /// do whenever it starts.
    ///
    /// # Errors
    /// The store's.
    pub async fn sample(&self, now: Timestamp) -> Result<SealedCounts, StoreError> {
        let mut counts = SealedCounts::new();
        let first = self.outbox.sealed_mails(None, AT_EACH).await?;
        self.look(&first, &mut counts);
        let Some((oldest, _)) = first.first() else { return Ok(counts) };
        for place in resealed::places(*oldest.as_bytes(), now) {
            let after = Some(Uuid::from_bytes(place));
            self.look(&self.outbox.sealed_mails(after, AT_EACH).await?, &mut counts);
        }
        Ok(counts)
    }

    /// Seals with the first secret what another one sealed. A mail that is gone meanwhile was sent: nothing is wrong then.
    ///
    /// # Errors
    /// The store's; what was sealed until then is.
    pub async fn reseal(&self) -> Result<ResealedRows, StoreError> {
        let (mut done, mut after) = (ResealedRows::default(), None);
        loop {
            let page = self.outbox.sealed_mails(after, PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(done) };
            after = Some(*last);
            for (id, sealed) in &page {
                match resealed::again(&self.at_rest, Purpose::Mail, sealed, &*self.rng) {
                    Again::Unchanged => done.unchanged += 1,
                    Again::Unopened => done.unopened += 1,
                    Again::Sealed(new) => {
                        done.resealed += u64::from(self.outbox.reseal_mail(*id, sealed, &new).await?);
                    }
                }
            }
        }
    }

    /// Deletes the mails that no secret opens: nobody can send them any more. How many it was.
    ///
    /// # Errors
    /// The store's; what was deleted until then is.
    pub async fn abandon(&self) -> Result<u64, StoreError> {
        let (mut dropped, mut after) = (0, None);
        loop {
            let page = self.outbox.sealed_mails(after, PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(dropped) };
            after = Some(*last);
            for (id, sealed) in &page {
                if !self.at_rest.sealed_by(Purpose::Mail, sealed).opens() {
                    self.outbox.drop_mail(*id, sealed).await?;
                    dropped += 1;
                }
            }
        }
    }
}

impl fmt::Debug for SealedMails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedMails").finish_non_exhaustive()
    }
}
