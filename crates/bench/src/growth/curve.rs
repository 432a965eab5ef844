//! What came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::account::Costs;
use crate::driver::Measured;
use crate::error::BenchError;
use crate::floor::Floor;
use crate::number::as_f64;
use crate::outcome::all_ended_well;

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
    /// The same by what went wrong.
    pub errors_by_kind: BTreeMap<String, u64>,
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
    /// The floor in µs, halfway between those before and after all runs of this size: of hyper or of nginx, the smaller counts.
    pub floor_cpu_us: Option<f64>,
    /// Server and PostgreSQL together, in floors.
    pub floors: Option<f64>,
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
    /// In the order in which they were measured: of several runs the one in the middle by CPU.
    pub points: Vec<GrowthPoint>,
    /// All runs, if there was more than one at each size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<GrowthPoint>,
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
            errors_by_kind: measured.errors.clone(),
            ops_per_second: measured.rate(),
            p50_ms: latency(0.5),
            p99_ms: latency(0.99),
            server_cpu_us: micros(costs.server_cpu),
            postgres_cpu_us: micros(costs.postgres_cpu),
            floor_cpu_us: None,
            floors: None,
            statements: each(costs.statements),
            rows_written: each(costs.rows_written),
            wal_bytes: each(costs.wal_bytes),
        }
    }

    /// CPU of server and PostgreSQL together, in µs per operation.
    pub fn cpu_us(&self) -> Option<f64> {
        Some(self.server_cpu_us? + self.postgres_cpu_us?)
    }

    /// The same with its floor.
    pub(super) fn counted_in(self, floor: Floor) -> Self {
        let floor = floor.lowest();
        Self { floor_cpu_us: Some(floor), floors: self.cpu_us().map(|cpu| cpu / floor), ..self }
    }

    /// What this and another cost, in one unit: floors where both are known, because the machine may have changed between the two.
    pub(crate) fn costs_beside(&self, other: &Self) -> Option<(f64, f64, &'static str)> {
        match (self.floors, other.floors) {
            (Some(own), Some(of_other)) => Some((own, of_other, "floors")),
            _ => Some((self.cpu_us()?, other.cpu_us()?, "µs")),
        }
    }

    /// What runs are sorted by: CPU, or where that is not known the rate.
    fn cost(&self) -> f64 {
        self.cpu_us().unwrap_or(-self.ops_per_second)
    }

    /// A line of the table; `first` is the smallest size of the same scenario, if that is not this one.
    pub(super) fn line(&self, first: Option<&Self>) -> String {
        let ratio = self.costs_beside(first.unwrap_or(self)).map(|(own, first, _)| own / first);
        format!(
            "{:<11} {:>10} {:>9.0} {:>8.2} {:>9.2} {:>9} {:>11} {:>7} {:>7} {:>11} {:>9} {:>7} {:>7}\n",
            self.scenario,
            self.grants,
            self.ops_per_second,
            self.p50_ms,
            self.p99_ms,
            shown(self.server_cpu_us, 1),
            shown(self.postgres_cpu_us, 1),
            shown(ratio, 2),
            shown(self.floors, 2),
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
            "{:<11} {:>10} {:>9} {:>8} {:>9} {:>9} {:>11} {:>7} {:>7} {:>11} {:>9} {:>7} {:>7}\n",
            "",
            "grants",
            "ops/s",
            "p50 ms",
            "p99 ms",
            "server µs",
            "postgres µs",
            "CPU ×",
            "floors",
            "statements",
            "WAL B",
            "rows",
            "errors"
        );
        for scenario in self.scenarios() {
            let points: Vec<_> = of_scenario(&self.points, scenario).collect();
            text.extend(points.iter().map(|point| point.line(points.first().copied())));
        }
        text
    }

    /// Whether every operation ended well that began, in every run.
    ///
    /// # Errors
    /// [`BenchError::Failed`].
    pub(super) fn check(&self) -> Result<(), BenchError> {
        let all = if self.runs.is_empty() { &self.points } else { &self.runs };
        all_ended_well(all.iter().map(|point| &point.errors_by_kind))
    }

    /// The scenarios, in the order of their first points.
    pub(crate) fn scenarios(&self) -> Vec<&str> {
        scenarios(&self.points)
    }
}

/// Of the runs of one size, for each scenario the one in the middle.
pub(super) fn medians(runs: &[GrowthPoint]) -> Vec<GrowthPoint> {
    let median = |scenario| {
        let mut sorted: Vec<_> = of_scenario(runs, scenario).collect();
        sorted.sort_by(|one, other| one.cost().total_cmp(&other.cost()));
        sorted.get(sorted.len() / 2).copied().cloned()
    };
    scenarios(runs).into_iter().filter_map(median).collect()
}

