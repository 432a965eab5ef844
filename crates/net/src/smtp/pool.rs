//! Connections to the server: at most so many, and used again.
//!
//! The library's own pool is not used: when a mail is given up half-way it takes the connection back as it is, and the
//! next mail would read the answers to the last.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::dialogue::hand_over;
use super::plain_first::PlainFirst;
use super::server_url::{Encryption, SmtpUrl};
use super::{SmtpConfig, SmtpError, StartTls};
use crate::fetch::certificates_in;

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

/// The library's TLS parameters, which do not print.
struct Tls(TlsParameters);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
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
        let tls = tls(&url.host, config.extra_ca_file.as_deref())?;
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
        let mut connection = match self.url.encryption {
            Encryption::StartTls(StartTls::Required) => self.start_tls(true).await?,
            Encryption::StartTls(StartTls::Optional) => self.start_tls(false).await?,
            Encryption::StartTls(StartTls::Never) => self.begin(None).await?,
            Encryption::Implicit => self.begin(Some(self.tls.0.clone())).await?,
        };
        self.log_in(&mut connection).await?;
        Ok(connection)
    }

    /// A connection that stays as it begins: in plain text, or in TLS.
    async fn begin(&self, tls: Option<TlsParameters>) -> Result<AsyncSmtpConnection, SmtpError> {
        let address = (self.url.host.as_str(), self.url.port);
        let connecting = AsyncSmtpConnection::connect_tokio1(address, None, &self.hello, tls, None);
        connecting.await.map_err(SmtpError::connecting)
    }

    /// One that begins in plain text, and becomes TLS if the server offers it.
    async fn start_tls(&self, is_required: bool) -> Result<AsyncSmtpConnection, SmtpError> {
        let connecting = TcpStream::connect((self.url.host.as_str(), self.url.port));
        let stream = connecting.await.map_err(|error| SmtpError::Unreachable(Box::new(error)))?;
        let stream = Box::new(PlainFirst::new(stream));
        let connecting = AsyncSmtpConnection::connect_with_transport(stream, &self.hello);
        let mut connection = connecting.await.map_err(SmtpError::connecting)?;
        if connection.can_starttls() {
            let starting = connection.starttls(self.tls.0.clone(), &self.hello);
            starting.await.map_err(SmtpError::connecting)?;
        } else if is_required {
            return Err(SmtpError::NoStartTls);
        }
        Ok(connection)
    }

    async fn log_in(&self, connection: &mut AsyncSmtpConnection) -> Result<(), SmtpError> {
        let Some(login) = &self.url.login else { return Ok(()) };
        if !connection.is_encrypted() && !self.allow_plain_password {
            return Err(SmtpError::PlainPassword);
        }
        let credentials = Credentials::new(login.user.clone(), login.password.expose().clone());
        let logging_in = connection.auth(DEFAULT_MECHANISMS, &credentials);
        logging_in.await.map(drop).map_err(SmtpError::logging_in)
    }
}

/// The certificates of the system, and those of one more file.
fn tls(host: &str, extra_ca_file: Option<&Path>) -> Result<Tls, SmtpError> {
    let mut tls = TlsParameters::builder(host.to_owned());
    if let Some(path) = extra_ca_file {
        let failed = |source| SmtpError::ExtraCa { path: path.to_owned(), source };
        for certificate in certificates_in(path).map_err(failed)? {
            let certificate = Certificate::from_der(certificate.to_vec()).map_err(SmtpError::SetupTls)?;
            tls = tls.add_root_certificate(certificate);
        }
    }
    tls.build_rustls().map(Tls).map_err(SmtpError::SetupTls)
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
