//! What waits for a thread: one bounded queue for each priority, under one lock that is held for moments only.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{PoolBusy, PoolMetrics};
use crate::password_hash::HashMemory;

/// Who goes first. A lower one waits while a higher one has work, however long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A person waits.
    Login = 0,
    /// A client waits.
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

/// Hands the outcome of a job to whoever waits for it.
pub(super) type Tell = Box<dyn FnOnce() + Send>;

/// What a thread is told to do next.
pub(super) enum Next {
    Run(Box<dyn Job>),
    GiveMemoryBack,
    End,
}

#[derive(Default)]
struct Waiting {
    login: VecDeque<Box<dyn Job>>,
    client_secret: VecDeque<Box<dyn Job>>,
    hardening: VecDeque<Box<dyn Job>>,
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

    /// What a thread does next; waits for it. Waits no longer than `idle` if that is given.
    pub(super) fn next(&self, idle: Option<Duration>) -> Next {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(job) = self.take(&mut waiting) {
                return Next::Run(job);
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
                        return self.take(&mut waiting).map_or(Next::GiveMemoryBack, Next::Run);
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

    fn take(&self, waiting: &mut Waiting) -> Option<Box<dyn Job>> {
        Priority::ALL.into_iter().find_map(|priority| {
            let queue = waiting.of(priority);
            let mut taken = queue.pop_front();
            while taken.as_ref().is_some_and(|job| !job.is_awaited()) {
                taken = queue.pop_front();
            }
            self.metrics.depth(priority).store(queue.len(), Relaxed);
            taken
        })
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
