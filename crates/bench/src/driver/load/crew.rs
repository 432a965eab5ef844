//! A thread with its users: a runtime of its own, which nothing else runs on.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadPriorityOsValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, interval_at};

use super::alarm::Alarm;
use super::board::Board;
use super::schedule::Schedule;
use super::tally::Tally;
use super::user::User;
use super::{GLANCE, Load};
use crate::driver::{Agent, Endpoints, Failure, Ledger};
use crate::scenario::Scenario;

/// What every thread has.
#[derive(Clone)]
pub(super) struct Crew {
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) scenario: Arc<dyn Scenario>,
    pub(super) ledger: Option<Arc<Ledger>>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) board: Arc<Board>,
}

impl Crew {
    /// Starts thread `number`, which says in the end what its users have met.
    pub(super) fn start(
        self,
        number: usize,
        load: &Load,
    ) -> Result<oneshot::Receiver<Result<Tally, Failure>>, Failure> {
        let (sender, receiver) = oneshot::channel();
        let users: Vec<usize> = (number..load.users.get()).step_by(load.threads.get()).collect();
        let stays_behind = load.pace.lets_others_go_first();
        let body = move || {
            if stays_behind {
                stay_behind();
            }
            // Nobody listens any more if the run was dropped.
            drop(sender.send(self.work(number, &users)));
        };
        thread::Builder::new()
            .name(format!("users-{number}"))
            .spawn(body)
            .map_err(|error| Failure::Setup(format!("a thread of the driver cannot be started: {error}")))?;
        Ok(receiver)
    }

    fn work(&self, number: usize, users: &[usize]) -> Result<Tally, Failure> {
        let tally = Rc::new(RefCell::new(Tally::new(self.schedule.start())?));
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, self.let_users_work(number, users, &tally))?;
        self.board.leave(number);
        drop(runtime);
        Rc::try_unwrap(tally)
            .map(RefCell::into_inner)
            .map_err(|_| Failure::Setup("a user of the driver does not end".to_owned()))
    }

    async fn let_users_work(
        &self,
        number: usize,
        users: &[usize],
        tally: &Rc<RefCell<Tally>>,
    ) -> Result<(), Failure> {
        let alarm = Alarm::new()?;
        let mut working = JoinSet::new();
        for &user in users {
            let user = User {
                agent: Agent::new(user, Arc::clone(&self.endpoints), self.ledger.clone()),
                scenario: Arc::clone(&self.scenario),
                schedule: Arc::clone(&self.schedule),
                alarm: Rc::clone(&alarm),
                tally: Rc::clone(tally),
            };
            working.spawn_local(user.work());
        }
        let ended = async { while working.join_next().await.is_some() {} };
        tokio::select! {
            () = ended => {}
            told = self.tell_seconds(number, tally) => told?,
            rung = alarm.ring() => rung?,
            () = self.watch_for_the_end(&alarm) => {}
        }
        self.board.write(number, &tally.borrow().moment)
    }

    async fn tell_seconds(&self, number: usize, tally: &Rc<RefCell<Tally>>) -> Result<(), Failure> {
        const SECOND: Duration = Duration::from_secs(1);
        let mut seconds = interval_at(Instant::from_std(self.schedule.start()) + SECOND, SECOND);
        loop {
            seconds.tick().await;
            let moment = &mut tally.borrow_mut().moment;
            self.board.write(number, moment)?;
            moment.clear();
        }
    }

    /// Wakes users who wait for a turn that will not come. Never returns.
    async fn watch_for_the_end(&self, alarm: &Alarm) {
        loop {
            tokio::time::sleep(GLANCE).await;
            if self.schedule.is_stopped() {
                alarm.turn_off();
            }
        }
    }
}

/// Lets this thread wait until the core is free (`SCHED_BATCH`). As others are, it would be run at once whenever an answer comes,
/// instead of what is measured, which pays for that with its caches. Where it is not allowed, nothing is lost but precision.
fn stay_behind() {
    let usual = ThreadPriority::Os(ThreadPriorityOsValue::default());
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Batch);
    drop(set_thread_priority_and_policy(thread_native_id(), usual, policy));
}
