//! What each kind of mail says, in words.

use sluice_primitives::Timestamp;

use super::message::{CodeMail, MessageKind};
use super::sender::MailSender;
use crate::identity::username::is_disruptive;

/// What a mail says, before it is laid out.
#[derive(Default)]
pub(super) struct Content<'a> {
    pub(super) subject: String,
    pub(super) title: String,
    /// What mail programs show beside the subject. Never the code: it would stand on locked screens.
    pub(super) preview: &'static str,
    pub(super) paragraphs: Vec<String>,
    /// A URL or a mail address that a paragraph ends with.
    pub(super) linked: Option<&'a str>,
    pub(super) code: Option<&'a str>,
    pub(super) button: Option<Button<'a>>,
    /// In small print.
    pub(super) notes: Vec<String>,
}

/// Where to go.
pub(super) struct Button<'a> {
    pub(super) label: &'static str,
    pub(super) url: &'a str,
}

const NOT_YOU: &str = "If it was not you who asked for this, ignore this mail: nothing changes.";
const NEVER_ASKED: &str = "Give the code to nobody. We never ask for it on the phone or in a chat.";

/// A paragraph, as HTML has it.
pub(super) struct Paragraph<'a> {
    pub(super) words: &'a str,
    /// What it ends with; empty if that leads nowhere.
    pub(super) link: &'a str,
    /// Where that leads.
    pub(super) target: String,
}

impl Content<'_> {
    /// The paragraphs, each taken apart from the link that it ends with.
    pub(super) fn linked_paragraphs(&self) -> Vec<Paragraph<'_>> {
        self.paragraphs.iter().map(|paragraph| Paragraph::new(paragraph, self.linked)).collect()
    }
}

impl<'a> Paragraph<'a> {
    fn new(text: &'a str, linked: Option<&'a str>) -> Self {
        let linked = linked.filter(|linked| !linked.is_empty());
        match linked.and_then(|linked| Some((text.strip_suffix(linked)?, linked))) {
            Some((words, link)) => Self { words, link, target: target(link) },
            None => Self { words: text, link: "", target: String::new() },
        }
    }
}

/// Where a URL or a mail address leads.
fn target(linked: &str) -> String {
    if linked.contains("://") { linked.to_owned() } else { format!("mailto:{linked}") }
}

/// What a mail of this kind says that is to this address and was written at that time; none if there is none to send.
pub(super) fn content<'a>(
    kind: &'a MessageKind,
    sender: &'a MailSender,
    (to, written_at): (&str, Timestamp),
) -> Option<Content<'a>> {
    let service = sender.service.as_str();
    let mut content = match kind {
        MessageKind::VerifyEmail(code) => verify(code, service),
        MessageKind::AlreadyRegistered { login, recover } => already_registered(login, recover, service),
        MessageKind::Recover(code) => recovery(code, service),
        MessageKind::ChangeEmail(code) => change(code, service),
        MessageKind::EmailChanged { new_masked } => email_changed(new_masked, sender),
        MessageKind::PasswordChanged { recover } => password_changed(recover, service),
        MessageKind::FactorAdded { name } => factor_added(name, sender),
        MessageKind::FactorRemoved { name } => factor(name, "removed from", sender),
        MessageKind::AccountDeleted => deleted(sender),
        MessageKind::RecoveryCodesMade => recovery_codes_made(sender),
        MessageKind::RecoveryCodeUsed { left } => recovery_code_used(*left, sender),
        MessageKind::Decoy => return None,
    };
    // The others are to an address that is not yet known to be that of the account.
    if !matches!(kind, MessageKind::VerifyEmail(_) | MessageKind::ChangeEmail(_)) {
        content.notes.push(occasion(to, written_at));
    }
    Some(content)
}

/// Which account a mail is about, and when what it tells of was done or asked for: both are stored in one transaction.
fn occasion(to: &str, written_at: Timestamp) -> String {
    let utc = jiff::Timestamp::from_millisecond(written_at.as_millis()).unwrap_or_default();
    format!("Account: {}. Time: {}.", one_line(to), utc.strftime("%-d %B %Y, %H:%M UTC"))
}

