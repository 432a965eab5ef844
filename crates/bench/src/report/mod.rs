//! What a run is told as: JSON, a page for the terminal, a page for the browser.
//!
//! [`RunReport`] is what `--json` prints. [`terminal`]: a summary. [`html`] and its siblings: one file that needs nothing
//! from elsewhere. [`verdicts`]: what must hold of a run.

mod at_rest;
mod chart;
mod compare_page;
mod long_page;
mod number;
mod page;
mod run;
mod run_page;
#[cfg(test)]
pub(crate) mod samples;
mod scale;
mod targets;
mod terminal;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use askama::Template as _;

use crate::compare::Comparison;
use crate::endurance::EnduranceReport;
use crate::error::BenchError;
use crate::growth::GrowthReport;
pub(crate) use compare_page::{COMPARED, compared};
pub use run::{AtRest, Latency, Memory, RunReport, SecondReport};
pub use targets::verdicts;
pub(crate) use targets::{COARSE_CPU, NO_TARGET};
pub use terminal::terminal;

/// A page about runs of one scenario: the one in the middle, and all of them beside it.
///
/// # Errors
/// Of the template, which does not fail.
pub fn html(median: &RunReport, runs: &[RunReport]) -> Result<String, askama::Error> {
    run_page::page(median, runs).render()
}

/// A page about a database that grows.
///
/// # Errors
/// Of the template, which does not fail.
pub fn growth_html(report: &GrowthReport) -> Result<String, askama::Error> {
    long_page::growth(report).render()
}

/// A page about a run that went on for long.
///
/// # Errors
/// Of the template, which does not fail.
pub fn endurance_html(report: &EnduranceReport) -> Result<String, askama::Error> {
    long_page::endurance(report).render()
}

/// A page about several systems.
///
/// # Errors
/// Of the template, which does not fail.
pub fn comparison_html(comparison: &Comparison) -> Result<String, askama::Error> {
    compare_page::page(comparison).render()
}

/// Prints what was measured. That nobody reads it to its end is no error.
///
/// # Errors
/// Of standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Makes the folder of a report, if one is asked for and it is not there: that it cannot be written to is known before anything is
/// measured.
///
/// # Errors
/// [`BenchError::Usage`] with the path, if it cannot be made or written to.
pub(crate) fn make(folder: Option<&Path>) -> Result<(), BenchError> {
    let Some(folder) = folder else { return Ok(()) };
    let made = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    made.map(drop).map_err(|error| BenchError::Usage(unwritten(folder, &error).to_string()))
}

/// Files of a report by their names, in a folder that is made if it is not there.
///
/// # Errors
/// With the path of what cannot be written.
pub(crate) fn write<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    for (name, content) in files {
        let file = folder.join(name);
        fs::write(&file, content).map_err(|error| unwritten(&file, &error))?;
    }
    Ok(())
}

fn unwritten(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the report cannot be written to {}: {error}", path.display()))
}
