//! `/admin/oauth2/auth/sessions/{login,consent}` (Hydra).

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, LINK};
use axum::response::{IntoResponse, Response};
use sluice_oauth::consent::{InvalidPageToken, ListConsents, Revoke};
use sluice_oauth::grant::Listed;
use sluice_oauth::login_session::EndSessions;
use sluice_protocol::{ClientId, Parameters, Subject};
use tokio::time::Instant;

use super::total_count::TOTAL_COUNT;
use super::wire::consent_session::ConsentSessionBody;
use crate::respond::AdminError;
use crate::state::AdminState;

/// How many entries a page has unless told otherwise, and at most (Hydra).
const PAGE: u32 = 250;
const MAX_PAGE: u32 = 500;
/// How long the documents of clients are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

type Answer = Result<Response, AdminError>;

/// `DELETE …/sessions/login?subject=` or `?sid=`.
pub(crate) async fn end_login(State(state): State<Arc<AdminState>>, RawQuery(query): RawQuery) -> Answer {
    let query = query.unwrap_or_default();
    let parameters = parse(&query)?;
    let which = match (parameters.get("sid"), parameters.get("subject")) {
        // As with Hydra, a session that is named counts whoever is named beside it.
        (Some(sid), _) => {
            // A session of another server is as ended as one can be.
            let Ok(session) = sid.parse() else { return Ok(StatusCode::NO_CONTENT.into_response()) };
            EndSessions::One(session)
        }
        (None, Some(raw)) => EndSessions::Subject(subject(raw)?),
        (None, None) => {
            return Err(AdminError::invalid_request("Either `subject` or `sid` is required."));
        }
    };
    state.sessions.end(which).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET …/sessions/consent?subject=`.
pub(crate) async fn list_consents(State(state): State<Arc<AdminState>>, RawQuery(query): RawQuery) -> Answer {
    let query = query.unwrap_or_default();
    let parameters = parse(&query)?;
    let subject = subject(parameters.get("subject").ok_or_else(missing_subject)?)?;
    let session = match parameters.get("login_session_id").map(str::parse) {
        Some(Ok(session)) => Some(session),
        // No grant belongs to a session that cannot be.
        Some(Err(_)) => return Ok(Json(Vec::<()>::new()).into_response()),
        None => None,
    };
    let size =
        parameters.get("page_size").and_then(|size| size.parse().ok()).unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let page_token = parameters.get("page_token").map(str::to_owned);
    // As with Hydra, what a remembered decision led to later is no entry.
    let grants = Listed::OnTheirOwn;
    let wait_until = Instant::now() + PATIENCE;
    let asked = ListConsents { subject, session, grants, page_token, page_size: size, wait_until };
    let page = state.consents.list(&asked).await.map_err(|error| match error {
        InvalidPageToken::Token => {
            AdminError::invalid_request("The parameter page_token is not one that this server made.")
        }
        InvalidPageToken::Store(error) => AdminError::from(error),
    })?;
    let total = state.consents.total(&asked, &page).await;
    let body: Vec<_> = page
        .entries
        .iter()
        .map(|(entry, grantee)| ConsentSessionBody::new(entry, grantee.client()))
        .collect();
    let mut response = Json(body).into_response();
    response.headers_mut().extend(total.map(|total| (TOTAL_COUNT, HeaderValue::from(total))));
    if let Ok(links) = HeaderValue::from_str(&links(&parameters, size, page.next.as_deref())) {
        response.headers_mut().insert(LINK, links);
    }
    Ok(response)
}

/// `DELETE …/sessions/consent?subject=&client=`, `?subject=&all=true` or `?consent_request_id=`, and none of them beside another.
pub(crate) async fn revoke_consents(
    State(state): State<Arc<AdminState>>,
    RawQuery(query): RawQuery,
) -> Answer {
    let query = query.unwrap_or_default();
    let parameters = parse(&query)?;
    let [id, of, client] = ["consent_request_id", "subject", "client"].map(|name| parameters.get(name));
    let revoke = match (id, of, client, parameters.get("all") == Some("true")) {
        (Some(id), None, None, false) => match state.consents.named(id) {
            Some(revoke) => revoke,
            // As with Hydra: what is no consent of this server is as revoked as one can be.
            None => return Ok(StatusCode::NO_CONTENT.into_response()),
        },
        (None, Some(of), Some(client), false) => Revoke::Client(subject(of)?, client_id(client)?),
        (None, Some(of), None, true) => Revoke::All(subject(of)?),
        _ => return Err(AdminError::invalid_request("Invalid combination of query parameters.")),
    };
    state.consents.revoke(revoke).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The first and the next page of the same listing (RFC 8288).
fn links(parameters: &Parameters<'_>, size: u32, next: Option<&str>) -> String {
    let link = |token: Option<&str>, relation: &str| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for name in ["subject", "login_session_id"] {
            query.extend_pairs(parameters.get(name).map(|value| (name, value)));
        }
        query.append_pair("page_size", &size.to_string());
        query.extend_pairs(token.map(|token| ("page_token", token)));
        format!("</admin/oauth2/auth/sessions/consent?{}>; rel=\"{relation}\"", query.finish())
    };
    let first = link(None, "first");
    next.map_or(first.clone(), |next| format!("{first},{}", link(Some(next), "next")))
}

fn parse(query: &str) -> Result<Parameters<'_>, AdminError> {
    Parameters::parse(query.as_bytes(), 16 * 1024, &[]).map_err(AdminError::from)
}

fn subject(raw: &str) -> Result<Subject, AdminError> {
    raw.parse().map_err(|_| AdminError::invalid_request("`subject` is malformed."))
}

fn client_id(raw: &str) -> Result<ClientId, AdminError> {
    raw.parse().map_err(|_| AdminError::invalid_request("`client` is malformed."))
}

fn missing_subject() -> AdminError {
    AdminError::invalid_request("The query parameter `subject` is missing.")
}
