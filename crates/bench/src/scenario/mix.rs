//! A day: a quiet while, then everybody before the match. What people and applications do then, in fixed proportions.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use hdrhistogram::Histogram;

use super::introspect::Introspect;
use super::login::Login;
use super::refresh::Refresh;
use super::register::Register;
use super::support::hardening::Hardening;
use super::userinfo::Userinfo;
use super::{
    Again, Dialect, HardeningOptions, IntrospectOptions, LoginOptions, RefreshOptions, Scenario, Shape,
};
use crate::driver::{Agent, Failure, Observer};
use crate::target::Target;

const DIGITS: u8 = 2;
/// No operation is longer, in µs: it would have timed out.
const LONGEST: u64 = 600_000_000;
/// Whose codes are redeemed.
const LOGIN: &str = "login";
/// Whose refresh tokens are rotated.
const REFRESH: &str = "refresh";

/// A part of what is done.
struct Part {
    name: &'static str,
    /// Of a hundred operations.
    share: u64,
    scenario: Box<dyn Scenario>,
    /// From the moment when an operation was due to its last answer, in µs, since the run began.
    took: Mutex<Histogram<u64>>,
}

pub(super) struct Mix {
    parts: Vec<Part>,
    /// Of those who register: it would be measured beside all the rest.
    hardening: Hardening,
}

impl Mix {
    /// Applications ask about tokens more often than people log in.
    pub(super) fn new(options: &HardeningOptions) -> Result<Self, Failure> {
        let (introspect, register) = (IntrospectOptions::default(), Register::default());
        let hardening = Hardening::of(register.registered(), options.drain);
        let parts = vec![
            Part::of("introspect", 45, Introspect::new(Dialect::Hydra, introspect.clone()))?,
            Part::of("userinfo", 20, Userinfo::new(Dialect::Hydra, introspect))?,
            Part::of(LOGIN, 20, Login::new(Dialect::Hydra, LoginOptions::default()))?,
            Part::of(REFRESH, 10, Refresh::new(Dialect::Hydra, RefreshOptions::default()))?,
            Part::of("register", 5, register)?,
        ];
        Ok(Self { parts, hardening })
    }

