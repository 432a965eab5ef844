//! Pushed authorization requests (RFC 9126): a client hands its request over itself, and the browser carries no more than
//! a handle.
//!
//! Nothing is written: the handle is the request, sealed, unless that is too long for a URL. It has the id of the flow that
//! it may begin, any number of times until one of them ends in a grant, which has that id too: so it is used once.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sluice_commit::StoreError;
use sluice_primitives::{GrantId, Lifetime, Timestamp};
use sluice_protocol::parameters::InvalidParameters;
use sluice_protocol::{ClientId, ErrorCode, Parameters, RawAuthorizationRequest};
use sluice_token::FeedFollower;
use thiserror::Error;

use super::arrival::{Arrival, Pushed};
use super::checks::{self, Checked, Refused};
use super::error::ShownError;
use super::request_object::{ReadObject, RequestObjectError};
use super::service::AuthorizationService;
use crate::caller::Caller;
use crate::client::Client;
use crate::client_auth::{ClientAuthError, ClientAuthenticator, Presented};
use crate::dpop::DpopError;
use crate::flow::{FlowError, FlowSealer};
use crate::sender_constraint::SenderConstraint;

/// What a request URI begins with (RFC 9126 §2.2).
pub const REQUEST_URI: &str = "urn:ietf:params:oauth:request_uri:";
/// The path of the endpoint.
pub const PATH: &str = "/oauth2/par";
/// A longer request is refused, in bytes of its names and values.
const MAX_PUSHED: usize = 32 * 1024;
/// What authenticates the client is no part of its request.
const CREDENTIALS: [&str; 3] = ["client_secret", "client_assertion", "client_assertion_type"];

/// A request URI, for the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestUri {
    /// Instead of the request.
    pub request_uri: String,
    /// For how long, in seconds.
    pub expires_in: i64,
}

