//! Lenders: where PostgreSQL has no connection left, a link goes over that of another.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use crate::connection::{Link, Session};
use crate::error::Failure;

/// How often it is told that there is no connection left.
const BETWEEN_WARNINGS: Duration = Duration::from_mins(1);

/// Links that others may go over: each statement there is one by itself, so that none comes into another's transaction.
#[derive(Default)]
pub(crate) struct Lenders {
    links: Mutex<Vec<Weak<Link>>>,
    warned_at: Mutex<Option<Instant>>,
}

impl Lenders {
    /// One more.
    pub(crate) fn add(&self, link: &Arc<Link>) {
        self.links.lock().push(Arc::downgrade(link));
    }

    /// The session that the fewest use now, if there is one. That there is no other is told once a minute.
    pub(crate) fn session(&self, why: &Failure) -> Option<Arc<Session>> {
        let session = self.any()?;
        let mut warned_at = self.warned_at.lock();
        if warned_at.is_none_or(|at| at.elapsed() >= BETWEEN_WARNINGS) {
            *warned_at = Some(Instant::now());
            warn!(error = %why, "PostgreSQL has no connection left: statements share those that are open");
        }
        Some(session)
    }

    /// The session that the fewest use now.
    pub(crate) fn any(&self) -> Option<Arc<Session>> {
        let links = self.links.lock();
        let living = links.iter().filter_map(Weak::upgrade).filter_map(|link| link.living());
        // Whoever has a statement under way holds it.
        living.min_by_key(Arc::strong_count)
    }

    /// Whose session this is.
    pub(crate) fn lender(&self, session: &Arc<Session>) -> Option<Arc<Link>> {
        self.links.lock().iter().filter_map(Weak::upgrade).find(|link| link.has(session))
    }
}
