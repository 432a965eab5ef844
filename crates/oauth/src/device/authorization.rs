//! The device authorization endpoint (RFC 8628 §3.1): a device asks, and is given a code to poll with and one for its user.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_primitives::{Clock, GrantId, Lifetime, Rng, Timestamp};
use sluice_protocol::parameters::InvalidParameters;
use sluice_protocol::{
    ErrorCode, GrantType, Parameters, Prompt, RawAuthorizationRequest, RedirectUri, ResponseMode,
    ResponseType,
};
use sluice_token::FeedFollower;
use thiserror::Error;
use url::Url;

use super::VERIFICATION_PATH;
use super::repository::{DeviceCode, DeviceCodeRepository};
use super::sealed::PollingCode;
use super::user_code::{UserCode, UserCodeKeys};
use crate::authorization::checks::{self, Checked};
use crate::authorization::{Arrival, wanted_acr};
use crate::caller::Caller;
use crate::client::Client;
use crate::client_auth::{ClientAuthError, ClientAuthenticator, Presented};
use crate::config::Config;
use crate::flow::{FlowError, FlowSealer, Request, RequestDetails};
use crate::network_limit::ClientLimit;

/// How many codes public clients may be given in one network within [`WINDOW`], and a client that authenticates: each is a
/// row.
const MOST: (u32, u32) = (200, 1_000);
/// How long they count.
const WINDOW: Lifetime = Lifetime::minutes(10);
/// So many user codes are drawn before it is certain that they are too short for their number.
const DRAWS: usize = 8;

/// What a device is given (RFC 8628 §3.2).
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct DeviceAuthorization {
    /// What it polls with.
    pub device_code: String,
    /// What its user types.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// The same with the code in it, for codes that are scanned.
    pub verification_uri_complete: String,
    /// How long both codes live, in seconds.
    pub expires_in: i64,
    /// How long it waits between two polls, in seconds.
    pub interval: i64,
}

impl std::fmt::Debug for DeviceAuthorization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceAuthorization").field("expires_in", &self.expires_in).finish_non_exhaustive()
    }
}

