//! Mails that go before others and are to be tried again: by when they are due again alone they would stand behind all that
//! came to wait before.

use std::collections::BTreeSet;
use std::mem;

use parking_lot::Mutex;
use sluice_primitives::{Lifetime, Timestamp};
use uuid::Uuid;

/// How many are remembered, the first that are due; what is beyond them waits like the others.
const CAPACITY: usize = 4_096;

/// What failed on this node and goes before others once it is due again. Key: when, and which. Bound: `CAPACITY`. Staleness:
/// none to speak of; what another node took meanwhile is left alone. Emptied as it falls due; what a node forgets by its end waits
/// like the others.
#[derive(Debug, Default)]
pub struct MailRetries(Mutex<BTreeSet<(Timestamp, Uuid)>>);

impl MailRetries {
    /// Remembers a mail that is due again at `due_at`.
    pub(super) fn keep(&self, id: Uuid, due_at: Timestamp) {
        let mut kept = self.0.lock();
        kept.insert((due_at, id));
        if kept.len() > CAPACITY {
            kept.pop_last();
        }
    }

    /// Takes out what is due by now, with when that was.
    pub(super) fn take_due(&self, now: Timestamp) -> BTreeSet<(Timestamp, Uuid)> {
        let mut kept = self.0.lock();
        let later = kept.split_off(&(now + Lifetime::millis(1), Uuid::nil()));
        mem::replace(&mut *kept, later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000_000);

    #[test]
    fn what_is_due_is_taken_out_once_and_the_rest_stays() {
        let retries = MailRetries::default();
        let mails = [(NOW, Uuid::max()), (NOW - Lifetime::secs(1), Uuid::nil())];
        let later = (NOW + Lifetime::millis(1), Uuid::nil());
        for (due_at, id) in mails.into_iter().chain([later]) {
            retries.keep(id, due_at);
        }
        assert_eq!(retries.take_due(NOW), BTreeSet::from(mails));
        assert_eq!(retries.take_due(NOW), BTreeSet::new());
        assert_eq!(retries.take_due(NOW + Lifetime::millis(1)), BTreeSet::from([later]));
    }

    #[test]
    fn no_more_are_remembered_than_may_be() {
        let retries = MailRetries::default();
        for n in 0..10_000 {
            retries.keep(Uuid::from_u128(n), NOW);
        }
        retries.keep(Uuid::nil(), NOW - Lifetime::secs(1));
        assert_eq!(retries.take_due(NOW - Lifetime::secs(1)).len(), 1, "who is due sooner has a place");
        assert_eq!(retries.take_due(NOW).len(), CAPACITY - 1);
    }
}
