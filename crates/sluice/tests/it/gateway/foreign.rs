//! Another issuer: a Sluice with a database, keys and people of its own, which can be ended and started again.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use sluice_testkit::Backend;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

use crate::answer::{Answer, http};
use crate::application::{Application, Tokens};
use crate::process::{Process, Site};

/// The set of the keys that sign access tokens.
const KEY_SET: &str = "hydra.jwt.access-token";

/// It ends when this is dropped.
pub(super) struct Foreign {
    door: Door,
    site: Site,
    process: Option<Process>,
}

impl Foreign {
    /// One with these settings.
    pub(super) async fn start(settings: &[(&str, &str)]) -> Self {
        let (door, mut site) = (Door::open().await, Site::fresh(Backend::Sqlite).await);
        site.set(&[("urls.self.issuer", door.url.as_str())]);
        site.set(settings);
        let mut foreign = Self { door, site, process: None };
        foreign.start_again().await;
        foreign
    }

    /// Its identifier, and where it is found.
    pub(super) fn issuer(&self) -> &Url {
        &self.door.url
    }

    pub(super) fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }

    pub(super) async fn kill(&mut self) {
        self.door.lead_to(None);
        self.process.take().unwrap().kill().await;
    }

    pub(super) async fn start_again(&mut self) {
        let process = self.site.start().await;
        self.door.lead_to(process.public.socket_addrs(|| None).unwrap().pop());
        self.process = Some(process);
    }

    /// The access token that a client gets for itself, to present it to `audience`; it lives for so long.
    pub(super) async fn token_for(&self, audience: &str, lifespan: &str) -> String {
        let metadata = json!({
            "grant_types": ["client_credentials"],
            "token_endpoint_auth_method": "client_secret_post",
            "audience": [audience],
            "client_credentials_grant_access_token_lifespan": lifespan,
        });
        let made = http().post(self.process().admin.join("/admin/clients").unwrap()).json(&metadata);
        let made: Value = made.send().await.unwrap().json().await.unwrap();
        let form = [
            ("grant_type", "client_credentials"),
            ("audience", audience),
            ("client_id", made["client_id"].as_str().unwrap()),
            ("client_secret", made["client_secret"].as_str().unwrap()),
        ];
        let asked = http().post(self.process().public.join("/oauth2/token").unwrap()).form(&form);
        let tokens = Answer::to(asked).await.ok();
        tokens["access_token"].as_str().unwrap().to_owned()
    }

    /// It signs access tokens with new keys from now on, and the old ones are gone.
    pub(super) async fn replace_keys(&self) {
        let asked = json!({"set": KEY_SET, "at_once": true, "revoke": true});
        let asked = http().post(self.process().admin.join("/admin/keys").unwrap()).json(&asked);
        let answer = Answer::to(asked).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
}

/// What somebody gets who logs in.
pub(super) async fn tokens_of(application: &Application, subject: &str) -> Tokens {
    let code = application.log_in(subject).await.unwrap();
    application.redeem(&code).await.unwrap()
}

/// What an issuer says of a token to its administrator.
pub(super) async fn told_of(process: &Process, token: &str) -> Value {
    let url = process.admin.join("/admin/oauth2/introspect").unwrap();
    Answer::to(http().post(url).form(&[("token", token)])).await.ok()
}

/// An address that stays the same whichever process is behind it: an issuer is called by where it is before it runs. It is shut when this is
/// dropped.
struct Door {
    url: Url,
    behind: Arc<Mutex<Option<SocketAddr>>>,
    serving: JoinHandle<()>,
}

impl Door {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let behind = Arc::default();
        let serving = tokio::spawn(lead_in(listener, Arc::clone(&behind)));
        Self { url, behind, serving }
    }

    /// Who comes from now on comes here, or nowhere.
    fn lead_to(&self, address: Option<SocketAddr>) {
        *self.behind.lock() = address;
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn lead_in(listener: TcpListener, behind: Arc<Mutex<Option<SocketAddr>>>) {
    while let Ok((mut caller, _)) = listener.accept().await {
        let address = *behind.lock();
        tokio::spawn(async move {
            let Some(address) = address else { return };
            if let Ok(mut server) = TcpStream::connect(address).await {
                let _ = copy_bidirectional(&mut caller, &mut server).await;
            }
        });
    }
}
