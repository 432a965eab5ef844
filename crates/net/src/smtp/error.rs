//! What went wrong with a mail.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use lettre::transport::smtp;

use super::UnsendableMail;
use super::bounded_replies::EndlessReply;

/// Replies about who one is, not about the mail (RFC 4954 §6).
const ABOUT_LOGIN: [u16; 4] = [530, 534, 535, 538];
/// What Postfix says of whom a mail is from, whatever its codes are.
const SENDER_REJECTED: &str = "Sender address rejected";

/// What went wrong with a mail. None of these sentences repeats an address or what the server wrote, which may.
#[derive(Debug, thiserror::Error)]
pub enum SmtpError {
    /// The file of further certificates is no good.
    #[error("the certificates of {} cannot be used", path.display())]
    ExtraCa {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// TLS cannot be set up.
    #[error("the TLS side of the mail client cannot be made")]
    SetupTls(#[source] Box<dyn Error + Send + Sync>),
    /// The server must use TLS, and is written in a way in which no certificate names a host.
    #[error("the host of the mail server is no name that a certificate can have")]
    CertificateName,
    /// The name to introduce oneself by is no name of a machine.
    #[error("the name for the mail server's greeting is no host name")]
    HelloName,
    /// A password for a connection that is never encrypted.
    #[error("the mail server's password would be sent in plain text, which is not allowed")]
    PlainPasswordConfigured,
    /// The mail cannot be written down.
    #[error(transparent)]
    Unsendable(#[from] UnsendableMail),
    /// The recipient's address is not ASCII, and the server takes no such address (RFC 6531).
    #[error("the mail server takes no address that is not ASCII")]
    NeedsSmtpUtf8,
    /// The server refused this mail.
    #[error("the mail server refused the mail: {0}")]
    Refused(SmtpReply),
    /// The server does not take this mail now, or none.
    #[error("the mail server does not take the mail now: {0}")]
    Deferred(SmtpReply),
    /// The server refused user name and password, or demands them.
    #[error("the mail server refused the login: {0}")]
    LoginRefused(SmtpReply),
    /// The server knows no way to log in that is known here, which are `PLAIN` and `LOGIN`.
    #[error("the mail server offers no login that is known here")]
    NoLogin,
    /// The server does not offer encryption, which is required.
    #[error("the mail server does not offer STARTTLS")]
    NoStartTls,
    /// The server does not offer encryption, so that the password was not sent.
    #[error("the mail server does not offer STARTTLS: the password was not sent")]
    PlainPassword,
    /// Name resolution, connection or TLS failed, also in the middle.
    #[error("the mail server cannot be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The connection ended without an answer, or the answer was not SMTP.
    #[error("the mail server hung up or did not answer in SMTP")]
    NoAnswer,
    /// A line, or all of a reply, was longer than any is.
    #[error("a reply of the mail server has no end")]
    EndlessReply,
    /// Not done within the configured time.
    #[error("the mail server took too long")]
    TimedOut,
    /// Given up before the server was told of the mail ([`SmtpTransport::stop`](super::SmtpTransport::stop)).
    #[error("no mails are sent any more")]
    Stopped,
}

/// What the server replied: the code, and the status code if it gave one (RFC 3463).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmtpReply {
    code: u16,
    status: Option<[u16; 3]>,
    /// Whether its text names the sender as what is refused.
    blames_sender: bool,
}

impl SmtpError {
    /// Whether another attempt later may succeed. All that is about the connection, the login, the sender or the dialogue is temporary,
    /// so that a server misconfigured for an hour loses no mail; a 5xx to the mail itself is not (RFC 5321 §4.2.1).
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::ExtraCa { .. } | Self::SetupTls(_) | Self::CertificateName => false,
            Self::HelloName | Self::PlainPasswordConfigured => false,
            Self::Unsendable(_) | Self::NeedsSmtpUtf8 | Self::Refused(_) => false,
            Self::Deferred(_) | Self::LoginRefused(_) | Self::NoLogin => true,
            Self::NoStartTls | Self::PlainPassword => true,
            Self::Unreachable(_) | Self::NoAnswer | Self::EndlessReply => true,
            Self::TimedOut | Self::Stopped => true,
        }
    }

    /// What the server replied, if it did.
    pub fn reply(&self) -> Option<SmtpReply> {
        match self {
            Self::Refused(reply) | Self::Deferred(reply) | Self::LoginRefused(reply) => Some(*reply),
            _ => None,
        }
    }

    /// Before the server was told of a mail.
    pub(super) fn connecting(error: smtp::Error) -> Self {
        match SmtpReply::of(&error) {
            Some(reply) if ABOUT_LOGIN.contains(&reply.code) => Self::LoginRefused(reply),
            Some(reply) => Self::Deferred(reply),
            None => Self::without_reply(error),
        }
    }

    /// In answer to user name and password.
    pub(super) fn logging_in(error: smtp::Error) -> Self {
        match SmtpReply::of(&error) {
            Some(reply) if error.is_permanent() => Self::LoginRefused(reply),
            None if error.is_client() => Self::NoLogin,
            _ => Self::connecting(error),
        }
    }

    /// In answer to whom a mail is from, which is the same of all: a server that refuses it for good is one for another
    /// configuration, and no mail is to blame.
    pub(super) fn introducing(error: smtp::Error) -> Self {
        Self::connecting(error)
    }

