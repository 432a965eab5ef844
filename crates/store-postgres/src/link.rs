//! Links: places that hold a session at a time, dialled when it is needed, pipelined by all who share it, replaced when it is lost.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use sluice_commit::StoreError;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;

use crate::connection::{Params, Session};
use crate::dialer::{DIALLING, Dialer};
use crate::dialing::{Dialing, Failed, Seat};
use crate::error::Failure;
use crate::lenders::Lenders;
use crate::silence::Silences;
use crate::turn::Place;

/// So many callers of single statements share a link, those included whose statement is tried again, and those who left theirs: what waits behind a thousand
/// others is hardly answered in time.
const CALLERS: usize = 1_024;
/// The same of statements that write: each is a commit of its own, of which a disk may do no more than a hundred a second.
const WRITERS: usize = 256;
/// How long an attempt to open a connection is waited for before it is looked whether another will do meanwhile.
const BEFORE_A_LOAN: Duration = Duration::from_secs(1);
/// How long the failure of an attempt to open a connection is that of all who ask: each attempt looks its server up and begins a process
/// there, and a server that comes back must not find a thousand of them.
const BETWEEN_DIALS: Duration = Duration::from_millis(100);
/// The same where another connection will do meanwhile.
const BETWEEN_DIALS_WITH_A_LOAN: Duration = Duration::from_secs(1);
/// The same if it was waited for the connection in vain: each attempt keeps those waiting who could use the loan.
const BETWEEN_DIALS_IN_VAIN: Duration = Duration::from_secs(5);
/// How old a connection gets to a server that only read when it was opened, and refuses to write. Without it each attempt to write would open
/// another.
const BETWEEN_REFUSED: Duration = Duration::from_millis(250);

/// A place that holds a connection at a time, shared by all who use it.
pub(crate) struct Link {
    dialer: Arc<Dialer>,
    /// Who is told when a notification arrives.
    notified: Option<Arc<Notify>>,
    seat: Arc<Seat>,
    dialing: tokio::sync::Mutex<Dialing>,
    silences: Silences,
    callers: Arc<AtomicUsize>,
    /// How many there may be.
    places: usize,
    /// Whose connection will do while the server opens none.
    lenders: Option<Arc<Lenders>>,
}

impl Link {
    /// A link that dials at its first use.
    pub(crate) fn new(dialer: Arc<Dialer>) -> Self {
        let (seat, dialing, callers) = (Arc::default(), tokio::sync::Mutex::default(), Arc::default());
        let (notified, lenders, silences) = (None, None, Silences::default());
        Self { dialer, notified, seat, dialing, silences, callers, places: CALLERS, lenders }
    }

    /// The same: one of those that go over the connection of another while the server has none left.
    pub(crate) fn lending(dialer: Arc<Dialer>, lenders: &Arc<Lenders>) -> Arc<Self> {
        Self { lenders: Some(lenders.clone()), ..Self::new(dialer) }.lent_by(lenders)
    }

    /// The same, for those who write.
    pub(crate) fn lending_to_writers(dialer: Arc<Dialer>, lenders: &Arc<Lenders>) -> Arc<Self> {
        Self { lenders: Some(lenders.clone()), places: WRITERS, ..Self::new(dialer) }.lent_by(lenders)
    }

    fn lent_by(self, lenders: &Lenders) -> Arc<Self> {
        let link = Arc::new(self);
        lenders.add(&link);
        link
    }

    /// The same as [`Link::new`], and `notified` is told when a notification arrives. Its session is nobody else's.
    pub(crate) fn notifying(dialer: Arc<Dialer>, notified: Arc<Notify>, lenders: &Arc<Lenders>) -> Self {
        Self { notified: Some(notified), lenders: Some(lenders.clone()), ..Self::new(dialer) }
    }

    /// A place among those who run single statements here.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if there are too many.
    pub(crate) fn place(&self) -> Result<Place, StoreError> {
        Place::take(&self.callers, self.places)
    }

