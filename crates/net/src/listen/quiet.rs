//! The waker of a connection, which does not hear that the last part of a request's body was taken.
//!
//! hyper wakes a connection whenever a part of a body is taken, so that it hands on the next one; also after the last, of which it has
//! handed on everything (`Receiver::poll_next` of its `body::chan`, 1.12). Each request with a body that waits for something else afterwards
//! would be asked once more in vain, with all that is around it.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use http_body::{Body, Frame};
use hyper::body::Incoming;

thread_local! {
    static TAKING: Cell<bool> = const { Cell::new(false) };
    /// Who was woken by what this thread takes.
    static WOKEN: Cell<Option<Waker>> = const { Cell::new(None) };
}

/// Takes part of the body of a request over HTTP/1.1. Its connection is woken by that unless nothing more comes.
///
/// What wakes the connection otherwise comes from elsewhere: from other threads, or when this is over.
pub(super) fn take(
    body: &mut Incoming,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
    let taking = Taking::begin();
    let polled = Pin::new(&mut *body).poll_frame(context);
    drop(taking);
    if let Some(woken) = WOKEN.take()
        && (polled.is_pending() || !body.is_end_stream())
    {
        woken.wake();
    }
    polled
}

/// While there is one, this thread takes part of a body.
struct Taking;

impl Taking {
    fn begin() -> Self {
        TAKING.set(true);
        Self
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        TAKING.set(false);
    }
}

/// With which a connection is polled.
#[derive(Default)]
pub(super) struct QuietWaker(Option<Quiet>);

/// Of a task, and as its connection has it.
struct Quiet {
    task: Waker,
    quiet: Waker,
}

impl QuietWaker {
    /// The context of a connection in the task that has this waker.
    pub(super) fn context(&mut self, task: &Waker) -> Context<'_> {
        let known = self.0.take().filter(|known| known.task.will_wake(task));
        Context::from_waker(&self.0.insert(known.unwrap_or_else(|| Quiet::of(task))).quiet)
    }
}

impl Quiet {
    fn of(task: &Waker) -> Self {
        Self { task: task.clone(), quiet: Waker::from(Arc::new(Listening(task.clone()))) }
    }
}

/// Wakes its task, but not while a body is taken.
struct Listening(Waker);

impl Wake for Listening {
    fn wake(self: Arc<Self>) {
        if !TAKING.get() {
            return self.0.wake_by_ref();
        }
        if let Some(other) = WOKEN.replace(Some(Waker::from(self))) {
            other.wake_by_ref();
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        Arc::clone(self).wake();
    }
}
