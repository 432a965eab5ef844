//! One record after the other: made, changed, deleted; who is signed in to it, and by what.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sluice_crypto::Sealer;
use sluice_crypto::credential::CredentialKeys;
use sluice_crypto::foreign_hash::{ForeignHash, ForeignHashError};
use sluice_primitives::{AttemptId, Clock, IdentityId, Rng, SessionId, Timestamp};
use tracing::info;
use uuid::Uuid;

use super::error::AdministrationError;
use super::input::{IdentityEdit, NewIdentity, NewPassword, Notify};
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::factor::{EnrolledFactor, FactorService};
use crate::identity::changing::change_latest;
use crate::identity::{
    Changed, Email, EndsSessions, Identity, IdentityChange, IdentityDirectory, IdentityStatus, InvalidEmail,
    NewCredential, NewEmail, Registration, Removed, Username,
};
use crate::mail::QueuedMail;
use crate::registration::{InvalidField, PasswordRules, Person};
use crate::session::{IdentitySession, SessionService};

/// Who writes to people of what is done to their records. Notices are to be stored with what they tell of. They go to the address of the
/// record as it was, if that is verified and has not had too many; else there is none.
#[async_trait]
pub trait AdministrationMails: Send + Sync {
    /// Sends the person a mail to choose a password by.
    async fn write_recovery(&self, identity: &Identity) -> Result<(), IdentityError>;

    /// That the address is another one now.
    fn email_notice(&self, before: &Identity, new: &str) -> Vec<QueuedMail>;

    /// That the password is good for nothing any more, and how to choose another.
    fn reset_notice(&self, before: &Identity) -> Vec<QueuedMail>;

    /// That the account is gone.
    fn deletion_notice(&self, before: &Identity) -> Vec<QueuedMail>;

    /// Counts a notice to this person: it is stored, with what it tells of. Nobody else counts them.
    fn was_told(&self, before: &Identity);
}

/// What administrators do with people's records.
pub struct IdentityAdministration {
    /// Records.
    pub identities: Arc<dyn IdentityDirectory>,
    /// Who is signed in.
    pub sessions: Arc<SessionService>,
    /// Second factors.
    pub factors: Arc<FactorService>,
    /// Make credentials.
    pub keys: CredentialKeys,
    /// How much memory a login may take for a hash, in KiB: one that needs more is refused.
    pub max_memory_kib: u32,
    /// What a password must be.
    pub rules: Arc<PasswordRules>,
    /// Writes to people; none where there is no mail.
    pub mails: Option<Arc<dyn AdministrationMails>>,
    /// Seals page tokens, which are in flight.
    pub sealer: Arc<Sealer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

/// An edit with which nothing is wrong, but that its address may be one that is given to nobody ([`ValidEdit::is_for_nobody`]).
struct ValidEdit {
    email: Option<Email>,
    username: Option<String>,
    status: Option<IdentityStatus>,
    email_verified: Option<bool>,
}

impl IdentityAdministration {
    /// The identity with this id.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if there is none.
    pub async fn get(&self, id: IdentityId) -> Result<Identity, AdministrationError> {
        self.identities.find(id).await?.ok_or(AdministrationError::NotFound)
    }

    /// Makes a record. No mail is sent.
    ///
    /// # Errors
    /// [`AdministrationError::Taken`] if the address is another identity's, [`AdministrationError::Invalid`] or
    /// [`AdministrationError::Hash`] if a field is not as it must be.
    pub async fn create(&self, asked: NewIdentity) -> Result<Identity, AdministrationError> {
        let email = Email::for_new(&asked.email).map_err(InvalidField::from)?;
        let username: Username = asked.username.parse().map_err(InvalidField::from)?;
        let now = self.clock.now();
        let id = IdentityId::generate(now, &*self.rng);
        let person = Person { email: email.as_str(), username: username.as_str() };
        let credential = self.credential(id, asked.password, person).await?;
        let identity = Identity {
            id,
            login_name: email.login_name(),
            email: email.as_str().to_owned(),
            username: username.into_string(),
            credential: credential.stored,
            hardening: credential.hardening,
            status: asked.status,
            email_verified_at: asked.email_verified.then_some(now),
            created_at: now,
            updated_at: now,
            revision: 1,
            attempt: AttemptId::generate(now, &*self.rng),
        };
        let deed = Deed::new("identity created by an administrator", id);
        match deed.noted(self.identities.register(identity.clone().into()).await)? {
            Registration::Taken => Err(AdministrationError::Taken),
            Registration::Registered => {
                info!(target: "sluice_audit", { identity.id = %id }, "identity created by an administrator");
                Ok(identity)
            }
        }
    }