    /// The session, dialled anew if there is none and the link does not rest (`silence`); that of another link if the server has none left, opens
    /// none, or does not let this user in any more.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, Failure> {
        match self.own().await {
            Ok(session) => Ok(session),
            Err(failed) if failed.loan_will_do => self.lent(&failed.failure).ok_or(failed.failure),
            Err(failed) => Err(failed.failure),
        }
    }

    /// A session of this link alone. Those who ask at once, or soon after, share one attempt and its failure.
    pub(crate) async fn own_session(&self) -> Result<Arc<Session>, Failure> {
        self.own().await.map_err(|failed| failed.failure)
    }

    async fn own(&self) -> Result<Arc<Session>, Failed> {
        if let Some(session) = self.living() {
            return Ok(session);
        }
        let asked = Instant::now();
        let mut dialing = self.dialing.lock().await;
        dialing.forget_what_ended();
        if let Some(session) = self.living() {
            return Ok(session);
        }
        if self.seat.is_closed() {
            return Err(Failed::now(Failure::Closed, false));
        }
        if self.silences.is_resting() {
            return Err(Failed::now(Failure::Silent(self.dialer.patience()), false));
        }
        let is_shared =
            |failed: &&Failed| failed.at.elapsed() < self.pause_after(failed) || failed.at >= asked;
        if let Some(failed) = dialing.failed.as_ref().filter(is_shared) {
            return Err(failed.clone());
        }
        dialing.begin(&self.dialer, self.notified.clone(), &self.seat);
        let opened = self.opened(&mut dialing).await;
        dialing.failed = opened.as_ref().err().cloned();
        opened
    }

    /// What comes of the attempt that is under way. It is waited for to its end unless another connection will do.
    async fn opened(&self, dialing: &mut Dialing) -> Result<Arc<Session>, Failed> {
        let mut patience = BEFORE_A_LOAN;
        loop {
            let failure = match timeout(patience, dialing.outcome()).await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(failure)) => failure,
                Err(_) => Failure::Unopened(patience),
            };
            if let Some(session) = self.taken_over(&failure).await {
                return Ok(session);
            }
            let loan_will_do = self.may_borrow(&failure).await;
            if loan_will_do || !dialing.is_under_way() {
                return Err(Failed::now(failure, loan_will_do));
            }
            patience = DIALLING;
        }
    }

    /// Whether another connection is as good as the one that could not be opened: it is not where nothing is heard of the server, either.
    async fn may_borrow(&self, failure: &Failure) -> bool {
        let Some(lenders) = &self.lenders else { return false };
        failure.opens_no_other()
            || (matches!(failure, Failure::Unopened(_)) && lenders.is_any_answered().await)
    }

    /// The session of another link, for want of one.
    fn lent(&self, why: &Failure) -> Option<Arc<Session>> {
        self.lenders.as_ref()?.session(why)
    }

    fn another(&self) -> Option<Arc<Session>> {
        self.lenders.as_ref()?.any()
    }

    /// The session of one that keeps it to itself and does not use it, where no other can be had: it is this link's from then on.
    async fn taken_over(&self, why: &Failure) -> Option<Arc<Session>> {
        let is_in_need = why.opens_no_other() || matches!(why, Failure::Unopened(_));
        // One on which notifications are to arrive is opened for that.
        let lenders = self.lenders.as_ref().filter(|_| is_in_need && self.notified.is_none())?;
        if lenders.any().is_some() {
            return None;
        }
        let session = lenders.spare(why).await?;
        self.seat.fill(session.clone());
        Some(session)
    }

    /// How long such a failure is that of all who ask.
    fn pause_after(&self, failed: &Failed) -> Duration {
        match failed.failure {
            _ if !failed.loan_will_do || self.another().is_none() => BETWEEN_DIALS,
            Failure::Unopened(_) => BETWEEN_DIALS_IN_VAIN,
            _ => BETWEEN_DIALS_WITH_A_LOAN,
        }
    }

    /// Looks for a server that writes, since that of this session only reads. The session stays unless there is one.
    pub(crate) async fn look_elsewhere(&self, session: &Arc<Session>) {
        if !self.dialer.wants_a_primary() {
            return;
        }
        session.note_that_it_only_reads();
        let _dialing = self.dialing.lock().await;
        let found = self.dialer.dial(self.notified.clone()).await.ok();
        // It may be the same server, where it was the role or the database that let nothing be written.
        let is_better =
            |found: &Session| !found.is_left() && (session.is_left() || !found.only_read_at_first());
        if let Some(found) = found.filter(is_better) {
            self.seat.fill(Arc::new(found));
        }
    }

    /// The same if its session is not to the server of this one, which writes, and only reads.
    pub(crate) async fn follow(&self, leader: &Session) {
        if !self.dialer.wants_a_primary() {
            return;
        }
        let Some(session) = self.living().filter(|session| !session.is_to_the_server_of(leader)) else {
            return;
        };
        if matches!(session.only_reads().await, Ok(true)) {
            self.look_elsewhere(&session).await;
        }
    }

    /// How many times the node has moved to another server.
    pub(crate) fn moves(&self) -> u64 {
        self.dialer.servers().moves()
    }

    /// Whether it has a session.
    pub(crate) fn is_open(&self) -> bool {
        self.living().is_some()
    }

    /// Whether somebody uses its session now, if it has one. Whoever has a statement under way there holds it; besides the seat does, and who
    /// waits for notifications.
    pub(crate) fn is_busy(&self) -> Option<bool> {
        let session = self.living()?;
        let others = 2 + usize::from(self.notified.is_some());
        Some(Arc::strong_count(&session) > others)
    }

    /// How many attempts to open a connection have come to nothing, of all links of the node.
    pub(crate) fn failed_dials(&self) -> u64 {
        self.dialer.failed_total()
    }

    /// Runs one statement, once. A session that is lost by it is given up.
    pub(crate) async fn query(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, Failure> {
        let session = self.session().await?;
        self.query_on(&session, sql, params).await
    }

    /// The same over a session of this link.
    pub(crate) async fn query_on(
        &self,
        session: &Arc<Session>,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let answer = session.query(sql, params).await;
        answer.inspect_err(|failure| self.note(session, failure))
    }

    /// Wakes the readers of the feed, here and on other nodes, if there is a session.
    pub(crate) fn wake_readers(&self) {
        if let Some(session) = self.living().or_else(|| self.another()) {
            session.wake_readers();
        }
    }

    /// Gives the session up, also that of another link, if this failure means that it is lost.
    pub(crate) fn note(&self, session: &Arc<Session>, failure: &Failure) {
        if !failure.ends_session() {
            return;
        }
        match self.lenders.as_ref().filter(|_| !self.has(session)).and_then(|lenders| lenders.lender(session))
        {
            Some(lender) => lender.give_up(session, failure),
            None => self.give_up(session, failure),
        }
    }

    fn give_up(&self, session: &Arc<Session>, failure: &Failure) {
        if failure.is_refusal_to_write() && self.was_just_opened_to_read(session) {
            session.note_refused();
            return;
        }
        if !session.note_lost() {
            return;
        }
        if failure.is_refusal_to_write() {
            session.note_that_it_only_reads();
        }
        let is_silent = matches!(failure, Failure::Silent(_)) && !session.is_left();
        if is_silent && !self.seat.is_closed() {
            self.silences.add(session);
        } else {
            session.give_up();
        }
        self.part_with(session);
    }

    /// Whether another session would only read, too: this one was opened a moment ago, to the best server that there was. Who is content with any
    /// server may come to another one each time.
    fn was_just_opened_to_read(&self, session: &Session) -> bool {
        self.dialer.wants_a_primary() && session.only_read_at_first() && session.age() < BETWEEN_REFUSED
    }

    /// Ends the link; what is under way is finished.
    pub(crate) fn close(&self) {
        self.seat.close();
        self.silences.end();
        if let Ok(mut dialing) = self.dialing.try_lock() {
            *dialing = Dialing::default();
        }
    }

    /// Whether this is its session.
    pub(crate) fn has(&self, session: &Arc<Session>) -> bool {
        self.seat.has(session)
    }

    /// Leaves its session, if it is this one, to whoever else holds it.
    pub(crate) fn part_with(&self, session: &Arc<Session>) {
        self.seat.clear(session);
    }

    /// Its session, if it has one, and the node has not moved since. One that refused to write is over by itself: who tries seldom would else
    /// be refused on it once more after the server writes again.
    pub(crate) fn living(&self) -> Option<Arc<Session>> {
        let session = self.seat.session().filter(|session| !session.is_closed())?;
        let is_over = session.was_refused() && session.age() >= BETWEEN_REFUSED;
        if session.is_left() || is_over {
            // What is under way there is answered.
            self.part_with(&session);
            return None;
        }
        Some(session)
    }
}
