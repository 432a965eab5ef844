//! How an SMTP server is written: `smtp://user:password@host:port?starttls=optional` or `smtps://host`.

use std::str::FromStr;

use percent_encoding::percent_decode_str;
use sluice_primitives::Secret;
use url::Url;

/// Message submission (RFC 6409 §3.1).
const SUBMISSION_PORT: u16 = 587;
/// Message submission over TLS (RFC 8314 §7.3).
const SUBMISSIONS_PORT: u16 = 465;

/// An SMTP server, and who one is there.
///
/// `smtps://` is TLS from the first byte, on port 465. `smtp://` begins in plain text on port 587 and must become TLS,
/// unless `?starttls=optional` or `?starttls=never` says otherwise. User name and password are percent-encoded.
#[derive(Debug, Clone)]
pub struct SmtpUrl {
    pub(super) encryption: Encryption,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) login: Option<Login>,
}

/// When a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    /// From the first byte (RFC 8314 §3.3).
    Implicit,
    /// After `STARTTLS` (RFC 3207).
    StartTls(StartTls),
}

/// Whether a connection that begins in plain text must become encrypted (RFC 3207).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartTls {
    /// A server that does not offer it gets no mail.
    #[default]
    Required,
    /// Encrypted where the server offers it. Whoever sits in between can make that never.
    Optional,
    /// Never encrypted: for a server on this machine.
    Never,
}

/// Who one is at the server (RFC 4954).
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: Secret<String>,
}

/// Why a text is no [`SmtpUrl`]. Never repeats the text, which may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSmtpUrl {
    /// Not a URL at all.
    #[error("the mail server is not written as a URL; a user name or password may need percent-encoding")]
    NotUrl,
    /// Another scheme.
    #[error("the URL of the mail server is neither smtp:// nor smtps://")]
    Scheme,
    /// No host, or one that is none.
    #[error("the URL of the mail server names no host")]
    Host,
    /// A path or fragment.
    #[error("the URL of the mail server goes on after the host")]
    Path,
    /// Not `starttls=required`, `optional` or `never`, or not with this scheme.
    #[error("the only parameter is starttls=required, optional or never, and for smtp:// only")]
    Parameter,
    /// User name or password without the other, or not readable.
    #[error("user name and password of the mail server do not belong together or cannot be read")]
    Login,
}

impl FromStr for SmtpUrl {
    type Err = InvalidSmtpUrl;

    fn from_str(raw: &str) -> Result<Self, InvalidSmtpUrl> {
        let url = Url::parse(raw).map_err(|_| InvalidSmtpUrl::NotUrl)?;
        let encryption = encryption(&url)?;
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(InvalidSmtpUrl::Path);
        }
        let default_port = match encryption {
            Encryption::Implicit => SUBMISSIONS_PORT,
            Encryption::StartTls(_) => SUBMISSION_PORT,
        };
        let port = url.port().unwrap_or(default_port);
        Ok(Self { encryption, host: host(&url)?, port, login: login(&url)? })
    }
}

impl SmtpUrl {
    /// Whether a connection is certain to stay plain text.
    pub(super) fn is_always_plain(&self) -> bool {
        self.encryption == Encryption::StartTls(StartTls::Never)
    }
}

fn encryption(url: &Url) -> Result<Encryption, InvalidSmtpUrl> {
    let mut start_tls = None;
    for (name, value) in url.query_pairs() {
        let value = match value.as_ref() {
            "required" => StartTls::Required,
            "optional" => StartTls::Optional,
            "never" => StartTls::Never,
            _ => return Err(InvalidSmtpUrl::Parameter),
        };
        if name != "starttls" || start_tls.replace(value).is_some() {
            return Err(InvalidSmtpUrl::Parameter);
        }
    }
    match (url.scheme(), start_tls) {
        ("smtps", None) => Ok(Encryption::Implicit),
        ("smtps", Some(_)) => Err(InvalidSmtpUrl::Parameter),
        ("smtp", start_tls) => Ok(Encryption::StartTls(start_tls.unwrap_or_default())),
        _ => Err(InvalidSmtpUrl::Scheme),
    }
}

