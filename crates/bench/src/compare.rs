//! Runs of several systems side by side: medians of each, and their ratio to the first.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::conclusion::Outcome;
use crate::error::BenchError;
use crate::report::{self, RunReport};

/// What is compared.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// What --json printed, or run.json of a report. Files of one name are runs of one system; the first system is what the
    /// others are compared with [default name: that of the file, or of the folder if the file is called run.json]
    #[arg(required = true, value_name = "[NAME=]FILE")]
    pub files: Vec<Named>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write index.html and run.json into this folder
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
}

/// A file, and the system that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The system.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(said: &str) -> Result<Self, Self::Err> {
        if let Some((name, path)) = said.split_once('=')
            && !name.is_empty()
            && !name.contains('/')
        {
            return Ok(Self { name: name.to_owned(), path: PathBuf::from(path) });
        }
        let path = PathBuf::from(said);
        let folder = path.parent().and_then(Path::file_name).filter(|_| path.ends_with("run.json"));
        let name = folder.or_else(|| path.file_stem()).ok_or("not a file")?;
        Ok(Self { name: name.to_string_lossy().into_owned(), path })
    }
}

/// A file as `--json` writes it.
#[derive(Deserialize)]
struct Run {
    #[serde(flatten)]
    median: RunReport,
    #[serde(default)]
    runs: Vec<RunReport>,
}

impl Run {
    fn all(self) -> Vec<RunReport> {
        if self.runs.is_empty() { vec![self.median] } else { self.runs }
    }
}

/// Settings that have to be the same where runs are compared, and what a run did that does not say.
const ALIKE: [(&str, Option<&str>); 4] =
    [("connections", None), ("pace", None), ("length", None), ("ended", Some("as it was meant to"))];

/// What is said of the pace of a run that has found its rate: that is what the run is for, and never the same twice.
const FOUND: &str = "the rate that was found";
/// The same of a run at half of it.
const HALF_OF_FOUND: &str = "half of the rate that was found";

/// All systems in all scenarios.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Scenario by scenario, in the order in which they were named.
    pub rows: Vec<Compared>,
    /// What was not the same for all runs of a scenario, in sentences.
    pub cautions: Vec<String>,
}

/// One system in one scenario: medians of its runs.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The scenario, as the command line names it.
    pub scenario: String,
    /// The same with its variant.
    pub label: String,
    /// The system.
    pub system: String,
    /// How many runs there were.
    pub runs: usize,
    /// Operations that failed, of all runs.
    pub errors: u64,
    /// Operations a second.
    pub ops_per_second: Option<f64>,
    /// The same in multiples of that of the first system.
    pub rate_ratio: Option<f64>,
    /// Median latency in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// CPU of the server in µs per operation.
    pub server_cpu_us: Option<f64>,
    /// CPU of PostgreSQL.
    pub postgres_cpu_us: Option<f64>,
    /// CPU of server and database together, where both are known.
    pub cpu_us: Option<f64>,
    /// CPU of the driver.
    pub driver_cpu_us: Option<f64>,
    /// [`Self::cpu_us`] in multiples of that of the first system.
    pub cpu_ratio: Option<f64>,
    /// The same in floors.
    pub floors: Option<f64>,
}

/// Reads the files, and tells.
pub(crate) fn perform(args: &CompareArgs) -> Result<(), BenchError> {
    let mut runs = Vec::new();
    for Named { name, path } in &args.files {
        let wrong = |why: String| BenchError::Usage(format!("{} is no run: {why}", path.display()));
        let json = fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let run: Run = serde_json::from_slice(&json).map_err(|error| wrong(error.to_string()))?;
        runs.extend(run.all().into_iter().map(|run| (name.clone(), run)));
    }
    report::make(args.report.as_deref())?;
    let comparison = Comparison::of(&runs);
    Outcome {
        report: &comparison,
        text: comparison.text(),
        json: args.json,
        folder: args.report.as_deref(),
        page: Some(report::comparison_html),
    }
    .tell()?;
    Ok(())
}

impl Comparison {
    fn of(runs: &[(String, RunReport)]) -> Self {
        let (mut rows, mut cautions) = (Vec::new(), Vec::new());
        let systems = distinct(runs.iter().map(|(system, _)| system.as_str()));
        for label in distinct(runs.iter().map(|(_, run)| run.title())) {
            let of = |system: &str| -> Vec<_> {
                let its = runs.iter().filter(|(of, run)| of == system && run.title() == label);
                its.map(|(_, run)| run).collect()
            };
            let measured = systems.iter().filter(|system| !of(system).is_empty());
            let mut group: Vec<_> =
                measured.map(|system| Compared::new(label, system, &of(system))).collect();
            let first =
                group.first().filter(|first| Some(&first.system.as_str()) == systems.first()).cloned();
            for row in &mut group {
                row.compare(first.as_ref());
            }
            rows.append(&mut group);
            cautions
                .extend(ALIKE.iter().filter_map(|(name, otherwise)| caution(runs, label, name, *otherwise)));
        }
        Self { rows, cautions }
    }

