//! Changes of one client at the same time: whoever was not the first waits for those of this node that were not either, so that of many changes
//! each comes to pass.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;
use sluice_protocol::ClientId;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{sleep, timeout};

use super::ClientServiceError;

/// How often a change begins before it is given up because another one was quicker each time.
const ATTEMPTS: u32 = 24;
/// All clients share so many turns.
const STRIPES: usize = 64;
/// Whoever waits longer for a turn goes on without one.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The pause before another attempt, in milliseconds, is shorter than this: if other nodes alone were quicker, and if anybody may have been.
const PAUSES: (u64, u64) = (16, 64);

/// Whose turn it is.
pub(super) struct Turns([Mutex<()>; STRIPES]);

/// A change that is under way.
pub(super) struct Turn<'a> {
    rng: &'a dyn Rng,
    lost: u32,
    /// What is to be waited for, until that was done.
    stripe: Option<&'a Mutex<()>>,
    held: Option<MutexGuard<'a, ()>>,
}

impl Turns {
    pub(super) const fn new() -> Self {
        Self([const { Mutex::const_new(()) }; STRIPES])
    }

    /// A change of this client begins. It waits for nobody until it was not the first: most are alone, and some ask another host before they are
    /// written.
    pub(super) fn begin<'a>(&'a self, id: &ClientId, rng: &'a dyn Rng) -> Turn<'a> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let stripe = usize::try_from(hasher.finish() % STRIPES as u64).unwrap_or_default();
        Turn { rng, lost: 0, stripe: self.0.get(stripe), held: None }
    }
}

impl Turn<'_> {
    /// Another change was quicker: comes back when it is time for another attempt. The turn is kept until the change ends.
    ///
    /// # Errors
    /// [`ClientServiceError::Contended`] after too many attempts.
    pub(super) async fn lost(&mut self) -> Result<(), ClientServiceError> {
        self.lost += 1;
        if self.lost >= ATTEMPTS {
            return Err(ClientServiceError::Contended);
        }
        if let Some(stripe) = self.stripe.take() {
            self.held = timeout(LONGEST_WAIT, stripe.lock()).await.ok();
            return Ok(());
        }
        let (with_turn, without) = PAUSES;
        let shorter_than = if self.held.is_some() { with_turn } else { without };
        let [random] = random_bytes(self.rng);
        sleep(Duration::from_millis(u64::from(random) % shorter_than)).await;
        Ok(())
    }
}