/// What to do about what only those can set right who run the service, as the rest of a sentence.
fn turn_to(sender: &MailSender) -> String {
    match &sender.support {
        Some(support) => format!("contact support at once: {support}"),
        None if sender.reads_answers => "answer this mail at once.".to_owned(),
        None => format!("tell those at once who run {}.", sender.service),
    }
}

/// Where one looks through what was changed, or at least keeps somebody else out.
fn to_account(sender: &MailSender) -> Option<Button<'_>> {
    let account = sender.account.as_deref().map(|url| Button { label: "Open your account", url });
    account.or_else(|| sender.recover.as_deref().map(|url| Button { label: "Set a new password", url }))
}

fn verify<'a>(code: &'a CodeMail, service: &str) -> Content<'a> {
    let title = "Confirm your email address";
    Content {
        subject: format!("{title} for {service}"),
        preview: "One step is left: confirm that this address is yours.",
        paragraphs: vec![
            "Enter this code, or follow the link, to confirm that this address is yours.".to_owned(),
        ],
        ..with_code(title, code, "Confirm address")
    }
}

fn recovery<'a>(code: &'a CodeMail, service: &str) -> Content<'a> {
    let title = "Set a new password";
    Content {
        subject: format!("{title} for {service}"),
        preview: "Use the code in this mail to set a new password.",
        paragraphs: vec![
            "Somebody, hopefully you, asked to set a new password for your account.".to_owned(),
            "Enter this code, or follow the link, to go on.".to_owned(),
        ],
        ..with_code(title, code, "Set a new password")
    }
}

fn change<'a>(code: &'a CodeMail, service: &str) -> Content<'a> {
    let title = "Confirm your new email address";
    Content {
        subject: format!("{title} for {service}"),
        preview: "One step is left: confirm that the new address is yours.",
        paragraphs: vec![
            "Enter this code, or follow the link, to sign in with this address from now on.".to_owned(),
        ],
        ..with_code(title, code, "Confirm new address")
    }
}

fn already_registered<'a>(login: &'a str, recover: &'a str, service: &str) -> Content<'a> {
    Content {
        subject: format!("You already have an account at {service}"),
        title: "You already have an account".to_owned(),
        preview: "Somebody tried to use your address for another account.",
        paragraphs: vec![
            "Somebody, perhaps you, tried to use this email address for another account. There is one with it already, so nothing was changed."
                .to_owned(),
            format!("If you forgot your password, set a new one: {recover}"),
        ],
        linked: Some(recover),
        button: (!login.is_empty()).then_some(Button { label: "Sign in", url: login }),
        notes: vec!["If it was not you, you need not do anything.".to_owned()],
        ..Content::default()
    }
}

fn email_changed<'a>(new_masked: &str, sender: &'a MailSender) -> Content<'a> {
    let service = &sender.service;
    Content {
        subject: format!("Your email address at {service} was changed"),
        title: "Your email address was changed".to_owned(),
        preview: "From now on you sign in with another address.",
        paragraphs: vec![
            format!("From now on you sign in with {new_masked}. No further mail will come to this address."),
            format!(
                "If it was not you who changed it, somebody else has your account. In that case {}",
                turn_to(sender)
            ),
        ],
        linked: sender.support.as_deref(),
        ..Content::default()
    }
}

fn password_changed<'a>(recover: &'a str, service: &str) -> Content<'a> {
    Content {
        subject: format!("Your password at {service} was changed"),
        title: "Your password was changed".to_owned(),
        preview: "You were signed out on all other devices.",
        paragraphs: vec![
            "The password of your account was changed, and you were signed out on all other devices."
                .to_owned(),
            "If it was not you, set a new password at once.".to_owned(),
        ],
        button: Some(Button { label: "It was not me", url: recover }),
        ..Content::default()
    }
}

