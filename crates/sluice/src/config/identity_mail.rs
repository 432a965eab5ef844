//! `identity.mail`: how people are written to.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use sluice_net::smtp::{Mailbox, SmtpUrl};

use super::key::{Key, Kind};
use super::reader::Reader;

const URL: &str = "identity.mail.smtp.url";
const FROM: &str = "identity.mail.smtp.from";
const REPLY_TO: &str = "identity.mail.smtp.reply_to";

/// As many as a mail server may be asked for.
const CONNECTIONS: Kind = Kind::Integer { min: 1, max: 256 };

const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);
const LONGEST_TIMEOUT: Duration = Duration::from_mins(5);

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "smtp.url",
        Kind::Secret,
        "The mail server: `smtps://user:password@host`, or `smtp://…` with STARTTLS, which `?starttls=optional` and \
         `?starttls=never` loosen; user name and password are percent-encoded. Without it no mail is sent. \
         Where it is set only later, nobody's address is verified: a recovery then takes the second factors of its account away. Say \
         before, with `email_verified`, whose addresses are known.",
    ),
    Key::own(
        "smtp.from",
        Kind::Text,
        "Whom mail is from: `Example <no-reply@example.com>`. Required with `smtp.url`.",
    ),
    Key::own("smtp.reply_to", Kind::Text, "Whom answers go to; by default whom mail is from."),
    Key::own(
        "smtp.ca_file",
        Kind::Path,
        "A PEM file of authorities that are believed besides those of the system.",
    ),
    Key::own(
        "smtp.hello_name",
        Kind::Text,
        "How a node introduces itself to the mail server (`EHLO`): a full host name, or an address in brackets. By default as the \
         system calls it, or, if that name has no domain, as in containers, the domain of `smtp.from`.",
    ),
    Key::own("smtp.timeout", Kind::Duration, "How long it may take to hand one mail over; from 1s to 5m.")
        .with_default("30s"),
    Key::own(
        "smtp.connections",
        CONNECTIONS,
        "How many mails a node hands over at once, each over a connection of its own.",
    )
    .with_default("4"),
    Key::own(
        "templates",
        Kind::Path,
        "A folder of templates that write mails instead of the built-in ones (`docs/identity/mail.md`).",
    ),
];

/// How people are written to.
#[derive(Debug, Clone)]
pub(crate) struct MailSettings {
    pub(crate) url: SmtpUrl,
    pub(crate) from: Mailbox,
    /// Default: whom mail is from.
    pub(crate) reply_to: Option<Mailbox>,
    /// PEM; authorities besides those of the system. Default: none.
    pub(crate) ca_file: Option<PathBuf>,
    /// How this machine introduces itself. Default: as the system calls it, or the domain that mail is from.
    pub(crate) hello_name: Option<String>,
    /// Of one mail. Default: 30 s; from 1 s to 5 min.
    pub(crate) timeout: Duration,
    /// At once. Default: 4.
    pub(crate) connections: NonZeroUsize,
    /// A folder of templates. Default: none, and the built-in ones write all mails.
    pub(crate) templates: Option<PathBuf>,
}

/// Reads the section; `None` when no server is given, or none that can be.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<MailSettings> {
    let url = reader.secret(URL).map(|text| text.expose().parse::<SmtpUrl>());
    let (from, reply_to) = (read_mailbox(reader, FROM), read_mailbox(reader, REPLY_TO));
    let ca_file = reader.path("identity.mail.smtp.ca_file");
    let timeout = reader.duration_within("identity.mail.smtp.timeout", SHORTEST_TIMEOUT..=LONGEST_TIMEOUT);
    let connections = reader.integer("identity.mail.smtp.connections").and_then(NonZeroUsize::new);
    let templates = reader.path("identity.mail.templates");
    let hello_name = reader.text("identity.mail.smtp.hello_name");
    let url = match url? {
        Ok(url) => url,
        Err(invalid) => {
            reader.refuse(URL, format!("is wrong: {invalid}"));
            return None;
        }
    };
    if !reader.has(FROM) {
        reader.refuse(FROM, format!("is required with {URL}"));
    }
    let (from, connections) = (from?, connections?);
    Some(MailSettings { url, from, reply_to, ca_file, hello_name, timeout, connections, templates })
}

fn read_mailbox(reader: &mut Reader<'_>, key: &str) -> Option<Mailbox> {
    let mailbox = reader.text(key)?.parse::<Mailbox>();
    mailbox.inspect_err(|invalid| reader.refuse(key, format!("is {invalid}"))).ok()
}
