//! Dialer: the way to the servers of an address.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use tracing::debug;

use crate::connection::{BACKEND, ONLY_READS, Session, backend, first, is_yes};
use crate::dsn::{Address, options};
use crate::error::{Failure, describe};
use crate::servers::{Server, Servers};

/// Plans are made once per connection and must suit tables of any size: indexes, always. An engine that does not know
/// these settings does without.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off";
/// Whether the server is a standby. Asked besides whether it only reads: so does one whose disk is full, and it is the one to ask.
const STANDBY: &str = "SELECT pg_is_in_recovery()";
/// What tells it apart from others.
const STARTED_AT: &str = "SELECT extract(epoch FROM pg_postmaster_start_time())";
/// How much longer the client waits than the server, so that the server's own, definite "cancelled" arrives first.
const GRACE: Duration = Duration::from_secs(1);
/// What names of tables are looked for in.
const SEARCH_PATH: &str = "SHOW search_path";
/// How long nobody tries again after the server did not let this user in: it is the same for all, and each attempt is a line in its log.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(1);
/// How long opening a connection may take, whichever of the servers it is to.
pub(crate) const DIALLING: Duration = Duration::from_secs(5);

/// Opens connections.
pub(crate) struct Dialer {
    address: Address,
    tls: Option<MakeRustlsConnect>,
    patience: Duration,
    /// Whose turn it is among the servers: the one that answered, or the one behind the last that did not.
    turn: AtomicUsize,
    servers: Arc<Servers>,
    failed: AtomicU64,
    /// When the server was asked last that does not let this user in, and what it said.
    refused: Mutex<Option<(Instant, Failure)>>,
}

impl Dialer {
    /// A dialer whose connections are given up if an answer takes longer than `patience`.
    pub(crate) fn new(address: Address, tls: Option<MakeRustlsConnect>, patience: Duration) -> Self {
        let servers = Arc::new(Servers::new(wants_a_primary(&address)));
        let (turn, failed, refused) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::default());
        Self { address, tls, patience, turn, servers, failed, refused }
    }

    /// How many attempts to open a connection have come to nothing.
    pub(crate) fn failed_total(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Those that it has met.
    pub(crate) fn servers(&self) -> &Servers {
        &self.servers
    }

    /// How long a client waits for an answer.
    pub(crate) fn patience(&self) -> Duration {
        self.patience + GRACE
    }

    /// Whether a server that writes is wanted, and others are left for it. Who is content with a standby, or is a guest, reads where it is.
    pub(crate) const fn wants_a_primary(&self) -> bool {
        wants_a_primary(&self.address)
    }

    /// Opens a connection; `notified` is told when a notification arrives on it.
    pub(crate) async fn dial(&self, notified: Option<Arc<Notify>>) -> Result<Session, Failure> {
        if self.servers.are_pooled() {
            return Err(Failure::Pooled);
        }
        if let Some(failure) = self.refused_lately() {
            return Err(failure);
        }
        let mut makeshift = None;
        let opened = timeout(DIALLING, self.open_one(notified, &mut makeshift)).await.unwrap_or_else(|_| {
            self.turn.fetch_add(1, Ordering::Relaxed);
            Err(Failure::Unopened(DIALLING))
        });
        let mut session = match (opened, makeshift) {
            (Ok(session), _) => session,
            // Rather than nothing, but not while a better one is full.
            (Err(failure), Some(makeshift)) if !failure.is_for_want_of_connections() => makeshift,
            (Err(failure), _) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                // Whatever else it says is news: nobody is told what it said before.
                *self.refused.lock() = failure.is_wrong_password().then(|| (Instant::now(), failure.clone()));
                return Err(failure);
            }
        };
        *self.refused.lock() = None;
        if !self.address.is_guest {
            session.settle();
        }
        Ok(session)
    }

    /// Opens a connection beside those of the node, which neither counts as one nor moves it.
    pub(crate) async fn dial_beside(&self) -> Result<Session, Failure> {
        self.open_one(None, &mut None).await
    }

    /// What the server said a moment ago that does not let this user in. After that one tries, and the others wait for what comes of it.
    fn refused_lately(&self) -> Option<Failure> {
        let mut refused = self.refused.lock();
        let (asked_at, failure) = refused.as_mut()?;
        if asked_at.elapsed() < BETWEEN_REFUSALS {
            return Some(failure.clone());
        }
        *asked_at = Instant::now();
        None
    }

    /// Opens a connection to one of the servers: the one that had the last turn, or one behind it. One of several that only reads is a
    /// makeshift, in case that there is no other.
    async fn open_one(
        &self,
        notified: Option<Arc<Notify>>,
        makeshift: &mut Option<Session>,
    ) -> Result<Session, Failure> {
        let servers = &self.address.servers;
        let is_choosy = servers.len() > 1 && self.wants_a_primary();
        let first = self.turn.load(Ordering::Relaxed);
        let mut failure = Failure::Closed;
        for turn in (0..servers.len()).map(|ahead| first.wrapping_add(ahead)) {
            self.turn.store(turn, Ordering::Relaxed);
            let Some(server) = turn.checked_rem(servers.len()).and_then(|place| servers.get(place)) else {
                break;
            };
            match self.open_in_time(server, notified.clone()).await {
                Ok(session) if is_choosy && session.only_read_at_first() => {
                    *makeshift = makeshift.take().or(Some(session));
                }
                Ok(session) => return Ok(session),
                // What keeps the primary from being used is told, and not that others are standbys.
                Err(_) if failure.is_for_want_of_connections() => {}
                Err(Failure::Standby) if matches!(failure, Failure::Unopened(_)) => {}
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
            Some(patience) => timeout(*patience, opening).await.unwrap_or(Err(Failure::Unopened(*patience))),
        }
    }

    async fn open(&self, server: &Config, notified: Option<Arc<Notify>>) -> Result<Session, Failure> {
        let session = match &self.tls {
            Some(tls) => self.open_with(tls.clone(), server, notified).await?,
            None => self.open_with(NoTls, server, notified).await?,
        };
        let client = session.client();
        // What a guest needs was said as the connection was opened.
        let is_guest = self.address.is_guest;
        let (settings, plans) = if is_guest { (String::new(), "") } else { (self.settings(), PLANS) };
        // One round trip: all of it is sent by the first poll of each.
        let (set, process, search_path, standby, only_reads, started_at, planned) = tokio::join!(
            biased;
            client.batch_execute(&settings),
            client.simple_query(BACKEND),
            client.simple_query(SEARCH_PATH),
            client.simple_query(STANDBY),
            client.simple_query(ONLY_READS),
            client.simple_query(STARTED_AT),
            client.batch_execute(plans),
        );
        set?;
        if let Err(cause) = planned {
            debug!(error = describe(&cause), "the server does not know the planner settings");
        }
        if let Some(other) = search_path.ok().and_then(|answer| self.other_search_path(first(&answer)?)) {
            return Err(Failure::OtherSearchPath(other));
        }
        if !self.address.standby_will_do && standby.is_ok_and(|answer| is_yes(&answer)) {
            return Err(Failure::Standby);
        }
        let only_reads = only_reads.is_ok_and(|answer| first(&answer) == Some("on"));
        let started_at = started_at.ok().and_then(|answer| first(&answer).map(str::to_owned));
        let process = process.ok().and_then(|answer| backend(&answer));
        Ok(session.with(Server { started_at, only_reads }, process))
    }

    /// The `search_path` of the server, if it is not the one that the DSN sets: what is said as a connection is opened reaches no server behind some
    /// poolers, and another schema may have tables of these names, or take them.
    fn other_search_path(&self, present: &str) -> Option<String> {
        let wanted = self.address.search_path.as_deref().filter(|_| !self.address.is_guest)?;
        (!options::is_same_list(wanted, present)).then(|| present.to_owned())
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
        let connected = server.connect(tls).await.map_err(Failure::connecting)?;
        Ok(Session::begin(connected, notified, Arc::clone(&self.servers), self.patience()))
    }
}

