//! An application, its login page and its users' browsers, which survive what happens to the server: nothing here panics
//! when an answer is bad or missing; it is counted and told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use reqwest::header::{COOKIE, LOCATION, RETRY_AFTER, SET_COOKIE};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use sluice_crypto::digest::sha256;
use sluice_testkit::VERIFIER;
use tokio::time::Instant;
use url::Url;

use crate::process::Process;

/// A request that takes longer hangs: several times the 5 s that a store may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const REDIRECT_URI: &str = "https://app.test/callback";
const SCOPE: &str = "openid offline_access";

/// A client that follows no redirect and waits no longer than [`PATIENCE`].
pub(crate) fn http_client() -> reqwest::Client {
    // Fails if another test was first: then there is one.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(PATIENCE);
    builder.build().expect("an HTTP client")
}

/// Why a step did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There was no answer: what the server did is unknown.
    Lost,
    /// 503: what the server did is unknown.
    Unavailable,
    /// Another answer than was hoped for.
    Refused {
        /// The status.
        status: u16,
        /// The OAuth error, if there is one.
        error: String,
    },
}

impl Failure {
    /// Whether the server said this OAuth error.
    pub(crate) fn is(&self, expected: &str) -> bool {
        matches!(self, Self::Refused { error, .. } if error == expected)
    }
}

/// What an application is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
}

/// What was answered, all together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// How many answers had which status.
    pub(crate) statuses: BTreeMap<u16, usize>,
    /// Requests without an answer.
    pub(crate) lost: usize,
    /// Requests without an answer within [`PATIENCE`].
    pub(crate) hung: usize,
    /// 503 without `Retry-After`.
    pub(crate) unhelpful: usize,
    /// The longest that an answer took.
    pub(crate) slowest: Duration,
}

struct Answer {
    location: Option<Url>,
    cookies: Vec<String>,
    body: Value,
}

/// A registered client with everything around it. Its requests go to the nodes in turn.
#[derive(Clone)]
pub(crate) struct Application {
    id: String,
    secret: String,
    nodes: Vec<(Url, Url)>,
    turn: Arc<AtomicUsize>,
    tally: Arc<Mutex<Tally>>,
    http: reqwest::Client,
}

impl Application {
    /// Registers an application.
    pub(crate) async fn register(nodes: &[&Process]) -> Self {
        let unregistered = Self {
            id: String::new(),
            secret: String::new(),
            nodes: Vec::new(),
            turn: Arc::default(),
            tally: Arc::default(),
            http: http_client(),
        }
        .at(nodes);
        let (id, secret) = unregistered.register_client().await.expect("a client is registered");
        Self { id, secret, ..unregistered }
    }

    /// The same application, asking these nodes, with a tally of its own.
    pub(crate) fn at(&self, nodes: &[&Process]) -> Self {
        let nodes = nodes.iter().map(|node| (node.public.clone(), node.admin.clone())).collect();
        Self { nodes, tally: Arc::default(), ..self.clone() }
    }

    /// What was answered so far.
    pub(crate) fn tally(&self) -> Tally {
        self.tally.lock().clone()
    }

    /// Registers another client; its id and secret.
    pub(crate) async fn register_client(&self) -> Result<(String, String), Failure> {
        self.register_with(None).await
    }

    /// Another application, with a secret that somebody chose.
    pub(crate) async fn with_chosen_secret(&self, secret: &str) -> Result<Self, Failure> {
        let (id, secret) = self.register_with(Some(secret)).await?;
        Ok(Self { id, secret, ..self.clone() })
    }

    /// The same application, as somebody who guesses its secret.
    pub(crate) fn guessing(&self, secret: String) -> Self {
        Self { secret, ..self.clone() }
    }

