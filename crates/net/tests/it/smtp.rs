//! What mail is when it arrives, and how it gets there.

use std::time::Duration;

use sluice_net::{Mailbox, OutgoingMail, SmtpConfig, SmtpError, SmtpTransport};
use sluice_primitives::Timestamp;
use sluice_testkit::{SmtpOptions, SmtpServer, SmtpTls};
use tempfile::NamedTempFile;

pub(crate) fn mail() -> OutgoingMail {
    OutgoingMail {
        to: "alice@example.com".into(),
        subject: "Bestätigung ✓".into(),
        text: "Grüße\r\n.\r\n..und noch etwas.\r\n".into(),
        html: Some("<p>Grüße</p>\r\n".into()),
        message_id: "0190-row".into(),
        date: Timestamp::from_secs(1_700_000_000),
        headers: vec![("List-Id".into(), "<accounts.example.org>".into())],
    }
}

pub(crate) fn mail_to(to: &str) -> OutgoingMail {
    OutgoingMail { to: to.into(), ..mail() }
}

pub(crate) fn config(url: &str) -> SmtpConfig {
    let from: Mailbox = "Dépôt <no-reply@example.org>".parse().unwrap();
    SmtpConfig { timeout: Duration::from_secs(10), ..SmtpConfig::new(url.parse().unwrap(), from) }
}

pub(crate) fn transport(config: &SmtpConfig) -> SmtpTransport {
    SmtpTransport::new(config).unwrap()
}

/// The file must outlive the transport's making only.
pub(crate) fn trusting(server: &SmtpServer) -> SmtpTransport {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), server.ca_pem()).unwrap();
    transport(&SmtpConfig { extra_ca_file: Some(file.path().into()), ..config(&server.url()) })
}

fn with_login() -> SmtpOptions {
    let login = Some(("sluice".to_owned(), "hunter2".to_owned()));
    SmtpOptions { tls: SmtpTls::StartTls, login, ..SmtpOptions::default() }
}

#[tokio::test]
async fn a_mail_arrives_as_it_was_written() {
    let server = SmtpServer::start().await;
    let reply_to = Some("Hilfe <help@example.org>".parse().unwrap());
    let transport = transport(&SmtpConfig { reply_to, ..config(&server.url()) });

    transport.send(&mail()).await.unwrap();

    let received = server.wait_for_mail_to("alice@example.com").await;
    assert_eq!((received.from.as_str(), received.to.len()), ("no-reply@example.org", 1));
    assert_eq!(received.subject, "Bestätigung ✓");
    assert_eq!(received.text, "Grüße\r\n.\r\n..und noch etwas.\r\n");
    assert_eq!(received.html.as_deref().map(str::trim_end), Some("<p>Grüße</p>"));
    assert_eq!(received.header("message-id"), Some("<0190-row@example.org>"));
    assert_eq!(received.header("to"), Some("alice@example.com"));
    assert_eq!(received.header("reply-to"), Some("Hilfe <help@example.org>"));
    assert_eq!(received.header("auto-submitted"), Some("auto-generated"));
    assert_eq!(received.header("list-id"), Some("<accounts.example.org>"));
    assert!(received.raw.is_ascii());
}

#[tokio::test]
async fn a_mail_without_html_is_plain_text() {
    let server = SmtpServer::start().await;
    let plain = OutgoingMail { html: None, ..mail() };
    transport(&config(&server.url())).send(&plain).await.unwrap();
    let received = server.wait_for(1).await.remove(0);
    assert_eq!((received.text.trim_end(), received.html), (plain.text.trim_end(), None));
}