fn factor<'a>(name: &str, done: &str, sender: &'a MailSender) -> Content<'a> {
    let service = &sender.service;
    let name = one_line(name);
    let what = if name.is_empty() {
        "A sign-in method".to_owned()
    } else {
        format!("The sign-in method “{name}”")
    };
    Content {
        subject: format!("A sign-in method was {done} your account at {service}"),
        title: format!("A sign-in method was {done} your account"),
        preview: "The ways to sign in to your account were changed.",
        paragraphs: vec![
            format!("{what} was {done} your account."),
            "If it was not you, change your password at once and look through your sign-in methods."
                .to_owned(),
        ],
        button: to_account(sender),
        ..Content::default()
    }
}

/// Where a factor is required, whoever knows the password may have added the first one, which the person is asked for then.
fn factor_added<'a>(name: &str, sender: &'a MailSender) -> Content<'a> {
    let mut content = factor(name, "added to", sender);
    content.paragraphs.push(format!("If you are asked for it and do not have it, {}", turn_to(sender)));
    content.linked = sender.support.as_deref();
    content
}

fn recovery_codes_made(sender: &MailSender) -> Content<'_> {
    let service = &sender.service;
    Content {
        subject: format!("New recovery codes were made for your account at {service}"),
        title: "New recovery codes were made for your account".to_owned(),
        preview: "Your former recovery codes are good for nothing any more.",
        paragraphs: vec![
            "New recovery codes were made for your account. The former ones are good for nothing any more."
                .to_owned(),
            "If it was not you, change your password at once, look through your sign-in methods, and make recovery codes of your own."
                .to_owned(),
        ],
        button: to_account(sender),
        ..Content::default()
    }
}

fn recovery_code_used(left: u32, sender: &MailSender) -> Content<'_> {
    let service = &sender.service;
    let left = match left {
        0 => "None is left. Make new ones while you can sign in without.".to_owned(),
        1 => "One is left.".to_owned(),
        left => format!("{left} are left."),
    };
    Content {
        subject: format!("A recovery code of your account at {service} was used"),
        title: "A recovery code of your account was used".to_owned(),
        preview: "Somebody, hopefully you, showed one of your recovery codes.",
        paragraphs: vec![
            format!("One of your recovery codes was used in the place of another sign-in method. {left}"),
            "If it was not you, somebody has your password and your recovery codes: change the password at once, and make new codes."
                .to_owned(),
        ],
        button: to_account(sender),
        ..Content::default()
    }
}

fn deleted(sender: &MailSender) -> Content<'_> {
    let service = &sender.service;
    Content {
        subject: format!("Your account at {service} was deleted"),
        title: "Your account was deleted".to_owned(),
        preview: "Your account and what belonged to it are gone.",
        paragraphs: vec![
            "Your account and what belonged to it are gone. This cannot be undone.".to_owned(),
            format!("If it was not you who deleted it, {}", turn_to(sender)),
        ],
        linked: sender.support.as_deref(),
        ..Content::default()
    }
}

fn with_code<'a>(title: &str, code: &'a CodeMail, label: &'static str) -> Content<'a> {
    let good = format!("Code and link work once, and for {}.", span(code.minutes));
    Content {
        title: title.to_owned(),
        code: Some(&code.code),
        button: Some(Button { label, url: &code.link }),
        notes: vec![good, NEVER_ASKED.to_owned(), NOT_YOU.to_owned()],
        ..Content::default()
    }
}

/// A text that somebody wrote, as it may stand in a line.
pub(super) fn one_line(text: &str) -> String {
    text.chars().filter(|c| !is_disruptive(*c)).collect()
}

/// So many minutes, in words.
pub(super) fn span(minutes: i64) -> String {
    match (minutes, minutes / 60) {
        (1, _) => "one minute".to_owned(),
        (60, _) => "one hour".to_owned(),
        (_, hours) if hours > 1 && minutes % 60 == 0 => format!("{hours} hours"),
        _ => format!("{minutes} minutes"),
    }
}
