//! What a server takes while nobody asks.

use std::fmt;
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
    /// CPU, in cores.
    pub cores: f64,
    /// Resident memory, in bytes.
    pub resident: u64,
}

impl Idle {
    /// Watches it for two seconds, one second after its start.
    pub(super) async fn of(pid: u32) -> Option<Self> {
        sleep(SETTLE).await;
        let (before, began) = (run_time(pid)?, Instant::now());
        sleep(WATCHED).await;
        let took = run_time(pid)?.saturating_sub(before);
        let resident = memory(&[pid])?.resident;
        Some(Self { cores: took.as_secs_f64() / began.elapsed().as_secs_f64(), resident })
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.resident / KIB / KIB;
        write!(f, "{:.2} % of a core, {mebibytes} MiB resident", self.cores * 100.0)
    }
}

/// To the nanosecond, where a clock tick would be a tenth of what may be used.
fn run_time(pid: u32) -> Option<Duration> {
    let tasks = Process::new(i32::try_from(pid).ok()?).ok()?.tasks().ok()?;
    let times = tasks.flatten().filter_map(|task| task.schedstat().ok());
    Some(times.map(|times| Duration::from_nanos(times.sum_exec_runtime)).sum())
}

/// Resident memory of processes with all below them; nothing if none of them is here.
pub(super) fn memory(pids: &[u32]) -> Option<Memory> {
    let mut sum = None;
    for pid in pids.iter().flat_map(|pid| tree(*pid)) {
        let Some(status) = Process::new(pid).ok().and_then(|process| process.status().ok()) else { continue };
        let memory = sum.get_or_insert(Memory { resident: 0, peak: 0 });
        memory.resident += status.vmrss.unwrap_or_default() * KIB;
        memory.peak += status.vmhwm.unwrap_or_default() * KIB;
    }
    sum
}
