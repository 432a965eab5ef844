//! A mail, as MIME (RFC 5322, RFC 2045, RFC 6532).

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use lettre::Message;
use lettre::message::header::{self, HeaderName, HeaderValue};
use lettre::message::{MultiPart, SinglePart};
use sluice_primitives::Timestamp;

use super::Mailbox;
use super::mailbox::address;

/// Nobody should answer on behalf of the recipient (RFC 3834 §5).
const AUTO_SUBMITTED: (&str, &str) = ("Auto-Submitted", "auto-generated");
/// The last second that fits into `Date`.
const LAST_SECOND: u64 = 253_402_300_799;
/// A header name that leaves its line room for a value.
const LONGEST_NAME: usize = 76;
/// The transport's own: further headers may not speak for it.
const RESERVED: [&str; 12] = [
    "from",
    "sender",
    "reply-to",
    "to",
    "cc",
    "bcc",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "return-path",
    "received",
];
/// The transport's own too: what the parts are.
const RESERVED_PREFIX: &str = "content-";

/// A mail to one recipient. Prints nothing but its id: the text may hold what opens an account.
#[derive(Clone)]
pub struct OutgoingMail {
    /// The recipient's address, without a name.
    pub to: String,
    /// The subject, in any script.
    pub subject: String,
    /// The text.
    pub text: String,
    /// The text as HTML. Without it, the mail is plain text.
    pub html: Option<String>,
    /// What makes the mail one of its kind: letters, digits, `-`, `_` and `.`. The same in each attempt, so that a mail
    /// delivered twice can be recognised; `Message-ID` is this at the sender's domain.
    pub message_id: String,
    /// When it was written; the same in each attempt too.
    pub date: Timestamp,
    /// Further headers, such as `List-Unsubscribe`. `Auto-Submitted: auto-generated` (RFC 3834) is there already.
    pub headers: Vec<(String, String)>,
}

/// Why a mail cannot be sent to anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsendableMail {
    /// The recipient is no single address.
    #[error("the recipient is not an e-mail address")]
    Recipient,
    /// Line breaks and other control characters would be headers of their own.
    #[error("the subject holds a control character")]
    Subject,
    /// The id holds something else than letters, digits, `-`, `_` and `.`.
    #[error("the id of the mail cannot be a Message-ID")]
    MessageId,
    /// A further header has no proper name or value, or one of the transport's own.
    #[error("a further header of the mail cannot be sent")]
    Header,
    /// Something else.
    #[error("the mail cannot be written")]
    Unwritable,
}

/// Whom mail is from, and whom answers go to.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) from: Mailbox,
    pub(super) reply_to: Option<Mailbox>,
}

impl fmt::Debug for OutgoingMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingMail").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}

impl OutgoingMail {
    /// The mail, ready to be sent. All of it but raw headers for a recipient that is not ASCII is ASCII.
    pub(super) fn message(&self, sender: &Sender) -> Result<Message, UnsendableMail> {
        let to = address(&self.to).ok_or(UnsendableMail::Recipient)?;
        if self.subject.contains(char::is_control) {
            return Err(UnsendableMail::Subject);
        }
        let from = sender.from.0.clone();
        let message_id = self.message_id(from.email.domain())?;
        let mut builder = Message::builder()
            .from(from)
            .to(to.into())
            .subject(self.subject.as_str())
            .message_id(Some(message_id))
            .header(self.date_header());
        if let Some(reply_to) = &sender.reply_to {
            builder = builder.reply_to(reply_to.0.clone());
        }
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in [AUTO_SUBMITTED].into_iter().chain(own) {
            builder = builder.raw_header(further_header(name, value)?);
        }
        let message = match &self.html {
            Some(html) => {
                builder.multipart(MultiPart::alternative_plain_html(self.text.clone(), html.clone()))
            }
            None => builder.singlepart(SinglePart::plain(self.text.clone())),
        };
        message.map_err(|_| UnsendableMail::Unwritable)
    }

    fn message_id(&self, domain: &str) -> Result<String, UnsendableMail> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.message_id.is_empty() || !self.message_id.chars().all(is_plain) {
            return Err(UnsendableMail::MessageId);
        }
        Ok(format!("<{}@{domain}>", self.message_id))
    }

    fn date_header(&self) -> header::Date {
        let seconds = u64::try_from(self.date.as_secs()).unwrap_or_default().min(LAST_SECOND);
        header::Date::new(UNIX_EPOCH + Duration::from_secs(seconds))
    }
}

fn further_header(name: &str, value: &str) -> Result<HeaderValue, UnsendableMail> {
    let lower = name.to_ascii_lowercase();
    let is_reserved = RESERVED.contains(&lower.as_str()) || lower.starts_with(RESERVED_PREFIX);
    // RFC 5322 §2.2: printable ASCII but the colon. The library would let a line break through.
    let is_name = name.len() <= LONGEST_NAME && name.bytes().all(|byte| byte.is_ascii_graphic());
    if is_reserved || !is_name || value.contains(char::is_control) {
        return Err(UnsendableMail::Header);
    }
    let name = HeaderName::new_from_ascii(name.to_owned()).map_err(|_| UnsendableMail::Header)?;
    Ok(HeaderValue::new(name, value.to_owned()))
}

#[cfg(test)]
mod tests;
