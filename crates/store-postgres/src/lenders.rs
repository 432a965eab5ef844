//! Lenders: where PostgreSQL has no connection left, opens none, or does not let this user in any more, a link goes over that of another.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use crate::connection::Session;
use crate::error::Failure;
use crate::link::Link;
use crate::serial::SharedCommits;

/// How often it is told that connections are shared.
const BETWEEN_WARNINGS: Duration = Duration::from_mins(1);

/// Links that others may go over: each statement there is one by itself, so that none comes into another's transaction.
#[derive(Default)]
pub(crate) struct Lenders {
    links: Mutex<Vec<Weak<Link>>>,
    /// The link of the transactions, which nobody else may go over, and who uses it.
    serial: OnceLock<(Weak<Link>, SharedCommits)>,
    warned_at: Mutex<Option<Instant>>,
}

impl Lenders {
    /// One more.
    pub(crate) fn add(&self, link: &Arc<Link>) {
        self.links.lock().push(Arc::downgrade(link));
    }

    /// One who lends nothing, and gives its connection away, if it does not use it, where there is no other.
    pub(crate) fn add_serial(&self, link: &Arc<Link>, shared: &SharedCommits) {
        self.serial.get_or_init(|| (Arc::downgrade(link), shared.clone()));
    }

    /// The session that the fewest use now, if there is one. Why there is no other is told once a minute.
    pub(crate) fn session(&self, why: &Failure) -> Option<Arc<Session>> {
        let session = self.any()?;
        self.tell(why);
        Some(session)
    }

    /// The session of who lends nothing, if it is not used now, and the server is there. It is not theirs any more.
    pub(crate) async fn spare(&self, why: &Failure) -> Option<Arc<Session>> {
        let (link, shared) = self.serial.get()?;
        let (link, _unused) = (link.upgrade()?, shared.at_once()?);
        let session = link.living()?;
        if !session.is_answered().await {
            return None;
        }
        link.part_with(&session);
        self.tell(why);
        Some(session)
    }

    fn tell(&self, why: &Failure) {
        let mut warned_at = self.warned_at.lock();
        if warned_at.is_some_and(|at| at.elapsed() < BETWEEN_WARNINGS) {
            return;
        }
        *warned_at = Some(Instant::now());
        if why.is_for_want_of_connections() {
            warn!(error = %why, "PostgreSQL has no connection left: statements share those that are open");
        } else if why.is_wrong_password() {
            warn!(error = %why, "PostgreSQL does not let this user in any more: statements share the connections that are open");
        } else {
            warn!(error = %why, "no new connection to PostgreSQL opens: statements share those that are open");
        }
    }

    /// The session that the fewest use now.
    pub(crate) fn any(&self) -> Option<Arc<Session>> {
        // Whoever has a statement under way holds it.
        self.living().into_iter().min_by_key(Arc::strong_count)
    }

    /// Whether one of them is answered: the server is there.
    pub(crate) async fn is_any_answered(&self) -> bool {
        let sessions = self.living();
        let mut asked: FuturesUnordered<_> = sessions.iter().map(|session| session.is_answered()).collect();
        while let Some(is_answered) = asked.next().await {
            if is_answered {
                return true;
            }
        }
        false
    }

    /// Looks for a server that writes where a connection is not to that of this session, and its own only reads.
    pub(crate) async fn follow(&self, leader: &Session) {
        // One after the other: once the first has found it, the others are left behind, and are opened anew when they are needed.
        for link in self.links() {
            link.follow(leader).await;
        }
    }

    /// Whose session this is.
    pub(crate) fn lender(&self, session: &Arc<Session>) -> Option<Arc<Link>> {
        self.links().into_iter().find(|link| link.has(session))
    }

    fn living(&self) -> Vec<Arc<Session>> {
        self.links().iter().filter_map(|link| link.living()).collect()
    }

    fn links(&self) -> Vec<Arc<Link>> {
        self.links.lock().iter().filter_map(Weak::upgrade).collect()
    }
}
