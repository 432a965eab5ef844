//! What mail does when its server does not take it.

use std::error::Error;
use std::time::Duration;

use sluice_net::{SmtpConfig, SmtpError, SmtpReply};
use sluice_testkit::{SmtpOptions, SmtpServer, SmtpStep, SmtpTls};
use tempfile::NamedTempFile;

use crate::given::in_time;
use crate::smtp::{config, mail, mail_to, transport, trusting};

/// What an operator reads of an error.
fn told(error: &SmtpError) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        told = format!("{told}: {inner}");
        cause = inner.source();
    }
    told
}

#[tokio::test]
async fn a_4xx_is_temporary_and_a_5xx_is_not() {
    for step in [SmtpStep::Recipient, SmtpStep::Text] {
        let server = SmtpServer::start().await;
        let transport = transport(&config(&server.url()));

        server.refuse_next_at(step, 451, 1);
        let deferred = transport.send(&mail()).await.unwrap_err();
        server.refuse_next_at(step, 550, 1);
        let refused = transport.send(&mail()).await.unwrap_err();

        assert!(matches!(deferred, SmtpError::Deferred(_)) && deferred.is_temporary(), "{step:?} {deferred}");
        assert!(matches!(refused, SmtpError::Refused(_)) && !refused.is_temporary(), "{step:?} {refused}");
        assert_eq!(refused.reply().map(SmtpReply::code), Some(550));
        assert_eq!(refused.to_string(), "the mail server refused the mail: 550 5.1.1");
        transport.send(&mail()).await.unwrap();
        assert_eq!(server.wait_for(1).await.len(), 1);
    }
}

#[tokio::test]
async fn a_sender_that_is_refused_for_good_costs_no_mail() {
    let server = SmtpServer::start().await;
    let transport = transport(&config(&server.url()));
    let at_once = [(SmtpStep::Sender, 451), (SmtpStep::Sender, 553)];
    let late = [(SmtpStep::SenderAtRecipient, 451), (SmtpStep::SenderAtRecipient, 553)];
    for (step, code) in at_once.into_iter().chain(late) {
        server.refuse_next_at(step, code, 1);
        let deferred = transport.send(&mail()).await.unwrap_err();
        let is_deferred = matches!(deferred, SmtpError::Deferred(_)) && deferred.is_temporary();
        assert!(is_deferred, "{step:?} {deferred}");
        assert_eq!(deferred.reply().map(SmtpReply::code), Some(code));
    }
    transport.send(&mail()).await.unwrap();
    assert_eq!(server.wait_for(1).await.len(), 1);
}

