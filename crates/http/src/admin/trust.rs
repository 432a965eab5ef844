//! `/admin/trust/grants/jwt-bearer/issuers`: issuers whose assertions are exchanged for tokens (Hydra).

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::header::{LINK, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use sluice_oauth::trust::{ListTrusted, TrustId, TrustPage, TrustService};

use super::json_body::{JsonBody, MAX_BODY};
use super::path::Path;
use super::total_count::TOTAL_COUNT;
use super::wire::trust::{NewTrustBody, TrustedBody};
use crate::respond::AdminError;

type Trust = State<Arc<TrustService>>;

const PATH: &str = "/admin/trust/grants/jwt-bearer/issuers";

/// The routes below `/admin/trust/grants/jwt-bearer/issuers`.
pub(crate) fn routes(trust: Arc<TrustService>) -> Router {
    Router::new()
        .route(PATH, get(list).post(create))
        .route(&format!("{PATH}/{{id}}"), get(find).delete(delete))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(trust)
}

async fn create(State(trust): Trust, body: JsonBody) -> Result<Response, AdminError> {
    let asked: NewTrustBody = body.read()?;
    let trusted = trust.create(asked.into()).await?;
    let location = format!("{PATH}/{}", trusted.id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(TrustedBody::from(&trusted))).into_response())
}

async fn list(State(trust): Trust, RawQuery(query): RawQuery) -> Result<Response, AdminError> {
    let asked = list_query(query.as_deref().unwrap_or_default());
    let page = trust.list(asked.clone()).await?;
    let body: Vec<_> = page.trusted.iter().map(TrustedBody::from).collect();
    let mut headers = links(&asked, &page);
    headers.insert(TOTAL_COUNT, page.total.into());
    Ok((headers, Json(body)).into_response())
}

async fn find(State(trust): Trust, Path(id): Path<String>) -> Result<Json<TrustedBody>, AdminError> {
    Ok(Json(TrustedBody::from(&trust.get(trust_id(&id)?).await?)))
}

