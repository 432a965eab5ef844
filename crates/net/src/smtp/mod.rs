//! Mail: handing it to the SMTP server that takes it on (RFC 5321, RFC 6409).
//!
//! [`SmtpTransport`]: sends. [`SmtpConfig`]: through which server, as whom. [`SmtpUrl`]: how that server is written.
//! [`OutgoingMail`]: what is sent; `message`: as MIME. `pool`: connections and their reuse; `tls`: what their encryption takes; `plain_first`: those that begin in
//! plain text and become TLS; `bounded_replies`: how much is read of each; `dialogue`: what is said on them. [`SmtpError`]: what went wrong, and whether it is worth another attempt.
//!
//! Nothing is repeated here: who sends must keep the mail until it is taken. The library's own record of the dialogue,
//! which would show passwords and addresses, is not compiled in.

mod bounded_replies;
mod config;
mod dialogue;
mod error;
mod mailbox;
mod message;
mod plain_first;
mod pool;
mod server_url;
mod tls;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

pub use config::SmtpConfig;
pub use error::{SmtpError, SmtpReply};
pub use mailbox::{InvalidMailbox, Mailbox};
pub use message::{OutgoingMail, UnsendableMail};
pub use server_url::{InvalidSmtpUrl, SmtpUrl, StartTls};

use message::Sender;
use pool::Pool;

/// Sends mail through one server. Clones share connections.
#[derive(Debug, Clone)]
pub struct SmtpTransport {
    sender: Arc<Sender>,
    pool: Arc<Pool>,
    connections: NonZeroUsize,
    timeout: Duration,
}

impl SmtpTransport {
    /// Reads the trusted certificates and makes ready; nothing is connected yet.
    ///
    /// # Errors
    /// [`SmtpError::ExtraCa`], [`SmtpError::SetupTls`], [`SmtpError::CertificateName`], [`SmtpError::HelloName`],
    /// [`SmtpError::PlainPasswordConfigured`].
    pub fn new(config: &SmtpConfig) -> Result<Self, SmtpError> {
        let sender = Sender { from: config.from.clone(), reply_to: config.reply_to.clone() };
        let (connections, timeout) = (config.pool_size, config.timeout);
        Ok(Self { sender: Arc::new(sender), pool: Arc::new(Pool::new(config)?), connections, timeout })
    }

    /// How many mails are handed over at once at most; more wait for a connection, and that counts as their time.
    pub const fn connections(&self) -> NonZeroUsize {
        self.connections
    }

    /// How long one mail takes at most.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Gives up the mails that wait for a connection, and all that come from now on: [`SmtpError::Stopped`]. Of those that the
    /// server is being told of the answer is waited for: nobody else would hear it, and send them again.
    pub fn stop(&self) {
        self.pool.stop();
    }

    /// Hands over one mail. It is the server's once this succeeds; after an error that is temporary it may be, too,
    /// which is why a repeated mail carries the same `Message-ID`.
    ///
    /// # Errors
    /// [`SmtpError`]; see [`SmtpError::is_temporary`].
    pub async fn send(&self, mail: &OutgoingMail) -> Result<(), SmtpError> {
        let message = mail.message(&self.sender)?;
        let text = message.formatted();
        let sending = self.pool.send(message.envelope(), &text);
        // Whoever is stopped here drops the connection in the middle of its dialogue: it never goes back to the pool.
        timeout(self.timeout, sending).await.unwrap_or(Err(SmtpError::TimedOut))
    }
}
