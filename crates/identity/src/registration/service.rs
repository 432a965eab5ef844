//! One sign-up: validated, hashed, stored in one step.

use std::fmt;
use std::sync::Arc;

use sluice_primitives::{AttemptId, Clock, IdentityId, Rng, Secret};
use thiserror::Error;

use super::policy::{self, WeakPassword};
use crate::credential::PasswordHasher;
use crate::error::IdentityError;
use crate::identity::{Email, Identity, IdentityRepository, IdentityStatus, InvalidEmail, Registration};

/// What a person typed.
#[derive(Debug)]
pub struct SignUp {
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: Secret<String>,
}

/// What became of a sign-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistrationOutcome {
    /// The person has a record now.
    Registered(Box<Identity>),
    /// The address belongs to somebody who registered before.
    Taken,
    /// A field is not as it must be; nothing was written.
    Invalid(InvalidField),
}

/// Which field is not as it must be, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidField {
    /// The e-mail address.
    #[error(transparent)]
    Email(#[from] InvalidEmail),
    /// The password.
    #[error(transparent)]
    Password(#[from] WeakPassword),
}

/// Registers people.
pub struct RegistrationService {
    identities: Arc<dyn IdentityRepository>,
    hasher: Arc<PasswordHasher>,
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
}

impl RegistrationService {
    /// The service.
    pub fn new(
        identities: Arc<dyn IdentityRepository>,
        hasher: Arc<PasswordHasher>,
        clock: Arc<dyn Clock>,
        rng: Arc<dyn Rng>,
    ) -> Self {
        Self { identities, hasher, clock, rng }
    }

    /// Registers a person. The password is hashed before the name is looked at, so free and taken names take as long.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now; then nothing was written, or the store does not know.
    pub async fn register(&self, sign_up: SignUp) -> Result<RegistrationOutcome, IdentityError> {
        let (email, password) = match validate(&sign_up) {
            Ok(valid) => valid,
            Err(invalid) => return Ok(RegistrationOutcome::Invalid(invalid)),
        };
        let credential = self.hasher.hash(password).await?;
        let now = self.clock.now();
        let identity = Identity {
            id: IdentityId::generate(now, &*self.rng),
            login_name: email.login_name(),
            email: email.as_str().to_owned(),
            username: String::new(),
            credential,
            hardening: false,
            status: IdentityStatus::Active,
            email_verified_at: None,
            created_at: now,
            updated_at: now,
            revision: 1,
            attempt: AttemptId::generate(now, &*self.rng),
        };
        Ok(match self.identities.register(identity.clone()).await? {
            Registration::Registered => RegistrationOutcome::Registered(Box::new(identity)),
            Registration::Taken => RegistrationOutcome::Taken,
        })
    }
}

impl fmt::Debug for RegistrationService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistrationService").field("hasher", &self.hasher).finish_non_exhaustive()
    }
}

fn validate(sign_up: &SignUp) -> Result<(Email, crate::credential::Password), InvalidField> {
    let email = sign_up.email.parse()?;
    let password = policy::new_password(sign_up.password.expose(), &email)?;
    Ok((email, password))
}
