//! The knee: the highest rate that a server keeps up with, and what it is like at half of it.

use std::time::Duration;

use super::{Bench, CALM, Ran};
use crate::driver::{Length, Load, Measured, Pace};
use crate::error::BenchError;
use crate::floor::{Around, Floor};
use crate::report::RunReport;
use crate::scenario::Shape;

/// Of a hundred operations that were due, so many must end well and in time.
const IN_TIME: u64 = 99;
/// Of the rate that was asked for, what must be reached.
const REACHED: f64 = 0.98;
/// Halvings of the gap between a rate that is kept up with and its double, which is not: what is left of it is 3 %.
const BISECTIONS: usize = 5;
/// The first rate, as a share of what users reach in a closed loop.
const FIRST: f64 = 0.25;
/// Doublings and halvings until a rate is found that is kept up with, and one that is not.
const MOST_STEPS: usize = 16;
/// Of the knee: a server that is busy, and not at its limit.
const HALF: f64 = 0.5;
/// Shares of the knee at which is looked again.
const SHARES: [f64; 2] = [HALF, 0.8];
/// No search has more of them: whatever was too much is tried once more.
pub(super) const MOST_LOADS: usize = 2 * (MOST_STEPS + BISECTIONS) + SHARES.len();

/// Rates that were tried.
#[derive(Default)]
struct Search {
    good: Option<f64>,
    bad: Option<f64>,
    /// How many there were until one was good and one bad.
    steps: usize,
    /// How many there were between those.
    bisections: usize,
}

impl Search {
    /// The next rate, after the one before was kept up with or not. Doubles while nothing is too much, halves while everything is,
    /// and then goes between.
    fn next(&self) -> Option<f64> {
        match (self.good, self.bad) {
            (Some(good), Some(bad)) => Some(f64::midpoint(good, bad)),
            (Some(good), None) => Some(good * 2.0),
            (None, Some(bad)) => Some(bad / 2.0),
            (None, None) => None,
        }
    }

    const fn is_between(&self) -> bool {
        self.good.is_some() && self.bad.is_some()
    }

    const fn is_over(&self) -> bool {
        self.bisections == BISECTIONS || (self.steps == MOST_STEPS && !self.is_between())
    }

    fn learn(&mut self, rate: f64, keeps_up: bool) {
        let counted = if self.is_between() { &mut self.bisections } else { &mut self.steps };
        *counted += 1;
        if keeps_up { self.good = Some(rate) } else { self.bad = Some(rate) }
    }
}

impl Bench<'_> {
    /// Raises the rate until it is too much. The report is of the last rate that was not, or of half of it.
    pub(super) async fn find_knee(&mut self, before: Option<Floor>) -> Result<RunReport, BenchError> {
        let (load, ran) = self.search().await?;
        let found = self.told(&load, &ran.measured);
        let knee = if self.interrupt.is_requested() { at_least(&found) } else { found };
        let mut lines = vec![("knee".to_owned(), knee)];
        if self.args.half_knee {
            return self.at_half(rate_of(&load), lines, before).await;
        }
        for share in SHARES {
            if self.interrupt.is_requested() {
                break;
            }
            let slower = at_rate(&self.load, rate_of(&load) * share);
            let step = self.step(&slower).await;
            if self.interrupt.is_requested() {
                break;
            }
            let (ran, keeps_up) = step?;
            let told = judged(self.told(&slower, &ran.measured), keeps_up);
            lines.push((format!("at {:.0} % of the knee", share * 100.0), told));
        }
        self.ended(lines, &load, &ran, before).await
    }

    async fn at_half(
        &mut self,
        knee: f64,
        lines: Vec<(String, String)>,
        before: Option<Floor>,
    ) -> Result<RunReport, BenchError> {
        // What a search has found that did not end is less than the knee.
        if self.interrupt.is_requested() {
            return Err(BenchError::Interrupted);
        }
        let load = at_rate(&self.load, knee * HALF);
        let (ran, _) = self.step(&load).await?;
        let report = self.ended(lines, &load, &ran, before).await?;
        Ok(RunReport { half_of_knee: Some(knee), ..report })
    }

    /// After the last load: the floor once more, and the report, whose settings begin with these lines.
    async fn ended(
        &self,
        mut lines: Vec<(String, String)>,
        load: &Load,
        ran: &Ran,
        before: Option<Floor>,
    ) -> Result<RunReport, BenchError> {
        let _measuring = self.interrupt.measuring();
        let after = self.floor_after(before).await?;
        let around = before.zip(after).map(|(before, after)| Around { before, after });
        let mut report = self.report(load, ran, around).await?;
        lines.append(&mut report.settings);
        report.settings = lines;
        Ok(report)
    }

    /// Of a step that was interrupted nothing is learnt: what it shows is no rate that was kept up with, nor one that was too much.
    async fn search(&mut self) -> Result<(Load, Ran), BenchError> {
        let mut search = Search::default();
        let mut best = None;
        let mut rate = self.capacity().await? * FIRST;
        while !search.is_over() && !self.interrupt.is_requested() {
            let load = at_rate(&self.load, rate);
            if self.asked(&load) == 0.0 {
                break;
            }
            let tried = self.tried(&load).await;
            if self.interrupt.is_requested() {
                break;
            }
            let (ran, keeps_up) = tried?;
            search.learn(rate, keeps_up);
            if keeps_up {
                best = Some((load, ran));
            }
            rate = search.next().unwrap_or(rate);
        }
        let none = if self.interrupt.is_requested() {
            BenchError::Interrupted
        } else {
            BenchError::NoKnee { rate: search.bad.unwrap_or(rate), bound: self.args.p99_below() }
        };
        best.ok_or(none)
    }

    /// What users reach if each begins when its last operation has ended.
    async fn capacity(&mut self) -> Result<f64, BenchError> {
        let rate = self.warm_up().await?;
        if rate > 0.0 {
            return Ok(rate);
        }
        let option = self.args.knee().unwrap_or_default();
        Err(BenchError::Usage(format!("{option} needs a --warm-up")))
    }

    /// A rate that is too much is tried once more: the machine may have had something else to do for a moment.
    async fn tried(&mut self, load: &Load) -> Result<(Ran, bool), BenchError> {
        let (ran, keeps_up) = self.step(load).await?;
        if keeps_up || self.interrupt.is_requested() {
            return Ok((ran, keeps_up));
        }
        self.step(load).await
    }

    /// Whether the rate was kept up with is told beside what was measured.
    async fn step(&mut self, load: &Load) -> Result<(Ran, bool), BenchError> {
        // What was found so far is told, even if it is interrupted before the load begins.
        let interrupt = self.interrupt;
        let _measuring = interrupt.measuring();
        self.target.empty_log();
        tokio::time::sleep(CALM).await;
        let ran = self.once(load, &format!("{} at {:.0}/s", self.label, rate_of(load))).await?;
        let keeps_up = keeps_up(self.asked(load), self.args.p99_below(), &ran.measured);
        let verdict = if ran.is_interrupted {
            "interrupted"
        } else if keeps_up {
            "kept up"
        } else {
            "too much"
        };
        eprintln!("{}: {verdict}", self.told(load, &ran.measured));
        Ok((ran, keeps_up))
    }

    /// How many a second are due.
    fn asked(&self, load: &Load) -> f64 {
        asked(load, self.scenario.shape().as_ref())
    }

    fn told(&self, load: &Load, measured: &Measured) -> String {
        told(load, self.scenario.shape().as_ref(), measured)
    }
}

