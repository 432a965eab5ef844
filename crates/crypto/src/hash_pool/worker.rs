//! One thread of the pool, with memory of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::HashPoolConfig;
use super::queue::{Next, Queue};
use crate::password_hash::HashMemory;

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
        let mut tell = None;
        match queue.next((held > 0).then_some(idle), last.take()) {
            Next::Run(priority, job) => {
                metrics.busy.fetch_add(1, Relaxed);
                let began = Instant::now();
                tell = Some(job.run(&mut memory));
                last = Some((priority, began.elapsed()));
                metrics.busy.fetch_sub(1, Relaxed);
                metrics.done.fetch_add(1, Relaxed);
            }
            Next::GiveMemoryBack => memory.release(),
            Next::End => break,
        }
        metrics.held_kib.fetch_add(memory.held_kib(), Relaxed);
        metrics.held_kib.fetch_sub(held, Relaxed);
        // Last, so that whoever hears of a job finds it counted.
        if let Some(tell) = tell {
            tell();
        }
    }
    metrics.held_kib.fetch_sub(memory.held_kib(), Relaxed);
}

/// Linux schedules threads one by one and takes no process for "the process": this thread alone steps back.
#[cfg(target_os = "linux")]
fn lower_priority(niceness: u8) {
    // Refused in some sandboxes; then the thread runs at the usual priority.
    let _ = rustix::process::setpriority_process(None, i32::from(niceness.min(19)));
}

#[cfg(not(target_os = "linux"))]
fn lower_priority(_niceness: u8) {}
