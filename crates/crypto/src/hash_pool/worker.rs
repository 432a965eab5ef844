//! One thread of the pool, with memory of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::queue::{Job, Next, Priority, Queue, Tell};
use super::{HashPoolConfig, PoolBusy, PoolMetrics};
use crate::password_hash::{HashMemory, is_there};

/// How often a thread that found no memory looks for some.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// So long it leaves what waits to others: what comes next may need less.
const LONGEST_REST: Duration = Duration::from_secs(1);

pub(super) fn start(
    number: usize,
    queue: Arc<Queue>,
    config: &HashPoolConfig,
) -> std::io::Result<JoinHandle<()>> {
    let (memory, idle) = (HashMemory::with_limit(config.max_memory_kib), config.idle);
    let niceness = config.niceness;
    thread::Builder::new().name(format!("hash-{number}")).spawn(move || {
        lower_priority(niceness);
        work(&queue, memory, idle);
    })
}

fn work(queue: &Queue, mut memory: HashMemory, idle: Duration) {
    let metrics = queue.metrics();
    let mut last = None;
    loop {
        let held = memory.held_kib();
        let mut done = None;
        match queue.next((held > 0).then_some(idle), last.take()) {
            Next::Run(priority, job) => {
                let began = Instant::now();
                let (tell, lacked) = run((priority, job), &mut memory, metrics);
                // One without memory is over at once, and tells nothing of how long the others take.
                last = lacked.is_none().then(|| (priority, began.elapsed()));
                done = Some((tell, lacked));
            }
            Next::Refuse(priority, job, busy) => {
                metrics.rejected(priority).fetch_add(1, Relaxed);
                job.refuse(busy);
            }
            Next::GiveMemoryBack => memory.release(),
            Next::End => break,
        }
        metrics.held_kib.fetch_add(memory.held_kib(), Relaxed);
        metrics.held_kib.fetch_sub(held, Relaxed);
        // Last, so that whoever hears of a job finds it counted.
        if let Some((tell, lacked)) = done {
            tell(if lacked.is_some() { Err(PoolBusy::NoMemory) } else { Ok(()) });
            if let Some(blocks) = lacked {
                leave_to_others(blocks, memory.held_kib(), metrics);
            }
        }
    }
    metrics.held_kib.fetch_sub(memory.held_kib(), Relaxed);
}

/// Runs and counts a job; how to tell what came of it, and how many blocks the system had not for it.
fn run(
    (priority, job): (Priority, Box<dyn Job>),
    memory: &mut HashMemory,
    metrics: &PoolMetrics,
) -> (Tell, Option<usize>) {
    metrics.busy.fetch_add(1, Relaxed);
    let tell = job.run(memory);
    metrics.busy.fetch_sub(1, Relaxed);
    let lacked = memory.lacked();
    let counted = if lacked.is_none() { &metrics.done } else { metrics.rejected(priority) };
    counted.fetch_add(1, Relaxed);
    (tell, lacked)
}

/// Leaves what waits to threads that have memory, while there are any and not so many blocks for this one, which holds so much:
/// it would refuse in a moment what they get to in a while.
fn leave_to_others(blocks: usize, own_kib: usize, metrics: &PoolMetrics) {
    let began = Instant::now();
    let have_others = || metrics.busy.load(Relaxed) > 0 || metrics.held_kib.load(Relaxed) > own_kib;
    while began.elapsed() < LONGEST_REST && have_others() && !is_there(blocks) {
        thread::sleep(LOOK_EVERY);
    }
}

/// Linux schedules threads one by one and takes no process for "the process": this thread alone steps back.
#[cfg(target_os = "linux")]
fn lower_priority(niceness: u8) {
    // Refused in some sandboxes; then the thread runs at the usual priority.
    let _ = rustix::process::setpriority_process(None, i32::from(niceness.min(19)));
}

#[cfg(not(target_os = "linux"))]
fn lower_priority(_niceness: u8) {}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::hash_pool::HashPool;
    use crate::password_hash::{Argon2Params, hash};

    fn pool(threads: usize) -> HashPool {
        let threads = NonZeroUsize::new(threads).unwrap();
        HashPool::start(&HashPoolConfig { threads, ..HashPoolConfig::default() }).unwrap()
    }

    /// A hash that only the first thread has memory for.
    fn hash_on_the_first(memory: &mut HashMemory) {
        if thread::current().name() == Some("hash-0") {
            thread::sleep(Duration::from_millis(5));
            hash(Argon2Params::new(64, 1, 1).unwrap(), b"a", b"saltsalt", memory).unwrap();
        } else {
            memory.lacks(usize::MAX);
        }
    }

    #[tokio::test]
    async fn a_thread_without_memory_leaves_what_waits_to_one_that_has_some() {
        let pool = pool(2);
        while pool.metrics().held_bytes() == 0 {
            let _ = pool.run(Priority::Login, hash_on_the_first).await;
        }
        let jobs: Vec<_> = (0..10).map(|_| pool.run(Priority::Login, hash_on_the_first)).collect();
        let mut refused = 0;
        for job in jobs {
            refused += usize::from(job.await == Err(PoolBusy::NoMemory));
        }
        assert!(refused <= 2, "{refused} of 10");
    }

    #[tokio::test]
    async fn a_job_without_memory_is_refused_and_counted_whatever_it_makes_of_that() {
        let pool = pool(1);
        let swallowed = pool.run(Priority::ClientSecret, |memory| memory.lacks(usize::MAX)).await;
        assert_eq!(swallowed, Err(PoolBusy::NoMemory));
        let metrics = pool.metrics();
        assert_eq!((metrics.rejected_total(Priority::ClientSecret), metrics.done_total()), (1, 0));
        assert_eq!(pool.run(Priority::ClientSecret, |_| true).await, Ok(true), "that was one job");
    }

    #[tokio::test]
    async fn jobs_without_memory_say_nothing_about_how_many_may_wait() {
        let pool = pool(1);
        pool.run(Priority::Login, |_| thread::sleep(Duration::from_millis(200))).await.unwrap();
        for _ in 0..20 {
            let lacks = pool.run(Priority::Login, |memory| memory.lacks(usize::MAX)).await;
            assert_eq!(lacks, Err(PoolBusy::NoMemory));
        }
        let places = pool.login_places();
        assert!((3..=11).contains(&places), "{places}: what is done in two seconds, where one takes 200 ms");
    }

    #[tokio::test]
    async fn a_job_that_panics_without_memory_takes_its_caller_with_it() {
        let pool = pool(1);
        let job = pool.run(Priority::Login, |memory| {
            memory.lacks(usize::MAX);
            panic!("on purpose");
        });
        let ended: Result<Result<(), PoolBusy>, _> = tokio::spawn(job).await;
        assert!(ended.unwrap_err().is_panic());
    }
}
