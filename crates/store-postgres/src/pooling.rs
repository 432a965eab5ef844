//! Pooling: whether a connection is one session of the server, on which all of this relies. A pooler that gives each transaction another one
//! (`pool_mode=transaction` of PgBouncer) has statements run that were prepared by others: all drivers name theirs alike.
//!
//! It is asked which process of the server answers, while another connection holds a transaction open: a pooler gives that one the process that it has
//! had back last. So the first one comes to another process then, or waits for this one, which was its own, too: sessions have no process in common. Who
//! waits for another reason, as for a server that is slow, or goes away, proves nothing.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::connection::Session;
use crate::dialer::Dialer;
use crate::error::{Failure, is_pooling_of_statements};

/// How long it is waited for each answer, for the other connection, and until that is gone.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked: other clients of a pooler may come between.
const LOOKS: usize = 3;
/// How often, and after which pauses, it is asked whether the server has let go of the other connection.
const GOODBYES: usize = 25;
const BETWEEN_GOODBYES: Duration = Duration::from_millis(10);

/// Refuses a connection that is not one session. What cannot be told, as where the server has no other connection left, is not refused.
///
/// # Errors
/// [`Failure::Pooled`] for such a connection.
pub(crate) async fn refuse(session: &Session, dialer: &Dialer) -> Result<(), Failure> {
    let Ok(Ok(other)) = timeout(PATIENCE, dialer.dial_beside()).await else { return Ok(()) };
    for _ in 0..LOOKS {
        match is_pooled(session, &other).await {
            Some(true) => return Err(Failure::Pooled),
            Some(false) => {}
            None => break,
        }
    }
    // Gone or not, it was not refused.
    let _ = timeout(PATIENCE, leave(session, other)).await;
    Ok(())
}

/// What one look tells, if anything.
async fn is_pooled(session: &Session, other: &Session) -> Option<bool> {
    if let Err(refused) = timeout(PATIENCE, other.client().batch_execute("BEGIN")).await.ok()? {
        // There are poolers without transactions.
        return is_pooling_of_statements(&refused).then_some(true);
    }
    let answer = timeout(PATIENCE, session.is_moved()).await;
    // A server that is slow leaves both without an answer.
    let is_kept_waiting = answer.is_err() && other.is_answered().await;
    // Whatever comes of it, the other connection is closed in the end.
    let _ = timeout(PATIENCE, other.client().batch_execute("ROLLBACK")).await;
    match answer {
        Ok(is_moved) => is_moved,
        Err(_) => (is_kept_waiting && session.has_the_process_of(other)).then_some(true),
    }
}

/// Returns when the server has let go of this connection: where a role may have few, the next is to have its place. A pooler may keep it.
async fn leave(session: &Session, other: Session) {
    let same_server = other.is_to_the_server_of(session);
    let Some(backend) = other.backend().filter(|_| same_server) else { return };
    drop(other);
    for _ in 0..GOODBYES {
        if !session.sees(backend).await {
            return;
        }
        sleep(BETWEEN_GOODBYES).await;
    }
}
