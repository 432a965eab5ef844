use sluice_primitives::Timestamp;
use tempfile::TempDir;
use uuid::Uuid;

use super::super::message::Message;
use super::super::sender::MailSender;
use super::super::template::MailTemplates;
use super::super::transport::RenderedMail;
use super::*;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn rendered(files: &[(&str, &str)], kind: MessageKind) -> RenderedMail {
    let folder = folder(files);
    let sender = MailSender {
        support: Some("https://brot.example/hilfe".to_owned()),
        ..MailSender::named("Fisch & Brot")
    };
    let templates = MailTemplates::with_folder(sender, folder.path()).unwrap();
    let message = Message { to: "alice@example.com".to_owned(), kind };
    templates.render(Uuid::nil(), &message, Timestamp::default()).unwrap()
}

fn refused(files: &[(&str, &str)]) -> String {
    let folder = folder(files);
    MailTemplates::with_folder(MailSender::named("Example"), folder.path()).unwrap_err().to_string()
}

fn code() -> CodeMail {
    let link = "https://id.example.org/verify?a=1&b=2".to_owned();
    CodeMail { code: "ABCD-EFGH".to_owned(), link, minutes: 60 }
}

#[test]
fn a_mail_is_written_by_the_template_of_its_kind_else_of_all_else_the_built_in_one() {
    let files = [
        ("recover.subject.txt", "Neues Kennwort für {{ service }}\n"),
        ("recover.txt", "{{ code }} oder {{ link }}, {{ minutes }} Minuten ({{ valid_for }})"),
        (
            "mail.html",
            "{% include '_kopf.html' %}<p>{{ words.title }}</p>{% if words.button %}{{ words.button.url }}{% endif %}",
        ),
        ("_kopf.html", "<h1>{{ service }}</h1>"),
        (".hidden", "{{"),
    ];
    let mail = rendered(&files, MessageKind::Recover(code()));
    assert_eq!(mail.subject, "Neues Kennwort für Fisch & Brot");
    assert_eq!(mail.text, "ABCD-EFGH oder https://id.example.org/verify?a=1&b=2, 60 Minuten (one hour)");
    assert!(mail.html.starts_with("<h1>Fisch &amp; Brot</h1><p>Set a new password</p>"), "{}", mail.html);
    assert!(mail.html.contains("verify?a=1&amp;b=2"), "{}", mail.html);
    let other = rendered(&files[..2], MessageKind::VerifyEmail(code())).subject;
    assert_eq!(other, "Confirm your email address for Fisch & Brot");
}

#[test]
fn what_people_call_things_stays_text_and_one_line() {
    let files = [
        ("factor_added.html", "<b>{{ name }}</b>"),
        ("factor_added.subject.txt", "{{ name }}\r\nBcc: all\n"),
    ];
    let mail = rendered(&files, MessageKind::FactorAdded { name: "<img>\r\nX: y".to_owned() });
    assert_eq!(mail.html, "<b>&lt;img&gt;X: y</b>");
    assert_eq!(mail.subject, "<img>X: yBcc: all");
}

/// What no test at the start can foresee.
#[test]
fn a_part_that_cannot_be_written_is_the_built_in_one() {
    let files = [
        ("factor_added.subject.txt", "{{ name }}"),
        ("factor_added.txt", "{% if name == 'a key' %}fine{% else %}{{ nothing }}{% endif %}"),
    ];
    let mail = rendered(&files, MessageKind::FactorAdded { name: "\n".to_owned() });
    assert_eq!(mail.subject, "A sign-in method was added to your account at Fisch & Brot");
    assert!(mail.text.starts_with("A sign-in method was added to your account\n"), "{}", mail.text);
}

#[test]
fn every_kind_has_its_own_name_and_values() {
    let own = |name| (name, "{{ service }}{{ kind }}{{ words.subject }}{{ words.notes|length }}");
    let files = [
        own("account_deleted.txt"),
        ("verify_email.txt", "{{ code }}{{ link }}{{ minutes }}{{ valid_for }}"),
        ("recover.txt", "{{ code }}{{ link }}{{ minutes }}{{ valid_for }}"),
        ("change_email.txt", "{{ code }}{{ link }}{{ minutes }}{{ valid_for }}"),
        ("already_registered.txt", "{{ login }}{{ recover }}"),
        ("email_changed.txt", "{{ new_email }} {{ support }}"),
        ("password_changed.txt", "{{ recover }}"),
        ("factor_added.txt", "{{ name }}"),
        ("factor_removed.txt", "{{ name }}"),
        ("recovery_codes_made.txt", "{{ words.title }}"),
        ("recovery_code_used.txt", "{{ left }}"),
    ];
    assert_eq!(files.len(), MessageKind::samples().len());
    let text = rendered(&files, MessageKind::AccountDeleted).text;
    assert_eq!(text, "Fisch & Brotaccount_deletedYour account at Fisch & Brot was deleted1");
    assert_eq!(
        rendered(&files, MessageKind::PasswordChanged { recover: "https://r".into() }).text,
        "https://r"
    );
    assert_eq!(rendered(&files, MessageKind::RecoveryCodeUsed { left: 3 }).text, "3");
    let changed = rendered(&files, MessageKind::EmailChanged { new_masked: "a…@example.org".into() }).text;
    assert_eq!(changed, "a…@example.org https://brot.example/hilfe");
}

#[test]
fn mistakes_are_found_when_the_folder_is_read_and_say_where() {
    let reason = refused(&[("recover.txt", "one\n{{ cod }}")]);
    assert!(reason.starts_with("recover.txt: ") && reason.contains(":2"), "{reason}");
    let reason = refused(&[("mail.txt", "{{ code }}")]);
    assert!(reason.starts_with("mail.txt: "), "not every mail has a code: {reason}");
    let reason = refused(&[("recover.html", "{% if x %}")]);
    assert!(reason.starts_with("recover.html: "), "{reason}");
    let reason = refused(&[("recover.html", "{% include '_none.html' %}")]);
    assert!(reason.contains("_none.html"), "{reason}");
    for name in ["recovery.txt", "_head.jinja", "recover.html.bak"] {
        assert_eq!(refused(&[(name, "x")]), format!("{name}: is not the name of a template"));
    }
    let empty = "recover.subject.txt: writes nothing for a mail of the kind recover";
    assert_eq!(refused(&[("recover.subject.txt", " \n")]), empty);
    let long = "x".repeat(256 * 1024 + 1);
    assert_eq!(refused(&[("mail.txt", &long)]), "mail.txt: is longer than 262144 bytes");
    let nowhere = MailTemplates::with_folder(MailSender::named("Example"), Path::new("/nowhere/at/all"));
    let nowhere = nowhere.unwrap_err();
    assert!(nowhere.to_string().starts_with("/nowhere/at/all: "), "{nowhere}");
}