/// How many a second are due, if the rate has a shape or none.
fn asked(load: &Load, shape: Option<&Shape>) -> f64 {
    whole(rate_of(load) * shape.map_or(1.0, Shape::mean), load.length)
}

/// A rate as it is asked for: at 2.4 a second two operations are due in one, and at 0.4 none.
fn whole(rate: f64, length: Length) -> f64 {
    match length {
        Length::Duration(length) if !length.is_zero() => {
            let seconds = length.as_secs_f64();
            (rate * seconds).round() / seconds
        }
        Length::Duration(_) | Length::Operations(_) => rate,
    }
}

/// Whether so many a second were done, and all but a hundredth of those that were due ended well within `bound`: what failed, and what
/// nobody was free for, was not in time either.
fn keeps_up(rate: f64, bound: Duration, measured: &Measured) -> bool {
    let bound = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
    let in_time = measured.latency.count_between(0, bound);
    let due = measured.operations + measured.failed();
    in_time * 100 >= due * IN_TIME && measured.rate() >= rate * REACHED
}

/// The knee, if nobody waited for the end of the search.
fn at_least(found: &str) -> String {
    format!("at least {found}; interrupted")
}

/// What is told of a rate below the knee. It may have been too much all the same: the machine had something else to do then.
fn judged(told: String, keeps_up: bool) -> String {
    if keeps_up { told } else { format!("{told}; too much") }
}

fn at_rate(load: &Load, rate: f64) -> Load {
    Load { pace: Pace::Open { rate }, ..load.clone() }
}

const fn rate_of(load: &Load) -> f64 {
    match load.pace {
        Pace::Open { rate } => rate,
        Pace::Closed => 0.0,
    }
}

