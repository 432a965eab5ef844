//! What waits for a thread: one bounded queue for each priority, under one lock that is held for moments only. That of logins is bounded
//! by time, too: who would wait too long is refused when they come, or when their turn comes after all. What follows something that was
//! spent waits however long it takes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::wait::{MeanDuration, Patience, told};
use super::{HashPoolConfig, PoolBusy, PoolMetrics};
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
    /// Logins, and new passwords. Default: 64; fewer logins where they would wait longer than [`HashPoolConfig::longest_wait`].
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

/// When a job is given up that has not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Giving {
    /// When it is in vain: its client has left, or, of a login, it would wait, or has waited, for too long.
    InVain,
    /// Never: something may have been spent for it.
    Never,
}

/// Something to compute.
pub(super) trait Job: Send {
    /// Whether it is computed however long it has waited.
    fn may_be_late(&self) -> bool;
    /// Whether anybody still wants to know.
    fn is_awaited(&self) -> bool;
    /// Whether it begins: it does not if nobody wants to know. From now on nobody gives it up.
    fn begins(&self) -> bool;
    /// Computes it.
    fn run(self: Box<Self>, memory: &mut HashMemory) -> Tell;
    /// Tells whoever waits for it why it is not computed.
    fn refuse(self: Box<Self>, busy: PoolBusy);
}

/// Hands the outcome of a job to whoever waits for it, or that it had not the memory that it needs.
pub(super) type Tell = Box<dyn FnOnce(Result<(), PoolBusy>) + Send>;

/// What a thread is told to do next.
pub(super) enum Next {
    Run(Priority, Box<dyn Job>),
    /// It waited for too long.
    Refuse(Priority, Box<dyn Job>, PoolBusy),
    GiveMemoryBack,
    End,
}

struct Entry {
    job: Box<dyn Job>,
    since: Instant,
}

/// What waits with one priority.
#[derive(Default)]
struct Line {
    jobs: VecDeque<Entry>,
    /// Places of jobs that are yet to come.
    reserved: usize,
    /// How long these jobs take.
    mean: MeanDuration,
}

impl Line {
    fn taken(&self) -> usize {
        self.jobs.len().saturating_add(self.reserved)
    }
}

#[derive(Default)]
struct Waiting {
    login: Line,
    client_secret: Line,
    hardening: Line,
    /// How many logins in a row went before a client that waits.
    went_before: u8,
    /// How much time logins are to have before a client goes before them once more.
    owed: Duration,
    stopped: bool,
}

impl Waiting {
    const fn of(&self, priority: Priority) -> &Line {
        match priority {
            Priority::Login => &self.login,
            Priority::ClientSecret => &self.client_secret,
            Priority::Hardening => &self.hardening,
        }
    }

    const fn of_mut(&mut self, priority: Priority) -> &mut Line {
        match priority {
            Priority::Login => &mut self.login,
            Priority::ClientSecret => &mut self.client_secret,
            Priority::Hardening => &mut self.hardening,
        }
    }

    /// A job took so long.
    fn note(&mut self, priority: Priority, took: Duration) {
        self.of_mut(priority).mean.note(took);
        match priority {
            Priority::Login => self.owed = self.owed.saturating_sub(took),
            Priority::ClientSecret if !self.login.jobs.is_empty() => {
                let more = took.saturating_sub(MADE_UP_FOR) * u32::from(LOGINS_IN_A_ROW);
                self.owed = self.owed.saturating_add(more).min(MOST_OWED);
            }
            Priority::ClientSecret | Priority::Hardening => {}
        }
    }

    /// How long the clients take that go before a login which came now: those that wait have every fourth turn, but none while logins are
    /// owed time.
    fn clients_before_login(&self) -> Duration {
        let (ahead, clients) = (self.login.taken(), &self.client_secret);
        if self.login.mean.of(ahead) <= self.owed {
            return Duration::ZERO;
        }
        clients.mean.of(clients.jobs.len().min(ahead / usize::from(LOGINS_IN_A_ROW)))
    }

    /// Whether a client goes before the logins that wait.
    const fn is_client_due(&self) -> bool {
        self.went_before >= LOGINS_IN_A_ROW && self.owed.is_zero()
    }
}