fn scenarios(points: &[GrowthPoint]) -> Vec<&str> {
    points.iter().fold(Vec::new(), |mut known, point| {
        if !known.contains(&point.scenario.as_str()) {
            known.push(&point.scenario);
        }
        known
    })
}

fn of_scenario<'a>(points: &'a [GrowthPoint], name: &'a str) -> impl Iterator<Item = &'a GrowthPoint> {
    points.iter().filter(move |point| point.scenario == name)
}

fn shown(number: Option<f64>, decimals: usize) -> String {
    number.map_or_else(|| "–".to_owned(), |number| format!("{number:.decimals$}"))
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
            errors_by_kind: BTreeMap::new(),
            ops_per_second: 5.0,
            p50_ms: 1.0,
            p99_ms: 2.0,
            server_cpu_us: Some(cpu),
            postgres_cpu_us: Some(cpu),
            floor_cpu_us: None,
            floors: None,
            statements: None,
            rows_written: Some(2.0),
            wal_bytes: Some(900.0),
        }
    }

    fn report(points: Vec<GrowthPoint>) -> GrowthReport {
        GrowthReport { points, runs: Vec::new(), settings: Vec::new(), machine: Vec::new() }
    }

    #[test]
    fn costs_are_told_in_multiples_of_the_smallest_size() {
        let points = vec![point("login", 0, 10.0), point("refresh", 0, 2.0), point("login", 1000, 12.5)];
        let text = report(points).text();
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let told: Vec<_> = lines[1..].iter().map(|line| (line[0], line[1], line[7])).collect();
        assert_eq!(told, [("login", "0", "1.00"), ("login", "1000", "1.25"), ("refresh", "0", "1.00")]);
    }

    #[test]
    fn what_costs_nobody_knows_how_much_is_no_multiple() {
        let ratio = |point: &GrowthPoint, first: Option<&GrowthPoint>| {
            point.line(first).split_whitespace().nth(7).unwrap().to_owned()
        };
        let known = point("login", 0, 10.0);
        let unknown = GrowthPoint { postgres_cpu_us: None, ..point("login", 1000, 10.0) };
        assert_eq!([ratio(&known, None), ratio(&known, Some(&known))], ["1.00", "1.00"]);
        assert_eq!([ratio(&unknown, None), ratio(&unknown, Some(&known))], ["–", "–"]);
        assert_eq!(ratio(&known, Some(&unknown)), "–");
    }

    #[test]
    fn operations_that_failed_in_any_run_are_a_failure() {
        let good = || point("login", 0, 10.0);
        let errors_by_kind = BTreeMap::from([("token: status 500".to_owned(), 2)]);
        let bad = || GrowthPoint { errors: 2, errors_by_kind: errors_by_kind.clone(), ..good() };
        assert!(report(vec![good()]).check().is_ok());
        let failed = report(vec![good(), bad(), bad()]).check().unwrap_err().to_string();
        assert_eq!(failed, "not every operation ended well: 4 × token: status 500");
        let several = GrowthReport { runs: vec![good(), bad(), good()], ..report(vec![good()]) };
        assert!(several.check().is_err(), "the run in the middle is not all there is");
    }

    #[test]
    fn a_machine_that_became_slower_is_no_growth() {
        let floor = |hyper| Floor { hyper, nginx: Some(hyper + 1.0) };
        let (fast, slow) = (
            point("login", 0, 40.0).counted_in(floor(8.0)),
            point("login", 1000, 50.0).counted_in(floor(10.0)),
        );
        assert_eq!((fast.floor_cpu_us, fast.floors), (Some(8.0), Some(10.0)));
        let text = report(vec![fast, slow]).text();
        let told: Vec<Vec<_>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(told[1][7..9], ["1.00", "10.00"], "{text}");
    }

    #[test]
    fn of_several_runs_the_one_in_the_middle_by_cost_is_told() {
        let runs = [("login", 9.0), ("refresh", 2.0), ("login", 5.0), ("refresh", 4.0), ("login", 7.0)];
        let told = medians(&runs.map(|(name, cpu)| point(name, 0, cpu)));
        let told: Vec<_> = told.iter().map(|point| (point.scenario.as_str(), point.server_cpu_us)).collect();
        assert_eq!(told, [("login", Some(7.0)), ("refresh", Some(4.0))]);
        assert_eq!(medians(&[]), []);
    }
}
