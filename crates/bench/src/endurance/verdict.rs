//! What must hold of a long run.

use std::time::Duration;

use serde::Serialize;

use super::Sample;
use crate::account::Storage;
use crate::number::as_f64;

/// How much more memory there may be at the end than when the first rows had died.
const MEMORY: f64 = 1.1;
/// The same of the disk: what is deleted is free only after the next vacuum.
const DISK: f64 = 1.25;
/// How much more memory there may be from the third quarter of the steady time to the last, in the median. A leak that adds a tenth in
/// all of it adds a fortieth from one quarter to the next; what comes and goes moved the medians of half an hour by 1 %.
const CREEP: f64 = 1.02;
const MIB: f64 = 1024.0 * 1024.0;

/// Something that must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What must hold.
    pub claim: String,
    /// Whether it does; `None` if this run cannot tell.
    pub holds: Option<bool>,
    /// What was seen.
    pub seen: String,
}

impl Verdict {
    fn of(claim: &str, holds: Option<bool>, seen: String) -> Self {
        Self { claim: claim.to_owned(), holds, seen }
    }

    pub(super) fn line(&self) -> String {
        let holds = match self.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "–",
        };
        format!("{holds:>4}  {}: {}\n", self.claim, self.seen)
    }
}

/// What is judged.
pub(super) struct Run<'a> {
    pub(super) samples: &'a [Sample],
    /// When the load ended.
    pub(super) loaded: Duration,
    /// How long a row may live.
    pub(super) lifetime: Duration,
    /// How long after that it is gone.
    pub(super) upkeep: Duration,
    /// What was stored before the first login.
    pub(super) before: Storage,
}