pub(super) struct Queue {
    limits: QueueLimits,
    patience: Patience,
    metrics: PoolMetrics,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Queue {
    pub(super) fn new(config: &HashPoolConfig) -> Self {
        Self {
            limits: config.queues,
            patience: Patience::new(config.longest_wait, config.threads),
            metrics: PoolMetrics::default(),
            waiting: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) const fn metrics(&self) -> &PoolMetrics {
        &self.metrics
    }

    /// How many logins may wait, as long as they take what they take now.
    pub(super) fn login_places(&self) -> usize {
        let mean = self.waiting.lock().login.mean;
        self.limits.login.min(self.patience.places(mean))
    }

    /// Keeps a place for a job that comes later, unless too many wait, or it would wait too long and is given up then. Jobs that nobody
    /// awaits any more make room.
    pub(super) fn reserve(&self, priority: Priority, giving: Giving) -> Result<(), PoolBusy> {
        let mut waiting = self.waiting.lock();
        if waiting.stopped {
            return Err(PoolBusy::Stopped);
        }
        let mut has_room = self.has_room(&waiting, (priority, giving));
        if !has_room {
            let line = waiting.of_mut(priority);
            line.jobs.retain(|entry| entry.job.is_awaited());
            self.metrics.depth(priority).store(line.jobs.len(), Relaxed);
            has_room = self.has_room(&waiting, (priority, giving));
        }
        if has_room {
            waiting.of_mut(priority).reserved += 1;
            return Ok(());
        }
        let full = self.full(&waiting, priority);
        drop(waiting);
        self.metrics.rejected(priority).fetch_add(1, Relaxed);
        Err(full)
    }

    /// Gives a place back that is not needed.
    pub(super) fn give_back(&self, priority: Priority) {
        let mut waiting = self.waiting.lock();
        let line = waiting.of_mut(priority);
        line.reserved = line.reserved.saturating_sub(1);
    }

    /// Takes a job into the place that was reserved for it.
    pub(super) fn push(&self, priority: Priority, job: Box<dyn Job>) -> Result<(), PoolBusy> {
        self.push_at(Instant::now(), priority, job)
    }

    fn push_at(&self, since: Instant, priority: Priority, job: Box<dyn Job>) -> Result<(), PoolBusy> {
        let mut waiting = self.waiting.lock();
        let stopped = waiting.stopped;
        let line = waiting.of_mut(priority);
        line.reserved = line.reserved.saturating_sub(1);
        if stopped {
            return Err(PoolBusy::Stopped);
        }
        line.jobs.push_back(Entry { job, since });
        self.metrics.depth(priority).store(line.jobs.len(), Relaxed);
        drop(waiting);
        self.changed.notify_one();
        Ok(())
    }

    fn has_room(&self, waiting: &Waiting, (priority, giving): (Priority, Giving)) -> bool {
        let is_full = waiting.of(priority).taken() >= self.limits.of(priority);
        let is_timed = priority == Priority::Login && giving == Giving::InVain;
        let is_too_long = || self.patience.is_too_long(self.expected(waiting, priority), waiting.login.mean);
        let is_refused = is_full || (is_timed && is_too_long());
        !is_refused
    }

    /// How long a job would wait that came now: for those of its priority and, of logins, for the clients that go between them. Places of
    /// jobs that are yet to come count: who come all at once are not told to wait, and refused when they have.
    fn expected(&self, waiting: &Waiting, priority: Priority) -> Duration {
        let line = waiting.of(priority);
        let of_clients = match priority {
            Priority::Login => waiting.clients_before_login(),
            Priority::ClientSecret | Priority::Hardening => Duration::ZERO,
        };
        self.patience.expected(line.mean.of(line.taken()).saturating_add(of_clients))
    }

    fn full(&self, waiting: &Waiting, priority: Priority) -> PoolBusy {
        PoolBusy::QueueFull { wait: told(self.expected(waiting, priority)) }
    }

    /// What a thread does next, after a job that took so long; waits for it. Waits no longer than `idle` if that is given.
    pub(super) fn next(&self, idle: Option<Duration>, last: Option<(Priority, Duration)>) -> Next {
        let mut waiting = self.waiting.lock();
        if let Some((priority, took)) = last {
            waiting.note(priority, took);
        }
        loop {
            if let Some(next) = self.take(&mut waiting, Instant::now()) {
                return next;
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
                        return self.take(&mut waiting, Instant::now()).unwrap_or(Next::GiveMemoryBack);
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

    fn take(&self, waiting: &mut Waiting, now: Instant) -> Option<Next> {
        let due = waiting.is_client_due().then_some(Priority::ClientSecret);
        let (priority, Entry { job, since }) = due
            .into_iter()
            .chain(Priority::ALL)
            .find_map(|priority| self.take_of(waiting, priority).map(|entry| (priority, entry)))?;
        let is_timed = priority == Priority::Login && !job.may_be_late();
        if is_timed && self.patience.is_over(now.saturating_duration_since(since), waiting.login.mean) {
            // That was nobody's turn.
            return Some(Next::Refuse(priority, job, self.full(waiting, priority)));
        }
        let is_passed_over = priority == Priority::Login && !waiting.client_secret.jobs.is_empty();
        waiting.went_before = if is_passed_over { waiting.went_before.saturating_add(1) } else { 0 };
        Some(Next::Run(priority, job))
    }

    fn take_of(&self, waiting: &mut Waiting, priority: Priority) -> Option<Entry> {
        let jobs = &mut waiting.of_mut(priority).jobs;
        let mut taken = jobs.pop_front();
        while taken.as_ref().is_some_and(|entry| !entry.job.begins()) {
            taken = jobs.pop_front();
        }
        self.metrics.depth(priority).store(jobs.len(), Relaxed);
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
mod tests;
