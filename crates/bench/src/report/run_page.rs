//! The page of a run.

use super::chart::{Axes, Chart, Series};
use super::number::{self, or_dash, shown};
use super::page::{Bar, Mark, Page, Part, Split, SplitRow, Table, Tile};
use super::scale::{Scale, percent};
use super::{RunReport, SecondReport, targets};
use crate::endurance::Verdict;
use crate::number::as_f64;

/// Beyond this percentile there are too few operations to draw a line.
const NINES: f64 = 5.0;
/// In less than so much of a second, who ends what was begun says nothing of a rate.
const SHORT: f64 = 0.5;

/// Of the run in the middle, with the others beside it if there are any.
pub(super) fn page(median: &RunReport, runs: &[RunReport]) -> Page {
    let verdicts = targets::verdicts(median);
    // Not every run has one.
    let profile = [median].into_iter().chain(runs).find_map(|run| run.profile.as_deref());
    let charts = vec![rate(median), latency(median), percentiles(median), histogram(median)];
    let page = Page {
        kind: "Benchmark",
        title: median.title().to_owned(),
        lead: lead(median, runs.len()),
        tiles: tiles(median, &verdicts),
        limited_by: median.limited_by.clone(),
        splits: split(median, runs).into_iter().collect(),
        charts: charts.into_iter().filter(|chart| !chart.is_empty()).collect(),
        bars: work(median),
        tables: tables(median, runs),
        foot: "Per operation: divided by the operations that ended well. CPU: user and system time of all processes, from /proc. Floor: one keep-alive request that an empty handler answers, in the same run with the same driver.".to_owned(),
        verdicts,
        ..Page::default()
    };
    page.with_facts(&median.settings, &median.machine).with_flame_graph(profile)
}

fn lead(report: &RunReport, runs: usize) -> String {
    let count = number::count(report.operations);
    let took = shown(report.elapsed_s);
    let median = if runs > 1 { format!(", the median of {runs} runs") } else { String::new() };
    let users = report.settings.iter().find(|(name, _)| name == "connections");
    let users = users.map_or_else(String::new, |(_, users)| format!(" with {users} users at the same time"));
    format!("{count} operations in {took} s{users}{median}.")
}

fn tiles(report: &RunReport, verdicts: &[Verdict]) -> Vec<Tile> {
    let tile = |name, value, unit, note| Tile { class: "", name, value, unit, note };
    let latency = &report.latency_ms;
    let bound = targets::floors(report).map(|bound| format!("target: ≤ {bound}"));
    // The first is about the cost, if there is a bound for that.
    let judged = bound.as_ref().and(verdicts.first()).and_then(|verdict| verdict.holds);
    let memory = report.server_memory;
    let mut tiles = vec![
        tile("Throughput", shown(report.ops_per_second), "/s", "operations that ended well".to_owned()),
        Tile {
            class: judged.map_or("", |holds| if holds { "holds" } else { "fails" }),
            ..tile(
                "Cost",
                or_dash(report.floors),
                "floors",
                bound.unwrap_or_else(|| "of server and database".to_owned()),
            )
        },
        tile("CPU", or_dash(report.cpu_us), "µs", "of server and database, each".to_owned()),
        tile("Median latency", shown(latency.p50), "ms", format!("mean {} ms", shown(latency.mean))),
        tile("99th percentile", shown(latency.p99), "ms", format!("at most {} ms", shown(latency.max))),
        Tile {
            class: if report.errors == 0 { "" } else { "fails" },
            ..tile("Errors", number::count(report.errors), "", share_of(report))
        },
    ];
    tiles.extend(memory.map(|memory| {
        let note = format!("of the server, {}", memory.most());
        let resident = number::mebibytes(memory.resident);
        tile("Memory", resident.trim_end_matches(" MiB").to_owned(), "MiB", note)
    }));
    tiles
}

fn share_of(report: &RunReport) -> String {
    let all = report.operations + report.errors;
    if report.errors == 0 || all == 0 {
        return "all ended well".to_owned();
    }
    format!("{} % of all", shown(as_f64(report.errors) * 100.0 / as_f64(all)))
}

