//! `/admin/identities`: people's records, where they are signed in, and their factors. Not of Hydra, but in its manner.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRef, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use http::header::{LINK, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use sluice_commit::StoreError;
use sluice_identity::IdentityStatus;
use sluice_identity::administration::{
    AdministrationError, IdentityAdministration, IdentityListing, ListIdentities, Notify,
};
use sluice_oauth::login_session::LoginSessionService;
use sluice_primitives::{IdentityId, SessionId};
use sluice_protocol::Subject;
use tracing::info;
use uuid::Uuid;

use super::json_body::{JsonBody, MAX_BODY};
use super::path::Path;
use super::wire::identity::{
    IdentityBody, NewIdentityBody, PatchIdentityBody, ReplaceIdentityBody, RequirementBody, ResetBody,
    SignedInBody,
};
use crate::identity::wire::FactorsBody;
use crate::respond::AdminError;

type Identities = State<Arc<IdentityAdministration>>;

/// People's records, and the browsers in which they logged in to applications.
#[derive(Clone)]
struct People {
    identities: Arc<IdentityAdministration>,
    browsers: Arc<LoginSessionService>,
}

impl FromRef<People> for Arc<IdentityAdministration> {
    fn from_ref(people: &People) -> Self {
        Self::clone(&people.identities)
    }
}

const PATH: &str = "/admin/identities";

/// The routes below `/admin/identities`.
pub(crate) fn routes(identities: Arc<IdentityAdministration>, browsers: Arc<LoginSessionService>) -> Router {
    let one = format!("{PATH}/{{id}}");
    Router::new()
        .route(PATH, get(list).post(create))
        .route(&one, get(find).put(replace).patch(patch).delete(remove))
        .route(&format!("{one}/sessions"), get(list_sessions).delete(end_sessions))
        .route(&format!("{one}/sessions/{{session}}"), delete(end_session))
        .route(&format!("{one}/factors"), get(list_factors).patch(require_factor))
        .route(&format!("{one}/factors/{{factor}}"), delete(remove_factor))
        .route(&format!("{one}/credentials/reset"), post(reset_credentials))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(People { identities, browsers })
}

async fn list(State(identities): Identities, RawQuery(query): RawQuery) -> Result<Response, AdminError> {
    let asked = list_query(query.as_deref().unwrap_or_default())?;
    let page = identities.list(asked.clone()).await?;
    let body: Vec<_> = page.identities.iter().map(IdentityBody::from).collect();
    Ok((links(&asked, &page), Json(body)).into_response())
}

async fn create(State(identities): Identities, body: JsonBody) -> Result<Response, AdminError> {
    let asked = body.read::<NewIdentityBody>()?.into_new().map_err(AdminError::malformed)?;
    let made = identities.create(asked).await?;
    let location = format!("{PATH}/{}", made.id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(IdentityBody::from(&made))).into_response())
}

async fn find(State(identities): Identities, Path(id): Path<String>) -> Result<Response, AdminError> {
    let found = identities.get(identity(&id)?).await?;
    Ok(Json(IdentityBody::from(&found)).into_response())
}

async fn replace(
    State(identities): Identities,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    body: JsonBody,
) -> Result<Response, AdminError> {
    let edit = body.read::<ReplaceIdentityBody>()?.into_edit().map_err(AdminError::malformed)?;
    let changed = identities.update(identity(&id)?, edit, notify(query.as_deref())?).await?;
    Ok(Json(IdentityBody::from(&changed)).into_response())
}

async fn patch(
    State(identities): Identities,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    body: JsonBody,
) -> Result<Response, AdminError> {
    let edit = body.read::<PatchIdentityBody>()?.into_edit().map_err(AdminError::malformed)?;
    let changed = identities.update(identity(&id)?, edit, notify(query.as_deref())?).await?;
    Ok(Json(IdentityBody::from(&changed)).into_response())
}

