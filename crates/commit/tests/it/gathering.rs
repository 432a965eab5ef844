//! Which ops go together, and when.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use sluice_commit::{CommitMetrics, Config, Queue, SubmitError};
use tokio::time::Instant;

use crate::fake::*;

#[tokio::test(start_paused = true)]
async fn an_op_goes_at_once_when_the_writer_is_idle() {
    let store = Store::open();
    let queue = queue(&store);
    let before = Instant::now();
    let written = queue.submit(op(7, 1), in_one_minute()).await.unwrap();
    assert_eq!(written, Written { id: 1, before: 0 });
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(store.commits(), [[1]]);
}

#[tokio::test(start_paused = true)]
async fn ops_that_arrive_during_a_commit_go_together_in_the_next() {
    let store = Store::held();
    let queue = queue(&store);
    let first = occupied(&store, &queue, op(0, 0)).await;
    let others: Vec<_> = (1..=50).map(|n| submitted(&queue, op(n, n))).collect();
    store.let_go();
    assert_eq!(first.await.unwrap().id, 0);
    let ids: Vec<_> = join_all(others).await.into_iter().map(|answer| answer.unwrap().id).collect();
    assert_eq!(ids, (1..=50).collect::<Vec<_>>());
    assert_eq!(store.commits(), [vec![0], (1..=50).collect()]);
}

/// Of an op, and of callers who are behind the lane that it has woken.
async fn commits_of_a_crowd(config: Config) -> Vec<Vec<u64>> {
    let store = Store::open();
    let queue = queue_with(&store, config);
    queue.submit(op(9, 9), in_one_minute()).await.unwrap();
    let first = submitted(&queue, op(0, 0));
    let caller = |n: u64| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.submit(op(n, n), in_one_minute()).await })
    };
    let others: Vec<_> = (1..5).map(caller).collect();
    first.await.unwrap();
    for answer in join_all(others).await {
        answer.unwrap().unwrap();
    }
    store.commits()
}

#[tokio::test(start_paused = true)]
async fn callers_that_are_ready_to_submit_share_the_commit_of_the_first() {
    for gathers in [true, false] {
        let commits = commits_of_a_crowd(Config { gathers, ..Config::default() }).await;
        assert_eq!(commits, [vec![9], vec![0, 1, 2, 3, 4]], "{gathers}");
    }
}

/// One waits behind a commit, and others are ready to submit when that ends.
#[tokio::test(start_paused = true)]
async fn what_has_gathered_goes_at_once_when_the_commit_ends_or_with_those_that_are_ready() {
    for gathers in [true, false] {
        let store = Store::held();
        let queue = queue_with(&store, Config { gathers, ..Config::default() });
        let first = occupied(&store, &queue, op(0, 0)).await;
        let behind = submitted(&queue, op(1, 1));
        let ready = {
            let queue = queue.clone();
            // It is woken by the answer that the lane gives before it takes the next batch.
            tokio::spawn(async move {
                first.await.unwrap();
                queue.submit(op(2, 2), in_one_minute()).await
            })
        };
        tokio::task::yield_now().await;
        store.let_go();
        behind.await.unwrap();
        ready.await.unwrap().unwrap();
        let expected = if gathers { vec![vec![0], vec![1, 2]] } else { vec![vec![0], vec![1], vec![2]] };
        assert_eq!(store.commits(), expected, "{gathers}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_sorted_by_key() {
    let store = Store::held();
    let queue = queue(&store);
    let _first = occupied(&store, &queue, op(100, 0)).await;
    let others: Vec<_> = [5, 3, 9, 1].map(|key| submitted(&queue, op(key, key * 10))).into();
    store.let_go();
    let answers = join_all(others).await;
    assert_eq!(store.commits()[1], [10, 30, 50, 90]);
    let ids: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().id).collect();
    assert_eq!(ids, [50, 30, 90, 10], "each caller got its own row");
}

#[tokio::test(start_paused = true)]
async fn a_batch_holds_no_more_rows_than_it_may() {
    let store = Store::held();
    let queue = queue_with(&store, max_batch(4));
    let _first = occupied(&store, &queue, op(0, 0)).await;
    let others: Vec<_> = (1..=10).map(|n| submitted(&queue, op(n, n))).collect();
    store.let_go();
    join_all(others).await;
    let sizes: Vec<_> = store.commits().iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 4, 4, 2]);
}

