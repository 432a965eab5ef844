//! `/admin/oauth2/auth/requests/{login,consent,logout}` (Hydra).

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sluice_oauth::flow::FlowProblem;
use sluice_oauth::logout::LogoutProblem;
use sluice_protocol::Parameters;

use super::json_body::JsonBody;
use super::wire::flow::{
    AcceptConsentBody, AcceptLoginBody, ConsentRequestBody, LoginRequestBody, LogoutRequestBody, RedirectTo,
    RejectBody,
};
use crate::respond::AdminError;
use crate::respond::Json;
use crate::respond::Written;
use crate::state::AdminState;

/// What is said of a flow that is over, and cannot begin again.
const GONE: &str = "The requested resource is no longer available";
/// Why not: a pushed or signed request cannot be rebuilt.
const NO_WAY_OUT: &str = "The flow has expired or was completed. Only the client can start it again.";

pub(super) type Answer = Result<Response, Refusal>;

/// `GET …/login`.
pub(crate) async fn login(State(state): State<Arc<AdminState>>, RawQuery(query): RawQuery) -> Answer {
    let challenge = challenge(query.as_deref(), "login_challenge")?;
    let answer = state.flows.login(&challenge).await.map_err(problem)?;
    let client = state.client_texts.of(&answer.client);
    Ok(Written(LoginRequestBody::new(&challenge, &answer, client.json())).into_response())
}

/// `PUT …/login/accept`.
pub(crate) async fn accept_login(
    State(state): State<Arc<AdminState>>,
    RawQuery(query): RawQuery,
    body: JsonBody,
) -> Answer {
    let challenge = challenge(query.as_deref(), "login_challenge")?;
    let accept: AcceptLoginBody = body.read_request()?;
    redirect(state.flows.accept_login(&challenge, accept.into()).await)
}

/// `PUT …/login/reject`.
pub(crate) async fn reject_login(
    State(state): State<Arc<AdminState>>,
    RawQuery(query): RawQuery,
    body: JsonBody,
) -> Answer {
    let challenge = challenge(query.as_deref(), "login_challenge")?;
    let reject: RejectBody = body.read_request_or_default()?;
    redirect(state.flows.reject_login(&challenge, reject.into()).await)
}

/// `GET …/consent`.
pub(crate) async fn consent(State(state): State<Arc<AdminState>>, RawQuery(query): RawQuery) -> Answer {
    let challenge = challenge(query.as_deref(), "consent_challenge")?;
    let answer = state.flows.consent(&challenge).await.map_err(problem)?;
    let client = state.client_texts.of(&answer.client);
    Ok(Written(ConsentRequestBody::new(&challenge, &answer, client.json())).into_response())
}

/// `PUT …/consent/accept`.
pub(crate) async fn accept_consent(
    State(state): State<Arc<AdminState>>,
    RawQuery(query): RawQuery,
    body: JsonBody,
) -> Answer {
    let challenge = challenge(query.as_deref(), "consent_challenge")?;
    let accept: AcceptConsentBody = body.read_or_default()?;
    redirect(state.flows.accept_consent(&challenge, accept.into()).await)
}

/// `PUT …/consent/reject`.
pub(crate) async fn reject_consent(
    State(state): State<Arc<AdminState>>,
    RawQuery(query): RawQuery,
    body: JsonBody,
) -> Answer {
    let challenge = challenge(query.as_deref(), "consent_challenge")?;
    let reject: RejectBody = body.read_or_default()?;
    redirect(state.flows.reject_consent(&challenge, reject.into()).await)
}

/// `GET …/logout`.
pub(crate) async fn logout(State(state): State<Arc<AdminState>>, RawQuery(query): RawQuery) -> Answer {
    let challenge = challenge(query.as_deref(), "logout_challenge")?;
    let view = state.logout.pending_request(&challenge).await.map_err(logout_problem)?;
    Ok(Json(LogoutRequestBody::new(&challenge, &view)).into_response())
}

/// `PUT …/logout/accept`.
pub(crate) async fn accept_logout(State(state): State<Arc<AdminState>>, RawQuery(query): RawQuery) -> Answer {
    let challenge = challenge(query.as_deref(), "logout_challenge")?;
    let redirect_to = state.logout.accept(&challenge).await.map_err(logout_problem)?;
    Ok(Written(RedirectTo { redirect_to }).into_response())
}

/// `PUT …/logout/reject`.
pub(crate) async fn reject_logout(State(state): State<Arc<AdminState>>, RawQuery(query): RawQuery) -> Answer {
    let challenge = challenge(query.as_deref(), "logout_challenge")?;
    state.logout.reject(&challenge).await.map_err(logout_problem)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The challenge of the query: by its name, or, as older clients of Hydra send it, as `challenge`.
pub(super) fn challenge(query: Option<&str>, name: &str) -> Result<String, AdminError> {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes(), 64 * 1024, &[])?;
    let challenge = parameters.get(name).or_else(|| parameters.get("challenge")).map(str::to_owned);
    challenge.ok_or_else(|| AdminError::invalid_request(&format!("The query parameter `{name}` is missing.")))
}

/// Where a page sends the browser that it has answered for. As with Hydra that is the way out of a flow that is over: pages follow
/// it, and the flow begins again. What they said then counts for nothing.
fn redirect(answer: Result<String, FlowProblem>) -> Answer {
    let redirect_to = match answer {
        Err(FlowProblem::Gone { redirect_to: Some(way_out), .. }) => way_out,
        other => other.map_err(problem)?,
    };
    Ok(Written(RedirectTo { redirect_to }).into_response())
}

/// A refusal, or the way out of a flow that is over.
pub(crate) enum Refusal {
    Error(AdminError),
    Gone { redirect_to: String },
}

impl From<AdminError> for Refusal {
    fn from(error: AdminError) -> Self {
        Self::Error(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Error(error) => error.into_response(),
            // Hydra answers `oAuth2RedirectTo`; the browser can start again there.
            Self::Gone { redirect_to } => {
                (StatusCode::GONE, Written(RedirectTo { redirect_to })).into_response()
            }
        }
    }
}

fn problem(problem: FlowProblem) -> Refusal {
    match problem {
        FlowProblem::Unknown(_) | FlowProblem::ClientGone => AdminError::not_found().into(),
        FlowProblem::Gone { redirect_to: Some(redirect_to), .. } => Refusal::Gone { redirect_to },
        FlowProblem::Gone { redirect_to: None, .. } => {
            AdminError::of(StatusCode::GONE, GONE, NO_WAY_OUT.to_owned()).into()
        }
        FlowProblem::Invalid(reason) => AdminError::invalid_request(reason).into(),
        FlowProblem::Quota(quota) => AdminError::from(quota).into(),
        FlowProblem::Store(error) => AdminError::from(error).into(),
    }
}

fn logout_problem(problem: LogoutProblem) -> Refusal {
    match problem {
        LogoutProblem::Unknown => AdminError::not_found().into(),
        LogoutProblem::Gone { redirect_to } => Refusal::Gone { redirect_to },
        LogoutProblem::Store(error) => AdminError::from(error).into(),
    }
}
