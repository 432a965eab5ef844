//! Listener: a connection for the feed alone. It hears of appends on other nodes, and if it does not, readers poll; what they read comes
//! over it as well, so that they wait behind nobody. Who reads no feed, as a worker, has none.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::connection::Session;
use crate::dialer::Dialer;
use crate::error::Failure;
use crate::lenders::Lenders;
use crate::link::Link;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often it is asked whether the connection is still there, and whether its server is still one that writes. Who only reads would not notice
/// otherwise that it was left, and nothing that is revoked elsewhere would be heard of.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How often it is looked for a server that writes, and how long after each other, before that happens as rarely as the heartbeat is asked for:
/// an address may lead to one and to the other in turns. It is asked as soon again, too, where another process of the server answered.
const QUICK_LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The connection, the listening task, once somebody waits, and whom it wakes.
pub(crate) struct Listener {
    link: Arc<Link>,
    lenders: Arc<Lenders>,
    appended: Arc<Notify>,
    /// None if it was stopped before it began.
    task: OnceLock<Option<AbortHandle>>,
}

impl Listener {
    /// A listener that begins when somebody waits for the first time.
    pub(crate) fn new(dialer: Arc<Dialer>, lenders: &Arc<Lenders>) -> Self {
        let appended = Arc::new(Notify::new());
        let link = Arc::new(Link::notifying(dialer, appended.clone(), lenders));
        Self { link, lenders: lenders.clone(), appended, task: OnceLock::new() }
    }

    /// The connection, for what is read of the feed.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Returns when something was appended, at the latest after `longest`.
    pub(crate) async fn wait(&self, longest: Duration) {
        self.task.get_or_init(|| {
            let connections = (self.link.clone(), self.lenders.clone());
            let listening = tokio::spawn(listen(connections, self.appended.clone()));
            Some(listening.abort_handle())
        });
        // Late or in time, the reader reads.
        let _ = timeout(longest, self.appended.notified()).await;
    }

    /// Stops listening, and closes the connection.
    pub(crate) fn stop(&self) {
        if let Some(task) = self.task.get_or_init(|| None) {
            task.abort();
        }
        self.link.close();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn listen((link, lenders): (Arc<Link>, Arc<Lenders>), appended: Arc<Notify>) {
    let mut pause = FIRST_PAUSE;
    loop {
        match subscribe(&link).await {
            Ok(session) => {
                pause = FIRST_PAUSE;
                appended.notify_one(); // what was appended while nobody listened
                attend(&link, &lenders, &session).await;
            }
            Err(failure) => debug!(error = %failure, "the feed is polled: LISTEN failed"),
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn subscribe(link: &Link) -> Result<Arc<Session>, Failure> {
    let session = link.own_session().await?;
    session.within(async { Ok(session.client().batch_execute("LISTEN sluice_feed").await?) }).await?;
    Ok(session)
}

/// Returns when the link has another connection, or this one is gone, or so slow that it may be: to listen twice does no harm. Others may have
/// been opened to a server that was met before, while the way led there for a moment.
async fn attend(link: &Link, lenders: &Lenders, session: &Arc<Session>) {
    let (mut pause, mut looks) = (HEARTBEAT, 0);
    while link.has(session) {
        sleep(pause).await;
        pause = HEARTBEAT;
        match session.only_reads().await {
            Ok(true) => {
                link.look_elsewhere(session).await;
                looks += 1;
                if looks < QUICK_LOOKS {
                    pause = BETWEEN_LOOKS;
                }
            }
            Ok(false) => {
                looks = 0;
                lenders.follow(session).await;
            }
            Err(failure @ Failure::Moved) => return link.note(session, &failure),
            Err(failure) if failure.ends_session() => return,
            Err(failure) => debug!(error = %failure, "the server does not say whether it only reads"),
        }
        if session.is_doubtful() {
            pause = BETWEEN_LOOKS;
        }
    }
}
