//! What the play prints: one line per step, aligned, while it goes on.

use std::time::{Duration, Instant};

use super::check::Failure;
use crate::demo::printer::Printer;
use crate::demo::progress::milliseconds;

/// The columns, in characters.
const NAME_WIDTH: usize = 14;
const TIME_WIDTH: usize = 10;

/// The steps so far.
pub(super) struct Report {
    printer: Printer,
    steps: usize,
    total: Duration,
}

impl Report {
    pub(super) fn begin(printer: Printer) -> Self {
        printer.line(&format!("\n  {:NAME_WIDTH$} {:>TIME_WIDTH$}  answer", "step", "time"));
        Self { printer, steps: 0, total: Duration::ZERO }
    }

    /// Waits for a step and prints it. What it answers with is what it says about itself, and a result for later steps.
    pub(super) async fn step<T>(
        &mut self,
        name: &str,
        step: impl Future<Output = Result<(String, T), Failure>>,
    ) -> Result<T, Failure> {
        let began = Instant::now();
        let outcome = step.await;
        let took = began.elapsed();
        self.steps += 1;
        self.total += took;
        let says = match &outcome {
            Ok((says, _)) => says.as_str(),
            Err(_) => "FAILED",
        };
        self.printer.line(&format!("  {name:NAME_WIDTH$} {:>TIME_WIDTH$}  {says}", milliseconds(took)));
        outcome.map(|(_, result)| result)
    }

    pub(super) fn end(&self, failure: Option<&Failure>) {
        let (steps, total) = (self.steps, milliseconds(self.total));
        let outcome = match failure {
            None => format!("  {steps} steps in {total}, every answer as it must be."),
            Some(Failure::Unexpected { expected, got }) => {
                format!("  expected  {expected}\n  got       {got}")
            }
            Some(failure) => format!("  {failure}"),
        };
        self.printer.line(&format!("\n{outcome}"));
    }
}
