//! When something is killed, and how long it is away.

use std::cell::Cell;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{CrashArgs, Victim};
use crate::driver::{Failure, Observer, Second};
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::target::Target;

/// Not before the users are at work.
const AT_LEAST: Duration = Duration::from_millis(300);
/// A server that says that it is ready answers users well within this time.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// The driver has told of every second that is over after this time.
const TOLD_WITHIN: Duration = Duration::from_millis(200);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Once answers are good again they stay so: from so many seconds later on no crash excuses what fails.
const CALM_AFTER: u64 = 3;
/// After the last round users go on for so long: nobody ends with an answer that was lost, and a calm second is seen.
const EPILOGUE: Duration = Duration::from_secs(CALM_AFTER + 2);

/// The rounds of a run.
pub(super) struct Rounds<'a> {
    args: &'a CrashArgs,
    interrupt: &'a Interrupt,
    over: Cell<bool>,
    answers: Answers,
}

/// Which seconds of a run had good answers.
#[derive(Debug, Default)]
struct Answers {
    /// Seconds that were told.
    told: Cell<u64>,
    /// The number of the last of them, from 1, in which an operation ended well.
    last_good: Cell<u64>,
    /// From which of them on nothing may fail, until the next kill.
    calm_from: Cell<Option<u64>>,
    /// What failed all the same.
    failed_in_calm: Cell<u64>,
}

impl Answers {
    fn note(&self, second: &Second) {
        self.told.set(self.told.get() + 1);
        if second.operations > 0 {
            self.last_good.set(self.told.get());
        }
        if self.calm_from.get().is_some_and(|from| self.told.get() >= from) {
            self.failed_in_calm.set(self.failed_in_calm.get() + second.errors);
        }
    }

    /// Answers are good in the second that is under way.
    fn calm_down(&self) {
        self.calm_from.set(Some(self.told.get() + 1 + CALM_AFTER));
    }

    /// What fails from now on may be cut off, also in the second that is under way.
    fn disturb(&self) {
        self.calm_from.set(None);
    }

    /// Whether an operation ended well in a second that began when so many had been told, or later: not in the one that was under way
    /// then, which is told next.
    const fn are_good_since(&self, told: u64) -> bool {
        self.last_good.get() > told + 1
    }
}

impl Observer for Rounds<'_> {
    fn second(&self, second: &Second) {
        self.answers.note(second);
    }

    fn has_enough(&self) -> bool {
        self.over.get()
    }
}

impl<'a> Rounds<'a> {
    pub(super) fn new(args: &'a CrashArgs, interrupt: &'a Interrupt) -> Self {
        Self { args, interrupt, over: Cell::new(false), answers: Answers::default() }
    }

    /// Kills, and starts again, as often as was said; how long the server was not ready each time. The load ends with this, whatever
    /// comes of it.
    pub(super) async fn kill(&self, target: &mut Target) -> Result<Vec<Duration>, BenchError> {
        let killed = self.all(target).await;
        self.answers.disturb();
        self.over.set(true);
        killed
    }

    /// What failed although answers had been good for a while and nothing was killed since.
    pub(super) fn failed_in_calm(&self) -> u64 {
        self.answers.failed_in_calm.get()
    }

    async fn all(&self, target: &mut Target) -> Result<Vec<Duration>, BenchError> {
        let mut back_after = Vec::new();
        for round in 1..=self.args.rounds.get() {
            sleep(moment(self.args.within)?).await;
            if self.interrupt.is_requested() {
                break;
            }
            self.answers.disturb();
            let killed = Instant::now();
            self.one(target).await?;
            back_after.push(killed.elapsed());
            eprintln!(
                "round {round} of {}: ready after {} ms",
                self.args.rounds,
                killed.elapsed().as_millis()
            );
            self.until_answers_are_good().await?;
            self.answers.calm_down();
        }
        sleep(EPILOGUE).await;
        Ok(back_after)
    }

    /// Waits until users get good answers: a server may say that it is ready and give none.
    async fn until_answers_are_good(&self) -> Result<(), BenchError> {
        sleep(TOLD_WITHIN).await;
        let (began, told) = (Instant::now(), self.answers.told.get());
        while !self.answers.are_good_since(told) && !self.interrupt.is_requested() {
            if began.elapsed() > ANSWERS_WITHIN {
                return Err(BenchError::Verdict("the server is ready, but answers nobody"));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    async fn one(&self, target: &mut Target) -> Result<(), BenchError> {
        let victim = self.args.kill;
        if victim != Victim::Postgres {
            target.kill_server()?;
        }
        if victim != Victim::Server {
            target.kill_postgres()?;
            target.start_postgres_again()?;
        }
        if victim != Victim::Postgres {
            target.start_server_again().await?;
        }
        Ok(target.until_ready().await?)
    }
}

/// A random moment within this time.
fn moment(within: Duration) -> Result<Duration, Failure> {
    let random = getrandom::u32()
        .map_err(|_| Failure::Setup("the operating system gives no random numbers".to_owned()))?;
    Ok(AT_LEAST + within.mul_f64(f64::from(random) / f64::from(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_second_that_was_under_way_prove_nothing() {
        let answers = Answers::default();
        let tell = |operations| answers.note(&Second { operations, ..Second::default() });
        tell(5);
        let told = answers.told.get();
        assert!(!answers.are_good_since(told), "that was before");
        tell(7);
        assert!(!answers.are_good_since(told), "some of it was before");
        tell(0);
        assert!(!answers.are_good_since(told), "nobody was answered");
        tell(1);
        assert!(answers.are_good_since(told));
    }

    #[test]
    fn what_fails_a_while_after_answers_are_good_is_excused_by_no_crash() {
        let answers = Answers::default();
        let fail = |errors| answers.note(&Second { operations: 9, errors, ..Second::default() });
        fail(1);
        answers.calm_down();
        for _ in 0..=CALM_AFTER {
            fail(1);
        }
        assert_eq!(answers.failed_in_calm.get(), 1, "the last of these seconds alone");
        fail(0);
        fail(5);
        assert_eq!(answers.failed_in_calm.get(), 6);
        answers.disturb();
        fail(7);
        assert_eq!(answers.failed_in_calm.get(), 6, "something was killed meanwhile");
    }

    #[test]
    fn a_moment_is_within_its_time() {
        let within = Duration::from_secs(2);
        let moments: Vec<_> = (0..100).map(|_| moment(within).unwrap()).collect();
        assert!(moments.iter().all(|moment| (AT_LEAST..=AT_LEAST + within).contains(moment)));
        assert!(moments.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
