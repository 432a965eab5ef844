//! What people do with their own record, most of it with the present password.

use std::fmt;
use std::sync::Arc;

use sluice_commit::chain;
use sluice_crypto::Sealer;
use sluice_primitives::{AttemptId, Clock, IdentityId, Rng, Secret, SessionId, Timestamp};
use tracing::{info, warn};

use super::config::AccountConfig;
use super::confirmation::Confirmation;
use super::outcome::{Denied, Outcome, Stop};
use super::signing_in::is_weak;
use crate::audit::Deed;
use crate::credential::PasswordHasher;
use crate::error::IdentityError;
use crate::factor::{FactorService, with_second};
use crate::identity::changing::change_latest;
use crate::identity::{
    Changed, EndsSessions, Identity, IdentityChange, IdentityDirectory, NewCredential, Removed, Username,
};
use crate::limits::Limits;
use crate::login::{LoginOutcome, LoginService, Network};
use crate::mail::{CodeKey, CodeRepository, MailQueue, Message, MessageKind, QueuedMail};
use crate::registration::{InvalidField, PasswordRules, Person, WeakPassword};
use crate::session::{Caller, IdentitySession, SessionService, TokenPair};

/// What people do with their own record.
#[derive(Clone)]
pub struct AccountService {
    /// What it is told.
    pub config: AccountConfig,
    /// Records.
    pub identities: Arc<dyn IdentityDirectory>,
    /// Codes that mails carry.
    pub codes: Arc<dyn CodeRepository>,
    /// Their keyed hash.
    pub code_key: CodeKey,
    /// Who writes to people; none where there is no mail.
    pub mails: Option<Arc<MailQueue>>,
    /// Who is signed in.
    pub sessions: Arc<SessionService>,
    /// Second factors.
    pub factors: Arc<FactorService>,
    /// Verifies present passwords.
    pub login: Arc<LoginService>,
    /// Hashes new ones.
    pub hasher: Arc<PasswordHasher>,
    /// What they must be.
    pub rules: Arc<PasswordRules>,
    /// How often one may ask.
    pub limits: Arc<Limits>,
    /// Seals links and tickets, which are in flight.
    pub sealer: Arc<Sealer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

/// Another password, as somebody who is signed in asks for it.
#[derive(Debug)]
pub struct PasswordChange<'a> {
    /// Who it is, and the present one.
    pub confirmation: Confirmation<'a>,
    /// The new one.
    pub new: &'a Secret<String>,
    /// The session that goes on, if one does.
    pub keep: Option<SessionId>,
}

impl AccountService {
    /// Sets another password. Everything of the person ends: sessions, and what applications were given. The session
    /// that is kept goes on under another id, with the pair of tokens that is answered: what was issued up to now holds no
    /// more, whoever has it.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now, or the record was changed meanwhile.
    pub async fn change_password(
        &self,
        change: &PasswordChange<'_>,
    ) -> Result<Outcome<Option<TokenPair>>, IdentityError> {
        Outcome::of(self.password_changed(change).await)
    }

    /// Sets what a person wants to be called.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now.
    pub async fn set_username(&self, identity: IdentityId, raw: &str) -> Result<Outcome<()>, IdentityError> {
        Outcome::of(self.username_set(identity, raw).await)
    }

    /// Deletes an account with all that belongs to it.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now, or the record was changed meanwhile.
    pub async fn delete_account(
        &self,
        confirmation: &Confirmation<'_>,
    ) -> Result<Outcome<()>, IdentityError> {
        Outcome::of(self.account_deleted(confirmation).await)
    }

    async fn password_changed(&self, change: &PasswordChange<'_>) -> Result<Option<TokenPair>, Stop> {
        // Who showed a passkey is not asked for the password: each use of the token costs a hash.
        self.limits.check_password_change(change.confirmation.caller.session).map_err(Denied::TooMany)?;
        let (identity, shown) = self.confirmed_by(&change.confirmation).await?;
        let network = change.confirmation.network;
        let _place = self.limits.place(network, self.hasher.places()).map_err(Denied::TooMany)?;
        let credential = self.new_credential(&identity, change.new).await?;
        let mut kept = self.kept(&identity, change.keep).await?;
        if let (Some(kept), Some(shown)) = (&mut kept, shown) {
            kept.amr = with_second(&kept.amr, shown);
        }
        if change.confirmation.password.is_none() {
            self.limits.check_confirmation(identity.id).map_err(Denied::TooMany)?;
        }
        let now = self.clock.now();
        let changed = IdentityChange {
            mails: self.password_notice(&identity),
            ..self.new_start(&identity, credential, now)
        };
        Deed::new("password changed", identity.id).at(network).noted(self.make(&changed).await)?;
        self.sessions.revoke(identity.id, now);
        info!(target: "sluice_audit", { identity.id = %identity.id, client.network = %network }, "password changed");
        let Some(kept) = kept else { return Ok(None) };
        let is_weak = is_weak(&kept.amr);
        let resumed = match self.sessions.resume(kept, identity.revision + 1, now).await {
            Ok(pair) => self.unless_too_weak(identity.id, pair, is_weak).await,
            Err(error) => Err(error),
        };
        // The password is changed: whoever hears of a failure would try again with the old one.
        Ok(resumed
            .inspect_err(
                |error| warn!(identity.id = %identity.id, error = %chain(error), "kept session not resumed"),
            )
            .ok())
    }

