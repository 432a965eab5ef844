mod audit;
mod listings;

use super::*;
use async_trait::async_trait;
use axum::body::Body;
use http::header::LINK;
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sluice_crypto::Sealer;
use sluice_crypto::digest::MacKey;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig};
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::secret_hash::FastHashKeys;
use sluice_oauth::client::{
    ClientDirectory, ClientRepository, ClientSecrets, ClientServiceParts, RegistrationRules,
};
use sluice_oauth::keys::{KeyError, SigningKeys};
use sluice_oauth::sector::{SectorNotFetched, SectorSource};
use sluice_primitives::{Lifetime, ManualClock, NetworkId, Secret, SeededRng, Timestamp};
use sluice_store_contract::MemoryStore;
use tower::ServiceExt;

struct Answer {
    status: u16,
    headers: HeaderMap,
    json: Value,
}

/// Has every key, and reaches nobody.
struct Alone;

#[async_trait]
impl SigningKeys for Alone {
    async fn ensure(&self, _: &str, _: SigningAlgorithm) -> Result<(), KeyError> {
        Ok(())
    }

    async fn ensure_for_request_objects(&self, _: KeyManagement) -> Result<(), KeyError> {
        Ok(())
    }
}

#[async_trait]
impl SectorSource for Alone {
    async fn document(&self, _: &url::Url) -> Result<Vec<u8>, SectorNotFetched> {
        Err(SectorNotFetched("nobody is there".to_owned()))
    }
}

fn admin() -> Router {
    admin_on(Arc::new(MemoryStore::default())).0
}

/// Of these clients, and the directory that hears of their changes.
fn admin_on(repo: Arc<dyn ClientRepository>) -> (Router, Arc<ClientDirectory>) {
    let (service, directory) = service_on(repo);
    (admin_of(service), directory)
}

fn admin_of(service: Arc<ClientService>) -> Router {
    routes(state_of(service))
}

fn state_of(service: Arc<ClientService>) -> Arc<ClientsState> {
    Arc::new(ClientsState { service, texts: Arc::default(), listings: ClientListings::default() })
}

fn service_on(repo: Arc<dyn ClientRepository>) -> (Arc<ClientService>, Arc<ClientDirectory>) {
    service_by(RegistrationRules::default(), repo)
}

fn service_by(
    rules: RegistrationRules,
    repo: Arc<dyn ClientRepository>,
) -> (Arc<ClientService>, Arc<ClientDirectory>) {
    let sealer = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]);
    let sealer = Arc::new(sealer);
    let directory = Arc::new(ClientDirectory::new(Arc::clone(&repo), 100));
    let rng = Arc::new(SeededRng::new(1));
    let keys = FastHashKeys::new((7, MacKey::new(b"key")), Vec::new());
    let pool = Arc::new(HashPool::start(&HashPoolConfig::default()).unwrap());
    let service = Arc::new(ClientService::new(ClientServiceParts {
        repo,
        directory: Arc::clone(&directory),
        revocations: Arc::default(),
        secrets: ClientSecrets::new(keys, pool, rng.clone()),
        at_rest: Arc::clone(&sealer),
        sealer,
        keys: Arc::new(Alone),
        sectors: Arc::new(Alone),
        clock: Arc::new(ManualClock::at(Timestamp::from_millis(1_763_720_125_497))),
        rng,
        rules,
        marker_lifetime: Lifetime::hours(1),
    }));
    (service, directory)
}

async fn ask(admin: &Router, method: &str, path: &str, body: &str) -> Answer {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    let response = admin.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let json = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
    Answer { status: head.status.as_u16(), headers: head.headers, json }
}

fn header(answer: &Answer, name: http::HeaderName) -> &str {
    answer.headers.get(name).unwrap().to_str().unwrap()
}

