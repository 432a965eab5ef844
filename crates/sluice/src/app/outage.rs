//! What is said of something that gives no answers, be it the database or an authorization server: not each time, or callers could write
//! as many lines as they like.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How often it is said again that there are no answers, unless the same is worth more lines.
const TOLD_EVERY: Duration = Duration::from_mins(1);
/// The same once it was said that there are answers again: the log is not to end with that where there are none.
const TOLD_ANEW_EVERY: Duration = Duration::from_secs(10);
/// So many reasons are told apart; of others nothing is said until the oldest of them was said long enough ago.
const REASONS: usize = 16;

/// What was said, of one kind of question.
#[derive(Debug)]
pub(crate) struct Outage {
    told_every: Duration,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    /// Why there are none, as it was said lately, and when.
    lately: Vec<(String, Instant)>,
    /// Whether that is what was said last.
    is_out: bool,
    /// Questions without an answer of which nothing was said yet.
    untold: u64,
    /// When the last of all was asked.
    failed_at: Option<Instant>,
}

impl Default for Outage {
    fn default() -> Self {
        Self::told_every(TOLD_EVERY)
    }
}

impl Outage {
    /// One of which the same is said so often at most.
    pub(crate) fn told_every(told_every: Duration) -> Self {
        Self { told_every, told: Mutex::default() }
    }

    /// A question had no answer, whatever the reason. How many had none since it was last said, this one among them, if it is to be said
    /// now: once a minute at most, and every ten seconds if answers come and go.
    pub(crate) fn failed(&self) -> Option<u64> {
        self.failed_for("")
    }

    /// The same where the reason is said, too: another than was said lately is said at once.
    pub(crate) fn failed_for(&self, reason: &str) -> Option<u64> {
        let (mut told, now) = (self.told.lock(), Instant::now());
        let is_long_over = told.failed_at.is_some_and(|at| now.duration_since(at) > self.told_every);
        if is_long_over && !told.is_out {
            // They were of another time, too few to be said.
            told.untold = 0;
        }
        told.failed_at = Some(now);
        told.untold = told.untold.saturating_add(1);
        let quiet = if told.is_out { self.told_every } else { self.told_every.min(TOLD_ANEW_EVERY) };
        told.lately.retain(|(_, at)| now.duration_since(*at) < quiet);
        if told.lately.len() >= REASONS || told.lately.iter().any(|(said, _)| said == reason) {
            return None;
        }
        told.lately.push((reason.to_owned(), now));
        told.is_out = true;
        Some(std::mem::take(&mut told.untold))
    }

    /// A question was answered. Whether it is to be said that they are again.
    pub(crate) fn is_over(&self) -> bool {
        std::mem::take(&mut self.told.lock().is_out)
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
        tokio::time::advance(TOLD_ANEW_EVERY).await;
        assert_eq!(said(), (Some(3), true));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_out_again_soon_after_it_was_over_is_not_left_with_that_word() {
        for outage in [Outage::default(), Outage::told_every(Duration::from_secs(5))] {
            assert_eq!((outage.failed(), outage.is_over(), outage.failed()), (Some(1), true, None));
            tokio::time::advance(TOLD_ANEW_EVERY).await;
            assert!(outage.failed().is_some());
            assert_eq!([outage.is_over(), outage.is_over()], [true, false]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_too_short_to_be_said_is_not_counted_with_what_comes_long_after() {
        let outage = Outage::default();
        assert_eq!((outage.failed(), outage.is_over()), (Some(1), true));
        assert_eq!((outage.failed(), outage.failed(), outage.is_over()), (None, None, false));
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!([outage.failed(), outage.failed()], [Some(1), None]);
    }

    #[tokio::test(start_paused = true)]
    async fn another_reason_is_said_at_once_and_none_more_often_where_they_take_turns() {
        let outage = Outage::told_every(Duration::from_secs(10));
        let said = ["away", "full", "away", "full"].map(|reason| outage.failed_for(reason));
        assert_eq!(said, [Some(1), Some(1), None, None]);
        tokio::time::advance(Duration::from_secs(10)).await;
        let said = ["away", "away", "full"].map(|reason| outage.failed_for(reason));
        assert_eq!(said, [Some(3), None, Some(2)]);
    }

    #[tokio::test(start_paused = true)]
    async fn reasons_that_are_different_each_time_are_said_no_more_often_than_there_is_room_for() {
        let outage = Outage::default();
        let said = (0..1_000).filter(|time| outage.failed_for(&format!("reason {time}")).is_some()).count();
        assert_eq!(said, REASONS);
    }
}
