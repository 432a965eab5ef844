//! Dialing: how a link comes to its connection. One attempt at a time, which goes on by itself: however far the server is, and however long it
//! takes to let somebody in, the connection is there in the end, also if those who asked for it went over another one meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::connection::Session;
use crate::dialer::{DIALLING, Dialer};
use crate::error::Failure;

/// Where a link has its session, if it has one.
#[derive(Default)]
pub(crate) struct Seat {
    session: ArcSwapOption<Session>,
    is_closed: AtomicBool,
}

impl Seat {
    /// Who has it.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.session.load_full()
    }

    /// Whether this one has it.
    pub(crate) fn has(&self, session: &Arc<Session>) -> bool {
        self.session.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, session))
    }

    /// This one has it from now on, unless it is closed.
    pub(crate) fn fill(&self, session: Arc<Session>) {
        self.session.store(Some(session));
        if self.is_closed() {
            self.session.store(None);
        }
    }

    /// Nobody has it any more, if it was this one.
    pub(crate) fn clear(&self, session: &Arc<Session>) {
        self.session.compare_and_swap(session, None);
    }

    /// Nobody has it from now on.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.session.store(None);
    }

    /// Whether that was said.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }
}

/// An attempt that came to nothing, or that is not waited for any longer.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    /// Since when.
    pub(crate) at: Instant,
    pub(crate) failure: Failure,
    /// Whether the connection of another will do meanwhile.
    pub(crate) loan_will_do: bool,
}

impl Failed {
    /// One that has just failed.
    pub(crate) fn now(failure: Failure, loan_will_do: bool) -> Self {
        Self { at: Instant::now(), failure, loan_will_do }
    }
}

/// The attempts of a link.
#[derive(Default)]
pub(crate) struct Dialing {
    /// One at most.
    under_way: JoinSet<Result<Weak<Session>, Failure>>,
    /// The last that was waited for.
    pub(crate) failed: Option<Failed>,
}

impl Dialing {
    /// Forgets an attempt that has ended, and that nobody waited for so long: what it found is in the seat.
    pub(crate) fn forget_what_ended(&mut self) {
        while self.under_way.try_join_next().is_some() {}
    }

    /// Whether there is one that nobody has heard the end of.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Begins an attempt, unless one is under way; `notified` is told when a notification arrives on its connection.
    pub(crate) fn begin(&mut self, dialer: &Arc<Dialer>, notified: Option<Arc<Notify>>, seat: &Arc<Seat>) {
        if !self.is_under_way() {
            self.under_way.spawn(dial_for(seat.clone(), dialer.clone(), notified));
        }
    }

    /// What comes of the attempt that is under way. Who does not wait for it so long may ask again.
    pub(crate) async fn outcome(&mut self) -> Result<Arc<Session>, Failure> {
        // Lost again already, or the link was closed.
        let gone = || Failure::Unopened(DIALLING);
        let ended = self.under_way.join_next().await.and_then(Result::ok);
        ended.ok_or_else(gone)??.upgrade().ok_or_else(gone)
    }
}

async fn dial_for(
    seat: Arc<Seat>,
    dialer: Arc<Dialer>,
    notified: Option<Arc<Notify>>,
) -> Result<Weak<Session>, Failure> {
    let session = Arc::new(dialer.dial(notified).await?);
    let opened = Arc::downgrade(&session);
    seat.fill(session);
    Ok(opened)
}
