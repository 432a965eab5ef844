//! Connections: dialled when needed, pipelined by all who share one, replaced when lost.
//!
//! [`Dialer`] knows the way, [`Session`] is one connection with its prepared statements, [`Link`] is a place that holds
//! a session at a time. Who retries is not decided here: see `retry`, `serial` and the commit queues.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::FutureExt;
use parking_lot::Mutex;
use sluice_commit::StoreError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::ToSql;
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, NoTls, Row, SimpleQueryMessage, Socket, Statement,
};
use tokio_postgres_rustls::MakeRustlsConnect;
use tracing::debug;

use crate::dsn::Address;
use crate::error::Failure;
use crate::lenders::Lenders;
use crate::silence::Silences;
use crate::turn::Place;

/// Values for the placeholders of a statement.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Plans are made once per connection and must suit tables of any size: indexes, always. An engine that does not know
/// these settings does without.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off";
/// Whether the server is a standby. Asked instead of whether it only reads: so does one whose disk is full, and it is the one to ask.
const STANDBY: &str = "SELECT pg_is_in_recovery()";
/// Wakes the feed readers of other nodes. Not part of a transaction: an engine without it loses nothing but time.
const WAKE: &str = "NOTIFY sluice_feed";
/// How much longer the client waits than the server, so that the server's own, definite "cancelled" arrives first.
const GRACE: Duration = Duration::from_secs(1);
/// So many callers of single statements share a link, those included whose statement is tried again, and those who left theirs: what waits behind a thousand
/// others is hardly answered in time.
const CALLERS: usize = 1_024;
/// How long opening a connection may take, whichever of the servers it is to.
const DIALLING: Duration = Duration::from_secs(5);
/// How long the failure of an attempt to open a connection is that of all who ask: each attempt looks its server up and begins a process
/// there, and a server that comes back must not find a thousand of them.
const BETWEEN_DIALS: Duration = Duration::from_millis(100);
/// The same where another connection will do meanwhile.
const BETWEEN_DIALS_WITH_A_LOAN: Duration = Duration::from_secs(1);

/// Opens connections.
pub(crate) struct Dialer {
    address: Address,
    tls: Option<MakeRustlsConnect>,
    patience: Duration,
    /// Whose turn it is among the servers: the one that answered, or the one behind the last that did not.
    turn: AtomicUsize,
}

impl Dialer {
    /// A dialer whose connections are given up if an answer takes longer than `patience`.
    pub(crate) const fn new(address: Address, tls: Option<MakeRustlsConnect>, patience: Duration) -> Self {
        Self { address, tls, patience, turn: AtomicUsize::new(0) }
    }

    /// Opens a connection; `notified` is told when a notification arrives on it.
    pub(crate) async fn dial(&self, notified: Option<Arc<Notify>>) -> Result<Session, Failure> {
        if let Ok(session) = timeout(DIALLING, self.open_one(notified)).await {
            return session;
        }
        self.turn.fetch_add(1, Ordering::Relaxed);
        Err(Failure::Silent(DIALLING))
    }

    /// Opens a connection to one of the servers: the one that had the last turn, or one behind it.
    async fn open_one(&self, notified: Option<Arc<Notify>>) -> Result<Session, Failure> {
        let servers = &self.address.servers;
        let first = self.turn.load(Ordering::Relaxed);
        let mut failure = Failure::Closed;
        for turn in (0..servers.len()).map(|ahead| first.wrapping_add(ahead)) {
            self.turn.store(turn, Ordering::Relaxed);
            let Some(server) = turn.checked_rem(servers.len()).and_then(|place| servers.get(place)) else {
                break;
            };
            match self.open_in_time(server, notified.clone()).await {
                Ok(session) => return Ok(session),
                // What keeps the primary from being used is told, and not that others are standbys.
                Err(_) if failure.is_for_want_of_connections() => {}
                Err(other) => failure = other,
            }
        }
        self.turn.fetch_add(1, Ordering::Relaxed);
        Err(failure)
    }

    /// Waits for one of several servers no longer than the others can bear; for the only one as long as may be.
    async fn open_in_time(&self, server: &Config, notified: Option<Arc<Notify>>) -> Result<Session, Failure> {
        let opening = self.open(server, notified);
        match server.get_connect_timeout().filter(|_| self.address.servers.len() > 1) {
            None => opening.await,
            Some(patience) => timeout(*patience, opening).await.unwrap_or(Err(Failure::Silent(*patience))),
        }
    }

    async fn open(&self, server: &Config, notified: Option<Arc<Notify>>) -> Result<Session, Failure> {
        let session = match &self.tls {
            Some(tls) => self.open_with(tls.clone(), server, notified).await?,
            None => self.open_with(NoTls, server, notified).await?,
        };
        let (client, settings) = (session.client(), self.settings());
        // One round trip: all of it is sent by the first poll of each.
        let (set, standby, planned) = tokio::join!(
            biased;
            client.batch_execute(&settings),
            client.simple_query(STANDBY),
            client.batch_execute(PLANS),
        );
        set?;
        if let Err(cause) = planned {
            debug!(error = %cause, "the server does not know the planner settings");
        }
        if !self.address.standby_will_do && standby.is_ok_and(|answer| is_yes(&answer)) {
            return Err(Failure::Standby);
        }
        Ok(session)
    }

