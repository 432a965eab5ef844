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
use super::sender::MailSender;
use super::transport::RenderedMail;

/// Writes messages out.
#[derive(Debug, Clone)]
pub struct MailTemplates {
    sender: MailSender,
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
    reads_answers: bool,
    content: &'a Content<'a>,
}

#[derive(Template)]
#[template(path = "mail.txt", escape = "none")]
struct Text<'a> {
    service: &'a str,
    reads_answers: bool,
    content: &'a Content<'a>,
}

impl MailTemplates {
    /// The built-in templates.
    pub fn new(sender: MailSender) -> Self {
        Self { sender, custom: None }
    }

    /// As [`MailTemplates::new`], with the templates of a folder, which write what they are there for instead of the built-in
    /// ones.
    ///
    /// # Errors
    /// [`BadTemplate`] if one cannot be read, or cannot write a mail that it is there for.
    pub fn with_folder(sender: MailSender, folder: &Path) -> Result<Self, BadTemplate> {
        let built_in = Self::new(sender);
        let custom = CustomTemplates::read(folder, &built_in.sender)?;
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
        let content = content(&message.kind, &self.sender, (&message.to, written_at));
        let content = content.ok_or(UnwritableMail(None))?;
        let write = |part| self.write(part, &message.kind, &content);
        let subject = one_line(write(Part::Subject)?.trim());
        let (text, html) = (write(Part::Text)?, write(Part::Html)?);
        Ok(RenderedMail { id, to: message.to.clone(), subject, text, html, written_at })
    }

    fn write(&self, part: Part, kind: &MessageKind, content: &Content<'_>) -> Result<String, UnwritableMail> {
        let MailSender { service, reads_answers, .. } = &self.sender;
        let custom = self.custom.as_ref().and_then(|custom| custom.write(part, kind, &self.sender, content));
        if let Some(written) = custom {
            return Ok(written);
        }
        let written = match part {
            Part::Subject => Ok(content.subject.clone()),
            Part::Text => Text { service, reads_answers: *reads_answers, content }.render(),
            Part::Html => Html { service, reads_answers: *reads_answers, content }.render(),
        };
        written.map_err(|cause| UnwritableMail(Some(Box::new(cause))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::message::{CodeMail, MessageKind};

    fn rendered(kind: MessageKind) -> RenderedMail {
        from(MailSender::named("Fish & Chips"), kind)
    }

    fn from(sender: MailSender, kind: MessageKind) -> RenderedMail {
        let message = Message { to: "alice@example.com".to_owned(), kind };
        let written_at = Timestamp::from_secs(1_750_000_000);
        MailTemplates::new(sender).render(Uuid::nil(), &message, written_at).unwrap()
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
        let has_button = elsewhere.html.contains("<td class=\"button\"");
        assert!(!has_button && !elsewhere.text.contains("Sign in"), "{}", elsewhere.text);
        for mail in [alone, elsewhere] {
            assert!(mail.text.contains("set a new one: https://r\n"), "{}", mail.text);
            assert!(
                mail.html.contains("set a new one: <a class=\"link\" href=\"https://r\""),
                "{}",
                mail.html
            );
        }
    }

    #[test]
    fn who_did_not_change_anything_is_told_whom_to_turn_to_and_only_if_there_is_somebody() {
        let changed = || MessageKind::EmailChanged { new_masked: "a…@example.org".to_owned() };
        let named = || MailSender::named("Fish & Chips");
        let added = MessageKind::FactorAdded { name: String::new() };
        for kind in [changed(), MessageKind::AccountDeleted, added] {
            let alone = from(named(), kind.clone());
            assert!(
                !alone.text.contains("support") && !alone.text.contains("answer this mail"),
                "{}",
                alone.text
            );
            assert!(alone.text.contains("tell those at once who run Fish & Chips."), "{}", alone.text);
            assert!(alone.text.trim_end().ends_with("Nobody reads answers to it."), "{}", alone.text);
            let answered = from(MailSender { reads_answers: true, ..named() }, kind.clone());
            assert!(answered.text.contains("answer this mail at once."), "{}", answered.text);
            for part in [&answered.text, &answered.html] {
                assert!(!part.contains("Nobody reads"), "{part}");
            }
            for (support, target) in [
                ("help@example.com", "mailto:help@example.com"),
                ("https://example.com/help", "https://example.com/help"),
            ] {
                let mail = from(MailSender { support: Some(support.to_owned()), ..named() }, kind.clone());
                let said = format!("contact support at once: {support}\n");
                assert!(mail.text.contains(&said), "{}", mail.text);
                assert!(mail.html.contains(&format!("href=\"{target}\"")), "{}", mail.html);
            }
        }
    }

    #[test]
    fn a_notice_about_sign_in_methods_leads_to_the_account_or_else_to_another_password() {
        let named = || MailSender::named("Fish & Chips");
        let recover = || Some("https://r".to_owned());
        let kinds = [
            MessageKind::FactorAdded { name: "a key".to_owned() },
            MessageKind::FactorRemoved { name: "a key".to_owned() },
            MessageKind::RecoveryCodesMade,
            MessageKind::RecoveryCodeUsed { left: 9 },
        ];
        for kind in kinds {
            let sender = MailSender { account: Some("https://a".to_owned()), recover: recover(), ..named() };
            let mail = from(sender, kind.clone());
            assert!(mail.text.contains("\nOpen your account:\nhttps://a\n"), "{}", mail.text);
            assert!(mail.html.contains("<a class=\"button\" href=\"https://a\""), "{}", mail.html);
            let mail = from(MailSender { recover: recover(), ..named() }, kind.clone());
            assert!(mail.text.contains("\nSet a new password:\nhttps://r\n"), "{}", mail.text);
            assert!(!from(named(), kind).html.contains("<td class=\"button\""));
        }
    }

    #[test]
    fn a_mail_about_an_account_says_which_and_when() {
        let said = "Account: alice@example.com. Time: 15 June 2025, 15:06 UTC.";
        for kind in MessageKind::samples() {
            let (mail, about) =
                (rendered(kind.clone()), !matches!(kind.name(), "verify_email" | "change_email"));
            for part in [&mail.text, &mail.html] {
                assert_eq!(part.contains(said), about, "{part}");
            }
        }
    }

    #[test]
    fn a_decoy_cannot_be_written_out() {
        let message = Message { to: String::new(), kind: MessageKind::Decoy };
        let templates = MailTemplates::new(MailSender::named("Sluice"));
        let written = templates.render(Uuid::nil(), &message, Timestamp::default());
        assert!(written.is_err());
    }
}
