//! The process, as Linux tells about it under `/proc/self`; by the names that every Prometheus client uses.
//!
//! Elsewhere there is nothing to read, and nothing is published.

use std::fmt;
use std::fs;
use std::sync::LazyLock;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use super::approximate;

/// When the machine started, as the kernel said at the start, in seconds since the Unix epoch. It says something else when the clock was set,
/// and a process that started at another time would be another one.
static BOOT: LazyLock<u64> =
    LazyLock::new(|| fs::read_to_string("/proc/stat").ok().and_then(|stat| boot_time(&stat)).unwrap_or(0));

/// The process at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ProcessFacts {
    pub(crate) cpu_seconds: f64,
    /// Since the Unix epoch.
    pub(crate) start_time_seconds: f64,
    pub(crate) resident_memory_bytes: u64,
    pub(crate) virtual_memory_bytes: u64,
    pub(crate) threads: u64,
    pub(crate) open_fds: u64,
}

impl ProcessFacts {
    /// Asks the kernel. `None` where there is no `/proc`.
    pub(crate) fn read() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let mut facts = Self::parse(&stat, *BOOT, Units::of_this_machine())?;
        facts.open_fds = super::count(fs::read_dir("/proc/self/fd").ok()?.count());
        Some(facts)
    }

    fn parse(stat: &str, boot_seconds: u64, units: Units) -> Option<Self> {
        // The second field is the program's name in parentheses, which may hold anything: proc(5).
        let (_, after_name) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let seconds = |ticks: u64| approximate(ticks) / approximate(units.ticks_per_second);
        Some(Self {
            cpu_seconds: seconds(field(14)? + field(15)?),
            start_time_seconds: approximate(boot_seconds) + seconds(field(22)?),
            resident_memory_bytes: field(24)? * units.page_bytes,
            virtual_memory_bytes: field(23)?,
            threads: field(20)?,
            open_fds: 0,
        })
    }
}

#[derive(Clone, Copy)]
struct Units {
    ticks_per_second: u64,
    page_bytes: u64,
}

impl Units {
    fn of_this_machine() -> Self {
        Self {
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            page_bytes: super::count(rustix::param::page_size()),
        }
    }
}

fn boot_time(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[derive(Debug)]
pub(super) struct ProcessCollector;

impl ProcessCollector {
    /// Made at the start, by whose clock the process began.
    pub(super) fn new() -> Self {
        LazyLock::force(&BOOT);
        Self
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(facts) = ProcessFacts::read() else { return Ok(()) };
        let help = "User and system CPU time spent in seconds";
        encoder
            .encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?
            .encode_counter::<NoLabelSet, _, f64>(&facts.cpu_seconds, None)?;
        let most_fds = getrlimit(Resource::Nofile).current.map_or(f64::INFINITY, approximate);
        let gauges = [
            ("process_start_time_seconds", "Start time since the Unix epoch", facts.start_time_seconds),
            ("process_resident_memory_bytes", "Resident memory", approximate(facts.resident_memory_bytes)),
            ("process_virtual_memory_bytes", "Virtual memory", approximate(facts.virtual_memory_bytes)),
            ("process_threads", "Threads", approximate(facts.threads)),
            ("process_open_fds", "Open file descriptors", approximate(facts.open_fds)),
            ("process_max_fds", "File descriptors that may be open", most_fds),
        ];
        for (name, help, value) in gauges {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let stat = "42 (a) S 9 (b) R 1 42 42 0 -1 4194304 9 0 0 0 150 50 0 0 20 0 7 0 1000 4096000 25 18446744073709551615";
        let facts =
            ProcessFacts::parse(stat, 1_000_000, Units { ticks_per_second: 100, page_bytes: 4096 }).unwrap();
        let expected = ProcessFacts {
            cpu_seconds: 2.0,
            start_time_seconds: 1_000_010.0,
            resident_memory_bytes: 25 * 4096,
            virtual_memory_bytes: 4_096_000,
            threads: 7,
            open_fds: 0,
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn this_process_has_memory_and_open_files() {
        let facts = ProcessFacts::read().unwrap();
        assert!(facts.resident_memory_bytes > 0 && facts.open_fds > 0 && facts.threads > 0, "{facts:?}");
    }
}