/// Bars of CPU: of each run if there are several, and where the floor and the target are.
fn split(median: &RunReport, runs: &[RunReport]) -> Option<Split> {
    let reports: Vec<(String, &RunReport)> = if runs.len() > 1 {
        runs.iter().enumerate().map(|(at, run)| (format!("run {}", at + 1), run)).collect()
    } else {
        vec![(String::new(), median)]
    };
    median.server_cpu_us?;
    let floor = median.floor_cpu_us;
    // Beside a bar that lacks the database it would say yes.
    let judged = targets::floors(median).filter(|_| median.cpu_us.is_some());
    let bound = floor.zip(judged).map(|(floor, bound)| floor * bound);
    let all = |report: &RunReport| parts(report).iter().map(|(_, _, cost)| cost).sum::<f64>();
    let sums = reports.iter().map(|(_, report)| all(report));
    let scale = Scale::from_zero(sums.chain(bound.map(|bound| bound * 1.02)));
    let mut legend: Vec<_> =
        parts(median).iter().map(|(class, name, _)| (*class, (*name).to_owned())).collect();
    let mut marks = Vec::new();
    for (class, at, name) in [("floor", floor, "floor"), ("target", bound, "target of server and database")] {
        if let Some(at) = at {
            let label = format!("{name}: {} µs", shown(at));
            legend.push((class, label.clone()));
            marks.push(Mark { class, at: percent(scale.place(at)), label });
        }
    }
    let rows = reports.into_iter().map(|(label, report)| row(label, report, &scale)).collect();
    let note = format!("µs of an operation. {}", floors(median));
    Some(Split { title: "CPU of an operation".to_owned(), note, legend, rows, marks, ticks: scale.ticks() })
}

fn row(label: String, report: &RunReport, scale: &Scale) -> SplitRow {
    let sum = report.floors.map_or_else(String::new, |floors| format!("{} floors", shown(floors)));
    SplitRow { label, parts: parts(report).into_iter().map(|part| Part::new(part, scale)).collect(), sum }
}

fn parts(report: &RunReport) -> Vec<(&'static str, &'static str, f64)> {
    let driver = ("driver", "driver", report.driver_cpu_us);
    let server = report.server_cpu_us.map(|cost| ("server", "server", cost));
    let postgres = report.postgres_cpu_us.map(|cost| ("postgres", "PostgreSQL", cost));
    server.into_iter().chain(postgres).chain([driver]).collect()
}

fn floors(report: &RunReport) -> String {
    match (report.hyper_floor_cpu_us, report.nginx_floor_cpu_us) {
        (Some(hyper), Some(nginx)) => {
            format!("Floor: hyper {} µs, nginx {} µs; the smaller counts.", shown(hyper), shown(nginx))
        }
        (Some(hyper), None) => format!("Floor: hyper {} µs; nginx was not measured.", shown(hyper)),
        (None, _) => "The floor was not measured.".to_owned(),
    }
}

/// A second of the run: the last of them is seldom whole.
struct Drawn {
    /// Its middle, in seconds of the run.
    at: f64,
    /// In seconds.
    length: f64,
    second: SecondReport,
}

impl Drawn {
    /// So many operations in it, as a rate.
    fn rate(&self, count: u64) -> f64 {
        as_f64(count) / self.length
    }

    fn end(&self) -> f64 {
        self.at + self.length / 2.0
    }
}

/// All seconds; a last one that is too short for a rate only if there is no other.
fn drawn(report: &RunReport) -> Vec<Drawn> {
    let last = report.seconds.len().saturating_sub(1);
    let left = (report.elapsed_s - as_f64(last as u64)).clamp(f64::EPSILON, 1.0);
    let seconds =
        report.seconds.iter().enumerate().filter(|(at, _)| *at < last || last == 0 || left >= SHORT);
    let drawn = |(at, second): (usize, &SecondReport)| {
        let length = if at == last { left } else { 1.0 };
        Drawn { at: as_f64(at as u64) + length / 2.0, length, second: *second }
    };
    seconds.map(drawn).collect()
}

