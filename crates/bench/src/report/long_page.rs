//! The pages of what is more than a run: a database that grows, and a run that goes on for long.

use super::chart::{Axes, Chart, Series};
use super::number::{self, or_dash, shown};
use super::page::{Page, Table, Tile};
use super::scale::Scale;
use crate::endurance::{EnduranceReport, Sample};
use crate::growth::{GrowthPoint, GrowthReport};
use crate::number::as_f64;

const COLOURS: [&str; 4] = ["server", "postgres", "third", "fourth"];
const MIB: f64 = 1024.0 * 1024.0;

/// What a picture of a sample shows.
type Of = fn(&Sample) -> Option<f64>;
/// The same of a point.
type OfPoint = fn(&GrowthPoint) -> Option<f64>;

/// Of a database that grows.
pub(super) fn growth(report: &GrowthReport) -> Page {
    let most = report.points.iter().map(|point| point.grants).max().unwrap_or_default();
    let curves: [(&str, &str, OfPoint); 4] = [
        ("CPU", "µs of server and PostgreSQL per operation, over grants", GrowthPoint::cpu_us),
        ("Write-ahead log", "Bytes per operation with whole pages, over grants", |point| point.wal_bytes),
        ("99th percentile", "Milliseconds, over grants", |point| Some(point.p99_ms)),
        ("Throughput", "Operations a second, over grants", |point| Some(point.ops_per_second)),
    ];
    let charts = curves.into_iter().map(|(title, note, of)| curve(report, title, note, of));
    let page = Page {
        kind: "Benchmark",
        title: "Growth".to_owned(),
        lead: format!("What an operation costs with up to {} grants, and as many people, in the database.", number::count(most)),
        tiles: report.scenarios().into_iter().filter_map(|name| ratio(report, name)).collect(),
        charts: charts.filter(|chart| !chart.is_empty()).collect(),
        tables: vec![points(report)],
        foot: "Before each measurement the database writes a checkpoint, so that the first change of a page logs all of it. Floor: one keep-alive request that an empty handler answers, at the same size; multiples are of floors where these are known.".to_owned(),
        ..Page::default()
    };
    page.with_facts(&report.settings, &report.machine)
}

fn of_scenario<'a>(report: &'a GrowthReport, name: &'a str) -> impl Iterator<Item = &'a GrowthPoint> {
    report.points.iter().filter(move |point| point.scenario == name)
}

/// What the largest size costs in multiples of the smallest.
fn ratio(report: &GrowthReport, name: &str) -> Option<Tile> {
    let first = of_scenario(report, name).next()?;
    let last = of_scenario(report, name).last()?;
    let (at_last, at_first, unit) = last.costs_beside(first)?;
    let note = format!("{name}: {} {unit}, then {} {unit}", shown(at_first), shown(at_last));
    Some(Tile { class: "", name: "CPU in multiples", value: shown(at_last / at_first), unit: "×", note })
}

fn curve(report: &GrowthReport, title: &str, note: &str, of: OfPoint) -> Chart {
    let named = report.scenarios().into_iter().zip(COLOURS.into_iter().cycle());
    let line = |(name, class): (&str, &'static str)| {
        let points = of_scenario(report, name).filter_map(|point| Some((as_f64(point.grants), of(point)?)));
        Series::line(class, name, points.collect())
    };
    let series: Vec<_> = named.map(line).collect();
    let most = report.points.iter().map(|point| as_f64(point.grants)).fold(1.0, f64::max);
    let values = series.iter().flat_map(|one| &one.points).map(|(_, y)| *y);
    let axes = Axes { x: Scale::linear(0.0, most), y: Scale::from_zero(values) };
    Chart::new(title, note, &axes, &series)
}

fn points(report: &GrowthReport) -> Table {
    let head = [
        "",
        "grants",
        "rate /s",
        "p50 ms",
        "p99 ms",
        "server µs",
        "PostgreSQL µs",
        "floor µs",
        "floors",
        "statements",
        "rows",
        "WAL B",
        "errors",
    ];
    let row = |point: &GrowthPoint| {
        vec![
            point.scenario.clone(),
            number::count(point.grants),
            shown(point.ops_per_second),
            shown(point.p50_ms),
            shown(point.p99_ms),
            or_dash(point.server_cpu_us),
            or_dash(point.postgres_cpu_us),
            or_dash(point.floor_cpu_us),
            or_dash(point.floors),
            or_dash(point.statements),
            or_dash(point.rows_written),
            or_dash(point.wal_bytes),
            number::count(point.errors),
        ]
    };
    let names = report.scenarios();
    let rows = names.into_iter().flat_map(|name| of_scenario(report, name)).map(row).collect();
    Table { title: "All sizes".to_owned(), names: 1, head: head.map(str::to_owned).to_vec(), rows }
}

