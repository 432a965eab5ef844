//! What is written to those to whose records an administrator does something.

use async_trait::async_trait;

use super::codes::NewCode;
use super::email::masked;
use super::outcome::Stop;
use super::service::AccountService;
use crate::administration::AdministrationMails;
use crate::error::IdentityError;
use crate::identity::Identity;
use crate::mail::{CodePurpose, Message, MessageKind, QueuedMail};

#[async_trait]
impl AdministrationMails for AccountService {
    async fn write_recovery(&self, identity: &Identity) -> Result<(), IdentityError> {
        let Some(mails) = &self.mails else { return Ok(()) };
        let whose = (identity.id, identity.revision);
        let new = NewCode { whose, purpose: CodePurpose::Recover, to: &identity.email };
        match self.send_code(mails, new, MessageKind::Recover).await {
            Ok(()) | Err(Stop::Denied(_)) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    fn email_notice(&self, before: &Identity, new: &str) -> Vec<QueuedMail> {
        self.uncounted_notice(before, MessageKind::EmailChanged { new_masked: masked(new) })
    }

    fn reset_notice(&self, before: &Identity) -> Vec<QueuedMail> {
        self.uncounted_notice(before, self.change_of_password())
    }

    fn deletion_notice(&self, before: &Identity) -> Vec<QueuedMail> {
        self.uncounted_notice(before, MessageKind::AccountDeleted)
    }

    fn was_told(&self, before: &Identity) {
        self.limits.was_told_by_administrator(before);
    }
}

impl AccountService {
    /// What is written to the present address of a person, if what it tells of is done.
    fn uncounted_notice(&self, identity: &Identity, kind: MessageKind) -> Vec<QueuedMail> {
        let may_be_told = self.limits.may_be_told_by_administrator(identity);
        let Some(mails) = self.mails.as_ref().filter(|_| may_be_told) else { return Vec::new() };
        vec![mails.sealed(&Message { to: identity.email.clone(), kind })]
    }
}
