//! Lines with one address take turns, in the order in which they are in the file: the first is to be the person, also if the
//! store does not take it at once.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};
use tokio::task::coop::unconstrained;

use crate::identity::LoginNameHash;

/// One for each two bytes that the hash of an address may begin with: so many that others seldom wait.
const PLACES: usize = 1 << 16;

/// Whose turn it is. Clones share it; it does not grow.
#[derive(Clone)]
pub(super) struct Turns(Arc<[Mutex<()>]>);

impl Turns {
    pub(super) fn new() -> Self {
        Self((0..PLACES).map(|_| Mutex::new(())).collect())
    }

    /// Waits for those with the same address that asked before, until they give back what they got. There is always a place.
    pub(super) async fn of(&self, name: &LoginNameHash) -> Option<MutexGuard<'_, ()>> {
        let [first, second, ..] = *name;
        let place = self.0.get(usize::from(u16::from_be_bytes([first, second])))?;
        // A task that has used up its time would be sent away before it stands in the queue, and others come before it.
        Some(unconstrained(place.lock()).await)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;
    use tokio::task::coop::{consume_budget, has_budget_remaining};

    use super::*;

    #[tokio::test]
    async fn who_asks_first_is_first_also_if_its_task_has_used_up_its_time() {
        let (turns, name) = (Turns::new(), [7; 32]);
        let held = turns.of(&name).await;
        let mut first = pin!(turns.of(&name));
        let mut second = pin!(turns.of(&name));
        while has_budget_remaining() {
            consume_budget().await;
        }
        assert!(first.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
        assert!(second.as_mut().now_or_never().is_none());
        drop(held);
        assert!(second.as_mut().now_or_never().is_none());
        assert!(first.as_mut().now_or_never().is_some());
    }
}
