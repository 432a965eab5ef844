use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;

use super::*;
use crate::driver::{Agent, Endpoint, Nobody};
use crate::scenario::Shape;
use crate::target::Target;

/// An operation that needs no server.
#[derive(Default)]
struct Work {
    /// How long one takes.
    takes: Duration,
    /// Each so many fails; none if 0.
    fails_each: u64,
    /// How long the server answers nobody, from the first operation on.
    stalls: Duration,
    stalled: AtomicUsize,
    turns: Mutex<Vec<u64>>,
    began: AtomicU64,
    /// How many began before they were due.
    early: AtomicUsize,
    shape: Option<Shape>,
}

#[async_trait(?Send)]
impl Scenario for Work {
    async fn prepare(&mut self, _: &Target, _: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        if agent.due.is_none_or(|due| Instant::now() < due) {
            self.early.fetch_add(1, Ordering::Relaxed);
        }
        self.turns.lock().unwrap().push(turn);
        let number = self.began.fetch_add(1, Ordering::Relaxed) + 1;
        if self.stalled.fetch_add(1, Ordering::Relaxed) == 0 {
            // Nobody on this thread gets any further.
            std::thread::sleep(self.stalls);
        }
        sleep(self.takes).await;
        if self.fails_each > 0 && number.is_multiple_of(self.fails_each) {
            return Err(Failure::Status { step: "token", status: 500 });
        }
        Ok(())
    }

    fn shape(&self) -> Option<Shape> {
        self.shape.clone()
    }
}

fn load(users: usize, threads: usize, pace: Pace, length: Length) -> Load {
    let [users, threads] = [users, threads].map(|number| NonZeroUsize::new(number).unwrap());
    Load { users, threads, pace, length, first_turn: 0 }
}

fn nowhere() -> Arc<Endpoints> {
    let public = Endpoint::at("127.0.0.1:9".parse().unwrap());
    Arc::new(Endpoints { public, admin: None, gateway: None })
}

async fn run_work(load: &Load, work: Work) -> (Measured, Arc<Work>) {
    let work = Arc::new(work);
    let scenario: Arc<dyn Scenario> = Arc::<Work>::clone(&work);
    (run(load, nowhere(), scenario, None, &Nobody).await.unwrap(), work)
}

#[tokio::test]
async fn a_closed_loop_does_as_many_operations_as_it_was_told() {
    let load = Load { first_turn: 7, ..load(8, 3, Pace::Closed, Length::Operations(500)) };
    let (measured, work) = run_work(&load, Work::default()).await;
    assert_eq!((measured.operations, measured.failed(), measured.latency.len()), (500, 0, 500));
    let mut turns = work.turns.lock().unwrap().clone();
    turns.sort_unstable();
    assert_eq!(turns, (7..507).collect::<Vec<_>>(), "each turn once, from the first");
    assert_eq!(measured.next_turn, 507);
}

#[tokio::test]
async fn errors_are_counted_by_what_went_wrong() {
    let load = load(2, 1, Pace::Closed, Length::Operations(40));
    let (measured, _) = run_work(&load, Work { fails_each: 4, ..Work::default() }).await;
    assert_eq!(measured.errors, BTreeMap::from([("token: status 500".to_owned(), 10)]));
    assert_eq!((measured.operations, measured.latency.len()), (30, 30));
}

#[tokio::test]
async fn a_user_waits_longer_after_each_error() {
    let load = load(1, 1, Pace::Closed, Length::Duration(Duration::from_millis(300)));
    let (measured, _) = run_work(&load, Work { fails_each: 1, ..Work::default() }).await;
    // 1 + 2 + 4 + … + 64 ms go by before the 8th at least, and 100 ms before each that follows.
    assert!((1..=9).contains(&measured.failed()), "{}", measured.failed());
}

