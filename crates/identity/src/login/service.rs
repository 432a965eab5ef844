//! One attempt to log in: slowed down, verified, answered the same for every reason to refuse. Never waits for the
//! hardening worker: a right password is right in every state of its credential.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sluice_commit::chain;
use sluice_crypto::credential::Verified;
use sluice_crypto::hash_pool::{PoolBusy, ReservedPlace, is_heard};
use sluice_net::Network;
use sluice_primitives::{Clock, IdentityId, Lifetime, Secret, SessionId};
use tokio::time::timeout;
use tracing::{Instrument, info, warn};

use super::lockout::{Guess, Guesser, Lockout, LockoutConfig, Standing};
use crate::credential::{Password, PasswordHasher};
use crate::error::IdentityError;
use crate::identity::{Email, Identity, IdentityRepository, IdentityStatus, LoginNameHash};
use crate::limits::{Limits, Place};

/// How long a login waits for its credential to be brought up to date, which takes milliseconds: while commits hang, what follows it waits
/// for them as well, and whoever logs in waits for one of the two.
const UP_TO_DATE_WITHIN: Duration = Duration::from_secs(1);

/// What a person typed, and where.
///
/// Prints where.
pub struct Attempt {
    /// The e-mail address.
    pub email: String,
    /// The password.
    pub password: Secret<String>,
    /// Where the request comes from.
    pub network: Network,
    /// Whom the browser proves, by something that was sealed for it, to have been logged in to this account as. If that is
    /// who has the account now, it does not wait for strangers who guess at it.
    pub known_as: Option<KnownAs>,
}

/// Somebody who logged in, and the revision of their record then: another password, or being signed out everywhere, makes
/// them somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAs {
    /// Who.
    pub identity: IdentityId,
    /// [`Identity::revision`] then.
    pub revision: i64,
}

impl KnownAs {
    /// As whom somebody is known from now on who has just logged in.
    pub const fn of(identity: &Identity) -> Self {
        Self { identity: identity.id, revision: identity.revision }
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("network", &self.network)
            .field("known_as", &self.known_as)
            .finish_non_exhaustive()
    }
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
    /// Where taken addresses are concealed: the address is not verified. The password was right.
    Unverified,
}

