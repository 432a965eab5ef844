//! Where slow hashes run: a few threads of their own, so that hashing never holds up a request that does not hash, and
//! never needs more than `threads × max_memory_kib` of memory.
//!
//! [`Priority`]: a login goes before a client secret, but not more than three in a row do, and both before hardening; each has
//! a bounded queue and a full one refuses ([`PoolBusy::QueueFull`]: 503 or 429 with `Retry-After`), as does a system that has no
//! memory for a hash ([`PoolBusy::NoMemory`]), whatever the job makes of that. `queue`: what waits. `wait`: for how long, which is
//! bounded where people wait. [`PoolMetrics`]: what is published.
//!
//! A job whose future was dropped before it began is not run, nor is one with a place that was kept for it
//! ([`ReservedPlace`]) whose client has left by then ([`unheard`]). A job that panics takes its caller with it, not its
//! thread. A thread that finds no memory leaves what waits to those that have some, for a while.

mod heard;
mod metrics;
mod place;
mod queue;
mod wait;
mod worker;

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use thiserror::Error;

pub use heard::{is_heard, unheard};
pub use metrics::PoolMetrics;
pub use place::ReservedPlace;
pub use queue::{Priority, QueueLimits};

use crate::password_hash::HashMemory;
use queue::{Giving, Queue};

/// Why a job was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PoolBusy {
    /// As many jobs of this priority wait as may, or this one would wait, or has waited, for too long: try again later.
    #[error("too many hashes are waiting")]
    QueueFull {
        /// How long those take that wait now, as far as is known; 10 s at most.
        wait: Duration,
    },
    /// The system gives no memory for it now: try again later.
    #[error("there is no memory for a hash now")]
    NoMemory,
    /// Whoever asked for it has left before it began: nobody hears this.
    #[error("whoever asked has left before the hash was computed")]
    Unheard,
    /// The pool is shutting down.
    #[error("the hash pool is shutting down")]
    Stopped,
}

impl PoolBusy {
    /// When trying again may help, if that is known.
    pub const fn wait(self) -> Option<Duration> {
        match self {
            Self::QueueFull { wait } => Some(wait),
            Self::NoMemory | Self::Unheard | Self::Stopped => None,
        }
    }
}

/// How large a pool is.
#[derive(Debug, Clone)]
pub struct HashPoolConfig {
    /// How many threads hash. Default: as many as there are cores.
    pub threads: NonZeroUsize,
    /// What one hash may need, in KiB; a stored hash that needs more cannot be verified. Default: 256 MiB, four times
    /// the default of [`crate::password_hash::Argon2Params`].
    pub max_memory_kib: u32,
    /// How many jobs may wait.
    pub queues: QueueLimits,
    /// For how long a login may wait: one that is expected to wait for longer is refused at once, and one that has is not computed any more.
    /// Where two hashes take longer, for as long as those. Default: 2 s; who waits for longer gives up and tries again.
    pub longest_wait: Duration,
    /// After how long without work a thread gives its memory back. Default: 10 s.
    pub idle: Duration,
    /// How much lower than the program the threads are scheduled, as a nice value (Linux only). Default: 5.
    pub niceness: u8,
}

impl Default for HashPoolConfig {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            max_memory_kib: 256 * 1024,
            queues: QueueLimits::default(),
            longest_wait: Duration::from_secs(2),
            idle: Duration::from_secs(10),
            niceness: 5,
        }
    }
}

/// The pool. Dropping it shuts it down.
#[derive(Debug)]
pub struct HashPool {
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl HashPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// What the operating system says if it starts no thread.
    pub fn start(config: &HashPoolConfig) -> std::io::Result<Self> {
        let pool = Self { queue: Arc::new(Queue::new(config)), threads: Mutex::default() };
        for number in 0..config.threads.get() {
            let thread = worker::start(number, Arc::clone(&pool.queue), config)?;
            pool.threads.lock().push(thread);
        }
        Ok(pool)
    }

    /// Queues `work` at once, not when the future is first polled. The future answers when the work is done; if it is
    /// dropped before the work began, the work is not done. Of a client that has left ([`unheard`]) it is done all the same, and however
    /// long it waits: something may have been written, or spent, before.
    ///
    /// # Errors
    /// [`PoolBusy`] if as many jobs of this priority wait as may, there is no memory for the work, or the pool was shut down.
    ///
    /// # Panics
    /// The future panics if `work` does.
    pub fn run<T, F>(
        &self,
        priority: Priority,
        work: F,
    ) -> impl Future<Output = Result<T, PoolBusy>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&mut HashMemory) -> T + Send + 'static,
    {
        let answer = ReservedPlace::of(&self.queue, priority, Giving::Never).map(|place| place.run(work));
        async move { answer?.await }
    }

    /// Keeps a place for work that nothing was written for yet, before anything is asked of others that the work needs. Of a client that has
    /// left, it is not done unless it has begun.
    ///
    /// # Errors
    /// [`PoolBusy`] if the queue of this priority is full, the client has left, or the pool was shut down.
    pub fn reserve(&self, priority: Priority) -> Result<ReservedPlace, PoolBusy> {
        if !is_heard() {
            return Err(PoolBusy::Unheard);
        }
        ReservedPlace::of(&self.queue, priority, Giving::InVain)
    }

    /// How many logins may wait for their hash at a time, as long as hashes take what they take now: of so many anybody has a share.
    pub fn login_places(&self) -> usize {
        self.queue.login_places()
    }

    /// What is published about the pool.
    pub fn metrics(&self) -> &PoolMetrics {
        self.queue.metrics()
    }

    /// Takes no more work, finishes what waits, and returns when all threads have ended. Blocks, so it is not for an
    /// async thread; a second call returns at once.
    pub fn shutdown(&self) {
        self.queue.stop();
        let threads = std::mem::take(&mut *self.threads.lock());
        let this = std::thread::current().id();
        // A job may hold the last reference to its pool: then its thread ends by itself.
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != this) {
            // A thread that panicked has nothing left to finish.
            let _ = thread.join();
        }
    }
}

impl Drop for HashPool {
    fn drop(&mut self) {
        self.shutdown();
    }
}