/// Why a request could not be pushed. The text is for the operator; the client reads [`PushError::description`].
#[derive(Debug, Error)]
pub enum PushError {
    /// The client did not prove who it is.
    #[error(transparent)]
    Client(#[from] ClientAuthError),
    /// The form could not be read.
    #[error(transparent)]
    Parameters(#[from] InvalidParameters),
    /// A request by reference cannot be pushed (RFC 9126 §2.1).
    #[error("the pushed request has a `request_uri`")]
    RequestUri,
    /// The form names another client than the one that authenticated.
    #[error("the pushed request names another client")]
    OtherClient,
    /// Longer than what is kept.
    #[error("the pushed request is too long")]
    TooLong,
    /// The redirect URI is not one of the client's.
    #[error(transparent)]
    Redirect(#[from] ShownError),
    /// The request object does not count.
    #[error(transparent)]
    Object(#[from] RequestObjectError),
    /// The request would be refused at the authorization endpoint.
    #[error("the pushed request is refused: {0} {1}")]
    Refused(ErrorCode, Cow<'static, str>),
    /// The proof of a key does not hold (RFC 9449 §10.1).
    #[error(transparent)]
    Proof(#[from] DpopError),
    /// The request is too long for a URL, and could not be kept.
    #[error(transparent)]
    NotKept(#[from] FlowError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PushError {
    /// Whether whoever asked has left, and was turned away for that: nobody has to hear of it.
    pub const fn is_unheard(&self) -> bool {
        matches!(self, Self::Client(error) if error.is_unheard())
    }

    /// The code for this failure (RFC 9126 §2.3).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Client(error) => error.code(),
            Self::Parameters(_) | Self::RequestUri | Self::OtherClient | Self::TooLong => {
                ErrorCode::InvalidRequest
            }
            Self::Redirect(error) => error.code(),
            Self::Object(error) => error.code(),
            Self::Refused(code, _) => *code,
            Self::Proof(error) => error.code(),
            Self::NotKept(FlowError::QuotaReached(_)) => ErrorCode::TemporarilyUnavailable,
            Self::NotKept(FlowError::Store(error)) | Self::Store(error) if error.is_temporary() => {
                ErrorCode::TemporarilyUnavailable
            }
            Self::NotKept(_) | Self::Store(_) => ErrorCode::ServerError,
        }
    }

    /// What the client reads: the sentence of the code, and behind it what the authorization endpoint would say besides.
    pub fn description(&self) -> Cow<'static, str> {
        let usual = self.code().description();
        match self {
            Self::Refused(_, hint) if !hint.is_empty() => format!("{usual} {hint}").into(),
            Self::NotKept(FlowError::QuotaReached(quota)) => quota.sentence().into(),
            Self::Client(why) => why.description().into(),
            Self::Object(why) => why.description().into(),
            _ => usual.into(),
        }
    }

    /// After how long trying again may help, where that is known.
    pub const fn wait(&self) -> Option<Lifetime> {
        match self {
            Self::NotKept(FlowError::QuotaReached(quota)) => Some(quota.wait()),
            _ => None,
        }
    }
}

/// The endpoint for pushed requests.
pub struct PushedRequests {
    /// Whose checks are run.
    pub authorization: Arc<AuthorizationService>,
    /// Who speaks.
    pub clients: Arc<ClientAuthenticator>,
    /// To which key a code is bound.
    pub constraint: Arc<SenderConstraint>,
    /// How much this node knows of what was revoked and changed.
    pub follower: Arc<FeedFollower>,
}

impl PushedRequests {
    /// Takes a request, if the authorization endpoint would.
    ///
    /// # Errors
    /// [`PushError`] says why not.
    pub async fn push(
        &self,
        presented: Presented,
        caller: &Caller,
        form: &Parameters<'_>,
    ) -> Result<RequestUri, PushError> {
        self.follower.heard_lately()?;
        let now = self.authorization.clock.now();
        let client = self.clients.authenticate(presented, caller, now).await?;
        let (raw, signed) = self.read(form, &client, now).await?;
        let dpop_jkt = self.constraint.proof_key(&client, caller, (PATH, now)).await?;
        let flow = GrantId::generate(now, &*self.authorization.rng);
        let how = Arrival { pushed: Some(Pushed { flow, dpop_jkt }), signed };
        self.check(&raw, &client, &how)?;
        let life = self.authorization.config.policies.pushed_requests.lifetime;
        let pairs = raw.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let pushed = PushedRequest { client: client.id.clone(), how, expires_at: now + life, pairs };
        let sealed = pushed.seal(&self.authorization.flows, (&client, caller.address)).await?;
        Ok(RequestUri { request_uri: format!("{REQUEST_URI}{sealed}"), expires_in: life.as_secs() })
    }

    /// What the form asks for, and whether the client signed that.
    async fn read(
        &self,
        form: &Parameters<'_>,
        client: &Client,
        now: Timestamp,
    ) -> Result<(RawAuthorizationRequest<'static>, bool), PushError> {
        if form.get("request_uri").is_some() {
            return Err(PushError::RequestUri);
        }
        let id = client.id.as_str();
        if form.get("client_id").is_some_and(|named| named != id) {
            return Err(PushError::OtherClient);
        }
        if let Some(token) = form.get("request") {
            let ReadObject { raw, signed } = self.authorization.objects.read(token, client, now).await?;
            return Ok((raw, signed));
        }
        let asked = form.iter().filter(|(name, _)| *name != "client_id" && !CREDENTIALS.contains(name));
        let pairs: Vec<_> = std::iter::once(("client_id", id))
            .chain(asked)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if pairs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > MAX_PUSHED {
            return Err(PushError::TooLong);
        }
        Ok((RawAuthorizationRequest::from_pairs(pairs), false))
    }

    fn check(
        &self,
        raw: &RawAuthorizationRequest<'_>,
        client: &Client,
        how: &Arrival,
    ) -> Result<(), PushError> {
        let config = &*self.authorization.config;
        checks::trust_redirect(raw, client)?;
        let refused = |Refused { code, hint, .. }: Refused| PushError::Refused(code, hint);
        let parsed = checks::parse(&Checked { raw, client, config, how }).map_err(refused)?;
        let hinted = self.authorization.hinted(raw, parsed.claims.as_ref());
        hinted.map_err(|refusal| refused(refusal.into()))?;
        Ok(())
    }
}

/// A request between the two endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PushedRequest {
    /// Whose.
    pub(super) client: ClientId,
    /// How it came.
    pub(super) how: Arrival,
    /// Until when it may be used.
    pub(super) expires_at: Timestamp,
    /// What it says.
    pub(super) pairs: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    client: String,
    flow: [u8; 16],
    dpop_jkt: Option<[u8; 32]>,
    signed: bool,
    expires_at: i64,
    pairs: Vec<(String, String)>,
}

impl PushedRequest {
    async fn seal(
        &self,
        flows: &FlowSealer,
        asked_by: (&Client, Option<IpAddr>),
    ) -> Result<String, FlowError> {
        let Some(Pushed { flow, dpop_jkt }) = self.how.pushed else { return Err(FlowError::Content) };
        let wire = Wire {
            client: self.client.as_str().to_owned(),
            flow: *flow.as_bytes(),
            dpop_jkt,
            signed: self.how.signed,
            expires_at: self.expires_at.as_millis(),
            pairs: self.pairs.clone(),
        };
        flows.seal_pushed(&wire, asked_by, self.expires_at).await
    }

    /// The request behind a request URI; expiry is the caller's to check.
    pub(super) async fn open(sealed: &str, flows: &FlowSealer) -> Result<Self, FlowError> {
        let wire: Wire = flows.open_pushed(sealed).await?;
        let pushed = Pushed { flow: GrantId::from_bytes(wire.flow), dpop_jkt: wire.dpop_jkt };
        Ok(Self {
            client: wire.client.parse().map_err(|_| FlowError::Content)?,
            how: Arrival { pushed: Some(pushed), signed: wire.signed },
            expires_at: Timestamp::from_millis(wire.expires_at),
            pairs: wire.pairs,
        })
    }

    pub(super) fn into_raw(self) -> RawAuthorizationRequest<'static> {
        RawAuthorizationRequest::from_pairs(self.pairs)
    }
}
