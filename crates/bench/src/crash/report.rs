//! What came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::{CrashArgs, Kept, Victim};
use crate::driver::Measured;

/// What operations are counted as that failed while nothing was away.
const IN_CALM: &str = "failed, although answers had been good for seconds";

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub struct CrashReport {
    /// What users did, as the command line names it.
    pub scenario: String,
    /// The same with its variant.
    pub label: String,
    /// What was killed.
    pub kill: Victim,
    /// How often.
    pub rounds: u32,
    /// How often it was to be.
    pub rounds_asked: u32,
    /// From each kill to the first answer of the server that it is ready, in milliseconds. That users are answered well again, which
    /// each round waits for, may take longer.
    pub back_after_ms: Vec<u64>,
    /// Operations that were answered.
    pub operations: u64,
    /// Operations that a crash cut off; what became of them, nobody was told.
    pub cut_off: u64,
    /// Answers that no crash excuses.
    pub wrong: BTreeMap<String, u64>,
    /// What was promised, and how much of it was kept.
    pub promises: Vec<Kept>,
    /// How it was run.
    pub settings: Vec<(String, String)>,
}

impl CrashReport {
    /// Settings are whoever's knows them. Beside what was measured: how many of its errors no crash excuses, by their time.
    pub(super) fn of(
        args: &CrashArgs,
        (measured, failed_in_calm): (Measured, u64),
        back_after: &[Duration],
        promises: Vec<Kept>,
    ) -> Self {
        let kind = args.kind();
        let milliseconds = |time: &Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (wrong, cut_off) = excused(measured.errors, failed_in_calm);
        Self {
            scenario: kind.name().to_owned(),
            label: kind.label(),
            kill: args.kill,
            rounds: u32::try_from(back_after.len()).unwrap_or(u32::MAX),
            rounds_asked: args.rounds.get(),
            back_after_ms: back_after.iter().map(milliseconds).collect(),
            operations: measured.operations,
            cut_off,
            wrong,
            promises,
            settings: Vec::new(),
        }
    }

    /// Whether the run shows that everything was kept.
    pub fn holds(&self) -> bool {
        self.shortfall().is_none()
    }

    /// Why it does not show that, in a sentence: a promise was broken, or there were too few rounds, answers or promises.
    pub fn shortfall(&self) -> Option<&'static str> {
        if !self.wrong.is_empty() || !self.promises.iter().all(Kept::holds) {
            return Some("the server did not keep what it promised");
        }
        if self.rounds < self.rounds_asked {
            return Some("fewer rounds took place than were asked for");
        }
        if self.operations == 0 || self.promises.iter().all(|kept| kept.promised == 0) {
            return Some("nothing was promised, so that nothing is shown");
        }
        None
    }

    /// For the terminal.
    pub fn text(&self) -> String {
        let Self { label, rounds, rounds_asked, operations, cut_off, .. } = self;
        let whom = match self.kill {
            Victim::Server => "the server",
            Victim::Postgres => "PostgreSQL",
            Victim::Both => "the server and PostgreSQL",
        };
        let times =
            if rounds < rounds_asked { format!("{rounds} of {rounds_asked}") } else { rounds.to_string() };
        let longest = self.back_after_ms.iter().max().unwrap_or(&0);
        let mut text = format!(
            "{label}: killed {whom} {times} times; ready again after {longest} ms at most; {operations} operations answered, {cut_off} cut off\n"
        );
        text.extend(self.wrong.iter().map(|(kind, count)| format!("  WRONG  {count} × {kind}\n")));
        text.extend(self.promises.iter().map(Kept::line));
        text
    }
}

/// Whether a failure says no more than that the server was away.
pub(super) fn is_cut_off(kind: &str) -> bool {
    let is_later = kind.ends_with(": status 503") || kind.contains(": turned away: ");
    is_later || kind.starts_with("connection: ") || kind.starts_with("no answer within")
}