fn rate(report: &RunReport) -> Chart {
    let seconds = drawn(report);
    let of = |count: fn(&SecondReport) -> u64| -> Vec<(f64, f64)> {
        seconds.iter().map(|drawn| (drawn.at, drawn.rate(count(&drawn.second)))).collect()
    };
    let mut series = vec![Series::area("server", "operations", of(|second| second.operations))];
    if seconds.iter().any(|drawn| drawn.second.errors > 0) {
        series.push(Series::line("bad", "errors", of(|second| second.errors)));
    }
    let values = series.iter().flat_map(|one| &one.points).map(|(_, rate)| *rate);
    let axes = Axes { x: over_time(&seconds), y: Scale::from_zero(values) };
    let told = seconds.iter().map(|Drawn { at, second, .. }| {
        let (done, errors) = (number::count(second.operations), number::count(second.errors));
        (*at, format!("second {}: {done} operations, {errors} errors", at.ceil()))
    });
    let told = told.collect();
    Chart::new("Throughput over time", "Operations a second, over seconds", &axes, &series)
        .telling(&axes, told)
}

fn over_time(seconds: &[Drawn]) -> Scale {
    Scale::linear(0.0, seconds.last().map_or(1.0, Drawn::end))
}

fn latency(report: &RunReport) -> Chart {
    let mut seconds = drawn(report);
    let x = over_time(&seconds);
    seconds.retain(|drawn| drawn.second.operations > 0);
    let of = |latency: fn(&SecondReport) -> f64| -> Vec<(f64, f64)> {
        seconds.iter().map(|drawn| (drawn.at, latency(&drawn.second))).collect()
    };
    let series = [
        Series::area("server", "median", of(|second| second.p50_ms)),
        Series::line("p99", "99th percentile", of(|second| second.p99_ms)),
    ];
    let axes = Axes { x, y: Scale::from_zero(seconds.iter().map(|drawn| drawn.second.p99_ms)) };
    let told = seconds.iter().map(|Drawn { at, second, .. }| {
        let (p50, p99) = (shown(second.p50_ms), shown(second.p99_ms));
        (*at, format!("second {}: median {p50} ms, 99th percentile {p99} ms", at.ceil()))
    });
    let told = told.collect();
    Chart::new("Latency over time", "Milliseconds, over seconds", &axes, &series).telling(&axes, told)
}

/// How many nines: 90 % is 1, 99 % is 2.
fn nines(percent: f64) -> f64 {
    -((100.0 - percent) / 100.0).max(f64::MIN_POSITIVE).log10()
}

fn percentiles(report: &RunReport) -> Chart {
    let known = report.percentiles.iter().filter(|(percent, _)| *percent < 100.0);
    let points: Vec<_> = known.map(|(percent, latency)| (nines(*percent), *latency)).collect();
    let last = points.last().map_or(1.0, |(nines, _)| *nines).clamp(1.0, NINES);
    let points: Vec<_> = points.into_iter().filter(|(nines, _)| *nines <= last).collect();
    let axes = Axes { x: Scale::linear(0.0, last), y: Scale::logarithmic(points.iter().map(|(_, y)| *y)) };
    let told = report.percentiles.iter().filter(|(percent, _)| nines(*percent) <= last);
    let told = told.map(|(percent, latency)| {
        let digits = format!("{percent:.3}");
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        (nines(*percent), format!("{digits} % within {} ms", shown(*latency)))
    });
    let told = told.collect();
    let note = "Milliseconds within which so many operations ended; logarithmic";
    let series = [Series::area("server", "latency", points)];
    let mut chart = Chart::new("Latency percentiles", note, &axes, &series).telling(&axes, told);
    let marks =
        [(50.0, "50"), (90.0, "90"), (99.0, "99"), (99.9, "99.9"), (99.99, "99.99"), (99.999, "99.999")];
    let marks = marks.into_iter().filter(|(percent, _)| nines(*percent) <= last + 1e-6);
    chart.x_ticks = marks.map(|(percent, label)| axes.x.tick(nines(percent), format!("{label} %"))).collect();
    chart
}

/// As stairs: each step as wide as its share of the range.
fn histogram(report: &RunReport) -> Chart {
    let mut from = report.latency_ms.min;
    let mut points = Vec::new();
    let mut told = Vec::new();
    for (to, count) in &report.histogram {
        points.extend([(from, as_f64(*count)), (*to, as_f64(*count))]);
        let range = format!("{} to {} ms", shown(from), shown(*to));
        told.push((f64::midpoint(from, *to), format!("{range}: {} operations", number::count(*count))));
        from = *to;
    }
    let counts = report.histogram.iter().map(|(_, count)| as_f64(*count));
    let axes = Axes { x: Scale::linear(0.0, report.latency_ms.max), y: Scale::from_zero(counts) };
    let ends = [report.latency_ms.min, report.latency_ms.max].map(|x| (x, 0.0));
    let [first, last] = ends;
    if !points.is_empty() {
        points.insert(0, first);
        points.push(last);
    }
    let series = [Series::area("third", "operations", points)];
    Chart::new("Response times", "Operations, over milliseconds", &axes, &series).telling(&axes, told)
}

