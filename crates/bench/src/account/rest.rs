//! Waiting until PostgreSQL and the disk have nothing to do, so that what follows is not charged for what was before.

use std::fmt;
use std::time::{Duration, Instant};

use procfs::{Current, Meminfo};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{AccountError, Accountant};

/// Over so long it is looked.
const GLANCE: Duration = Duration::from_secs(1);
/// So often in a row nothing is to be seen.
const QUIET_GLANCES: u32 = 3;
/// More of a core than this is work.
const LITTLE_CPU: f64 = 0.03;
/// More bytes that wait for the disk than these are work.
const LITTLE_DIRTY: u64 = 64 * 1024 * 1024;

/// How long it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rest {
    waited: Duration,
    last: Seen,
}

/// What was seen at one glance.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    /// Of a core, by PostgreSQL.
    cpu: f64,
    /// Bytes of the machine that wait to be written.
    dirty: u64,
}

impl Seen {
    fn is_quiet(self) -> bool {
        self.cpu <= LITTLE_CPU && self.dirty <= LITTLE_DIRTY
    }
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waited, last } = self;
        if last.is_quiet() {
            return write!(f, "after {} s", waited.as_secs());
        }
        let (mib, seconds) = (last.dirty / 1024 / 1024, waited.as_secs());
        write!(
            f,
            "none in {seconds} s: PostgreSQL takes {:.2} of a core, {mib} MiB wait to be written",
            last.cpu
        )
    }
}

impl Accountant {
    /// Writes all that is dirty, then waits until nobody does anything, at most so long.
    ///
    /// # Errors
    /// [`AccountError`] if the database refuses.
    pub async fn settle(&self, longest: Duration) -> Result<Rest, AccountError> {
        let (start, mut quiet) = (Instant::now(), 0);
        self.checkpoint().await?;
        loop {
            // What cannot be waited for is seen below.
            drop(spawn_blocking(rustix::fs::sync).await);
            let last = self.glance().await?;
            quiet = if last.is_quiet() { quiet + 1 } else { 0 };
            if quiet >= QUIET_GLANCES || start.elapsed() >= longest {
                return Ok(Rest { waited: start.elapsed(), last });
            }
        }
    }

    async fn glance(&self) -> Result<Seen, AccountError> {
        let (start, before) = (Instant::now(), self.snapshot().await?);
        sleep(GLANCE).await;
        let after = self.snapshot().await?;
        let cpu = after.since(&before).postgres_cpu.unwrap_or_default();
        let memory = Meminfo::current()?;
        Ok(Seen { cpu: cpu.div_duration_f64(start.elapsed()), dirty: memory.dirty + memory.writeback })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_whether_there_was_rest() {
        let told =
            |cpu, dirty| Rest { waited: Duration::from_secs(7), last: Seen { cpu, dirty } }.to_string();
        assert_eq!(told(0.01, 1024), "after 7 s");
        assert_eq!(
            told(0.4, 300 * 1024 * 1024),
            "none in 7 s: PostgreSQL takes 0.40 of a core, 300 MiB wait to be written"
        );
        assert!(told(0.01, 300 * 1024 * 1024).starts_with("none"));
    }
}
