//! Templates of an operator's own, in a folder: in other words, another language, another layout.
//!
//! A part of a mail is written by the template that is named after its kind (`recover.html`), else by the one for all kinds
//! (`mail.html`), else by the built-in one. `docs/identity/mail.md` lists names and values.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use sluice_primitives::Timestamp;
use thiserror::Error;
use tracing::warn;

use super::content::{Content, content, one_line, span};
use super::message::{CodeMail, MessageKind};
use super::sender::MailSender;

/// The name of the templates for all kinds.
const ALL_KINDS: &str = "mail";
/// Whom a mail is to that is written as a test.
const SAMPLE: &str = "alice@example.com";
/// No template is longer, in bytes.
const LONGEST: u64 = 256 * 1024;

/// Why the templates of a folder cannot be used.
#[derive(Debug, Error)]
#[error("{file}: {reason}")]
pub struct BadTemplate {
    file: String,
    reason: String,
}

/// A part of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Subject,
    Text,
    Html,
}

const PARTS: [Part; 3] = [Part::Subject, Part::Text, Part::Html];

/// The templates of a folder.
pub(super) struct CustomTemplates {
    environment: Environment<'static>,
    names: BTreeSet<String>,
}

impl Part {
    const fn ending(self) -> &'static str {
        match self {
            Self::Subject => ".subject.txt",
            Self::Text => ".txt",
            Self::Html => ".html",
        }
    }
}

impl CustomTemplates {
    /// Reads the folder, and writes a mail of each kind as a test: a name that does not exist is found now, not when a
    /// person waits for a mail. Files whose names begin with a dot are passed over; those that begin with `_` are there for
    /// others to include, and escape what they write by their own ending.
    pub(super) fn read(folder: &Path, sender: &MailSender) -> Result<Self, BadTemplate> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|name| {
            if name.strip_suffix(Part::Html.ending()).is_some() { AutoEscape::Html } else { AutoEscape::None }
        });
        let mut read = Self { environment, names: BTreeSet::new() };
        for entry in fs::read_dir(folder).map_err(|cause| BadTemplate::new(folder.display(), cause))? {
            let path = entry.map_err(|cause| BadTemplate::new(folder.display(), cause))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                read.add(name, &path)?;
            }
        }
        for kind in MessageKind::samples() {
            read.try_out(&kind, sender)?;
        }
        Ok(read)
    }

    fn add(&mut self, name: String, path: &Path) -> Result<(), BadTemplate> {
        let is_included = name.starts_with('_') && PARTS.iter().any(|part| name.ends_with(part.ending()));
        if !is_included && !is_known(&name) {
            return Err(BadTemplate::new(name, "is not the name of a template"));
        }
        let length = fs::metadata(path).map_err(|cause| BadTemplate::new(&name, cause))?.len();
        if length > LONGEST {
            return Err(BadTemplate::new(name, format_args!("is longer than {LONGEST} bytes")));
        }
        let source = fs::read_to_string(path).map_err(|cause| BadTemplate::new(&name, cause))?;
        let added = self.environment.add_template_owned(name.clone(), source);
        added.map_err(|cause| BadTemplate::new(&name, Chain(&cause)))?;
        self.names.insert(name);
        Ok(())
    }

    fn try_out(&self, kind: &MessageKind, sender: &MailSender) -> Result<(), BadTemplate> {
        let Some(content) = content(kind, sender, (SAMPLE, Timestamp::default())) else { return Ok(()) };
        for part in PARTS {
            let Some(name) = self.name(kind, part) else { continue };
            let written = self.render(&name, kind, sender, &content);
            let written = written.map_err(|cause| BadTemplate::new(&name, Chain(&cause)))?;
            if written.trim().is_empty() {
                let reason = format_args!("writes nothing for a mail of the kind {}", kind.name());
                return Err(BadTemplate::new(name, reason));
            }
        }
        Ok(())
    }

    /// A part of a mail; none if it is left to the built-in template, or comes to nothing.
    pub(super) fn write(
        &self,
        part: Part,
        kind: &MessageKind,
        sender: &MailSender,
        content: &Content<'_>,
    ) -> Option<String> {
        let name = self.name(kind, part)?;
        match self.render(&name, kind, sender, content) {
            Ok(written) if !written.trim().is_empty() => return Some(written),
            Ok(_) => warn!(mail.template = name, "a template wrote nothing: the built-in one does"),
            // Its text may hold what is in the mail.
            Err(cause) => warn!(
                mail.template = name, reason = ?cause.kind(), line = cause.line(),
                "a template failed: the built-in one writes"
            ),
        }
        None
    }

    /// The template of a part.
    fn name(&self, kind: &MessageKind, part: Part) -> Option<String> {
        let names = [kind.name(), ALL_KINDS].map(|stem| format!("{stem}{}", part.ending()));
        names.into_iter().find(|name| self.names.contains(name))
    }

    fn render(
        &self,
        name: &str,
        kind: &MessageKind,
        sender: &MailSender,
        content: &Content<'_>,
    ) -> Result<String, minijinja::Error> {
        self.environment.get_template(name)?.render(values(kind, sender, content))
    }
}

/// What templates may name: what the mail is about, and what the built-in templates would say.
fn values(kind: &MessageKind, sender: &MailSender, content: &Content<'_>) -> Value {
    let about = match kind {
        MessageKind::VerifyEmail(code) | MessageKind::Recover(code) | MessageKind::ChangeEmail(code) => {
            let CodeMail { code, link, minutes } = code;
            context! { code, link, minutes => *minutes, valid_for => span(*minutes) }
        }
        MessageKind::AlreadyRegistered { login, recover } => context! { login, recover },
        MessageKind::PasswordChanged { recover } => context! { recover },
        MessageKind::EmailChanged { new_masked } => context! { new_email => new_masked },
        MessageKind::FactorAdded { name } | MessageKind::FactorRemoved { name } => {
            context! { name => one_line(name) }
        }
        MessageKind::RecoveryCodeUsed { left } => context! { left => *left },
        MessageKind::AccountDeleted | MessageKind::RecoveryCodesMade | MessageKind::Decoy => context! {},
    };
    let button = content.button.as_ref().map(|button| context! { label => button.label, url => button.url });
    let words = context! {
        subject => &content.subject,
        title => &content.title,
        preview => content.preview,
        paragraphs => content.paragraphs.iter().collect::<Value>(),
        code => content.code,
        button,
        notes => content.notes.iter().collect::<Value>(),
    };
    let (service, support) = (&sender.service, sender.support.as_deref().unwrap_or_default());
    context! { service, support, kind => kind.name(), words, ..about }
}

fn is_known(name: &str) -> bool {
    let samples = MessageKind::samples();
    let mut stems = samples.iter().map(MessageKind::name).chain([ALL_KINDS]);
    stems.any(|stem| PARTS.iter().any(|part| name.strip_prefix(stem) == Some(part.ending())))
}

impl BadTemplate {
    fn new(file: impl fmt::Display, reason: impl fmt::Display) -> Self {
        Self { file: file.to_string(), reason: reason.to_string() }
    }
}

impl fmt::Debug for CustomTemplates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomTemplates").field("names", &self.names).finish_non_exhaustive()
    }
}

/// An error with what caused it, such as the line of an included template.
struct Chain<'a>(&'a minijinja::Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = std::error::Error::source(self.0);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
