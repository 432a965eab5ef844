//! What is written to those who register, and to those whose address somebody else registers with.

use async_trait::async_trait;

use super::codes::{NewCode, nobody};
use super::outcome::Stop;
use super::service::AccountService;
use crate::error::IdentityError;
use crate::identity::Identity;
use crate::mail::{CodePurpose, MessageKind};
use crate::registration::RegistrationMails;

#[async_trait]
impl RegistrationMails for AccountService {
    async fn registered(&self, identity: &Identity) -> Result<(), IdentityError> {
        // Somebody may register, delete and register again with an address that is not theirs.
        let may_be_sent = self.limits.check_mail_to(&identity.login_name).is_ok();
        let instead = (!may_be_sent).then_some(MessageKind::Decoy);
        let whose = (identity.id, identity.revision);
        self.write(NewCode { whose, purpose: CodePurpose::VerifyEmail, to: &identity.email }, instead).await
    }

    /// As much work as for somebody who is new, also when the address has had enough mails.
    async fn already_registered(&self, identity: &Identity) -> Result<(), IdentityError> {
        let may_be_sent = self.limits.check_mail_to(&identity.login_name).is_ok();
        let kind = if may_be_sent { self.already_registered_kind() } else { MessageKind::Decoy };
        // Not the code of the owner: strangers must not be able to replace it.
        let whose = (nobody(&identity.login_name), 0);
        self.write(NewCode { whose, purpose: CodePurpose::VerifyEmail, to: &identity.email }, Some(kind))
            .await
    }
}

impl AccountService {
    async fn write(&self, new: NewCode<'_>, instead: Option<MessageKind>) -> Result<(), IdentityError> {
        let Some(mails) = &self.mails else { return Ok(()) };
        let kind = |code| instead.unwrap_or(MessageKind::VerifyEmail(code));
        match self.send_code(mails, new, kind).await {
            Ok(()) | Err(Stop::Denied(_)) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}
