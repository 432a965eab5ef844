//! What one run says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::number;
use crate::account::build::Build;

/// A run of a scenario, as `--json` prints it. What is "per operation" is divided by the operations that ended well.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunReport {
    /// The scenario, as the command line names it: `client-credentials`.
    pub scenario: String,
    /// The same with its variant: `client-credentials (jwt)`. Empty in what was written before there was this field, where the scenario
    /// is named so.
    #[serde(default)]
    pub label: String,
    /// Operations that ended well.
    pub operations: u64,
    /// Operations that did not.
    pub errors: u64,
    /// The same by what went wrong.
    pub errors_by_kind: BTreeMap<String, u64>,
    /// Operations a second.
    pub ops_per_second: f64,
    /// Seconds from the first operation to the end of the last.
    pub elapsed_s: f64,
    /// Of the operations that ended well, in milliseconds.
    pub latency_ms: Latency,
    /// The knee, in operations a second as `--rate` has them, if this run was at half of it: the highest rate, if that changes.
    pub half_of_knee: Option<f64>,
    /// CPU of the server in µs per operation, user and system, with its children. `None` if it is not on this machine.
    pub server_cpu_us: Option<f64>,
    /// CPU of every process of the PostgreSQL cluster in µs per operation.
    pub postgres_cpu_us: Option<f64>,
    /// CPU of server and database together in µs per operation: that of the server alone where its processes are the database, or
    /// there is none. `None` unless both are known, and in what was written before there was this field.
    pub cpu_us: Option<f64>,
    /// CPU of the driver in µs per operation.
    pub driver_cpu_us: f64,
    /// CPU of one keep-alive request that a server answers which does nothing else, in µs, driven by the same driver in the same run:
    /// the smaller of the two below. `None` if it was not to be measured. That of hyper in what was written before there was a field
    /// for it.
    pub floor_cpu_us: Option<f64>,
    /// The same of a bare hyper service.
    pub hyper_floor_cpu_us: Option<f64>,
    /// The same of nginx `return 200`, where nginx is installed.
    pub nginx_floor_cpu_us: Option<f64>,
    /// [`Self::cpu_us`] in floors.
    pub floors: Option<f64>,
    /// Statements per operation (`pg_stat_statements`, where it is loaded).
    pub statements: Option<f64>,
    /// Transactions that wrote, per operation.
    pub commits: Option<f64>,
    /// Rows inserted, updated or deleted, per operation.
    pub rows_written: Option<f64>,
    /// Bytes of write-ahead log per operation.
    pub wal_bytes: Option<f64>,
    /// Second by second, up to the end of the last operation: the last of them is seldom whole, and lasts for what is left of
    /// [`Self::elapsed_s`].
    pub seconds: Vec<SecondReport>,
    /// Response times: the end of a range in milliseconds, and how many operations lie within. Ten ranges from the fastest to the
    /// slowest, equally wide.
    #[serde(default)]
    pub histogram: Vec<(f64, u64)>,
    /// Percentile and latency in milliseconds, for a plot.
    pub percentiles: Vec<(f64, f64)>,
    /// How it was run, in words: option and value.
    pub settings: Vec<(String, String)>,
    /// What it ran on: name and value.
    pub machine: Vec<(String, String)>,
    /// What a server took that was started for this run, before it was asked for anything.
    pub at_rest: Option<AtRest>,
    /// How the program of such a server was built, where that is written beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// Memory of the server at the end of the run, in bytes, and the most it had.
    pub server_memory: Option<Memory>,
    /// What the run was limited by, in a sentence.
    pub limited_by: String,
    /// The flame graph (SVG), if one was asked for.
    #[serde(skip)]
    pub profile: Option<String>,
}

impl RunReport {
    /// The scenario with its variant.
    pub fn title(&self) -> &str {
        if self.label.is_empty() { &self.scenario } else { &self.label }
    }
}

/// In milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// The fastest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// 10th percentile.
    pub p10: f64,
    /// 25th percentile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// The slowest.
    pub max: f64,
}

/// A second of the run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct SecondReport {
    /// Operations that ended well.
    pub operations: u64,
    /// Operations that did not.
    pub errors: u64,
    /// Median latency in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile in milliseconds.
    pub p99_ms: f64,
}

/// What a program takes that nobody asks for anything. What could not be found out is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct AtRest {
    /// From the start of the process to its first answer that it is ready, the schema's migrations included, in milliseconds.
    pub start_ms: Option<f64>,
    /// CPU while nobody asks, in percent of a core.
    pub idle_cpu_percent: Option<f64>,
    /// Resident memory then, in bytes.
    pub idle_resident: Option<u64>,
    /// The file of the program, in bytes.
    pub program_bytes: Option<u64>,
}

/// Resident memory in bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Memory {
    /// At the end.
    pub resident: u64,
    /// At most (`VmHWM`).
    pub peak: u64,
    /// Whether that is the most of the run. Otherwise, and in what was written before there was this field, it is the most since the
    /// server was started.
    #[serde(default)]
    pub of_run: bool,
}

impl Memory {
    /// The most of it, in words.
    pub(super) fn most(&self) -> String {
        let since = if self.of_run { "" } else { " since it was started" };
        format!("at most {}{since}", number::mebibytes(self.peak))
    }
}
