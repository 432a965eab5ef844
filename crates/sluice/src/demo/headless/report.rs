//! What the play prints: one line per step, aligned, while it goes on.

use std::time::{Duration, Instant};

use super::check::Failure;
use crate::demo::progress::milliseconds;

/// The columns, in characters.
const NAME_WIDTH: usize = 14;
const TIME_WIDTH: usize = 10;

/// The steps so far.
pub(super) struct Report {
    steps: usize,
    total: Duration,
}

impl Report {
    pub(super) fn begin() -> Self {
        println!("\n  {:NAME_WIDTH$} {:>TIME_WIDTH$}  answer", "step", "time");
        Self { steps: 0, total: Duration::ZERO }
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
        println!("  {name:NAME_WIDTH$} {:>TIME_WIDTH$}  {says}", milliseconds(took));
        outcome.map(|(_, result)| result)
    }

    pub(super) fn end(&self, failure: Option<&Failure>) {
        println!();
        match failure {
            None => {
                println!(
                    "  {} steps in {}, every answer as it must be.",
                    self.steps,
                    milliseconds(self.total)
                );
            }
            Some(Failure::Unexpected { expected, got }) => {
                println!("  expected  {expected}\n  got       {got}");
            }
            Some(failure) => println!("  {failure}"),
        }
    }
}
