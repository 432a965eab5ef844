//! A store in memory: a commit waits for the test's permission, may be told to fail, and is written down.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use sluice_commit::{BoxError, CommitFailure, CommitMetrics, Config, Queue, SubmitError, Writer};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// One row: the id is unique and plays the attempt id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) key: u64,
    pub(crate) id: u64,
    pub(crate) poisoned: bool,
}

pub(crate) fn op(key: u64, id: u64) -> Op {
    Op { key, id, poisoned: false }
}

pub(crate) fn poisoned(key: u64, id: u64) -> Op {
    Op { key, id, poisoned: true }
}

/// The outcome of a row: its id, and how many rows of its key were written before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) id: u64,
    pub(crate) before: usize,
}

/// What happens to one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Write,
    LoseBeforeWriting,
    LoseAfterWriting,
    FailToReconnect,
    MeetContention,
    Refuse,
    Panic,
    ForgetAnOutcome,
}

/// What a test sees of the store, and tells it.
pub(crate) struct Store {
    /// A permit lets one commit go on.
    gate: Semaphore,
    /// A permit is one commit that has begun.
    begun: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    script: VecDeque<Step>,
    commits: Vec<Vec<Op>>,
    reconnects: usize,
    reconnect_fails: bool,
    rows: HashMap<u64, Vec<u64>>,
    outcomes: HashMap<u64, Written>,
}

const OPEN: usize = 1 << 20;

impl Store {
    /// A store that commits at once.
    pub(crate) fn open() -> Arc<Self> {
        Self::with_gate(OPEN)
    }

    /// A store whose commits wait for [`Store::let_go`].
    pub(crate) fn held() -> Arc<Self> {
        Self::with_gate(0)
    }

    fn with_gate(permits: usize) -> Arc<Self> {
        let (gate, begun) = (Semaphore::new(permits), Semaphore::new(0));
        Arc::new(Self { gate, begun, state: Mutex::default() })
    }

    pub(crate) fn script(self: &Arc<Self>, steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        self.state.lock().unwrap().script.extend(steps);
        self.clone()
    }

    /// Waits until one more commit has begun.
    pub(crate) async fn a_commit_begins(&self) {
        self.begun.acquire().await.unwrap().forget();
    }

    /// Whether a commit has begun that no test has waited for.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.available_permits() > 0
    }

    pub(crate) fn let_one_go(&self) {
        self.gate.add_permits(1);
    }

    pub(crate) fn let_go(&self) {
        self.gate.add_permits(OPEN);
    }

    /// The ids of every commit attempted, in order.
    pub(crate) fn commits(&self) -> Vec<Vec<u64>> {
        let state = self.state.lock().unwrap();
        state.commits.iter().map(|batch| batch.iter().map(|op| op.id).collect()).collect()
    }

    pub(crate) fn batches(&self) -> Vec<Vec<Op>> {
        self.state.lock().unwrap().commits.clone()
    }

    pub(crate) fn reconnects(&self) -> usize {
        self.state.lock().unwrap().reconnects
    }

    /// The ids written under a key, in order.
    pub(crate) fn rows(&self, key: u64) -> Vec<u64> {
        self.state.lock().unwrap().rows.get(&key).cloned().unwrap_or_default()
    }
}

impl State {
    fn write(&mut self, batch: &[Op]) -> Vec<Written> {
        batch.iter().map(|op| self.write_row(op)).collect()
    }

    /// Idempotent: an id that is written already keeps its outcome.
    fn write_row(&mut self, op: &Op) -> Written {
        let rows = self.rows.entry(op.key).or_default();
        *self.outcomes.entry(op.id).or_insert_with(|| {
            rows.push(op.id);
            Written { id: op.id, before: rows.len() - 1 }
        })
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum StoreError {
    #[error("row {0} is poisoned")]
    Poisoned(u64),
    #[error("the store said so")]
    Scripted,
}

pub(crate) struct FakeWriter(pub(crate) Arc<Store>);

impl Writer for FakeWriter {
    type Op = Op;
    type Out = Written;

    fn key(op: &Op) -> u64 {
        op.key
    }

    async fn commit(&mut self, batch: &[Op]) -> Result<Vec<Written>, CommitFailure> {
        let step = {
            let mut state = self.0.state.lock().unwrap();
            state.commits.push(batch.to_vec());
            state.script.pop_front().unwrap_or(Step::Write)
        };
        self.0.begun.add_permits(1);
        self.0.gate.acquire().await.unwrap().forget();
        assert!(step != Step::Panic, "the script says so");
        let mut state = self.0.state.lock().unwrap();
        let cause = Box::new(StoreError::Scripted);
        if let Some(row) = batch.iter().find(|op| op.poisoned)
            && step == Step::Write
        {
            return Err(CommitFailure::Poisoned(Box::new(StoreError::Poisoned(row.id))));
        }
        match step {
            Step::Write => Ok(state.write(batch)),
            Step::LoseAfterWriting => {
                if !batch.iter().any(|op| op.poisoned) {
                    state.write(batch);
                }
                Err(CommitFailure::Lost(cause))
            }
            Step::FailToReconnect => {
                state.reconnect_fails = true;
                Err(CommitFailure::Lost(cause))
            }
            Step::LoseBeforeWriting => Err(CommitFailure::Lost(cause)),
            Step::MeetContention => Err(CommitFailure::Busy(cause)),
            Step::ForgetAnOutcome => Ok(state.write(batch).split_off(1)),
            Step::Refuse | Step::Panic => Err(CommitFailure::Refused(cause)),
        }
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        let mut state = self.0.state.lock().unwrap();
        state.reconnects += 1;
        if std::mem::take(&mut state.reconnect_fails) { Err(Box::new(StoreError::Scripted)) } else { Ok(()) }
    }
}

pub(crate) fn queue(store: &Arc<Store>) -> Queue<FakeWriter> {
    queue_with(store, Config::default())
}

pub(crate) fn queue_with(store: &Arc<Store>, config: Config) -> Queue<FakeWriter> {
    Queue::start(vec![FakeWriter(store.clone())], config, Arc::new(CommitMetrics::default()))
}

pub(crate) fn max_batch(rows: usize) -> Config {
    Config { max_batch: NonZeroUsize::new(rows).unwrap(), ..Config::default() }
}

pub(crate) fn depth(ops: usize) -> Config {
    Config { depth: NonZeroUsize::new(ops).unwrap(), ..Config::default() }
}

pub(crate) fn in_one_minute() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

pub(crate) type Submitted = Pin<Box<dyn Future<Output = Result<Written, SubmitError>> + Send>>;

/// Submits an op that will not be answered at once, and returns when it waits in the queue.
pub(crate) fn submitted(queue: &Queue<FakeWriter>, op: Op) -> Submitted {
    submitted_until(queue, op, in_one_minute())
}

pub(crate) fn submitted_until(queue: &Queue<FakeWriter>, op: Op, deadline: Instant) -> Submitted {
    let queue = queue.clone();
    let mut submitted: Submitted = Box::pin(async move { queue.submit(op, deadline).await });
    let answer = (&mut submitted).now_or_never();
    assert!(answer.is_none(), "answered before the commit: {answer:?}");
    submitted
}

/// Lets one op occupy the writer of a held store, so that what follows gathers.
pub(crate) async fn occupied(store: &Arc<Store>, queue: &Queue<FakeWriter>, op: Op) -> Submitted {
    let first = submitted(queue, op);
    store.a_commit_begins().await;
    first
}
