//! Connections to the server: at most so many, and used again.
//!
//! The library's own pool is not used: when a mail is given up half-way it takes the connection back as it is, and the
//! next mail would read the answers to the last.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::bounded_replies::BoundedReplies;
use super::dialogue::hand_over;
use super::plain_first::PlainFirst;
use super::server_url::SmtpUrl;
use super::tls::Tls;
use super::{SmtpConfig, SmtpError};

/// How long a connection without work is kept. Servers wait for five minutes (RFC 5321 §4.5.3.2.7), some for less.
const IDLE_FOR: Duration = Duration::from_mins(1);
/// How long a connection that was kept may take to show that it still lives, or to say good-bye.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// The connections to one server.
pub(super) struct Pool {
    server: Server,
    connections: Semaphore,
    stopped: CancellationToken,
    /// The longest without work first, so that none is forgotten.
    idle: Mutex<VecDeque<Idle>>,
}

struct Idle {
    connection: AsyncSmtpConnection,
    since: Instant,
}

/// What it takes to open a connection.
#[derive(Debug)]
struct Server {
    url: SmtpUrl,
    tls: Tls,
    hello: ClientId,
    allow_plain_password: bool,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Pool {
    pub(super) fn new(config: &SmtpConfig) -> Result<Self, SmtpError> {
        let url = config.url.clone();
        let allow_plain_password = config.allow_plain_password;
        if url.login.is_some() && url.is_always_plain() && !allow_plain_password {
            return Err(SmtpError::PlainPasswordConfigured);
        }
        let tls = Tls::new(&url, config.extra_ca_file.as_deref())?;
        let hello = hello(config)?;
        Ok(Self {
            server: Server { url, tls, hello, allow_plain_password },
            connections: Semaphore::new(config.pool_size.get()),
            stopped: CancellationToken::new(),
            idle: Mutex::default(),
        })
    }

    /// Sends on a connection of its own. A connection is kept only when all that was said on it was answered.
    pub(super) async fn send(&self, envelope: &Envelope, mail: &[u8]) -> Result<(), SmtpError> {
        let ready = self.stopped.run_until_cancelled(self.ready()).await;
        let (_one_of_them, mut connection) = ready.unwrap_or(Err(SmtpError::Stopped))?;
        let sent = hand_over(&mut connection, envelope, mail).await;
        if !connection.has_broken() {
            self.idle.lock().push_back(Idle { connection, since: Instant::now() });
        }
        sent
    }

    /// Gives up those mails that wait for a connection, and all that come.
    pub(super) fn stop(&self) {
        self.stopped.cancel();
    }

    /// A connection on which nothing was said of a mail yet.
    async fn ready(&self) -> Result<(SemaphorePermit<'_>, AsyncSmtpConnection), SmtpError> {
        let one_of_them = self.connections.acquire().await.map_err(|_| SmtpError::NoAnswer)?;
        Ok((one_of_them, self.connection().await?))
    }

    async fn connection(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        while let Some(Idle { mut connection, since }) = self.take_idle() {
            let is_young = since.elapsed() < IDLE_FOR;
            if is_young && timeout(SIGN_OF_LIFE, connection.test_connected()).await.unwrap_or(false) {
                return Ok(connection);
            }
            let _ = timeout(SIGN_OF_LIFE, connection.abort()).await;
        }
        self.server.connect().await
    }

    fn take_idle(&self) -> Option<Idle> {
        self.idle.lock().pop_front()
    }
}

impl Server {
    /// Connects, encrypts and logs in.
    async fn connect(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        let connecting = TcpStream::connect((self.url.host.as_str(), self.url.port));
        let stream = connecting.await.map_err(unreachable)?;
        let peer = stream.peer_addr().map_err(unreachable)?;
        let mut connection = match &self.tls {
            Tls::Never => self.begin(Box::new(BoundedReplies::new(stream, peer))).await?,
            Tls::Later { is_required, parameters } => {
                let stream = PlainFirst::new(BoundedReplies::new(stream, peer));
                self.start_tls(stream, *is_required, parameters.clone()).await?
            }
            Tls::AtOnce { connector, name } => {
                let encrypting = Box::pin(connector.connect(name.clone(), stream));
                let stream = encrypting.await.map_err(unreachable)?;
                self.begin(Box::new(BoundedReplies::new(stream, peer))).await?
            }
        };
        self.log_in(&mut connection).await?;
        Ok(connection)
    }

    /// A connection on which the server greets.
    async fn begin(&self, stream: Box<dyn AsyncTokioStream>) -> Result<AsyncSmtpConnection, SmtpError> {
        let connecting = AsyncSmtpConnection::connect_with_transport(stream, &self.hello);
        connecting.await.map_err(SmtpError::connecting)
    }

    /// One that begins in plain text, and becomes TLS if the server offers it.
    async fn start_tls(
        &self,
        stream: PlainFirst,
        is_required: bool,
        parameters: TlsParameters,
    ) -> Result<AsyncSmtpConnection, SmtpError> {
        let mut connection = self.begin(Box::new(stream)).await?;
        if connection.can_starttls() {
            let starting = connection.starttls(parameters, &self.hello);
            starting.await.map_err(SmtpError::connecting)?;
        } else if is_required {
            return Err(SmtpError::NoStartTls);
        }
        Ok(connection)
    }

    async fn log_in(&self, connection: &mut AsyncSmtpConnection) -> Result<(), SmtpError> {
        let Some(login) = &self.url.login else { return Ok(()) };
        let is_encrypted = connection.is_encrypted() || matches!(self.tls, Tls::AtOnce { .. });
        if !is_encrypted && !self.allow_plain_password {
            return Err(SmtpError::PlainPassword);
        }
        let credentials = Credentials::new(login.user.clone(), login.password.expose().clone());
        let logging_in = connection.auth(DEFAULT_MECHANISMS, &credentials);
        logging_in.await.map(drop).map_err(SmtpError::logging_in)
    }
}

fn unreachable(error: io::Error) -> SmtpError {
    SmtpError::Unreachable(Box::new(error))
}

/// How this machine introduces itself: as it is told to, or as the system calls it. Servers refuse a name without a domain (RFC 5321
/// §2.3.5), as containers have: instead of one, the domain that mail is from.
fn hello(config: &SmtpConfig) -> Result<ClientId, SmtpError> {
    let is_part_of_name =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '[' | ']' | ':');
    match config.hello_name.as_deref() {
        None => Ok(match ClientId::default() {
            ClientId::Domain(name) if name.contains('.') => ClientId::Domain(name),
            _ => ClientId::Domain(config.from.0.email.domain().to_owned()),
        }),
        Some(name) if !name.is_empty() && name.chars().all(is_part_of_name) => {
            Ok(ClientId::Domain(name.to_owned()))
        }
        Some(_) => Err(SmtpError::HelloName),
    }
}