/// Of a run that goes on for long.
pub(super) fn endurance(report: &EnduranceReport) -> Page {
    let charts = [
        over_time(
            report,
            "Latency",
            "Milliseconds, over seconds",
            &[
                ("server", "median", |sample| sample.p50_ms),
                ("p99", "99th percentile", |sample| sample.p99_ms),
            ],
        ),
        over_time(
            report,
            "Memory of the server",
            "Resident MiB, over seconds",
            &[("server", "resident", |sample| sample.resident.map(mebibytes))],
        ),
        over_time(
            report,
            "Rows",
            "Rows of all tables, over seconds",
            &[("third", "rows", |sample| sample.rows.map(as_f64))],
        ),
        over_time(
            report,
            "Disk",
            "MiB of tables and indexes, over seconds",
            &[("postgres", "tables and indexes", |sample| sample.bytes.map(mebibytes))],
        ),
        over_time(
            report,
            "Write-ahead log",
            "MiB between two looks, over seconds",
            &[("fourth", "log", |sample| sample.wal_bytes.map(mebibytes))],
        ),
        over_time(
            report,
            "CPU",
            "Cores in use, over seconds",
            &[
                ("server", "server", |sample| sample.server_cores),
                ("postgres", "PostgreSQL", |sample| sample.postgres_cores),
            ],
        ),
    ];
    let page = Page {
        kind: "Benchmark",
        title: "Endurance".to_owned(),
        lead: format!("Logins at {} a second; what is born dies soon, and what is dead must go.", shown(report.rate)),
        tiles: tiles(report),
        verdicts: report.verdicts.clone(),
        charts: charts.into_iter().filter(|chart| !chart.is_empty()).collect(),
        tables: errors(report),
        foot: "Latency: the median of the medians of the seconds between two looks, and the highest of their 99th percentiles.".to_owned(),
        ..Page::default()
    };
    page.with_facts(&report.settings, &report.machine)
}

fn tiles(report: &EnduranceReport) -> Vec<Tile> {
    let tile = |name, value, unit, note: &str| Tile { class: "", name, value, unit, note: note.to_owned() };
    let highest = |of: Of| report.samples.iter().filter_map(of).reduce(f64::max);
    let last = |of: Of| report.samples.last().and_then(of);
    let class = if report.errors == 0 { "" } else { "fails" };
    let resident: Of = |sample| sample.resident.map(mebibytes);
    let rows: Of = |sample| sample.rows.map(as_f64);
    let memory_note = format!("at the end {} MiB", or_dash(last(resident)));
    let rows_note = format!("at the end {}", or_dash(last(rows)));
    vec![
        tile("Logins", number::count(report.operations), "", "that ended well"),
        Tile { class, ..tile("Errors", number::count(report.errors), "", "of all logins") },
        tile("Most memory", or_dash(highest(resident)), "MiB", &memory_note),
        tile("Most rows", or_dash(highest(rows)), "", &rows_note),
    ]
}

fn errors(report: &EnduranceReport) -> Vec<Table> {
    if report.errors_by_kind.is_empty() {
        return Vec::new();
    }
    let rows = report.errors_by_kind.iter().map(|(kind, count)| vec![kind.clone(), number::count(*count)]);
    let head = ["what went wrong", "times"].map(str::to_owned).to_vec();
    vec![Table { title: "Errors".to_owned(), names: 1, head, rows: rows.collect() }]
}

fn over_time(report: &EnduranceReport, title: &str, note: &str, lines: &[(&'static str, &str, Of)]) -> Chart {
    let line = |(class, label, of): &(&'static str, &str, Of)| {
        let points = report.samples.iter().filter_map(|sample| Some((sample.at_s, of(sample)?))).collect();
        if lines.len() == 1 { Series::area(class, label, points) } else { Series::line(class, label, points) }
    };
    let series: Vec<_> = lines.iter().map(line).collect();
    let end = report.samples.last().map_or(1.0, |sample| sample.at_s);
    let values = series.iter().flat_map(|one| &one.points).map(|(_, y)| *y);
    let axes = Axes { x: Scale::linear(0.0, end), y: Scale::from_zero(values) };
    let told = report.samples.iter().map(|sample| {
        let said = lines.iter().map(|(_, label, of)| format!("{label} {}", or_dash(of(sample))));
        (sample.at_s, format!("{} s: {}", shown(sample.at_s), said.collect::<Vec<_>>().join(", ")))
    });
    let told = told.collect();
    Chart::new(title, note, &axes, &series).telling(&axes, told)
}

fn mebibytes(bytes: u64) -> f64 {
    as_f64(bytes) / MIB
}
