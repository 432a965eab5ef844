//! Listener: a connection of its own that hears of appends on other nodes. Without it readers poll.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::connection::{Dialer, Session};
use crate::error::Failure;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often an idle connection is asked whether it is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The listening task and whom it wakes.
pub(crate) struct Listener {
    appended: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Starts to listen.
    pub(crate) fn start(dialer: Arc<Dialer>) -> Self {
        let appended = Arc::new(Notify::new());
        let task = tokio::spawn(listen(dialer, appended.clone()));
        Self { appended, task }
    }

    /// Returns when something was appended, at the latest after `longest`.
    pub(crate) async fn wait(&self, longest: Duration) {
        // Late or in time, the reader reads.
        let _ = timeout(longest, self.appended.notified()).await;
    }

    /// Stops listening.
    pub(crate) fn stop(&self) {
        self.task.abort();
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
