//! One sign-up: validated and stored in one step. Nothing slow is waited for: the password is hardened afterwards.

use std::fmt;
use std::sync::Arc;

use sluice_primitives::{AttemptId, Clock, IdentityId, Lifetime, Rng, Secret, Timestamp};
use tracing::info;

use super::field::InvalidField;
use super::policy::{PasswordRules, Person, WeakPassword};
use crate::audit::Deed;
use crate::config::RegistrationConfig;
use crate::credential::{Password, PasswordHasher};
use crate::error::IdentityError;
use crate::identity::username::Username;
use crate::identity::{
    Email, Identity, IdentityRepository, IdentityStatus, NewIdentity, Registration, RegistrationLetters,
};
use crate::limits::Limits;
use crate::login::Network;

/// What a person typed, and where.
///
/// Prints where.
pub struct SignUp {
    /// The e-mail address.
    pub email: String,
    /// What the person wants to be called; may be empty.
    pub username: String,
    /// The password.
    pub password: Secret<String>,
    /// Where the request comes from.
    pub network: Network,
}

impl fmt::Debug for SignUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignUp").field("network", &self.network).finish_non_exhaustive()
    }
}

/// What became of a sign-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistrationOutcome {
    /// The person has a record now.
    Registered(Box<Identity>),
    /// Where taken addresses are concealed: a mail to the address says whether there is a new record, or was one before.
    Accepted,
    /// The address belongs to somebody who registered before.
    Taken,
    /// A field is not as it must be; nothing was written.
    Invalid(InvalidField),
    /// Too many registrations came from this network; the next may come after this time.
    TooMany(Lifetime),
    /// Nobody may register here.
    Closed,
}

/// Who writes to people that register.
pub trait RegistrationMails: Send + Sync {
    /// What is to be written to the address of a person who registers, with the registration; where taken addresses are
    /// concealed, also if it turns out to be taken. None where there is no mail.
    fn letters(&self, identity: &Identity, conceals_taken: bool) -> Option<RegistrationLetters>;
}

/// What [`RegistrationService`] is made of.
pub struct RegistrationParts {
    /// Where records are.
    pub identities: Arc<dyn IdentityRepository>,
    /// Makes credentials.
    pub hasher: Arc<PasswordHasher>,
    /// What a password must be.
    pub rules: Arc<PasswordRules>,
    /// How often one may register.
    pub limits: Arc<Limits>,
    /// Who writes to people; none where there is no mail.
    pub mails: Option<Arc<dyn RegistrationMails>>,
    /// Who may register.
    pub config: RegistrationConfig,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

/// Registers people.
pub struct RegistrationService {
    parts: RegistrationParts,
}

/// A sign-up with which nothing is wrong, as far as that can be seen without asking anybody.
pub struct ValidSignUp {
    email: Email,
    username: Username,
    password: Password,
    network: Network,
}

impl RegistrationService {
    /// The service.
    pub const fn new(parts: RegistrationParts) -> Self {
        Self { parts }
    }

    /// Whether people may register at all.
    pub const fn is_open(&self) -> bool {
        self.parts.config.enabled
    }

    /// What a password must be.
    pub const fn rules(&self) -> &Arc<PasswordRules> {
        &self.parts.rules
    }

    /// Registers a person, if nothing is wrong with the sign-up: [`Self::validate`] and [`Self::register_valid`].
    ///
    /// # Errors
    /// As [`Self::register_valid`].
    pub async fn register(&self, sign_up: SignUp) -> Result<RegistrationOutcome, IdentityError> {
        match self.validate(&sign_up) {
            Ok(valid) => self.register_valid(valid).await,
            Err(outcome) => Ok(outcome),
        }
    }

    /// What can be said of a sign-up without asking anybody, so that a mistake in it costs nothing that is good once.
    ///
    /// # Errors
    /// [`RegistrationOutcome::Closed`] and [`RegistrationOutcome::Invalid`].
    pub fn validate(&self, sign_up: &SignUp) -> Result<ValidSignUp, RegistrationOutcome> {
        if !self.parts.config.enabled {
            return Err(RegistrationOutcome::Closed);
        }
        self.fields(sign_up).map_err(RegistrationOutcome::Invalid)
    }

    /// Registers a person, and writes to them in the same transaction. Free and taken names cost the same until the store
    /// has answered; where taken ones are concealed, also afterwards: something is written for both.
    ///
    /// # Errors
    /// [`IdentityError`] if the store cannot do it now, or does not know whether it did. A sign-up that is repeated then
    /// may be told that the name is taken.
    pub async fn register_valid(&self, valid: ValidSignUp) -> Result<RegistrationOutcome, IdentityError> {
        let network = valid.network;
        if let Err(wait) = self.parts.limits.check_registration(network) {
            return Ok(RegistrationOutcome::TooMany(wait));
        }
        if self.parts.rules.is_breached(&valid.password).await? {
            return Ok(RegistrationOutcome::Invalid(WeakPassword::Breached.into()));
        }
        let identity = self.record(valid);
        let deed = Deed::new("person registered", identity.id).at(network);
        let registered = self.parts.identities.register(self.with_letters(identity.clone())).await;
        let registration = deed.noted(registered)?;
        if registration == Registration::Registered {
            info!(target: "sluice_audit", { identity.id = %identity.id, client.network = %network }, "person registered");
        }
        Ok(match registration {
            _ if self.parts.config.conceal_taken => RegistrationOutcome::Accepted,
            Registration::Taken => RegistrationOutcome::Taken,
            Registration::Registered => RegistrationOutcome::Registered(Box::new(identity)),
        })
    }

    fn with_letters(&self, identity: Identity) -> NewIdentity {
        let conceals_taken = self.parts.config.conceal_taken;
        let mails = self.parts.mails.as_ref();
        let letters = mails.and_then(|mails| mails.letters(&identity, conceals_taken)).map(Box::new);
        NewIdentity { identity, letters }
    }

    fn fields(&self, sign_up: &SignUp) -> Result<ValidSignUp, InvalidField> {
        let email = Email::for_new(&sign_up.email)?;
        let username: Username = sign_up.username.parse()?;
        let person = Person { email: email.as_str(), username: username.as_str() };
        let password = self.parts.rules.judge(sign_up.password.expose(), person)?;
        Ok(ValidSignUp { email, username, password, network: sign_up.network })
    }

    fn record(&self, valid: ValidSignUp) -> Identity {
        let (now, rng): (Timestamp, &dyn Rng) = (self.parts.clock.now(), &*self.parts.rng);
        let id = IdentityId::generate(now, rng);
        Identity {
            id,
            login_name: valid.email.login_name(),
            email: valid.email.as_str().to_owned(),
            username: valid.username.into_string(),
            credential: self.parts.hasher.provisional(id, &valid.password),
            hardening: true,
            status: IdentityStatus::Active,
            email_verified_at: None,
            created_at: now,
            updated_at: now,
            revision: 1,
            attempt: AttemptId::generate(now, rng),
        }
    }
}

impl fmt::Debug for RegistrationService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistrationService").field("rules", &self.parts.rules).finish_non_exhaustive()
    }
}
