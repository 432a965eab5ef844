//! A node within the process, on either store, with a clock that a test moves by hand.

use std::sync::Arc;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use sluice::app::{EmbeddedNode, EmbeddedOptions, Written};
use sluice_primitives::{Clock, Lifetime, ManualClock, OsRng, SystemClock};
use tempfile::TempDir;
use url::Url;

use crate::browser::{Browser, without_redirects};
use crate::client::TestClient;
use crate::keys::KeysInTurn;
use crate::postgres::{PrivateCluster, TemporaryDatabase};

/// Where the store of a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A SQLite file of its own.
    Sqlite,
    /// A database of its own in the private cluster.
    Postgres,
}

/// A database that outlives the nodes on it.
pub struct Database {
    /// Its DSN.
    pub dsn: String,
    _directory: Option<TempDir>,
    _temporary: Option<TemporaryDatabase>,
}

impl Database {
    /// A fresh one.
    pub async fn fresh(backend: Backend) -> Self {
        match backend {
            Backend::Sqlite => {
                let directory = tempfile::tempdir().expect("a temporary directory");
                let dsn = format!("sqlite:{}", directory.path().join("sluice.db").display());
                Self { dsn, _directory: Some(directory), _temporary: None }
            }
            Backend::Postgres => Self::of(TemporaryDatabase::of(PrivateCluster::shared().await).await),
        }
    }

    /// One of PostgreSQL, which goes with this.
    pub fn of(temporary: TemporaryDatabase) -> Self {
        Self { dsn: temporary.dsn().to_owned(), _directory: None, _temporary: Some(temporary) }
    }

    /// All that somebody has who steals it: the bytes of its files, or the data that `pg_dump` writes.
    pub async fn dump(&self) -> Vec<u8> {
        let Some(path) = self.dsn.strip_prefix("sqlite:") else {
            return PrivateCluster::shared().await.dump(&self.dsn).await;
        };
        let files = ["", "-wal"].map(|end| std::fs::read(format!("{path}{end}")).unwrap_or_default());
        files.concat()
    }
}

/// A node, its clock and its database.
pub struct TestSluice {
    /// The node.
    pub node: EmbeddedNode,
    /// Its clock.
    pub clock: Arc<ManualClock>,
    /// Its database.
    pub database: Arc<Database>,
    /// The public listener.
    pub public: Url,
    /// The admin listener.
    pub admin: Url,
    http: reqwest::Client,
}

/// The secret that nodes of tests share unless told otherwise.
const SYSTEM_SECRET: &str = "a-system-secret-for-tests-only";
/// The login and consent pages of tests: nothing answers there; a test plays them through the admin API.
const LOGIN: &str = "http://login.test/login";
const CONSENT: &str = "http://login.test/consent";
const LOGOUT: &str = "http://login.test/logout";
/// The issuer of tests, whatever the port.
pub const ISSUER: &str = "http://sluice.test/";

impl TestSluice {
    /// A node on a fresh database.
    pub async fn start(backend: Backend) -> Self {
        Self::with(backend, &[]).await
    }

    /// A node on a fresh database with these settings over those of tests.
    pub async fn with(backend: Backend, settings: &[(&str, &str)]) -> Self {
        let database = Arc::new(Database::fresh(backend).await);
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        Self::on(database, clock, settings).await
    }

    /// Another node on the same database, with the same clock.
    pub async fn second_node(&self) -> Self {
        Self::on(Arc::clone(&self.database), Arc::clone(&self.clock), &[]).await
    }

    /// A node on this database, with this clock.
    pub async fn on(database: Arc<Database>, clock: Arc<ManualClock>, settings: &[(&str, &str)]) -> Self {
        let mut all = vec![
            ("dsn", database.dsn.as_str()),
            ("secrets.system", SYSTEM_SECRET),
            ("urls.self.issuer", ISSUER),
            ("urls.login", LOGIN),
            ("urls.consent", CONSENT),
            ("urls.logout", LOGOUT),
            // What a test has called runs on this machine.
            ("clients.http.disallow_private_ip_ranges", "false"),
        ];
        all.extend_from_slice(settings);
        let settings = all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let options = EmbeddedOptions {
            settings,
            clock: Arc::clone(&clock) as _,
            rng: Arc::new(OsRng),
            keys: Arc::new(KeysInTurn),
        };
        let node = EmbeddedNode::start(options).await.expect("the node starts");
        let public = node.public_url().expect("a public address");
        let admin = node.admin_url().expect("an admin address");
        Self { node, clock, database, public, admin, http: without_redirects() }
    }

    /// Moves the clock.
    pub fn advance(&self, span: Lifetime) {
        self.clock.advance(span);
    }

    /// A browser that has never been here.
    pub fn browser(&self) -> Browser {
        Browser::of(self.public.clone()).by(Arc::clone(&self.clock))
    }

    /// What the store has written since the start.
    pub fn written(&self) -> Written {
        self.node.written()
    }

    /// Asks the admin API.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Response {
        let url = self.admin.join(path).expect("an admin URL");
        let request = self.http.request(method, url);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        request.send().await.expect("the admin API answers")
    }

    /// Asks the admin API and reads JSON; panics unless the status is as expected.
    pub async fn ask_json(&self, method: Method, path: &str, body: Option<&Value>, status: u16) -> Value {
        let answer = self.ask(method, path, body).await;
        assert_eq!(answer.status().as_u16(), status, "{path}: {}", answer.text().await.unwrap_or_default());
        let text = answer.text().await.expect("a body");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Registers a client: a confidential one with code, refresh and client-credentials grants, changed by `changes`.
    pub async fn client(&self, changes: &Value) -> TestClient {
        let mut metadata = json!({
            "client_name": "Test application",
            "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
            "response_types": ["code"],
            "redirect_uris": ["https://app.test/callback"],
            "scope": "openid offline_access email profile",
            "audience": ["https://api.test"],
            "token_endpoint_auth_method": "client_secret_basic",
        });
        if let (Some(metadata), Some(changes)) = (metadata.as_object_mut(), changes.as_object()) {
            metadata.extend(changes.clone());
        }
        let made = self.ask_json(Method::POST, "/admin/clients", Some(&metadata), 201).await;
        TestClient::of(self.public.clone(), &made)
    }

    /// Introspects a token.
    pub async fn introspect(&self, token: &str) -> Value {
        let url = self.admin.join("/admin/oauth2/introspect").expect("a URL");
        let answer = self.http.post(url).form(&[("token", token)]).send().await.expect("an answer");
        answer.json().await.expect("JSON")
    }

    /// Whether introspection says that a token holds.
    pub async fn is_active(&self, token: &str) -> bool {
        self.introspect(token).await["active"] == Value::Bool(true)
    }
}
