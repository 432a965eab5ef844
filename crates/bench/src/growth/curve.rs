//! What came of it.

use std::time::Duration;

use serde::Serialize;

use crate::account::Costs;
use crate::driver::Measured;

/// What one operation costs at one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrowthPoint {
    /// What was done.
    pub scenario: String,
    /// How many grants were loaded, and people as well.
    pub grants: u64,
    /// Operations that ended well.
    pub operations: u64,
    /// Operations that did not.
    pub errors: u64,
    /// Operations a second.
    pub ops_per_second: f64,
    /// Median latency in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// CPU of the server in µs per operation.
    pub server_cpu_us: Option<f64>,
    /// CPU of PostgreSQL in µs per operation.
    pub postgres_cpu_us: Option<f64>,
    /// Statements per operation.
    pub statements: Option<f64>,
    /// Rows written per operation.
    pub rows_written: Option<f64>,
    /// Bytes of write-ahead log per operation, whole pages after the checkpoint included.
    pub wal_bytes: Option<f64>,
}

/// All sizes.
#[derive(Debug, Clone, Serialize)]
pub struct GrowthReport {
    /// In the order in which they were measured.
    pub points: Vec<GrowthPoint>,
    /// How it was run.
    pub settings: Vec<(String, String)>,
    /// What it ran on.
    pub machine: Vec<(String, String)>,
}

impl GrowthPoint {
    pub(super) fn of(scenario: &str, grants: u64, measured: &Measured, costs: &Costs) -> Self {
        let operations = as_f64(measured.operations.max(1));
        let each = |count: Option<u64>| count.map(|count| as_f64(count) / operations);
        let micros = |cpu: Option<Duration>| cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / operations);
        let latency = |percent| as_f64(measured.latency.value_at_quantile(percent)) / 1e3;
        Self {
            scenario: scenario.to_owned(),
            grants,
            operations: measured.operations,
            errors: measured.failed(),
            ops_per_second: measured.rate(),
            p50_ms: latency(0.5),
            p99_ms: latency(0.99),
            server_cpu_us: micros(costs.server_cpu),
            postgres_cpu_us: micros(costs.postgres_cpu),
            statements: each(costs.statements),
            rows_written: each(costs.rows_written),
            wal_bytes: each(costs.wal_bytes),
        }
    }

    /// CPU of server and PostgreSQL together, in µs per operation.
    pub fn cpu_us(&self) -> Option<f64> {
        Some(self.server_cpu_us? + self.postgres_cpu_us?)
    }

    /// A line of the table; `first` is the smallest size of the same scenario.
    pub(super) fn line(&self, first: Option<&Self>) -> String {
        let ratio = first.and_then(|first| Some(self.cpu_us()? / first.cpu_us()?));
        format!(
            "{:<11} {:>10} {:>9.0} {:>8.2} {:>9.2} {:>9} {:>11} {:>7} {:>11} {:>9} {:>7} {:>7}\n",
            self.scenario,
            self.grants,
            self.ops_per_second,
            self.p50_ms,
            self.p99_ms,
            shown(self.server_cpu_us, 1),
            shown(self.postgres_cpu_us, 1),
            ratio.map_or_else(|| "1".to_owned(), |ratio| format!("{ratio:.2}")),
            shown(self.statements, 3),
            shown(self.wal_bytes, 0),
            shown(self.rows_written, 2),
            self.errors,
        )
    }
}

impl GrowthReport {
    /// For the terminal: scenario by scenario, with the cost in multiples of that of the smallest size.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<11} {:>10} {:>9} {:>8} {:>9} {:>9} {:>11} {:>7} {:>11} {:>9} {:>7} {:>7}\n",
            "",
            "grants",
            "ops/s",
            "p50 ms",
            "p99 ms",
            "server µs",
            "postgres µs",
            "CPU ×",
            "statements",
            "WAL B",
            "rows",
            "errors"
        );
        let mut told: Vec<&str> = Vec::new();
        for GrowthPoint { scenario, .. } in &self.points {
            if told.contains(&scenario.as_str()) {
                continue;
            }
            told.push(scenario);
            let points: Vec<_> = self.points.iter().filter(|point| point.scenario == *scenario).collect();
            text.extend(points.iter().map(|point| point.line(points.first().copied())));
        }
        text
    }
}

fn shown(number: Option<f64>, decimals: usize) -> String {
    number.map_or_else(|| "–".to_owned(), |number| format!("{number:.decimals$}"))
}

#[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
const fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(scenario: &str, grants: u64, cpu: f64) -> GrowthPoint {
        GrowthPoint {
            scenario: scenario.to_owned(),
            grants,
            operations: 10,
            errors: 0,
            ops_per_second: 5.0,
            p50_ms: 1.0,
            p99_ms: 2.0,
            server_cpu_us: Some(cpu),
            postgres_cpu_us: Some(cpu),
            statements: None,
            rows_written: Some(2.0),
            wal_bytes: Some(900.0),
        }
    }

    #[test]
    fn costs_are_told_in_multiples_of_the_smallest_size() {
        let points = vec![point("login", 0, 10.0), point("refresh", 0, 2.0), point("login", 1000, 12.5)];
        let report = GrowthReport { points, settings: Vec::new(), machine: Vec::new() };
        let text = report.text();
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let told: Vec<_> = lines[1..].iter().map(|line| (line[0], line[1], line[7])).collect();
        assert_eq!(told, [("login", "0", "1.00"), ("login", "1000", "1.25"), ("refresh", "0", "1.00")]);
    }
}
