//! Runs of several systems side by side: medians of each, and their ratio to the first.

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

/// All systems in all scenarios.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Scenario by scenario, in the order in which they were named.
    pub rows: Vec<Compared>,
}

/// One system in one scenario: medians of its runs.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The scenario.
    pub scenario: String,
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
    /// CPU of the driver.
    pub driver_cpu_us: Option<f64>,
    /// CPU of both in multiples of that of the first system.
    pub cpu_ratio: Option<f64>,
    /// CPU of both in floors.
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
        let mut rows = Vec::new();
        let systems = distinct(runs.iter().map(|(system, _)| system.as_str()));
        for scenario in distinct(runs.iter().map(|(_, run)| run.scenario.as_str())) {
            let of = |system: &str| -> Vec<_> {
                let its = runs.iter().filter(|(of, run)| of == system && run.scenario == scenario);
                its.map(|(_, run)| run).collect()
            };
            let measured = systems.iter().filter(|system| !of(system).is_empty());
            let mut group: Vec<_> =
                measured.map(|system| Compared::new(scenario, system, &of(system))).collect();
            let first =
                group.first().filter(|first| Some(&first.system.as_str()) == systems.first()).cloned();
            for row in &mut group {
                row.compare(first.as_ref());
            }
            rows.append(&mut group);
        }
        Self { rows }
    }

    /// For the terminal.
    fn text(&self) -> String {
        let wide = |of: fn(&Compared) -> &str, least: usize| {
            self.rows.iter().map(|row| of(row).chars().count()).fold(least, usize::max)
        };
        let (scenario, system) = (wide(|row| &row.scenario, 8), wide(|row| &row.system, 6));
        let line = |names: [&str; 2], cells: Vec<String>| {
            let [one, other] = names;
            let start = format!("{one:<scenario$}  {other:<system$}");
            cells.into_iter().skip(names.len()).fold(start, |line, cell| line + &format!("{cell:>14}")) + "\n"
        };
        let mut text = line(["scenario", "system"], report::COMPARED.map(str::to_owned).to_vec());
        for row in &self.rows {
            text += &line([&row.scenario, &row.system], report::compared(row));
        }
        text
    }
}

impl Compared {
    fn new(scenario: &str, system: &str, runs: &[&RunReport]) -> Self {
        let of =
            |value: fn(&RunReport) -> Option<f64>| median(runs.iter().filter_map(|run| value(run)).collect());
        Self {
            scenario: scenario.to_owned(),
            system: system.to_owned(),
            runs: runs.len(),
            errors: runs.iter().map(|run| run.errors).sum(),
            ops_per_second: of(|run| Some(run.ops_per_second)),
            rate_ratio: None,
            p50_ms: of(|run| Some(run.latency_ms.p50)),
            p99_ms: of(|run| Some(run.latency_ms.p99)),
            server_cpu_us: of(|run| run.server_cpu_us),
            postgres_cpu_us: of(|run| run.postgres_cpu_us),
            driver_cpu_us: of(|run| Some(run.driver_cpu_us)),
            cpu_ratio: None,
            floors: of(|run| run.floors),
        }
    }

    /// CPU of server and PostgreSQL, in µs per operation.
    fn cpu_us(&self) -> Option<f64> {
        self.server_cpu_us.map(|server| server + self.postgres_cpu_us.unwrap_or_default())
    }

    fn compare(&mut self, first: Option<&Self>) {
        let ratio = |of: fn(&Self) -> Option<f64>| {
            let (own, of_first) = (of(self)?, first.and_then(of)?);
            (of_first > 0.0).then_some(own / of_first)
        };
        let ratios = (ratio(|row| row.ops_per_second), ratio(Self::cpu_us));
        (self.rate_ratio, self.cpu_ratio) = ratios;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::report;

    fn run(system: &str, scenario: &str, ops_per_second: f64, server: f64) -> (String, RunReport) {
        let (scenario, server_cpu_us) = (scenario.to_owned(), Some(server));
        (
            system.to_owned(),
            RunReport { scenario, ops_per_second, server_cpu_us, postgres_cpu_us: None, ..report() },
        )
    }

    #[test]
    fn systems_are_compared_by_the_medians_of_their_runs() {
        let turns = [run("a", "login", 100.0, 50.0), run("b", "login", 10.0, 90.0)];
        let again =
            [run("a", "login", 200.0, 30.0), run("b", "login", 20.0, 110.0), run("b", "mix", 1.0, 1.0)];
        let Comparison { rows } = Comparison::of(&[turns.as_slice(), &again].concat());
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.scenario.as_str(), row.system.as_str(), row.runs, row.rate_ratio, row.cpu_ratio))
            .collect();
        assert_eq!(
            told,
            [
                ("login", "a", 2, Some(1.0), Some(1.0)),
                ("login", "b", 2, Some(0.1), Some(2.5)),
                ("mix", "b", 1, None, None),
            ]
        );
    }

    #[test]
    fn a_table_has_a_line_for_each_system() {
        let text =
            Comparison::of(&[run("sluice", "login", 6_000.0, 160.0), run("other", "login", 60.0, 8_000.0)])
                .text();
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[2][..4], ["login", "other", "60", "0.010"], "{text}");
    }

    #[test]
    fn a_file_is_named_after_itself_or_its_folder_or_as_is_said() {
        let name = |said: &str| said.parse::<Named>().unwrap().name;
        assert_eq!(
            ["hydra=x/run.json", "a/sluice/run.json", "b/login.json"].map(name),
            ["hydra", "sluice", "login"]
        );
        assert_eq!("./odd=name/a.json".parse::<Named>().unwrap().path, Path::new("./odd=name/a.json"));
    }

    #[test]
    fn all_runs_of_a_file_count() {
        let json = serde_json::json!({ "runs": [report(), report()] });
        let mut one = serde_json::to_value(report()).unwrap();
        let alone: Run = serde_json::from_value(one.clone()).unwrap();
        assert_eq!(alone.all().len(), 1);
        one.as_object_mut().unwrap().insert("runs".to_owned(), json["runs"].clone());
        let both: Run = serde_json::from_value(one).unwrap();
        assert_eq!(both.all().len(), 2);
    }
}
