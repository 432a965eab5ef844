//! How a message is written out: text, and the same as HTML.

use std::path::Path;
use std::sync::Arc;

use askama::Template;
use sluice_primitives::Timestamp;
use thiserror::Error;
use uuid::Uuid;

use super::content::{Content, content, one_line};
use super::custom::{BadTemplate, CustomTemplates, Part};
use super::message::{Message, MessageKind};
use super::transport::RenderedMail;

/// Writes messages out.
#[derive(Debug, Clone)]
pub struct MailTemplates {
    service: String,
    custom: Option<Arc<CustomTemplates>>,
}

/// A message cannot be written out.
#[derive(Debug, Error)]
#[error("the message cannot be written out")]
pub struct UnwritableMail(#[source] Option<Box<dyn std::error::Error + Send + Sync>>);

#[derive(Template)]
#[template(path = "mail.html")]
struct Html<'a> {
    service: &'a str,
    content: &'a Content<'a>,
}

#[derive(Template)]
#[template(path = "mail.txt", escape = "none")]
struct Text<'a> {
    service: &'a str,
    content: &'a Content<'a>,
}

impl MailTemplates {
    /// The templates of the service that people know by this name.
    pub fn new(service: &str) -> Self {
        Self { service: one_line(service), custom: None }
    }

    /// As [`MailTemplates::new`], with the templates of a folder, which write what they are there for instead of the built-in
    /// ones.
    ///
    /// # Errors
    /// [`BadTemplate`] if one cannot be read, or cannot write a mail that it is there for.
    pub fn with_folder(service: &str, folder: &Path) -> Result<Self, BadTemplate> {
        let built_in = Self::new(service);
        let custom = CustomTemplates::read(folder, &built_in.service)?;
        Ok(Self { custom: Some(Arc::new(custom)), ..built_in })
    }

    /// The message with this id, written out.
    ///
    /// # Errors
    /// [`UnwritableMail`] if it says nothing.
    pub fn render(
        &self,
        id: Uuid,
        message: &Message,
        written_at: Timestamp,
    ) -> Result<RenderedMail, UnwritableMail> {
        let content = content(&message.kind, &self.service).ok_or(UnwritableMail(None))?;
        let write = |part| self.write(part, &message.kind, &content);
        let subject = one_line(write(Part::Subject)?.trim());
        let (text, html) = (write(Part::Text)?, write(Part::Html)?);
        Ok(RenderedMail { id, to: message.to.clone(), subject, text, html, written_at })
    }

    fn write(&self, part: Part, kind: &MessageKind, content: &Content<'_>) -> Result<String, UnwritableMail> {
        let service = self.service.as_str();
        let custom = self.custom.as_ref().and_then(|custom| custom.write(part, kind, service, content));
        if let Some(written) = custom {
            return Ok(written);
        }
        let written = match part {
            Part::Subject => Ok(content.subject.clone()),
            Part::Text => Text { service, content }.render(),
            Part::Html => Html { service, content }.render(),
        };
        written.map_err(|cause| UnwritableMail(Some(Box::new(cause))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::message::{CodeMail, MessageKind};

    fn rendered(kind: MessageKind) -> RenderedMail {
        let message = Message { to: "alice@example.com".to_owned(), kind };
        MailTemplates::new("Fish & Chips").render(Uuid::nil(), &message, Timestamp::default()).unwrap()
    }

    fn code() -> CodeMail {
        let link = "https://id.example.org/verify?token=abc".to_owned();
        CodeMail { code: "ABCD-EFGH".to_owned(), link, minutes: 1440 }
    }

    #[test]
    fn text_and_html_say_the_same() {
        let kinds = [
            MessageKind::VerifyEmail(code()),
            MessageKind::Recover(code()),
            MessageKind::ChangeEmail(code()),
        ];
        for kind in kinds {
            let mail = rendered(kind);
            assert!(mail.subject.ends_with("for Fish & Chips"), "{}", mail.subject);
            for part in [&mail.text, &mail.html] {
                assert!(part.contains("ABCD-EFGH") && part.contains("24 hours"), "{part}");
                assert!(part.contains("https://id.example.org/verify?token=abc"), "{part}");
            }
            assert!(!mail.subject.contains("ABCD"));
        }
    }

    #[test]
    fn what_people_call_things_stays_text() {
        let name = "<img src=x>\r\n\u{2028}Bcc:\u{202E} all".to_owned();
        let mail = rendered(MessageKind::FactorAdded { name });
        assert!(!mail.html.contains("<img") && mail.html.contains("Fish &#38; Chips"), "{}", mail.html);
        assert!(mail.text.contains("“<img src=x>Bcc: all”"), "{}", mail.text);
    }

    #[test]
    fn every_mail_is_about_something_and_signed() {
        let kinds = [
            MessageKind::AlreadyRegistered { login: "https://l".to_owned(), recover: "https://r".to_owned() },
            MessageKind::EmailChanged { new_masked: "a…@example.org".to_owned() },
            MessageKind::PasswordChanged { recover: "https://r".to_owned() },
            MessageKind::FactorRemoved { name: String::new() },
            MessageKind::AccountDeleted,
            MessageKind::RecoveryCodesMade,
        ];
        for kind in kinds {
            let mail = rendered(kind.clone());
            assert!(!mail.subject.contains(char::is_control), "{kind:?}");
            assert!(mail.text.contains("\n-- \nFish & Chips sent this mail"), "{}", mail.text);
            assert!(mail.html.contains("<h1") && mail.html.contains("lang=\"en\""), "{kind:?}");
        }
    }

    #[test]
    fn a_mail_says_how_many_recovery_codes_are_left() {
        for (left, said) in [(9, "9 are left."), (1, "One is left."), (0, "None is left.")] {
            let mail = rendered(MessageKind::RecoveryCodeUsed { left });
            assert!(mail.text.contains(said) && mail.html.contains(said), "{}", mail.text);
        }
    }

    #[test]
    fn a_mail_has_a_button_only_if_it_leads_somewhere() {
        let mail = |login: &str| {
            let (login, recover) = (login.to_owned(), "https://r".to_owned());
            rendered(MessageKind::AlreadyRegistered { login, recover })
        };
        let (alone, elsewhere) = (mail("https://l"), mail(""));
        assert!(alone.html.contains("href=\"https://l\"") && alone.text.contains("https://l"));
        assert!(
            !elsewhere.html.contains("href=") && !elsewhere.text.contains("Log in"),
            "{}",
            elsewhere.text
        );
        assert!(elsewhere.text.contains("https://r"), "{}", elsewhere.text);
    }

    #[test]
    fn a_decoy_cannot_be_written_out() {
        let message = Message { to: String::new(), kind: MessageKind::Decoy };
        let written = MailTemplates::new("Sluice").render(Uuid::nil(), &message, Timestamp::default());
        assert!(written.is_err());
    }
}
