//! `/admin/oauth2/auth/requests/device/accept` (Hydra): what a verification page of one's own asks for.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use sluice_oauth::device::UserCodeProblem;

use super::flows::{Answer, Refusal, challenge};
use super::json_body::JsonBody;
use super::wire::flow::RedirectTo;
use crate::respond::AdminError;
use crate::respond::Written;
use crate::state::AdminState;

/// What Hydra says of every code that is not right.
const WRONG_CODE: &str =
    "The 'user_code' session could not be found or has expired or is otherwise malformed.";

/// `acceptDeviceUserCodeRequest`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct AcceptUserCodeBody {
    user_code: Option<String>,
}

/// `PUT …/device/accept`.
pub(crate) async fn accept(
    State(state): State<Arc<AdminState>>,
    RawQuery(query): RawQuery,
    body: JsonBody,
) -> Answer {
    let challenge = challenge(query.as_deref(), "device_challenge")?;
    let body: AcceptUserCodeBody = body.read_request_or_default()?;
    let Some(user_code) = body.user_code.filter(|code| !code.is_empty()) else {
        return Err(AdminError::invalid_request("Field 'user_code' must not be empty.").into());
    };
    let redirect_to = state.devices.accept(&challenge, &user_code).await.map_err(problem)?;
    Ok(Written(RedirectTo { redirect_to }).into_response())
}

fn problem(problem: UserCodeProblem) -> Refusal {
    match problem {
        UserCodeProblem::Unknown(_) => AdminError::not_found().into(),
        UserCodeProblem::Gone { redirect_to } => Refusal::Gone { redirect_to },
        UserCodeProblem::WrongCode => AdminError::invalid_request(WRONG_CODE).into(),
        UserCodeProblem::TooMany { .. } => {
            let sentence = "Too many wrong codes came from the network of this user. Try again later.";
            AdminError::of(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests", sentence.to_owned()).into()
        }
        UserCodeProblem::Store(error) => AdminError::from(error).into(),
    }
}
