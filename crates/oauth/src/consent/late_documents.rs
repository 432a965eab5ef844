//! Documents that come after the page that they were asked for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use sluice_protocol::{ClientId, Subject};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::client::Client;

/// How many documents are asked for at once for one subject: fewer than are fetched at once for all, so that some are left to others.
const AT_ONCE: usize = 32;
/// For how many subjects documents are asked for behind pages at once.
pub(super) const SUBJECTS: usize = 32;
/// For how long behind each page.
pub(super) const LATE: Duration = Duration::from_secs(10);

/// What became of the search for a client.
pub(super) type Answer = (Result<Option<Arc<Client>>, StoreError>, ClientId);

/// Pages that somebody looks at together.
pub(super) struct View<'a> {
    /// Whose consents they show.
    pub(super) subject: &'a Subject,
    /// Until when they wait for documents, all of them.
    pub(super) until: Instant,
}

/// Documents that a page did not wait for. They are asked for behind it, and at hand for the next one. Key: whose consents the page shows,
/// so that nobody keeps those of others from being asked for. Bound: `SUBJECTS`, and of each the pages of one view; what was asked for
/// behind others ends with them. It ends when this is dropped.
#[derive(Default)]
pub struct LateDocuments(Mutex<HashMap<Subject, Place>>);

/// What is asked for the consents of one subject, on pages and behind them.
struct Place {
    /// Whoever asks for a document holds one, and all of them the semaphore.
    turns: Arc<Semaphore>,
    /// Until when the pages waited behind which documents are asked for.
    until: Instant,
    /// Each of them.
    pages: JoinSet<()>,
}

impl LateDocuments {
    /// The turns of those who ask for documents for the subject of a view.
    pub(super) fn turns(&self, view: &View<'_>) -> Arc<Semaphore> {
        let mut places = self.0.lock();
        places.retain(|_, place| Arc::strong_count(&place.turns) > 1);
        if let Some(place) = places.get(view.subject) {
            return Arc::clone(&place.turns);
        }
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        if places.len() < SUBJECTS {
            let place = Place { turns: Arc::clone(&turns), until: view.until, pages: JoinSet::new() };
            places.insert(view.subject.clone(), place);
        }
        turns
    }

    /// Goes on with what a page of a view does not wait for.
    pub(super) fn wait_for<F>(&self, view: &View<'_>, mut answers: FuturesUnordered<F>)
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let mut places = self.0.lock();
        let Some(place) = places.get_mut(view.subject) else { return };
        while place.pages.try_join_next().is_some() {}
        if place.pages.is_empty() {
            place.until = view.until;
        }
        if place.until == view.until {
            // The directory keeps what comes.
            let all = async move { while answers.next().await.is_some() {} };
            place.pages.spawn(async move {
                let _ = timeout(LATE, all).await;
            });
        }
    }

    /// For how many subjects something is asked for.
    #[cfg(test)]
    pub(super) fn subjects(&self) -> usize {
        self.0.lock().values().filter(|place| Arc::strong_count(&place.turns) > 1).count()
    }

    /// Behind how many pages of a subject.
    #[cfg(test)]
    pub(super) fn pages(&self, subject: &Subject) -> usize {
        self.0.lock().get(subject).map_or(0, |place| place.pages.len())
    }
}
