//! Authenticator apps. The secret is in a sealed ticket until a code of it was typed, and sealed in the store from then on.

use std::fmt;

use serde::{Deserialize, Serialize};
use sluice_crypto::Purpose;
use sluice_crypto::totp::{TotpSecret, qr_svg};
use sluice_primitives::{IdentityId, Lifetime, Timestamp};
use tracing::{error, warn};
use unicode_normalization::UnicodeNormalization;
use zeroize::{Zeroize, Zeroizing};

use super::enrolment::{Beginning, Enroller, EnrolmentOutcome, NewFactor};
use super::model::{Factor, FactorKind};
use super::proof::{FactorCheck, Shown};
use super::repository::FactorUse;
use super::service::FactorService;
use super::strangers::verified_address;
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::identity::{Identity, LoginNameHash};
use crate::login::Network;
use crate::login::lockout::Counted;

/// How long a person may take to put the secret into an app.
const ENROLMENT: Lifetime = Lifetime::minutes(15);
const DIGITS: usize = 6;
/// Nobody types more than this, in bytes.
const MAX_TYPED: usize = 32;

/// What a person needs to put the secret into an app.
///
/// Prints nothing of it.
#[derive(Clone)]
pub struct TotpEnrolment {
    /// The secret, to be typed.
    pub secret_base32: String,
    /// The secret, to be opened on the device of the app.
    pub otpauth_uri: String,
    /// The same as a QR code: an SVG element.
    pub qr_svg: String,
    /// To be given back with the first code.
    pub ticket: String,
}

impl fmt::Debug for TotpEnrolment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpEnrolment([redacted])")
    }
}

#[derive(Serialize, Deserialize)]
struct Ticket {
    beginning: Beginning,
    secret: Vec<u8>,
    expires_at: i64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

/// A secret as it lies in the store: with its owner, so that it is nobody else's if the row is moved. Behind it stands with which
/// verified address it was enrolled, if with any; of those that were stored before that was noted, nothing.
#[derive(Serialize, Deserialize)]
struct Stored {
    owner: [u8; 16],
    secret: Vec<u8>,
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

/// What the store kept of an authenticator app.
struct Opened {
    secret: TotpSecret,
    /// The verified address with which it was enrolled, as far as that was noted.
    verified_address: Option<LoginNameHash>,
}

impl FactorService {
    /// Begins to enrol an authenticator app. Nothing is stored.
    pub fn begin_totp(&self, identity: &Identity) -> TotpEnrolment {
        let (now, rng) = (self.parts.clock.now(), &*self.parts.rng);
        let secret = TotpSecret::generate(rng);
        let ticket = Ticket {
            beginning: Beginning::new(identity, now, rng),
            secret: secret.expose().to_vec(),
            expires_at: (now + ENROLMENT).as_millis(),
        };
        let bytes = Zeroizing::new(postcard::to_stdvec(&ticket).unwrap_or_default());
        self.enrolment(identity, &secret, self.parts.in_flight.seal(Purpose::EnrolmentTicket, &bytes, rng))
    }

    /// The enrolment of a ticket, shown once more to the person that it was made for; none if the ticket is good for nothing any more, or
    /// if the app is one of the person's already: whoever finds the page open must not copy it.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot say now which apps the person has.
    pub async fn begun_totp(
        &self,
        identity: &Identity,
        ticket: &str,
    ) -> Result<Option<TotpEnrolment>, IdentityError> {
        let Some(opened) = self.open_good_ticket(identity, ticket) else { return Ok(None) };
        let Ok(secret) = TotpSecret::from_bytes(&opened.secret) else { return Ok(None) };
        let factors = self.parts.factors.of_identity(identity.id).await?;
        let mut apps = factors.iter().filter(|factor| factor.kind == FactorKind::Totp);
        let is_this = |app: &Factor| {
            self.open_secret(app).is_some_and(|active| active.secret.expose() == secret.expose())
        };
        if apps.any(is_this) {
            return Ok(None);
        }
        Ok(Some(self.enrolment(identity, &secret, ticket.to_owned())))
    }