    async fn register_with(&self, secret: Option<&str>) -> Result<(String, String), Failure> {
        let metadata = json!({
            "client_secret": secret,
            "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
            "redirect_uris": [REDIRECT_URI],
            "scope": SCOPE,
            "token_endpoint_auth_method": "client_secret_post",
            "id_token_signed_response_alg": "ES256",
        });
        let made = self.send(self.http.post(self.admin("/admin/clients")).json(&metadata)).await?.body;
        Ok((text(&made, "client_id")?, text(&made, "client_secret")?))
    }

    /// Whether a client is known.
    pub(crate) async fn knows_client(&self, id: &str) -> bool {
        let url = self.admin(&format!("/admin/clients/{id}"));
        self.send(self.http.get(url)).await.is_ok()
    }

    /// Begins a login; where the browser is sent is thrown away.
    pub(crate) async fn begin(&self) -> Result<(), Failure> {
        self.send(self.http.get(self.authorize_url())).await.map(drop)
    }

    /// A person logs in and consents; the code.
    pub(crate) async fn log_in(&self, subject: &str) -> Result<String, Failure> {
        let begun = self.send(self.http.get(self.authorize_url())).await?;
        let cookies = begun.cookies.join("; ");
        let verifier = self.accept("login", &begun, &json!({"subject": subject})).await?;
        let logged_in = self.send(self.http.get(self.here(&verifier)?).header(COOKIE, &cookies)).await?;
        let granted = json!({"grant_scope": SCOPE.split(' ').collect::<Vec<_>>()});
        let verifier = self.accept("consent", &logged_in, &granted).await?;
        let back = self.send(self.http.get(self.here(&verifier)?).header(COOKIE, &cookies)).await?;
        parameter(&back, "code")
    }

