//! Who has been slow or idle too long, and the drain: one list of all open connections.
//!
//! A connection has a [`Record`]: it counts requests there and finds its orders there. [`Supervision`] reads the counts
//! now and then and gives the orders.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::limits::Limits;

/// The bounds of the time between two sweeps; a timeout is late by one sweep at most.
const SWEEP_INTERVAL: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// What a connection is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Order {
    Continue,
    /// Finish what is in flight and end.
    Drain,
    /// End now.
    Cut,
}

/// One connection, as both sides see it.
#[derive(Debug, Default)]
pub(crate) struct Record {
    requests: AtomicU32,
    order: AtomicU8,
    waker: AtomicWaker,
}

impl Record {
    /// Notes that a request arrived.
    pub(crate) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives an order, unless a stricter one was given.
    fn give(&self, order: Order) {
        if self.order.fetch_max(order as u8, Ordering::AcqRel) < order as u8 {
            self.waker.wake();
        }
    }

    fn order(&self) -> Order {
        match self.order.load(Ordering::Acquire) {
            0 => Order::Continue,
            1 => Order::Drain,
            _ => Order::Cut,
        }
    }

    /// Runs a connection under orders. `None` if it was cut.
    pub(crate) async fn supervise<C: Drainable>(&self, mut connection: Pin<&mut C>) -> Option<C::Output> {
        let mut draining = false;
        poll_fn(|context: &mut Context<'_>| {
            self.waker.register(context.waker());
            match self.order() {
                Order::Cut => return Poll::Ready(None),
                Order::Drain if !draining => {
                    draining = true;
                    connection.as_mut().drain();
                }
                Order::Drain | Order::Continue => {}
            }
            connection.as_mut().poll(context).map(Some)
        })
        .await
    }
}

/// A connection that can be told to end after what is in flight.
pub(crate) trait Drainable: Future {
    /// Begins to end.
    fn drain(self: Pin<&mut Self>);
}

/// All open connections of a listener.
#[derive(Debug)]
pub(crate) struct Supervision {
    first_request_timeout: Duration,
    keep_alive_timeout: Duration,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    draining: bool,
    entries: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    record: Arc<Record>,
    requests: u32,
    /// Since when no further request came.
    since: Instant,
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
            keep_alive_timeout: limits.keep_alive_timeout,
            open: Mutex::default(),
        }
    }

    /// How often to sweep for timeouts such as these.
    pub(crate) fn sweep_interval(limits: &Limits) -> Duration {
        let (least, most) = SWEEP_INTERVAL;
        (limits.first_request_timeout.min(limits.keep_alive_timeout) / 4).clamp(least, most)
    }

    /// Enters a connection, which begins to drain at once if the listener already does.
    pub(crate) fn enter(&self) -> Membership<'_> {
        let record = Arc::new(Record::default());
        let entry = Entry { record: record.clone(), requests: 0, since: Instant::now() };
        let mut open = self.open.lock();
        if open.draining {
            record.give(Order::Drain);
        }
        let number = open.next;
        open.next += 1;
        open.entries.insert(number, entry);
        Membership { supervision: self, number, record }
    }

    /// Cuts who has not brought a request, drains who has brought none for long.
    pub(crate) fn sweep(&self, now: Instant) {
        for entry in self.open.lock().entries.values_mut() {
            let requests = entry.record.requests.load(Ordering::Relaxed);
            let waited = now.saturating_duration_since(entry.since);
            if requests != entry.requests {
                entry.requests = requests;
                entry.since = now;
            } else if requests == 0 && waited >= self.first_request_timeout {
                entry.record.give(Order::Cut);
            } else if waited >= self.keep_alive_timeout {
                entry.record.give(Order::Drain);
            }
        }
    }

    /// Lets every connection finish what is in flight, those that are still to come too.
    pub(crate) fn drain_all(&self) {
        let mut open = self.open.lock();
        open.draining = true;
        open.entries.values().for_each(|entry| entry.record.give(Order::Drain));
    }

    /// Ends every connection; says how many there were.
    pub(crate) fn cut_all(&self) -> usize {
        let open = self.open.lock();
        open.entries.values().for_each(|entry| entry.record.give(Order::Cut));
        open.entries.len()
    }
}
