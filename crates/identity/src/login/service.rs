//! One attempt to log in: slowed down, verified, answered the same for every reason to refuse. Never waits for the
//! hardening worker: a right password is right in every state of its credential.

use std::fmt;
use std::sync::Arc;

use sluice_crypto::credential::Verified;
use sluice_primitives::{Clock, IdentityId, Lifetime, Secret};
use tracing::{info, warn};

use super::lockout::{Guess, Guesser, Lockout, LockoutConfig, Network};
use crate::credential::{Password, PasswordHasher};
use crate::error::IdentityError;
use crate::identity::{Email, Identity, IdentityRepository, IdentityStatus};
use crate::limits::Limits;

/// What a person typed, and where.
#[derive(Debug)]
pub struct Attempt {
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: Secret<String>,
    /// Where the request comes from.
    pub network: Network,
    /// Whether the browser proves, by something that was sealed for it, that this account was logged in to from it
    /// before. Then it does not wait for strangers who guess at the account.
    pub known_browser: bool,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginOutcome {
    /// It is this person.
    LoggedIn(Box<Identity>),
    /// It is nobody who may log in. The reason is for the operator: the person is told the same for each.
    Refused(Refusal),
    /// Too many attempts were made, or failed; the next may come after this time. The password was not looked at.
    TooMany(Lifetime),
}

/// Why an attempt was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody can have this address or password: they are malformed, too long or missing.
    Malformed,
    /// No account has this address.
    UnknownAccount,
    /// The password is another one, or there is none.
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
    limits: Arc<Limits>,
    clock: Arc<dyn Clock>,
    lockout: Lockout,
}

impl LoginService {
    /// The service.
    pub fn new(
        identities: Arc<dyn IdentityRepository>,
        hasher: Arc<PasswordHasher>,
        limits: Arc<Limits>,
        config: &LockoutConfig,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { identities, hasher, limits, clock, lockout: Lockout::new(config) }
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
        let Attempt { network, known_browser, .. } = attempt;
        let guesser = Guesser { account: email.login_name(), network, known_browser };
        let guess = match self.admit(guesser) {
            Ok(guess) => guess,
            Err(wait) => return Ok(too_many(network, wait)),
        };
        let looked_at = async {
            let found = self.identities.find_by_login_name(&guesser.account).await?;
            self.look_at(found, password).await
        };
        self.settle(&guess, looked_at.await)
    }

    /// Whether the password is that of somebody who is logged in, before something that matters is changed. Counted with
    /// the attempts to log in from browsers that are known.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now; then the attempt does not count.
    pub async fn verify_password(
        &self,
        identity: IdentityId,
        password: &Secret<String>,
        network: Network,
    ) -> Result<LoginOutcome, IdentityError> {
        let Ok(password) = password.expose().parse() else {
            return Ok(LoginOutcome::Refused(Refusal::Malformed));
        };
        let Some(found) = self.identities.find(identity).await? else {
            return Ok(LoginOutcome::Refused(Refusal::UnknownAccount));
        };
        let guesser = Guesser { account: found.login_name, network, known_browser: true };
        let guess = match self.admit(guesser) {
            Ok(guess) => guess,
            Err(wait) => return Ok(too_many(network, wait)),
        };
        let looked_at = self.look_at(Some(found), password).await;
        self.settle(&guess, looked_at)
    }

    fn admit(&self, guesser: Guesser) -> Result<Guess, Lifetime> {
        self.limits.check_login(guesser.network)?;
        self.lockout.guess(guesser, self.clock.now())
    }

    async fn look_at(&self, found: Option<Identity>, password: Password) -> Result<Seen, IdentityError> {
        let (id, stored) = found.as_ref().map(|found| (found.id, found.credential.as_str())).unzip();
        let verified = self.hasher.verify(id, stored, password).await?;
        Ok(match (found, verified) {
            (None, _) => Seen::refused(Refusal::UnknownAccount, None),
            (Some(_), Verified::Wrong) => Seen::refused(Refusal::WrongPassword, id),
            (Some(identity), Verified::Right { replacement }) => match identity.status {
                IdentityStatus::Disabled => Seen::refused(Refusal::Disabled, id),
                IdentityStatus::Active => {
                    let identity = self.keep(identity, replacement).await;
                    Seen { outcome: LoginOutcome::LoggedIn(Box::new(identity)), identity: id }
                }
            },
        })
    }

    /// Stores the credential hardened, with the present parameters and pepper. If that fails, the old one still serves, and
    /// the next login tries again.
    async fn keep(&self, identity: Identity, replacement: Option<String>) -> Identity {
        let Some(credential) = replacement else { return identity };
        let replaced = self.identities.replace_credential(identity.id, &identity.credential, &credential);
        match replaced.await {
            Ok(true) => Identity { credential, hardening: false, ..identity },
            Ok(false) => identity, // the worker or another login was faster
            Err(error) => {
                warn!(identity.id = %identity.id, error = %error, "credential not brought up to date");
                identity
            }
        }
    }

    /// Counts what came of a guess, and writes it down.
    fn settle(
        &self,
        guess: &Guess,
        seen: Result<Seen, IdentityError>,
    ) -> Result<LoginOutcome, IdentityError> {
        let network = guess.network();
        let seen = seen.inspect_err(|_| self.lockout.was_none(guess))?;
        match &seen.outcome {
            LoginOutcome::LoggedIn(identity) => {
                self.lockout.was_right(guess);
                info!(target: "sluice_audit", { identity.id = %identity.id, client.network = %network }, "password right");
            }
            LoginOutcome::Refused(refusal) => {
                let (id, reason) = (seen.identity.map(tracing::field::display), refusal.as_str());
                info!(target: "sluice_audit", { identity.id = id, client.network = %network, reason }, "login refused");
            }
            LoginOutcome::TooMany(_) => {}
        }
        Ok(seen.outcome)
    }
}

impl fmt::Debug for LoginService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginService").field("hasher", &self.hasher).finish_non_exhaustive()
    }
}

/// What came of looking at a password, and whose it would be.
struct Seen {
    outcome: LoginOutcome,
    identity: Option<IdentityId>,
}

impl Seen {
    const fn refused(refusal: Refusal, identity: Option<IdentityId>) -> Self {
        Self { outcome: LoginOutcome::Refused(refusal), identity }
    }
}

fn too_many(network: Network, wait: Lifetime) -> LoginOutcome {
    let millis = wait.as_millis();
    info!(target: "sluice_audit", { client.network = %network, wait_ms = millis }, "login delayed");
    LoginOutcome::TooMany(wait)
}