/// What is wrong whatever was killed, and how many operations were only cut off: no answer, or one that says "later", while something was
/// away.
fn excused(errors: BTreeMap<String, u64>, failed_in_calm: u64) -> (BTreeMap<String, u64>, u64) {
    let (cut_off, mut wrong): (BTreeMap<_, _>, BTreeMap<_, _>) =
        errors.into_iter().partition(|(kind, _)| is_cut_off(kind));
    if failed_in_calm > 0 {
        wrong.insert(IN_CALM.to_owned(), failed_in_calm);
    }
    (wrong, cut_off.values().sum::<u64>().saturating_sub(failed_in_calm))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Failure;

    /// A run in which everything was kept.
    fn report() -> CrashReport {
        CrashReport {
            scenario: "login".to_owned(),
            label: "login (ES256)".to_owned(),
            kill: Victim::Both,
            rounds: 3,
            rounds_asked: 3,
            back_after_ms: vec![700, 900, 800],
            operations: 50,
            cut_off: 2,
            wrong: BTreeMap::new(),
            promises: vec![Kept { what: "codes redeemed".to_owned(), promised: 50, ..Kept::default() }],
            settings: Vec::new(),
        }
    }

    #[test]
    fn only_what_a_crash_explains_is_excused() {
        let errors = [
            "connection: connection refused",
            "no answer within 30 s",
            "token: status 503",
            "token: status 400",
        ];
        let turned_away = Failure::TurnedAway { step: "page" }.to_string();
        let errors = errors.map(str::to_owned).into_iter().chain([turned_away]);
        let errors: BTreeMap<_, _> = errors.map(|kind| (kind, 2)).collect();
        let (wrong, cut_off) = excused(errors.clone(), 0);
        assert_eq!(cut_off, 8);
        assert_eq!(wrong.into_keys().collect::<Vec<_>>(), ["token: status 400"]);
        let (wrong, cut_off) = excused(errors, 4);
        assert_eq!((cut_off, wrong.get(IN_CALM)), (4, Some(&4)), "at another time it is no excuse");
    }

    #[test]
    fn a_run_in_which_nothing_happened_shows_nothing() {
        assert!(report().holds());
        let shortfall = |report: CrashReport| report.shortfall().unwrap();
        assert!(shortfall(CrashReport { rounds: 2, ..report() }).starts_with("fewer rounds"));
        assert!(shortfall(CrashReport { operations: 0, ..report() }).starts_with("nothing was promised"));
        let promises = vec![Kept { what: "codes redeemed".to_owned(), ..Kept::default() }];
        for promises in [Vec::new(), promises] {
            assert!(shortfall(CrashReport { promises, ..report() }).starts_with("nothing was promised"));
        }
    }

    #[test]
    fn a_wrong_answer_is_no_kept_promise() {
        let wrong = CrashReport { wrong: BTreeMap::from([("token: status 400".to_owned(), 1)]), ..report() };
        assert_eq!(wrong.shortfall(), Some("the server did not keep what it promised"));
        assert!(wrong.text().contains("WRONG  1 × token: status 400"), "{}", wrong.text());
    }

    #[test]
    fn a_run_that_ended_early_says_how_many_rounds_there_were() {
        assert!(report().text().starts_with(
            "login (ES256): killed the server and PostgreSQL 3 times; ready again after 900 ms at most; 50 operations answered, 2 cut off\n"
        ));
        assert!(CrashReport { rounds: 2, ..report() }.text().contains(" 2 of 3 times; "));
    }

    #[test]
    fn one_promise_that_is_broken_breaks_the_line() {
        let kept = Kept { what: "codes redeemed".to_owned(), promised: 3, ..Kept::default() };
        assert_eq!(kept.line(), "      ok  codes redeemed: 3 promised, 0 lost, 0 twice\n");
        let broken = Kept { twice: 1, examples: vec!["twice: abc".to_owned()], ..kept };
        assert!(!broken.holds());
        assert!(broken.line().starts_with("  BROKEN  codes redeemed: 3 promised, 0 lost, 1 twice\n"));
        assert!(broken.line().ends_with("twice: abc…\n"));
    }
}