/// Schemes the URL standard does not know keep their hosts as written: what is not ASCII would stay percent-encoded.
fn host(url: &Url) -> Result<String, InvalidSmtpUrl> {
    let host = url.host_str().filter(|host| !host.is_empty() && !host.contains('%'));
    let host = host.ok_or(InvalidSmtpUrl::Host)?;
    Ok(host.trim_start_matches('[').trim_end_matches(']').to_owned())
}

fn login(url: &Url) -> Result<Option<Login>, InvalidSmtpUrl> {
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) | (_, None) => Err(InvalidSmtpUrl::Login),
        (user, Some(password)) => {
            Ok(Some(Login { user: decoded(user)?, password: Secret::new(decoded(password)?) }))
        }
    }
}

/// NUL separates the fields of `AUTH PLAIN` (RFC 4616 §2), so that a control character is never part of one.
fn decoded(encoded: &str) -> Result<String, InvalidSmtpUrl> {
    let text = percent_decode_str(encoded).decode_utf8().map_err(|_| InvalidSmtpUrl::Login)?;
    if text.is_empty() || text.contains(char::is_control) {
        return Err(InvalidSmtpUrl::Login);
    }
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(raw: &str) -> Result<SmtpUrl, InvalidSmtpUrl> {
        raw.parse()
    }

    #[test]
    fn a_server_is_encrypted_unless_told_otherwise() {
        let encryption = |raw| parsed(raw).unwrap().encryption;
        assert_eq!(encryption("smtp://mail.example.org"), Encryption::StartTls(StartTls::Required));
        assert_eq!(
            encryption("smtp://mail.example.org/?starttls=optional"),
            Encryption::StartTls(StartTls::Optional)
        );
        assert_eq!(encryption("smtp://localhost:25?starttls=never"), Encryption::StartTls(StartTls::Never));
        assert_eq!(encryption("smtps://mail.example.org"), Encryption::Implicit);
    }

    #[test]
    fn a_server_without_a_port_takes_submissions() {
        let address = |raw| parsed(raw).map(|url| (url.host, url.port)).unwrap();
        assert_eq!(address("smtp://mail.example.org"), ("mail.example.org".to_owned(), 587));
        assert_eq!(address("smtps://192.0.2.1"), ("192.0.2.1".to_owned(), 465));
        assert_eq!(address("smtps://[2001:db8::1]:2465"), ("2001:db8::1".to_owned(), 2465));
    }

    #[test]
    fn user_name_and_password_are_decoded_and_the_password_never_printed() {
        let url = parsed("smtp://a%40example.org:p%3A%2F%20s@mail.example.org").unwrap();
        let login = url.login.as_ref().unwrap();
        assert_eq!((login.user.as_str(), login.password.expose().as_str()), ("a@example.org", "p:/ s"));
        assert!(!format!("{url:?}").contains("p:/ s"), "{url:?}");
    }

    #[test]
    fn what_is_misspelt_is_refused_rather_than_ignored() {
        for (raw, expected) in [
            ("mail.example.org:25", InvalidSmtpUrl::Scheme),
            ("not a url", InvalidSmtpUrl::NotUrl),
            ("https://mail.example.org", InvalidSmtpUrl::Scheme),
            ("smtp://", InvalidSmtpUrl::Host),
            ("smtp://m%C3%BCnchen.example", InvalidSmtpUrl::Host),
            ("smtp://mail.example.org/inbox", InvalidSmtpUrl::Path),
            ("smtp://mail.example.org?startls=never", InvalidSmtpUrl::Parameter),
            ("smtp://mail.example.org?starttls=no", InvalidSmtpUrl::Parameter),
            ("smtp://mail.example.org?starttls=never&starttls=required", InvalidSmtpUrl::Parameter),
            ("smtps://mail.example.org?starttls=never", InvalidSmtpUrl::Parameter),
            ("smtp://user@mail.example.org", InvalidSmtpUrl::Login),
            ("smtp://:password@mail.example.org", InvalidSmtpUrl::Login),
            ("smtp://user:a%00b@mail.example.org", InvalidSmtpUrl::Login),
        ] {
            assert_eq!(parsed(raw).map(|_| ()), Err(expected), "{raw}");
        }
    }
}
