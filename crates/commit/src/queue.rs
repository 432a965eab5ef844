//! Queue: the handle of repositories, and the owner of the lanes.

use std::sync::Arc;

use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::config::Config;
use crate::error::{Cause, NoAnswer, SubmitError};
use crate::lane::Lane;
use crate::line::{Line, Pending, Ticket};
use crate::metrics::CommitMetrics;
use crate::writer::Writer;

type LineOf<W> = Line<<W as Writer>::Op, <W as Writer>::Out>;

/// Where an outcome comes.
type Outcome<Out> = oneshot::Receiver<Result<Out, SubmitError>>;

/// A group-commit queue for one kind of write. Clones share it; when the last one goes, the queue drains by itself.
pub struct Queue<W: Writer> {
    shared: Arc<Shared<W>>,
}

struct Shared<W: Writer> {
    lines: Vec<Arc<LineOf<W>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    metrics: Arc<CommitMetrics>,
}

impl<W: Writer> Clone for Queue<W> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<W: Writer> Drop for Shared<W> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<W: Writer> Queue<W> {
    /// Starts one lane per writer, as tasks of the current runtime. Without a writer the queue is closed from the
    /// start.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(writers: Vec<W>, config: Config, metrics: Arc<CommitMetrics>) -> Self {
        let mut lines = Vec::with_capacity(writers.len());
        let mut tasks = Vec::with_capacity(writers.len());
        for writer in writers {
            let line = Arc::new(Line::new(config.depth.get()));
            tasks.push(tokio::spawn(Lane::new(writer, line.clone(), config, metrics.clone()).run()));
            lines.push(line);
        }
        Self { shared: Arc::new(Shared { lines, tasks: Mutex::new(tasks), metrics }) }
    }

    /// Writes one op and returns its own outcome, after the commit that holds it. Ops on one key are committed in the
    /// order in which they were submitted, which they are by the call already: what is returned waits, and is small.
    ///
    /// If the returned future is dropped before the op is taken into a batch, nothing is written; once taken, it is
    /// committed all the same.
    ///
    /// # Errors
    /// [`SubmitError::Full`] and [`SubmitError::Closed`] at once; [`SubmitError::Failed`] if the store refuses the row,
    /// and [`SubmitError::Refused`] if it refuses any; [`SubmitError::Unavailable`] if there is no answer by `deadline`, or the
    /// store refuses after an attempt was lost, and then the outcome is unknown.
    pub fn submit(
        &self,
        op: W::Op,
        deadline: Instant,
    ) -> impl Future<Output = Result<W::Out, SubmitError>> + Send + use<'_, W> {
        let submitted = Instant::now();
        let waiting = self.push(op, submitted, deadline);
        async move {
            let (line, outcome) = waiting?;
            match timeout_at(deadline, outcome).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_)) => Err(SubmitError::Unavailable(line.trouble_since(submitted))),
                Err(_) => {
                    let unanswered = || -> Cause { Arc::new(NoAnswer(deadline.duration_since(submitted))) };
                    Err(SubmitError::Unavailable(Some(
                        line.trouble_since(submitted).unwrap_or_else(unanswered),
                    )))
                }
            }
        }
    }

    /// Puts an op into its line, and says where its outcome comes.
    fn push(
        &self,
        op: W::Op,
        submitted: Instant,
        deadline: Instant,
    ) -> Result<(&LineOf<W>, Outcome<W::Out>), SubmitError> {
        let key = W::key(&op);
        let line = self.shared.line(key)?;
        let (reply, outcome) = oneshot::channel();
        let ticket = Ticket { deadline, reply };
        let pushed = line.push(Pending { key, op, submitted, ticket });
        pushed.inspect_err(|_| self.shared.metrics.turned_away())?;
        Ok((line, outcome))
    }

    /// Ops that wait in all lanes, those in a commit in flight not counted.
    pub fn waiting(&self) -> usize {
        self.shared.lines.iter().map(|line| line.waiting()).sum()
    }

    /// Stops the intake, finishes what was submitted, and returns when the writers are dropped. While the store is
    /// unreachable that takes until the last deadline. May be called more than once, and cancelled.
    pub async fn shutdown(&self) {
        self.shared.close();
        let mut tasks = self.shared.tasks.lock().await;
        while let Some(lane) = tasks.last_mut() {
            // A lane that was aborted with its runtime has nothing left to finish either.
            drop(lane.await);
            tasks.pop();
        }
    }
}

impl<W: Writer> Shared<W> {
    /// The line that all ops on this key stand in.
    fn line(&self, key: u64) -> Result<&LineOf<W>, SubmitError> {
        let lanes = u64::try_from(self.lines.len()).unwrap_or(u64::MAX);
        let lane = key.checked_rem(lanes).and_then(|lane| usize::try_from(lane).ok());
        lane.and_then(|lane| self.lines.get(lane)).map(Arc::as_ref).ok_or(SubmitError::Closed)
    }

    fn close(&self) {
        self.lines.iter().for_each(|line| line.close());
    }
}
