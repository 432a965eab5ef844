//! Which path leads where.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::Method;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{delete, get, post, put};
use sluice_oauth::config::Issuer;
use sluice_oauth::trust::KeySets;

use crate::admin::client_listings::ClientListings;
use crate::admin::clients::ClientsState;
use crate::admin::{self, clients, flows, identities, keys, sessions, tokens, trust};
use crate::admin_guard::{self, AdminGuard, INTROSPECTION, OpenPort};
use crate::busy::{self, BusyRoute, Routes};
use crate::cors::{self, Cors};
use crate::identity;
use crate::public::{
    authorize, device, discovery, health, introspect, jwks, logout, par, registration, revoke, token,
    userinfo,
};
use crate::spelling::Spelling;
use crate::state::{AdminState, Health, PublicState};
use crate::ui;

/// A larger body is refused by the admin API, in bytes.
const MAX_ADMIN_BODY: usize = 1024 * 1024;

/// The public API, below the path that it is reached at.
pub fn public(state: PublicState) -> Routes {
    let state = Arc::new(state);
    // One count of holders to touch for each request, instead of one for each service.
    Routes { busy: busy_public(&state), rest: all_public(state), spelling: Spelling::Public }
}

fn busy_public(state: &Arc<PublicState>) -> Vec<BusyRoute> {
    let issuer = state.config.issuer.path();
    let at = |path: &str| format!("{issuer}{path}");
    let mut busy = vec![
        busy::public(Method::GET, at("/oauth2/auth"), authorize::get, state),
        busy::public(Method::POST, at("/oauth2/token"), token::post, state),
        busy::public(Method::POST, at("/oauth2/introspect"), introspect::post, state),
        busy::public(Method::POST, at("/oauth2/revoke"), revoke::post, state),
        busy::public(Method::GET, at("/userinfo"), userinfo::answer, state),
    ];
    busy.extend(state.identity.iter().flat_map(|people| identity::busy(issuer, people)));
    busy
}

fn all_public(state: Arc<PublicState>) -> Router {
    let (health, version) = (Arc::clone(&state.health), state.version);
    let path = state.config.issuer.path().to_owned();
    let cors = state.cors.clone().map(|policy| Cors {
        policy,
        clients: Some(Arc::clone(&state.clients)),
        tokens: Some(Arc::clone(&state.userinfo.reader)),
    });
    let to_anybody = state.cors.as_deref().map(|policy| Cors {
        policy: Arc::new(policy.for_anybody()),
        clients: None,
        tokens: None,
    });
    // The identity API knows no clients: whoever registers one does not open it to a page of theirs.
    let among_people = state.cors.clone().map(|policy| Cors { policy, clients: None, tokens: None });
    let pages = ui::routes(state.ui.clone()).merge(visited(Arc::clone(&state)));
    let at_root = ui::at_root(state.ui.clone());
    let people = state.identity.clone().map(identity::routes).unwrap_or_default();
    let people = across_origins(among_people.as_ref(), people);
    let routes = Router::new()
        .route("/oauth2/par", post(par::post))
        .route("/oauth2/token", post(token::post))
        .route("/oauth2/revoke", post(revoke::post))
        .route("/oauth2/introspect", post(introspect::post))
        .route("/oauth2/device/auth", post(device::post))
        .route("/oauth2/register", post(registration::register))
        .route(
            "/oauth2/register/{id}",
            get(registration::find).put(registration::replace).delete(registration::delete),
        )
        .route("/userinfo", get(userinfo::answer).post(userinfo::answer))
        .with_state(state.clone());
    let documents = across_origins(to_anybody.as_ref(), documents().with_state(state.clone()));
    let routes = across_origins(cors.as_ref(), routes).merge(documents).merge(people).merge(pages);
    let watched = Router::new()
        .route("/health", get(health::alive))
        .route("/health/alive", get(health::alive))
        .route("/health/ready", get(move || health::ready(Arc::clone(&health))))
        .route("/version", get(move || health::version(version)));
    let elsewhere = across_origins(to_anybody.as_ref(), at_issuer(&state.config.issuer).with_state(state));
    let elsewhere = elsewhere.merge(at_root);
    if path.is_empty() {
        return routes.merge(elsewhere).merge(watched);
    }
    Router::new().nest(&path, routes.merge(watched.clone())).merge(elsewhere).merge(watched)
}