    /// Redeems a code.
    pub(crate) async fn redeem(&self, code: &str) -> Result<Tokens, Failure> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT_URI),
            ("code_verifier", VERIFIER),
        ];
        self.token(&form).await
    }

    /// Refreshes.
    pub(crate) async fn refresh(&self, tokens: &Tokens) -> Result<Tokens, Failure> {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", &tokens.refresh)]).await
    }

    /// Asks for a token of its own.
    pub(crate) async fn client_credentials(&self) -> Result<(), Failure> {
        self.post(self.public("/oauth2/token"), &[("grant_type", "client_credentials")]).await.map(drop)
    }

    /// Revokes what a refresh token stands for.
    pub(crate) async fn revoke(&self, tokens: &Tokens) -> Result<(), Failure> {
        self.post(self.public("/oauth2/revoke"), &[("token", &tokens.refresh)]).await.map(drop)
    }

    /// Whether introspection says that an access token holds.
    pub(crate) async fn is_active(&self, tokens: &Tokens) -> Result<bool, Failure> {
        let answer = self.post(self.admin("/admin/oauth2/introspect"), &[("token", &tokens.access)]).await?;
        Ok(answer.body["active"] == Value::Bool(true))
    }

    /// The public keys, as `(alg, kid)` in order.
    pub(crate) async fn public_keys(&self) -> Result<Vec<(String, String)>, Failure> {
        let body = self.send(self.http.get(self.public("/.well-known/jwks.json"))).await?.body;
        let keys = body["keys"].as_array().cloned().unwrap_or_default();
        let mut keys = keys
            .iter()
            .map(|key| Ok((text(key, "alg")?, text(key, "kid")?)))
            .collect::<Result<Vec<_>, _>>()?;
        keys.sort();
        Ok(keys)
    }

    /// The body of a token request of its own, as it is on the wire.
    pub(crate) fn client_credentials_form(&self) -> String {
        let pairs =
            [("grant_type", "client_credentials"), ("client_id", &self.id), ("client_secret", &self.secret)];
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    async fn token(&self, form: &[(&str, &str)]) -> Result<Tokens, Failure> {
        let body = self.post(self.public("/oauth2/token"), form).await?.body;
        Ok(Tokens { access: text(&body, "access_token")?, refresh: text(&body, "refresh_token")? })
    }

    async fn post(&self, url: Url, form: &[(&str, &str)]) -> Result<Answer, Failure> {
        let own = [("client_id", self.id.as_str()), ("client_secret", self.secret.as_str())];
        self.send(self.http.post(url).form(&[form, &own].concat())).await
    }

    async fn accept(&self, kind: &str, page: &Answer, body: &Value) -> Result<String, Failure> {
        let challenge = parameter(page, &format!("{kind}_challenge"))?;
        let mut url = self.admin(&format!("/admin/oauth2/auth/requests/{kind}/accept"));
        url.query_pairs_mut().append_pair(&format!("{kind}_challenge"), &challenge);
        text(&self.send(self.http.put(url).json(body)).await?.body, "redirect_to")
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answer, Failure> {
        let asked = Instant::now();
        let answered = read(request).await;
        let mut tally = self.tally.lock();
        tally.slowest = tally.slowest.max(asked.elapsed());
        let (status, is_helpful, answer) = answered.map_err(|error| {
            tally.lost += 1;
            tally.hung += usize::from(error.is_timeout());
            Failure::Lost
        })?;
        *tally.statuses.entry(status.as_u16()).or_default() += 1;
        if status == StatusCode::SERVICE_UNAVAILABLE {
            tally.unhelpful += usize::from(!is_helpful);
            return Err(Failure::Unavailable);
        }
        if status.is_client_error() || status.is_server_error() {
            return Err(refused(status.as_u16(), answer.body["error"].as_str()));
        }
        Ok(answer)
    }

    fn authorize_url(&self) -> Url {
        let mut url = self.public("/oauth2/auth");
        url.query_pairs_mut()
            .append_pair("client_id", &self.id)
            .append_pair("response_type", "code")
            .append_pair("redirect_uri", REDIRECT_URI)
            .append_pair("scope", SCOPE)
            .append_pair("state", "a-state-of-some-length")
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(sha256(VERIFIER.as_bytes())))
            .append_pair("code_challenge_method", "S256");
        url
    }

    /// A URL below the issuer's name, at the node whose turn it is.
    fn here(&self, url: &str) -> Result<Url, Failure> {
        let url: Url = url.parse().map_err(|_| refused(0, Some("no URL")))?;
        let mut own = self.public(url.path());
        own.set_query(url.query());
        Ok(own)
    }

    fn public(&self, path: &str) -> Url {
        self.next_node().0.join(path).expect("a URL")
    }

    fn admin(&self, path: &str) -> Url {
        self.next_node().1.join(path).expect("a URL")
    }

    fn next_node(&self) -> &(Url, Url) {
        &self.nodes[self.turn.fetch_add(1, Ordering::Relaxed) % self.nodes.len()]
    }
}

async fn read(request: RequestBuilder) -> Result<(StatusCode, bool, Answer), reqwest::Error> {
    let answer = request.send().await?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = answer.text().await?;
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()?.parse().ok());
    let cookies =
        headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()?.split(';').next());
    let cookies = cookies.map(str::to_owned).collect();
    let body = serde_json::from_str(&body).unwrap_or_default();
    Ok((status, headers.contains_key(RETRY_AFTER), Answer { location, cookies, body }))
}

fn refused(status: u16, error: Option<&str>) -> Failure {
    Failure::Refused { status, error: error.unwrap_or_default().to_owned() }
}

fn text(body: &Value, name: &str) -> Result<String, Failure> {
    body[name].as_str().map(str::to_owned).ok_or_else(|| refused(200, Some(&format!("no {name}"))))
}

/// A parameter of where the browser is sent; an `error` there is a refusal.
fn parameter(answer: &Answer, name: &str) -> Result<String, Failure> {
    let query: BTreeMap<_, _> =
        answer.location.iter().flat_map(|url| url.query_pairs().into_owned()).collect();
    query.get(name).cloned().ok_or_else(|| refused(302, query.get("error").map(String::as_str)))
}
