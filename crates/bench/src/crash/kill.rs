//! When something is killed, and how long it is away.

use std::cell::Cell;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{CrashArgs, Victim};
use crate::driver::{Failure, Observer};
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::target::Target;

/// Not before the users are at work.
const AT_LEAST: Duration = Duration::from_millis(300);
/// After the last round users go on for so long, so that nobody ends with an answer that was lost.
const EPILOGUE: Duration = Duration::from_secs(2);

/// The rounds of a run.
pub(super) struct Rounds<'a> {
    args: &'a CrashArgs,
    interrupt: &'a Interrupt,
    over: Cell<bool>,
}

impl Observer for Rounds<'_> {
    fn has_enough(&self) -> bool {
        self.over.get()
    }
}

impl<'a> Rounds<'a> {
    pub(super) const fn new(args: &'a CrashArgs, interrupt: &'a Interrupt) -> Self {
        Self { args, interrupt, over: Cell::new(false) }
    }

    /// Kills, and starts again, as often as was said; how long each took. The load ends with this, whatever comes of it.
    pub(super) async fn kill(&self, target: &mut Target) -> Result<Vec<Duration>, BenchError> {
        let killed = self.all(target).await;
        self.over.set(true);
        killed
    }

    async fn all(&self, target: &mut Target) -> Result<Vec<Duration>, BenchError> {
        let mut back_after = Vec::new();
        for round in 1..=self.args.rounds.get() {
            sleep(moment(self.args.within)?).await;
            if self.interrupt.is_requested() {
                break;
            }
            let killed = Instant::now();
            self.one(target).await?;
            back_after.push(killed.elapsed());
            eprintln!(
                "round {round} of {}: back after {} ms",
                self.args.rounds,
                killed.elapsed().as_millis()
            );
        }
        sleep(EPILOGUE).await;
        Ok(back_after)
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
    fn a_moment_is_within_its_time() {
        let within = Duration::from_secs(2);
        let moments: Vec<_> = (0..100).map(|_| moment(within).unwrap()).collect();
        assert!(moments.iter().all(|moment| (AT_LEAST..=AT_LEAST + within).contains(moment)));
        assert!(moments.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
