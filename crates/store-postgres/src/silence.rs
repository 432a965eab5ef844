//! Silence: what a link does about sessions that fall silent one after the other.
//!
//! One may be half open, so another is dialled at once. If that falls silent as well, it is the server that hangs, as in commits that wait
//! for a standby. It does not notice that nobody waits any more, and keeps the process of each connection that is given up, until it has
//! none left for anybody. So a link rests before it dials again, each time for longer. Meanwhile it listens to the session that it gave up:
//! the first word from there ends the rest, and so does a move to another server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::connection::Session;

const SHORTEST_REST: Duration = Duration::from_secs(6);
/// A session that lasted for as long is not one of a row.
const LONGEST_REST: Duration = Duration::from_mins(5);

/// The sessions of a link that fell silent one after the other.
#[derive(Default)]
pub(crate) struct Silences(Mutex<Row>);

#[derive(Default)]
struct Row {
    length: u32,
    rest: Option<Rest>,
}

/// A rest, until nobody listens any more.
struct Rest {
    session: Weak<Session>,
    listening: AbortHandle,
    /// The server came to it: its process is free, and so is the way to it.
    is_answered: Arc<AtomicBool>,
}

impl Silences {
    /// Whether nothing is to be dialled yet.
    pub(crate) fn is_resting(&self) -> bool {
        self.0.lock().rest.as_ref().is_some_and(|rest| !rest.listening.is_finished() && !rest.is_left())
    }

    /// Gives up a session that fell silent; a rest begins if it is not the first.
    pub(crate) fn add(&self, session: &Arc<Session>) {
        let mut row = self.0.lock();
        let is_over =
            row.rest.as_ref().is_some_and(|rest| rest.is_answered.load(Ordering::Acquire) || rest.is_left());
        if is_over || session.age() >= LONGEST_REST {
            row.length = 0;
        }
        match rest_after(row.length) {
            None => session.give_up(),
            Some(pause) => row.rest = Some(Rest::begin(session.clone(), pause)),
        }
        row.length = row.length.saturating_add(1);
    }

    /// Gives up the session of a rest, which ends with it.
    pub(crate) fn end(&self) {
        if let Some(rest) = self.0.lock().rest.take() {
            rest.listening.abort();
            if let Some(session) = rest.session.upgrade() {
                session.give_up();
            }
        }
    }
}

impl Drop for Silences {
    fn drop(&mut self) {
        self.end();
    }
}

impl Rest {
    fn begin(session: Arc<Session>, pause: Duration) -> Self {
        let (known, is_answered) = (Arc::downgrade(&session), Arc::new(AtomicBool::new(false)));
        let answered = Arc::clone(&is_answered);
        let listening = tokio::spawn(async move {
            match timeout(pause, session.client().batch_execute("")).await {
                Ok(Ok(())) => answered.store(true, Ordering::Release),
                // It may have died on the way here: that says nothing of the server, but there is nothing left to listen to.
                Ok(Err(failure)) => answered.store(failure.as_db_error().is_some(), Ordering::Release),
                Err(_) => session.give_up(),
            }
        });
        Self { session: known, listening: listening.abort_handle(), is_answered }
    }

    /// Whether the node has moved to another server, of which the silence of this one says nothing.
    fn is_left(&self) -> bool {
        self.session.upgrade().is_some_and(|session| session.is_left())
    }
}

/// How long a link rests after a session that fell silent, as so many before it did. Not at all after the first.
fn rest_after(others: u32) -> Option<Duration> {
    let doublings = others.checked_sub(1)?;
    Some(SHORTEST_REST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_REST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_replaced_at_once_and_those_behind_it_later_each_time() {
        let rests: Vec<_> = (0..4).map(|others| rest_after(others).map(|rest| rest.as_secs())).collect();
        assert_eq!(rests, [None, Some(6), Some(12), Some(24)]);
        for many in [7, 100, u32::MAX] {
            assert_eq!(rest_after(many), Some(LONGEST_REST), "{many}");
        }
    }
}
