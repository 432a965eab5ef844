//! The page about several systems.

use super::number::{self, or_dash, shown};
use super::page::{Page, Part, Split, SplitRow, Table};
use super::scale::{Scale, percent};
use crate::compare::{Compared, Comparison};

/// What a table has of each.
pub(crate) const COMPARED: [&str; 12] = [
    "scenario",
    "system",
    "rate /s",
    "rate ×",
    "p50 ms",
    "p99 ms",
    "server µs",
    "PostgreSQL µs",
    "CPU ×",
    "floors",
    "runs",
    "errors",
];

/// The cells of a row, as they are named there.
pub(crate) fn compared(row: &Compared) -> Vec<String> {
    let numbers = [
        row.ops_per_second,
        row.rate_ratio,
        row.p50_ms,
        row.p99_ms,
        row.server_cpu_us,
        row.postgres_cpu_us,
        row.cpu_ratio,
        row.floors,
    ];
    let names = [row.label.clone(), row.system.clone()];
    let counts = [row.runs.to_string(), number::count(row.errors)];
    names.into_iter().chain(numbers.map(or_dash)).chain(counts).collect()
}

pub(super) fn page(comparison: &Comparison) -> Page {
    let first = comparison.rows.first().map_or("", |row| row.system.as_str());
    let groups = comparison.rows.chunk_by(|one, next| one.label == next.label);
    Page {
        kind: "Benchmark",
        title: "Comparison".to_owned(),
        lead: format!("Medians of the runs of each system; × is in multiples of {first}."),
        cautions: comparison.cautions.clone(),
        splits: groups.filter_map(split).collect(),
        tables: vec![Table {
            title: "All systems".to_owned(),
            names: 2,
            head: COMPARED.map(str::to_owned).to_vec(),
            rows: comparison.rows.iter().map(compared).collect(),
        }],
        foot: "CPU: user and system time of all processes, from /proc, divided by the operations that ended well.".to_owned(),
        ..Page::default()
    }
}

fn split(rows: &[Compared]) -> Option<Split> {
    let first = rows.first()?;
    let sums = rows.iter().map(|row| parts(row).iter().map(|(_, _, cost)| cost).sum());
    let scale = Scale::from_zero(sums);
    Some(Split {
        title: first.label.clone(),
        note: "CPU of an operation in µs".to_owned(),
        legend: legend(rows),
        rows: rows.iter().map(|row| bar(row, &scale)).collect(),
        marks: Vec::new(),
        ticks: scale.ticks(),
    })
}

/// What at least one of them has.
fn legend(rows: &[Compared]) -> Vec<(&'static str, String)> {
    let legend = [("server", "server"), ("postgres", "PostgreSQL"), ("driver", "driver")];
    let is_there = |class: &str| rows.iter().flat_map(parts).any(|(own, _, _)| own == class);
    let there = legend.into_iter().filter(|&(class, _)| is_there(class));
    there.map(|(class, name)| (class, name.to_owned())).collect()
}

fn parts(row: &Compared) -> Vec<(&'static str, &'static str, f64)> {
    let parts = [
        ("server", "server", row.server_cpu_us),
        ("postgres", "PostgreSQL", row.postgres_cpu_us),
        ("driver", "driver", row.driver_cpu_us),
    ];
    parts.into_iter().filter_map(|(class, name, cost)| Some((class, name, cost?))).collect()
}

fn bar(row: &Compared, scale: &Scale) -> SplitRow {
    let parts = parts(row).into_iter().map(|part| Part::new(part, scale)).collect();
    let rate = row.ops_per_second.map_or_else(String::new, |rate| format!("{}/s", shown(rate)));
    SplitRow { label: row.system.clone(), parts, sum: rate }
}

impl Part {
    /// Of a bar on this axis: class, name and cost in µs.
    pub(super) fn new((class, name, cost): (&'static str, &'static str, f64), scale: &Scale) -> Self {
        /// What is narrower has no room for words, in percent; the same on a phone.
        const ROOM: [f64; 2] = [11.0, 32.0];
        let [little, ample] = ROOM;
        let width = scale.place(cost);
        let label = if width < little { String::new() } else { format!("{name} {}", shown(cost)) };
        let told = format!("{name}: {} µs", shown(cost));
        Self { class, is_narrow: width < ample, width: percent(width), label, told }
    }
}
