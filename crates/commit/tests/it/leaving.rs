//! Callers that go away, and queues that are shut down.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::join_all;
use sluice_commit::{CommitMetrics, Config, Queue, SubmitError};

use crate::fake::*;

#[tokio::test(start_paused = true)]
async fn an_op_whose_caller_left_before_it_was_taken_is_not_written() {
    let store = Store::held();
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(7, 0)).await;
    let same_key = submitted(&queue, op(7, 1));
    let other_key = submitted(&queue, op(8, 2));
    let last = submitted(&queue, op(7, 3));
    drop((same_key, other_key));
    store.let_go();
    assert_eq!(last.await.unwrap(), Written { id: 3, before: 1 });
    assert_eq!(store.commits(), [[0], [3]]);
    assert_eq!(queue.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_free_again_after_an_abandoned_op_on_it() {
    let store = Store::held();
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(7, 0)).await;
    drop(submitted(&queue, op(8, 1)));
    let behind_it = submitted(&queue, op(8, 2));
    store.let_go();
    assert_eq!(behind_it.await.unwrap(), Written { id: 2, before: 0 });
}

#[tokio::test(start_paused = true)]
async fn an_op_that_was_taken_is_written_though_its_caller_left() {
    let store = Store::held().script([Step::LoseBeforeWriting]);
    let queue = queue(&store);
    drop(occupied(&store, &queue, op(1, 1)).await);
    store.let_go();
    queue.shutdown().await;
    assert_eq!(store.rows(1), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_finishes_what_is_queued_and_takes_no_more() {
    let store = Store::held();
    let queue = queue_with(&store, max_batch(2));
    let mut submissions = vec![occupied(&store, &queue, op(0, 0)).await];
    submissions.extend((1..=5).map(|id| submitted(&queue, op(id % 2, id))));
    let mut shutdown = Box::pin(queue.shutdown());
    assert!((&mut shutdown).now_or_never().is_none());
    let late = queue.submit(op(9, 9), in_one_minute()).await;
    assert!(matches!(late, Err(SubmitError::Closed)));
    store.let_go();
    shutdown.await;
    let answers = join_all(submissions.into_iter().map(|answer| answer.map(Result::unwrap))).await;
    assert_eq!(answers.len(), 6);
    assert_eq!((store.rows(0), store.rows(1)), (vec![0, 2, 4], vec![1, 3, 5]));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_may_be_cancelled_and_called_again() {
    let store = Store::held();
    let queue = queue(&store);
    let first = occupied(&store, &queue, op(1, 1)).await;
    assert!(queue.shutdown().now_or_never().is_none());
    store.let_go();
    tokio::join!(queue.shutdown(), queue.shutdown());
    assert!(first.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_during_an_outage_ends_with_the_last_deadline() {
    let store = Store::open().script([Step::LoseBeforeWriting; 1000]);
    let queue = queue(&store);
    let waiting = submitted(&queue, op(1, 1));
    let behind = submitted(&queue, op(1, 2));
    let ((), first, second) = tokio::join!(queue.shutdown(), waiting, behind);
    assert!(matches!(first, Err(SubmitError::Unavailable(Some(_)))));
    assert!(matches!(second, Err(SubmitError::Unavailable(Some(_)))));
}

#[tokio::test(start_paused = true)]
async fn an_idle_queue_shuts_down_at_once() {
    let store = Store::held();
    let queue = queue(&store);
    tokio::task::yield_now().await;
    queue.shutdown().await;
    assert!(!store.has_begun());
}

#[tokio::test(start_paused = true)]
async fn the_writers_are_dropped_when_the_last_handle_is() {
    let store = Store::open();
    let queue = queue(&store);
    queue.submit(op(1, 1), in_one_minute()).await.unwrap();
    drop(queue);
    while Arc::strong_count(&store) > 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_queue_without_writers_is_closed() {
    let queue = Queue::<FakeWriter>::start(vec![], Config::default(), Arc::new(CommitMetrics::default()));
    assert!(matches!(queue.submit(op(1, 1), in_one_minute()).await, Err(SubmitError::Closed)));
}

#[test]
fn callers_are_told_when_the_runtime_of_the_lanes_is_gone() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = Store::held();
    let (queue, waiting, behind) = runtime.block_on(async {
        let queue = queue(&store);
        let waiting = occupied(&store, &queue, op(1, 1)).await;
        let behind = submitted(&queue, op(1, 2));
        (queue, waiting, behind)
    });
    drop(runtime);
    assert!(matches!(waiting.now_or_never(), Some(Err(SubmitError::Unavailable(None)))));
    assert!(matches!(behind.now_or_never(), Some(Err(SubmitError::Unavailable(None)))));
    assert!(matches!(queue.submit(op(3, 3), in_one_minute()).now_or_never(), Some(Err(SubmitError::Closed))));
}