    /// The part whose turn it is: the same for the same turn in every run, and without a pattern.
    fn part(&self, turn: u64) -> Option<&Part> {
        let total: u64 = self.parts.iter().map(|part| part.share).sum();
        let mut drawn = scattered(turn).checked_rem(total)?;
        self.parts.iter().find(|part| {
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
        let at =
            |quantile| if took.is_empty() { "–".to_owned() } else { format!("{:.2} ms", ms(quantile)) };
        let told = format!("{} operations, p50 {}, p99 {}", took.len(), at(0.5), at(0.99));
        (format!("{}, {} of 100", self.name, self.share), told)
    }
}

#[async_trait(?Send)]
impl Scenario for Mix {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        for part in &mut self.parts {
            part.scenario.prepare(target, users).await?;
        }
        // Where it is not said, nobody is waited for.
        let _is_said = self.hardening.prepare(target).await?;
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

    async fn begin(&self, target: &Target, observer: &dyn Observer) -> Result<(), Failure> {
        self.hardening.settle(target, observer).await?;
        self.hardening.begin(target).await?;
        for part in &self.parts {
            part.scenario.begin(target, observer).await?;
            part.took().reset();
        }
        Ok(())
    }

    /// What was measured of the parts is worth telling, even if the server is gone.
    async fn finish(
        &self,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<Vec<(String, String)>, Failure> {
        let hardened = self.hardening.finish(target, observer).await;
        let hardened =
            hardened.unwrap_or_else(|failure| vec![("hardened".to_owned(), format!("unknown: {failure}"))]);
        Ok(self.parts.iter().map(Part::line).chain(hardened).collect())
    }

    async fn again(&self, agent: &mut Agent, what: Again<'_>) -> Result<Option<bool>, Failure> {
        let gave = match what {
            Again::Code(_) | Again::RefreshToken(_) => LOGIN,
            Again::Rotated(_) => REFRESH,
        };
        match self.parts.iter().find(|part| part.name == gave) {
            Some(part) => part.scenario.again(agent, what).await,
            None => Ok(None),
        }
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
    use crate::driver::Nobody;

    fn whole() -> Mix {
        Mix::new(&HardeningOptions::default()).unwrap()
    }

    fn of(parts: Vec<Part>) -> Mix {
        Mix { parts, hardening: Hardening::of(Arc::default(), Duration::ZERO) }
    }

    /// Nobody is asked anything there.
    fn nowhere() -> Target {
        Target::at("http://127.0.0.1:9/".parse().unwrap())
    }

    /// Something that takes no time and no server, and works once.
    struct Done;

    #[async_trait(?Send)]
    impl Scenario for Done {
        async fn prepare(&mut self, _: &Target, _: usize) -> Result<(), Failure> {
            Ok(())
        }

        async fn operate(&self, _: &mut Agent, _: u64) -> Result<(), Failure> {
            Ok(())
        }

        async fn again(&self, _: &mut Agent, _: Again<'_>) -> Result<Option<bool>, Failure> {
            Ok(Some(false))
        }
    }

    #[tokio::test]
    async fn a_part_is_late_from_the_moment_when_it_was_due_and_a_warm_up_is_none_of_it() {
        let mix = of(vec![Part::of("nothing", 100, Done).unwrap()]);
        let target = nowhere();
        let mut agent = Agent::new(0, Arc::clone(&target.endpoints), None);
        mix.operate(&mut agent, 0).await.unwrap();
        mix.begin(&target, &Nobody).await.unwrap();
        agent.due = Instant::now().checked_sub(Duration::from_millis(70));
        mix.operate(&mut agent, 1).await.unwrap();
        let took = mix.parts[0].took();
        assert_eq!(took.len(), 1);
        assert!(took.min() >= 69_000, "{} µs", took.min());
    }

    #[tokio::test]
    async fn what_was_given_is_tried_again_by_the_part_that_got_it() {
        let target = nowhere();
        let mut agent = Agent::new(0, Arc::clone(&target.endpoints), None);
        let mut answers = async |name: &'static str| {
            let mix = of(vec![Part::of(name, 100, Done).unwrap()]);
            let mut answers = Vec::new();
            for what in [Again::Code("c"), Again::RefreshToken("r"), Again::Rotated("r")] {
                answers.push(mix.again(&mut agent, what).await.unwrap());
            }
            answers
        };
        assert_eq!(answers(LOGIN).await, [Some(false), Some(false), None]);
        assert_eq!(answers(REFRESH).await, [None, None, Some(false)]);
    }

    #[test]
    fn a_part_that_did_nothing_has_no_latency() {
        let (name, told) = Part::of("nothing", 5, Done).unwrap().line();
        assert_eq!((name.as_str(), told.as_str()), ("nothing, 5 of 100", "0 operations, p50 –, p99 –"));
    }

    #[tokio::test]
    async fn what_was_measured_is_told_if_the_server_is_gone() {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let target = Target::at(format!("http://{gone}/").parse().unwrap());
        let parts = vec![Part::of("nothing", 100, Done).unwrap()];
        let mix = Mix { parts, hardening: Hardening::begun() };
        let lines = mix.finish(&target, &Nobody).await.unwrap();
        let names: Vec<_> = lines.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["nothing, 100 of 100", "hardened"]);
    }

    #[test]
    fn each_part_has_its_share() {
        let mix = whole();
        for part in &mix.parts {
            let count = (0..10_000).filter(|turn| mix.part(*turn).unwrap().name == part.name).count();
            let expected = usize::try_from(part.share * 100).unwrap();
            assert!(count.abs_diff(expected) < expected / 5 + 20, "{}: {count} of {expected}", part.name);
        }
    }

    #[test]
    fn the_shares_are_of_a_hundred() {
        assert_eq!(whole().parts.iter().map(|part| part.share).sum::<u64>(), 100);
    }

    #[test]
    fn the_same_turn_is_the_same_part_in_every_run() {
        let names = |mix: Mix| (0..50).map(|turn| mix.part(turn).unwrap().name).collect::<Vec<_>>();
        assert_eq!(names(whole()), names(whole()));
    }
}
