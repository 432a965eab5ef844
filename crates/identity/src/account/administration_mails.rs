//! What is written to those to whose records an administrator does something.

use async_trait::async_trait;

use super::codes::NewCode;
use super::email::masked;
use super::outcome::Stop;
use super::service::AccountService;
use crate::administration::AdministrationMails;
use crate::error::IdentityError;
use crate::identity::Identity;
use crate::mail::{CodePurpose, MessageKind, QueuedMail};

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
        self.notice(before, MessageKind::EmailChanged { new_masked: masked(new) })
    }

    fn reset_notice(&self, before: &Identity) -> Vec<QueuedMail> {
        self.password_notice(before)
    }

    fn deletion_notice(&self, before: &Identity) -> Vec<QueuedMail> {
        self.notice(before, MessageKind::AccountDeleted)
    }
}
