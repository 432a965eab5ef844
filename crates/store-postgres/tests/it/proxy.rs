//! A TCP proxy before the server that understands just enough of the protocol to do harm at the worst moment: after the server has
//! committed, before its answer arrives.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// `ReadyForQuery`, outside a transaction: all that came before is committed.
const IDLE: &[u8] = b"Z\0\0\0\x05I";

/// The fields of an `ErrorResponse`, as of a server whose disk is full.
const REFUSAL: &[u8] = b"SERROR\0VERROR\0C53100\0Mno space left on device\0\0";

/// What is done to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    /// It is swallowed, and its connection cut.
    Cut,
    /// Another is given: the disk is full.
    Refuse,
    /// It is swallowed, and all that would follow on its connection.
    Silence,
    /// The same, and of what was sent behind the statement nothing reaches the server, which is not told that nobody is there any more.
    Sever,
    /// It comes late.
    Delay,
    /// It does not come, and after so long its connection is cut.
    CutLate,
}

/// How much later an answer comes, or none: a node that starts waits no longer than two seconds for one.
const LATE: Duration = Duration::from_millis(2_500);

/// The statement whose answer is to be harmed.
struct Needle {
    /// What its SQL contains.
    text: String,
    how: Harm,
    /// How many such come before it.
    left_alone: usize,
}

impl Needle {
    fn is_found_in(&mut self, sql: &str) -> bool {
        if !sql.contains(&self.text) {
            return false;
        }
        let is_due = self.left_alone == 0;
        self.left_alone = self.left_alone.saturating_sub(1);
        is_due
    }
}

/// The proxy; it ends with the runtime of the test.
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    needle: Mutex<Option<Needle>>,
    harms: AtomicUsize,
    /// Connections that are still to be refused.
    refusals: AtomicUsize,
    /// Connections that led to a server.
    led: AtomicUsize,
    /// Where new connections lead.
    server: AtomicU16,
    /// Whether new connections lead nowhere, and nobody says so.
    is_full: AtomicBool,
    /// How long nothing passes over new connections, in milliseconds.
    delay: AtomicU64,
}

impl Proxy {
    /// A proxy before the server of this DSN.
    pub(crate) async fn start(dsn: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        shared.server.store(port_of(dsn), Ordering::SeqCst);
        let accepting = shared.clone();
        tokio::spawn(async move {
            let mut waiting = Vec::new();
            while let Ok((client, _)) = listener.accept().await {
                if accepting.refusals.load(Ordering::SeqCst) > 0 {
                    accepting.refusals.fetch_sub(1, Ordering::SeqCst);
                    continue;
                }
                if accepting.is_full.load(Ordering::SeqCst) {
                    waiting.push(client);
                    continue;
                }
                accepting.led.fetch_add(1, Ordering::SeqCst);
                let server = accepting.server.load(Ordering::SeqCst);
                let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                let delay = Duration::from_millis(accepting.delay.load(Ordering::SeqCst));
                let relayed = relay(client, server, accepting.clone());
                tokio::spawn(async move {
                    if !delay.is_zero() {
                        sleep(delay).await;
                    }
                    relayed.await;
                });
            }
        });
        Self { port, shared }
    }

    /// The DSN of the same database through the proxy.
    pub(crate) fn dsn(&self, dsn: &str) -> String {
        dsn.replace(&format!(":{}/", port_of(dsn)), &format!(":{}/", self.port))
    }

    /// Leads new connections to the server of this DSN. Those that there are stay.
    pub(crate) fn lead_to(&self, dsn: &str) {
        self.shared.server.store(port_of(dsn), Ordering::SeqCst);
    }

    /// Takes new connections and lets nothing through, as a pooler that has no place left.
    pub(crate) fn fill(&self) {
        self.shared.is_full.store(true, Ordering::SeqCst);
    }