    /// Changes a record; what it is now. If nothing differs from what is there, nothing is written: what was proved of the
    /// record holds on. Of another address the former one is told, unless nobody is to be.
    ///
    /// # Errors
    /// [`AdministrationError`] if there is none, if the address is another identity's, if a field is not as it must be.
    pub async fn update(
        &self,
        id: IdentityId,
        edit: IdentityEdit,
        notify: Notify,
    ) -> Result<Identity, AdministrationError> {
        let edit = ValidEdit::read(edit)?;
        let now = self.clock.now();
        let change = |identity: &Identity| {
            let change = edit.change(identity, &self.nothing_of(identity, now))?;
            let mails = self.notice_of_email(identity, &change, notify);
            Some(IdentityChange { mails, ..change })
        };
        let deed = Deed::new("identity changed by an administrator", id);
        let Some(before) = self.change(id, deed, change).await? else {
            // Nothing differs, or nobody is there, or nobody is given such an address.
            let present = self.get(id).await?;
            if edit.is_for_nobody(&present) {
                return Err(InvalidField::from(InvalidEmail::Malformed).into());
            }
            return Ok(present);
        };
        if edit.disables(&before) {
            self.sessions.revoke(id, now);
        }
        if edit.other_email(&before).is_some() {
            self.was_told(&before, notify);
        }
        edit.tell_changed(&before, now);
        self.get(id).await
    }

    /// Deletes a record with all that belongs to it, and revokes what was issued for the person, who is told, unless nobody is to be.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if there is none.
    pub async fn delete(&self, id: IdentityId, notify: Notify) -> Result<(), AdministrationError> {
        let present = self.identities.find(id).await?;
        let writer = self.writer(notify).zip(present.as_ref());
        let notice = writer.map(|(mails, present)| mails.deletion_notice(present)).unwrap_or_default();
        let now = self.clock.now();
        let until = self.sessions.revoked_until(now);
        let deed = Deed::new("identity deleted by an administrator", id);
        let deleted = self.identities.delete(id, None, now, until, notice.first()).await;
        if deed.noted(deleted)? != Removed::Done {
            return Err(AdministrationError::NotFound);
        }
        if let Some(present) = &present {
            self.was_told(present, notify);
        }
        self.sessions.revoke(id, now);
        info!(target: "sluice_audit", { identity.id = %id }, "identity deleted by an administrator");
        Ok(())
    }

    /// Takes password, factors and recovery codes away, and what was agreed to for clients, ends all sessions and revokes what
    /// was issued for the person; the username goes too if a stranger may have chosen it. If it is wanted (`write`), the person is
    /// sent a mail to choose another password by. Else who may log in is told that the password is another one, unless nobody is to be.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if there is none. Before anything is done, if a mail is wanted:
    /// [`AdministrationError::NoMail`] if none can be sent, [`AdministrationError::Disabled`] if the person may not log in.
    /// While they may not, the code is refused; and it is void when they may again, as that raises the revision.
    pub async fn reset_credentials(
        &self,
        id: IdentityId,
        write: bool,
        notify: Notify,
    ) -> Result<(), AdministrationError> {
        let mails = match (&self.mails, write) {
            (None, true) => return Err(AdministrationError::NoMail),
            (mails, _) => mails.as_ref().filter(|_| write),
        };
        let now = self.clock.now();
        // The mail that is wanted says it, too.
        let notify = if write { Notify::Nobody } else { notify };
        let reset = |identity: &Identity| {
            let may_be_reset = !write || identity.status == IdentityStatus::Active;
            may_be_reset.then(|| IdentityChange {
                // Without a password nobody will know any more who may have chosen it.
                username: identity.may_be_a_strangers().then(String::new),
                credential: Some(NewCredential { stored: String::new(), hardening: false }),
                forgets_factors: true,
                ends_sessions: EndsSessions::All,
                revokes: true,
                mails: self.notice_of_reset(identity, notify),
                ..self.nothing_of(identity, now)
            })
        };
        let deed = Deed::new("credentials reset by an administrator", id);
        let Some(before) = self.change(id, deed, reset).await? else {
            self.get(id).await?;
            return Err(AdministrationError::Disabled);
        };
        if before.status == IdentityStatus::Active {
            self.was_told(&before, notify);
        }
        self.sessions.revoke(id, now);
        let username = before.may_be_a_strangers() && !before.username.is_empty();
        info!(target: "sluice_audit", { identity.id = %id, mail = write, username }, "credentials reset by an administrator");
        if let Some(mails) = mails {
            mails.write_recovery(&self.get(id).await?).await?;
        }
        Ok(())
    }