/// Why a device is given nothing. The text is for the operator; the client reads [`DeviceAuthorizationError::description`].
#[derive(Debug, Error)]
pub enum DeviceAuthorizationError {
    /// The form could not be read.
    #[error(transparent)]
    Parameters(#[from] InvalidParameters),
    /// The client did not prove who it is.
    #[error(transparent)]
    Client(#[from] ClientAuthError),
    /// The client is not registered for the grant type.
    #[error("the client is not registered for device codes")]
    GrantTypeNotAllowed,
    /// What is asked for is more than the client may have.
    #[error("the request is refused: {0} {1}")]
    Refused(ErrorCode, Cow<'static, str>),
    /// Public clients of this network were given too many codes.
    #[error("public clients of this network were given too many device codes")]
    TooManyInNetwork,
    /// The client was given too many codes.
    #[error("the client was given too many device codes")]
    TooMany,
    /// No user code could be found that is not taken.
    #[error("the user codes are too short for their number")]
    NoUserCode,
    /// What is asked for could not be kept.
    #[error(transparent)]
    NotKept(#[from] FlowError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DeviceAuthorizationError {
    /// Whether whoever asked has left, and was turned away for that: nobody has to hear of it.
    pub const fn is_unheard(&self) -> bool {
        matches!(self, Self::Client(error) if error.is_unheard())
    }

    /// The code for this failure (RFC 8628 §3.2: those of RFC 6749 §5.2).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Parameters(_) => ErrorCode::InvalidRequest,
            Self::Client(error) => error.code(),
            Self::GrantTypeNotAllowed => ErrorCode::UnauthorizedClient,
            Self::Refused(code, _) => *code,
            Self::TooManyInNetwork | Self::TooMany | Self::NoUserCode => ErrorCode::TemporarilyUnavailable,
            Self::Store(error) if error.is_temporary() => ErrorCode::TemporarilyUnavailable,
            Self::NotKept(_) | Self::Store(_) => ErrorCode::ServerError,
        }
    }

    /// What the client reads: the sentence of the code, and behind it what the authorization endpoint would say besides.
    pub fn description(&self) -> Cow<'static, str> {
        let usual = self.code().description();
        match self {
            Self::Refused(_, hint) if !hint.is_empty() => format!("{usual} {hint}").into(),
            Self::TooManyInNetwork => {
                "Public clients of this network were given too many codes. Try again later.".into()
            }
            Self::TooMany => "The client was given too many codes. Try again later.".into(),
            Self::Client(why) => why.description().into(),
            _ => usual.into(),
        }
    }

    /// After how long trying again may help, where that is known.
    pub const fn wait(&self) -> Option<Lifetime> {
        match self {
            Self::TooManyInNetwork | Self::TooMany => Some(WINDOW),
            _ => None,
        }
    }
}

/// The device authorization endpoint.
pub struct DeviceAuthorizationService {
    /// What it is told.
    pub config: Arc<Config>,
    /// Who speaks.
    pub clients: Arc<ClientAuthenticator>,
    /// Where codes are kept.
    pub devices: Arc<dyn DeviceCodeRepository>,
    /// Seals what is asked for.
    pub flows: Arc<FlowSealer>,
    /// Seals the codes that devices poll with.
    pub sealer: Arc<Sealer>,
    /// Hashes the codes that users type.
    pub user_codes: UserCodeKeys,
    /// How many codes clients were given: public ones by network.
    pub given: ClientLimit,
    /// How much this node knows of what was revoked and changed.
    pub follower: Arc<FeedFollower>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl DeviceAuthorizationService {
    /// How many codes clients may be given.
    pub fn limit() -> ClientLimit {
        ClientLimit::new(MOST, WINDOW)
    }

    /// Answers a device.
    ///
    /// # Errors
    /// [`DeviceAuthorizationError`] says why not.
    pub async fn authorize(
        &self,
        presented: Presented,
        caller: &Caller,
        form: &Parameters<'_>,
    ) -> Result<DeviceAuthorization, DeviceAuthorizationError> {
        self.follower.heard_lately()?;
        let now = self.clock.now();
        let client = self.clients.authenticate(presented, caller, now).await?;
        if !client.may_use(GrantType::DeviceCode) {
            return Err(DeviceAuthorizationError::GrantTypeNotAllowed);
        }
        let request = self.request(&client, form, now)?;
        if !self.given.allows(&client, caller.address, now) {
            return Err(if client.is_public() {
                DeviceAuthorizationError::TooManyInNetwork
            } else {
                DeviceAuthorizationError::TooMany
            });
        }
        let user_code = self.keep(&request, now).await?;
        Ok(self.answer(&request, &user_code))
    }

    /// What is asked for, as a flow that no browser has come to yet.
    fn request(
        &self,
        client: &Client,
        form: &Parameters<'_>,
        now: Timestamp,
    ) -> Result<Request, DeviceAuthorizationError> {
        let pairs = form.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let raw = RawAuthorizationRequest::from_pairs(pairs);
        let checked = Checked { raw: &raw, client, config: &self.config, how: &Arrival::default() };
        let asked = checks::of_device(&checked)
            .map_err(|refused| DeviceAuthorizationError::Refused(refused.code, refused.hint))?;
        let flow = GrantId::generate(now, &*self.rng);
        Ok(Request {
            flow,
            client: client.id.clone(),
            client_revision: client.revision,
            redirect_uri: success_uri(&self.config).ok_or(FlowError::Content)?,
            redirect_uri_named: false,
            response_type: ResponseType { code: true, ..ResponseType::default() },
            response_mode: ResponseMode::Query,
            scope: asked.scope,
            audience: asked.audience,
            state: None,
            nonce: None,
            code_challenge: None,
            prompt: Prompt::default(),
            // A device has no parameters for these: what the client registered holds.
            max_age: client.defaults.max_age,
            login_hint: None,
            acr_values: wanted_acr(None, client),
            ui_locales: None,
            display: None,
            hinted_subject: None,
            details: RequestDetails {
                authorization_details: asked.authorization_details,
                device: true,
                ..RequestDetails::default()
            },
            requested_at: now,
            binding: [0; 16],
            parked: None,
        })
    }

    /// Keeps the request under a user code that no other device has.
    async fn keep(&self, request: &Request, now: Timestamp) -> Result<UserCode, DeviceAuthorizationError> {
        let sealed = self.flows.seal_device_request(request)?;
        for _ in 0..DRAWS {
            let user_code = UserCode::draw(&self.config.policies.device, &*self.rng);
            let code = DeviceCode {
                id: request.flow,
                user_code: self.user_codes.hash(&user_code),
                client: request.client.clone(),
                sealed: sealed.clone(),
                created_at: now,
                expires_at: request.ends_at(&self.config),
            };
            if self.devices.insert(code, now).await? {
                return Ok(user_code);
            }
        }
        Err(DeviceAuthorizationError::NoUserCode)
    }

    fn answer(&self, request: &Request, user_code: &UserCode) -> DeviceAuthorization {
        let policy = &self.config.policies.device;
        let polling = PollingCode {
            device: request.flow,
            client: request.client.clone(),
            requested_at: request.requested_at,
            expires_at: request.ends_at(&self.config),
        };
        let user_code = user_code.grouped();
        let verification_uri = self.config.issuer.endpoint(VERIFICATION_PATH);
        DeviceAuthorization {
            device_code: polling.seal(&self.sealer, &*self.rng),
            // Letters, digits and dashes: nothing to escape.
            verification_uri_complete: format!("{verification_uri}?user_code={user_code}"),
            user_code,
            verification_uri,
            expires_in: policy.lifetime.as_secs(),
            interval: policy.interval.as_secs(),
        }
    }
}

/// Where the browser ends up. A fragment, which no redirect URI has, is put back when it goes there.
fn success_uri(config: &Config) -> Option<RedirectUri> {
    let mut url: Url = config.pages.device_success.clone();
    url.set_fragment(None);
    url.as_str().parse().ok()
}
