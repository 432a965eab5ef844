//! What is said of an authorization server that gives no answers: not each time, or callers could write as many lines as they like.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How often it is said again that there are no answers.
const TOLD_EVERY: Duration = Duration::from_mins(1);

/// What was said, of one kind of question.
#[derive(Debug, Default)]
pub(super) struct Outage(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    /// When it was last said that there are none.
    at: Option<Instant>,
    /// Whether that is what was said last.
    is_out: bool,
    /// Questions without an answer of which nothing was said yet.
    untold: u64,
}

impl Outage {
    /// A question had no answer. How many had none since it was last said, this one among them, if it is to be said now: once a minute
    /// at most, also if answers come and go.
    pub(super) fn failed(&self) -> Option<u64> {
        let mut told = self.0.lock();
        told.untold = told.untold.saturating_add(1);
        if told.at.is_some_and(|at| at.elapsed() < TOLD_EVERY) {
            return None;
        }
        (told.at, told.is_out) = (Some(Instant::now()), true);
        Some(std::mem::take(&mut told.untold))
    }

    /// A question was answered. Whether it is to be said that they are again.
    pub(super) fn is_over(&self) -> bool {
        std::mem::take(&mut self.0.lock().is_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_lasts_is_said_at_once_and_then_once_a_minute_with_how_many_failed() {
        let outage = Outage::default();
        assert!(!outage.is_over(), "it was never out");
        assert_eq!([outage.failed(), outage.failed(), outage.failed()], [Some(1), None, None]);
        tokio::time::advance(TOLD_EVERY).await;
        assert_eq!([outage.failed(), outage.failed()], [Some(3), None]);
        assert_eq!([outage.is_over(), outage.is_over()], [true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_and_goes_is_said_no_more_often() {
        let outage = Outage::default();
        let said = || (outage.failed(), outage.is_over());
        assert_eq!([said(), said(), said()], [(Some(1), true), (None, false), (None, false)]);
        tokio::time::advance(TOLD_EVERY).await;
        assert_eq!(said(), (Some(3), true));
    }
}
