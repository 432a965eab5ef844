//! What waits for a thread: one bounded queue for each priority, under one lock that is held for moments only.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{PoolBusy, PoolMetrics};
use crate::password_hash::HashMemory;

/// After so many logins that went before a client that waits, the client has its turn: there may be a next login all the time.
const LOGINS_IN_A_ROW: u8 = 3;
/// What so many logins make up for at least. A client's job may take far longer, such as one for an old hash with many rounds: what it takes
/// beyond this, logins get so many times before the next.
const MADE_UP_FOR: Duration = Duration::from_millis(250);
/// No more than this is made up for.
const MOST_OWED: Duration = Duration::from_mins(1);

/// Who goes first. A lower one waits while a higher one has work, but that of clients has every fourth turn, and a quarter of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A person waits.
    Login = 0,
    /// A client waits: behind logins, of which no more than three in a row go first.
    ClientSecret = 1,
    /// Nobody waits.
    Hardening = 2,
}

impl Priority {
    /// All of them, the first first.
    pub const ALL: [Self; 3] = [Self::Login, Self::ClientSecret, Self::Hardening];
}

/// How many jobs of each priority may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Logins. Default: 64.
    pub login: usize,
    /// Client secrets. Default: 64.
    pub client_secret: usize,
    /// Hardening. Default: 16; its work waits in the store.
    pub hardening: usize,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { login: 64, client_secret: 64, hardening: 16 }
    }
}

impl QueueLimits {
    const fn of(&self, priority: Priority) -> usize {
        match priority {
            Priority::Login => self.login,
            Priority::ClientSecret => self.client_secret,
            Priority::Hardening => self.hardening,
        }
    }
}

/// Something to compute.
pub(super) trait Job: Send {
    /// Whether anybody still wants to know.
    fn is_awaited(&self) -> bool;
    /// Computes it.
    fn run(self: Box<Self>, memory: &mut HashMemory) -> Tell;
}

/// Hands the outcome of a job to whoever waits for it, or that it had not the memory that it needs.
pub(super) type Tell = Box<dyn FnOnce(Result<(), PoolBusy>) + Send>;

/// What a thread is told to do next.
pub(super) enum Next {
    Run(Priority, Box<dyn Job>),
    GiveMemoryBack,
    End,
}

#[derive(Default)]
struct Waiting {
    login: VecDeque<Box<dyn Job>>,
    client_secret: VecDeque<Box<dyn Job>>,
    hardening: VecDeque<Box<dyn Job>>,
    /// How many logins in a row went before a client that waits.
    went_before: u8,
    /// How much time logins are to have before a client goes before them once more.
    owed: Duration,
    stopped: bool,
}

impl Waiting {
    const fn of(&mut self, priority: Priority) -> &mut VecDeque<Box<dyn Job>> {
        match priority {
            Priority::Login => &mut self.login,
            Priority::ClientSecret => &mut self.client_secret,
            Priority::Hardening => &mut self.hardening,
        }
    }

    /// A job took so long.
    fn note(&mut self, priority: Priority, took: Duration) {
        match priority {
            Priority::Login => self.owed = self.owed.saturating_sub(took),
            Priority::ClientSecret if !self.login.is_empty() => {
                let more = took.saturating_sub(MADE_UP_FOR) * u32::from(LOGINS_IN_A_ROW);
                self.owed = self.owed.saturating_add(more).min(MOST_OWED);
            }
            Priority::ClientSecret | Priority::Hardening => {}
        }
    }

    /// Whether a client goes before the logins that wait.
    const fn is_client_due(&self) -> bool {
        self.went_before >= LOGINS_IN_A_ROW && self.owed.is_zero()
    }
}

