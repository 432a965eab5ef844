//! What is written to those whose credentials an administrator took away.

use async_trait::async_trait;

use super::codes::NewCode;
use super::outcome::Stop;
use super::service::AccountService;
use crate::administration::RecoveryMails;
use crate::error::IdentityError;
use crate::identity::Identity;
use crate::mail::{CodePurpose, MessageKind};

#[async_trait]
impl RecoveryMails for AccountService {
    async fn write_recovery(&self, identity: &Identity) -> Result<(), IdentityError> {
        let Some(mails) = &self.mails else { return Ok(()) };
        let whose = (identity.id, identity.revision);
        let new = NewCode { whose, purpose: CodePurpose::Recover, to: &identity.email };
        match self.send_code(mails, new, MessageKind::Recover).await {
            Ok(()) | Err(Stop::Denied(_)) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}
