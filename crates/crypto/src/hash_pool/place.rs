//! A place in a queue, and the job that takes it.

use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;

use super::queue::{Giving, Job, Priority, Queue, Tell};
use super::{PoolBusy, is_heard};
use crate::password_hash::HashMemory;

/// A place in the queue of a [`HashPool`](super::HashPool) for a job that is yet to come. Dropping it gives it back.
#[derive(Debug)]
pub struct ReservedPlace {
    queue: Arc<Queue>,
    priority: Priority,
    giving: Giving,
    is_used: bool,
}

impl ReservedPlace {
    pub(super) fn of(queue: &Arc<Queue>, priority: Priority, giving: Giving) -> Result<Self, PoolBusy> {
        queue.reserve(priority, giving)?;
        Ok(Self { queue: Arc::clone(queue), priority, giving, is_used: false })
    }

    /// Queues `work` at once, not when the future is first polled. The future answers when the work is done; if it is dropped, or polled for
    /// a client that has left, before the work began, the work is not done. What has begun is answered in any case: whoever counts what
    /// came of it counts that, too.
    ///
    /// # Errors
    /// [`PoolBusy`] if the client has left before the work began, the work has waited for too long, there is no memory for it, or the pool
    /// was shut down.
    ///
    /// # Panics
    /// The future panics if `work` does.
    pub fn run<T, F>(mut self, work: F) -> impl Future<Output = Result<T, PoolBusy>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&mut HashMemory) -> T + Send + 'static,
    {
        let ((answer, mut outcome), start) = (oneshot::channel(), Arc::new(Start::default()));
        let giving = self.giving;
        let task = Task { work, answer, start: Arc::clone(&start), giving };
        self.is_used = true;
        let taken = self.queue.push(self.priority, Box::new(task));
        async move {
            taken?;
            poll_fn(|cx| {
                if giving == Giving::InVain && !is_heard() && start.is_mine() {
                    return Poll::Ready(Err(PoolBusy::Unheard));
                }
                Pin::new(&mut outcome).poll(cx).map(told)
            })
            .await
        }
    }
}

impl Drop for ReservedPlace {
    fn drop(&mut self) {
        if !self.is_used {
            self.queue.give_back(self.priority);
        }
    }
}

/// What a thread says of a job: what came of it, or how it panicked, or why it was not done.
type Answer<T> = Result<std::thread::Result<T>, PoolBusy>;

fn told<T>(answer: Result<Answer<T>, RecvError>) -> Result<T, PoolBusy> {
    match answer {
        Ok(Ok(Ok(value))) => Ok(value),
        Ok(Ok(Err(panicked))) => panic::resume_unwind(panicked),
        Ok(Err(busy)) => Err(busy),
        Err(_) => Err(PoolBusy::Stopped),
    }
}

/// Who comes first: the thread that begins a job, or whoever gives it up.
#[derive(Debug, Default)]
struct Start(AtomicBool);

impl Start {
    /// Whether this is the first to ask.
    fn is_mine(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

struct Task<T, F> {
    work: F,
    answer: oneshot::Sender<Answer<T>>,
    start: Arc<Start>,
    giving: Giving,
}

impl<T, F> Job for Task<T, F>
where
    T: Send + 'static,
    F: FnOnce(&mut HashMemory) -> T + Send + 'static,
{
    fn may_be_late(&self) -> bool {
        self.giving == Giving::Never
    }

    fn is_awaited(&self) -> bool {
        !self.answer.is_closed()
    }

    fn begins(&self) -> bool {
        self.is_awaited() && self.start.is_mine()
    }

    fn run(self: Box<Self>, memory: &mut HashMemory) -> Tell {
        let Self { work, answer, .. } = *self;
        // The memory holds no invariant: the next hash overwrites it.
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| work(memory)));
        Box::new(move |had_memory| {
            let answered = match (outcome, had_memory) {
                (Ok(_), Err(busy)) => Err(busy),
                // A panic is a defect, whatever the memory.
                (outcome, _) => Ok(outcome),
            };
            // Nobody waits any more: nothing to tell.
            let _ = answer.send(answered);
        })
    }

    fn refuse(self: Box<Self>, busy: PoolBusy) {
        let _ = self.answer.send(Err(busy));
    }
}