#[tokio::test]
async fn a_client_lives_from_creation_to_deletion() {
    let admin = admin();
    let made =
        ask(&admin, "POST", PATH, r#"{"client_id":"my-app 1","redirect_uris":["https://a.example/cb"]}"#)
            .await;
    assert_eq!((made.status, header(&made, LOCATION)), (201, "/admin/clients/my-app%201"));
    assert_eq!(made.json["client_secret"].as_str().unwrap().len(), 43);
    let found = ask(&admin, "GET", "/admin/clients/my-app%201", "").await;
    assert_eq!((found.status, &found.json["created_at"]), (200, &json!("2025-11-21T10:15:25.497Z")));
    assert!(found.json.get("client_secret").is_none());
    let put = ask(&admin, "PUT", "/admin/clients/my-app%201", r#"{"client_name":"new"}"#).await;
    assert_eq!(
        (put.status, &put.json["client_name"], put.json.get("client_secret")),
        (200, &json!("new"), None)
    );
    assert_eq!((&put.json["redirect_uris"], &put.json["client_id"]), (&json!([]), &json!("my-app 1")));
    let patch = r#"[{"op":"replace","path":"/client_secret","value":"another"}]"#;
    let patched = ask(&admin, "PATCH", "/admin/clients/my-app%201", patch).await;
    assert_eq!((patched.status, &patched.json["client_secret"]), (200, &json!("another")));
    let lifespans = r#"{"client_credentials_grant_access_token_lifespan":"30m"}"#;
    let set = ask(&admin, "PUT", "/admin/clients/my-app%201/lifespans", lifespans).await;
    assert_eq!(set.json["client_credentials_grant_access_token_lifespan"], "30m0s");
    let rotated = ask(&admin, "POST", "/admin/clients/my-app%201/secrets/rotate", "").await;
    assert_eq!((rotated.status, rotated.json["client_secret"].as_str().unwrap().len()), (200, 43));
    let forgotten = ask(&admin, "DELETE", "/admin/clients/my-app%201/secrets/rotate", "").await;
    assert_eq!((forgotten.status, forgotten.json.get("client_secret")), (200, None));
    let deleted = ask(&admin, "DELETE", "/admin/clients/my-app%201", "").await;
    assert_eq!((deleted.status, deleted.json), (204, Value::Null));
    assert_eq!(ask(&admin, "GET", "/admin/clients/my-app%201", "").await.status, 404);
}

#[tokio::test]
async fn refusals_look_like_hydras() {
    let admin = admin();
    let not_found = json!({"error": "Unable to locate the resource", "error_description": ""});
    for (method, path, body) in [
        ("GET", "/admin/clients/none", ""),
        ("PUT", "/admin/clients/none", "{}"),
        ("PATCH", "/admin/clients/none", "[]"),
        ("DELETE", "/admin/clients/none", ""),
        ("PUT", "/admin/clients/none/lifespans", "{}"),
        ("POST", "/admin/clients/none/secrets/rotate", ""),
        ("GET", "/admin/clients/n%C3%B6ne", ""),
    ] {
        let answer = ask(&admin, method, path, body).await;
        assert_eq!((answer.status, &answer.json), (404, &not_found), "{method} {path}");
    }
    assert_eq!(ask(&admin, "POST", PATH, r#"{"client_id":"app"}"#).await.status, 201);
    let taken = ask(&admin, "POST", PATH, r#"{"client_id":"app"}"#).await;
    assert_eq!(taken.status, 409);
    assert!(taken.json["error"].as_str().unwrap().starts_with("Unable to insert or update resource"));
    for (body, error) in [
        (r#"{"token_endpoint_auth_method":"wat"}"#, "invalid_client_metadata"),
        (r#"{"redirect_uris":["/x"]}"#, "invalid_redirect_uri"),
        (r#"{"client_name":5}"#, "The request was malformed or contained invalid parameters"),
        ("", "The request was malformed or contained invalid parameters"),
        (r#"{"client_name":"a\u0000b"}"#, "The request was malformed or contained invalid parameters"),
    ] {
        let answer = ask(&admin, "POST", PATH, body).await;
        assert_eq!((answer.status, &answer.json["error"]), (400, &json!(error)), "{body}");
        assert!(!answer.json["error_description"].as_str().unwrap().is_empty());
    }
    let large = ask(&admin, "POST", PATH, &format!("\"{}\"", "x".repeat(MAX_BODY))).await;
    assert_eq!(large.status, 413);
}

#[tokio::test]
async fn a_patch_that_cannot_be_applied_changes_nothing() {
    let admin = admin();
    ask(&admin, "POST", PATH, r#"{"client_id":"app","client_name":"old"}"#).await;
    for patch in [
        r#"[{"op":"replace","path":"/client_id","value":"other"}]"#,
        r#"[{"op":"replace","path":"/client_name","value":"new"},{"op":"test","path":"/owner","value":"x"}]"#,
        r#"{"op":"add"}"#,
        "no patch",
    ] {
        assert_eq!(ask(&admin, "PATCH", "/admin/clients/app", patch).await.status, 400, "{patch}");
    }
    assert_eq!(ask(&admin, "GET", "/admin/clients/app", "").await.json["client_name"], "old");
}

#[tokio::test]
async fn a_client_that_proves_itself_by_a_key_is_told_a_secret_once() {
    let admin = admin();
    let keyed = json!({"client_id": "keyed", "token_endpoint_auth_method": "private_key_jwt",
                       "jwks_uri": "https://A.example", "backchannel_logout_session_required": true});
    let keyed = keyed.to_string();
    let made = ask(&admin, "POST", PATH, &keyed).await;
    assert_eq!((made.status, made.json["client_secret"].as_str().unwrap().len()), (201, 43));
    let put = ask(&admin, "PUT", "/admin/clients/keyed", &keyed).await;
    assert_eq!((put.status, put.json.get("client_secret")), (200, None));
    for told in [&made.json, &put.json] {
        assert_eq!(told["jwks_uri"], "https://A.example");
        assert_eq!(told["backchannel_logout_session_required"], true);
    }
    let public = r#"{"token_endpoint_auth_method":"none","client_secret":"s3cret"}"#;
    let public = ask(&admin, "POST", PATH, public).await;
    assert_eq!((public.status, public.json.get("client_secret")), (201, None));
    let patch =
        r#"[{"op":"replace","path":"/jwks_uri"},{"op":"replace","path":"/token_endpoint_auth_method"}]"#;
    let patched = ask(&admin, "PATCH", "/admin/clients/keyed", patch).await;
    assert_eq!((patched.status, patched.json.get("jwks_uri")), (200, None));
    assert_eq!(patched.json["token_endpoint_auth_method"], "client_secret_basic");
}

#[tokio::test]
async fn a_listing_links_to_its_next_page() {
    let admin = admin();
    for id in ["a", "b", "c"] {
        ask(&admin, "POST", PATH, &json!({"client_id": id, "owner": "me & you"}).to_string()).await;
    }
    let first = ask(&admin, "GET", "/admin/clients?page_size=2&owner=me+%26+you", "").await;
    let ids = |answer: &Answer| -> Vec<String> {
        answer
            .json
            .as_array()
            .unwrap()
            .iter()
            .map(|client| client["client_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&first), ["a", "b"]);
    let link = header(&first, LINK);
    assert!(link.starts_with("</admin/clients?page_size=2&owner=me+%26+you>; rel=\"first\",<"), "{link}");
    let next = link.split(",<").nth(1).unwrap().strip_suffix(">; rel=\"next\"").unwrap();
    let second = ask(&admin, "GET", next, "").await;
    assert_eq!(ids(&second), ["c"]);
    assert!(!header(&second, LINK).contains("next"));
    assert_eq!(ids(&ask(&admin, "GET", "/admin/clients?client_name=nobody", "").await), Vec::<String>::new());
    assert_eq!(ask(&admin, "GET", "/admin/clients?page_token=made-up", "").await.status, 400);
}

#[tokio::test]
async fn a_path_that_is_not_text_is_refused_in_the_shape_of_all_errors() {
    let answer = ask(&admin(), "GET", "/admin/clients/%FF", "").await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json["error_description"], "The path is not valid UTF-8 once percent-decoded.");
    // Around the router, too.
    let (service, _) = service_on(Arc::new(MemoryStore::default()));
    let refused = find_by_path(State(state_of(service)), Uri::from_static("/admin/clients/%FF")).await;
    assert_eq!(refused.into_response().status(), 400);
}
