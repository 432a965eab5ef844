//! People of tests, and what they ask for.

use std::sync::Arc;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use sluice_primitives::ManualClock;
use sluice_testkit::{Backend, Database, TestSluice};
use url::Url;

use crate::answer::{Answer, http};
use crate::process::until;

pub(super) const ALICE: &str = "alice@example.com";
pub(super) const BOB: &str = "bob@example.com";
pub(super) const PASSWORD: &str = "correct horse battery staple";
pub(super) const ANOTHER: &str = "another horse battery staple";

/// Hashes that cost next to nothing, and a worker that does not let anybody wait.
const SMALL: &[(&str, &str)] = &[
    ("identity.password_hash.memory", "64"),
    ("identity.password_hash.lanes", "1"),
    ("identity.hash_pool.threads", "2"),
    ("identity.hardening.poll", "20ms"),
];

/// A node on a fresh database, with these settings over small ones.
pub(super) async fn node(backend: Backend, settings: &[(&str, &str)]) -> TestSluice {
    TestSluice::with(backend, &[SMALL, settings].concat()).await
}

/// A node on this database, with these settings over small ones.
pub(super) async fn node_on(
    (database, clock): (Arc<Database>, Arc<ManualClock>),
    settings: &[(&str, &str)],
) -> TestSluice {
    TestSluice::on(database, clock, &[SMALL, settings].concat()).await
}

/// The next node on the database of one that is stopped.
pub(super) async fn node_after(sluice: TestSluice, settings: &[(&str, &str)]) -> TestSluice {
    let site = (Arc::clone(&sluice.database), Arc::clone(&sluice.clock));
    sluice.node.stop().await;
    node_on(site, settings).await
}

/// The tokens of somebody who is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) access: String,
    pub(super) refresh: String,
}

impl Tokens {
    pub(super) fn of(answer: &Answer) -> Self {
        let body = answer.ok();
        let token = |name: &str| body[name].as_str().unwrap().to_owned();
        Self { access: token("access_token"), refresh: token("refresh_token") }
    }
}

/// The identity API of a node, as a program asks it.
#[derive(Clone)]
pub(super) struct Api {
    public: Url,
    http: Client,
}

impl Api {
    pub(super) fn of(sluice: &TestSluice) -> Self {
        Self::at(&sluice.public)
    }

    /// That of a server in a process of its own.
    pub(super) fn at(public: &Url) -> Self {
        Self { public: public.clone(), http: http() }
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.public.join(path).unwrap())
    }

    /// Asks; a body of `null` is none.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        tokens: Option<&Tokens>,
        body: Value,
    ) -> Answer {
        let mut request = self.request(method, path);
        if let Some(tokens) = tokens {
            request = request.bearer_auth(&tokens.access);
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        Answer::to(request).await
    }

    pub(super) async fn get(&self, path: &str, tokens: &Tokens) -> Answer {
        self.ask(Method::GET, path, Some(tokens), Value::Null).await
    }

    pub(super) async fn delete(&self, path: &str, tokens: &Tokens) -> Answer {
        self.ask(Method::DELETE, path, Some(tokens), Value::Null).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, None, body).await
    }

    pub(super) async fn post_as(&self, tokens: &Tokens, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, Some(tokens), body).await
    }

    /// Sends a body as it is.
    pub(super) async fn post_raw(&self, path: &str, content_type: &str, body: &str) -> Answer {
        let request = self.request(Method::POST, path).header(CONTENT_TYPE, content_type);
        Answer::to(request.body(body.to_owned())).await
    }

    pub(super) async fn sign_up(&self, email: &str, password: &str) -> Answer {
        let body = json!({"email": email, "username": "Somebody", "password": password});
        self.post("/auth/register", body).await
    }

    /// Registers somebody with [`PASSWORD`]; the id.
    pub(super) async fn register(&self, email: &str) -> String {
        let made = self.sign_up(email, PASSWORD).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()["id"].as_str().unwrap().to_owned()
    }

    pub(super) async fn log_in(&self, email: &str, password: &str) -> Answer {
        self.post("/auth/login", json!({"email": email, "password": password})).await
    }

    /// Logs in with [`PASSWORD`].
    pub(super) async fn tokens(&self, email: &str) -> Tokens {
        Tokens::of(&self.log_in(email, PASSWORD).await)
    }

    pub(super) async fn refresh(&self, tokens: &Tokens) -> Answer {
        self.post("/auth/refresh", json!({"refresh_token": tokens.refresh})).await
    }

    /// The status of `GET /auth/me`.
    pub(super) async fn me(&self, tokens: &Tokens) -> u16 {
        self.get("/auth/me", tokens).await.status
    }
}

impl Answer {
    /// A problem (RFC 9457) as every one of them has to be: its status and its code.
    #[track_caller]
    pub(super) fn problem(&self) -> (u16, String) {
        let body = self.json();
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.body);
        assert_eq!(self.header("cache-control"), "no-store");
        assert_eq!(body["status"], self.status, "{}", self.body);
        let code = body["code"].as_str().unwrap();
        assert_eq!(body["type"], format!("urn:sluice:problem:{code}"));
        assert!(body["title"].as_str().unwrap().ends_with('.'), "{}", self.body);
        let retried = matches!(self.status, 429 | 503);
        assert_eq!(retried, self.headers.contains_key("retry-after"), "{:?}", self.headers);
        (self.status, code.to_owned())
    }

    /// Refused with this code.
    #[track_caller]
    pub(super) fn is_problem(&self, status: u16, code: &str) {
        assert_eq!(self.problem(), (status, code.to_owned()), "{}", self.body);
    }

    /// Refused because of this field.
    #[track_caller]
    pub(super) fn is_about(&self, field: &str, code: &str) {
        self.is_problem(400, code);
        assert_eq!(self.json()["field"], field, "{}", self.body);
    }

    /// Done, with nothing to say.
    #[track_caller]
    pub(super) fn is_done(&self, status: u16) {
        assert_eq!((self.status, self.body.as_str()), (status, ""));
        assert_eq!(self.header("cache-control"), "no-store");
    }

    /// What tells one answer from another: all of it, but for what tells one request from another.
    pub(super) fn essence(&self) -> (u16, String, Vec<(String, String)>) {
        let own = ["date", "x-request-id"];
        let mut headers: Vec<_> = self
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .filter(|(name, _)| !own.contains(&name.as_str()))
            .collect();
        headers.sort();
        (self.status, self.body.clone(), headers)
    }
}

/// What a metric says.
pub(super) async fn metric(sluice: &TestSluice, name: &str) -> f64 {
    let answer = sluice.ask(Method::GET, "/admin/metrics/prometheus", None).await;
    let text = answer.text().await.unwrap();
    let sample = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    sample.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

/// Waits until a metric says this.
pub(super) async fn shows(sluice: &TestSluice, name: &str, expected: u32) {
    let expected = f64::from(expected);
    until(&format!("{name} {expected}"), async || (metric(sluice, name).await - expected).abs() < 0.5).await;
}

/// Waits until this node has hardened so many credentials and none waits.
pub(super) async fn hardened(sluice: &TestSluice, count: u32) {
    shows(sluice, r#"sluice_hardening_total{outcome="hardened"}"#, count).await;
    shows(sluice, r#"sluice_hardening_backlog{state="waiting"}"#, 0).await;
    shows(sluice, r#"sluice_hardening_backlog{state="leased"}"#, 0).await;
}
