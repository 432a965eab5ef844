//! What each kind of mail says, in words.

use super::message::{CodeMail, MessageKind};
use crate::identity::username::is_disruptive;

/// What a mail says, before it is laid out.
#[derive(Default)]
pub(super) struct Content<'a> {
    pub(super) subject: String,
    pub(super) title: String,
    /// What mail programs show beside the subject. Never the code: it would stand on locked screens.
    pub(super) preview: &'static str,
    pub(super) paragraphs: Vec<String>,
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

/// What a mail of this kind says; none if there is none to send.
pub(super) fn content<'a>(kind: &'a MessageKind, service: &str) -> Option<Content<'a>> {
    Some(match kind {
        MessageKind::VerifyEmail(code) => verify(code, service),
        MessageKind::AlreadyRegistered { login, recover } => already_registered(login, recover, service),
        MessageKind::Recover(code) => recovery(code, service),
        MessageKind::ChangeEmail(code) => change(code, service),
        MessageKind::EmailChanged { new_masked } => email_changed(new_masked, service),
        MessageKind::PasswordChanged { recover } => password_changed(recover, service),
        MessageKind::FactorAdded { name } => factor(name, "added to", service),
        MessageKind::FactorRemoved { name } => factor(name, "removed from", service),
        MessageKind::AccountDeleted => deleted(service),
        MessageKind::RecoveryCodesMade => recovery_codes_made(service),
        MessageKind::RecoveryCodeUsed { left } => recovery_code_used(*left, service),
        MessageKind::Decoy => return None,
    })
}

fn verify<'a>(code: &'a CodeMail, service: &str) -> Content<'a> {
    let title = "Confirm your e-mail address";
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
    let title = "Confirm your new e-mail address";
    Content {
        subject: format!("{title} for {service}"),
        preview: "One step is left: confirm that the new address is yours.",
        paragraphs: vec![
            "Enter this code, or follow the link, to log in with this address from now on.".to_owned(),
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
            "Somebody, perhaps you, tried to use this e-mail address for another account. There is one with it already, so nothing was changed."
                .to_owned(),
            format!("If you forgot your password, set a new one: {recover}"),
        ],
        button: (!login.is_empty()).then_some(Button { label: "Log in", url: login }),
        notes: vec!["If it was not you, you need not do anything.".to_owned()],
        ..Content::default()
    }
}

fn email_changed<'a>(new_masked: &str, service: &str) -> Content<'a> {
    Content {
        subject: format!("Your e-mail address at {service} was changed"),
        title: "Your e-mail address was changed".to_owned(),
        preview: "From now on you log in with another address.",
        paragraphs: vec![
            format!("From now on you log in with {new_masked}. No further mail will come to this address."),
            "If it was not you who changed it, contact support at once: somebody else has your account."
                .to_owned(),
        ],
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

fn factor<'a>(name: &str, done: &str, service: &str) -> Content<'a> {
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
        ..Content::default()
    }
}

fn recovery_codes_made<'a>(service: &str) -> Content<'a> {
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
        ..Content::default()
    }
}

fn recovery_code_used<'a>(left: u32, service: &str) -> Content<'a> {
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
        ..Content::default()
    }
}

fn deleted<'a>(service: &str) -> Content<'a> {
    Content {
        subject: format!("Your account at {service} was deleted"),
        title: "Your account was deleted".to_owned(),
        preview: "Your account and what belonged to it are gone.",
        paragraphs: vec![
            "Your account and what belonged to it are gone. This cannot be undone.".to_owned(),
            "If it was not you who deleted it, contact support.".to_owned(),
        ],
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
