//! How many requests may be sent anew: a share of those that came lately. Without it an outage doubles the load of a server that has just
//! begun to fail under it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::config::RetryBudget;

/// What is longer ago counts for little: a request counts less the longer ago it came, and after so long a third.
const LATELY: Duration = Duration::from_secs(10);

/// By less than this a count steps back; by more it has begun anew.
const STEP_BACK: u32 = 1 << 20;

/// What is left of a budget. Only requests that are to be sent anew look at it.
#[derive(Debug)]
pub(super) struct Budget(Mutex<Spent>);

#[derive(Debug)]
struct Spent {
    /// When it was last looked at.
    at: Instant,
    /// How many requests there had been by then at most, in a count that begins anew beyond 32 bits.
    counted: u32,
    /// Requests of late.
    requests: f64,
    /// Those of them that were sent anew.
    retries: f64,
}

impl Budget {
    /// Nothing was spent.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Spent { at: Instant::now(), counted: 0, requests: 0.0, retries: 0.0 }))
    }

    /// Whether one more request may be sent anew, when there have been `counted` in all. They are counted once it is this one's turn: of two
    /// that ask at once the later would else follow with what it counted earlier.
    pub(super) fn take(&self, budget: &RetryBudget, counted: impl FnOnce() -> u32) -> bool {
        let mut spent = self.0.lock();
        spent.follow(counted(), Instant::now());
        let most = f64::from(budget.at_least) + spent.requests * f64::from(budget.percent) / 100.0;
        let is_left = spent.retries + 1.0 <= most;
        if is_left {
            spent.retries += 1.0;
        }
        is_left
    }
}

impl Spent {
    /// Forgets what has grown old since it was last looked at, and takes up the requests that came since, as if they had come evenly. There
    /// may be fewer than there were, by those that were counted and then not let in: none came since then.
    fn follow(&mut self, counted: u32, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64() / LATELY.as_secs_f64();
        let gone = -(-passed).exp_m1();
        let share = if passed > 0.0 { gone / passed } else { 1.0 };
        let came = if self.counted.wrapping_sub(counted) < STEP_BACK {
            0
        } else {
            counted.wrapping_sub(self.counted)
        };
        self.requests = self.requests * (1.0 - gone) + f64::from(came) * share;
        self.retries *= 1.0 - gone;
        (self.at, self.counted) = (now, self.counted.wrapping_add(came));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const BUDGET: RetryBudget = RetryBudget { percent: 20, at_least: 10 };

    /// How many of `wanted` retries are permitted.
    fn permitted(budget: &Budget, counted: u32, wanted: u32) -> usize {
        (0..wanted).filter(|_| budget.take(&BUDGET, || counted)).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_requests_may_be_sent_anew_and_of_many_a_fifth() {
        assert_eq!(permitted(&Budget::new(), 10, 100), 12);
        assert_eq!(permitted(&Budget::new(), 10_000, 10_000), 2_010);
        let none = RetryBudget { percent: 0, at_least: 0 };
        assert!(!Budget::new().take(&none, || 10_000));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_spent_is_there_again_after_a_while() {
        let budget = Budget::new();
        assert_eq!(permitted(&budget, 10, 100), 12);
        advance(LATELY).await;
        let again = permitted(&budget, 10, 100);
        assert!((5..=8).contains(&again), "{again}");
        advance(LATELY * 100).await;
        assert_eq!(permitted(&budget, 10, 100), 10, "the requests are long past");
    }

    /// A server that was well for long has had many requests; those of the last seconds count.
    #[tokio::test(start_paused = true)]
    async fn requests_of_long_ago_permit_nothing_now() {
        let budget = Budget::new();
        advance(Duration::from_hours(1)).await;
        let lately = permitted(&budget, 360_000, 10_000);
        assert!((200..=220).contains(&lately), "of a hundred a second: {lately}");
    }

    #[tokio::test(start_paused = true)]
    async fn of_an_outage_a_fifth_is_sent_anew_for_as_long_as_it_lasts() {
        let (budget, mut counted, mut sent) = (Budget::new(), 0, 0);
        for _ in 0..100 {
            counted += 100;
            sent += permitted(&budget, counted, 100);
            advance(Duration::from_secs(1)).await;
        }
        assert!((1_900..=2_100).contains(&sent), "{sent}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_that_begins_anew_is_followed() {
        let budget = Budget::new();
        budget.0.lock().counted = u32::MAX - 4;
        assert_eq!(permitted(&budget, 5, 100), 12);
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_that_steps_back_makes_no_room() {
        let budget = Budget::new();
        assert_eq!(permitted(&budget, 105, 100), 31);
        assert_eq!(permitted(&budget, 100, 100), 0);
        assert_eq!(permitted(&budget, 105, 100), 0, "they had come already");
        assert_eq!(permitted(&budget, 110, 100), 1, "a fifth of five");
    }
}