#[tokio::test(start_paused = true)]
async fn ops_on_one_key_go_one_batch_after_the_other_in_order() {
    let store = Store::held();
    let queue = queue(&store);
    let first = occupied(&store, &queue, op(7, 0)).await;
    let others: Vec<_> =
        [(7, 1), (8, 2), (7, 3), (9, 4)].map(|(key, id)| submitted(&queue, op(key, id))).into();
    store.let_go();
    first.await.unwrap();
    let answers = join_all(others).await;
    assert_eq!(store.commits(), [vec![0], vec![1, 2, 4], vec![3]]);
    assert_eq!(store.rows(7), [0, 1, 3]);
    let before: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().before).collect();
    assert_eq!(before, [1, 0, 2, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_busy_key_does_not_hold_up_the_others() {
    let store = Store::held();
    let queue = queue_with(&store, max_batch(2));
    let _first = occupied(&store, &queue, op(7, 0)).await;
    let _same: Vec<_> = (1..=20).map(|id| submitted(&queue, op(7, id))).collect();
    let other = submitted(&queue, op(8, 100));
    store.let_one_go();
    store.a_commit_begins().await;
    assert_eq!(store.commits()[1], [1, 100], "the other key waits for one commit, not for twenty");
    store.let_one_go();
    assert_eq!(other.await.unwrap().id, 100);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_sent_after_the_commit_that_holds_it() {
    let store = Store::held();
    let queue = queue(&store);
    let mut first = occupied(&store, &queue, op(1, 1)).await;
    tokio::task::yield_now().await;
    assert!((&mut first).now_or_never().is_none());
    store.let_one_go();
    assert_eq!(first.await.unwrap().id, 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_turns_ops_away_and_takes_them_again_later() {
    let store = Store::held();
    let queue = queue_with(&store, depth(3));
    let _first = occupied(&store, &queue, op(0, 0)).await;
    let waiting: Vec<_> = (1..=3).map(|n| submitted(&queue, op(n, n))).collect();
    assert_eq!(queue.waiting(), 3);
    assert!(matches!(queue.submit(op(4, 4), in_one_minute()).await, Err(SubmitError::Full)));
    store.let_go();
    assert!(join_all(waiting).await.iter().all(Result::is_ok));
    assert_eq!(queue.waiting(), 0);
    assert_eq!(queue.submit(op(4, 4), in_one_minute()).await.unwrap().id, 4);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_one_key_all_the_time_does_not_fill_the_queue_of_everybody() {
    let store = Store::held();
    let queue = queue_with(&store, depth(300));
    let first = occupied(&store, &queue, op(1, 0)).await;
    let behind: Vec<_> = (1..=256).map(|id| submitted(&queue, op(1, id))).collect();
    for id in 257..400 {
        assert!(matches!(queue.submit(op(1, id), in_one_minute()).await, Err(SubmitError::Full)));
    }
    let other = submitted(&queue, op(2, 400));
    assert_eq!(queue.waiting(), 257);
    store.let_go();
    assert_eq!((first.await.unwrap().id, other.await.unwrap().id), (0, 400));
    assert!(join_all(behind).await.iter().all(Result::is_ok));
    assert_eq!(queue.submit(op(1, 401), in_one_minute()).await.unwrap().before, 257);
}

#[tokio::test(start_paused = true)]
async fn the_keys_hash_picks_the_lane_and_a_held_lane_does_not_hold_another() {
    let (even, odd) = (Store::held(), Store::open());
    let writers = vec![FakeWriter(even.clone()), FakeWriter(odd.clone())];
    let queue = Queue::start(writers, Config::default(), Arc::new(CommitMetrics::default()));
    let held = occupied(&even, &queue, op(0, 0)).await;
    for id in [1, 3, 5] {
        assert_eq!(queue.submit(op(id, id), in_one_minute()).await.unwrap().id, id);
    }
    let behind = submitted(&queue, op(2, 2));
    even.let_go();
    assert_eq!((held.await.unwrap().id, behind.await.unwrap().id), (0, 2));
    assert_eq!(even.commits(), [[0], [2]]);
    assert_eq!(odd.commits(), [[1], [3], [5]]);
}

#[tokio::test(start_paused = true)]
async fn the_metrics_count_batches_rows_and_refusals() {
    let store = Store::held();
    let metrics = Arc::new(CommitMetrics::default());
    let queue = Queue::start(vec![FakeWriter(store.clone())], depth(2), metrics.clone());
    let first = occupied(&store, &queue, op(0, 0)).await;
    let others = [submitted(&queue, op(1, 1)), submitted(&queue, poisoned(2, 2))];
    assert!(queue.submit(op(3, 3), in_one_minute()).await.is_err());
    store.let_go();
    first.await.unwrap();
    join_all(others).await;
    let seen = metrics.snapshot();
    assert_eq!((seen.batches_total, seen.rows_total), (2, 3));
    assert_eq!((seen.turned_away_total, seen.poisoned_total), (1, 1));
    assert_eq!((seen.batch_rows.count, seen.wait_seconds.count), (2, 3));
}
