//! Several runs of one scenario as one outcome: the median run, and all of them beside it.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use crate::command::RunArgs;
use crate::driver::NOT_BEGUN;
use crate::endurance::Verdict;
use crate::error::BenchError;
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

/// Prints what was measured, and writes it then where it was asked for: it is told, whatever becomes of the files.
///
/// # Errors
/// Of the files, or of standard output.
pub(crate) fn tell(args: &RunArgs, reports: &[RunReport]) -> io::Result<()> {
    let Some(median) = median(reports) else { return Ok(()) };
    let runs = if reports.len() > 1 { reports } else { &[] };
    let outcome = Outcome { median, verdicts: report::verdicts(median), runs };
    let json = serde_json::to_string_pretty(&outcome)?;
    let printed =
        report::print(&if args.json { format!("{json}\n") } else { report::terminal(median, reports.len()) });
    if let Some(folder) = &args.report {
        let html = report::html(median, runs).map_err(io::Error::other)?;
        let profile = median.profile.as_deref().map(|svg| ("profile.svg", svg));
        let files = [("index.html", html.as_str()), ("run.json", json.as_str())];
        report::write(folder, files.into_iter().chain(profile))?;
    }
    printed
}

/// Whether every operation ended well that began. What an open loop never began shows that it was too fast, and a search for the knee
/// asks for too much on purpose; half of the knee is not too much. Verdicts are about targets, and make no run a failure.
///
/// # Errors
/// [`BenchError::Failed`].
pub(crate) fn check(args: &RunArgs, reports: &[RunReport]) -> Result<(), BenchError> {
    if args.find_knee {
        return Ok(());
    }
    all_ended_well(reports.iter().map(|report| &report.errors_by_kind))
}

/// Whether of several runs, each with its errors by kind, every operation ended well that began.
///
/// # Errors
/// [`BenchError::Failed`].
pub(crate) fn all_ended_well<'a>(
    errors: impl IntoIterator<Item = &'a BTreeMap<String, u64>>,
) -> Result<(), BenchError> {
    let mut failures = BTreeMap::<&str, u64>::new();
    for (kind, count) in errors.into_iter().flatten() {
        if kind != NOT_BEGUN {
            *failures.entry(kind).or_default() += count;
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    let kinds: Vec<_> = failures.iter().map(|(kind, count)| format!("{count} × {kind}")).collect();
    Err(BenchError::Failed(kinds.join(", ")))
}

/// The run in the middle: by cost in floors where that is known of all of them, otherwise by rate.
fn median(reports: &[RunReport]) -> Option<&RunReport> {
    let mut sorted: Vec<_> = reports.iter().collect();
    let is_known = reports.iter().all(|report| report.floors.is_some());
    let cost = |report: &RunReport| report.floors.filter(|_| is_known).unwrap_or(-report.ops_per_second);
    sorted.sort_by(|one, other| cost(one).total_cmp(&cost(other)));
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::report::samples::report;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        run: RunArgs,
    }

    fn args(said: &[&str]) -> RunArgs {
        Cli::try_parse_from([&["bench"], said].concat()).unwrap().run
    }

    fn with_errors(errors: &[(&str, u64)]) -> RunReport {
        let errors: BTreeMap<_, _> =
            errors.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
        RunReport { errors: errors.values().sum(), errors_by_kind: errors, ..report() }
    }

    fn run(floors: Option<f64>, ops_per_second: f64) -> RunReport {
        RunReport { ops_per_second, floors, ..report() }
    }

    #[test]
    fn the_run_in_the_middle_is_told() {
        let by_cost = [run(Some(20.0), 9.0), run(Some(12.0), 1.0), run(Some(14.0), 5.0)];
        assert_eq!(median(&by_cost).unwrap().floors, Some(14.0));
        let by_rate = [run(None, 9.0), run(None, 1.0), run(None, 5.0)];
        assert!((median(&by_rate).unwrap().ops_per_second - 5.0).abs() < f64::EPSILON);
        let mixed = [run(None, 9.0), run(Some(12.0), 1.0), run(Some(14.0), 5.0)];
        assert!((median(&mixed).unwrap().ops_per_second - 5.0).abs() < f64::EPSILON);
        assert!(median(&[]).is_none());
    }

    #[test]
    fn operations_that_failed_in_any_run_are_a_failure() {
        let (good, bad) =
            (with_errors(&[]), with_errors(&[("token: status 500", 2), ("connection: refused", 1)]));
        assert!(check(&args(&[]), &[good.clone(), good.clone()]).is_ok());
        let failed = check(&args(&["--rate", "5"]), &[bad.clone(), good, bad]).unwrap_err().to_string();
        assert_eq!(failed, "not every operation ended well: 2 × connection: refused, 4 × token: status 500");
    }

    #[test]
    fn what_fails_at_half_of_the_knee_is_a_failure() {
        let half = args(&["--half-knee"]);
        assert!(check(&half, &[with_errors(&[("token: status 503", 7)])]).is_err());
        assert!(check(&half, &[with_errors(&[(NOT_BEGUN, 7)])]).is_ok());
    }

    #[test]
    fn what_is_asked_of_a_server_beyond_what_it_can_do_is_none() {
        let late = with_errors(&[(NOT_BEGUN, 7)]);
        assert!(check(&args(&["--rate", "5"]), &[late]).is_ok());
        let refused = with_errors(&[("token: status 503", 7)]);
        assert!(check(&args(&["--find-knee"]), &[refused]).is_ok());
    }
}