    /// What statements rely on, whatever the server, the database or the role says: when they are given up, and a transaction whose rest
    /// was lost on its way, with the locks that it holds; and that each sees what was committed before it, also within a transaction, where
    /// it may have waited for a lock.
    fn settings(&self) -> String {
        let patience = self.patience.as_millis();
        format!(
            "SET statement_timeout = {patience}; SET idle_in_transaction_session_timeout = {patience}; \
             SET default_transaction_isolation = 'read committed'"
        )
    }

    async fn open_with<T>(
        &self,
        tls: T,
        server: &Config,
        notified: Option<Arc<Notify>>,
    ) -> Result<Session, Failure>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let (client, connection) = server.connect(tls).await?;
        let driver = tokio::spawn(drive(connection, notified)).abort_handle();
        let statements = Mutex::new(HashMap::new());
        let (opened_at, heard_at) = (Instant::now(), AtomicU64::new(0));
        let (patience, is_noted) = (self.patience + GRACE, AtomicBool::new(false));
        Ok(Session { client, statements, driver, patience, opened_at, heard_at, is_noted })
    }
}

/// Whether the one row of an answer says yes.
fn is_yes(answer: &[SimpleQueryMessage]) -> bool {
    answer.iter().any(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).is_ok_and(|said| said == Some("t")),
        _ => false,
    })
}

/// Moves bytes until the connection ends.
async fn drive<S>(mut connection: Connection<Socket, S>, notified: Option<Arc<Notify>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(_))) => {
                if let Some(notified) = &notified {
                    notified.notify_one();
                }
            }
            Some(Ok(_)) => {}
            Some(Err(cause)) => {
                debug!(error = %cause, "a connection to PostgreSQL ended");
                return;
            }
            None => return,
        }
    }
}

/// One connection. When the last holder drops it, it says goodbye after what is under way.
pub(crate) struct Session {
    client: Client,
    /// By the address of the SQL text, which is a constant.
    statements: Mutex<HashMap<usize, Statement>>,
    driver: AbortHandle,
    patience: Duration,
    opened_at: Instant,
    /// When a statement was answered last, in milliseconds after the opening.
    heard_at: AtomicU64,
    /// Whether its link knows already that it is lost.
    is_noted: AtomicBool,
}