pub(super) struct Queue {
    limits: QueueLimits,
    metrics: PoolMetrics,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Queue {
    pub(super) fn new(limits: QueueLimits, metrics: PoolMetrics) -> Self {
        Self { limits, metrics, waiting: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) const fn metrics(&self) -> &PoolMetrics {
        &self.metrics
    }

    /// Takes a job, unless too many wait. Jobs that nobody awaits any more make room.
    pub(super) fn push(&self, priority: Priority, job: Box<dyn Job>) -> Result<(), PoolBusy> {
        let mut waiting = self.waiting.lock();
        if waiting.stopped {
            return Err(PoolBusy::Stopped);
        }
        let (queue, limit) = (waiting.of(priority), self.limits.of(priority));
        if queue.len() >= limit {
            queue.retain(|job| job.is_awaited());
        }
        let taken = queue.len() < limit;
        if taken {
            queue.push_back(job);
        }
        self.metrics.depth(priority).store(queue.len(), Relaxed);
        drop(waiting);
        if !taken {
            self.metrics.rejected(priority).fetch_add(1, Relaxed);
            return Err(PoolBusy::QueueFull);
        }
        self.changed.notify_one();
        Ok(())
    }

    /// What a thread does next, after a job that took so long; waits for it. Waits no longer than `idle` if that is given.
    pub(super) fn next(&self, idle: Option<Duration>, last: Option<(Priority, Duration)>) -> Next {
        let mut waiting = self.waiting.lock();
        if let Some((priority, took)) = last {
            waiting.note(priority, took);
        }
        loop {
            if let Some((priority, job)) = self.take(&mut waiting) {
                return Next::Run(priority, job);
            }
            if waiting.stopped {
                return Next::End;
            }
            match idle {
                None => self.changed.wait(&mut waiting),
                Some(idle) => {
                    let timed_out = self.changed.wait_for(&mut waiting, idle).timed_out();
                    if timed_out {
                        // What came at the last moment goes first.
                        let job = self.take(&mut waiting);
                        return job.map_or(Next::GiveMemoryBack, |(priority, job)| Next::Run(priority, job));
                    }
                }
            }
        }
    }

    /// Takes no more; what waits is still handed out.
    pub(super) fn stop(&self) {
        self.waiting.lock().stopped = true;
        self.changed.notify_all();
    }

    fn take(&self, waiting: &mut Waiting) -> Option<(Priority, Box<dyn Job>)> {
        let due = waiting.is_client_due().then_some(Priority::ClientSecret);
        let (priority, job) = due
            .into_iter()
            .chain(Priority::ALL)
            .find_map(|priority| self.take_of(waiting, priority).map(|job| (priority, job)))?;
        let is_passed_over = priority == Priority::Login && !waiting.client_secret.is_empty();
        waiting.went_before = if is_passed_over { waiting.went_before.saturating_add(1) } else { 0 };
        Some((priority, job))
    }

    fn take_of(&self, waiting: &mut Waiting, priority: Priority) -> Option<Box<dyn Job>> {
        let queue = waiting.of(priority);
        let mut taken = queue.pop_front();
        while taken.as_ref().is_some_and(|job| !job.is_awaited()) {
            taken = queue.pop_front();
        }
        self.metrics.depth(priority).store(queue.len(), Relaxed);
        taken
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("limits", &self.limits)
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Job for Nothing {
        fn is_awaited(&self) -> bool {
            true
        }

        fn run(self: Box<Self>, _memory: &mut HashMemory) -> Tell {
            Box::new(|_| ())
        }
    }

    /// What goes in which order while both wait, where each login takes as long as `login`, and each client as long as `client`.
    fn order((login, client): (Duration, Duration), jobs: usize) -> String {
        let queue = Queue::new(QueueLimits::default(), PoolMetrics::default());
        let mut last = None;
        let mut order = String::new();
        for _ in 0..jobs {
            for priority in [Priority::Login, Priority::Login, Priority::ClientSecret] {
                let _ = queue.push(priority, Box::new(Nothing));
            }
            let Next::Run(priority, _) = queue.next(None, last) else { panic!("there is work") };
            let (letter, took) = if priority == Priority::Login { ('l', login) } else { ('c', client) };
            order.push(letter);
            last = Some((priority, took));
        }
        order
    }

    #[test]
    fn clients_whose_hashes_take_long_have_a_quarter_of_the_time() {
        let ms = Duration::from_millis;
        assert_eq!(order((ms(80), ms(80)), 12), "lllclllclllc");
        let long = order((ms(80), ms(1_250)), 1_000);
        let clients = long.matches('c').count();
        let (of_clients, of_logins) = (clients * 1_250, (1_000 - clients) * 80);
        assert!(clients > 10, "{clients}");
        assert!(
            of_clients * 3 <= of_logins + 3 * 1_250 + clients * 250 * 3,
            "{of_clients} ms, {of_logins} ms"
        );
    }
}