    fn enrolment(&self, identity: &Identity, secret: &TotpSecret, ticket: String) -> TotpEnrolment {
        let otpauth_uri = secret.otpauth_uri(&self.parts.service_name, &identity.email);
        let qr_svg = qr_svg(&otpauth_uri).unwrap_or_else(|error| {
            error!(error = %error, "no QR code: is the name of the service too long?");
            String::new()
        });
        TotpEnrolment { secret_base32: secret.base32(), otpauth_uri, qr_svg, ticket }
    }

    /// Enrols the authenticator app of a ticket, if `code` is one of it; that code is not taken again.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now; the same call may be made again.
    pub async fn confirm_totp(
        &self,
        enroller: Enroller<'_>,
        ticket: &str,
        code: &str,
        name: &str,
    ) -> Result<EnrolmentOutcome, IdentityError> {
        let (identity, now) = (enroller.identity, self.parts.clock.now());
        let Some(ticket) = self.open_good_ticket(identity, ticket) else {
            return Ok(EnrolmentOutcome::Expired);
        };
        let Ok(secret) = TotpSecret::from_bytes(&ticket.secret) else { return Ok(EnrolmentOutcome::Expired) };
        let step = typed(code).and_then(|code| secret.matching_step(&code, unix_secs(now), None));
        let Some(step) = step else { return Ok(EnrolmentOutcome::Wrong) };
        let new = NewFactor {
            beginning: &ticket.beginning,
            kind: FactorKind::Totp,
            name,
            sealed: self.seal_secret(identity, &secret),
            counter: i64::try_from(step).unwrap_or(i64::MAX),
        };
        self.enrol(enroller, new).await
    }

    /// Whether somebody has the present code of one of the person's authenticator apps. Six digits can be guessed, so wrong
    /// ones are slowed down wherever they come from: strangers cannot do that to an account whose password they do not
    /// have, and its owner has recovery codes. One that was used already is no guess.
    pub(super) async fn check_totp(
        &self,
        identity: &Identity,
        code: &str,
        network: Network,
    ) -> Result<FactorCheck, IdentityError> {
        if let Err(wait) = self.parts.limits.check_factor_code(identity.id, network) {
            return Ok(FactorCheck::TooMany(wait));
        }
        let Some(code) = typed(code) else { return Ok(FactorCheck::Wrong) };
        let now = self.parts.clock.now();
        let counted = match self.guesses.count(&identity.id, now) {
            Ok(counted) => counted,
            Err(wait) => return Ok(FactorCheck::TooMany(wait)),
        };
        let counted_from = match self.count_guess_from(network, now) {
            Ok(counted) => counted,
            Err(wait) => {
                self.guesses.give_back(&identity.id, counted);
                return Ok(FactorCheck::TooMany(wait));
            }
        };
        let checked = self.use_code(identity.id, &code, network).await;
        let was_guessed = matches!(checked, Ok(FactorCheck::Wrong));
        if let Some(counted) = counted_from.filter(|_| !was_guessed) {
            self.guesses_from.give_back(&network, counted);
        }
        if matches!(checked, Ok(FactorCheck::Right(_))) {
            self.guesses.forget(&identity.id);
        } else if !was_guessed {
            self.guesses.give_back(&identity.id, counted);
        }
        checked
    }

    fn count_guess_from(&self, network: Network, now: Timestamp) -> Result<Option<Counted>, Lifetime> {
        if self.parts.limits.is_exempt(network) {
            return Ok(None);
        }
        self.guesses_from.count(&network, now).map(Some)
    }