#[tokio::test]
async fn mails_one_after_another_share_a_connection() {
    let server = SmtpServer::start().await;
    let transport = transport(&config(&server.url()));
    transport.send(&mail_to("alice@example.com")).await.unwrap();
    transport.clone().send(&mail_to("bob@example.com")).await.unwrap();
    let recipients: Vec<_> = server.wait_for(2).await.into_iter().flat_map(|mail| mail.to).collect();
    assert_eq!(recipients, ["alice@example.com", "bob@example.com"]);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn there_are_never_more_connections_than_configured() {
    let server = SmtpServer::start().await;
    let pool_size = 2.try_into().unwrap();
    let transport = transport(&SmtpConfig { pool_size, ..config(&server.url()) });
    let recipients: Vec<_> = (0..8).map(|number| mail_to(&format!("user{number}@example.com"))).collect();
    let sent = futures_util::future::join_all(recipients.iter().map(|mail| transport.send(mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert_eq!(server.wait_for(8).await.len(), 8);
    assert!(server.connections() <= 2, "{}", server.connections());
}

#[tokio::test]
async fn a_connection_becomes_encrypted_by_starttls() {
    let options = SmtpOptions { tls: SmtpTls::StartTls, ..SmtpOptions::default() };
    let server = SmtpServer::start_with(options).await;
    trusting(&server).send(&mail()).await.unwrap();
    assert!(server.wait_for(1).await.remove(0).by.encrypted);
}

#[tokio::test]
async fn a_connection_is_encrypted_from_its_first_byte() {
    let options = SmtpOptions { tls: SmtpTls::Implicit, ..SmtpOptions::default() };
    let server = SmtpServer::start_with(options).await;
    trusting(&server).send(&mail()).await.unwrap();
    assert!(server.wait_for(1).await.remove(0).by.encrypted);
}

#[tokio::test]
async fn a_server_that_offers_encryption_is_encrypted_with_when_it_is_optional() {
    let options = SmtpOptions { tls: SmtpTls::StartTls, ..SmtpOptions::default() };
    for (options, expected) in [(options, true), (SmtpOptions::default(), false)] {
        let server = SmtpServer::start_with(options).await;
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), server.ca_pem()).unwrap();
        let url = format!("smtp://{}?starttls=optional", server.address());
        let config = SmtpConfig { extra_ca_file: Some(file.path().into()), ..config(&url) };
        transport(&config).send(&mail()).await.unwrap();
        assert_eq!(server.wait_for(1).await.remove(0).by.encrypted, expected);
    }
}

#[tokio::test]
async fn one_logs_in_by_either_mechanism() {
    for mechanisms in ["PLAIN", "LOGIN"] {
        let server = SmtpServer::start_with(SmtpOptions { mechanisms, ..with_login() }).await;
        trusting(&server).send(&mail()).await.unwrap();
        let by = server.wait_for(1).await.remove(0).by;
        assert_eq!((by.encrypted, by.user.as_deref()), (true, Some("sluice")), "{mechanisms}");
    }
}

#[tokio::test]
async fn a_password_is_sent_in_plain_text_only_when_that_is_allowed() {
    let options = SmtpOptions { tls: SmtpTls::None, ..with_login() };
    let server = SmtpServer::start_with(options).await;
    let refused = SmtpTransport::new(&config(&server.url())).unwrap_err();
    assert!(matches!(refused, SmtpError::PlainPasswordConfigured), "{refused}");

    let optional = server.url().replace("never", "optional");
    let refused = transport(&config(&optional)).send(&mail()).await.unwrap_err();
    assert!(matches!(refused, SmtpError::PlainPassword), "{refused}");

    let allowed = SmtpConfig { allow_plain_password: true, ..config(&server.url()) };
    transport(&allowed).send(&mail()).await.unwrap();
    assert_eq!(server.wait_for(1).await.remove(0).by.user.as_deref(), Some("sluice"));
}

#[tokio::test]
async fn an_address_in_another_script_needs_a_server_that_takes_it() {
    let smtp_utf8 = SmtpServer::start_with(SmtpOptions { smtp_utf8: true, ..SmtpOptions::default() }).await;
    transport(&config(&smtp_utf8.url())).send(&mail_to("älice@münchen.example")).await.unwrap();
    let received = smtp_utf8.wait_for_mail_to("älice@xn--mnchen-3ya.example").await;
    assert!(received.by.smtp_utf8);
    assert_eq!(received.header("to"), Some("älice@xn--mnchen-3ya.example"));

    let ascii = SmtpServer::start().await;
    let transport = transport(&config(&ascii.url()));
    let refused = transport.send(&mail_to("älice@münchen.example")).await.unwrap_err();
    assert!(matches!(refused, SmtpError::NeedsSmtpUtf8) && !refused.is_temporary(), "{refused}");
    transport.send(&mail_to("alice@münchen.example")).await.unwrap();
    assert_eq!(ascii.wait_for(1).await.remove(0).to, ["alice@xn--mnchen-3ya.example"]);
}

#[test]
fn a_transport_prints_no_password() {
    let config = config("smtps://sluice:hunter2@mail.example.org");
    let printed = format!("{config:?} {:?}", transport(&config));
    assert!(!printed.contains("hunter2"), "{printed}");
}
