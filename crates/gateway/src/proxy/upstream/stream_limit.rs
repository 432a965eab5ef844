//! How many streams a server lets be open at once on a connection (RFC 9113 §5.1.2). It says so in its SETTINGS, which come when a first
//! request may be on its way already, and may say so anew.
//!
//! hyper knows it where a connection is driven, but is not polled there when SETTINGS come: [`Tasks`] see to that.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use hyper::client::conn::http2::Connection;
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tokio::time::timeout;

use super::connect::Wire;
use crate::proxy::body::{RequestBody, Uploads};

/// Streams at once on one connection, before another one is made, also where the server permits more.
const STREAMS: usize = 100;

/// How many streams may be open at once on a connection.
#[derive(Clone)]
pub(super) struct StreamLimit(watch::Sender<usize>);

impl Default for StreamLimit {
    fn default() -> Self {
        Self(watch::Sender::new(Self::UNSAID))
    }
}

impl StreamLimit {
    /// What a connection is to begin with: no server can say it, in 32 bits, and it is not what h2 makes of SETTINGS without a limit.
    pub(super) const UNSAID: usize = usize::MAX - 1;

    /// So many. Before the server has said it, it is one: what is beyond its limit would be refused, or wait for the others to end.
    pub(super) fn now(&self) -> usize {
        match *self.0.borrow() {
            Self::UNSAID => 1,
            said => said.min(STREAMS),
        }
    }

    /// Whether the server has said it.
    pub(super) fn is_said(&self) -> bool {
        *self.0.borrow() != Self::UNSAID
    }

    /// Waits until the server has said it, or the connection has ended. A server that does not do so `within` that time gets as many
    /// as others.
    pub(super) async fn said(&self, within: Duration) {
        let mut heard = self.0.subscribe();
        if timeout(within, heard.wait_for(|limit| *limit != Self::UNSAID)).await.is_err() {
            self.note(STREAMS);
        }
    }

    /// Drives a connection whose tasks are run by `tasks`, and notes what its server says; in the end, that nothing may be opened.
    pub(super) async fn follow(
        self,
        mut connection: Connection<TokioIo<Wire>, RequestBody, Tasks>,
        tasks: Tasks,
    ) -> hyper::Result<()> {
        let ended = poll_fn(|context| {
            if !self.is_said() {
                tasks.reading.driver.register(context.waker());
            }
            let polled = Pin::new(&mut connection).poll(context);
            let limit = connection.current_max_send_streams();
            if limit != Self::UNSAID {
                self.note(limit);
            }
            polled
        })
        .await;
        self.note(0);
        ended
    }

    fn note(&self, limit: usize) {
        if *self.0.borrow() != limit {
            self.0.send_replace(limit);
        }
    }
}

/// Runs the tasks of one connection. The first one, which reads what the server sends, wakes whoever drives the connection and waits for
/// that.
#[derive(Clone)]
pub(super) struct Tasks {
    uploads: Uploads,
    reading: Arc<Reading>,
}

#[derive(Default)]
struct Reading {
    is_begun: AtomicBool,
    driver: AtomicWaker,
}

impl Tasks {
    /// With those that hand bodies on run by `uploads`.
    pub(super) fn new(uploads: &Uploads) -> Self {
        Self { uploads: uploads.clone(), reading: Arc::default() }
    }
}

impl<F> Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        if self.reading.is_begun.load(Ordering::Relaxed) {
            self.uploads.execute(task);
        } else {
            self.reading.is_begun.store(true, Ordering::Relaxed);
            drop(tokio::spawn(read(task, self.reading.clone())));
        }
    }
}

/// Runs the task that reads, and wakes who drives its connection after each step.
async fn read<F: Future>(task: F, reading: Arc<Reading>) {
    let mut task = pin!(task);
    poll_fn(|context| {
        let polled = task.as_mut().poll(context);
        reading.driver.wake();
        polled.map(drop)
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_server_says_counts_and_one_that_says_nothing_is_not_waited_for_for_ever() {
        let within = Duration::from_secs(2);
        for (said, limit) in [(Some(0), 0), (Some(3), 3), (Some(250), STREAMS), (None, STREAMS)] {
            let ours = StreamLimit::default();
            assert!(!ours.is_said() && ours.now() == 1);
            let waiting = tokio::spawn({
                let ours = ours.clone();
                async move { ours.said(within).await }
            });
            if let Some(said) = said {
                ours.note(said);
            }
            waiting.await.unwrap();
            assert!(ours.is_said() && ours.now() == limit, "{said:?}");
        }
    }
}
