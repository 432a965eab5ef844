//! `/health/alive`, `/health/ready`, `/version`: for those who watch, and for no cache: it would say of a server that has ended that it is
//! well.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::busy::kept_by_nobody;
use crate::state::{Health, Ready};

/// `GET /health/alive`: the process answers.
pub(crate) async fn alive() -> Response {
    kept_by_nobody(Json(json!({"status": "ok"})).into_response())
}

/// `GET /health/ready`: the process can serve.
pub(crate) async fn ready(health: Arc<dyn Health>) -> Response {
    kept_by_nobody(match health.ready().await {
        Ready::Yes { feed_age: None } => Json(json!({"status": "ok"})).into_response(),
        Ready::Yes { feed_age: Some(age) } => {
            Json(json!({"status": "ok", "feed_age_ms": age.as_millis()})).into_response()
        }
        Ready::No(reasons) => {
            let errors: Map<String, Value> = reasons
                .into_iter()
                .map(|(component, reason)| (component.to_owned(), Value::String(reason)))
                .collect();
            (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"errors": errors}))).into_response()
        }
    })
}

/// `GET /version`.
pub(crate) fn version(version: &'static str) -> std::future::Ready<Response> {
    std::future::ready(kept_by_nobody(Json(json!({"version": version})).into_response()))
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use http_body_util::BodyExt;
    use sluice_primitives::Lifetime;

    use super::*;

    struct Says(Ready);

    #[async_trait]
    impl Health for Says {
        async fn ready(&self) -> Ready {
            self.0.clone()
        }
    }

    #[tokio::test]
    async fn no_cache_keeps_what_is_said() {
        let says = |ready| Arc::new(Says(ready));
        for answer in [
            alive().await,
            ready(says(Ready::Yes { feed_age: None })).await,
            ready(says(Ready::Yes { feed_age: Some(Lifetime::millis(1)) })).await,
            ready(says(Ready::No(vec![("feed", "old".to_owned())]))).await,
            version("1").await,
        ] {
            assert_eq!(answer.headers()["cache-control"], "no-store");
        }
    }

    async fn answered(says: Ready) -> (StatusCode, Value) {
        let response = ready(Arc::new(Says(says))).await;
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn who_is_ready_says_ok_and_a_gateway_how_old_its_knowledge_is() {
        let server = answered(Ready::Yes { feed_age: None }).await;
        assert_eq!(server, (StatusCode::OK, json!({"status": "ok"})));
        let gateway = answered(Ready::Yes { feed_age: Some(Lifetime::millis(1_234)) }).await;
        assert_eq!(gateway, (StatusCode::OK, json!({"status": "ok", "feed_age_ms": 1234})));
        let neither = answered(Ready::No(vec![("feed", "old".to_owned())])).await;
        assert_eq!(neither, (StatusCode::SERVICE_UNAVAILABLE, json!({"errors": {"feed": "old"}})));
    }
}
