//! What is written to those who register, and to those whose address somebody else registers with.

use super::codes::{NewCode, nobody};
use super::service::AccountService;
use crate::identity::{Identity, RegistrationLetters};
use crate::mail::{CodePurpose, MessageKind};
use crate::registration::RegistrationMails;

impl RegistrationMails for AccountService {
    fn letters(&self, identity: &Identity, conceals_taken: bool) -> Option<RegistrationLetters> {
        let mails = self.mails.as_ref()?;
        // Somebody may register, delete and register again with an address that is not theirs. As much work for an address
        // that has had enough mails.
        let is_enough = self.limits.check_registration_mail(&identity.login_name).is_err();
        let letter = |whose, kind: Option<MessageKind>| {
            let kind = if is_enough { Some(MessageKind::Decoy) } else { kind };
            let new = NewCode { whose, purpose: CodePurpose::VerifyEmail, to: &identity.email };
            self.code_by_mail(mails, &new, |code| kind.unwrap_or(MessageKind::VerifyEmail(code)))
        };
        let welcome = letter((identity.id, identity.revision), None);
        // Not the code of the owner: strangers must not be able to replace it.
        let if_taken = conceals_taken
            .then(|| letter((nobody(&identity.login_name), 0), Some(self.already_registered_kind())));
        Some(RegistrationLetters { welcome, if_taken })
    }
}
