//! An SMTP server on this machine that keeps what it gets, and fails when told to (RFC 5321).
//!
//! [`SmtpServer`]: the server. [`ReceivedMail`]: what it got. `session`: one connection. `failures`: what is to go wrong.
//! `certificate`: a private authority and its one certificate.
//!
//! No crate does it: those that speak the server's side know neither SMTPUTF8 nor how to hang up in the middle.

#![expect(clippy::expect_used, reason = "for tests, which end where something is not as it must be")]
#![expect(clippy::missing_panics_doc, reason = "for tests, which end where something is not as it must be")]

mod certificate;
mod failures;
mod received;
mod session;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use failures::SmtpStep;
pub use received::{Delivery, ReceivedMail};

use certificate::Authority;
use failures::Failures;

/// Longer than a mail on this machine may take: a test that waits so long has failed.
const AT_MOST: Duration = Duration::from_secs(20);

/// What the server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpOptions {
    /// When it encrypts.
    pub tls: SmtpTls,
    /// The user name and password without which it takes no mail. Offered encrypted or not: the client must know.
    pub login: Option<(String, String)>,
    /// Which mechanisms it logs in by.
    pub mechanisms: &'static str,
    /// Whether it takes addresses that are not ASCII (RFC 6531).
    pub smtp_utf8: bool,
    /// What follows the answer to `STARTTLS` in plain text, as from somebody in between.
    pub injected: &'static str,
}

/// When a server encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpTls {
    /// Never.
    None,
    /// When asked to.
    StartTls,
    /// From the first byte.
    Implicit,
}

impl Default for SmtpOptions {
    fn default() -> Self {
        let (tls, login) = (SmtpTls::None, None);
        Self { tls, login, mechanisms: "PLAIN LOGIN", smtp_utf8: false, injected: "" }
    }
}

/// A server; it ends, with its connections, when it is dropped.
#[derive(Debug)]
pub struct SmtpServer {
    address: SocketAddr,
    ca_pem: String,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What the connections share.
#[derive(Debug)]
struct Shared {
    options: SmtpOptions,
    tls: Arc<ServerConfig>,
    failures: Failures,
    received: watch::Sender<Vec<ReceivedMail>>,
    connections: AtomicUsize,
}

impl SmtpServer {
    /// A server in plain text that takes all mail.
    pub async fn start() -> Self {
        Self::start_with(SmtpOptions::default()).await
    }

    /// A server.
    pub async fn start_with(options: SmtpOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let Authority { ca_pem, server } = certificate::authority();
        let shared = Arc::new(Shared {
            options,
            tls: Arc::new(server),
            failures: Failures::default(),
            received: watch::Sender::default(),
            connections: AtomicUsize::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Self { address, ca_pem, shared, accepting }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How a client is told of it, login included; encrypted as the server offers it.
    pub fn url(&self) -> String {
        let login = match &self.shared.options.login {
            Some((user, password)) => format!("{user}:{password}@"),
            None => String::new(),
        };
        let address = self.address;
        match self.shared.options.tls {
            SmtpTls::None => format!("smtp://{login}{address}?starttls=never"),
            SmtpTls::StartTls => format!("smtp://{login}{address}"),
            SmtpTls::Implicit => format!("smtps://{login}{address}"),
        }
    }

    /// The certificate of the authority that vouches for it at `127.0.0.1` and `localhost`, as PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// What has been taken so far, in that order.
    pub fn received(&self) -> Vec<ReceivedMail> {
        self.shared.received.borrow().clone()
    }

    /// Waits until so many mails have been taken; panics after 20 s.
    pub async fn wait_for(&self, mails: usize) -> Vec<ReceivedMail> {
        self.received_when(|received| received.len() >= mails).await
    }

    /// Waits for a mail to this address, and gives the latest; panics after 20 s.
    pub async fn wait_for_mail_to(&self, recipient: &str) -> ReceivedMail {
        let is_it = |mail: &ReceivedMail| mail.to.iter().any(|to| to == recipient);
        let received = self.received_when(|received| received.iter().any(is_it)).await;
        received.into_iter().rev().find(is_it).expect("a mail that was waited for")
    }

    /// Refuses the next `times` recipients with this code.
    pub fn refuse_next(&self, code: u16, times: usize) {
        self.refuse_next_at(SmtpStep::Recipient, code, times);
    }

    /// Refuses so many times with this code, at this step.
    pub fn refuse_next_at(&self, step: SmtpStep, code: u16, times: usize) {
        self.shared.failures.refuse_next(step, code, times);
    }

    /// Hangs up in the middle of the next `times` mails.
    pub fn drop_connections(&self, times: usize) {
        self.shared.failures.drop_connections(times);
    }

    /// Answers nothing any more, on no connection.
    pub fn hang(&self) {
        self.shared.failures.hang(true);
    }

    /// Answers again, on new connections; those that hang go on to do so.
    pub fn resume(&self) {
        self.shared.failures.hang(false);
    }

    /// Answers with a line that has no end from now on, on every connection.
    pub fn babble(&self) {
        self.shared.failures.babble();
    }

    /// How much of such lines was written, in bytes.
    pub fn babbled(&self) -> usize {
        self.shared.failures.babbled()
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    async fn received_when(&self, enough: impl Fn(&[ReceivedMail]) -> bool) -> Vec<ReceivedMail> {
        let mut received = self.shared.received.subscribe();
        let waiting = received.wait_for(|received| enough(received));
        let enough = tokio::time::timeout(AT_MOST, waiting).await.expect("the mail does not arrive");
        enough.expect("a server that runs").clone()
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Connections end with the set they belong to.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut sessions = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while sessions.try_join_next().is_some() {}
        shared.connections.fetch_add(1, Ordering::SeqCst);
        sessions.spawn(talk(stream, shared.clone()));
    }
}

/// A client that leaves is none of the test's business.
async fn talk(stream: TcpStream, shared: Arc<Shared>) {
    let _ = session::serve(stream, shared).await;
}
