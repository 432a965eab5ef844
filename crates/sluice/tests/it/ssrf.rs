//! What this server can be made to fetch, and from where: nothing from within the network that it stands in, unless it is
//! configured to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::routing::get;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice};
use tokio::net::TcpListener;

use crate::keyed::{KeyedClient, MACHINE};
use crate::legs::{consent_challenge, consent_request, tokens_of};
use crate::logout::channels::Ear;
use crate::requests::{Signer, is_refused, with};
use crate::rfc7591::{ENABLED, application_with, register, registered};

const GUARDED: (&str, &str) = ("clients.http.disallow_private_ip_ranges", "true");
const EXCEPT: &str = "clients.http.private_ip_exception_urls";

/// Listens at an address of this machine and counts who comes.
struct Trap {
    port: u16,
    came: Arc<AtomicUsize>,
}

impl Trap {
    async fn set() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, came) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        // Where the machine has no IPv6, nobody can come by it.
        let further = TcpListener::bind(("::1", port)).await.ok();
        for listener in [Some(listener), further].into_iter().flatten() {
            let came = Arc::clone(&came);
            tokio::spawn(async move {
                while listener.accept().await.is_ok() {
                    came.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        Self { port, came }
    }

    /// Its addresses, in every way that one can write them, and those of others within a network.
    fn addresses(&self, scheme: &str) -> Vec<String> {
        let port = self.port;
        let own = [
            "127.0.0.1",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "0.0.0.0",
            "[::]",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
        ];
        let own = own.iter().map(|host| format!("{scheme}://{host}:{port}/"));
        let others = ["169.254.169.254", "10.0.0.1", "192.168.0.1", "[fe80::1]", "[fd00:ec2::254]"];
        own.chain(others.iter().map(|host| format!("{scheme}://{host}/"))).collect()
    }

    #[track_caller]
    fn is_untouched(&self) {
        assert_eq!(self.came.load(Ordering::SeqCst), 0, "somebody came");
    }
}

async fn guarded(more: &[(&str, &str)]) -> TestSluice {
    TestSluice::with(Backend::Sqlite, &[&[GUARDED, ENABLED], more].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_client_are_not_fetched_from_within_the_network() {
    let trap = Trap::set().await;
    let sluice = guarded(&[]).await;
    for uri in trap.addresses("http").into_iter().chain(trap.addresses("https")) {
        let client = KeyedClient::on(&sluice, &json!({"jwks": null, "jwks_uri": uri})).await;
        client.token(&sluice, MACHINE).await.refused_with(401, "invalid_client");
    }
    trap.is_untouched();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_objects_are_not_fetched_from_within_the_network() {
    let trap = Trap::set().await;
    let sluice = guarded(&[("oauth2.request_uris.enabled", "true")]).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let uris = [trap.addresses("http"), trap.addresses("https")].concat();
    let client = signer.client(&sluice, json!({"request_uris": uris})).await;
    for uri in &uris {
        let url = with(&client, &[("request_uri", uri), ("redirect_uri", client.redirect_uri.as_str())]);
        is_refused(&mut sluice.browser(), &url, "invalid_request_uri").await;
    }
    trap.is_untouched();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sectors_are_not_asked_within_the_network() {
    let trap = Trap::set().await;
    let sluice = guarded(&[]).await;
    for uri in trap.addresses("https") {
        let metadata = application_with(&json!({"sector_identifier_uri": uri}));
        let refused = register(&sluice, None, &metadata).await;
        refused.refused_with(400, "invalid_client_metadata");
        let refused = sluice.ask_json(Method::POST, "/admin/clients", Some(&metadata), 400).await;
        assert_eq!(refused["error"], "invalid_client_metadata", "{uri}");
    }
    trap.is_untouched();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_metadata_documents_are_not_fetched_from_within_the_network() {
    let trap = Trap::set().await;
    let sluice = guarded(&[("oidc.client_id_metadata_documents.enabled", "true")]).await;
    for id in trap.addresses("https") {
        let id = format!("{id}client.json");
        let own = TestClient::of(sluice.public.clone(), &application_with(&json!({"client_id": id})));
        let page = sluice.browser().visit(&own.authorize_url(&Authorize::default())).await;
        assert!(page.location.is_none() && page.body.contains("invalid_client"), "{id}: {}", page.body);
    }
    trap.is_untouched();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_software_statements_are_not_fetched_from_within_the_network() {
    let trap = Trap::set().await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    let statement = signer.sign(None, &json!({"iss": "https://directory.test"}));
    let own = [format!("https://localhost:{}/", trap.port), format!("http://127.0.0.1:{}/", trap.port)];
    for url in &own {
        let sluice = guarded(&[
            ("oidc.dynamic_client_registration.software_statements", "verify"),
            ("oidc.dynamic_client_registration.software_statement_jwks", url),
        ])
        .await;
        let body = application_with(&json!({"software_statement": statement}));
        register(&sluice, None, &body).await.refused_with(503, "temporarily_unavailable");
        sluice.node.stop().await;
    }
    trap.is_untouched();
}

/// What is excepted is reached, by its whole address, and nothing beside it.
#[tokio::test(flavor = "multi_thread")]
async fn logouts_are_told_within_the_network_where_that_is_excepted() {
    let trap = Trap::set().await;
    let mut ear = Ear::open(Vec::new()).await;
    let sluice = guarded(&[(EXCEPT, &ear.uri)]).await;
    let mut browser = sluice.browser();
    let (same_host, by_name) =
        (format!("http://127.0.0.1:{}/logout", trap.port), format!("http://localhost:{}/logout", trap.port));
    for uri in [&same_host, &by_name, &ear.uri] {
        let client = sluice.client(&json!({"backchannel_logout_uri": uri})).await;
        let login = json!({"subject": "alice", "remember": true});
        let page = browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await;
        client.redeem(&page.expect("code")).await.ok();
    }
    let path = "/admin/oauth2/auth/sessions/login?subject=alice";
    sluice.ask_json(Method::DELETE, path, None, 204).await;
    ear.next().await;
    sluice.node.stop().await;
    trap.is_untouched();
}

/// Who may be reached cannot send this server elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_leads_nowhere_within_the_network() {
    let trap = Trap::set().await;
    let targets = Arc::new([trap.addresses("http"), trap.addresses("https")].concat());
    let (listener, count) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), targets.len());
    let address = listener.local_addr().unwrap();
    let redirect = move |axum::extract::Path(which): axum::extract::Path<usize>| async move {
        (StatusCode::FOUND, [(LOCATION, targets[which].clone())])
    };
    let router = Router::new().route("/{which}", get(redirect));
    tokio::spawn(async move { axum::serve(listener, router).await });

    let excepted = format!("http://{address}/*");
    let sluice = guarded(&[(EXCEPT, &excepted), ("clients.http.max_redirects", "3")]).await;
    for which in 0..count {
        let uri = format!("http://{address}/{which}");
        let client = KeyedClient::on(&sluice, &json!({"jwks": null, "jwks_uri": uri})).await;
        client.token(&sluice, MACHINE).await.refused_with(401, "invalid_client");
    }
    trap.is_untouched();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_excepted_address_is_fetched_from_exactly() {
    let own = crate::keyed::Key::new();
    let keys = json!({"keys": [own.registered("one")]}).to_string();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(move || async move { keys });
    tokio::spawn(async move { axum::serve(listener, router).await });

    let sluice = guarded(&[(EXCEPT, &format!("http://{address}/jwks.json"))]).await;
    let uri = |path: &str| json!({"jwks": null, "jwks_uri": format!("http://{address}{path}")});
    let client = KeyedClient { own, ..KeyedClient::on(&sluice, &uri("/jwks.json")).await };
    client.token(&sluice, MACHINE).await.ok();
    for path in ["/jwks.json/", "/other.json", "/jwks.json/../other.json"] {
        let other = KeyedClient::on(&sluice, &uri(path)).await;
        other.token(&sluice, MACHINE).await.refused_with(401, "invalid_client");
    }
    sluice.node.stop().await;
}

/// What a client shows its users is for their browsers to fetch, wherever it is.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_to_users_is_never_fetched() {
    let trap = Trap::set().await;
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED]).await;
    let link = format!("http://127.0.0.1:{}/", trap.port);
    let links: Value = json!({"logo_uri": link, "policy_uri": link, "tos_uri": link, "client_uri": link});
    let made = registered(&sluice, &application_with(&links)).await;
    let client = TestClient::of(sluice.public.clone(), &made);
    let challenge = consent_challenge(&sluice, &client, &mut sluice.browser(), "alice").await;
    assert_eq!(consent_request(&sluice, &challenge).await["client"]["logo_uri"], link);
    tokens_of(&sluice, &client, "alice").await;
    trap.is_untouched();
    sluice.node.stop().await;
}
