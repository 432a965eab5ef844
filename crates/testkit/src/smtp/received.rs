//! A mail that was taken.

use mail_parser::{MessageParser, PartType};

/// A mail that was taken.
#[derive(Debug, Clone)]
pub struct ReceivedMail {
    /// `MAIL FROM`.
    pub from: String,
    /// `RCPT TO`.
    pub to: Vec<String>,
    /// Names and values as written, but unfolded.
    pub headers: Vec<(String, String)>,
    /// The subject, decoded.
    pub subject: String,
    /// The text, decoded.
    pub text: String,
    /// The HTML, decoded.
    pub html: Option<String>,
    /// All of it, as it came.
    pub raw: Vec<u8>,
    /// How it came.
    pub by: Delivery,
}

/// How a mail came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Whether the connection was encrypted.
    pub encrypted: bool,
    /// Who had logged in.
    pub user: Option<String>,
    /// `MAIL FROM` said `SMTPUTF8`.
    pub smtp_utf8: bool,
}

impl ReceivedMail {
    /// A header as written, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn parse(from: String, to: Vec<String>, raw: Vec<u8>, by: Delivery) -> Self {
        let message = MessageParser::default().parse(&raw).expect("a mail");
        let unfolded = |value: &str| value.replace("\r\n", "").trim().to_owned();
        let headers = message.headers_raw().map(|(name, value)| (name.to_owned(), unfolded(value))).collect();
        let subject = message.subject().unwrap_or_default().to_owned();
        let text = message.body_text(0).unwrap_or_default().into_owned();
        // Without HTML of its own, the parser would make some of the text.
        let html = message.parts.iter().find_map(|part| match &part.body {
            PartType::Html(html) => Some(html.clone().into_owned()),
            _ => None,
        });
        Self { from, to, headers, subject, text, html, raw, by }
    }
}