    /// Where the person is signed in, the newest first; at most 200.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if there is no such identity.
    pub async fn sessions(&self, id: IdentityId) -> Result<Vec<IdentitySession>, AdministrationError> {
        self.get(id).await?;
        Ok(self.sessions.list(id).await?)
    }

    /// Signs the person out of one session.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if the person has no such session.
    pub async fn end_session(&self, id: IdentityId, session: SessionId) -> Result<(), AdministrationError> {
        let deed = Deed::new("signed out by an administrator", id);
        if !self.sessions.end_as(id, session, deed).await? {
            return Err(AdministrationError::NotFound);
        }
        info!(target: "sluice_audit", { identity.id = %id, session.id = %session }, "signed out by an administrator");
        Ok(())
    }

    /// Signs the person out everywhere, and revokes what applications were given.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if there is no such identity.
    pub async fn end_sessions(&self, id: IdentityId) -> Result<(), AdministrationError> {
        self.get(id).await?;
        let deed = Deed::new("signed out by an administrator", id);
        self.sessions.end_all_as(id, deed).await?;
        info!(target: "sluice_audit", { identity.id = %id }, "signed out by an administrator");
        Ok(())
    }

    /// The second factors of the person, the oldest first, and how many recovery codes are left.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if there is no such identity.
    pub async fn factors(&self, id: IdentityId) -> Result<(Vec<EnrolledFactor>, u32), AdministrationError> {
        self.get(id).await?;
        Ok((self.factors.list(id).await?, self.factors.recovery_codes_left(id).await?))
    }

    /// Whether an administrator said that the person must have a second factor.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if there is no such identity.
    pub async fn requires_factor(&self, id: IdentityId) -> Result<bool, AdministrationError> {
        self.get(id).await?;
        Ok(self.factors.is_chosen(id).await?)
    }

    /// Says whether the person must have a second factor, as far as who must is said person by person
    /// ([`FactorsRequired::Chosen`](crate::factor::FactorsRequired::Chosen)). Nothing ends with it: it is asked for at the next login.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if there is no such identity.
    pub async fn require_factor(&self, id: IdentityId, required: bool) -> Result<(), AdministrationError> {
        let deed = Deed::new("second factor required by an administrator, or no longer", id);
        if !self.factors.require(id, required, deed).await? {
            return Err(AdministrationError::NotFound);
        }
        info!(target: "sluice_audit", { identity.id = %id, required }, "second factor required by an administrator, or no longer");
        Ok(())
    }

    /// Takes a second factor away, also the last one of somebody who must have one: they set up another at the next login. The person is told.
    ///
    /// # Errors
    /// [`AdministrationError::NotFound`] if the person has no such factor.
    pub async fn remove_factor(&self, id: IdentityId, factor: Uuid) -> Result<(), AdministrationError> {
        let deed = Deed::new("it was an administrator who removed the factor", id);
        if !self.factors.remove_as_administrator(&self.get(id).await?, factor, deed).await? {
            return Err(AdministrationError::NotFound);
        }
        info!(target: "sluice_audit", { identity.id = %id, factor.id = %factor }, "it was an administrator who removed the factor");
        Ok(())
    }

    async fn credential(
        &self,
        owner: IdentityId,
        password: Option<NewPassword>,
        person: Person<'_>,
    ) -> Result<NewCredential, AdministrationError> {
        Ok(match password {
            None => NewCredential { stored: String::new(), hardening: false },
            Some(NewPassword::Plain(raw)) => {
                let password = self.rules.new_password(raw.expose(), person).await?;
                let password = password.map_err(InvalidField::from)?;
                let stored = self.keys.provisional(owner, password.expose().as_bytes(), &*self.rng);
                NewCredential { stored, hardening: true }
            }
            // Hardened when its password is shown at a login, and not before.
            Some(NewPassword::Hash(hash)) => {
                let hash = ForeignHash::parse(hash.expose())?;
                if hash.memory_kib() > self.max_memory_kib {
                    return Err(ForeignHashError::TooMuchMemory.into());
                }
                NewCredential { stored: self.keys.foreign(owner, &hash, &*self.rng), hardening: false }
            }
        })
    }

    /// Who writes to the person, if anybody does.
    fn writer(&self, notify: Notify) -> Option<&dyn AdministrationMails> {
        match notify {
            Notify::Person => self.mails.as_deref(),
            Notify::Nobody => None,
        }
    }

