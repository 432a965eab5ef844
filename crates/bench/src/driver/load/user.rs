//! One user: turn after turn.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::schedule::Schedule;
use super::tally::Tally;
use crate::driver::Agent;
use crate::scenario::Scenario;

/// How long a user of a closed loop waits after an error; twice as long after each that follows.
const FIRST_WAIT: Duration = Duration::from_millis(1);
/// The longest of these waits.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

pub(super) struct User {
    pub(super) agent: Agent,
    pub(super) scenario: Arc<dyn Scenario>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) alarm: Rc<Alarm>,
    pub(super) tally: Rc<RefCell<Tally>>,
}

impl User {
    pub(super) async fn work(mut self) {
        let (mut now, mut wait) = (Instant::now(), FIRST_WAIT);
        while let Some(turn) = self.schedule.take(now) {
            if turn.due > now && !self.alarm.wait(turn.due).await {
                return;
            }
            self.agent.due = Some(turn.due);
            let outcome = self.scenario.operate(&mut self.agent, turn.number).await;
            now = Instant::now();
            self.tally.borrow_mut().count(&outcome, turn.due, now);
            if outcome.is_ok() || self.schedule.is_open() {
                wait = FIRST_WAIT;
                continue;
            }
            // A server that is gone refuses at once: users who try again at once would do nothing else.
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            now = Instant::now();
        }
    }
}
