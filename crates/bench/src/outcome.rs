//! Several runs of one scenario as one outcome: the median run, and all of them beside it.

use std::fs;
use std::io::{self, Write};

use serde::Serialize;

use crate::command::RunArgs;
use crate::endurance::Verdict;
use crate::report::{self, RunReport};

/// As `--json` prints it.
#[derive(Serialize)]
struct Outcome<'a> {
    #[serde(flatten)]
    median: &'a RunReport,
    /// What must hold, if there is a target for these settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verdicts: Vec<Verdict>,
    /// All of them, if there was more than one.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    runs: &'a [RunReport],
}

/// Prints what was measured, and writes it where it was asked for.
///
/// # Errors
/// Of the files, or of standard output.
pub(crate) fn tell(args: &RunArgs, reports: &[RunReport]) -> io::Result<()> {
    let Some(median) = median(reports) else { return Ok(()) };
    let runs = if reports.len() > 1 { reports } else { &[] };
    let outcome = Outcome { median, verdicts: report::verdicts(median), runs };
    let json = serde_json::to_string_pretty(&outcome)?;
    if let Some(folder) = &args.report {
        let html = report::html(median, runs).map_err(io::Error::other)?;
        report::write(folder, Some(&html), &json)?;
        if let Some(svg) = &median.profile {
            fs::write(folder.join("profile.svg"), svg)?;
        }
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{json}")
    } else {
        out.write_all(report::terminal(median, reports.len()).as_bytes())
    }
}

/// The run in the middle: by cost in floors where that is known, otherwise by rate.
fn median(reports: &[RunReport]) -> Option<&RunReport> {
    let mut sorted: Vec<_> = reports.iter().collect();
    let cost = |report: &RunReport| report.floors.unwrap_or(-report.ops_per_second);
    sorted.sort_by(|one, other| cost(one).total_cmp(&cost(other)));
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::report;

    fn run(floors: Option<f64>, ops_per_second: f64) -> RunReport {
        RunReport { ops_per_second, floors, ..report() }
    }

    #[test]
    fn the_run_in_the_middle_is_told() {
        let by_cost = [run(Some(20.0), 9.0), run(Some(12.0), 1.0), run(Some(14.0), 5.0)];
        assert_eq!(median(&by_cost).unwrap().floors, Some(14.0));
        let by_rate = [run(None, 9.0), run(None, 1.0), run(None, 5.0)];
        assert!((median(&by_rate).unwrap().ops_per_second - 5.0).abs() < f64::EPSILON);
        assert!(median(&[]).is_none());
    }
}
