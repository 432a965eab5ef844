//! Notices that are under way: so many at once, and so many of each client. One that hangs holds its own places until its time is over,
//! and nobody else's.

use std::collections::HashMap;
use std::time::Duration;

use sluice_commit::StoreError;
use sluice_protocol::ClientId;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::error;

use super::outbox::LeaseRoom;

/// How many are sent at once.
const NOTICES: u32 = 64;
/// How many of one client.
const OF_A_CLIENT: u32 = 8;
/// How long it takes at most until it is looked for others that are due.
const PATIENCE: Duration = Duration::from_secs(1);
/// What ends so soon after another makes room with it, for one lease.
const TOGETHER: Duration = Duration::from_millis(100);

/// Whether the store heard of it.
type Outcome = Result<(), StoreError>;

/// Deliveries that are under way. They end with this.
#[derive(Default)]
pub(super) struct UnderWay {
    deliveries: JoinSet<Outcome>,
    clients: HashMap<Id, ClientId>,
}

impl UnderWay {
    pub(super) fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
    }

    /// For how many more there is room.
    pub(super) fn room(&self) -> LeaseRoom {
        let taken = u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
        let under_way = self.clients.values().cloned().collect();
        LeaseRoom { notices: NOTICES.saturating_sub(taken), of_a_client: OF_A_CLIENT, under_way }
    }

    /// Begins the delivery of a notice to a client.
    pub(super) fn begin(
        &mut self,
        client: ClientId,
        delivery: impl Future<Output = Outcome> + Send + 'static,
    ) {
        let begun = self.deliveries.spawn(delivery);
        self.clients.insert(begun.id(), client);
    }

    /// Waits until some have ended, or so long that others may be due; what failed of those that have ended.
    pub(super) async fn some_ended(&mut self) -> Outcome {
        let Ok(Some(first)) = timeout(PATIENCE, self.deliveries.join_next_with_id()).await else {
            return Ok(());
        };
        sleep(TOGETHER).await;
        let mut outcome = self.note(first);
        while let Some(next) = self.deliveries.try_join_next_with_id() {
            outcome = outcome.and(self.note(next));
        }
        outcome
    }

    fn note(&mut self, ended: Result<(Id, Outcome), JoinError>) -> Outcome {
        let (id, outcome) = ended.unwrap_or_else(|cause| {
            error!(error = %cause, "a delivery broke off: it will be done again");
            (cause.id(), Ok(()))
        });
        self.clients.remove(&id);
        outcome
    }
}
