//! A day: a quiet while, then everybody before the match. What people and applications do then, in fixed proportions.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use hdrhistogram::Histogram;

use super::introspect::Introspect;
use super::login::Login;
use super::refresh::Refresh;
use super::register::Register;
use super::userinfo::Userinfo;
use super::{Dialect, IntrospectOptions, LoginOptions, RefreshOptions, Scenario, Shape};
use crate::driver::{Agent, Failure};
use crate::target::Target;

const DIGITS: u8 = 2;
/// No operation is longer, in µs: it would have timed out.
const LONGEST: u64 = 600_000_000;

/// A part of what is done.
struct Part {
    name: &'static str,
    /// Of a hundred operations.
    share: u64,
    scenario: Box<dyn Scenario>,
    /// From the moment when an operation was due to its last answer, in µs, since the run began.
    took: Mutex<Histogram<u64>>,
}

pub(super) struct Mix(Vec<Part>);

impl Mix {
    /// Applications ask about tokens more often than people log in.
    pub(super) fn new() -> Result<Self, Failure> {
        let introspect = IntrospectOptions::default();
        Ok(Self(vec![
            Part::of("introspect", 45, Introspect::new(Dialect::Hydra, introspect.clone()))?,
            Part::of("userinfo", 20, Userinfo::new(Dialect::Hydra, introspect))?,
            Part::of("login", 20, Login::new(Dialect::Hydra, LoginOptions::default()))?,
            Part::of("refresh", 10, Refresh::new(Dialect::Hydra, RefreshOptions::default()))?,
            Part::of("register", 5, Register::default())?,
        ]))
    }

    /// The part whose turn it is: the same for the same turn in every run, and without a pattern.
    fn part(&self, turn: u64) -> Option<&Part> {
        let total: u64 = self.0.iter().map(|part| part.share).sum();
        let mut drawn = scattered(turn).checked_rem(total)?;
        self.0.iter().find(|part| {
            let found = drawn < part.share;
            drawn = drawn.saturating_sub(part.share);
            found
        })
    }
}

impl Part {
    fn of(name: &'static str, share: u64, scenario: impl Scenario + 'static) -> Result<Self, Failure> {
        let took = Histogram::new_with_bounds(1, LONGEST, DIGITS)
            .map_err(|error| Failure::Setup(error.to_string()))?;
        Ok(Self { name, share, scenario: Box::new(scenario), took: Mutex::new(took) })
    }

    fn took(&self) -> MutexGuard<'_, Histogram<u64>> {
        self.took.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self) -> (String, String) {
        let took = self.took();
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of an operation")]
        let ms = |quantile| took.value_at_quantile(quantile) as f64 / 1e3;
        let told = format!("{} operations, p50 {:.2} ms, p99 {:.2} ms", took.len(), ms(0.5), ms(0.99));
        (format!("{}, {} of 100", self.name, self.share), told)
    }
}

#[async_trait(?Send)]
impl Scenario for Mix {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        for part in &mut self.0 {
            part.scenario.prepare(target, users).await?;
        }
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let part = self.part(turn).ok_or_else(|| Failure::Setup("nothing to do".to_owned()))?;
        let due = agent.due.unwrap_or_else(Instant::now);
        part.scenario.operate(agent, turn).await?;
        let took = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
        part.took().saturating_record(took);
        Ok(())
    }

    async fn begin(&self, target: &Target) -> Result<(), Failure> {
        for part in &self.0 {
            part.scenario.begin(target).await?;
            part.took().reset();
        }
        Ok(())
    }

    async fn finish(&self, _target: &Target) -> Result<Vec<(String, String)>, Failure> {
        Ok(self.0.iter().map(Part::line).collect())
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape::before_the_match())
    }
}

/// A number without a pattern for each number (`SplitMix64`).
const fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    /// Something that takes no time and no server.
    struct Done;

    #[async_trait(?Send)]
    impl Scenario for Done {
        async fn prepare(&mut self, _: &Target, _: usize) -> Result<(), Failure> {
            Ok(())
        }

        async fn operate(&self, _: &mut Agent, _: u64) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_part_is_late_from_the_moment_when_it_was_due_and_a_warm_up_is_none_of_it() {
        let mix = Mix(vec![Part::of("nothing", 100, Done).unwrap()]);
        // Nobody is asked anything there.
        let target = Target::at("http://127.0.0.1:9/".parse().unwrap());
        let mut agent = Agent::new(0, Arc::clone(&target.endpoints), None);
        mix.operate(&mut agent, 0).await.unwrap();
        mix.begin(&target).await.unwrap();
        agent.due = Instant::now().checked_sub(Duration::from_millis(70));
        mix.operate(&mut agent, 1).await.unwrap();
        let took = mix.0[0].took();
        assert_eq!(took.len(), 1);
        assert!(took.min() >= 69_000, "{} µs", took.min());
    }

    #[test]
    fn each_part_has_its_share() {
        let mix = Mix::new().unwrap();
        for part in &mix.0 {
            let count = (0..10_000).filter(|turn| mix.part(*turn).unwrap().name == part.name).count();
            let expected = usize::try_from(part.share * 100).unwrap();
            assert!(count.abs_diff(expected) < expected / 5 + 20, "{}: {count} of {expected}", part.name);
        }
    }

    #[test]
    fn the_shares_are_of_a_hundred() {
        assert_eq!(Mix::new().unwrap().0.iter().map(|part| part.share).sum::<u64>(), 100);
    }

    #[test]
    fn the_same_turn_is_the_same_part_in_every_run() {
        let names = |mix: Mix| (0..50).map(|turn| mix.part(turn).unwrap().name).collect::<Vec<_>>();
        assert_eq!(names(Mix::new().unwrap()), names(Mix::new().unwrap()));
    }
}
