//! The gateway as part of the server and as a process of its own, with real upstreams and tokens of every kind.

mod access_log;
mod certificates;
mod check;
mod country;
mod foreign;
mod installation;
mod issuers;
mod linked;
mod nodes;
mod numbers;
mod people;
mod phantom;
mod relay;
mod statements;
mod upstream;
mod with_database;

use reqwest::{Client, StatusCode};
use serde_json::Value;
use sluice_testkit::Backend;
use tempfile::TempDir;
use url::Url;

use crate::application::http_client;
use crate::process::{Process, Site, until};
use upstream::Upstream;

/// What the link asks for in these tests.
const LINK_TOKEN: &str = "the link of these tests, which is long";

/// Routes to an upstream, in a file.
struct Routes {
    directory: TempDir,
    upstream: Upstream,
}

impl Routes {
    /// `/orders/` asks for a token, `/refusing/` also refuses it when revocations were not heard of.
    async fn fresh() -> Self {
        let routes = Self { directory: tempfile::tempdir().unwrap(), upstream: Upstream::start().await };
        routes.write("required");
        routes
    }

    fn write(&self, auth: &str) {
        let all = format!(
            "  - {{name: orders, match: {{prefix: /orders/}}, upstream: echo, auth: {auth}}}\n  \
             - {{name: refusing, match: {{prefix: /refusing/}}, upstream: echo, stale: refuse}}\n"
        );
        self.rewrite("", &all);
    }

    /// Other routes to the upstream, and what the file says beside them.
    fn rewrite(&self, beside: &str, routes: &str) {
        let upstream = self.upstream.url.as_str().trim_end_matches('/');
        let text = format!("{beside}upstreams:\n  echo: {{servers: [{upstream:?}]}}\nroutes:\n{routes}");
        std::fs::write(self.path(), text).unwrap();
    }

    fn path(&self) -> String {
        self.directory.path().join("routes.yaml").display().to_string()
    }
}

/// A site whose servers have a gateway, and a link for others.
async fn site(backend: Backend, routes: &Routes) -> Site {
    guarded(Site::fresh(backend).await, routes)
}

/// The same on a database that is there.
fn guarded(mut site: Site, routes: &Routes) -> Site {
    site.set(&[
        ("gateway.routes", &routes.path()),
        ("gateway.access_log", "off"),
        ("serve.gateway.host", "127.0.0.1"),
        ("serve.gateway.port", "0"),
        ("serve.decisions.port", "0"),
        ("serve.link.port", "0"),
        ("serve.link.token", LINK_TOKEN),
    ]);
    site
}

/// A gateway seen by its clients.
struct Seen {
    url: Url,
    http: Client,
}

impl Seen {
    fn of(process: &Process) -> Self {
        Self { url: process.listeners["gateway"].clone(), http: http_client() }
    }

    /// The status and what the upstream saw.
    async fn ask(&self, path: &str, token: &str) -> (StatusCode, Value) {
        let request = self.http.get(self.url.join(path).unwrap()).bearer_auth(token);
        let answer = request.header("OAuth-User-Id", "mallory").send().await.unwrap();
        (answer.status(), answer.json().await.unwrap_or_default())
    }

    async fn status(&self, path: &str, token: &str) -> StatusCode {
        self.ask(path, token).await.0
    }

    /// Waits until a token is answered so.
    async fn until(&self, path: &str, token: &str, status: StatusCode) {
        until("answered otherwise", async || self.status(path, token).await == status).await;
    }
}

/// A gateway in a process of its own is well, says how old its knowledge is, and has nothing else at that port.
async fn serves_health_alone(process: &Process) {
    let ask = |path: &str| http_client().get(process.admin.join(path).unwrap()).send();
    let ready: Value = ask("/health/ready").await.unwrap().json().await.unwrap();
    assert_eq!(ready["status"], "ok");
    assert!(ready["feed_age_ms"].as_u64().is_some_and(|age| age <= 10_000), "{ready}");
    for path in ["/metrics", "/metrics/prometheus", "/admin/metrics/prometheus"] {
        assert_eq!(ask(path).await.unwrap().status(), StatusCode::OK, "{path}");
    }
    for path in ["/admin/clients", "/.well-known/openid-configuration"] {
        assert_eq!(ask(path).await.unwrap().status(), StatusCode::NOT_FOUND, "{path}");
    }
}