/// What is the same for whoever asks.
fn documents() -> Router<Arc<PublicState>> {
    Router::new()
        .route("/.well-known/openid-configuration", get(discovery::get))
        .route("/.well-known/oauth-authorization-server", get(discovery::get))
        .route("/.well-known/jwks.json", get(jwks::get))
}

/// The metadata where clients look that know the issuer alone, as far as that is not below the path that this server is reached at.
fn at_issuer(issuer: &Issuer) -> Router<Arc<PublicState>> {
    let (own, reached) = (issuer.own_path(), issuer.path());
    let mut places = Vec::new();
    if own != reached {
        places.push(format!("{own}/.well-known/openid-configuration"));
    }
    // RFC 8414 §3.1: a path of the issuer follows the well-known part.
    if own != reached || !own.is_empty() {
        places.push(format!("/.well-known/oauth-authorization-server{own}"));
    }
    // §5: there some look for the other document, too.
    if !own.is_empty() {
        places.push(format!("/.well-known/openid-configuration{own}"));
    }
    places.iter().fold(Router::new(), |routes, place| routes.route(place, get(discovery::get)))
}

/// These routes, as pages of other origins may ask them.
fn across_origins(cors: Option<&Cors>, routes: Router) -> Router {
    match cors {
        Some(cors) => routes.layer(from_fn_with_state(cors.clone(), cors::layer)),
        None => routes,
    }
}

/// Where browsers are sent: no script asks there, nor may it (RFC 9700 §2.6).
fn visited(state: Arc<PublicState>) -> Router {
    Router::new()
        .route("/oauth2/auth", get(authorize::get).post(authorize::post))
        .route("/oauth2/device/verify", get(device::verify))
        .route("/oauth2/sessions/logout", get(logout::get).post(logout::post))
        .with_state(state)
}

/// The admin API, and `beside` it what the caller puts behind the same credential.
pub fn admin(state: AdminState, beside: Router) -> Routes {
    let state = Arc::new(state);
    let clients = clients_state(&state);
    let guard = guard(&state);
    Routes {
        busy: busy_admin(&state, &clients, &guard),
        rest: all_admin(state, clients, (guard, beside)),
        spelling: Spelling::Admin,
    }
}

fn guard(state: &AdminState) -> AdminGuard {
    match &state.bearer {
        Some(expected) => AdminGuard::Credential(Arc::clone(expected)),
        None => AdminGuard::Open(Arc::new(OpenPort { cors: state.cors.clone(), hosts: state.hosts.clone() })),
    }
}

fn busy_admin(state: &Arc<AdminState>, clients: &Arc<ClientsState>, guard: &AdminGuard) -> Vec<BusyRoute> {
    let requests = "/admin/oauth2/auth/requests";
    let mut busy = vec![
        busy::admin((Method::GET, &format!("{requests}/login")), (flows::login, state), guard),
        busy::admin((Method::PUT, &format!("{requests}/login/accept")), (flows::accept_login, state), guard),
        busy::admin((Method::GET, &format!("{requests}/consent")), (flows::consent, state), guard),
        busy::admin(
            (Method::PUT, &format!("{requests}/consent/accept")),
            (flows::accept_consent, state),
            guard,
        ),
        busy::admin((Method::POST, INTROSPECTION), (tokens::introspect, state), guard),
    ];
    busy.extend(clients::busy(clients, guard));
    busy
}

