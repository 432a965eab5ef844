//! How an authorization request came: as parameters, as a request object, or pushed before. To what follows it is all the
//! same but for the rules that ask for one of them.

use sluice_primitives::GrantId;
use sluice_protocol::parameters::InvalidParameters;
use sluice_protocol::{ErrorCode, RawAuthorizationRequest};
use tracing::info;

use super::checks;
use super::error::{AuthorizationError, RedirectedError, ShownError};
use super::pushed::{PushedRequest, REQUEST_URI};
use super::request_object::{ReadObject, RequestObjectError};
use super::service::AuthorizationService;
use crate::client::Client;
use crate::flow::FlowError;

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Pushed before (RFC 9126).
    pub pushed: Option<Pushed>,
    /// As an object that the client signed (RFC 9101).
    pub signed: bool,
}

/// What was made when a request was pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// The id of its flow, however often that begins.
    pub flow: GrantId,
    /// The thumbprint of the key whose proof came along (RFC 9449 §10.1).
    pub dpop_jkt: Option<[u8; 32]>,
}

/// A request that may be looked at.
pub(super) struct Arrived<'a> {
    pub(super) raw: RawAuthorizationRequest<'a>,
    pub(super) how: Arrival,
}

impl AuthorizationService {
    /// What a request says that has just come to the authorization endpoint, however it says so.
    pub(super) async fn arrived<'a>(
        &self,
        outer: RawAuthorizationRequest<'a>,
        client: &Client,
    ) -> Result<Arrived<'a>, AuthorizationError> {
        let (object, uri) = (outer.get("request"), outer.get("request_uri"));
        if let Some(sealed) = uri.and_then(|uri| uri.strip_prefix(REQUEST_URI)) {
            return self.pushed_before(sealed, client).await;
        }
        let now = self.clock.now();
        let read = match (object, uri) {
            (None, None) => return Ok(Arrived { raw: outer, how: Arrival::default() }),
            (Some(_), Some(_)) => {
                let hint = "Only one of `request` and `request_uri` may be there.";
                return Err(refused_before_trust(&outer, client, (ErrorCode::InvalidRequest, hint)));
            }
            (Some(token), None) => self.objects.read(token, client, now).await,
            (None, Some(uri)) => self.objects.read_from(uri, client, now).await,
        };
        match read {
            Ok(ReadObject { raw, signed }) => Ok(Arrived { raw, how: Arrival { pushed: None, signed } }),
            Err(error) => Err(object_refused(&outer, client, error)),
        }
    }

    /// A request that its client pushed. What stands beside its URI is not looked at (RFC 9126 §4).
    async fn pushed_before(
        &self,
        sealed: &str,
        client: &Client,
    ) -> Result<Arrived<'static>, AuthorizationError> {
        let pushed = match PushedRequest::open(sealed, &self.flows).await {
            Ok(pushed) => pushed,
            Err(FlowError::Store(error)) => return Err(error.into()),
            // It was parked for no longer than it may be used.
            Err(FlowError::Gone) => return Err(ShownError::RequestUri("has expired").into()),
            Err(_) => return Err(ShownError::RequestUri("is not one of this server's").into()),
        };
        if pushed.client != client.id {
            return Err(ShownError::RequestUri("was given to another client").into());
        }
        let (how, expires_at) = (pushed.how, pushed.expires_at);
        let raw = pushed.into_raw();
        if self.clock.now() >= expires_at {
            let refusal = (ErrorCode::InvalidRequestUri, "It has expired.");
            return Err(refused_before_trust(&raw, client, refusal));
        }
        // Nothing is kept of a pushed request: what tells that it was used is the grant that it led to.
        if let Some(Pushed { flow, .. }) = how.pushed
            && self.grants.find(flow).await?.is_some()
        {
            let refusal = (ErrorCode::InvalidRequestUri, "It was used before.");
            return Err(refused_before_trust(&raw, client, refusal));
        }
        Ok(Arrived { raw, how })
    }
}

impl AuthorizationService {
    /// What becomes of a query that cannot be read. Whose parameter stands twice is told so, if what says where stands once
    /// (RFC 6749 §4.1.2.1).
    pub(super) async fn unreadable(&self, query: &[u8], why: InvalidParameters) -> AuthorizationError {
        let InvalidParameters::Repeated(_) = why else { return ShownError::Parameters(why).into() };
        let Some(raw) = RawAuthorizationRequest::who_asks(query) else {
            return ShownError::Parameters(why).into();
        };
        let Some(id) = raw.get("client_id").and_then(|id| id.parse().ok()) else {
            return ShownError::ClientId.into();
        };
        match self.clients.named(&id).await {
            Ok(client) => {
                info!(client.id = %client.id, reason = %why, "authorization request not read");
                refused_before_trust(&raw, &client, (ErrorCode::InvalidRequest, ""))
            }
            Err(none) => none.into(),
        }
    }
}

/// A refusal before the request itself was looked at: the client is told if it names a place that is registered.
fn refused_before_trust(
    raw: &RawAuthorizationRequest<'_>,
    client: &Client,
    (code, hint): (ErrorCode, &str),
) -> AuthorizationError {
    match checks::trust_target(raw, client) {
        Ok((_, target)) => RedirectedError::new(target, code, hint).into(),
        Err(shown) => shown.into(),
    }
}

/// What is beside a refused object says at most where the client is told of it.
fn object_refused(
    outer: &RawAuthorizationRequest<'_>,
    client: &Client,
    error: RequestObjectError,
) -> AuthorizationError {
    match checks::trust_target(outer, client) {
        Ok((_, target)) => {
            info!(client.id = %client.id, reason = %error, "request object refused");
            RedirectedError::saying(target, error.code(), error.description()).into()
        }
        Err(_) => ShownError::RequestObject(error).into(),
    }
}
