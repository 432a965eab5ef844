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
use crate::error::{Failure, Weight, describe};
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
        let mut search = Search::new();
        let opened = timeout(DIALLING, self.open_one(notified, &mut search)).await.unwrap_or_else(|_| {
            self.turn.fetch_add(1, Ordering::Relaxed);
            search.note(Failure::Unopened(DIALLING));
            None
        });
        let (makeshift, failure) = search.found();
        let mut session = match (opened, makeshift) {
            (Some(session), _) => session,
            // Rather than nothing, but not while a better one is full.
            (None, Some(makeshift)) if !failure.is_for_want_of_connections() => makeshift,
            (None, _) => {
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
        let mut search = Search::new();
        let opened = self.open_one(None, &mut search).await;
        opened.ok_or_else(|| search.found().1)
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
    async fn open_one(&self, notified: Option<Arc<Notify>>, search: &mut Search) -> Option<Session> {
        let servers = &self.address.servers;
        let is_choosy = servers.len() > 1 && self.wants_a_primary();
        let first = self.turn.load(Ordering::Relaxed);
        for turn in (0..servers.len()).map(|ahead| first.wrapping_add(ahead)) {
            self.turn.store(turn, Ordering::Relaxed);
            let place = turn.checked_rem(servers.len())?;
            let server = servers.get(place)?;
            match self.open_in_time(server, notified.clone()).await {
                Ok(session) if is_choosy && session.only_read_at_first() => {
                    search.makeshift.get_or_insert(session);
                }
                Ok(session) => return Some(session),
                Err(failure) => search.note(failure.of_server(self.address.names.get(place))),
            }
        }
        self.turn.fetch_add(1, Ordering::Relaxed);
        None
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

/// What was found on the way to a good connection.
struct Search {
    /// One of several that only reads.
    makeshift: Option<Session>,
    /// Why none is good.
    failure: Failure,
    /// Whether one did not answer, or not yet.
    is_any_away: bool,
}

impl Search {
    const fn new() -> Self {
        Self { makeshift: None, failure: Failure::Closed, is_any_away: false }
    }

    /// Another server is of no use. What keeps the primary from being used is told, and neither that others are standbys, nor that one which
    /// is off does not answer.
    fn note(&mut self, failure: Failure) {
        let weight = failure.weight();
        self.is_any_away |= weight == Weight::Away;
        if weight >= self.failure.weight() {
            self.failure = failure;
        }
    }

    /// The makeshift, if there is one, and why no other is good.
    fn found(self) -> (Option<Session>, Failure) {
        let Self { makeshift, failure, is_any_away } = self;
        (makeshift, if is_any_away { failure.while_another_is_away() } else { failure })
    }
}

const fn wants_a_primary(address: &Address) -> bool {
    !address.standby_will_do && !address.is_guest
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::sleep;

    use super::*;
    use crate::retry::Tries;

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

    /// The port of a server that is off.
    async fn off() -> u16 {
        TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port()
    }

    /// The port of a standby: it lets everybody in.
    async fn standby() -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                tokio::spawn(says_yes(client));
            }
        });
        port
    }

    /// Says yes to whatever is asked, whether it is a standby among it.
    async fn says_yes(mut client: TcpStream) {
        const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
        const YES: &[u8] = b"T\0\0\0\x1c\0\x01yes\0\0\0\0\0\0\0\0\0\0\x10\0\x01\xff\xff\xff\xff\0\0\
            D\0\0\0\x0b\0\x01\0\0\0\x01tC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
        let mut told = vec![0; rest(client.read_u32().await.unwrap())];
        client.read_exact(&mut told).await.unwrap();
        client.write_all(WELCOME).await.unwrap();
        while let Ok(kind) = client.read_u8().await {
            let mut told = vec![0; rest(client.read_u32().await.unwrap())];
            client.read_exact(&mut told).await.unwrap();
            if kind == b'Q' && client.write_all(YES).await.is_err() {
                return;
            }
        }
    }

    /// How much follows the length of a message, which counts itself.
    fn rest(length: u32) -> usize {
        usize::try_from(length).unwrap() - 4
    }

    /// Who opens connections to these ports, in this order.
    fn dialer(ports: &[u16]) -> Dialer {
        let hosts: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let dsn = format!("postgres://sluice@{}/sluice?sslmode=disable", hosts.join(","));
        Dialer::new(dsn.parse().unwrap(), None, Duration::from_secs(5))
    }

    /// What it says of an attempt that comes to nothing.
    async fn told(dialer: &Dialer) -> String {
        dialer.dial(None).await.err().unwrap().to_string()
    }

    /// The second attempt finds nobody at its port any more.
    #[tokio::test]
    async fn a_primary_that_lets_this_user_in_no_more_is_asked_once_a_second_while_another_host_is_off() {
        for is_first in [true, false] {
            let (primary, off) = (turning_away(&["28P01"]).await, off().await);
            let dialer = dialer(&if is_first { [primary, off] } else { [off, primary] });
            for told in [told(&dialer).await, told(&dialer).await] {
                let of_the_primary = format!("PostgreSQL at 127.0.0.1:{primary}: ");
                assert!(told.starts_with(&of_the_primary) && told.contains("(28P01)"), "{told}");
            }
            assert!(dialer.refused_lately().is_some(), "the next one would hear of it, too");
            assert_eq!(dialer.failed_total(), 1);
        }
    }

    #[tokio::test]
    async fn why_the_primary_does_not_answer_is_told_and_not_that_another_host_is_a_standby() {
        for is_first in [true, false] {
            let (primary, standby) = (off().await, standby().await);
            let dialer = dialer(&if is_first { [primary, standby] } else { [standby, primary] });
            let told = told(&dialer).await;
            let of_the_primary = format!("PostgreSQL at 127.0.0.1:{primary}: error connecting to server");
            assert!(told.starts_with(&of_the_primary), "{told}");
        }
        let alone = told(&dialer(&[standby().await])).await;
        assert_eq!(alone, Failure::Standby.to_string());
    }

    /// Whether a node that starts tries again after an attempt that came to nothing.
    async fn waits(dialer: &Dialer) -> bool {
        let failure = dialer.dial(None).await.err().unwrap();
        Tries::at_the_start(Duration::from_secs(5)).again(failure).await.is_ok()
    }

    /// The one that is away may be the primary, which is started anew, and the other one of before, say, which lets nobody in.
    #[tokio::test]
    async fn who_is_turned_away_at_the_start_waits_for_another_host_that_is_away_and_for_no_other() {
        for code in [&["28000"], &["3D000"]] {
            for is_first in [true, false] {
                let (wrong, off) = (turning_away(code).await, off().await);
                assert!(waits(&dialer(&if is_first { [wrong, off] } else { [off, wrong] })).await);
            }
            let starting = turning_away(&["57P03"]).await;
            assert!(waits(&dialer(&[turning_away(code).await, starting])).await);
            assert!(!waits(&dialer(&[turning_away(code).await, standby().await])).await);
            assert!(!waits(&dialer(&[turning_away(code).await])).await);
        }
    }

    #[tokio::test]
    async fn that_the_server_has_no_place_left_is_told_before_anything_else() {
        let ports = [turning_away(&["53300"]).await, turning_away(&["28000"]).await, standby().await];
        let told = told(&dialer(&ports)).await;
        assert!(told.contains("(53300)"), "{told}");
    }

    /// As where the server that did not let this user in is away by now, or full.
    #[tokio::test]
    async fn what_the_server_said_before_is_forgotten_once_it_says_something_else() {
        let dialer = dialer(&[turning_away(&["28P01", "53300", "57P03"]).await]);
        let first = [told(&dialer).await, told(&dialer).await];
        assert!(first.iter().all(|told| told.contains("(28P01)")), "{first:?}");
        sleep(BETWEEN_REFUSALS).await;
        let then = [told(&dialer).await, told(&dialer).await];
        assert!(then[0].contains("(53300)") && then[1].contains("(57P03)"), "{then:?}");
    }
}
