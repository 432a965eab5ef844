//! A server that knows one person and says yes to everybody else too: enough of one to try the demo on.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{Html, Redirect};
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sluice_crypto::jwk::{Jwk, JwkSet, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::SigningKey;
use sluice_primitives::{ManualClock, SeededRng, Timestamp};
use url::Url;

use super::admin::Admin;
use super::relying_party::{Callbacks, RelyingParty};
use super::{DemoParts, DemoServer, Printer, http_client};

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

type Fields = HashMap<String, String>;

/// The stub, listening.
#[derive(Clone)]
pub(super) struct Stub {
    base: Url,
    key: Jwk,
    state: Arc<Mutex<Registered>>,
}

#[derive(Default)]
pub(super) struct Registered {
    /// What was registered, by the name of the request that did.
    pub(super) clients: Vec<(&'static str, Value)>,
    email: String,
    revoked: bool,
    /// Answers introspection with `active: true` whatever was revoked.
    pub(super) forgets_revocation: bool,
}

impl Stub {
    pub(super) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let key = Jwk::generate(SigningAlgorithm::ES256, "k".to_owned(), RsaSize::Bits2048).unwrap();
        let stub = Self { base, key, state: Arc::default() };
        let router = stub.clone().router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        stub
    }

    pub(super) fn parts() -> DemoParts {
        let (clock, rng) = (Arc::new(ManualClock::at(NOW)), Arc::new(SeededRng::new(7)));
        DemoParts { clock, rng, printer: Printer::new(std::io::sink()) }
    }

    /// The demo's client, registered here.
    pub(super) async fn party(&self) -> RelyingParty {
        let callbacks = Callbacks::at("127.0.0.1:5555".parse().unwrap());
        let credentials = self.admin().register(&callbacks, &*Self::parts().rng).await.unwrap();
        RelyingParty::discover(http_client().unwrap(), &self.base, credentials, callbacks).await.unwrap()
    }

    pub(super) fn admin(&self) -> Admin {
        Admin::new(http_client().unwrap(), self.base.clone())
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Registered)) {
        change(&mut self.state.lock());
    }

    pub(super) fn registrations(&self) -> Vec<(&'static str, Value)> {
        self.state.lock().clients.clone()
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn router(self) -> Router {
        Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route(
                "/jwks",
                get(async |State(stub): State<Self>| Json(JwkSet { keys: vec![stub.key.public()] })),
            )
            .route("/admin/clients", post(create))
            .route("/admin/clients/{id}", get(find).put(update))
            .route("/admin/oauth2/introspect", post(introspect))
            .route("/auth", get(authorize))
            .route("/ui/login", get(login_page).post(logged_in))
            .route("/ui/registration", get(registration_page).post(logged_in))
            .route("/ui/consent", get(consent_page).post(consented))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .route("/revoke", post(async |State(stub): State<Self>| stub.state.lock().revoked = true))
            .with_state(self)
    }
}

impl DemoServer for Stub {
    fn public_url(&self) -> Url {
        self.base.clone()
    }

    fn admin_url(&self) -> Url {
        self.base.clone()
    }

    async fn shutdown(self) {}
}

async fn discovery(State(stub): State<Stub>) -> Json<Value> {
    Json(json!({
        "issuer": stub.base,
        "authorization_endpoint": stub.at("auth"),
        "token_endpoint": stub.at("token"),
        "userinfo_endpoint": stub.at("userinfo"),
        "revocation_endpoint": stub.at("revoke"),
        "end_session_endpoint": stub.at("logout"),
        "jwks_uri": stub.at("jwks"),
    }))
}

async fn find(State(stub): State<Stub>, Path(id): Path<String>) -> Result<Json<Value>, StatusCode> {
    let clients = stub.registrations();
    let client = clients.iter().find(|(_, client)| client["client_id"] == id.as_str());
    client.map(|(_, client)| Json(client.clone())).ok_or(StatusCode::NOT_FOUND)
}

async fn create(State(stub): State<Stub>, Json(client): Json<Value>) -> (StatusCode, Json<Value>) {
    stub.change(|state| state.clients.push(("created", client.clone())));
    (StatusCode::CREATED, Json(client))
}

async fn update(State(stub): State<Stub>, Json(client): Json<Value>) -> Json<Value> {
    stub.change(|state| state.clients.push(("updated", client.clone())));
    Json(client)
}

/// The flow travels in the URL, as it is.
fn query(fields: &Fields) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

async fn authorize(Query(request): Query<Fields>) -> Redirect {
    Redirect::to(&format!("/ui/login?{}", query(&request)))
}

fn page(action: &str, flow: &Fields, more: &str) -> Html<String> {
    let hidden =
        |(name, value): (&String, &String)| format!(r#"<input type="hidden" name="{name}" value="{value}">"#);
    let fields: String = flow.iter().map(hidden).collect();
    Html(format!(r#"<title>A page</title><form method="post" action="{action}">{fields}{more}</form>"#))
}

async fn login_page(Query(flow): Query<Fields>) -> Html<String> {
    let Html(form) = page("/ui/login", &flow, r#"<input name="email"><input name="password">"#);
    let link = query(&flow).replace('&', "&amp;");
    Html(format!(r#"{form}<a href="/ui/registration?{link}">Create an account</a>"#))
}

async fn registration_page(Query(flow): Query<Fields>) -> Html<String> {
    page("/ui/registration", &flow, r#"<input name="email"><input name="password">"#)
}

async fn logged_in(State(stub): State<Stub>, Form(mut flow): Form<Fields>) -> Redirect {
    let email = flow.remove("email").unwrap();
    stub.change(|state| state.email = email);
    flow.remove("password").unwrap();
    Redirect::to(&format!("/ui/consent?{}", query(&flow)))
}

async fn consent_page(Query(flow): Query<Fields>) -> Html<String> {
    page("/ui/consent", &flow, r#"<input type="checkbox" name="grant_scope" value="openid" checked>"#)
}

async fn consented(State(stub): State<Stub>, Form(flow): Form<Fields>) -> Redirect {
    assert_eq!(flow["decision"], "accept");
    let answer = [("code", &flow["nonce"]), ("state", &flow["state"]), ("iss", &stub.base.to_string())];
    let answer = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(answer).finish();
    Redirect::to(&format!("{}?{answer}", flow["redirect_uri"]))
}

/// The code is the nonce.
async fn token(
    State(stub): State<Stub>,
    Form(request): Form<Fields>,
) -> Result<Json<Value>, (StatusCode, Json<Value>)> {
    let generation = if request["grant_type"] == "refresh_token" { 2 } else { 1 };
    if request.get("code").is_some_and(|code| code == "spent") {
        let body = json!({ "error": "invalid_grant", "error_description": "The code was used." });
        return Err((StatusCode::BAD_REQUEST, Json(body)));
    }
    let mut claims = json!({
        "iss": stub.base,
        "sub": "person-1",
        "aud": ["sluice-demo"],
        "exp": Stub::parts().clock.now().as_secs() + 60,
    });
    if let Some(nonce) = request.get("code") {
        claims["nonce"] = json!(nonce);
    }
    let key = SigningKey::from_jwk(&stub.key).unwrap();
    Ok(Json(json!({
        "access_token": format!("access-{generation}"),
        "refresh_token": format!("refresh-{generation}"),
        "id_token": key.sign(Some("JWT"), claims.to_string().as_bytes()).unwrap(),
        "token_type": "bearer",
        "expires_in": 3600,
        "scope": "openid offline_access email profile",
    })))
}

async fn userinfo(State(stub): State<Stub>) -> Json<Value> {
    let email = stub.state.lock().email.clone();
    Json(json!({ "sub": "person-1", "email": email }))
}

async fn introspect(State(stub): State<Stub>) -> Json<Value> {
    let state = stub.state.lock();
    if state.revoked && !state.forgets_revocation {
        return Json(json!({ "active": false }));
    }
    Json(json!({ "active": true, "sub": "person-1", "client_id": "sluice-demo" }))
}
