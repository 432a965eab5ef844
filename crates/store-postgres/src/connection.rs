//! Sessions: one connection each, with its prepared statements. `dialer` opens them, and `link` is a place that holds one at a time. Who retries
//! is not decided here: see `retry`, `serial` and the commit queues.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Connection, Row, SimpleQueryMessage, Socket, Statement};
use tracing::debug;

use crate::error::{Failure, describe};
use crate::servers::{Server, Servers};

/// Values for the placeholders of a statement.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Whether the server only reads, for now or as a standby.
pub(crate) const ONLY_READS: &str = "SHOW transaction_read_only";
/// Which process of the server answers. Not of a statement that is prepared: that stays where it was.
pub(crate) const BACKEND: &str = "SELECT pg_backend_pid()";
/// Wakes the feed readers of other nodes. Not part of a transaction: an engine without it loses nothing but time.
const WAKE: &str = "NOTIFY sluice_feed";
/// How long it is waited for the answer to nothing.
const MOMENT: Duration = Duration::from_secs(1);

/// Whether the one row of an answer says yes.
pub(crate) fn is_yes(answer: &[SimpleQueryMessage]) -> bool {
    first(answer) == Some("t")
}

/// What the one row of an answer says first.
pub(crate) fn first(answer: &[SimpleQueryMessage]) -> Option<&str> {
    answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten(),
        _ => None,
    })
}

/// The process that an answer to [`BACKEND`] names. There are engines that say 0 or -1 to all.
pub(crate) fn backend(answer: &[SimpleQueryMessage]) -> Option<i32> {
    named(first(answer)?)
}

fn named(process: &str) -> Option<i32> {
    process.parse::<i32>().ok().filter(|process| *process > 0)
}

/// Which process of the server answered the last time, if that was another than at first; 0 if it was not.
#[derive(Default)]
struct Doubt(AtomicI32);

impl Doubt {
    /// What it means that this process answers where that of `first` did at first.
    ///
    /// # Errors
    /// [`Failure::Moved`] where the other process has come to stay: what stands between has lost its own connection, and made it anew, so that nothing
    /// is there that was prepared. [`Failure::Pooled`] where it changes once more.
    fn settle(&self, first: i32, process: i32) -> Result<(), Failure> {
        match self.0.load(Ordering::Acquire) {
            0 if process == first => Ok(()),
            0 => {
                self.0.store(process, Ordering::Release);
                Ok(())
            }
            other if other == process => Err(Failure::Moved),
            _ => Err(Failure::Pooled),
        }
    }

    fn is_there(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }
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
                debug!(error = describe(&cause), "a connection to PostgreSQL ended");
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
    /// Whether a write was refused on it, and it was kept.
    is_refused: AtomicBool,
    /// All that the node has met, and the one at the other end.
    servers: Arc<Servers>,
    server: Server,
    /// The process of the server that answered first. None of an engine that does not say it.
    backend: Option<i32>,
    doubt: Doubt,
    /// How many times the node had moved when it was opened.
    moves: u64,
}

impl Session {
    /// One over a new connection; `notified` is told when a notification arrives on it.
    pub(crate) fn begin<S>(
        (client, connection): (Client, Connection<Socket, S>),
        notified: Option<Arc<Notify>>,
        servers: Arc<Servers>,
        patience: Duration,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let driver = tokio::spawn(drive(connection, notified)).abort_handle();
        let statements = Mutex::new(HashMap::new());
        let (opened_at, heard_at) = (Instant::now(), AtomicU64::new(0));
        let (is_noted, is_refused) = (AtomicBool::new(false), AtomicBool::new(false));
        let (server, moves) = (Server::default(), servers.moves());
        Self {
            client,
            statements,
            driver,
            patience,
            opened_at,
            heard_at,
            is_noted,
            is_refused,
            servers,
            server,
            backend: None,
            doubt: Doubt::default(),
            moves,
        }
    }

    /// The same with this server, which is not met yet, and its process.
    pub(crate) fn with(self, server: Server, backend: Option<i32>) -> Self {
        Self { server, backend, ..self }
    }

    /// It is one of those of the node, which may move by that.
    pub(crate) fn settle(&mut self) {
        self.moves = self.servers.meet(&self.server);
    }

    /// Whether the node has moved since, and elsewhere: what is read here may be old. Or this is no session of its own.
    pub(crate) fn is_left(&self) -> bool {
        self.servers.are_pooled() || self.servers.have_left(&self.server, self.moves)
    }

    /// The process of the server that answered first, if that is known.
    pub(crate) const fn backend(&self) -> Option<i32> {
        self.backend
    }

    /// Asks whether another process of the server answers than first did. None if that cannot be told.
    pub(crate) async fn is_moved(&self) -> Option<bool> {
        let answer = self.client.simple_query(BACKEND).await.ok()?;
        self.is_of_another(&answer)
    }

    /// Whether this answer to [`BACKEND`] is that of another process.
    fn is_of_another(&self, answer: &[SimpleQueryMessage]) -> Option<bool> {
        Some(backend(answer)? != self.backend?)
    }