/// Of a rate that has a shape also the mean, which is what can be reached.
#[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
fn told(load: &Load, shape: Option<&Shape>, measured: &Measured) -> String {
    let at = |quantile| measured.latency.value_at_quantile(quantile) as f64 / 1e3;
    let mean = shape.map(|shape| format!(" at its highest, {:.0}/s on average", asked(load, Some(shape))));
    format!(
        "{:.0}/s{} asked for, {:.0}/s reached, p50 {:.2} ms, p99 {:.2} ms, {} errors",
        rate_of(load),
        mean.unwrap_or_default(),
        measured.rate(),
        at(0.5),
        at(0.99),
        measured.failed()
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hdrhistogram::Histogram;

    use super::*;

    const BOUND: Duration = Duration::from_millis(50);

    /// A second in which so many ended in time, too late, and not well.
    fn second(in_time: u64, late: u64, failed: u64) -> Measured {
        let mut latency = Histogram::new(3).unwrap();
        latency.record_n(1_000, in_time).unwrap();
        latency.record_n(80_000, late).unwrap();
        Measured {
            operations: in_time + late,
            errors: BTreeMap::from([("not begun in time".to_owned(), failed)]),
            elapsed: Duration::from_secs(1),
            latency,
            seconds: Vec::new(),
            next_turn: 0,
        }
    }

    #[test]
    fn a_rate_is_kept_up_with_if_all_but_a_hundredth_end_well_in_time() {
        assert!(keeps_up(1000.0, BOUND, &second(1000, 0, 0)));
        assert!(keeps_up(1000.0, BOUND, &second(990, 10, 0)));
        assert!(!keeps_up(1000.0, BOUND, &second(989, 11, 0)));
    }

    #[test]
    fn whoever_is_turned_away_is_not_kept_up_with() {
        assert!(keeps_up(1000.0, BOUND, &second(990, 0, 10)));
        assert!(!keeps_up(1000.0, BOUND, &second(985, 0, 15)), "the rate was reached, but not by all");
        assert!(!keeps_up(1000.0, BOUND, &second(985, 5, 10)));
    }

    #[test]
    fn a_rate_that_was_not_reached_is_not_kept_up_with() {
        assert!(!keeps_up(1000.0, BOUND, &second(970, 0, 0)));
    }

    #[test]
    fn as_many_are_asked_for_as_are_due() {
        let seconds = |seconds| Length::Duration(Duration::from_secs(seconds));
        let due = [(2.4, seconds(1)), (2.4, seconds(5)), (0.4, seconds(1)), (2.4, Length::Operations(3))];
        assert_eq!(due.map(|(rate, length)| whole(rate, length).to_string()), ["2", "2.4", "0", "2.4"]);
    }

    #[test]
    fn the_rate_doubles_until_it_is_too_much_and_then_goes_between() {
        let mut search = Search::default();
        search.learn(100.0, true);
        assert_eq!(search.next(), Some(200.0));
        search.learn(200.0, true);
        assert_eq!(search.next(), Some(400.0));
        search.learn(400.0, false);
        assert_eq!(search.next(), Some(300.0));
        search.learn(300.0, true);
        assert_eq!(search.next(), Some(350.0));
    }

    /// Up to the end, of a server that keeps up with so much.
    fn searched(first: f64, knee: f64) -> Search {
        let (mut search, mut rate) = (Search::default(), first);
        while !search.is_over() {
            search.learn(rate, rate <= knee);
            rate = search.next().unwrap();
        }
        search
    }

    #[test]
    fn the_gap_around_the_knee_is_halved_five_times_from_whichever_side_it_was_found() {
        let gap = |first| {
            let search = searched(first, 290.0);
            search.bad.unwrap() - search.good.unwrap()
        };
        // 200 is kept up with, 400 is not.
        assert_eq!([gap(100.0), gap(800.0)].map(|gap| gap.to_string()), ["6.25", "6.25"]);
    }

    #[test]
    fn a_search_that_finds_nothing_ends() {
        assert_eq!(searched(100.0, 0.0).steps, MOST_STEPS);
        assert_eq!(searched(100.0, f64::MAX).steps, MOST_STEPS);
        let late = searched(100.0, 100.0 / 30_000.0);
        assert_eq!((late.steps, late.bisections), (MOST_STEPS, BISECTIONS), "it was found by the last step");
    }

    fn load(rate: f64) -> Load {
        Load {
            users: std::num::NonZeroUsize::MIN,
            threads: std::num::NonZeroUsize::MIN,
            pace: Pace::Open { rate },
            length: Length::Operations(1000),
            first_turn: 0,
        }
    }

    #[test]
    fn a_rate_that_changes_is_told_with_the_mean_that_can_be_reached() {
        let shape = Shape::through(&[(0.0, 0.0), (1.0, 1.0)]);
        let said = told(&load(2000.0), Some(&shape), &second(1000, 0, 0));
        let expected = "2000/s at its highest, 1000/s on average asked for, 1000/s reached, p50 ";
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn a_search_that_was_interrupted_says_no_more_than_it_has_found() {
        let said = at_least(&told(&load(1000.0), None, &second(1000, 0, 0)));
        assert!(said.starts_with("at least 1000/s asked for, 1000/s reached, "), "{said}");
        assert!(said.ends_with(" errors; interrupted"), "{said}");
    }

    #[test]
    fn a_rate_below_the_knee_that_was_too_much_says_so() {
        let said = |keeps_up| judged(told(&load(1000.0), None, &second(1000, 0, 0)), keeps_up);
        assert!(said(true).ends_with(" errors"), "{}", said(true));
        assert!(said(false).ends_with(" errors; too much"), "{}", said(false));
    }

    #[test]
    fn a_first_rate_that_is_too_much_is_halved() {
        let mut search = Search::default();
        search.learn(100.0, false);
        assert_eq!(search.next(), Some(50.0));
        assert!(!search.is_between());
    }
}
