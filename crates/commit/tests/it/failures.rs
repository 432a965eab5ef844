//! What a failed commit means for each row in it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use sluice_commit::{Cause, CommitMetrics, Config, Queue, SubmitError};
use tokio::time::Instant;

use crate::fake::*;

fn store_error(cause: &Cause) -> &StoreError {
    cause.downcast_ref().expect("the store's own error")
}

/// What is said of an op whose deadline has passed.
fn unavailable(answer: Result<Written, SubmitError>) -> String {
    let Err(SubmitError::Unavailable(Some(cause))) = answer else { panic!("{answer:?}") };
    cause.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_poisoned_row_among_a_hundred_fails_alone() {
    let store = Store::held();
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(1000, 1000)).await;
    let row = |n| if n == 37 { poisoned(n, n) } else { op(n, n) };
    let others: Vec<_> = (0..100).map(|n| submitted(&queue, row(n))).collect();
    store.let_go();
    let answers = join_all(others).await;
    for (n, answer) in (0..).zip(answers) {
        match answer {
            Ok(written) => assert_eq!(written, Written { id: n, before: 0 }),
            Err(SubmitError::Failed(cause)) => {
                assert_eq!((n, store_error(&cause)), (37, &StoreError::Poisoned(37)));
            }
            Err(other) => panic!("row {n}: {other}"),
        }
    }
    assert!((0..100).all(|n| store.rows(n) == if n == 37 { vec![] } else { vec![n] }));
    assert!(store.commits().len() <= 2 + 2 * 7, "halved, not tried one by one");
}

