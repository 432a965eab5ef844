//! Who carries mail. Through a mail server: the transport of [`sluice_net::smtp`].

use std::error::Error;
use std::fmt;

use async_trait::async_trait;
use sluice_net::smtp::{OutgoingMail, SmtpError, SmtpTransport};
use sluice_primitives::{Lifetime, Timestamp};
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
    /// What is to become of it.
    pub fate: MailFate,
    /// Why. Names no address.
    #[source]
    pub cause: Box<dyn Error + Send + Sync>,
}

/// What is to become of a mail that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailFate {
    /// No other attempt succeeds.
    Refused,
    /// Another attempt later may succeed. It may have been taken all the same.
    Deferred,
    /// It was not tried at all, because no more mail is sent here: [`MailTransport::stop`].
    Untried,
}

/// Carries mail.
#[async_trait]
pub trait MailTransport: Send + Sync {
    /// Hands a mail over.
    ///
    /// # Errors
    /// [`MailError`] if it was not taken; one that is [`MailFate::Deferred`] may have been.
    async fn send(&self, mail: &RenderedMail) -> Result<(), MailError>;

    /// How many mails it carries at once; those that are too many would wait.
    fn at_once(&self) -> u32 {
        16
    }

    /// How long one mail takes at most.
    fn longest(&self) -> Lifetime {
        Lifetime::secs(30)
    }

    /// From now on mails are [`MailFate::Untried`], but those that are on their way.
    fn stop(&self) {}
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
        sent.map_err(|error| MailError { fate: fate(&error), cause: Box::new(error) })
    }

    fn at_once(&self) -> u32 {
        u32::try_from(self.connections().get()).unwrap_or(u32::MAX)
    }

    fn longest(&self) -> Lifetime {
        self.timeout().into()
    }

    fn stop(&self) {
        Self::stop(self);
    }
}

fn fate(error: &SmtpError) -> MailFate {
    match error {
        SmtpError::Stopped => MailFate::Untried,
        error if error.is_temporary() => MailFate::Deferred,
        _ => MailFate::Refused,
    }
}