impl Refusal {
    /// What a log says.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed e-mail address or password",
            Self::UnknownAccount => "unknown account",
            Self::WrongPassword => "wrong password",
            Self::Disabled => "disabled account",
            Self::Unverified => "address not verified",
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
    verified_only: bool,
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
        Self { identities, hasher, limits, clock, lockout: Lockout::new(config), verified_only: false }
    }

    /// Refuses people whose address is not verified, as if the password were wrong: where taken addresses are concealed, a
    /// login right after a registration would tell them from free ones.
    #[must_use]
    pub fn verified_only(self, verified_only: bool) -> Self {
        Self { verified_only, ..self }
    }

    /// Logs a person in. Unknown, disabled and other accounts cost the same work: one read and one hash. Only who shows
    /// [`Attempt::known_as`] is read before it is clear whether they wait; whether anybody has the account by then or not. Nothing is
    /// read for who finds no place for their hash, or whose network has its share of the places.
    ///
    /// Whoever leaves while they wait is not looked at any more, and nobody is logged in who has left.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now, or whoever asks has left; then the attempt does not count, unless its
    /// password was looked at.
    pub async fn log_in(&self, attempt: Attempt) -> Result<LoginOutcome, IdentityError> {
        let (Ok(email), Ok(password)) = (attempt.email.parse::<Email>(), attempt.password.expose().parse())
        else {
            return Ok(LoginOutcome::Refused(Refusal::Malformed));
        };
        let Attempt { network, known_as, .. } = attempt;
        let _place = match self.place(network) {
            Ok(place) => place,
            Err(wait) => return Ok(too_many(network, wait)),
        };
        let reserved = self.hasher.reserve()?;
        let account = email.login_name();
        let find = || self.identities.find_by_login_name(&account);
        let found = if known_as.is_some() { Some(find().await?) } else { None };
        let present = found.as_ref().and_then(|found| found.as_ref().map(KnownAs::of));
        let known_browser = present.is_some() && present == known_as;
        let guess = match self.admit((account, known(known_browser)), network) {
            Ok(admitted) => admitted,
            Err(wait) => return Ok(too_many(network, wait)),
        };
        let looked_at = async {
            let found = match found {
                Some(found) => found,
                None => find().await?,
            };
            Ok(self.conceal(self.look_at(found, password, reserved).await?))
        };
        heard(self.settle((&guess, network), looked_at.await)?)
    }

    /// Whether the password is that of somebody who is logged in, before something that matters is changed. Counted for their
    /// session alone: a token may be stolen, and is to keep its owner from nothing. Whoever leaves while they wait is not looked at any
    /// more; whose password was found to be right by then goes on.
    ///
    /// # Errors
    /// [`IdentityError`] if hash pool or store cannot do it now, or whoever asks has left; then the attempt does not count.
    pub async fn verify_password(
        &self,
        (identity, session): (IdentityId, SessionId),
        password: &Secret<String>,
        network: Network,
    ) -> Result<LoginOutcome, IdentityError> {
        let Ok(password) = password.expose().parse() else {
            return Ok(LoginOutcome::Refused(Refusal::Malformed));
        };
        let _place = match self.place(network) {
            Ok(place) => place,
            Err(wait) => return Ok(too_many(network, wait)),
        };
        let reserved = self.hasher.reserve()?;
        let Some(found) = self.identities.find(identity).await? else {
            return Ok(LoginOutcome::Refused(Refusal::UnknownAccount));
        };
        let guess = match self.admit((found.login_name, Standing::SignedIn(session)), network) {
            Ok(admitted) => admitted,
            Err(wait) => return Ok(too_many(network, wait)),
        };
        let looked_at = self.look_at(Some(found), password, reserved).await;
        self.settle((&guess, network), looked_at)
    }

    /// Somebody proved from this network to be the owner of the account otherwise: by the mail of a recovery. From now on
    /// nobody who guesses elsewhere slows them down there.
    pub(crate) fn is_familiar(&self, account: &LoginNameHash, network: Network) {
        if !self.limits.is_exempt(network) {
            self.lockout.is_familiar(account, network);
        }
    }

    /// The place of a network among those who wait for a hash: before one is kept in the queue, and anything is read while it is.
    fn place(&self, network: Network) -> Result<Place, Lifetime> {
        self.limits.place(network, self.hasher.places())
    }

    fn admit(
        &self,
        (account, standing): (LoginNameHash, Standing),
        network: Network,
    ) -> Result<Guess, Lifetime> {
        let counted = (!self.limits.is_exempt(network)).then_some(network);
        let guess = self.lockout.guess(Guesser { account, network: counted, standing }, self.clock.now())?;
        if !self.is_counted_apart(account, standing) {
            self.limits.check_login(network).inspect_err(|_| self.lockout.was_none(&guess))?;
        }
        Ok(guess)
    }

    /// Whether strangers in the same network cannot use up the turn of who is known. Beyond so many they count with their
    /// network: each costs a hash.
    fn is_counted_apart(&self, account: LoginNameHash, standing: Standing) -> bool {
        match standing {
            Standing::Stranger => false,
            Standing::KnownBrowser => self.limits.check_known_login(account, None).is_ok(),
            Standing::SignedIn(session) => self.limits.check_known_login(account, Some(session)).is_ok(),
        }
    }

    async fn look_at(
        &self,
        found: Option<Identity>,
        password: Password,
        reserved: ReservedPlace,
    ) -> Result<Seen, IdentityError> {
        let (id, stored) = found.as_ref().map(|found| (found.id, found.credential.as_str())).unzip();
        let verified = self.hasher.verify(reserved, id, stored, password).await?;
        Ok(match (found, verified) {
            (None, _) => Seen::refused(Refusal::UnknownAccount, None),
            (Some(_), Verified::Wrong) => Seen::refused(Refusal::WrongPassword, id),
            (Some(identity), Verified::Right { replacement }) => match identity.status {
                IdentityStatus::Disabled => Seen::refused(Refusal::Disabled, id),
                IdentityStatus::Active => {
                    // Of whoever is told that nobody was found nothing is written: that would take its time.
                    let replacement = replacement.filter(|_| !self.is_concealed(&identity));
                    let identity = self.keep(identity, replacement).await;
                    Seen { outcome: LoginOutcome::LoggedIn(Box::new(identity)), identity: id }
                }
            },
        })
    }

    const fn is_concealed(&self, identity: &Identity) -> bool {
        self.verified_only && identity.email_verified_at.is_none()
    }

    fn conceal(&self, seen: Seen) -> Seen {
        match &seen.outcome {
            LoginOutcome::LoggedIn(identity) if self.is_concealed(identity) => {
                Seen::refused(Refusal::Unverified, seen.identity)
            }
            _ => seen,
        }
    }

    /// Stores the credential hardened, with the present parameters and pepper. If that fails, the old one still serves, and
    /// the next login tries again. It goes on by itself where it takes longer, or the person leaves.
    async fn keep(&self, identity: Identity, replacement: Option<String>) -> Identity {
        let Some(credential) = replacement else { return identity };
        let (identities, id) = (Arc::clone(&self.identities), identity.id);
        let (old, new) = (identity.credential.clone(), credential.clone());
        let replacing = async move {
            let replaced = identities.replace_credential(id, &old, &new).await;
            // It is not where the worker or another login was faster.
            replaced.unwrap_or_else(|error| {
                warn!(identity.id = %id, error = %chain(&error), "credential not brought up to date");
                false
            })
        };
        match timeout(UP_TO_DATE_WITHIN, tokio::spawn(replacing.in_current_span())).await {
            Ok(Ok(true)) => Identity { credential, hardening: false, ..identity },
            _ => identity,
        }
    }

    /// Counts what came of a guess, and writes it down.
    fn settle(
        &self,
        (guess, network): (&Guess, Network),
        seen: Result<Seen, IdentityError>,
    ) -> Result<LoginOutcome, IdentityError> {
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

/// The outcome, but that nobody is logged in who has left: there would be a session that nobody has.
fn heard(outcome: LoginOutcome) -> Result<LoginOutcome, IdentityError> {
    match outcome {
        LoginOutcome::LoggedIn(_) if !is_heard() => Err(PoolBusy::Unheard.into()),
        outcome => Ok(outcome),
    }
}

const fn known(browser: bool) -> Standing {
    if browser { Standing::KnownBrowser } else { Standing::Stranger }
}

fn too_many(network: Network, wait: Lifetime) -> LoginOutcome {
    let millis = wait.as_millis();
    info!(target: "sluice_audit", { client.network = %network, wait_ms = millis }, "login delayed");
    LoginOutcome::TooMany(wait)
}
