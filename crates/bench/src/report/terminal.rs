//! A summary for the terminal, in the manner of `hey`, with what an operation costs.

use std::fmt::Write as _;

use super::number::{self, or_dash, shown};
use super::{RunReport, verdicts};
use crate::number::as_f64;

/// The longest bar of the histogram.
const BAR: f64 = 40.0;

/// What `sluice bench` prints of the run in the middle of so many.
pub fn terminal(report: &RunReport, runs: usize) -> String {
    let mut text = Text(String::new());
    text.summary(report, runs);
    text.histogram(report);
    text.latency(report);
    text.costs(report);
    text.judgement(report);
    text.errors(report);
    text.pairs("Settings", &report.settings);
    text.pairs("Machine", &report.machine);
    text.0
}

struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{}", line.trim_end());
    }

    fn pair(&mut self, name: &str, value: &str) {
        self.line(&format!("  {name:<24} {value}"));
    }

    fn heading(&mut self, heading: &str) {
        self.line(&format!("\n{heading}:"));
    }

    fn summary(&mut self, report: &RunReport, runs: usize) {
        let median = if runs > 1 { format!(", median of {runs} runs") } else { String::new() };
        let latency = &report.latency_ms;
        self.line(&format!("{}{median}", report.title()));
        self.heading("Summary");
        self.pair("Total", &format!("{} s", shown(report.elapsed_s)));
        self.pair("Slowest", &milliseconds(latency.max));
        self.pair("Fastest", &milliseconds(latency.min));
        self.pair("Average", &milliseconds(latency.mean));
        self.pair("Operations", &number::count(report.operations));
        self.pair("Operations/s", &shown(report.ops_per_second));
    }

    fn histogram(&mut self, report: &RunReport) {
        let Some(most) = report.histogram.iter().map(|(_, count)| *count).max().filter(|most| *most > 0)
        else {
            return;
        };
        self.heading("Response time histogram");
        for (to, count) in &report.histogram {
            let length = as_f64(*count) * BAR / as_f64(most);
            let bar = "■".repeat(whole(length));
            self.line(&format!(
                "  {:>10}  {:>12}  |{bar}",
                milliseconds(*to),
                format!("[{}]", number::count(*count))
            ));
        }
    }

    fn latency(&mut self, report: &RunReport) {
        let latency = &report.latency_ms;
        self.heading("Latency distribution");
        for (percent, value) in [
            ("10", latency.p10),
            ("25", latency.p25),
            ("50", latency.p50),
            ("75", latency.p75),
            ("90", latency.p90),
            ("95", latency.p95),
            ("99", latency.p99),
            ("99.9", latency.p999),
        ] {
            self.line(&format!("  {percent:>4} % in {}", milliseconds(value)));
        }
    }

    fn costs(&mut self, report: &RunReport) {
        let micros =
            |cost: Option<f64>| cost.map_or_else(|| "–".to_owned(), |cost| format!("{} µs", shown(cost)));
        self.heading("CPU of an operation");
        self.pair("Server", &micros(report.server_cpu_us));
        self.pair("PostgreSQL", &micros(report.postgres_cpu_us));
        self.pair("Driver", &micros(Some(report.driver_cpu_us)));
        let (hyper, nginx) = (micros(report.hyper_floor_cpu_us), micros(report.nginx_floor_cpu_us));
        self.pair("Floor", &format!("hyper {hyper}, nginx {nginx}"));
        self.pair("Server and PostgreSQL", &format!("{} floors", or_dash(report.floors)));
        self.heading("Database work of an operation");
        self.pair("Statements", &or_dash(report.statements));
        self.pair("Commits", &or_dash(report.commits));
        self.pair("Rows written", &or_dash(report.rows_written));
        self.pair("Write-ahead log, bytes", &or_dash(report.wal_bytes));
        if let Some(memory) = report.server_memory {
            self.heading("Memory of the server");
            self.pair("Resident", &format!("{}, {}", number::mebibytes(memory.resident), memory.most()));
        }
    }

    fn judgement(&mut self, report: &RunReport) {
        self.line(&format!("\nLimited by: {}", report.limited_by));
        let verdicts = verdicts(report);
        if !verdicts.is_empty() {
            self.heading("Targets");
        }
        for verdict in verdicts {
            let holds = match verdict.holds {
                Some(true) => "yes",
                Some(false) => "NO",
                None => "–",
            };
            self.line(&format!("  {holds:>3}  {}: {}", verdict.claim, verdict.seen));
        }
    }

    fn errors(&mut self, report: &RunReport) {
        if report.errors == 0 {
            return self.line("\nErrors: none");
        }
        self.heading("Error distribution");
        for (kind, count) in &report.errors_by_kind {
            self.line(&format!("  {:>10}  {kind}", format!("[{}]", number::count(*count))));
        }
    }

    fn pairs(&mut self, heading: &str, pairs: &[(String, String)]) {
        if !pairs.is_empty() {
            self.heading(heading);
        }
        for (name, value) in pairs {
            self.pair(name, value);
        }
    }
}

fn milliseconds(value: f64) -> String {
    format!("{} ms", shown(value))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most as long as the longest bar"
)]
const fn whole(length: f64) -> usize {
    length as usize
}
