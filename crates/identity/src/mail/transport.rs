//! Who carries mail. Through a mail server: the transport of [`sluice_net::smtp`].

use std::error::Error;
use std::fmt;

use async_trait::async_trait;
use sluice_net::smtp::{OutgoingMail, SmtpTransport};
use sluice_primitives::Timestamp;
use uuid::Uuid;

/// A mail, written out. Prints nothing but its id: the text may hold what opens an account.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedMail {
    /// What makes it one of its kind: the same in each attempt.
    pub id: Uuid,
    /// The address.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The text.
    pub text: String,
    /// The text as HTML.
    pub html: String,
    /// When it was written: the same in each attempt.
    pub written_at: Timestamp,
}

impl fmt::Debug for RenderedMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedMail").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why a mail was not taken.
#[derive(Debug, thiserror::Error)]
#[error("the mail was not taken")]
pub struct MailError {
    /// Whether another attempt later may succeed.
    pub is_temporary: bool,
    /// Why. Names no address.
    #[source]
    pub cause: Box<dyn Error + Send + Sync>,
}

/// Carries mail.
#[async_trait]
pub trait MailTransport: Send + Sync {
    /// Hands a mail over.
    ///
    /// # Errors
    /// [`MailError`] if it was not taken; after one that is temporary it may have been.
    async fn send(&self, mail: &RenderedMail) -> Result<(), MailError>;

    /// How many mails it carries at once; those that are too many would wait.
    fn at_once(&self) -> u32 {
        16
    }
}

#[async_trait]
impl MailTransport for SmtpTransport {
    async fn send(&self, mail: &RenderedMail) -> Result<(), MailError> {
        let outgoing = OutgoingMail {
            to: mail.to.clone(),
            subject: mail.subject.clone(),
            text: mail.text.clone(),
            html: Some(mail.html.clone()),
            message_id: mail.id.to_string(),
            date: mail.written_at,
            headers: Vec::new(),
        };
        let sent = Self::send(self, &outgoing).await;
        sent.map_err(|error| MailError { is_temporary: error.is_temporary(), cause: Box::new(error) })
    }

    fn at_once(&self) -> u32 {
        u32::try_from(self.connections().get()).unwrap_or(u32::MAX)
    }
}