    /// Uses the code up, if it is one. A code of now is used if it is no later than the last that was taken: whoever hears that
    /// learns of none that is still good.
    async fn use_code(
        &self,
        identity: IdentityId,
        code: &str,
        network: Network,
    ) -> Result<FactorCheck, IdentityError> {
        let now = self.parts.clock.now();
        let factors = self.parts.factors.of_identity(identity).await?;
        let mut is_used = false;
        for factor in factors.iter().filter(|factor| factor.kind == FactorKind::Totp) {
            let Some(Opened { secret, .. }) = self.open_secret(factor) else { continue };
            let last = u64::try_from(factor.counter).ok();
            let Some(step) = secret.matching_step(code, unix_secs(now), last) else {
                is_used |= secret.matching_step(code, unix_secs(now), None).is_some();
                continue;
            };
            let used = FactorUse {
                identity,
                id: factor.id,
                old_counter: factor.counter,
                new_counter: i64::try_from(step).unwrap_or(i64::MAX),
                sealed: None,
                now,
            };
            let used = self.parts.factors.use_once(&used).await;
            let deed = Deed::new("second factor taken", identity).of_factor(factor.id).at(network);
            if deed.noted(used)? {
                return Ok(FactorCheck::Right(Shown::Totp));
            }
            is_used = true;
        }
        Ok(if is_used { FactorCheck::Used } else { FactorCheck::Wrong })
    }

    /// The verified address with which the app was enrolled, as far as that was noted.
    pub(super) fn verified_address_of_app(&self, factor: &Factor) -> Option<LoginNameHash> {
        self.open_secret(factor)?.verified_address
    }

    /// A ticket that was made for this person, and has not expired.
    fn open_good_ticket(&self, identity: &Identity, ticket: &str) -> Option<Ticket> {
        let now = self.parts.clock.now();
        self.open_ticket(ticket).filter(|ticket| {
            ticket.beginning.is_of(identity) && now < Timestamp::from_millis(ticket.expires_at)
        })
    }

    fn open_ticket(&self, ticket: &str) -> Option<Ticket> {
        let bytes = Zeroizing::new(self.parts.in_flight.open(Purpose::EnrolmentTicket, ticket).ok()?);
        postcard::from_bytes(&bytes).ok()
    }

    fn seal_secret(&self, owner: &Identity, secret: &TotpSecret) -> String {
        let stored = Stored { owner: *owner.id.as_bytes(), secret: secret.expose().to_vec() };
        let with_address = (&stored, verified_address(owner));
        let bytes = Zeroizing::new(postcard::to_stdvec(&with_address).unwrap_or_default());
        self.parts.at_rest.seal(Purpose::TotpSecret, &bytes, &*self.parts.rng)
    }

    /// The secret of a factor. One that does not open is still asked for: a lost key must not open accounts.
    fn open_secret(&self, factor: &Factor) -> Option<Opened> {
        let opened = self.parts.at_rest.open(Purpose::TotpSecret, &factor.sealed).map(Zeroizing::new);
        let opened = opened.inspect_err(|cause| {
            error!(identity.id = %factor.identity, factor.id = %factor.id, error = %cause, "factor does not open");
        });
        let opened = opened.ok()?;
        let (stored, behind): (Stored, &[u8]) = postcard::take_from_bytes(&opened).ok()?;
        if stored.owner != *factor.identity.as_bytes() {
            warn!(identity.id = %factor.identity, factor.id = %factor.id, "factor is somebody else's");
            return None;
        }
        let secret = TotpSecret::from_bytes(&stored.secret).ok()?;
        Some(Opened { secret, verified_address: postcard::from_bytes(behind).unwrap_or_default() })
    }
}

/// The code that somebody typed, without spaces, in the digits of whatever keyboard. None if it cannot be one.
fn typed(text: &str) -> Option<String> {
    if text.len() > MAX_TYPED {
        return None;
    }
    let code: String = text.nfkc().filter(|character| !character.is_whitespace()).collect();
    let is_code = code.len() == DIGITS && code.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then_some(code)
}

fn unix_secs(now: Timestamp) -> u64 {
    u64::try_from(now.as_secs()).unwrap_or(0)
}
