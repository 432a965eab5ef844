//! Uploads over HTTP/2. hyper hands each on in a task of its own, and that looks at nothing but the server's window while it waits for
//! room there. So around the task it is looked at whether the answer is over.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::rt::Executor;
use parking_lot::Mutex;

use super::Progress;

/// Runs the tasks of one connection over HTTP/2.
///
/// hyper asks a body for its first part while it drives the connection, and begins the task that hands it on, if there is more to
/// do, before anything else. Between the two the body's progress is here.
#[derive(Clone, Default)]
pub(in crate::proxy) struct Uploads(Arc<Mutex<Option<Arc<Progress>>>>);

impl Uploads {
    /// Drives a connection. A body that was asked elsewhere than in here is that of no task which is begun in here.
    pub(in crate::proxy) async fn drive<C: Future>(&self, connection: C) -> C::Output {
        let mut connection = pin!(connection);
        poll_fn(|context| {
            drop(self.take());
            connection.as_mut().poll(context)
        })
        .await
    }

    /// Notes that a body is asked for its first part.
    pub(super) fn begin(&self, progress: &Arc<Progress>) {
        *self.0.lock() = Some(progress.clone());
    }

    fn take(&self) -> Option<Arc<Progress>> {
        self.0.lock().take()
    }
}

impl<F> Executor<F> for Uploads
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        match self.take() {
            Some(progress) => drop(tokio::spawn(hand_on(task, progress))),
            None => drop(tokio::spawn(task)),
        }
    }
}

/// Runs the task of an upload until that has ended, or gets no further while nobody waits for it: its stream is reset then.
async fn hand_on<F: Future>(task: F, progress: Arc<Progress>) {
    let mut task = pin!(task);
    poll_fn(|context| match task.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending => progress.poll_abandoned(context),
    })
    .await;
}

/// What is left of a body whose answer has begun. It goes no further than this.
pub(in crate::proxy) struct Remainder(Arc<Progress>);

impl Remainder {
    /// Of the body with `progress`.
    pub(in crate::proxy) fn of(progress: Arc<Progress>) -> Self {
        Self(progress)
    }
}

impl Drop for Remainder {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn the_task_of_an_upload_ends_with_its_answer() {
        let (uploads, progress) = (Uploads::default(), Arc::new(Progress::default()));
        let (held, ended) = oneshot::channel::<()>();
        uploads
            .drive(async {
                uploads.begin(&progress);
                uploads.execute(async move {
                    pending::<()>().await;
                    drop(held);
                });
            })
            .await;
        drop(Remainder::of(progress));
        assert!(ended.await.is_err(), "dropped with its task");
    }

    #[tokio::test]
    async fn no_other_task_ends_with_it() {
        let (uploads, progress) = (Uploads::default(), Arc::new(Progress::default()));
        let (go_on, wait) = oneshot::channel::<()>();
        let (say, heard) = oneshot::channel();
        // Asked in a task of its own, and not by the connection.
        uploads.begin(&progress);
        uploads
            .drive(async {
                uploads.execute(async move {
                    wait.await.unwrap();
                    say.send("done").unwrap();
                });
            })
            .await;
        drop(Remainder::of(progress));
        tokio::task::yield_now().await;
        go_on.send(()).unwrap();
        assert_eq!(heard.await, Ok("done"));
    }
}
