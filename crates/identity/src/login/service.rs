//! One attempt to log in: slowed down, verified, answered the same for every reason to refuse.

use std::fmt;
use std::sync::Arc;

use sluice_primitives::{Clock, Lifetime, Secret};
use tracing::warn;

use super::lockout::{Guess, Lockout, LockoutConfig, Network};
use crate::credential::{Password, PasswordHasher, Verified};
use crate::error::IdentityError;
use crate::identity::{Email, Identity, IdentityRepository, IdentityStatus};

/// What a person typed, and where.
#[derive(Debug)]
pub struct Attempt {
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: Secret<String>,
    /// Where the request comes from.
    pub network: Network,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginOutcome {
    /// It is this person.
    LoggedIn(Box<Identity>),
    /// It is nobody who may log in. The reason is for the operator: the person is told the same for each.
    Refused(Refusal),
    /// Too many attempts failed; the next may come after this time. The password was not looked at.
    TooMany(Lifetime),
}

/// Why an attempt was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody can have this address or password: they are malformed, too long or missing.
    Malformed,
    /// No account has this address.
    UnknownAccount,
    /// The password is another one.
    WrongPassword,
    /// The account may not log in. The password was right.
    Disabled,
}

impl Refusal {
    /// What a log says.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed e-mail address or password",
            Self::UnknownAccount => "unknown account",
            Self::WrongPassword => "wrong password",
            Self::Disabled => "disabled account",
        }
    }
}

/// Logs people in.
pub struct LoginService {
    identities: Arc<dyn IdentityRepository>,
    hasher: Arc<PasswordHasher>,
    clock: Arc<dyn Clock>,
    lockout: Lockout,
}

impl LoginService {
    /// The service.
    pub fn new(
        identities: Arc<dyn IdentityRepository>,
        hasher: Arc<PasswordHasher>,
        config: &LockoutConfig,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { identities, hasher, clock, lockout: Lockout::new(config) }
    }

    /// Logs a person in. Unknown, disabled and other accounts cost the same work: one read and one hash.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now; then the attempt does not count.
    pub async fn log_in(&self, attempt: Attempt) -> Result<LoginOutcome, IdentityError> {
        let (Ok(email), Ok(password)) = (attempt.email.parse::<Email>(), attempt.password.expose().parse())
        else {
            return Ok(LoginOutcome::Refused(Refusal::Malformed));
        };
        let guess = match self.lockout.guess(email.login_name(), attempt.network, self.clock.now()) {
            Ok(guess) => guess,
            Err(wait) => return Ok(LoginOutcome::TooMany(wait)),
        };
        let looked_at = self.look_at(&email, password).await;
        self.settle(&guess, &looked_at);
        looked_at
    }

    async fn look_at(&self, email: &Email, password: Password) -> Result<LoginOutcome, IdentityError> {
        let found = self.identities.find_by_login_name(&email.login_name()).await?;
        let stored = found.as_ref().map(|identity| identity.credential.as_str());
        let verified = self.hasher.verify(stored, password).await?;
        Ok(match (found, verified) {
            (None, _) => LoginOutcome::Refused(Refusal::UnknownAccount),
            (Some(_), Verified::Wrong) => LoginOutcome::Refused(Refusal::WrongPassword),
            (Some(identity), Verified::Right { rehashed }) => match identity.status {
                IdentityStatus::Disabled => LoginOutcome::Refused(Refusal::Disabled),
                IdentityStatus::Active => {
                    LoginOutcome::LoggedIn(Box::new(self.keep(identity, rehashed).await))
                }
            },
        })
    }

    /// Stores a hash of the present parameters. If that fails, the old one still serves, and the next login tries again.
    async fn keep(&self, identity: Identity, rehashed: Option<String>) -> Identity {
        let Some(credential) = rehashed else { return identity };
        let replaced = self.identities.replace_credential(identity.id, &identity.credential, &credential);
        match replaced.await {
            Ok(true) => Identity { credential, hardening: false, ..identity },
            Ok(false) => identity, // somebody else was faster
            Err(error) => {
                warn!(identity.id = %identity.id, error = %error, "password hash not brought up to date");
                identity
            }
        }
    }

    fn settle(&self, guess: &Guess, looked_at: &Result<LoginOutcome, IdentityError>) {
        match looked_at {
            Ok(LoginOutcome::LoggedIn(_)) => self.lockout.was_right(guess),
            Ok(LoginOutcome::Refused(_) | LoginOutcome::TooMany(_)) => {}
            Err(_) => self.lockout.was_none(guess),
        }
    }
}

impl fmt::Debug for LoginService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginService").field("hasher", &self.hasher).finish_non_exhaustive()
    }
}