#[tokio::test]
async fn an_open_loop_begins_all_that_is_due_and_nothing_before_it_is() {
    let load = load(64, 2, Pace::Open { rate: 1000.0 }, Length::Duration(Duration::from_millis(500)));
    let (measured, work) = run_work(&load, Work::default()).await;
    assert_eq!(measured.operations + measured.failed(), 500);
    assert_eq!(work.early.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_open_loop_has_as_many_operations_as_it_was_told() {
    let load = load(16, 2, Pace::Open { rate: 2000.0 }, Length::Operations(300));
    let (measured, _) = run_work(&load, Work::default()).await;
    assert_eq!(measured.operations + measured.failed(), 300);
}

#[tokio::test]
async fn an_open_loop_reaches_no_higher_rate_than_it_was_told() {
    let load = load(2, 1, Pace::Open { rate: 4.0 }, Length::Duration(Duration::from_millis(500)));
    let (measured, _) = run_work(&load, Work::default()).await;
    assert_eq!(measured.operations, 2);
    assert!(measured.rate() <= 4.0, "{}", measured.rate());
}

#[tokio::test]
async fn an_operation_that_is_held_up_is_late_by_that() {
    let load = load(1, 1, Pace::Open { rate: 100.0 }, Length::Duration(Duration::from_secs(1)));
    let (measured, _) = run_work(&load, Work { stalls: Duration::from_millis(500), ..Work::default() }).await;
    assert!(measured.latency.max() >= 499_000, "{} µs", measured.latency.max());
    assert_eq!(measured.operations + measured.failed(), 100);
}

#[tokio::test]
async fn operations_that_nobody_was_free_for_are_errors() {
    let load = load(2, 1, Pace::Open { rate: 1000.0 }, Length::Duration(Duration::from_millis(400)));
    let (measured, _) = run_work(&load, Work { takes: Duration::from_millis(40), ..Work::default() }).await;
    let not_begun = measured.errors[NOT_BEGUN];
    assert_eq!(measured.operations + not_begun, 400, "none is forgotten");
    // Each of the two can do ten.
    assert!(not_begun >= 380, "{not_begun}");
}

#[tokio::test]
async fn a_shape_says_how_many_are_due() {
    let shape = Shape::through(&[(0.0, 0.0), (1.0, 1.0)]);
    let load = load(64, 1, Pace::Open { rate: 1000.0 }, Length::Duration(Duration::from_millis(400)));
    let (measured, _) = run_work(&load, Work { shape: Some(shape), ..Work::default() }).await;
    assert_eq!(measured.operations + measured.failed(), 200);
}

#[tokio::test]
async fn seconds_are_told_in_their_order() {
    #[derive(Default)]
    struct Told(std::cell::RefCell<Vec<Second>>);
    impl Observer for Told {
        fn second(&self, second: &Second) {
            self.0.borrow_mut().push(*second);
        }
    }
    let load = load(4, 2, Pace::Open { rate: 200.0 }, Length::Duration(Duration::from_millis(2300)));
    let told = Told::default();
    let measured = run(&load, nowhere(), Arc::new(Work::default()), None, &told).await.unwrap();
    assert!(measured.seconds.len() >= 3, "{} of a run of 2.3 s", measured.seconds.len());
    assert!(told.0.borrow().starts_with(&measured.seconds));
    let in_seconds: u64 = measured.seconds.iter().map(|second| second.operations).sum();
    assert_eq!(
        in_seconds, measured.operations,
        "those of the last second, which is not whole, are among them"
    );
}

#[tokio::test]
async fn a_run_ends_when_its_observer_has_enough() {
    struct Impatient;
    impl Observer for Impatient {
        fn has_enough(&self) -> bool {
            true
        }
    }
    let load = load(4, 2, Pace::Open { rate: 1.0 }, Length::Duration(Duration::from_mins(10)));
    let measured = run(&load, nowhere(), Arc::new(Work::default()), None, &Impatient).await.unwrap();
    assert!(measured.elapsed < Duration::from_mins(1), "{:?}", measured.elapsed);
    assert_eq!(measured.failed(), 0, "what was not waited for is no error");
}

#[tokio::test]
async fn what_was_due_when_a_run_was_stopped_and_nobody_was_free_for_is_an_error() {
    /// Has enough while the only user is still at its first operation.
    struct Enough(Instant);
    impl Observer for Enough {
        fn has_enough(&self) -> bool {
            self.0.elapsed() >= Duration::from_millis(300)
        }
    }
    let load = load(1, 1, Pace::Open { rate: 1000.0 }, Length::Duration(Duration::from_mins(10)));
    let work = Work { takes: Duration::from_secs(1), ..Work::default() };
    let measured = run(&load, nowhere(), Arc::new(work), None, &Enough(Instant::now())).await.unwrap();
    assert_eq!(measured.operations, 1);
    let not_begun = measured.errors[NOT_BEGUN];
    // It is asked each 100 ms; the machine may have been busy otherwise.
    assert!((250..1000).contains(&not_begun), "{not_begun}");
}

#[tokio::test]
async fn more_threads_than_users_are_not_started() {
    let load = load(1, 4, Pace::Closed, Length::Operations(10));
    let (measured, _) = run_work(&load, Work::default()).await;
    assert_eq!(measured.operations, 10);
    assert!(!measured.seconds.is_empty(), "nobody waits for those");
}

#[tokio::test]
async fn a_rate_that_is_none_is_refused() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let load = load(1, 1, Pace::Open { rate }, Length::Operations(1));
        assert!(run(&load, nowhere(), Arc::new(Work::default()), None, &Nobody).await.is_err(), "{rate}");
    }
}