fn all_admin(
    state: Arc<AdminState>,
    clients: Arc<ClientsState>,
    (guard, beside): (AdminGuard, Router),
) -> Router {
    let (health, version) = (Arc::clone(&state.health), state.version);
    let requests = "/admin/oauth2/auth/requests";
    let cors = state.cors.clone();
    let public_keys = Arc::clone(&state.public_keys);
    let sets = KeySets { keys: Arc::clone(&state.keys), trust: Arc::clone(&state.trust) };
    let (clients, keys) = (clients::routes(clients), keys::routes(Arc::new(sets)));
    let trust = trust::routes(Arc::clone(&state.trust));
    let people = state.identities.clone();
    let people = people.map(|people| identities::routes(people, Arc::clone(&state.sessions)));
    let people = people.unwrap_or_default();
    let guarded = Router::new()
        .route(&format!("{requests}/login"), get(flows::login))
        .route(&format!("{requests}/login/accept"), put(flows::accept_login))
        .route(&format!("{requests}/login/reject"), put(flows::reject_login))
        .route(&format!("{requests}/consent"), get(flows::consent))
        .route(&format!("{requests}/consent/accept"), put(flows::accept_consent))
        .route(&format!("{requests}/consent/reject"), put(flows::reject_consent))
        .route(&format!("{requests}/device/accept"), put(admin::device::accept))
        .route(&format!("{requests}/logout"), get(flows::logout))
        .route(&format!("{requests}/logout/accept"), put(flows::accept_logout))
        .route(&format!("{requests}/logout/reject"), put(flows::reject_logout))
        .route("/admin/oauth2/auth/sessions/login", delete(sessions::end_login))
        .route(
            "/admin/oauth2/auth/sessions/consent",
            get(sessions::list_consents).delete(sessions::revoke_consents),
        )
        .route(INTROSPECTION, post(tokens::introspect))
        .route("/admin/oauth2/tokens", delete(tokens::delete))
        .with_state(state)
        .merge(clients)
        .merge(keys)
        .merge(trust)
        .merge(people)
        .layer(DefaultBodyLimit::max(MAX_ADMIN_BODY))
        .layer(from_fn(bounded))
        .merge(beside)
        .layer(from_fn_with_state(guard, admin_guard::layer))
        .layer(from_fn(kept_by_nobody));
    let mut routes = Router::new()
        .route("/.well-known/jwks.json", get(jwks::admin))
        .with_state(public_keys)
        .merge(guarded)
        .merge(watched(&health, version, "/admin"));
    // Outermost: a preflight bears no credential.
    if let Some(policy) = cors {
        routes = routes.layer(from_fn_with_state(Cors { policy, clients: None, tokens: None }, cors::layer));
    }
    routes.merge(watched(&health, version, ""))
}

/// What is watched, below `prefix`.
fn watched(health: &Arc<dyn Health>, version: &'static str, prefix: &str) -> Router {
    let health = Arc::clone(health);
    Router::new()
        .route(&format!("{prefix}/health/alive"), get(health::alive))
        .route(&format!("{prefix}/health/ready"), get(move || health::ready(Arc::clone(&health))))
        .route(&format!("{prefix}/version"), get(move || health::version(version)))
}

fn clients_state(state: &AdminState) -> Arc<ClientsState> {
    let (service, texts) = (Arc::clone(&state.clients), Arc::clone(&state.client_texts));
    Arc::new(ClientsState { service, texts, listings: ClientListings::default() })
}

async fn bounded(request: Request, next: Next) -> Response {
    busy::bounded(next.run(request)).await
}

async fn kept_by_nobody(request: Request, next: Next) -> Response {
    busy::kept_by_nobody(next.run(request).await)
}

/// `/health/alive` and `/health/ready`, for a process that has no other routes.
pub fn health_routes(health: Arc<dyn crate::state::Health>) -> Router {
    Router::new()
        .route("/health/alive", get(health::alive))
        .route("/health/ready", get(move || health::ready(Arc::clone(&health))))
}
