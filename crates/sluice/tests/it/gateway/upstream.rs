//! An upstream that answers with the headers that it got.

use axum::http::HeaderMap;
use axum::{Json, Router};
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

/// It ends when this is dropped.
pub(super) struct Upstream {
    pub(super) url: Url,
    serving: JoinHandle<()>,
}

impl Upstream {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let router = Router::new().fallback(echo);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, serving }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn echo(headers: HeaderMap) -> Json<Value> {
    let texts = headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()));
    Json(Value::Object(texts.collect::<Map<_, _>>()))
}
