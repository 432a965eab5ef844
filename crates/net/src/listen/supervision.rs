//! Who has been slow or idle too long, and the drain: one list of all open connections.
//!
//! A connection has a [`Record`]: it counts requests there and finds its orders there. [`Supervision`] reads the counts
//! now and then and gives the orders.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::limits::Limits;
use super::record::{Order, Record};

/// The bounds of the time between two sweeps; a timeout is late by one sweep at most.
const SWEEP_INTERVAL: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
/// A connection may go so long without a new request though others wait for its place.
const LEAST_IDLE: Duration = Duration::from_secs(1);
/// One of so many connections is asked to make room at a time.
const ROOM: usize = 16;
/// What a client takes of its answers in [`Limits::untaken_timeout`] at least, in bytes.
const LEAST_TAKEN: i64 = 16 * 1024;
/// Over HTTP/1.1 it has so many times as long. What it takes is seen in lumps: this kernel asks for more when a third of what it holds is
/// gone, of up to 4 MiB.
const LUMPS: u32 = 5;

/// All open connections of a listener.
#[derive(Debug)]
pub(crate) struct Supervision {
    /// For later heads that have begun, too.
    first_request_timeout: Duration,
    /// When a connection is cut that was told that its first request is late, and is still there.
    first_request_cut: Duration,
    keep_alive_timeout: Duration,
    untaken_timeout: Duration,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// What all were told, and are told that are still to come.
    told: Order,
    entries: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    record: Arc<Record>,
    requests: u32,
    /// Since when no further request came.
    since: Instant,
    /// Since when the head of a further one is coming.
    head_since: Option<Instant>,
    /// What the client had taken when it was last seen to take enough, and when that was; `None`: not it alone is waited for.
    taken: Option<(i64, Instant)>,
}

impl Entry {
    /// Whether it is to make room for others: it was answered, or is being answered, and brings no further request. Who has brought none
    /// yet has little time as it is.
    fn may_make_room(&self, now: Instant) -> bool {
        self.requests > 0
            && self.record.order() < Order::Drain
            && now.saturating_duration_since(self.since) >= LEAST_IDLE
    }

    /// How long the head of a further request has been coming.
    fn head_waited(&mut self, now: Instant) -> Duration {
        if !self.record.has_begun_another() {
            self.head_since = None;
            return Duration::ZERO;
        }
        now.saturating_duration_since(*self.head_since.get_or_insert(now))
    }

    /// Whether the client of a connection that was told to end has kept it open for too long by what it does not take.
    fn is_given_up(&mut self, now: Instant, untaken_timeout: Duration) -> bool {
        let patience = if self.record.is_http2() { 1 } else { LUMPS };
        self.left_untaken(now) >= untaken_timeout.saturating_mul(patience)
    }

    /// How long the client of a connection that was told to end has kept it open by what it does not take.
    fn left_untaken(&mut self, now: Instant) -> Duration {
        let Some(taken) = self.record.taken_at_last() else {
            self.taken = None;
            return Duration::ZERO;
        };
        let (before, since) = *self.taken.get_or_insert((taken, now));
        if taken - before >= LEAST_TAKEN {
            self.taken = Some((taken, now));
            return Duration::ZERO;
        }
        now.saturating_duration_since(since)
    }
}

/// Keeps a connection in the list.
#[derive(Debug)]
pub(crate) struct Membership<'a> {
    supervision: &'a Supervision,
    number: u64,
    pub(crate) record: Arc<Record>,
}

impl Drop for Membership<'_> {
    fn drop(&mut self) {
        self.supervision.open.lock().entries.remove(&self.number);
    }
}

impl Supervision {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            first_request_timeout: limits.first_request_timeout,
            first_request_cut: limits.first_request_timeout + limits.linger.total,
            keep_alive_timeout: limits.keep_alive_timeout,
            untaken_timeout: limits.untaken_timeout,
            open: Mutex::default(),
        }
    }

    /// How often to sweep for timeouts such as these.
    pub(crate) fn sweep_interval(limits: &Limits) -> Duration {
        let (least, most) = SWEEP_INTERVAL;
        (limits.first_request_timeout.min(limits.keep_alive_timeout) / 4).clamp(least, most)
    }

    /// Enters a connection, which is told at once what all others were.
    pub(crate) fn enter(&self) -> Membership<'_> {
        let record = Arc::new(Record::default());
        let entry = Entry {
            record: record.clone(),
            requests: 0,
            since: Instant::now(),
            head_since: None,
            taken: None,
        };
        let mut open = self.open.lock();
        record.give(open.told);
        let number = open.next;
        open.next += 1;
        open.entries.insert(number, entry);
        Membership { supervision: self, number, record }
    }

    /// Ends who has not brought a request, drains who has brought none for long, or has begun one and does not go on, and ends who
    /// was drained and does not take what is left.
    pub(crate) fn sweep(&self, now: Instant) {
        for entry in self.open.lock().entries.values_mut() {
            let requests = entry.record.requests();
            let waited = now.saturating_duration_since(entry.since);
            let head_waited = entry.head_waited(now);
            if entry.is_given_up(now, self.untaken_timeout) {
                entry.record.give(Order::Cut);
            }
            if requests != entry.requests {
                entry.requests = requests;
                entry.since = now;
                entry.head_since = None;
            } else if requests == 0 && waited >= self.first_request_cut {
                entry.record.give(Order::Cut);
            } else if requests == 0 && waited >= self.first_request_timeout {
                entry.record.give(Order::Late);
            } else if head_waited >= self.first_request_timeout {
                entry.record.end_late_head();
            } else if waited >= self.keep_alive_timeout {
                entry.record.give(Order::Drain);
            }
        }
    }

    /// Asks those to end that have been idle longest: others wait for a place.
    pub(crate) fn make_room(&self, now: Instant) {
        let open = self.open.lock();
        let mut idle: Vec<_> = open.entries.values().filter(|entry| entry.may_make_room(now)).collect();
        let most = open.entries.len().div_ceil(ROOM);
        if most < idle.len() {
            idle.select_nth_unstable_by_key(most, |entry| entry.since);
        }
        idle.iter().take(most).for_each(|entry| entry.record.give(Order::Drain));
    }

    /// Lets every connection end after its next answer, those that are still to come too: a request may be on its way to one that is
    /// idle, and could not be sent again if it was closed. Over HTTP/2 all are drained at once: how that begins, nothing is lost (RFC 9113
    /// §6.8).
    pub(crate) fn let_all_leave(&self) {
        let mut open = self.open.lock();
        open.told = Order::Leave;
        for entry in open.entries.values() {
            let order = if entry.record.is_http2() { Order::Drain } else { Order::Leave };
            entry.record.give(order);
        }
    }

    /// Lets every connection finish what is in flight, those that are still to come too.
    pub(crate) fn drain_all(&self) {
        self.tell_all(Order::Drain);
    }

    /// Ends every connection, those that are still to come too; says how many there were.
    pub(crate) fn cut_all(&self) -> usize {
        self.tell_all(Order::Cut)
    }

    /// Says how many were told.
    fn tell_all(&self, order: Order) -> usize {
        let mut open = self.open.lock();
        open.told = order;
        open.entries.values().for_each(|entry| entry.record.give(order));
        open.entries.len()
    }
}

#[cfg(test)]
mod tests;