    /// Whether the same process of the same server answered first here and there: two sessions never have one in common.
    pub(crate) fn has_the_process_of(&self, other: &Self) -> bool {
        self.is_to_the_server_of(other) && self.backend.is_some() && self.backend == other.backend
    }

    /// Whether another process of the server answered than first did when it was asked last.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubt.is_there()
    }

    /// Asks whether the server has this process.
    pub(crate) async fn sees(&self, backend: i32) -> bool {
        let sql = format!("SELECT pid FROM pg_stat_activity WHERE pid = {backend}");
        let answer = self.client.simple_query(&sql).await;
        answer.is_ok_and(|answer| first(&answer).is_some())
    }

    /// Whether it is to the same server as another, as far as that says which it is.
    pub(crate) fn is_to_the_server_of(&self, other: &Self) -> bool {
        self.server.started_at.is_some() && self.server.started_at == other.server.started_at
    }

    /// Whether the server only read when the connection was opened.
    pub(crate) const fn only_read_at_first(&self) -> bool {
        self.server.only_reads
    }

    /// Asks whether the server only reads by now.
    ///
    /// # Errors
    /// [`Failure::Pooled`] if one of its processes answers and then another: then all connections of the node are of no use. [`Failure::Moved`] if it is
    /// another than first did, and stays so: this one is of no use.
    pub(crate) async fn only_reads(&self) -> Result<bool, Failure> {
        let asked = async {
            // One round trip: both are sent by the first poll of each.
            let (only_reads, backend) = tokio::join!(
                biased;
                self.client.simple_query(ONLY_READS),
                self.client.simple_query(BACKEND),
            );
            Ok((only_reads?, backend))
        };
        let (only_reads, backend) = self.within(asked).await?;
        if let (Some(first), Some(process)) = (self.backend, backend.ok().as_deref().and_then(self::backend))
        {
            self.doubt.settle(first, process).inspect_err(|failure| {
                if matches!(failure, Failure::Pooled) {
                    self.servers.note_that_they_are_pooled();
                }
            })?;
        }
        Ok(first(&only_reads) == Some("on"))
    }

    /// It does: the next one that writes is better.
    pub(crate) fn note_that_it_only_reads(&self) {
        // What is said of a server that was left already is nothing new.
        if !self.is_left() {
            self.servers.only_reads(&self.server);
        }
    }

    /// The driver's client, for what is no prepared statement.
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// How long an answer is waited for.
    pub(crate) const fn patience(&self) -> Duration {
        self.patience
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

    /// The same of one among those whose statements are pipelined: who waits behind others that are answered does not take the connection for
    /// dead.
    pub(crate) async fn among_others<T>(
        &self,
        answer: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match timeout(self.patience, answer).await {
            Ok(answer) => {
                self.hear();
                answer
            }
            Err(_) => Err(self.unanswered()),
        }
    }

    /// Why somebody had no answer in time.
    pub(crate) fn unanswered(&self) -> Failure {
        if self.is_silent() { Failure::Silent(self.patience) } else { Failure::Late(self.patience) }
    }

    /// Whether all of these are prepared.
    pub(crate) fn knows(&self, mut statements: impl Iterator<Item = &'static str>) -> bool {
        let known = self.statements.lock();
        statements.all(|sql| known.contains_key(&sql.as_ptr().addr()))
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

    /// Runs one statement. Concurrent calls are pipelined in the order of their first poll.
    pub(crate) async fn query(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, Failure> {
        self.among_others(self.ask(sql, params)).await
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

    /// Whether the server answers, and what was sent before keeps it no longer than a moment.
    pub(crate) async fn is_answered(&self) -> bool {
        let is_answered = matches!(timeout(MOMENT, self.client.batch_execute("")).await, Ok(Ok(())));
        if is_answered {
            self.hear();
        }
        is_answered
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

    /// It is lost. Whether that was not noted yet.
    pub(crate) fn note_lost(&self) -> bool {
        !self.is_noted.swap(true, Ordering::AcqRel)
    }

    /// A write was refused on it. It is kept for as long as another connection would hardly do better.
    pub(crate) fn note_refused(&self) {
        self.is_refused.store(true, Ordering::Release);
    }

    /// Whether that was noted.
    pub(crate) fn was_refused(&self) -> bool {
        self.is_refused.load(Ordering::Acquire)
    }

    /// Ends the connection, whatever is under way.
    pub(crate) fn give_up(&self) {
        self.driver.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_all_have_is_none() {
        for (said, process) in [("4711", Some(4711)), ("0", None), ("-1", None), ("", None)] {
            assert_eq!(named(said), process, "{said}");
        }
    }

    #[test]
    fn another_process_that_stays_is_told_from_one_that_goes_again() {
        for (then, is_pooled) in [(8, false), (7, true), (9, true)] {
            let doubt = Doubt::default();
            assert!(doubt.settle(7, 7).is_ok() && !doubt.is_there());
            assert!(doubt.settle(7, 8).is_ok() && doubt.is_there());
            let failure = doubt.settle(7, then).unwrap_err();
            assert!(failure.ends_session());
            assert_eq!(matches!(failure, Failure::Pooled), is_pooled, "{then}: {failure}");
        }
    }
}
