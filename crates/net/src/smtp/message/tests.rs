use super::*;

const BREAKS: [&str; 4] = ["\r\n", "\n", "\r", "\0"];

fn sender() -> Sender {
    Sender { from: "Sluice <no-reply@example.org>".parse().unwrap(), reply_to: None }
}

fn mail() -> OutgoingMail {
    OutgoingMail {
        to: "alice@example.com".into(),
        subject: "Hello".into(),
        text: "Hello, Alice.".into(),
        html: None,
        message_id: "0190-row".into(),
        date: Timestamp::from_secs(1_700_000_000),
        headers: Vec::new(),
    }
}

fn written(mail: &OutgoingMail) -> Result<String, UnsendableMail> {
    mail.message(&sender()).map(|message| String::from_utf8(message.formatted()).unwrap())
}

#[test]
fn a_mail_written_twice_is_the_same_mail() {
    let (first, second) = (written(&mail()).unwrap(), written(&mail()).unwrap());
    assert_eq!(first, second);
    assert!(first.contains("Message-ID: <0190-row@example.org>\r\n"), "{first}");
    assert!(first.contains("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n"), "{first}");
    assert!(first.contains("Auto-Submitted: auto-generated\r\n"), "{first}");
}

#[test]
fn a_line_break_never_becomes_a_header() {
    for line_break in BREAKS {
        let injected = format!("x{line_break}Bcc: mallory@example.org");
        let to = OutgoingMail { to: format!("alice@example.com{line_break}"), ..mail() };
        assert_eq!(written(&to), Err(UnsendableMail::Recipient), "{line_break:?}");
        let subject = OutgoingMail { subject: injected.clone(), ..mail() };
        assert_eq!(written(&subject), Err(UnsendableMail::Subject), "{line_break:?}");
        let id = OutgoingMail { message_id: injected.clone(), ..mail() };
        assert_eq!(written(&id), Err(UnsendableMail::MessageId), "{line_break:?}");
        let value = OutgoingMail { headers: vec![("X-Further".into(), injected.clone())], ..mail() };
        assert_eq!(written(&value), Err(UnsendableMail::Header), "{line_break:?}");
        let name = OutgoingMail { headers: vec![(injected, "x".into())], ..mail() };
        assert_eq!(written(&name), Err(UnsendableMail::Header), "{line_break:?}");
    }
}

#[test]
fn a_recipient_is_one_address_and_nothing_more() {
    for to in [
        "",
        "alice",
        "alice@example.com, bob@example.com",
        "Alice <alice@example.com>",
        "\"a> <b\"@example.com",
        "alice@example.com>\u{20}NOTIFY=NEVER <x@example.com",
    ] {
        let mail = OutgoingMail { to: to.into(), ..mail() };
        assert_eq!(written(&mail), Err(UnsendableMail::Recipient), "{to:?}");
    }
}

#[test]
fn further_headers_are_added_but_do_not_speak_for_the_transport() {
    let with = |name: &str| OutgoingMail { headers: vec![(name.into(), "value".into())], ..mail() };
    assert!(written(&with("List-Id")).unwrap().contains("List-Id: value\r\n"));
    assert!(!written(&with("Auto-Submitted")).unwrap().contains("auto-generated"));
    for name in ["From", "bcc", "Content-Type", "MIME-Version", "", "X:Y", "X Y", "X\u{e9}"] {
        assert_eq!(written(&with(name)), Err(UnsendableMail::Header), "{name:?}");
    }
}

#[test]
fn all_that_is_not_ascii_is_encoded_and_every_line_ends_as_it_must() {
    let text = format!("Grüße\n.\nZeile\r{}", "lang ".repeat(400));
    let mail =
        OutgoingMail {
            subject: "Bestätigung ✓".into(), text, html: Some("<p>Grüße</p>".into()), ..mail()
        };
    let written = written(&mail).unwrap();
    assert!(written.is_ascii());
    assert!(written.split("\r\n").all(|line| !line.contains(['\r', '\n']) && line.len() <= 998), "{written}");
}

#[test]
fn a_mail_prints_neither_its_text_nor_its_recipient() {
    let printed = format!("{:?}", mail());
    assert!(printed.contains("0190-row"), "{printed}");
    assert!(!printed.contains("lice"), "{printed}");
}