fn work(report: &RunReport) -> Vec<Bar> {
    let counts = [
        ("statements", report.statements),
        ("transactions that wrote", report.commits),
        ("rows written", report.rows_written),
    ];
    let known = || counts.iter().filter_map(|(_, count)| *count);
    if known().count() == 0 {
        return Vec::new();
    }
    // Next to nothing is to look like that.
    let scale = Scale::from_zero(known().chain([1.0]));
    let bar = |(label, count): (&'static str, Option<f64>)| {
        let width = percent(count.map_or(0.0, |count| scale.place(count)));
        Bar { label, width, value: or_dash(count) }
    };
    let mut bars: Vec<_> = counts.into_iter().map(bar).collect();
    let log = Scale::from_zero(report.wal_bytes.into_iter().chain([1000.0]));
    let width = percent(report.wal_bytes.map_or(0.0, |bytes| log.place(bytes)));
    let value = report.wal_bytes.map_or_else(|| "–".to_owned(), |bytes| format!("{} B", shown(bytes)));
    bars.push(Bar { label: "write-ahead log", width, value });
    bars
}

fn tables(median: &RunReport, runs: &[RunReport]) -> Vec<Table> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut tables = Vec::new();
    if runs.len() > 1 {
        tables.push(Table {
            title: format!("All {} runs", runs.len()),
            names: 1,
            head: words(&[
                "run",
                "rate /s",
                "p50 ms",
                "p99 ms",
                "server µs",
                "PostgreSQL µs",
                "driver µs",
                "floor µs",
                "floors",
                "errors",
            ]),
            rows: runs.iter().enumerate().map(|(at, run)| line(at + 1, run)).collect(),
        });
    }
    if !median.errors_by_kind.is_empty() {
        let rows = median.errors_by_kind.iter();
        let rows = rows.map(|(kind, count)| vec![kind.clone(), number::count(*count)]).collect();
        let head = words(&["what went wrong", "times"]);
        tables.push(Table { title: "Errors".to_owned(), names: 1, head, rows });
    }
    tables
}

fn line(number: usize, run: &RunReport) -> Vec<String> {
    vec![
        number.to_string(),
        shown(run.ops_per_second),
        shown(run.latency_ms.p50),
        shown(run.latency_ms.p99),
        or_dash(run.server_cpu_us),
        or_dash(run.postgres_cpu_us),
        shown(run.driver_cpu_us),
        or_dash(run.floor_cpu_us),
        or_dash(run.floors),
        number::count(run.errors),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::samples::report;
    use super::*;

    /// Middles and rates of a run of three seconds that took so long.
    fn of_a_run(elapsed_s: f64) -> Vec<(f64, f64)> {
        let mut run = RunReport { elapsed_s, ..report() };
        run.seconds.iter_mut().for_each(|second| second.operations = 1_000);
        drawn(&run).iter().map(|drawn| (drawn.at, drawn.rate(drawn.second.operations))).collect()
    }

    #[test]
    fn the_last_second_is_drawn_as_long_as_it_was() {
        assert_eq!(of_a_run(3.0), [(0.5, 1_000.0), (1.5, 1_000.0), (2.5, 1_000.0)]);
        assert_eq!(of_a_run(2.5), [(0.5, 1_000.0), (1.5, 1_000.0), (2.25, 2_000.0)]);
        assert_eq!(of_a_run(2.25), [(0.5, 1_000.0), (1.5, 1_000.0)], "too short for a rate");
        let brief = RunReport { seconds: vec![report().seconds[0]], elapsed_s: 0.25, ..report() };
        let ends: Vec<_> = drawn(&brief).iter().map(Drawn::end).collect();
        assert_eq!(ends, [0.25], "there is no other");
    }
}
