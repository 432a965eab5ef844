//! Devices without a browser: `POST /oauth2/device/auth` (RFC 8628 §3.1), where they ask, and `GET /oauth2/device/verify`,
//! where their users come (Hydra's path).

use std::sync::Arc;

use axum::extract::{RawQuery, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use sluice_net::PeerAddress;
use sluice_oauth::client_auth::{ClientAuthError, Presented};
use sluice_oauth::device::{DeviceAuthorization, DeviceAuthorizationError};
use sluice_oauth::refusals::Endpoint;
use sluice_protocol::{ErrorCode, Parameters};

use super::{authorize, refusing};
use crate::extract::{ClientCall, NoCall, authorization, client_call, parameters};
use crate::respond::oauth_error::{Refusing, no_store, retry_later};
use crate::state::PublicState;

/// `POST /oauth2/device/auth`.
pub(crate) async fn post(State(state): State<Arc<PublicState>>, request: Request) -> Response {
    let call = match client_call(request, &state.ui.proxies).await {
        Ok(call) => call,
        Err(NoCall { error, client }) => {
            return refusing(&state, Endpoint::DeviceAuthorization, client.as_deref())
                .refuse(ErrorCode::InvalidRequest, &error);
        }
    };
    match authorize(&state, &call).await {
        Ok(codes) => {
            let mut response = Json(codes).into_response();
            no_store(&mut response);
            response
        }
        Err(error) => {
            let (told, client) = (error.description(), call.named_client());
            let refusing = refusing(&state, Endpoint::DeviceAuthorization, client.as_deref());
            let refusing = Refusing { has_left: error.is_unheard(), ..refusing };
            let mut response = refusing.refuse_saying((error.code(), told.as_ref()), &error);
            retry_later(error.wait(), &mut response);
            response
        }
    }
}

async fn authorize(
    state: &PublicState,
    call: &ClientCall,
) -> Result<DeviceAuthorization, DeviceAuthorizationError> {
    let form = parameters(&call.body)?;
    let authorization = authorization(&call.headers).map_err(|_| ClientAuthError::MalformedHeader)?;
    let presented = Presented::read(authorization, &form)?;
    state.devices.authorize(presented, &call.caller, &form).await
}

/// `GET /oauth2/device/verify`: a user comes to type a code, or the verification page sends the browser back.
pub(crate) async fn verify(
    State(state): State<Arc<PublicState>>,
    RawQuery(query): RawQuery,
    peer: Option<Extension<PeerAddress>>,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let browser = authorize::browser(&state, peer, &headers);
    let parameters = Parameters::parse(query.as_bytes(), 64 * 1024, &[]).unwrap_or_default();
    let step = match parameters.get("device_verifier") {
        Some(verifier) => state.authorization.after_user_code(verifier, &browser).await,
        None => state.authorization.begin_device(parameters.get("user_code"), &browser),
    };
    authorize::answer(&state, step, (query.as_bytes(), &headers)).await
}
