//! The hardening worker: takes provisional credentials, hashes them on the pool behind everybody else, stores what came
//! out.
//!
//! Any number of workers may run, here and elsewhere: a credential that one took is its own until the lease runs out, and
//! what is stored is stored only if the credential is still the one that was taken. So a worker may be killed at any
//! moment, and a login may harden a credential while it is taken.

use std::fmt;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use sluice_commit::{StoreError, chain};
use sluice_crypto::OpenError;
use sluice_crypto::credential::{CredentialError, CredentialKeys};
use sluice_crypto::hash_pool::{HashPool, PoolBusy, Priority};
use sluice_crypto::password_hash::Argon2Params;
use sluice_primitives::{Clock, Timestamp};
use tracing::{error, warn};

use super::metrics::HardeningMetrics;
use super::repository::{HardenedCredential, HardeningRepository, LeasedCredential};
use super::shift::Shift;
use crate::config::HardeningConfig;

/// Hardens credentials.
#[derive(Clone)]
pub struct HardeningWorker {
    /// Where credentials wait.
    pub repo: Arc<dyn HardeningRepository>,
    /// What opens them.
    pub keys: CredentialKeys,
    /// Where they are hashed, behind logins.
    pub pool: Arc<HashPool>,
    /// What a hash costs.
    pub params: Argon2Params,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How many at a time.
    pub config: HardeningConfig,
    /// What is counted.
    pub metrics: Arc<HardeningMetrics>,
}

/// What one round did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// Credentials that were taken.
    pub leased: usize,
    /// Credentials that were hashed.
    pub hashed: usize,
    /// Credentials that were given up.
    pub given_up: usize,
}

/// A credential in hand, until its lease runs out.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) credential: LeasedCredential,
    pub(super) until: Timestamp,
}

/// What came of one.
pub(super) enum Worked {
    /// It is hardened.
    Hardened(HardenedCredential),
    /// It cannot be read, now or ever.
    Unreadable(LeasedCredential),
    /// It needs something that is missing here: it is taken again when its lease has run out.
    LeftAlone(CredentialError),
    /// Its lease ran out before it could be hashed: it may be another worker's now.
    TooLate,
    /// The pool has no place for it.
    NoPlace(Taken),
    /// The system has no memory for it now.
    NoMemory(Taken),
    /// The pool takes no more.
    Stopped,
}

/// What waits to be stored.
#[derive(Default)]
pub(super) struct Results {
    pub(super) hardened: Vec<HardenedCredential>,
    pub(super) unreadable: Vec<LeasedCredential>,
}

impl Results {
    pub(super) const fn len(&self) -> usize {
        self.hardened.len() + self.unreadable.len()
    }
}

impl HardeningWorker {
    /// How often the backlog is counted.
    pub const COUNT_EVERY: Duration = Duration::from_secs(15);

