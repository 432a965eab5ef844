//! Which secrets the stored factors need, sealing them with the first one again, and what becomes of those that need a lost
//! one.

use std::fmt;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{IdentityId, Rng, Timestamp};
use uuid::Uuid;

use super::model::{Factor, FactorKind};
use super::repository::{FactorRepository, RecoveryCodeCounts};
use crate::identity::Removed;
use crate::resealed::{self, AT_EACH, Again, PAGE, ResealedRows, SealedCounts};

/// The stored factors of everybody.
pub struct SealedFactors {
    /// Factors.
    pub factors: Arc<dyn FactorRepository>,
    /// What opens and seals.
    pub at_rest: Arc<Sealer>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl SealedFactors {
    /// How many factors each secret sealed.
    ///
    /// # Errors
    /// The store's.
    pub async fn count(&self) -> Result<SealedCounts, StoreError> {
        let (mut counts, mut after) = (SealedCounts::new(), None);
        loop {
            let page = self.factors.all_factors(after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(counts) };
            after = Some((last.identity, last.id));
            self.look(&page, &mut counts);
        }
    }

    fn look(&self, factors: &[Factor], counts: &mut SealedCounts) {
        for factor in factors {
            resealed::count(counts, &self.at_rest, purpose(factor.kind), &factor.sealed);
        }
    }

    /// The same of some five hundred factors, spread over the time since their people registered: what a server can afford
    /// to do whenever it starts. A secret that sealed only few of them may go unnoticed.
    ///
    /// # Errors
    /// The store's.
    pub async fn sample(&self, now: Timestamp) -> Result<SealedCounts, StoreError> {
        let mut counts = SealedCounts::new();
        let first = self.factors.all_factors(None, AT_EACH).await?;
        self.look(&first, &mut counts);
        let Some(oldest) = first.first() else { return Ok(counts) };
        for place in resealed::places(*oldest.identity.as_bytes(), now) {
            let after = Some((IdentityId::from_bytes(place), Uuid::nil()));
            self.look(&self.factors.all_factors(after, AT_EACH).await?, &mut counts);
        }
        Ok(counts)
    }

    /// Seals with the first secret what another one sealed. A factor stays what it is, its counter too.
    ///
    /// # Errors
    /// The store's; what was sealed until then is.
    pub async fn reseal(&self) -> Result<ResealedRows, StoreError> {
        let (mut done, mut after) = (ResealedRows::default(), None);
        loop {
            let page = self.factors.all_factors(after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(done) };
            after = Some((last.identity, last.id));
            for factor in &page {
                match resealed::again(&self.at_rest, purpose(factor.kind), &factor.sealed, &*self.rng) {
                    Again::Unchanged => done.unchanged += 1,
                    Again::Unopened => done.unopened += 1,
                    Again::Sealed(sealed) if self.factors.reseal_factor(factor, &sealed).await? => {
                        done.resealed += 1;
                    }
                    Again::Sealed(_) => done.changed += 1,
                }
            }
        }
    }

    /// Removes the factors that no secret opens: nobody can prove to have them any more. How many it was.
    ///
    /// # Errors
    /// The store's; what was removed until then is.
    pub async fn abandon(&self) -> Result<u64, StoreError> {
        let (mut removed, mut after) = (0, None);
        loop {
            let page = self.factors.all_factors(after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(removed) };
            after = Some((last.identity, last.id));
            for factor in &page {
                if !self.at_rest.sealed_by(purpose(factor.kind), &factor.sealed).opens() {
                    let done = self.factors.remove(factor.identity, factor.id, None, None).await?;
                    removed += u64::from(done == Removed::Done);
                }
            }
        }
    }

    /// How many recovery codes there are that were not used, by the key of [`super::RecoveryCodeKeys`] that made them. They are hashes:
    /// nothing can move them, so its secret has to stay in its list until their people have made others.
    ///
    /// # Errors
    /// The store's.
    pub async fn recovery_codes(&self) -> Result<RecoveryCodeCounts, StoreError> {
        self.factors.all_recovery_codes_left().await
    }
}

/// For what the secret of a factor is sealed.
const fn purpose(kind: FactorKind) -> Purpose {
    match kind {
        FactorKind::Totp => Purpose::TotpSecret,
        FactorKind::Passkey => Purpose::Passkey,
    }
}

impl fmt::Debug for SealedFactors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedFactors").finish_non_exhaustive()
    }
}
