//! What a verification page does with the code that a user types (RFC 8628 §3.3): look whose it is, accept it, refuse it.
//! Accepting makes a sealed value, which the browser carries back; from there on the flow is like any other.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::{OpenError, Sealer};
use sluice_primitives::{Clock, Lifetime, Rng};
use thiserror::Error;

use super::VERIFICATION_PATH;
use super::polls::DevicePolls;
use super::repository::{DeviceCode, DeviceCodeRepository};
use super::sealed::{DeviceChallenge, DeviceVerifier};
use super::user_code::{UserCode, UserCodeKeys};
use crate::client::{Client, ClientDirectory};
use crate::config::Config;
use crate::network_limit::{NetworkLimit, address_or_nowhere};

/// How many wrong codes may come from one network within [`WINDOW`] (RFC 8628 §5.1).
const MOST: u32 = 20;
/// How long they count.
const WINDOW: Lifetime = Lifetime::minutes(10);

/// Why a code is not taken.
#[derive(Debug, Error)]
pub enum UserCodeProblem {
    /// The challenge is not one of ours.
    #[error("unknown device challenge")]
    Unknown(#[source] OpenError),
    /// The challenge is too old.
    #[error("the device challenge has expired")]
    Gone {
        /// Where the browser can start again.
        redirect_to: String,
    },
    /// No device has this code, not any more, or the user has decided about it.
    #[error("no device waits for this user code")]
    WrongCode,
    /// Too many wrong codes came from this network.
    #[error("too many wrong user codes came from this network")]
    TooMany {
        /// How long they count.
        wait: Lifetime,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A device that waits for its user.
#[derive(Debug, Clone)]
pub struct WaitingDevice {
    /// The client on it.
    pub client: Arc<Client>,
    /// Its code, as the device shows it.
    pub user_code: String,
}

impl WaitingDevice {
    /// Whether the consent page asks about this device, whatever was allowed before: it does for a public client, if that does not
    /// skip consent altogether. Then its user is told there what the device is of.
    pub fn is_asked_about(&self) -> bool {
        self.client.is_public() && !self.client.skip_consent
    }
}

/// What a verification page does with the code that a user types.
pub struct UserCodeService {
    /// What it is told.
    pub config: Arc<Config>,
    /// Clients.
    pub clients: Arc<ClientDirectory>,
    /// Where codes are kept.
    pub devices: Arc<dyn DeviceCodeRepository>,
    /// How devices poll here.
    pub polls: Arc<DevicePolls>,
    /// Seals challenges and verifiers.
    pub sealer: Arc<Sealer>,
    /// Hashes the codes that users type.
    pub user_codes: UserCodeKeys,
    /// How many wrong codes came, by network.
    pub wrong: NetworkLimit,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl UserCodeService {
    /// How many wrong codes may come from one network.
    pub fn limit() -> NetworkLimit {
        NetworkLimit::new(MOST, WINDOW)
    }

    /// The browser behind a challenge.
    ///
    /// # Errors
    /// [`UserCodeProblem`] if the challenge is not one of ours, or too old.
    pub fn challenge(&self, sealed: &str) -> Result<DeviceChallenge, UserCodeProblem> {
        let challenge = DeviceChallenge::open(sealed, &self.sealer).map_err(UserCodeProblem::Unknown)?;
        if self.clock.now() >= challenge.issued_at + self.config.lifetimes.flow {
            return Err(UserCodeProblem::Gone {
                redirect_to: self.config.issuer.endpoint(VERIFICATION_PATH),
            });
        }
        Ok(challenge)
    }

    /// The device that shows the code which the user typed.
    ///
    /// # Errors
    /// [`UserCodeProblem`], the same for every code that is not right.
    pub async fn look_up(&self, challenge: &str, typed: &str) -> Result<WaitingDevice, UserCodeProblem> {
        let challenge = self.challenge(challenge)?;
        let (code, user_code) = self.find(&challenge, typed).await?;
        let client = self.clients.find(&code.client).await?.ok_or(UserCodeProblem::WrongCode)?;
        Ok(WaitingDevice { client, user_code: user_code.grouped() })
    }

    /// The user typed a code; where the browser goes next. May be repeated: it has no state.
    ///
    /// # Errors
    /// [`UserCodeProblem`], the same for every code that is not right.
    pub async fn accept(&self, challenge: &str, typed: &str) -> Result<String, UserCodeProblem> {
        let challenge = self.challenge(challenge)?;
        let (code, _) = self.find(&challenge, typed).await?;
        let verifier = DeviceVerifier { challenge, device: code.id, user_code: code.user_code };
        let sealed = verifier.seal(&self.sealer, &*self.rng);
        // Base64url needs no escaping.
        Ok(format!("{}?device_verifier={sealed}", self.config.issuer.endpoint(VERIFICATION_PATH)))
    }

    /// The user does not know the device of this code: whoever holds it is told so.
    ///
    /// # Errors
    /// [`UserCodeProblem`], the same for every code that is not right.
    pub async fn refuse(&self, challenge: &str, typed: &str) -> Result<(), UserCodeProblem> {
        let challenge = self.challenge(challenge)?;
        let (code, _) = self.find(&challenge, typed).await?;
        let is_told = self.devices.deny(code.id, self.clock.now()).await?;
        self.polls.forget(code.id);
        // Or something was decided about it at this moment.
        if is_told { Ok(()) } else { Err(UserCodeProblem::WrongCode) }
    }

    /// The device with this code. A code that is not right counts; with too many of them, none is looked at any more.
    async fn find(
        &self,
        challenge: &DeviceChallenge,
        typed: &str,
    ) -> Result<(DeviceCode, UserCode), UserCodeProblem> {
        let address = address_or_nowhere(challenge.asked_by);
        if !self.wrong.allows(address, self.clock.now()) {
            return Err(UserCodeProblem::TooMany { wait: self.wrong.window() });
        }
        let found = match UserCode::typed(typed) {
            Some(code) => self.stored(&code).await.map(|found| found.map(|found| (found, code))),
            None => Ok(None),
        };
        if !matches!(found, Ok(None)) {
            self.wrong.give_back(address);
        }
        found?.ok_or(UserCodeProblem::WrongCode)
    }

    async fn stored(&self, code: &UserCode) -> Result<Option<DeviceCode>, StoreError> {
        let now = self.clock.now();
        for hash in self.user_codes.hashes(code) {
            if let Some(found) = self.devices.find_by_user_code(hash, now).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