impl Run<'_> {
    pub(super) fn verdicts(&self, errors: u64) -> Vec<Verdict> {
        vec![
            Verdict::of("no login failed", Some(errors == 0), format!("{errors} errors")),
            self.rows(),
            self.disk(),
            self.memory(),
            self.creep(),
        ]
    }

    /// Whether it ended before it could tell what its samples have figures for.
    pub(super) fn is_too_short(&self) -> bool {
        let is_known =
            |of: fn(&Sample) -> Option<u64>| self.samples.iter().any(|sample| of(sample).is_some());
        let is_open = |verdict: Verdict| verdict.holds.is_none();
        (is_known(|sample| sample.rows) && is_open(self.rows()))
            || (is_known(|sample| sample.bytes) && is_open(self.disk()))
            || (is_known(|sample| sample.resident) && (is_open(self.memory()) || is_open(self.creep())))
    }

    fn disk(&self) -> Verdict {
        self.level("disk does not grow while as much dies as is born", DISK, |sample| sample.bytes)
    }

    fn memory(&self) -> Verdict {
        self.level("memory does not grow", MEMORY, |sample| sample.resident)
    }

    /// All that was made is gone when its time is over.
    fn rows(&self) -> Verdict {
        const CLAIM: &str = "rows are back at what is alive";
        let most = self.samples.iter().filter_map(|sample| sample.rows).max();
        let last = self.samples.last().and_then(|sample| sample.rows);
        let (Some(before), Some(most), Some(last)) = (self.before.rows, most, last) else {
            return Verdict::of(CLAIM, None, "rows are not counted on this database".to_owned());
        };
        let ended = self.samples.last().map_or(0.0, |sample| sample.at_s);
        let is_over = ended >= (self.loaded + self.lifetime).as_secs_f64() || last <= before;
        let seen = format!("{before} before the first login, {most} at most, {last} at the end");
        Verdict::of(CLAIM, is_over.then_some(last <= before), seen)
    }

    /// The most of the last quarter of the steady time against the most of its first.
    fn level(&self, claim: &str, at_most: f64, of: fn(&Sample) -> Option<u64>) -> Verdict {
        let most = |quarter| self.quarter(quarter, of).last().copied();
        self.growth(claim, at_most, most(0).zip(most(3)))
    }

    /// What is still growing when all that is kept for a while has been filled. A burst, and what it leaves behind for a moment, does
    /// not move a median.
    fn creep(&self) -> Verdict {
        let median = |quarter| {
            let sorted = self.quarter(quarter, |sample| sample.resident);
            sorted.get(sorted.len() / 2).copied()
        };
        let medians = median(2).zip(median(3));
        self.growth("memory does not grow any more in the second half", CREEP, medians)
    }

    /// What was seen in a quarter of the steady time, from 0, in order of size.
    fn quarter(&self, number: u8, of: fn(&Sample) -> Option<u64>) -> Vec<u64> {
        let (from, to) = (self.needed().as_secs_f64(), self.loaded.as_secs_f64());
        let quarter = (to - from) / 4.0;
        let from = from + quarter * f64::from(number);
        let range = from..=from + quarter;
        let within = self.samples.iter().filter(|sample| range.contains(&sample.at_s));
        let mut seen: Vec<_> = within.filter_map(of).collect();
        seen.sort_unstable();
        seen
    }

    /// Nothing is steady before.
    fn needed(&self) -> Duration {
        self.lifetime + self.upkeep
    }

    fn growth(&self, claim: &str, at_most: f64, seen: Option<(u64, u64)>) -> Verdict {
        let Some((first, last)) = seen else {
            let needed = self.needed().as_secs();
            let seen = format!("the run would have to last longer than {needed} s, or this is not known");
            return Verdict::of(claim, None, seen);
        };
        let ratio = as_f64(last) / as_f64(first);
        let seen =
            format!("{:.1} MiB, then {:.1} MiB: {ratio:.2} ×", as_f64(first) / MIB, as_f64(last) / MIB);
        Verdict::of(claim, Some(ratio <= at_most), seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn samples(rows: &[u64], bytes: &[u64]) -> Vec<Sample> {
        let sample = |(number, (rows, bytes)): (u32, (&u64, &u64))| Sample {
            at_s: f64::from(number) * 10.0,
            rows: Some(*rows),
            bytes: Some(*bytes),
            ..Sample::default()
        };
        (0..).zip(rows.iter().zip(bytes)).map(sample).collect()
    }

    fn run(samples: &[Sample]) -> Run<'_> {
        let before = Storage { rows: Some(5), bytes: Some(100) };
        Run { samples, loaded: S(80), lifetime: S(20), upkeep: S(20), before }
    }

    #[test]
    fn rows_that_stay_are_told() {
        let gone = samples(&[5, 90, 90, 90, 90, 90, 90, 90, 90, 40, 5], &[0; 11]);
        assert_eq!(run(&gone).rows().holds, Some(true));
        let stay = samples(&[5, 90, 90, 90, 90, 90, 90, 90, 90, 40, 6], &[0; 11]);
        assert_eq!(run(&stay).rows().holds, Some(false));
    }

    #[test]
    fn a_run_that_ended_early_says_nothing_about_rows() {
        assert_eq!(run(&samples(&[5, 90, 90], &[0; 3])).rows().holds, None);
    }

    #[test]
    fn growth_is_seen_only_when_rows_die() {
        let grows = samples(&[0; 9], &[10, 20, 30, 40, 40, 50, 60, 70, 80]);
        assert_eq!(run(&grows).verdicts(0)[2].holds, Some(false));
        let level = samples(&[0; 9], &[10, 20, 30, 40, 40, 41, 40, 42, 41]);
        assert_eq!(run(&level).verdicts(0)[2].holds, Some(true));
        let short = samples(&[0; 3], &[10, 20, 30]);
        assert_eq!(run(&short).verdicts(0)[2].holds, None);
    }

    /// So much memory in each ten seconds from the moment when all is steady.
    fn steady(resident: &[u64]) -> Vec<Sample> {
        let sample = |(number, resident): (u32, &u64)| Sample {
            at_s: 45.0 + f64::from(number) * 10.0,
            resident: Some(*resident),
            ..Sample::default()
        };
        (0..).zip(resident).map(sample).collect()
    }

    /// Four quarters of ten samples.
    fn creep(resident: &[u64; 40]) -> Verdict {
        Run { loaded: S(440), ..run(&steady(resident)) }.creep()
    }

    #[test]
    fn memory_that_never_stops_growing_is_seen_in_the_second_half() {
        // A tenth in all.
        let leak: [u64; 40] = std::array::from_fn(|at| 70_000 + at as u64 * 180);
        assert_eq!(creep(&leak).holds, Some(false), "{}", creep(&leak).seen);
        let samples = steady(&leak);
        let whole = Run { loaded: S(440), ..run(&samples) };
        assert_eq!(whole.memory().holds, Some(true), "which allows as much");
        assert_eq!(whole.verdicts(0)[4], creep(&leak));
    }

    #[test]
    fn caches_that_fill_and_bursts_that_pass_are_no_growth() {
        let fills = std::array::from_fn(|at| if at < 15 { 60_000 + at as u64 * 600 } else { 70_000 });
        assert_eq!(creep(&fills).holds, Some(true), "{}", creep(&fills).seen);
        let mut burst = [70_000; 40];
        burst[33..37].fill(90_000);
        assert_eq!(creep(&burst).holds, Some(true), "{}", creep(&burst).seen);
        let noise = std::array::from_fn(|at| 70_000 + (at as u64 % 7) * 200);
        assert_eq!(creep(&noise).holds, Some(true), "{}", creep(&noise).seen);
    }

    #[test]
    fn a_run_without_a_second_half_says_nothing_about_it() {
        let samples = samples(&[5; 4], &[40; 4]);
        let known: Vec<_> =
            samples.iter().map(|sample| Sample { resident: Some(70), ..sample.clone() }).collect();
        let short = Run { loaded: S(30), ..run(&known) };
        assert_eq!((short.creep().holds, short.is_too_short()), (None, true));
    }

    #[test]
    fn a_run_is_too_short_that_cannot_tell_what_others_on_its_database_can() {
        let rows = [5, 90, 90, 90, 90, 90, 90, 90, 90, 40, 5];
        let whole = samples(&rows, &[40; 11]);
        assert!(
            !run(&whole).is_too_short(),
            "the memory of a server elsewhere is not known, however long it takes"
        );
        assert!(run(&whole[..3]).is_too_short());
        let without_rows = |samples: &[Sample]| -> Vec<Sample> {
            samples.iter().map(|sample| Sample { rows: None, ..sample.clone() }).collect()
        };
        assert!(!run(&without_rows(&whole)).is_too_short(), "SQLite's are not counted");
        assert!(run(&without_rows(&whole[..3])).is_too_short(), "of the disk it could have told");
    }

    #[test]
    fn one_failed_login_fails_the_run() {
        assert_eq!(run(&[]).verdicts(1)[0].holds, Some(false));
    }
}
