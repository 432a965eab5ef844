//! How many connections the listeners of an address serve at once, and what is said when they are as many as they may be.

use std::pin::pin;
use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::seldom::{SAY_EVERY, Seldom};

/// The places of the listeners of an address; made when the first of them is served.
pub(super) type SharedPlaces = Arc<OnceLock<Arc<Places>>>;

/// How many connections the listeners of an address serve. Clones tell of the same.
#[derive(Debug, Clone, Default)]
pub struct ConnectionCount(SharedPlaces);

impl ConnectionCount {
    /// Of these places.
    pub(super) fn of(places: &SharedPlaces) -> Self {
        Self(Arc::clone(places))
    }

    /// Connections that are served now: none before the first listener is.
    pub fn served(&self) -> usize {
        self.0.get().map_or(0, |places| places.taken())
    }
}

/// The place of a connection, given back as it is dropped.
pub(super) type Place = OwnedSemaphorePermit;

/// Places for connections.
#[derive(Debug)]
pub(super) struct Places {
    /// Whose they are, for the log.
    listener: String,
    most: usize,
    free: Arc<Semaphore>,
    /// That there are none.
    said: Seldom,
}

impl Places {
    pub(super) fn new(listener: String, most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self { listener, most, free: Arc::new(Semaphore::new(most)), said: Seldom::new() }
    }

    /// Whether all are taken.
    pub(super) fn is_full(&self) -> bool {
        self.free.available_permits() == 0
    }

    fn taken(&self) -> usize {
        self.most.saturating_sub(self.free.available_permits())
    }

    /// A place, when there is one; while there is none, that is said now and then. `None`: never, they were closed.
    pub(super) async fn take(&self) -> Option<Place> {
        if let Ok(place) = Arc::clone(&self.free).try_acquire_owned() {
            return Some(place);
        }
        let mut waiting = pin!(Arc::clone(&self.free).acquire_owned());
        loop {
            self.say_full();
            if let Ok(place) = timeout(SAY_EVERY, waiting.as_mut()).await {
                return place.ok();
            }
        }
    }

    fn say_full(&self) {
        if self.said.is_due(Instant::now()) {
            warn!(
                listener = self.listener.as_str(),
                limit = self.most,
                "all connections that a listener may have are taken: more wait"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_taken_is_counted_until_it_is_given_back() {
        let shared = SharedPlaces::default();
        let count = ConnectionCount::of(&shared);
        assert_eq!(count.served(), 0, "before the listener is served");
        let places = shared.get_or_init(|| Arc::new(Places::new("public".to_owned(), 2)));
        let (first, second) = (places.take().await.unwrap(), places.take().await.unwrap());
        assert_eq!((count.served(), places.is_full()), (2, true));
        drop(first);
        assert_eq!((count.served(), places.is_full()), (1, false));
        drop(second);
        assert_eq!(count.served(), 0);
    }
}
