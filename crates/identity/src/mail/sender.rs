//! [`MailSender`]: who writes to people, and where mails lead to.

use super::content::one_line;

/// Who writes to people, and whom people turn to. None of it is kept with the mails that wait: they say what holds when they
/// are sent.
#[derive(Debug, Clone, Default)]
pub struct MailSender {
    /// What people call the service.
    pub service: String,
    /// Where people find help: a URL, or a mail address.
    pub support: Option<String>,
    /// Whether somebody reads the answers to mails.
    pub reads_answers: bool,
    /// Where people look after their account, if there is a page for that alone.
    pub account: Option<String>,
    /// Where people set another password.
    pub recover: Option<String>,
}

impl MailSender {
    /// The service that people know by this name, and nothing else that mails could name.
    pub fn named(service: &str) -> Self {
        Self { service: one_line(service), ..Self::default() }
    }
}