    async fn username_set(&self, identity: IdentityId, raw: &str) -> Result<(), Stop> {
        let username: Username = raw.parse().map_err(InvalidField::from)?;
        self.limits.check_change(identity).map_err(Denied::TooMany)?;
        let now = self.clock.now();
        let change = |identity: &Identity| {
            Some(IdentityChange {
                username: Some(username.as_str().to_owned()),
                ..IdentityChange::of(identity, now, self.attempt(now))
            })
        };
        let deed = Deed::new("username changed", identity);
        match change_latest(&*self.identities, identity, deed, change).await? {
            None => Err(Denied::Gone.into()),
            Some((_, Changed::Done)) => {
                info!(target: "sluice_audit", { identity.id = %identity }, "username changed");
                Ok(())
            }
            Some((_, Changed::Stale | Changed::Taken)) => Err(IdentityError::Changed.into()),
        }
    }

    async fn account_deleted(&self, confirmation: &Confirmation<'_>) -> Result<(), Stop> {
        let identity = self.confirmed(confirmation).await?;
        let network = confirmation.network;
        let now = self.clock.now();
        let until = self.sessions.revoked_until(now);
        let (notice, revision) =
            (self.notice(&identity, MessageKind::AccountDeleted), Some(identity.revision));
        let deed = Deed::new("account deleted", identity.id).at(network);
        match deed.noted(self.identities.delete(identity.id, revision, now, until, notice.first()).await)? {
            Removed::Done => {}
            Removed::Stale => return Err(IdentityError::Changed.into()),
            Removed::Missing => return Err(Denied::Gone.into()),
        }
        self.sessions.revoke(identity.id, now);
        info!(target: "sluice_audit", { identity.id = %identity.id, client.network = %network }, "account deleted");
        Ok(())
    }

    /// The person, if that is the present password.
    pub(super) async fn verify_password(
        &self,
        caller: &Caller,
        password: &Secret<String>,
        network: Network,
    ) -> Result<Identity, Stop> {
        let who = (caller.identity, caller.session);
        match self.login.verify_password(who, password, network).await? {
            LoginOutcome::LoggedIn(identity) => Ok(*identity),
            LoginOutcome::Refused(_) => Err(Denied::WrongPassword.into()),
            LoginOutcome::TooMany(wait) => Err(Denied::TooMany(wait).into()),
        }
    }

    /// The credential of a new password, hardened at once: somebody waits for it who can wait.
    pub(super) async fn new_credential(
        &self,
        identity: &Identity,
        raw: &Secret<String>,
    ) -> Result<NewCredential, Stop> {
        let person = Person { email: &identity.email, username: &identity.username };
        let password = self.rules.judge(raw.expose(), person).map_err(InvalidField::from)?;
        if self.rules.is_breached(&password).await? {
            return Err(InvalidField::from(WeakPassword::Breached).into());
        }
        Ok(NewCredential { stored: self.hasher.hardened(&password).await?, hardening: false })
    }

    /// Another password, and the end of everything that was issued before.
    pub(super) fn new_start(
        &self,
        identity: &Identity,
        credential: NewCredential,
        now: Timestamp,
    ) -> IdentityChange {
        IdentityChange {
            credential: Some(credential),
            ends_sessions: EndsSessions::All,
            revokes: true,
            marker_expires_at: self.sessions.revoked_until(now),
            ..IdentityChange::of(identity, now, self.attempt(now))
        }
    }

    /// Makes a change of a record that was looked at, and of no other.
    pub(super) async fn make(&self, change: &IdentityChange) -> Result<(), Stop> {
        match self.identities.change(change).await? {
            Changed::Done => Ok(()),
            Changed::Taken => Err(Denied::Taken.into()),
            Changed::Stale => Err(IdentityError::Changed.into()),
        }
    }

    /// What is written to the address of somebody whose password was changed.
    pub(super) fn password_notice(&self, identity: &Identity) -> Vec<QueuedMail> {
        self.notice(identity, self.change_of_password())
    }

    /// That the password is another one, and where to choose one.
    pub(super) fn change_of_password(&self) -> MessageKind {
        MessageKind::PasswordChanged { recover: self.config.links.recover.to_string() }
    }

    /// What is written to the present address of a person.
    pub(super) fn notice(&self, identity: &Identity, kind: MessageKind) -> Vec<QueuedMail> {
        let Some(mails) = self.mails.as_ref().filter(|_| self.limits.may_be_told(identity)) else {
            return Vec::new();
        };
        vec![mails.sealed(&Message { to: identity.email.clone(), kind })]
    }

    pub(super) fn attempt(&self, now: Timestamp) -> AttemptId {
        AttemptId::generate(now, &*self.rng)
    }

    async fn kept(
        &self,
        identity: &Identity,
        keep: Option<SessionId>,
    ) -> Result<Option<IdentitySession>, Stop> {
        let Some(id) = keep else { return Ok(None) };
        let found = self.sessions.sessions.find(id, self.clock.now()).await?;
        Ok(found.filter(|session| session.identity == identity.id))
    }
}

impl fmt::Debug for AccountService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountService").field("config", &self.config).finish_non_exhaustive()
    }
}
