//! Lines with one address or one id take turns, in the order in which they are in the file: the first is to be the person, also
//! if the store does not take it at once, and of those that it gets at once would take another.

use std::sync::Arc;

use futures_util::future::join;
use sluice_crypto::digest::sha256;
use sluice_primitives::IdentityId;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::coop::unconstrained;

use crate::identity::LoginNameHash;

/// One for each two bytes that the hash of an address or an id may begin with: so many that others seldom wait.
const PLACES: usize = 1 << 16;

/// Whose turn it is. Clones share it; it does not grow.
#[derive(Clone)]
pub(super) struct Turns {
    names: Places,
    ids: Places,
}

/// Where those wait whose hashes begin alike.
type Places = Arc<[Mutex<()>]>;
/// What is given back: the place of the address, and that of the id.
type Turn<'a> = (Option<MutexGuard<'a, ()>>, Option<MutexGuard<'a, ()>>);

impl Turns {
    pub(super) fn new() -> Self {
        let places = || -> Places { (0..PLACES).map(|_| Mutex::new(())).collect() };
        Self { names: places(), ids: places() }
    }

    /// Waits for those with the same address or the same id that asked before, until they give back what they got. An id that was
    /// made up is nobody else's.
    pub(super) async fn of(&self, name: &LoginNameHash, id: Option<IdentityId>) -> Turn<'_> {
        let id = id.map(|id| sha256(id.as_bytes()));
        // In both queues at once: who waited for the address first would let others with the same id go by. As each stands
        // behind those that asked before and behind nobody else, no two wait for each other.
        join(wait(&self.names, Some(name)), wait(&self.ids, id.as_ref())).await
    }
}

/// Waits for a place. There always is one.
async fn wait<'a>(places: &'a [Mutex<()>], hash: Option<&[u8; 32]>) -> Option<MutexGuard<'a, ()>> {
    let [first, second, ..] = *hash?;
    let place = places.get(usize::from(u16::from_be_bytes([first, second])))?;
    // A task that has used up its time would be sent away before it stands in the queue, and others come before it.
    Some(unconstrained(place.lock()).await)
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
        let held = turns.of(&name, None).await;
        let mut first = pin!(turns.of(&name, None));
        let mut second = pin!(turns.of(&name, None));
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
    #[tokio::test]
    async fn who_waits_for_an_address_stands_in_the_queue_of_the_id_meanwhile() {
        let (turns, id) = (Turns::new(), Some(IdentityId::from_bytes([5; 16])));
        let held = turns.of(&[7; 32], None).await;
        let mut first = pin!(turns.of(&[7; 32], id));
        let mut second = pin!(turns.of(&[8; 32], id));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        drop(held);
        let turn = first.as_mut().now_or_never();
        assert!(turn.is_some());
        assert!(second.as_mut().now_or_never().is_none());
        drop(turn);
        assert!(second.as_mut().now_or_never().is_some());
    }
}