async fn remove(
    State(identities): Identities,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<StatusCode, AdminError> {
    identities.delete(identity(&id)?, notify(query.as_deref())?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_sessions(State(people): State<People>, Path(id): Path<String>) -> Result<Response, AdminError> {
    let id = identity(&id)?;
    let sessions = people.identities.sessions(id).await?;
    let browsers = people.browsers.of_subject(&subject(id)?).await?;
    let sessions = sessions.iter().map(SignedInBody::from);
    let body: Vec<_> = sessions.chain(browsers.iter().map(SignedInBody::from)).collect();
    Ok(Json(body).into_response())
}

async fn end_sessions(
    State(identities): Identities,
    Path(id): Path<String>,
) -> Result<StatusCode, AdminError> {
    identities.end_sessions(identity(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn end_session(
    State(people): State<People>,
    Path((id, session)): Path<(String, String)>,
) -> Result<StatusCode, AdminError> {
    let session: SessionId = session.parse().map_err(|_| AdminError::not_found())?;
    let id = identity(&id)?;
    let ended = people.identities.end_session(id, session).await;
    if matches!(ended, Err(AdministrationError::NotFound))
        && people.browsers.end_of(&subject(id)?, session).await?
    {
        info!(target: "sluice_audit", { identity.id = %id, session.id = %session }, "signed out by an administrator");
        return Ok(StatusCode::NO_CONTENT);
    }
    ended?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_factors(State(identities): Identities, Path(id): Path<String>) -> Result<Response, AdminError> {
    let id = identity(&id)?;
    let (factors, codes_left) = identities.factors(id).await?;
    let required = identities.requires_factor(id).await?;
    Ok(Json(FactorsBody::new(&factors, codes_left).of_whom(required)).into_response())
}

async fn require_factor(
    State(identities): Identities,
    Path(id): Path<String>,
    body: JsonBody,
) -> Result<StatusCode, AdminError> {
    let RequirementBody { required } = body.read()?;
    identities.require_factor(identity(&id)?, required).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove_factor(
    State(identities): Identities,
    Path((id, factor)): Path<(String, String)>,
) -> Result<StatusCode, AdminError> {
    let factor: Uuid = factor.parse().map_err(|_| AdminError::not_found())?;
    identities.remove_factor(identity(&id)?, factor).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reset_credentials(
    State(identities): Identities,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    body: JsonBody,
) -> Result<StatusCode, AdminError> {
    let asked: ResetBody = body.read_or_default()?;
    let notify = notify(query.as_deref())?;
    identities.reset_credentials(identity(&id)?, asked.send_mail, notify).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What cannot be an id belongs to nobody.
fn identity(raw: &str) -> Result<IdentityId, AdminError> {
    raw.parse().map_err(|_| AdminError::not_found())
}

/// As applications call this person.
fn subject(id: IdentityId) -> Result<Subject, StoreError> {
    id.to_string().parse().map_err(|_| StoreError::Invalid("an identity's id is no subject".to_owned()))
}

/// As the other listings, takes what is no number for "not asked", and the last of repeated parameters. A status that is
/// none is refused: it would list everybody.
fn list_query(query: &str) -> Result<ListIdentities, AdminError> {
    let mut asked = ListIdentities::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match name.as_ref() {
            "email" => asked.email = Some(value.into_owned()),
            "text" => asked.text = Some(value.into_owned()),
            "status" => asked.status = Some(status(&value)?),
            "page_size" => asked.page_size = value.parse().ok(),
            "page_token" => asked.page_token = Some(value.into_owned()),
            _ => {}
        }
    }
    Ok(asked)
}

/// Who hears of it: the person, unless `notify=false` says that nobody does. What is neither is refused, or somebody would be written to
/// who is not to be.
fn notify(query: Option<&str>) -> Result<Notify, AdminError> {
    let mut asked = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let (_, value) = asked.find(|(name, _)| name == "notify").unwrap_or_default();
    match value.as_ref() {
        "" | "true" => Ok(Notify::Person),
        "false" => Ok(Notify::Nobody),
        _ => Err(AdminError::malformed("`notify` is `true` or `false`.".to_owned())),
    }
}

fn status(raw: &str) -> Result<IdentityStatus, AdminError> {
    let mut all = [IdentityStatus::Active, IdentityStatus::Disabled].into_iter();
    all.find(|status| status.as_str() == raw)
        .ok_or_else(|| AdminError::malformed("`status` is `active` or `disabled`.".to_owned()))
}

/// The `Link` header: the first page always, the next one if there is one.
fn links(asked: &ListIdentities, page: &IdentityListing) -> HeaderMap {
    let link = |rel: &str, token: Option<&str>| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("page_size", &page.page_size.to_string());
        let filters = [
            ("email", asked.email.as_deref()),
            ("text", asked.text.as_deref()),
            ("status", asked.status.map(IdentityStatus::as_str)),
            ("page_token", token),
        ];
        for (name, value) in filters.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            query.append_pair(name, value);
        }
        format!("<{PATH}?{}>; rel=\"{rel}\"", query.finish())
    };
    let next = page.next.as_deref().map(|token| link("next", Some(token)));
    let all = [Some(link("first", None)), next].into_iter().flatten().collect::<Vec<_>>().join(",");
    HeaderValue::from_str(&all).map(|value| HeaderMap::from_iter([(LINK, value)])).unwrap_or_default()
}

#[cfg(test)]
mod tests;
