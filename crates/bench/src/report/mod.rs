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
use crate::growth::GrowthReport;
pub(crate) use compare_page::{COMPARED, compared};
pub use run::{AtRest, Latency, Memory, RunReport, SecondReport};
pub use targets::verdicts;
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

/// `run.json` in a folder, and `index.html` if there is a page, which is made if it is not there.
///
/// # Errors
/// Of the files.
pub(crate) fn write(folder: &Path, page: Option<&str>, json: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    if let Some(page) = page {
        fs::write(folder.join("index.html"), page)?;
    }
    fs::write(folder.join("run.json"), json)
}