const fn wants_a_primary(address: &Address) -> bool {
    !address.standby_will_do && !address.is_guest
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::sleep;

    use super::*;

    /// The port of a server that says these codes to those who come, one after the other.
    async fn turning_away(codes: &'static [&'static str]) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            for code in codes {
                let (mut client, _) = listener.accept().await.unwrap();
                let asked = client.read(&mut [0; 1024]).await.unwrap();
                assert!(asked > 0, "who comes says who they are");
                let fields = format!("SFATAL\0VFATAL\0C{code}\0Mno\0\0");
                let length = u32::try_from(4 + fields.len()).unwrap();
                let said = [&b"E"[..], &length.to_be_bytes()[..], fields.as_bytes()].concat();
                client.write_all(&said).await.unwrap();
                client.shutdown().await.unwrap();
            }
        });
        port
    }

    /// As where the server that did not let this user in is away by now, or full.
    #[tokio::test]
    async fn what_the_server_said_before_is_forgotten_once_it_says_something_else() {
        let port = turning_away(&["28P01", "53300", "57P03"]).await;
        let dsn = format!("postgres://sluice@127.0.0.1:{port}/sluice?sslmode=disable");
        let dialer = Dialer::new(dsn.parse().unwrap(), None, Duration::from_secs(5));
        let told = async || dialer.dial(None).await.err().unwrap().to_string();
        let first = [told().await, told().await];
        assert!(first.iter().all(|told| told.contains("(28P01)")), "{first:?}");
        sleep(BETWEEN_REFUSALS).await;
        let then = [told().await, told().await];
        assert!(then[0].contains("(53300)") && then[1].contains("(57P03)"), "{then:?}");
    }
}