    /// In answer to a mail: to its recipient, or its text.
    pub(super) fn sending(error: smtp::Error) -> Self {
        match SmtpReply::of(&error) {
            Some(reply) if ABOUT_LOGIN.contains(&reply.code) => Self::LoginRefused(reply),
            Some(reply) if error.is_permanent() && reply.is_about_mail() => Self::Refused(reply),
            Some(reply) => Self::Deferred(reply),
            None => Self::without_reply(error),
        }
    }

    /// The library's error about an unreadable answer repeats it.
    fn without_reply(error: smtp::Error) -> Self {
        if error.is_response() {
            Self::NoAnswer
        } else if EndlessReply::is_cause_of(&error) {
            Self::EndlessReply
        } else {
            Self::Unreachable(Box::new(error))
        }
    }
}

impl SmtpReply {
    /// The code: 4xx or 5xx (RFC 5321 §4.2.1).
    pub const fn code(self) -> u16 {
        self.code
    }

    /// Whether it is about the recipient or the text: neither about how this machine speaks, nor about whom the mail is from.
    fn is_about_mail(self) -> bool {
        !self.is_about_dialogue() && !self.is_about_sender()
    }

    /// Whether it is about whom the mail is from, which is the same of all: a bad address (RFC 3463 §3.2), or one that the login may not
    /// use. Postfix says so in answer to the recipient (`smtpd_delay_reject`), and 553 with a status about policy to an address that is
    /// somebody else's.
    fn is_about_sender(self) -> bool {
        let has_status_of_sender = match self.status {
            Some([_, 1, 7 | 8]) => true,
            Some([_, 7, _]) => self.code == 553,
            _ => false,
        };
        has_status_of_sender || self.blames_sender
    }

    /// Whether it is about how this machine speaks, or as whom, and not about the mail (RFC 5321 §4.2.3): the status code, if there is
    /// one, says so, too (RFC 3463 §3.6). Postfix says `504 5.5.2` to a name that it does not take; 501 may be about an address.
    fn is_about_dialogue(self) -> bool {
        let is_of_dialogue = self.status.is_none_or(|[_, subject, _]| subject == 5);
        is_of_dialogue && matches!(self.code, 500 | 502 | 503 | 504)
    }

    fn of(error: &smtp::Error) -> Option<Self> {
        let code = error.status()?.to_string().parse().ok()?;
        let text = error.source().map(ToString::to_string).unwrap_or_default();
        Some(Self::new(code, &text))
    }

    /// Of the text nothing is kept that could be an address.
    fn new(code: u16, text: &str) -> Self {
        Self { code, status: status_code(text), blames_sender: text.contains(SENDER_REJECTED) }
    }
}

impl fmt::Display for SmtpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        let Some([class, subject, detail]) = self.status else { return Ok(()) };
        write!(f, " {class}.{subject}.{detail}")
    }
}

/// The status code a reply's text begins with: `5.1.1` (RFC 3463 §2).
fn status_code(text: &str) -> Option<[u16; 3]> {
    let mut numbers = text.split_whitespace().next()?.splitn(3, '.').map(str::parse);
    let mut number = || numbers.next()?.ok();
    Some([number()?, number()?, number()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_keeps_its_codes_and_nothing_else() {
        let reply = |text| SmtpReply::new(550, text).to_string();
        assert_eq!(reply("5.1.1 <alice@example.org>: unknown"), "550 5.1.1");
        assert_eq!(reply("no such user alice@example.org"), "550");
        assert_eq!(reply(""), "550");
    }

    #[test]
    fn a_reply_about_how_this_machine_speaks_is_not_about_the_mail() {
        let is_about = |code, text| SmtpReply::new(code, text).is_about_dialogue();
        assert!(is_about(504, "5.5.2 <vm>: Helo command rejected: need fully-qualified hostname"));
        assert!(is_about(503, "bad sequence of commands") && is_about(500, "what?"));
        assert!(!is_about(550, "5.5.0 mailbox unavailable") && !is_about(501, "5.5.4 invalid arguments"));
        assert!(!is_about(501, "5.1.3 Bad recipient address syntax") && !is_about(550, "5.7.1 spam"));
        assert!(!is_about(550, "no such user"));
    }

    #[test]
    fn a_reply_about_whom_a_mail_is_from_is_not_about_the_mail() {
        for (code, text) in [
            (553, "5.7.1 <no-reply@example.org>: Sender address rejected: not owned by user sluice"),
            (553, "5.7.1 you may not send as that"),
            (550, "5.1.8 <no-reply@example.org>: domain not found"),
            (553, "5.1.7 bad address"),
            (554, "5.7.1 <no-reply@example.org>: Sender address rejected: Access denied"),
            (550, "<no-reply@example.org>: Sender address rejected"),
        ] {
            assert!(!SmtpReply::new(code, text).is_about_mail(), "{code} {text}");
        }
        for (code, text) in [
            (553, "5.1.3 Bad recipient address syntax"),
            (553, "not allowed"),
            (550, "5.1.1 <alice@example.com>: Recipient address rejected: User unknown"),
            (554, "5.7.1 <alice@example.com>: Relay access denied"),
            (550, "5.7.8 spam"),
            (554, "Message rejected: Email address is not verified"),
        ] {
            assert!(SmtpReply::new(code, text).is_about_mail(), "{code} {text}");
        }
    }
}