    /// Lets nothing through for so long on each new connection, as a server that is far away, or slow to let somebody in.
    pub(crate) fn slow_down(&self, delay: Duration) {
        self.shared.delay.store(u64::try_from(delay.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Swallows the answer to the next statement whose SQL contains `needle`, and cuts its connection.
    pub(crate) fn cut_after(&self, needle: &str) {
        self.harm(needle, Harm::Cut);
    }

    /// Says instead of the answer to the next statement whose SQL contains `needle` that the disk is full.
    pub(crate) fn refuse_after(&self, needle: &str) {
        self.harm(needle, Harm::Refuse);
    }

    /// Lets nothing through any more after the next statement whose SQL contains `needle`, on its connection.
    pub(crate) fn silence_after(&self, needle: &str) {
        self.harm(needle, Harm::Silence);
    }

    /// Keeps everything behind the next statement whose SQL contains `needle` from the server, and all answers from the client, and
    /// leaves the server its connection.
    pub(crate) fn sever_after(&self, needle: &str) {
        self.harm(needle, Harm::Sever);
    }

    /// Has the answer to a statement whose SQL contains `needle` come later than a node that starts waits for it. So many such before it are
    /// answered in time.
    pub(crate) fn delay_after(&self, needle: &str, left_alone: usize) {
        self.harm_one(needle, Harm::Delay, left_alone);
    }

    /// The same, but it does not come at all: its connection is cut then.
    pub(crate) fn cut_late_after(&self, needle: &str, left_alone: usize) {
        self.harm_one(needle, Harm::CutLate, left_alone);
    }

    fn harm(&self, needle: &str, how: Harm) {
        self.harm_one(needle, how, 0);
    }

    fn harm_one(&self, needle: &str, how: Harm, left_alone: usize) {
        *self.shared.needle.lock().unwrap() = Some(Needle { text: needle.to_owned(), how, left_alone });
    }

    /// Refuses the next `count` connections.
    pub(crate) fn refuse(&self, count: usize) {
        self.shared.refusals.fetch_add(count, Ordering::SeqCst);
    }

    /// How many connections are still to be refused.
    pub(crate) fn refusals(&self) -> usize {
        self.shared.refusals.load(Ordering::SeqCst)
    }

    /// How many connections led to a server.
    pub(crate) fn led(&self) -> usize {
        self.shared.led.load(Ordering::SeqCst)
    }

    /// How many connections were cut, or answers harmed in another way.
    pub(crate) fn cuts(&self) -> usize {
        self.shared.harms.load(Ordering::SeqCst)
    }
}

fn port_of(dsn: &str) -> u16 {
    let server: tokio_postgres::Config = dsn.parse().unwrap();
    server.get_ports()[0]
}

async fn relay(client: TcpStream, server: TcpStream, shared: Arc<Shared>) {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let harm = Mutex::new(None);
    // Whoever ends first ends both: the halves are dropped, the sockets closed.
    tokio::select! {
        () = forward(from_client, to_server, &shared, &harm) => {}
        () = answer(from_server, to_client, &shared, &harm) => {}
    }
}

/// Client to server, message by message.
async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    harm: &Mutex<Option<Harm>>,
) {
    let mut statements: HashMap<Vec<u8>, String> = HashMap::new();
    let mut startup = true;
    loop {
        let kind = if startup { 0 } else { from.read_u8().await.unwrap_or(b'X') };
        let Ok(length) = from.read_u32().await else { return };
        let mut body = vec![0; length as usize - 4];
        if from.read_exact(&mut body).await.is_err() {
            return;
        }
        let is_severed = *harm.lock().unwrap() == Some(Harm::Sever);
        if is_severed && matches!(kind, b'P' | b'B' | b'Q') {
            shared.harms.fetch_add(1, Ordering::SeqCst);
            pending::<()>().await;
        }
        let mut parts = body.split(|byte| *byte == 0);
        let sql = match kind {
            b'P' => {
                let name = parts.next().unwrap().to_vec();
                statements.insert(name, String::from_utf8_lossy(parts.next().unwrap()).into_owned());
                None
            }
            b'B' => statements.get(parts.nth(1).unwrap()).cloned(),
            b'Q' => Some(String::from_utf8_lossy(parts.next().unwrap()).into_owned()),
            _ => None,
        };
        if let Some(sql) = sql {
            let mut needle = shared.needle.lock().unwrap();
            if let Some(Needle { how, .. }) = needle.take_if(|needle| needle.is_found_in(&sql)) {
                *harm.lock().unwrap() = Some(how);
                if how == Harm::Silence {
                    shared.harms.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
        let mut message = if startup { Vec::new() } else { vec![kind] };
        message.extend(length.to_be_bytes());
        message.extend(body);
        startup = false;
        if to.write_all(&message).await.is_err() {
            return;
        }
    }
}

/// Server to client, until an answer is complete after which the connection is to be cut.
async fn answer(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    harm: &Mutex<Option<Harm>>,
) {
    let mut buffer = vec![0; 1 << 16];
    let mut swallowed = Vec::new();
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else { return };
        let how = *harm.lock().unwrap();
        let Some(how) = how else {
            if to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
            continue;
        };
        if matches!(how, Harm::Delay | Harm::CutLate) {
            sleep(LATE).await;
            shared.harms.fetch_add(1, Ordering::SeqCst);
            *harm.lock().unwrap() = None;
            if how == Harm::CutLate || to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
            continue;
        }
        swallowed.extend_from_slice(&buffer[..read]);
        if matches!(how, Harm::Silence | Harm::Sever) || !swallowed.ends_with(IDLE) {
            continue;
        }
        shared.harms.fetch_add(1, Ordering::SeqCst);
        if how == Harm::Cut || to.write_all(&refusal()).await.is_err() {
            return;
        }
        swallowed.clear();
        *harm.lock().unwrap() = None;
    }
}

/// A whole answer that says no.
fn refusal() -> Vec<u8> {
    let length = u32::try_from(REFUSAL.len() + 4).unwrap();
    [&b"E"[..], &length.to_be_bytes(), REFUSAL, IDLE].concat()
}
