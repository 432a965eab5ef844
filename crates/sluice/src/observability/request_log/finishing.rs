//! Requests whose client went away. What may change something is worked on to its end all the same: what follows a write, be it
//! an audit line, a marker, a mail or the punishment of a thief, must not depend on who is still listening.
//!
//! What has written nothing yet and waits for a slow hash may give up instead ([`hash_pool::unheard`]): else those who leave and try
//! again at once would have all hashes computed for nobody.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request};
use sluice_crypto::hash_pool;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tracing::error;

use super::Within;

/// How many requests of clients that went away a node works on at once. What is beyond ends where it stands.
const AT_ONCE: usize = 1_024;
/// Where a `GET` writes, too: the legs of a flow.
const LEGS: [&str; 3] = ["/oauth2/auth", "/oauth2/device", "/oauth2/sessions/logout"];

/// Works on what others began. Clones share the bound.
#[derive(Clone)]
pub(crate) struct Finishing {
    tasks: TaskTracker,
    places: Arc<Semaphore>,
}

impl Finishing {
    /// Its work counts among these tasks: whoever waits for them waits for it.
    pub(crate) fn new(tasks: TaskTracker) -> Self {
        Self::of_at_most(AT_ONCE, tasks)
    }

    pub(super) fn of_at_most(places: usize, tasks: TaskTracker) -> Self {
        Self { tasks, places: Arc::new(Semaphore::new(places)) }
    }

    /// Goes on with `inner`, if there is a place.
    pub(super) fn finish<F>(&self, inner: F, within: Within)
    where
        F: Future<Output: Send> + Send + Unpin + 'static,
    {
        let Ok(runtime) = Handle::try_current() else { return };
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        let rest = Rest { inner, within };
        let work = async move {
            rest.await;
            drop(place);
        };
        self.tasks.spawn_on(work, &runtime);
    }
}

/// Whether a request may change something.
pub(super) fn may_write<B>(request: &Request<B>) -> bool {
    match *request.method() {
        Method::GET | Method::HEAD => LEGS.iter().any(|leg| request.uri().path().starts_with(leg)),
        Method::OPTIONS | Method::TRACE => false,
        _ => true,
    }
}

/// What is left of a request. Nobody hears its answer.
struct Rest<F> {
    inner: F,
    within: Within,
}

impl<F: Future + Unpin> Future for Rest<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { inner, within } = self.get_mut();
        within.run(|| hash_pool::unheard(|| Pin::new(inner).poll(cx))).map(drop)
    }
}

impl<F> Drop for Rest<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // It was counted when its client left.
            self.within.run(|| error!("request panicked after its client had left"));
        }
    }
}