    /// For the terminal.
    fn text(&self) -> String {
        let wide = |of: fn(&Compared) -> &str, least: usize| {
            self.rows.iter().map(|row| of(row).chars().count()).fold(least, usize::max)
        };
        let (label, system) = (wide(|row| &row.label, 8), wide(|row| &row.system, 6));
        let line = |names: [&str; 2], cells: Vec<String>| {
            let [one, other] = names;
            let start = format!("{one:<label$}  {other:<system$}");
            cells.into_iter().skip(names.len()).fold(start, |line, cell| line + &format!("{cell:>14}")) + "\n"
        };
        let mut text = line(["scenario", "system"], report::COMPARED.map(str::to_owned).to_vec());
        for row in &self.rows {
            text += &line([&row.label, &row.system], report::compared(row));
        }
        for caution in &self.cautions {
            text.push_str("\nCaution: ");
            text.push_str(caution);
        }
        if self.cautions.is_empty() { text } else { text + "\n" }
    }
}

impl Compared {
    fn new(label: &str, system: &str, runs: &[&RunReport]) -> Self {
        let of =
            |value: fn(&RunReport) -> Option<f64>| median(runs.iter().filter_map(|run| value(run)).collect());
        Self {
            scenario: runs.first().map_or(label, |run| run.scenario.as_str()).to_owned(),
            label: label.to_owned(),
            system: system.to_owned(),
            runs: runs.len(),
            errors: runs.iter().map(|run| run.errors).sum(),
            ops_per_second: of(|run| Some(run.ops_per_second)),
            rate_ratio: None,
            p50_ms: of(|run| Some(run.latency_ms.p50)),
            p99_ms: of(|run| Some(run.latency_ms.p99)),
            server_cpu_us: of(|run| run.server_cpu_us),
            postgres_cpu_us: of(|run| run.postgres_cpu_us),
            cpu_us: of(together),
            driver_cpu_us: of(|run| Some(run.driver_cpu_us)),
            cpu_ratio: None,
            floors: of(|run| together(run).and(run.floors)),
        }
    }

    fn compare(&mut self, first: Option<&Self>) {
        let ratio = |of: fn(&Self) -> Option<f64>| {
            let (own, of_first) = (of(self)?, first.and_then(of)?);
            (of_first > 0.0).then_some(own / of_first)
        };
        let ratios = (ratio(|row| row.ops_per_second), ratio(|row| row.cpu_us));
        (self.rate_ratio, self.cpu_ratio) = ratios;
    }
}

/// Whether a setting of a scenario was not the same for all its runs, in a sentence. A run that does not say it counts as one that says
/// `otherwise`, if there is such a thing.
fn caution(
    runs: &[(String, RunReport)],
    label: &str,
    name: &str,
    otherwise: Option<&'static str>,
) -> Option<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for (system, run) in runs.iter().filter(|(_, run)| run.title() == label) {
        let Some(value) = to_compare(run, name).or(otherwise) else { continue };
        match said.iter_mut().find(|(known, _)| *known == value) {
            Some((_, systems)) if systems.contains(&system.as_str()) => {}
            Some((_, systems)) => systems.push(system),
            None => said.push((value, vec![system.as_str()])),
        }
    }
    let told = said.iter().map(|(value, systems)| format!("{value} ({})", systems.join(", ")));
    let told: Vec<_> = told.collect();
    (told.len() > 1).then(|| format!("{label}: not the same {name}: {}", told.join("; ")))
}

/// What is compared of a setting, if the run says it.
fn to_compare<'a>(run: &'a RunReport, name: &str) -> Option<&'a str> {
    if name == "pace" && setting(run, "knee").is_some() {
        return Some(if run.half_of_knee.is_some() { HALF_OF_FOUND } else { FOUND });
    }
    let value = setting(run, name)?;
    // What follows explains it.
    Some(value.split(',').next().unwrap_or(value))
}

fn setting<'a>(run: &'a RunReport, name: &str) -> Option<&'a str> {
    run.settings.iter().find(|(set, _)| set == name).map(|(_, value)| value.as_str())
}

/// CPU of server and database. Before there was a field for both, it cannot be told whether a server without PostgreSQL has one elsewhere.
fn together(run: &RunReport) -> Option<f64> {
    run.cpu_us.or_else(|| Some(run.server_cpu_us? + run.postgres_cpu_us?))
}

/// Each once, in the order in which it comes first.
fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    all.fold(Vec::new(), |mut known, one| {
        if !known.contains(&one) {
            known.push(one);
        }
        known
    })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper))
}
