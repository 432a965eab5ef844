//! E-mail addresses: the proof that somebody reads mail there, and another address. Whether an address is taken is told
//! to nobody but who reads mail at it.

use sluice_primitives::{IdentityId, Secret, SessionId};
use tracing::info;

use super::codes::{MailProof, NewCode, RightCode, nobody};
use super::confirmation::Confirmation;
use super::outcome::{Denied, Outcome, Stop};
use super::service::AccountService;
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::identity::changing::change_latest;
use crate::identity::{Changed, Email, Identity, IdentityChange, IdentityStatus, InvalidEmail, NewEmail};
use crate::login::Network;
use crate::mail::{CodePurpose, MessageKind};
use crate::registration::InvalidField;

impl AccountService {
    /// Sends a code to the person's address.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn send_verification(
        &self,
        identity: IdentityId,
        network: Network,
    ) -> Result<Outcome<()>, IdentityError> {
        Outcome::of(self.verification_sent(identity, network).await)
    }

    /// Sends another code to an address that waits to be verified. If none does, the same is done but for the mail.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn send_verification_to(
        &self,
        email: &str,
        network: Network,
    ) -> Result<Outcome<()>, IdentityError> {
        Outcome::of(self.verification_sent_to(email, network).await)
    }

    /// The account whose address the `token` of a link verifies, if it does; so that whoever follows it sees whose account
    /// they vouch for. Nothing is spent by looking.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn account_to_verify(&self, token: &Secret<String>) -> Result<Option<Identity>, IdentityError> {
        let Some(link) = self.open_link(token, CodePurpose::VerifyEmail) else { return Ok(None) };
        let found = self.identities.find(link.identity).await?;
        Ok(found.filter(waits_for_verification))
    }

    /// The person reads mail at the address: whose it is.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn verify_email(
        &self,
        proof: &MailProof,
        network: Network,
    ) -> Result<Outcome<IdentityId>, IdentityError> {
        Outcome::of(self.email_verified(proof, network).await)
    }

    /// Sends a code to the new address. If it is taken, its owner is told instead, and no code is right.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now.
    pub async fn begin_email_change(
        &self,
        confirmation: &Confirmation<'_>,
        new_email: &str,
    ) -> Result<Outcome<()>, IdentityError> {
        Outcome::of(self.email_change_begun(confirmation, new_email).await)
    }

    /// Sets the address of `caller`, a person and the session in which they are signed in, to the one that the code was sent to. The former one is told. Whoever
    /// only reads the mail sets nobody's address: others may have asked for it.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn confirm_email_change(
        &self,
        caller: (IdentityId, SessionId),
        proof: &MailProof,
        network: Network,
    ) -> Result<Outcome<()>, IdentityError> {
        Outcome::of(self.email_changed(caller, proof, network).await)
    }

    async fn verification_sent(&self, identity: IdentityId, network: Network) -> Result<(), Stop> {
        let mails = self.mails.as_ref().ok_or(Denied::NoMail)?;
        let identity = self.identities.find(identity).await?.ok_or(Denied::Gone)?;
        if identity.email_verified_at.is_some() {
            return Err(Denied::Unchanged.into());
        }
        if !identity.is_proved_by_mail() {
            return Err(Denied::Invalid(InvalidEmail::Malformed.into()).into());
        }
        self.limits.check_mail(&identity.login_name, network).map_err(Denied::TooMany)?;
        let new = NewCode {
            whose: (identity.id, identity.revision),
            purpose: CodePurpose::VerifyEmail,
            to: &identity.email,
        };
        self.send_code(mails, new, MessageKind::VerifyEmail).await
    }

    async fn verification_sent_to(&self, email: &str, network: Network) -> Result<(), Stop> {
        let mails = self.mails.as_ref().ok_or(Denied::NoMail)?;
        // Somebody may have it who would not be given it any more.
        let email: Email = email.parse().map_err(InvalidField::from)?;
        if email.may_lead_elsewhere() {
            return Err(Denied::Invalid(InvalidEmail::Malformed.into()).into());
        }
        let account = email.login_name();
        self.limits.check_verification_mail(&account, network).map_err(Denied::TooMany)?;
        let found = self.identities.find_by_login_name(&account).await?.filter(waits_for_verification);
        let new = NewCode {
            whose: found.as_ref().map_or((nobody(&account), 0), |identity| (identity.id, identity.revision)),
            purpose: CodePurpose::VerifyEmail,
            to: email.as_str(),
        };
        let kind = |code| if found.is_some() { MessageKind::VerifyEmail(code) } else { MessageKind::Decoy };
        self.send_code(mails, new, kind).await
    }

    async fn email_verified(&self, proof: &MailProof, network: Network) -> Result<IdentityId, Stop> {
        let right = self.right_code(proof, (CodePurpose::VerifyEmail, None), network).await?;
        let now = self.clock.now();
        // The address may be another one by now.
        let verifies = |identity: &Identity| {
            (identity.email == right.email && identity.is_proved_by_mail()).then(|| IdentityChange {
                email_verified_at: Some(Some(identity.email_verified_at.unwrap_or(now))),
                ..IdentityChange::of(identity, now, self.attempt(now))
            })
        };
        let deed = Deed::new("e-mail address verified", right.identity.id);
        match change_latest(&*self.identities, right.identity.id, deed, verifies).await? {
            None => Err(Denied::WrongCode.into()),
            Some((identity, Changed::Done)) => {
                self.spend(&right).await;
                info!(target: "sluice_audit", { identity.id = %identity.id }, "e-mail address verified");
                Ok(identity.id)
            }
            Some((_, Changed::Stale | Changed::Taken)) => Err(IdentityError::Changed.into()),
        }
    }

    async fn email_change_begun(&self, confirmation: &Confirmation<'_>, new_email: &str) -> Result<(), Stop> {
        let mails = self.mails.as_ref().ok_or(Denied::NoMail)?;
        let email = Email::for_new(new_email).map_err(InvalidField::from)?;
        let identity = self.confirmed(confirmation).await?;
        let network = confirmation.network;
        if identity.email == email.as_str() {
            return Err(Denied::Unchanged.into());
        }
        self.limits.check_email_change(&email.login_name(), network).map_err(Denied::TooMany)?;
        let is_taken = self.identities.find_by_login_name(&email.login_name()).await?.is_some();
        let new = NewCode {
            whose: (identity.id, identity.revision),
            purpose: CodePurpose::ChangeEmail,
            to: email.as_str(),
        };
        let taken = is_taken.then(|| self.already_registered_kind());
        let sent = self.send_code(mails, new, |code| taken.unwrap_or(MessageKind::ChangeEmail(code))).await;
        Deed::new("another e-mail address asked for", identity.id).at(network).noted(sent)?;
        info!(target: "sluice_audit", { identity.id = %identity.id, client.network = %network }, "another e-mail address asked for");
        Ok(())
    }

    async fn email_changed(
        &self,
        caller: (IdentityId, SessionId),
        proof: &MailProof,
        network: Network,
    ) -> Result<(), Stop> {
        let whose = (CodePurpose::ChangeEmail, Some(caller.0));
        let RightCode { identity, email, .. } = self.right_code(proof, whose, network).await?;
        if !self.sessions.goes_on(caller).await? {
            return Err(Denied::Gone.into());
        }
        let email = Email::for_new(&email).map_err(|_| Denied::WrongCode)?;
        let now = self.clock.now();
        let new_masked = masked(email.as_str());
        let change = IdentityChange {
            email: Some(NewEmail { email: email.as_str().to_owned(), login_name: email.login_name() }),
            email_verified_at: Some(Some(now)),
            mails: self.notice(&identity, MessageKind::EmailChanged { new_masked }),
            ..IdentityChange::of(&identity, now, self.attempt(now))
        };
        // The code is of the revision that this raises: that spends it.
        Deed::new("e-mail address changed", identity.id).at(network).noted(self.make(&change).await)?;
        info!(target: "sluice_audit", { identity.id = %identity.id, client.network = %network }, "e-mail address changed");
        Ok(())
    }

    pub(super) fn already_registered_kind(&self) -> MessageKind {
        let links = &self.config.links;
        let login = links.login.as_ref().map(ToString::to_string).unwrap_or_default();
        MessageKind::AlreadyRegistered { login, recover: links.recover.to_string() }
    }
}

/// Enough of an address to know one's own.
pub(super) fn masked(email: &str) -> String {
    let (local, domain) = email.rsplit_once('@').unwrap_or((email, ""));
    let first: String = local.chars().take(1).collect();
    format!("{first}…@{domain}")
}

fn waits_for_verification(identity: &Identity) -> bool {
    identity.email_verified_at.is_none()
        && identity.status == IdentityStatus::Active
        && identity.is_proved_by_mail()
}
