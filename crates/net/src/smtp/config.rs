//! Through which server mail is sent, and as whom.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use super::{Mailbox, SmtpUrl};

/// Connections open to the server at once, unless told otherwise.
const CONNECTIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

/// Through which server mail is sent, and as whom.
#[derive(Debug, Clone)]
pub struct SmtpConfig {
    /// The server, with user name and password if it wants them.
    pub url: SmtpUrl,
    /// Whom mail is from. Its address also takes what cannot be delivered.
    pub from: Mailbox,
    /// Whom answers go to. Default: whom it is from.
    pub reply_to: Option<Mailbox>,
    /// The time for one mail: the wait for a connection, and all that is said on it. Default: 30 s.
    pub timeout: Duration,
    /// The most connections at once. Default: 4.
    pub pool_size: NonZeroUsize,
    /// A PEM file of certificates to trust besides those of the system. Default: none.
    pub extra_ca_file: Option<PathBuf>,
    /// How this machine introduces itself (RFC 5321 §4.1.1.1). Default: the name the system gives it, or else, if that has no
    /// domain, the domain that mail is from.
    pub hello_name: Option<String>,
    /// Whether the password may be sent over a connection that is not encrypted. Default: no.
    pub allow_plain_password: bool,
}

impl SmtpConfig {
    /// The defaults, for this server and sender.
    pub fn new(url: SmtpUrl, from: Mailbox) -> Self {
        Self {
            url,
            from,
            reply_to: None,
            timeout: Duration::from_secs(30),
            pool_size: CONNECTIONS,
            extra_ca_file: None,
            hello_name: None,
            allow_plain_password: false,
        }
    }
}