    /// Counts what was written to the person, if anybody writes.
    fn was_told(&self, before: &Identity, notify: Notify) {
        if let Some(mails) = self.writer(notify) {
            mails.was_told(before);
        }
    }

    /// What is written to the address of a record that is given another one.
    fn notice_of_email(&self, before: &Identity, change: &IdentityChange, notify: Notify) -> Vec<QueuedMail> {
        let told = self.writer(notify).zip(change.email.as_ref());
        told.map(|(mails, new)| mails.email_notice(before, &new.email)).unwrap_or_default()
    }

    /// What is written to somebody whose password is taken away. The mail leads to where another is chosen, which who is disabled cannot.
    fn notice_of_reset(&self, before: &Identity, notify: Notify) -> Vec<QueuedMail> {
        let writer = self.writer(notify).filter(|_| before.status == IdentityStatus::Active);
        writer.map(|mails| mails.reset_notice(before)).unwrap_or_default()
    }

    fn nothing_of(&self, identity: &Identity, now: Timestamp) -> IdentityChange {
        IdentityChange {
            marker_expires_at: self.sessions.revoked_until(now),
            ..IdentityChange::of(identity, now, AttemptId::generate(now, &*self.rng))
        }
    }

    /// Makes a change; the record before it. None if there is no such identity, or nothing to change.
    async fn change(
        &self,
        id: IdentityId,
        deed: Deed,
        change: impl Fn(&Identity) -> Option<IdentityChange> + Send,
    ) -> Result<Option<Identity>, AdministrationError> {
        match change_latest(&*self.identities, id, deed, change).await? {
            None => Ok(None),
            Some((before, Changed::Done)) => Ok(Some(before)),
            Some((_, Changed::Taken)) => Err(AdministrationError::Taken),
            Some((_, Changed::Stale)) => Err(IdentityError::Changed.into()),
        }
    }
}

impl fmt::Debug for IdentityAdministration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityAdministration").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

impl ValidEdit {
    fn read(edit: IdentityEdit) -> Result<Self, InvalidField> {
        let email = edit.email.map(|email| email.parse::<Email>()).transpose()?;
        let username = edit.username.map(|username| username.parse::<Username>()).transpose()?;
        Ok(Self {
            email,
            username: username.map(Username::into_string),
            status: edit.status,
            email_verified: edit.email_verified,
        })
    }

    /// The address that the edit gives somebody who has another one.
    fn other_email(&self, identity: &Identity) -> Option<&Email> {
        self.email.as_ref().filter(|email| email.login_name() != identity.login_name)
    }

    /// Whether that is one which is given to nobody ([`Email::is_for_nobody`]). One that is there may stay.
    fn is_for_nobody(&self, identity: &Identity) -> bool {
        self.other_email(identity).is_some_and(Email::is_for_nobody)
    }

    fn disables(&self, identity: &Identity) -> bool {
        self.status == Some(IdentityStatus::Disabled) && identity.status == IdentityStatus::Active
    }

    /// What of the edit differs from the record, if anything does. None if its address is given to nobody.
    fn change(&self, identity: &Identity, nothing: &IdentityChange) -> Option<IdentityChange> {
        if self.is_for_nobody(identity) {
            return None;
        }
        let email = self.other_email(identity);
        let email =
            email.map(|email| NewEmail { login_name: email.login_name(), email: email.as_str().to_owned() });
        let now = nothing.now;
        let verified_at = if email.is_some() { None } else { identity.email_verified_at };
        let verified_at = match self.email_verified {
            Some(true) => verified_at.or(Some(now)),
            Some(false) => None,
            None => verified_at,
        };
        let disables = self.disables(identity);
        let change = IdentityChange {
            email,
            email_verified_at: (verified_at != identity.email_verified_at).then_some(verified_at),
            username: self.username.clone().filter(|username| *username != identity.username),
            status: self.status.filter(|status| *status != identity.status),
            ends_sessions: if disables { EndsSessions::All } else { EndsSessions::None },
            revokes: disables,
            ..nothing.clone()
        };
        (change != *nothing).then_some(change)
    }

    /// Says in the audit trail what of a record it has changed, and nothing of what that was.
    fn tell_changed(&self, before: &Identity, now: Timestamp) {
        let nothing = IdentityChange::of(before, now, before.attempt);
        let Some(change) = self.change(before, &nothing) else { return };
        let status = change.status.unwrap_or(before.status).as_str();
        let (email, username) = (change.email.is_some(), change.username.is_some());
        let email_verified = change.email_verified_at.is_some();
        info!(target: "sluice_audit", { identity.id = %before.id, status, email, email_verified, username }, "identity changed by an administrator");
    }
}
