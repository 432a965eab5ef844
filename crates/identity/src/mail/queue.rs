//! How a message gets into the outbox.

use std::fmt;
use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, Rng};
use uuid::Uuid;

use super::message::Message;
use super::repository::{MailRepository, QueuedMail};

/// Puts messages into the outbox.
pub struct MailQueue {
    /// Where they wait.
    pub outbox: Arc<dyn MailRepository>,
    /// Seals them, at rest.
    pub sealer: Arc<Sealer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl MailQueue {
    /// The message as it is queued, for those that have a transaction of their own for it.
    pub fn sealed(&self, message: &Message) -> QueuedMail {
        let now = self.clock.now();
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        let random = random_bytes(&*self.rng);
        QueuedMail {
            id: uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid(),
            sealed: message.seal(now, &self.sealer, &*self.rng),
            due_at: message.kind.due_at(now),
        }
    }

    /// Queues the message; its id.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot do it now.
    pub async fn queue(&self, message: &Message) -> Result<Uuid, StoreError> {
        let mail = self.sealed(message);
        self.outbox.queue(&mail).await?;
        Ok(mail.id)
    }
}

impl fmt::Debug for MailQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailQueue").finish_non_exhaustive()
    }
}
