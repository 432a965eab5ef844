//! Mail: a server on this machine, and what a person takes from a mail.

use sluice_testkit::{Backend, ReceivedMail, SmtpServer, TestSluice};
use url::Url;

use super::people;

/// Whom mail is from in tests.
pub(super) const FROM: &str = "Sluice <no-reply@sluice.test>";

/// A node that sends its mail to this server.
pub(super) async fn node(backend: Backend, smtp: &SmtpServer, settings: &[(&str, &str)]) -> TestSluice {
    people::node(backend, &[&sends_to(&smtp.url()), settings].concat()).await
}

/// The settings of a node that sends its mail there.
pub(super) fn sends_to(url: &str) -> [(&'static str, &str); 2] {
    [("identity.mail.smtp.url", url), ("identity.mail.smtp.from", FROM)]
}

/// The code in a mail, as it is written there.
#[track_caller]
pub(super) fn code(mail: &ReceivedMail) -> String {
    let line = mail.text.lines().find_map(|line| line.strip_prefix("    "));
    line.unwrap_or_else(|| panic!("no code in {}", mail.text)).to_owned()
}

/// The link in a mail.
#[track_caller]
pub(super) fn link(mail: &ReceivedMail) -> Url {
    let words = mail.text.split_whitespace().find(|word| word.contains("?token="));
    words.unwrap_or_else(|| panic!("no link in {}", mail.text)).parse().unwrap()
}

/// What the link in a mail carries.
#[track_caller]
pub(super) fn token(mail: &ReceivedMail) -> String {
    link(mail).query_pairs().find(|(name, _)| name == "token").unwrap().1.into_owned()
}

/// The mails to an address, in the order in which they came.
pub(super) fn to<'a>(mails: &'a [ReceivedMail], address: &str) -> Vec<&'a ReceivedMail> {
    mails.iter().filter(|mail| mail.to == [address]).collect()
}
