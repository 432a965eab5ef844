//! Work queue: what waits for the store's own threads. Bounded; closed when the store goes.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

use crate::error::SqliteError;

/// A bounded queue that threads wait on.
pub(crate) struct WorkQueue<J> {
    depth: usize,
    state: Mutex<State<J>>,
    ready: Condvar,
}

struct State<J> {
    waiting: VecDeque<J>,
    closed: bool,
}

impl<J> WorkQueue<J> {
    pub(crate) const fn new(depth: usize) -> Self {
        Self {
            depth,
            state: Mutex::new(State { waiting: VecDeque::new(), closed: false }),
            ready: Condvar::new(),
        }
    }

    /// Appends a job.
    ///
    /// # Errors
    /// [`SqliteError::Overloaded`] if as many wait as may, [`SqliteError::Closed`] after [`WorkQueue::close`].
    pub(crate) fn push(&self, job: J) -> Result<(), SqliteError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SqliteError::Closed);
        }
        if state.waiting.len() >= self.depth {
            return Err(SqliteError::Overloaded);
        }
        state.waiting.push_back(job);
        drop(state);
        self.ready.notify_one();
        Ok(())
    }

    /// Waits for jobs and moves up to `max` of them into `taken`. False when the queue is closed and empty.
    pub(crate) fn take(&self, taken: &mut Vec<J>, max: usize) -> bool {
        let mut state = self.state.lock();
        while state.waiting.is_empty() {
            if state.closed {
                return false;
            }
            self.ready.wait(&mut state);
        }
        let count = state.waiting.len().min(max);
        taken.extend(state.waiting.drain(..count));
        true
    }

    /// Ends the intake; what waits is still taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.ready.notify_all();
    }
}
