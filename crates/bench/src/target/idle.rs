//! What a server takes while nobody asks.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use procfs::process::Process;
use tokio::time::sleep;

use crate::account::processes::tree;
use crate::report::Memory;

/// What a start leaves to be done ends within this.
const SETTLE: Duration = Duration::from_secs(1);
const WATCHED: Duration = Duration::from_secs(2);
const KIB: u64 = 1024;

/// What a process takes while nobody asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Idle {
    /// CPU, in cores; `None` where nobody counts it.
    pub cores: Option<f64>,
    /// Resident memory, in bytes.
    pub resident: u64,
}

impl Idle {
    /// Watches it for two seconds, one second after its start.
    pub(super) async fn of(pid: u32) -> Option<Self> {
        sleep(SETTLE).await;
        let (before, began) = (run_time(pid), Instant::now());
        sleep(WATCHED).await;
        let (after, watched) = (run_time(pid), began.elapsed());
        let took = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        let resident = memory(&[pid])?.resident;
        Some(Self { cores: took.map(|took| took.div_duration_f64(watched)), resident })
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.resident / KIB / KIB;
        match self.cores {
            Some(cores) => write!(f, "{:.2} % of a core, {mebibytes} MiB resident", cores * 100.0),
            None => write!(f, "{mebibytes} MiB resident, CPU not known"),
        }
    }
}

/// To the nanosecond, where a clock tick would be a tenth of what may be used.
fn run_time(pid: u32) -> Option<Duration> {
    let tasks = Process::new(i32::try_from(pid).ok()?).ok()?.tasks().ok()?;
    let times = tasks.flatten().filter_map(|task| task.schedstat().ok());
    counted(times.map(|times| times.sum_exec_runtime))
}

/// Of all threads, in nanoseconds each. A kernel that does not count says nothing, or 0: a process that runs has taken some.
fn counted(times: impl Iterator<Item = u64>) -> Option<Duration> {
    let sum = Duration::from_nanos(times.sum());
    (!sum.is_zero()).then_some(sum)
}

/// Resident memory of processes with all below them; nothing if none of them is here.
pub(super) fn memory(pids: &[u32]) -> Option<Memory> {
    let mut sum = None;
    for pid in pids.iter().flat_map(|pid| tree(*pid)) {
        let Some(status) = Process::new(pid).ok().and_then(|process| process.status().ok()) else { continue };
        let memory = sum.get_or_insert(Memory { resident: 0, peak: 0, of_run: false });
        memory.resident += status.vmrss.unwrap_or_default() * KIB;
        memory.peak += status.vmhwm.unwrap_or_default() * KIB;
    }
    sum
}

/// Has the kernel count from now on what these processes, with all below them, have at most (proc(5), `clear_refs`). Whether it does so
/// for all of them.
pub(super) fn forget_peaks(pids: &[u32]) -> bool {
    const PEAK: &str = "5";
    let forget = |pid: i32| fs::write(format!("/proc/{pid}/clear_refs"), PEAK).is_ok();
    let forgotten = pids.iter().flat_map(|pid| tree(*pid)).map(forget);
    forgotten.fold(!pids.is_empty(), |all, one| all && one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_had_before_is_not_the_most_that_it_has_had_since() {
        let most = || Process::myself().unwrap().status().unwrap().vmhwm.unwrap() * KIB;
        let large = vec![1_u8; 128 << 20];
        assert_eq!(large.last(), Some(&1));
        drop(large);
        let before = most();
        forget_peaks(&[std::process::id()]);
        assert!(most() + (64 << 20) < before, "{} of {before}", most());
        assert!(!forget_peaks(&[]), "of nobody nothing is known");
        // One after the highest that there may be.
        assert!(!forget_peaks(&[(1 << 22) + 1]));
    }

    #[test]
    fn a_kernel_that_does_not_count_says_not_that_nothing_was_used() {
        assert_eq!(counted([].into_iter()), None);
        assert_eq!(counted([0, 0].into_iter()), None);
        assert_eq!(counted([0, 7].into_iter()), Some(Duration::from_nanos(7)));
        let idle = |cores| Idle { cores, resident: 40 * KIB * KIB }.to_string();
        assert_eq!(idle(Some(0.0029)), "0.29 % of a core, 40 MiB resident");
        assert_eq!(idle(None), "40 MiB resident, CPU not known");
    }
}
