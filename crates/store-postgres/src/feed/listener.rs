//! Listener: a connection of its own that hears of appends on other nodes. Without it readers poll. Who reads no feed, as a
//! worker, has none.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::connection::{Dialer, Session};
use crate::error::Failure;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often an idle connection is asked whether it is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The listening task, once somebody waits, and whom it wakes.
pub(crate) struct Listener {
    dialer: Arc<Dialer>,
    appended: Arc<Notify>,
    /// None if it was stopped before it began.
    task: OnceLock<Option<AbortHandle>>,
}

impl Listener {
    /// A listener that begins when somebody waits for the first time.
    pub(crate) fn new(dialer: Arc<Dialer>) -> Self {
        Self { dialer, appended: Arc::default(), task: OnceLock::new() }
    }

    /// Returns when something was appended, at the latest after `longest`.
    pub(crate) async fn wait(&self, longest: Duration) {
        self.task.get_or_init(|| {
            let listening = tokio::spawn(listen(self.dialer.clone(), self.appended.clone()));
            Some(listening.abort_handle())
        });
        // Late or in time, the reader reads.
        let _ = timeout(longest, self.appended.notified()).await;
    }

    /// Stops listening.
    pub(crate) fn stop(&self) {
        if let Some(task) = self.task.get_or_init(|| None) {
            task.abort();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn listen(dialer: Arc<Dialer>, appended: Arc<Notify>) {
    let mut pause = FIRST_PAUSE;
    loop {
        match subscribe(&dialer, &appended).await {
            Ok(session) => {
                pause = FIRST_PAUSE;
                appended.notify_one(); // what was appended while nobody listened
                attend(&session).await;
            }
            Err(failure) => debug!(error = %failure, "the feed is polled: LISTEN failed"),
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn subscribe(dialer: &Dialer, appended: &Arc<Notify>) -> Result<Session, Failure> {
    let session = dialer.dial(Some(appended.clone())).await?;
    session.client().batch_execute("LISTEN sluice_feed").await?;
    Ok(session)
}

/// Returns when the connection is gone.
async fn attend(session: &Session) {
    loop {
        sleep(HEARTBEAT).await;
        let alive = session.within(async { Ok(session.client().batch_execute("").await?) }).await;
        if alive.is_err() {
            return;
        }
    }
}