#[tokio::test(start_paused = true)]
async fn several_poisoned_rows_fail_each_for_its_own_cause() {
    let store = Store::held();
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(1000, 1000)).await;
    let row = |n| if n % 3 == 0 { poisoned(n, n) } else { op(n, n) };
    let others: Vec<_> = (0..10).map(|n| submitted(&queue, row(n))).collect();
    store.let_go();
    for (n, answer) in (0..).zip(join_all(others).await) {
        match answer {
            Ok(written) => assert_eq!((written.id, n % 3 == 0), (n, false)),
            Err(SubmitError::Failed(cause)) => assert_eq!(store_error(&cause), &StoreError::Poisoned(n)),
            Err(other) => panic!("row {n}: {other}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_replaced_and_the_same_ops_committed_again() {
    let store = Store::held().script([Step::Write, Step::LoseAfterWriting, Step::FailToReconnect]);
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(100, 100)).await;
    let others: Vec<_> = (0..3).map(|n| submitted(&queue, op(n, n))).collect();
    store.let_go();
    for (n, answer) in (0..).zip(join_all(others).await) {
        assert_eq!(answer.unwrap(), Written { id: n, before: 0 });
    }
    assert_eq!(store.commits(), [vec![100], vec![0, 1, 2], vec![0, 1, 2], vec![0, 1, 2]]);
    assert_eq!(store.reconnects(), 3, "one of them failed");
    assert_eq!(store.rows(0), [0], "written once");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_met_contention_is_committed_again_on_the_same_connection() {
    let store = Store::open().script([Step::MeetContention, Step::MeetContention]);
    let queue = queue(&store);
    assert_eq!(queue.submit(op(1, 1), in_one_minute()).await.unwrap().id, 1);
    assert_eq!(store.commits(), [[1], [1], [1]]);
    assert_eq!(store.reconnects(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_op_whose_deadline_passes_during_an_outage_is_unavailable_and_says_why() {
    let store = Store::open().script([Step::LoseBeforeWriting; 1000]);
    let queue = queue(&store);
    let start = Instant::now();
    let answer = queue.submit(op(1, 1), start + Duration::from_secs(3)).await;
    let Err(SubmitError::Unavailable(Some(cause))) = answer else { panic!("{answer:?}") };
    assert_eq!(store_error(&cause), &StoreError::Scripted);
    assert_eq!(start.elapsed().as_secs(), 3);
    assert!(store.commits().len() < 20, "with back-off");
}

#[tokio::test(start_paused = true)]
async fn only_the_ops_past_their_deadlines_leave_a_batch_that_is_retried() {
    let store = Store::held().script([Step::Write].into_iter().chain([Step::LoseBeforeWriting; 9]));
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(100, 100)).await;
    let soon = Instant::now() + Duration::from_millis(100);
    let hasty = submitted_until(&queue, op(2, 2), soon);
    let patient = [submitted(&queue, op(1, 1)), submitted(&queue, op(3, 3))];
    store.let_go();
    assert!(matches!(hasty.await, Err(SubmitError::Unavailable(Some(_)))));
    assert_eq!(Instant::now().duration_since(soon).as_millis() / 10, 0);
    assert!(join_all(patient).await.iter().all(Result::is_ok));
    assert_eq!(store.commits()[1], [1, 2, 3]);
    assert_eq!(store.commits().last().unwrap(), &[1, 3]);
    assert_eq!(store.rows(2), [] as [u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_answered_at_its_deadline_even_if_the_commit_hangs() {
    let store = Store::held();
    let queue = queue(&store);
    let start = Instant::now();
    let taken = submitted_until(&queue, op(1, 1), start + Duration::from_secs(1));
    store.a_commit_begins().await;
    let waiting = submitted_until(&queue, op(2, 2), start + Duration::from_secs(2));
    assert_eq!(unavailable(taken.await), "no answer within 1.0s");
    assert_eq!(unavailable(waiting.await), "no answer within 2.0s");
    assert_eq!(start.elapsed().as_secs(), 2);
    store.let_go();
    assert_eq!(queue.submit(op(3, 3), in_one_minute()).await.unwrap().id, 3);
    assert_eq!(store.commits(), [[1], [3]], "the op that nobody waited for was never sent");
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_a_deadline_is_not_blamed_on_it() {
    let store = Store::held().script([Step::LoseBeforeWriting]);
    store.let_one_go();
    store.let_one_go();
    let queue = queue(&store);
    queue.submit(op(1, 1), in_one_minute()).await.unwrap();
    let answer = queue.submit(op(2, 2), Instant::now() + Duration::from_secs(1)).await;
    assert_eq!(unavailable(answer), "no answer within 1.0s");
}

/// Nobody has asked the store anything since.
#[tokio::test(start_paused = true)]
async fn an_outage_that_nobody_outlasted_is_not_the_cause_of_what_comes_later() {
    let store = Store::held().script([Step::LoseBeforeWriting]);
    let queue = queue(&store);
    store.let_one_go();
    let during = queue.submit(op(1, 1), Instant::now() + Duration::from_millis(5)).await;
    assert_eq!(unavailable(during), "the store said so");
    tokio::time::sleep(Duration::from_hours(1)).await;
    let hanging = queue.submit(op(2, 2), Instant::now() + Duration::from_secs(1)).await;
    assert_eq!(unavailable(hanging), "no answer within 1.0s");
}

/// The batch with the first has ended for want of anybody who waits for it; the next hangs.
#[tokio::test(start_paused = true)]
async fn who_waited_during_an_outage_is_told_of_it_although_its_own_commit_only_hangs() {
    let store = Store::held().script([Step::LoseBeforeWriting]);
    let queue = queue(&store);
    let start = Instant::now();
    let first = submitted_until(&queue, op(1, 1), start + Duration::from_millis(5));
    store.a_commit_begins().await;
    let second = submitted_until(&queue, op(2, 2), start + Duration::from_secs(1));
    store.let_one_go();
    assert_eq!(unavailable(first.await), "the store said so");
    assert_eq!(unavailable(second.await), "the store said so");
}

#[tokio::test(start_paused = true)]
async fn a_refused_batch_fails_as_a_whole_and_at_once() {
    let store = Store::held().script([Step::Write, Step::Refuse]);
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(100, 100)).await;
    let others: Vec<_> = (0..8).map(|n| submitted(&queue, op(n, n))).collect();
    store.let_go();
    let answers = join_all(others).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(SubmitError::Refused(_)))));
    assert_eq!(store.commits().len(), 2);
}

/// The commit is in the store, its answer is not heard, and then the disk is full.
#[tokio::test(start_paused = true)]
async fn what_a_lost_attempt_may_have_committed_is_not_told_as_unwritten_when_the_next_is_refused() {
    let store = Store::held().script([Step::Write, Step::LoseAfterWriting, Step::Refuse]);
    let metrics = Arc::new(CommitMetrics::default());
    let queue = Queue::start(vec![FakeWriter(store.clone())], Config::default(), metrics.clone());
    let _first = occupied(&store, &queue, op(100, 100)).await;
    let others: Vec<_> = (0..3).map(|n| submitted(&queue, op(n, n))).collect();
    store.let_go();
    for answer in join_all(others).await {
        assert_eq!(unavailable(answer), "the store said so");
    }
    assert_eq!(store.rows(0), [0], "it is there");
    let snapshot = metrics.snapshot();
    assert_eq!((snapshot.lost_total, snapshot.refused_total), (1, 1));
    assert_eq!(queue.submit(op(9, 9), in_one_minute()).await.unwrap().id, 9);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_stands_alone_after_a_lost_attempt_is_not_told_as_unwritten() {
    let store = Store::held().script([Step::Write, Step::LoseAfterWriting]);
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(100, 100)).await;
    let others: Vec<_> =
        [op(0, 0), poisoned(1, 1), op(2, 2), op(3, 3)].map(|row| submitted(&queue, row)).into();
    store.let_go();
    let mut answers = join_all(others).await;
    assert_eq!(unavailable(answers.remove(1)), "row 1 is poisoned");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let refused = queue.submit(poisoned(5, 5), in_one_minute()).await;
    assert!(matches!(refused, Err(SubmitError::Failed(_))), "nothing of this one was lost: {refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_panics_has_lost_its_connection_but_not_its_lane() {
    let store = Store::open().script([Step::Panic]);
    let queue = queue(&store);
    assert_eq!(queue.submit(op(1, 1), in_one_minute()).await.unwrap().id, 1);
    assert_eq!(store.reconnects(), 1);
}

#[tokio::test(start_paused = true)]
async fn nobody_gets_anothers_outcome_from_a_writer_that_forgets_one() {
    let store = Store::held().script([Step::Write, Step::ForgetAnOutcome]);
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(100, 100)).await;
    let others: Vec<_> = (0..3).map(|n| submitted(&queue, op(n, n))).collect();
    store.let_go();
    let answers = join_all(others).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(SubmitError::Unavailable(Some(_))))));
}

#[tokio::test(start_paused = true)]
async fn a_piece_of_a_halved_batch_may_be_lost_and_retried_too() {
    let steps = [Step::Write, Step::Write, Step::LoseAfterWriting, Step::MeetContention];
    let store = Store::held().script(steps);
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(100, 100)).await;
    let others: Vec<_> =
        [op(0, 0), poisoned(1, 1), op(2, 2), op(3, 3)].map(|row| submitted(&queue, row)).into();
    store.let_go();
    let answers: Vec<_> = join_all(others).await.into_iter().map(Result::ok).collect();
    let written = |id| Some(Written { id, before: 0 });
    assert_eq!(answers, [written(0), None, written(2), written(3)]);
    assert_eq!(store.commits()[2..5], [[2, 3], [2, 3], [2, 3]]);
    assert!(queue.submit(op(9, 9), in_one_minute()).now_or_never().is_none());
}
