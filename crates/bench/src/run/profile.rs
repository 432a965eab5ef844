//! A CPU profile of the server during a run, as a flame graph: the server makes it itself.

use std::sync::Arc;
use std::time::Duration;

use crate::driver::{Agent, Ask, Endpoints, Failure, Length, Origin};
use crate::error::BenchError;

/// What the server that is started is told, so that it can be asked.
pub(super) const SETTING: &str = "serve.admin.profiling=true";
/// Shorter than the patience of a user, who asks: every frame has to be named after that.
const LONGEST: Duration = Duration::from_secs(20);
/// A server that is not busy is on a processor too seldom to be met there within less.
const SHORTEST: Duration = Duration::from_secs(2);
const STEP: &str = "profile";

/// How long a run is profiled.
///
/// # Errors
/// [`BenchError::Usage`], if the run is too short or says not how long it is.
pub(super) fn seconds(length: Length) -> Result<u64, BenchError> {
    match length {
        Length::Duration(run) if run >= SHORTEST => Ok(run.min(LONGEST).as_secs()),
        Length::Duration(_) | Length::Operations(_) => {
            Err(BenchError::Usage("--profile needs a --duration of two seconds or more".to_owned()))
        }
    }
}

/// Asks for it. Returns when it is done.
///
/// # Errors
/// [`Failure`] of the request; [`Failure::Incomplete`], if the server was never met at work in code of its own: the processor
/// was then idle, or in the kernel.
pub(super) async fn flame_graph(endpoints: Arc<Endpoints>, seconds: u64) -> Result<String, Failure> {
    let mut agent = Agent::new(0, endpoints, None);
    let path = format!("/admin/debug/pprof/profile?seconds={seconds}&format=svg");
    let answer = agent.send(&Ask::get(Origin::Admin, &path)).await?.expect(200, STEP)?;
    let svg = String::from_utf8(answer.body().to_vec()).ok().filter(|svg| !svg.is_empty());
    svg.ok_or(Failure::Incomplete { step: STEP, missing: "any sample of the server at work" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_as_long_as_the_run_but_no_longer_than_a_user_waits() {
        let said = |seconds_of_run| seconds(Length::Duration(Duration::from_secs(seconds_of_run))).ok();
        assert_eq!((said(2), said(10), said(3600), said(1)), (Some(2), Some(10), Some(20), None));
        assert!(seconds(Length::Operations(5)).is_err());
    }
}
