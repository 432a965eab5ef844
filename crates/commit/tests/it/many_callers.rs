//! Random ops and random failures: every caller gets the outcome of its own row, once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{OptionFuture, join_all};
use proptest::collection::vec;
use proptest::prelude::*;
use sluice_commit::{CommitMetrics, Config, Queue, SubmitError};
use tokio::time::Instant;

use crate::fake::*;

/// One caller; the id of its op is its place in the scenario.
#[derive(Debug, Clone)]
struct Caller {
    key: u64,
    poisoned: bool,
    patience: Duration,
    leaves: bool,
}

#[derive(Debug, Clone)]
struct Scenario {
    callers: Vec<Caller>,
    script: Vec<Step>,
    lanes: usize,
    max_batch: usize,
    /// After how many submissions the lanes get a turn.
    burst: usize,
}

fn patient() -> impl Strategy<Value = Caller> {
    let patience = Duration::from_mins(10);
    (0..12_u64, prop::bool::weighted(0.1)).prop_map(move |(key, poisoned)| Caller {
        key,
        poisoned,
        patience,
        leaves: false,
    })
}

fn hasty() -> impl Strategy<Value = Caller> {
    (patient(), 1..200_u64, prop::bool::weighted(0.2)).prop_map(|(caller, patience, leaves)| Caller {
        patience: Duration::from_millis(patience),
        leaves,
        ..caller
    })
}

fn scenario(caller: impl Strategy<Value = Caller>) -> impl Strategy<Value = Scenario> {
    let step = prop_oneof![
        5 => Just(Step::Write),
        1 => Just(Step::LoseBeforeWriting),
        1 => Just(Step::LoseAfterWriting),
        1 => Just(Step::FailToReconnect),
        1 => Just(Step::MeetContention),
        1 => Just(Step::Panic),
    ];
    (vec(caller, 1..80), vec(step, 0..40), 1..4_usize, 1..20_usize, 1..30_usize).prop_map(
        |(callers, script, lanes, max_batch, burst)| Scenario { callers, script, lanes, max_batch, burst },
    )
}

/// The answers by id, none for a caller that left.
type Answers = Vec<Option<Result<Written, SubmitError>>>;

async fn play(scenario: &Scenario, store: &Arc<Store>) -> Answers {
    let writers = (0..scenario.lanes).map(|_| FakeWriter(store.clone())).collect();
    let config = max_batch(scenario.max_batch);
    let queue = Queue::start(writers, config, Arc::new(CommitMetrics::default()));
    let mut submissions = Vec::new();
    for (id, Caller { key, poisoned, patience, leaves }) in (0..).zip(scenario.callers.clone()) {
        let submission = submitted_until(&queue, Op { key, id, poisoned }, Instant::now() + patience);
        submissions.push((submission, leaves));
        if submissions.len() % scenario.burst == 0 {
            tokio::task::yield_now().await;
        }
    }
    let stays = |(submission, leaves): (Submitted, bool)| OptionFuture::from((!leaves).then_some(submission));
    let answers = join_all(submissions.into_iter().map(stays)).await;
    queue.shutdown().await;
    assert_eq!(queue.waiting(), 0);
    answers
}

fn played(scenario: &Scenario) -> (Arc<Store>, Answers) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let store = Store::open().script(scenario.script.iter().copied());
    let answers = runtime.block_on(play(scenario, &store));
    (store, answers)
}

/// The outcomes if nobody leaves: `before` counts the rows of that key submitted earlier that are not poisoned.
fn expected(callers: &[Caller]) -> Vec<Option<Written>> {
    let mut rows = HashMap::<u64, usize>::new();
    let outcome = |(id, caller): (u64, &Caller)| {
        (!caller.poisoned).then(|| {
            let rows = rows.entry(caller.key).or_default();
            *rows += 1;
            Written { id, before: *rows - 1 }
        })
    };
    (0..).zip(callers).map(outcome).collect()
}

/// Whether attempts are lost.
fn is_lost(scenario: &Scenario) -> bool {
    scenario.script.iter().any(|step| !matches!(step, Step::Write | Step::MeetContention))
}

fn check_batches(store: &Store, max_batch: usize) {
    for batch in store.batches() {
        assert!(!batch.is_empty() && batch.len() <= max_batch);
        assert!(batch.is_sorted_by(|a, b| a.key < b.key), "sorted, no key twice: {batch:?}");
    }
}

proptest! {
    #[test]
    fn each_caller_gets_the_outcome_of_its_own_row_exactly_once(scenario in scenario(patient())) {
        let (store, answers) = played(&scenario);
        let answers: Vec<_> = answers.into_iter().flatten().collect();
        let outcomes: Vec<_> = answers.iter().map(|answer| answer.as_ref().ok().copied()).collect();
        prop_assert_eq!(outcomes, expected(&scenario.callers));
        for (id, answer) in (0..).zip(answers) {
            match answer {
                Ok(_) => {}
                // What an attempt that was lost may have written, nobody knows.
                Err(SubmitError::Unavailable(Some(cause))) if is_lost(&scenario) => {
                    prop_assert_eq!(cause.downcast_ref(), Some(&StoreError::Poisoned(id)));
                }
                Err(SubmitError::Failed(cause)) => {
                    prop_assert_eq!(cause.downcast_ref(), Some(&StoreError::Poisoned(id)));
                }
                Err(error) => prop_assert!(false, "row {} has {:?}", id, error),
            }
        }
        check_batches(&store, scenario.max_batch);
    }

    #[test]
    fn callers_that_leave_or_run_out_of_time_disturb_nobody(scenario in scenario(hasty())) {
        let (store, answers) = played(&scenario);
        for ((id, caller), answer) in (0..).zip(&scenario.callers).zip(answers) {
            match answer {
                Some(Ok(written)) => {
                    prop_assert_eq!(written.id, id);
                    prop_assert_eq!(store.rows(caller.key)[written.before], id);
                }
                Some(Err(SubmitError::Failed(_))) => prop_assert!(caller.poisoned),
                Some(Err(error)) => prop_assert!(matches!(error, SubmitError::Unavailable(_)), "{}", error),
                None => prop_assert!(caller.leaves),
            }
        }
        for key in 0..12 {
            prop_assert!(store.rows(key).is_sorted_by(|a, b| a < b), "in order, none twice");
        }
        check_batches(&store, scenario.max_batch);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_on_many_threads_are_all_answered() {
    let store = Store::open();
    let writers = (0..2).map(|_| FakeWriter(store.clone())).collect();
    let queue = Queue::start(writers, Config::default(), Arc::new(CommitMetrics::default()));
    let callers = (0..20_000_u64).map(|id| {
        let queue = queue.clone();
        tokio::spawn(async move { (id, queue.submit(op(id % 997, id), in_one_minute()).await) })
    });
    for caller in callers.collect::<Vec<_>>() {
        match caller.await.unwrap() {
            (id, Ok(written)) => assert_eq!(written.id, id),
            (_, Err(error)) => assert!(matches!(error, SubmitError::Full), "{error}"),
        }
    }
    assert!(store.batches().iter().all(|batch| batch.is_sorted_by(|a, b| a.key < b.key)));
}