#[tokio::test]
async fn an_error_names_no_recipient_although_the_server_does() {
    let server = SmtpServer::start().await;
    server.refuse_next(550, 1);
    let refused = transport(&config(&server.url())).send(&mail_to("alice@example.com")).await.unwrap_err();
    assert!(!told(&refused).contains("alice"), "{}", told(&refused));
    assert!(!format!("{refused:?}").contains("alice"), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_takes_no_mail_at_all_is_a_temporary_failure() {
    let server = SmtpServer::start().await;
    server.refuse_next_at(SmtpStep::Greeting, 554, 1);
    let closed = transport(&config(&server.url())).send(&mail()).await.unwrap_err();
    assert!(matches!(closed, SmtpError::Deferred(_)) && closed.is_temporary(), "{closed}");
}

#[tokio::test]
async fn a_dropped_connection_is_temporary_and_not_used_again() {
    let server = SmtpServer::start().await;
    let transport = transport(&config(&server.url()));
    server.drop_connections(1);
    let dropped = transport.send(&mail()).await.unwrap_err();
    assert!(dropped.is_temporary(), "{dropped}");
    assert_eq!(server.received().len(), 0);
    transport.send(&mail()).await.unwrap();
    assert_eq!((server.wait_for(1).await.len(), server.connections()), (1, 2));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_temporary_failure() {
    let server = SmtpServer::start().await;
    let transport = transport(&config(&server.url()));
    drop(server);
    let unreachable = in_time(Box::pin(async {
        loop {
            // The port is given up a moment after the server is.
            if let Err(error) = transport.send(&mail()).await {
                return error;
            }
        }
    }))
    .await;
    assert!(unreachable.is_temporary(), "{unreachable}");
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_in_time() {
    let server = SmtpServer::start().await;
    let timeout = Duration::from_millis(300);
    let transport = transport(&SmtpConfig { timeout, ..config(&server.url()) });
    server.hang();
    let late = in_time(Box::pin(transport.send(&mail()))).await.unwrap_err();
    assert!(matches!(late, SmtpError::TimedOut) && late.is_temporary(), "{late}");
}

/// A server that means it so, or whoever stands in between: the node would keep as much as comes within the time of a mail.
#[tokio::test]
async fn a_reply_without_an_end_is_given_up_before_much_of_it_is_read() {
    for tls in [SmtpTls::None, SmtpTls::StartTls, SmtpTls::Implicit] {
        for is_known in [false, true] {
            let server = SmtpServer::start_with(SmtpOptions { tls, ..SmtpOptions::default() }).await;
            let transport = trusting(&server);
            if is_known {
                // The connection is kept, so that the reply without an end is the answer to a command, encrypted or not.
                transport.send(&mail()).await.unwrap();
            }
            server.babble();
            let endless = in_time(Box::pin(transport.send(&mail()))).await.unwrap_err();
            let is_told = matches!(endless, SmtpError::EndlessReply) && endless.is_temporary();
            assert!(is_told, "{tls:?} {is_known} {endless}");
            // More than what is read, as the system takes some from the server that nobody reads.
            assert!(server.babbled() < 32 * 1024 * 1024, "{tls:?} {is_known} {}", server.babbled());
        }
    }
}

#[tokio::test]
async fn what_a_mail_given_up_left_behind_is_never_read_by_the_next() {
    let server = SmtpServer::start().await;
    let pool_size = 1.try_into().unwrap();
    let timeout = Duration::from_secs(3);
    let transport = transport(&SmtpConfig { pool_size, timeout, ..config(&server.url()) });
    transport.send(&mail()).await.unwrap();
    server.hang();
    in_time(Box::pin(transport.send(&mail()))).await.unwrap_err();
    server.resume();
    transport.send(&mail_to("bob@example.com")).await.unwrap();
    let received = server.received();
    assert_eq!(received.len(), 2, "{received:?}");
    assert_eq!(received[1].to, ["bob@example.com"]);
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    for tls in [SmtpTls::StartTls, SmtpTls::Implicit] {
        let server = SmtpServer::start_with(SmtpOptions { tls, ..SmtpOptions::default() }).await;
        let refused = transport(&config(&server.url())).send(&mail()).await.unwrap_err();
        assert!(matches!(refused, SmtpError::Unreachable(_)) && refused.is_temporary(), "{refused}");
        assert!(told(&refused).contains("certificate"), "{}", told(&refused));
        assert_eq!(server.received().len(), 0);
    }
}

/// It would be the answer to the first that is said over TLS, and each answer after it that to what was said before.
#[tokio::test]
async fn what_is_said_in_plain_text_after_the_answer_to_starttls_is_not_the_servers() {
    for injected in ["250 testkit\r\n", "2", "250-testkit\r\n250 AUTH PLAIN\r\n"] {
        let options = SmtpOptions { tls: SmtpTls::StartTls, injected, ..SmtpOptions::default() };
        let server = SmtpServer::start_with(options).await;
        let refused = trusting(&server).send(&mail()).await.unwrap_err();
        assert!(
            matches!(refused, SmtpError::Unreachable(_)) && refused.is_temporary(),
            "{injected}: {refused}"
        );
        assert_eq!(server.received().len(), 0);
    }
}

#[tokio::test]
async fn a_server_without_encryption_gets_no_mail_unless_that_is_said() {
    let server = SmtpServer::start().await;
    let url = server.url().replace("?starttls=never", "");
    let refused = transport(&config(&url)).send(&mail()).await.unwrap_err();
    assert!(matches!(refused, SmtpError::NoStartTls) && refused.is_temporary(), "{refused}");
    assert_eq!(server.received().len(), 0);
}

#[tokio::test]
async fn a_wrong_password_loses_no_mail_and_is_not_told() {
    let login = Some(("sluice".to_owned(), "hunter2".to_owned()));
    let options = SmtpOptions { tls: SmtpTls::StartTls, login, ..SmtpOptions::default() };
    let server = SmtpServer::start_with(options).await;
    server.refuse_next_at(SmtpStep::Login, 535, 1);
    let transport = trusting(&server);
    let refused = transport.send(&mail()).await.unwrap_err();
    assert!(matches!(refused, SmtpError::LoginRefused(_)) && refused.is_temporary(), "{refused}");
    let told = format!("{} {refused:?}", told(&refused));
    assert!(!told.contains("hunter2") && !told.contains("aHVudGVyMg"), "{told}");
    transport.send(&mail()).await.unwrap();
    assert_eq!(server.wait_for(1).await.len(), 1);
}

#[tokio::test]
async fn a_server_that_knows_no_common_login_gets_no_mail() {
    let login = Some(("sluice".to_owned(), "hunter2".to_owned()));
    let options =
        SmtpOptions { tls: SmtpTls::StartTls, login, mechanisms: "SCRAM-SHA-256", ..SmtpOptions::default() };
    let server = SmtpServer::start_with(options).await;
    let refused = trusting(&server).send(&mail()).await.unwrap_err();
    assert!(matches!(refused, SmtpError::NoLogin) && refused.is_temporary(), "{refused}");
}

#[test]
fn a_file_without_certificates_or_a_greeting_without_a_name_is_refused_at_once() {
    let empty = NamedTempFile::new().unwrap();
    let config = config("smtps://mail.example.org");
    let extra_ca = SmtpConfig { extra_ca_file: Some(empty.path().into()), ..config.clone() };
    let hello = SmtpConfig { hello_name: Some("mail.example.org\r\nRSET".into()), ..config };
    let error = |config: &SmtpConfig| sluice_net::SmtpTransport::new(config).unwrap_err();
    assert!(matches!(error(&extra_ca), SmtpError::ExtraCa { .. }));
    assert!(matches!(error(&hello), SmtpError::HelloName));
}

#[test]
fn a_host_that_no_certificate_can_name_is_refused_at_once_where_tls_is_required() {
    for host in ["mail..example.org", "-mail.example.org", "mail-.example.org", "mail,example.org"] {
        for (url, is_refused) in [
            (format!("smtps://{host}"), true),
            (format!("smtp://{host}"), true),
            (format!("smtp://{host}?starttls=optional"), false),
            (format!("smtp://{host}?starttls=never"), false),
        ] {
            let made = sluice_net::SmtpTransport::new(&config(&url));
            assert_eq!(matches!(made, Err(SmtpError::CertificateName)), is_refused, "{url}: {made:?}");
            assert_eq!(made.is_err(), is_refused, "{url}: {made:?}");
        }
    }
    for host in ["mail_relay", "mail.example.org.", "192.0.2.1", "[2001:db8::1]"] {
        for scheme in ["smtps", "smtp"] {
            transport(&config(&format!("{scheme}://{host}")));
        }
    }
}