impl Session {
    /// The driver's client, for what is no prepared statement.
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.driver.is_finished()
    }

    /// Wakes the readers of the feed, here and on other nodes. Nobody waits for that: what they are to read is written, and who does not hear
    /// of it loses nothing but time.
    pub(crate) fn wake_readers(&self) {
        // The first poll sends it.
        drop(self.client.batch_execute(WAKE).now_or_never());
    }

    /// Waits no longer than its patience for `answer`: of who has the connection alone.
    pub(crate) async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        timeout(self.patience, answer).await.unwrap_or(Err(Failure::Silent(self.patience)))
    }

    /// The statement of a constant SQL text, prepared at its first use.
    pub(crate) async fn prepared(&self, sql: &'static str) -> Result<Statement, Failure> {
        let place = sql.as_ptr().addr();
        if let Some(known) = self.statements.lock().get(&place) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.lock().insert(place, statement.clone());
        Ok(statement)
    }

    /// Runs one statement. Concurrent calls are pipelined in the order of their first poll; who waits behind others that are answered waits
    /// in vain at worst, but does not take the connection for dead.
    pub(crate) async fn query(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, Failure> {
        match timeout(self.patience, self.ask(sql, params)).await {
            Ok(answer) => {
                self.hear();
                answer
            }
            Err(_) if self.is_silent() => Err(Failure::Silent(self.patience)),
            Err(_) => Err(Failure::Late(self.patience)),
        }
    }

    async fn ask(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, Failure> {
        let statement = self.prepared(sql).await?;
        Ok(self.client.query(&statement, params).await?)
    }

    /// Returns when all that was sent before is answered.
    ///
    /// # Errors
    /// [`Failure::Silent`] when nothing is answered any more.
    pub(crate) async fn caught_up(&self) -> Result<(), Failure> {
        let mut answered = pin!(self.client.batch_execute(""));
        while timeout(self.patience, answered.as_mut()).await.is_err() {
            if self.is_silent() {
                return Err(Failure::Silent(self.patience));
            }
        }
        self.hear();
        Ok(())
    }

    /// Something was answered.
    fn hear(&self) {
        let age = u64::try_from(self.age().as_millis()).unwrap_or(u64::MAX);
        self.heard_at.fetch_max(age, Ordering::Relaxed);
    }

    /// Whether nobody was answered for as long as anybody waits.
    fn is_silent(&self) -> bool {
        let heard = Duration::from_millis(self.heard_at.load(Ordering::Relaxed));
        self.age().saturating_sub(heard) >= self.patience
    }

    /// How long ago it was opened.
    pub(crate) fn age(&self) -> Duration {
        self.opened_at.elapsed()
    }

    /// Ends the connection, whatever is under way.
    pub(crate) fn give_up(&self) {
        self.driver.abort();
    }
}

/// A place that holds a connection at a time, shared by all who use it.
pub(crate) struct Link {
    dialer: Arc<Dialer>,
    /// Who is told when a notification arrives.
    notified: Option<Arc<Notify>>,
    current: ArcSwapOption<Session>,
    dialing: tokio::sync::Mutex<Option<(Instant, Failure)>>,
    silences: Silences,
    closed: AtomicBool,
    callers: Arc<AtomicUsize>,
    /// Whose connection will do while the server has none left.
    lenders: Option<Arc<Lenders>>,
}

impl Link {
    /// A link that dials at its first use.
    pub(crate) fn new(dialer: Arc<Dialer>) -> Self {
        let (current, dialing) = (ArcSwapOption::empty(), tokio::sync::Mutex::default());
        let (closed, callers) = (AtomicBool::new(false), Arc::default());
        let (notified, lenders, silences) = (None, None, Silences::default());
        Self { dialer, notified, current, dialing, silences, closed, callers, lenders }
    }

    /// The same: one of those that go over the connection of another while the server has none left.
    pub(crate) fn lending(dialer: Arc<Dialer>, lenders: &Arc<Lenders>) -> Arc<Self> {
        let link = Arc::new(Self { lenders: Some(lenders.clone()), ..Self::new(dialer) });
        lenders.add(&link);
        link
    }

    /// The same, and `notified` is told when a notification arrives. Its session is nobody else's.
    pub(crate) fn notifying(dialer: Arc<Dialer>, notified: Arc<Notify>, lenders: &Arc<Lenders>) -> Self {
        Self { notified: Some(notified), lenders: Some(lenders.clone()), ..Self::new(dialer) }
    }

    /// A place among those who run single statements here.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if there are too many.
    pub(crate) fn place(&self) -> Result<Place, StoreError> {
        Place::take(&self.callers, CALLERS)
    }

    /// The session, dialled anew if there is none and the link does not rest (`silence`); that of another link if the server has none left.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, Failure> {
        self.own_session().await.or_else(|failure| {
            if !failure.is_for_want_of_connections() {
                return Err(failure);
            }
            self.lent(&failure).ok_or(failure)
        })
    }

    /// The session of another link, for want of one.
    fn lent(&self, why: &Failure) -> Option<Arc<Session>> {
        self.lenders.as_ref()?.session(why)
    }

    fn another(&self) -> Option<Arc<Session>> {
        self.lenders.as_ref()?.any()
    }

    /// A session of this link alone. Those who ask at once, or soon after, share one attempt and its failure.
    pub(crate) async fn own_session(&self) -> Result<Arc<Session>, Failure> {
        if let Some(session) = self.living() {
            return Ok(session);
        }
        let asked = Instant::now();
        let mut last = self.dialing.lock().await;
        if let Some(session) = self.living() {
            return Ok(session);
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(Failure::Closed);
        }
        if self.silences.is_resting() {
            return Err(Failure::Silent(self.dialer.patience + GRACE));
        }
        let is_shared = |(at, failure): &&(Instant, Failure)| {
            let has_loan = failure.is_for_want_of_connections() && self.another().is_some();
            at.elapsed() < if has_loan { BETWEEN_DIALS_WITH_A_LOAN } else { BETWEEN_DIALS } || *at >= asked
        };
        if let Some((_, failure)) = last.as_ref().filter(is_shared) {
            return Err(failure.clone());
        }
        match self.dialer.dial(self.notified.clone()).await {
            Ok(session) => {
                let session = Arc::new(session);
                self.current.store(Some(session.clone()));
                Ok(session)
            }
            Err(failure) => {
                *last = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    /// Whether it has a session.
    pub(crate) fn is_open(&self) -> bool {
        self.living().is_some()
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
        if session.is_noted.swap(true, Ordering::AcqRel) {
            return;
        }
        if matches!(failure, Failure::Silent(_)) && !self.closed.load(Ordering::Acquire) {
            self.silences.add(session);
        } else {
            session.give_up();
        }
        if self.has(session) {
            self.current.compare_and_swap(session, None);
        }
    }

    /// Ends the link; what is under way is finished.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.silences.end();
        self.current.store(None);
    }

    /// Whether this is its session.
    pub(crate) fn has(&self, session: &Arc<Session>) -> bool {
        self.current.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, session))
    }

    /// Its session, if it has one.
    pub(crate) fn living(&self) -> Option<Arc<Session>> {
        self.current.load_full().filter(|session| !session.is_closed())
    }
}