async fn delete(State(trust): Trust, Path(id): Path<String>) -> Result<StatusCode, AdminError> {
    trust.delete(trust_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What cannot be an id belongs to nobody.
fn trust_id(raw: &str) -> Result<TrustId, AdminError> {
    raw.parse().map_err(|_| AdminError::not_found())
}

/// Like Hydra, takes what is no number for "not asked", and the last of repeated parameters.
fn list_query(query: &str) -> ListTrusted {
    let mut asked = ListTrusted::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match name.as_ref() {
            "issuer" => asked.issuer = Some(value.into_owned()),
            "page_size" => asked.page_size = value.parse().ok(),
            "page_token" => asked.page_token = Some(value.into_owned()),
            _ => {}
        }
    }
    asked
}

/// The `Link` header: the first page always, the next one if there is one.
fn links(asked: &ListTrusted, page: &TrustPage) -> HeaderMap {
    let link = |rel: &str, token: Option<&str>| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("page_size", &page.page_size.to_string());
        query.extend_pairs(asked.issuer.as_deref().map(|issuer| ("issuer", issuer)));
        query.extend_pairs(token.map(|token| ("page_token", token)));
        format!("<{PATH}?{}>; rel=\"{rel}\"", query.finish())
    };
    let next = page.next.as_deref().map(|token| link("next", Some(token)));
    let all = [Some(link("first", None)), next].into_iter().flatten().collect::<Vec<_>>().join(",");
    HeaderValue::from_str(&all).map(|value| HeaderMap::from_iter([(LINK, value)])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::{Request, Response};
    use http_body_util::BodyExt;
    use serde_json::{Value, json};
    use sluice_crypto::Sealer;
    use sluice_crypto::jwk::{Jwk, RsaSize, SigningAlgorithm};
    use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, Timestamp};
    use sluice_store_contract::MemoryStore;
    use sluice_testkit::Captured;
    use tower::ServiceExt;

    use super::*;

    fn admin() -> Router {
        let sealer = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]);
        routes(Arc::new(TrustService {
            issuers: Arc::new(MemoryStore::default()),
            sealer: Arc::new(sealer),
            clock: Arc::new(ManualClock::at(Timestamp::from_secs(1_763_720_125))),
            rng: Arc::new(OsRng),
        }))
    }

    async fn ask(admin: &Router, method: &str, path: &str, body: String) -> Response<Body> {
        let request = Request::builder().method(method).uri(path).body(Body::from(body)).unwrap();
        admin.clone().oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn the_tokens_of_hydras_document_are_the_first_page() {
        let admin = admin();
        let tokens = [("", 200), ("0", 200), ("1", 200), ("2", 400), ("made-up", 400)];
        for (token, status) in tokens {
            let answer = ask(&admin, "GET", &format!("{PATH}?page_token={token}"), String::new()).await;
            assert_eq!(answer.status().as_u16(), status, "{token}");
        }
    }

    #[tokio::test]
    async fn who_is_trusted_forever_is_until_the_last_moment_that_can_be_told() {
        let admin = admin();
        let jwk = Jwk::generate(SigningAlgorithm::ES256, "key-1".to_owned(), RsaSize::Bits2048).unwrap();
        let asked = |subject: &str, until: &str| {
            let asked = json!({"issuer": "https://partner.example", "subject": subject, "jwk": jwk,
                               "scope": [], "expires_at": until});
            ask(&admin, "POST", PATH, asked.to_string())
        };
        let ends = [
            ("9999-12-31T23:59:59Z", "9999-12-30T22:00:00Z"),
            ("9999-12-31T23:59:59.999+00:00", "9999-12-30T22:00:00Z"),
            ("9999-12-30T21:59:59Z", "9999-12-30T21:59:59Z"),
            ("2030-01-01T01:00:00+01:00", "2030-01-01T00:00:00Z"),
        ];
        for (until, told) in ends {
            let made = asked(until, until).await;
            assert_eq!(made.status(), StatusCode::CREATED, "{until}");
            let body = made.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["expires_at"], told);
        }
        for no_time in
            ["9999-13-31T23:59:59Z", "9999-12-31T23:59:59", "9999-12-31", "10000-01-01T00:00:00Z", "never"]
        {
            assert_eq!(asked("alice", no_time).await.status(), StatusCode::BAD_REQUEST, "{no_time}");
        }
    }

    #[tokio::test]
    async fn whom_an_administrator_trusts_is_in_the_audit_trail() {
        let (log, _guard) = Captured::everything();
        let admin = admin();
        let jwk = Jwk::generate(SigningAlgorithm::ES256, "key-1".to_owned(), RsaSize::Bits2048).unwrap();
        let asked = json!({
            "issuer": "https://partner.example",
            "subject": "alice@partner.example",
            "scope": ["read"],
            "jwk": jwk,
            "expires_at": "2030-01-01T00:00:00Z",
        });
        let made = ask(&admin, "POST", PATH, asked.to_string()).await;
        assert_eq!(made.status(), StatusCode::CREATED);
        assert_eq!(ask(&admin, "POST", PATH, asked.to_string()).await.status(), StatusCode::CONFLICT);
        let path = made.headers()[LOCATION].to_str().unwrap();
        for status in [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND] {
            assert_eq!(ask(&admin, "DELETE", path, String::new()).await.status(), status);
        }
        let (said, id) = (log.text(), path.rsplit('/').next().unwrap());
        let told: Vec<_> = said.lines().filter_map(|line| line.split_once(" sluice_audit: ")).collect();
        let told: Vec<_> = told.iter().map(|(_, told)| *told).collect();
        let trusted = format!(
            "issuer trusted by an administrator trust.id={id} trust.issuer=\"https://partner.example\" key.kid=\"key-1\""
        );
        let ended = format!("trust in an issuer ended by an administrator trust.id={id}");
        assert_eq!(told, [trusted, ended]);
        assert!(!said.contains("alice"), "{said}");
    }
}