    /// Hardens until `shutdown`; then finishes and stores what is being hashed, and returns. Returns by itself when the
    /// pool has been shut down.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        Shift::new(self).work(shutdown).await;
    }

    /// Counts what waits, for those who look at the metrics of a process that does not harden. One that does counts by itself.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot do it now: the metrics stay as they are.
    pub async fn count(&self) -> Result<(), StoreError> {
        self.metrics.set_backlog(&self.repo.backlog().await?);
        Ok(())
    }

    /// Takes one batch, and hardens and stores it.
    ///
    /// # Errors
    /// [`StoreError`] if nothing could be taken, or not everything stored: then what was not is taken again when its
    /// lease has run out.
    pub async fn round(&self) -> Result<Round, StoreError> {
        let taken = self.take().await?;
        let mut round = Round { leased: taken.len(), ..Round::default() };
        let mut working = stream::iter(taken).map(|taken| self.work(taken)).buffer_unordered(self.jobs());
        let mut results = Results::default();
        while let Some(worked) = working.next().await {
            match worked {
                Worked::Hardened(hardened) => results.hardened.push(hardened),
                Worked::Unreadable(leased) => results.unreadable.push(leased),
                Worked::LeftAlone(_)
                | Worked::TooLate
                | Worked::NoPlace(_)
                | Worked::NoMemory(_)
                | Worked::Stopped => {}
            }
        }
        (round.hashed, round.given_up) = (results.hardened.len(), results.unreadable.len());
        let (_, failed) = self.clone().store(results).await;
        failed.map_or(Ok(round), Err)
    }

    /// How many are hashed at a time.
    pub(super) fn jobs(&self) -> usize {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.config.jobs.unwrap_or_else(cores).get()
    }

    /// Takes a batch.
    pub(super) fn take(&self) -> BoxFuture<'static, Result<Vec<Taken>, StoreError>> {
        let (repo, now) = (Arc::clone(&self.repo), self.clock.now());
        let (lease, batch) = (self.config.lease, self.config.batch.max(1));
        async move {
            let leased = repo.lease(now, lease, batch).await?;
            Ok(leased.into_iter().map(|credential| Taken { credential, until: now + lease }).collect())
        }
        .boxed()
    }

    /// Hardens one on the pool.
    pub(super) fn work(&self, taken: Taken) -> BoxFuture<'static, Worked> {
        let (keys, params, clock) = (self.keys.clone(), self.params, Arc::clone(&self.clock));
        let (LeasedCredential { id, stored }, until) = (taken.credential.clone(), taken.until);
        let hashing = self.pool.run(Priority::Hardening, move |memory| {
            // It may have waited long behind logins.
            (clock.now() < until).then(|| keys.harden(id, &stored, params, memory))
        });
        let leased = taken.credential.clone();
        // A credential that makes the hash panic is not to take the worker with it.
        let hashing = AssertUnwindSafe(hashing).catch_unwind();
        async move {
            match hashing.await {
                Ok(Ok(Some(Ok(new)))) => {
                    Worked::Hardened(HardenedCredential { id: leased.id, old: leased.stored, new })
                }
                Ok(Ok(Some(Err(failed)))) => fate(leased, failed),
                Ok(Ok(None)) => Worked::TooLate,
                // Nobody asked for it who could leave.
                Ok(Err(PoolBusy::QueueFull { .. } | PoolBusy::Unheard)) => Worked::NoPlace(taken),
                Ok(Err(PoolBusy::NoMemory)) => Worked::NoMemory(taken),
                Ok(Err(PoolBusy::Stopped)) => Worked::Stopped,
                Err(_) => {
                    error!(identity.id = %leased.id, "hardening a credential panicked: given up");
                    Worked::Unreadable(leased)
                }
            }
        }
        .boxed()
    }

    /// Stores what it can; what it could not, and why.
    pub(super) async fn store(self, mut results: Results) -> (Results, Option<StoreError>) {
        if !results.hardened.is_empty() {
            match self.repo.harden(&results.hardened).await {
                Ok(stored) => {
                    self.metrics.count_hardened(stored, results.hardened.len(), self.clock.now());
                    results.hardened.clear();
                }
                Err(error) if is_no_ones_fault(&error) => return (results, Some(error)),
                Err(_) => {
                    if let Err(error) = self.store_one_by_one(&mut results.hardened).await {
                        return (results, Some(error));
                    }
                }
            }
        }
        while let Some(leased) = results.unreadable.last() {
            match self.repo.give_up(leased.id, &leased.stored).await {
                Ok(()) => self.metrics.count_given_up(),
                Err(error) if is_no_ones_fault(&error) => return (results, Some(error)),
                Err(error) => {
                    warn!(identity.id = %leased.id, error = %chain(&error), "credential not given up");
                }
            }
            results.unreadable.pop();
        }
        (results, None)
    }

    /// The store refuses the batch: one that it cannot take must not cost the others their place. If it takes none any more,
    /// those that are left stay.
    async fn store_one_by_one(&self, hardened: &mut Vec<HardenedCredential>) -> Result<(), StoreError> {
        while let Some(one) = hardened.last() {
            match self.repo.harden(std::slice::from_ref(one)).await {
                Ok(stored) => self.metrics.count_hardened(stored, 1, self.clock.now()),
                Err(error) if is_no_ones_fault(&error) => return Err(error),
                Err(error) => {
                    warn!(identity.id = %one.id, error = %chain(&error), "hardened credential not stored");
                }
            }
            hardened.pop();
        }
        Ok(())
    }
}

impl fmt::Debug for HardeningWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HardeningWorker").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Whether the store would have said the same of any other credential: it has too much to do, cannot be reached, its disk is
/// full, or it may only be read.
const fn is_no_ones_fault(error: &StoreError) -> bool {
    match error {
        StoreError::Busy | StoreError::Unavailable(_) | StoreError::Refused(_) => true,
        StoreError::Invalid(_) | StoreError::Fault(_) => false,
    }
}

/// What becomes of a credential that could not be hardened.
fn fate(leased: LeasedCredential, failed: CredentialError) -> Worked {
    match failed {
        // Of this process, not of the credential: giving up would write off the whole queue.
        CredentialError::UnknownPepper(_)
        | CredentialError::Sealed(OpenError::UnknownKey)
        | CredentialError::Argon2(_) => Worked::LeftAlone(failed),
        CredentialError::Malformed
        | CredentialError::NotProvisional
        | CredentialError::OtherOwner
        | CredentialError::Sealed(OpenError::Malformed | OpenError::NotAuthentic)
        | CredentialError::NotExportable
        | CredentialError::TooLong
        | CredentialError::Foreign(_) => {
            error!(identity.id = %leased.id, error = %chain(&failed), "a credential cannot be hardened: given up");
            Worked::Unreadable(leased)
        }
    }
}
