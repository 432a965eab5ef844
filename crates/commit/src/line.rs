//! Line: the ops that wait for one lane.
//!
//! For each key at most one op is `ready` or in flight; later ops on it stand behind, in order, and move up one by one
//! when the batch before them is settled. So a batch holds no key twice by construction, and taking it costs as much as it
//! holds, however long the line behind one busy key is; and that is no longer than [`BEHIND_A_KEY`], so that who asks for one thing
//! all the time does not take the line from everybody.

use std::collections::VecDeque;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::error::{Cause, SubmitError};

/// So many ops may stand behind one key: more than a person begins sessions at once. Each waits for a commit of its own.
const BEHIND_A_KEY: usize = 256;

/// An op and who waits for it.
pub(crate) struct Pending<Op, Out> {
    pub(crate) key: u64,
    pub(crate) op: Op,
    pub(crate) submitted: Instant,
    pub(crate) ticket: Ticket<Out>,
}

impl<Op, Out> Pending<Op, Out> {
    /// Nobody waits for it any more: its caller went away, perhaps because the deadline passed.
    fn is_abandoned(&self) -> bool {
        self.ticket.reply.is_closed()
    }
}

/// The caller's end of an op.
pub(crate) struct Ticket<Out> {
    pub(crate) deadline: Instant,
    pub(crate) reply: oneshot::Sender<Result<Out, SubmitError>>,
}

impl<Out> Ticket<Out> {
    /// Answers the caller. One that went away does not hear it.
    pub(crate) fn answer(self, outcome: Result<Out, SubmitError>) {
        drop(self.reply.send(outcome));
    }
}

/// What a lane found in its line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// At least one op.
    Batch,
    /// Nothing yet: [`Line::woken`] returns when there is something.
    Nothing,
    /// Nothing, and nothing will come.
    Closed,
}

/// Where callers and one lane meet.
pub(crate) struct Line<Op, Out> {
    depth: usize,
    state: Mutex<State<Op, Out>>,
    wake: Notify,
}

struct State<Op, Out> {
    ready: VecDeque<Pending<Op, Out>>,
    /// The keys that are ready or in flight, each with the ops behind.
    keys: HashMap<u64, VecDeque<Pending<Op, Out>>>,
    waiting: usize,
    idle: bool,
    closed: bool,
    trouble: Option<Trouble>,
}

/// What ails the store, or did.
struct Trouble {
    cause: Cause,
    /// When nobody was left in the lane whom it concerned; none as long as somebody is.
    until: Option<Instant>,
}

impl<Op, Out> Line<Op, Out> {
    pub(crate) fn new(depth: usize) -> Self {
        let state = State {
            ready: VecDeque::new(),
            keys: HashMap::new(),
            waiting: 0,
            idle: false,
            closed: false,
            trouble: None,
        };
        Self { depth, state: Mutex::new(state), wake: Notify::new() }
    }

    /// Appends an op, and wakes the lane if it is idle.
    pub(crate) fn push(&self, pending: Pending<Op, Out>) -> Result<(), SubmitError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SubmitError::Closed);
        }
        if state.waiting >= self.depth {
            return Err(SubmitError::Full);
        }
        state.push(pending)?;
        let was_idle = std::mem::take(&mut state.idle);
        drop(state);
        if was_idle {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Moves up to `max` ready ops into `taken`. Abandoned ones are dropped on the way.
    pub(crate) fn take(&self, taken: &mut Vec<Pending<Op, Out>>, max: usize) -> Taken {
        let mut state = self.state.lock();
        while taken.len() < max
            && let Some(pending) = state.ready.pop_front()
        {
            state.waiting -= 1;
            if pending.is_abandoned() {
                state.release(pending.key);
            } else {
                taken.push(pending);
            }
        }
        match (taken.is_empty(), state.closed) {
            (false, _) => Taken::Batch,
            (true, true) => Taken::Closed,
            (true, false) => {
                state.idle = true;
                Taken::Nothing
            }
        }
    }

    /// Says that the ops taken on `keys` are settled: those behind them are next.
    pub(crate) fn release(&self, keys: impl Iterator<Item = u64>) {
        let mut state = self.state.lock();
        keys.for_each(|key| state.release(key));
    }

    /// Returns when there may be something to take.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Ends the intake. What waits can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }

    /// Ends the intake and forgets what waits, whose callers learn that no answer will come.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.waiting = 0;
        let forgotten = (std::mem::take(&mut state.ready), std::mem::take(&mut state.keys));
        drop(state);
        drop(forgotten); // wakes callers, who may want the lock
    }

    /// Ops that wait, those in flight not counted.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// What has ailed the store at any time since then, for callers whose deadline passes.
    pub(crate) fn trouble_since(&self, submitted: Instant) -> Option<Cause> {
        let state = self.state.lock();
        let lasted = |trouble: &&Trouble| trouble.until.is_none_or(|until| until >= submitted);
        state.trouble.as_ref().filter(lasted).map(|trouble| trouble.cause.clone())
    }

    /// Sets or clears what ails the store.
    pub(crate) fn set_trouble(&self, cause: Option<Cause>) {
        self.state.lock().trouble = cause.map(|cause| Trouble { cause, until: None });
    }

    /// Nobody is left whom it concerned, and nobody knows whether it is over: who comes later is not told of it.
    pub(crate) fn leave_trouble(&self) {
        if let Some(trouble) = self.state.lock().trouble.as_mut() {
            trouble.until = Some(Instant::now());
        }
    }
}

impl<Op, Out> State<Op, Out> {
    fn push(&mut self, pending: Pending<Op, Out>) -> Result<(), SubmitError> {
        match self.keys.entry(pending.key) {
            Entry::Occupied(behind) if behind.get().len() >= BEHIND_A_KEY => return Err(SubmitError::Full),
            Entry::Occupied(mut behind) => behind.get_mut().push_back(pending),
            Entry::Vacant(free) => {
                free.insert(VecDeque::new()); // allocates nothing until an op stands behind
                self.ready.push_back(pending);
            }
        }
        self.waiting += 1;
        Ok(())
    }

    fn release(&mut self, key: u64) {
        let Entry::Occupied(mut behind) = self.keys.entry(key) else { return };
        match behind.get_mut().pop_front() {
            Some(next) => self.ready.push_back(next),
            None => drop(behind.remove()),
        }
    }
}
