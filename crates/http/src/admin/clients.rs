//! `/admin/clients`: clients.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderValue, Method, StatusCode, Uri};
use percent_encoding::utf8_percent_encode;
use sluice_oauth::client::{ClientFilter, ClientPage, ClientService, ListClients, RefusedPatch};
use sluice_protocol::{ClientId, WriteJson};

use super::client_listings::{ClientListing, ClientListings};
use super::client_texts::ClientTexts;
use super::json_body::{JsonBody, MAX_BODY};
use super::path::{IN_A_PATH, Path, last_segment};
use super::wire::client::ClientBody;
use super::wire::client_form::{ClientPatch, patch_client, read_client};
use super::wire::lifespans::LifespansBody;
use crate::admin_guard::AdminGuard;
use crate::busy::{self, BusyRoute};
use crate::respond::{AdminError, JsonText, Written};

type Clients = State<Arc<ClientsState>>;

/// What the handlers work with.
pub(crate) struct ClientsState {
    pub(crate) service: Arc<ClientService>,
    pub(crate) texts: Arc<ClientTexts>,
    pub(crate) listings: ClientListings,
}

const PATH: &str = "/admin/clients";

/// The routes below `/admin/clients`.
pub(crate) fn routes(clients: Arc<ClientsState>) -> Router {
    Router::new()
        .route(PATH, get(list).post(create))
        .route("/admin/clients/{id}", get(find).put(replace).patch(patch).delete(delete))
        .route("/admin/clients/{id}/lifespans", put(set_lifespans))
        .route("/admin/clients/{id}/secrets/rotate", post(rotate_secret).delete(forget_rotated_secrets))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(clients)
}

/// What of them goes around the router.
pub(crate) fn busy(clients: &Arc<ClientsState>, guard: &AdminGuard) -> [BusyRoute; 3] {
    [
        busy::admin((Method::GET, PATH), (list, clients), guard),
        busy::admin((Method::POST, PATH), (create, clients), guard),
        busy::admin((Method::GET, "/admin/clients/{id}"), (find_by_path, clients), guard),
    ]
}

/// As [`find`], where no router has taken the path apart.
async fn find_by_path(State(clients): Clients, uri: Uri) -> Result<Response, AdminError> {
    told(&clients, &last_segment(&uri)?).await
}

async fn list(State(clients): Clients, RawQuery(query): RawQuery) -> Result<Response, AdminError> {
    let asked = clients.service.page_asked(list_query(query.as_deref().unwrap_or_default()))?;
    // Told before the store is asked: what changes meanwhile is not taken for known.
    let generation = clients.service.generation();
    if let Some(known) = clients.listings.find(&asked, generation) {
        return Ok(known.into_response());
    }
    let page = clients.service.page(&asked).await?;
    let made = listing(&asked, &page, clients.service.total(&asked, &page).await);
    clients.listings.keep(asked, generation, &made);
    Ok(made.into_response())
}

fn listing(asked: &ClientFilter, page: &ClientPage, total: Option<u64>) -> ClientListing {
    let mut body = vec![b'['];
    for (place, client) in page.clients.iter().enumerate() {
        if place > 0 {
            body.push(b',');
        }
        ClientBody::from(client).write_json(&mut body);
    }
    body.push(b']');
    // Kept perhaps: without the room that it grew into.
    ClientListing { body: Bytes::from(body.into_boxed_slice()), links: links(asked, page), total }
}

async fn create(State(clients): Clients, body: JsonBody) -> Result<Response, AdminError> {
    let metadata = read_client(body.bytes()).map_err(AdminError::malformed)?;
    let made = clients.service.create(metadata).await?;
    let location = format!("{PATH}/{}", utf8_percent_encode(made.client.id.as_str(), IN_A_PATH));
    let body = Written(ClientBody::with_secret(&made));
    Ok((StatusCode::CREATED, [(LOCATION, location)], body).into_response())
}

async fn find(State(clients): Clients, Path(id): Path<String>) -> Result<Response, AdminError> {
    told(&clients, &id).await
}

async fn told(clients: &ClientsState, id: &str) -> Result<Response, AdminError> {
    let client = clients.service.get(&client_id(id)?).await?;
    Ok(JsonText(clients.texts.of(&client).body()).into_response())
}

async fn replace(
    State(clients): Clients,
    Path(id): Path<String>,
    body: JsonBody,
) -> Result<Response, AdminError> {
    let metadata = read_client(body.bytes()).map_err(AdminError::malformed)?;
    let changed = clients.service.replace(&client_id(&id)?, metadata).await?;
    Ok(Written(ClientBody::with_secret(&changed)).into_response())
}

async fn patch(
    State(clients): Clients,
    Path(id): Path<String>,
    body: JsonBody,
) -> Result<Response, AdminError> {
    let patch: ClientPatch = body.read_any()?;
    let edit = |client: &_| patch_client(client, &patch).map_err(RefusedPatch);
    let changed = clients.service.patch(&client_id(&id)?, edit).await?;
    Ok(Written(ClientBody::with_secret(&changed)).into_response())
}

async fn delete(State(clients): Clients, Path(id): Path<String>) -> Result<StatusCode, AdminError> {
    clients.service.delete(&client_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn set_lifespans(
    State(clients): Clients,
    Path(id): Path<String>,
    body: JsonBody,
) -> Result<Response, AdminError> {
    let lifespans: LifespansBody = body.read()?;
    let client = clients.service.set_lifespans(&client_id(&id)?, lifespans.into()).await?;
    Ok(Written(ClientBody::from(&*client)).into_response())
}

async fn rotate_secret(State(clients): Clients, Path(id): Path<String>) -> Result<Response, AdminError> {
    let rotated = clients.service.rotate_secret(&client_id(&id)?).await?;
    Ok(Written(ClientBody::with_secret(&rotated)).into_response())
}

async fn forget_rotated_secrets(
    State(clients): Clients,
    Path(id): Path<String>,
) -> Result<Response, AdminError> {
    let client = clients.service.forget_rotated_secrets(&client_id(&id)?).await?;
    Ok(Written(ClientBody::from(&*client)).into_response())
}

/// What cannot be an id belongs to no client.
fn client_id(raw: &str) -> Result<ClientId, AdminError> {
    raw.parse().map_err(|_| AdminError::not_found())
}

/// Like Hydra, takes what is no number for "not asked", and the last of repeated parameters.
fn list_query(query: &str) -> ListClients {
    let mut asked = ListClients::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match name.as_ref() {
            "client_name" => asked.name = Some(value.into_owned()),
            "owner" => asked.owner = Some(value.into_owned()),
            "page_size" => asked.page_size = value.parse().ok(),
            "page_token" => asked.page_token = Some(value.into_owned()),
            _ => {}
        }
    }
    asked
}

/// The `Link` header: the first page always, the next one if there is one.
fn links(asked: &ClientFilter, page: &ClientPage) -> Option<HeaderValue> {
    let link = |rel: &str, token: Option<&str>| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("page_size", &page.page_size.to_string());
        let filters = [
            ("client_name", asked.name.as_deref()),
            ("owner", asked.owner.as_deref()),
            ("page_token", token),
        ];
        for (name, value) in filters.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            query.append_pair(name, value);
        }
        format!("<{PATH}?{}>; rel=\"{rel}\"", query.finish())
    };
    let next = page.next.as_deref().map(|token| link("next", Some(token)));
    let all = [Some(link("first", None)), next].into_iter().flatten().collect::<Vec<_>>().join(",");
    HeaderValue::from_str(&all).ok()
}

#[cfg(test)]
mod tests;
