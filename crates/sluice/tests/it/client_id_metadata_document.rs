//! OAuth Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document).

use std::num::NonZeroUsize;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_net::{BindAddress, Limits, Listener, LocalAddress, self_signed, serve};
use sluice_primitives::{Clock, Lifetime, SystemClock};
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, http};
use crate::both_stores::on_both_stores;
use crate::jwt::claims;
use crate::keyed::JWT_BEARER;
use crate::legs::{audience_for, consent_challenge, consent_request, delete, token, tokens_of};
use crate::logout::channels::Ear;
use crate::logout::{ask, log_in, log_out};
use crate::oidc_pairwise::{SALT, expected};
use crate::requests::{Signer, is_shown, push, pushed, request_uri};
use crate::rfc7591::application_with;

on_both_stores! {
    a_client_that_a_document_describes_gets_tokens,
    a_document_that_changes_changes_its_client,
}

const ENABLED: (&str, &str) = ("oidc.client_id_metadata_documents.enabled", "true");

/// What the host of a document answers.
#[derive(Clone)]
struct Page {
    status: StatusCode,
    media_type: &'static str,
    body: String,
}

#[derive(Clone, Default)]
struct Pages(Arc<Mutex<(Option<Page>, usize)>>);

/// The host of a document, over TLS.
pub(crate) struct Host {
    id: String,
    pages: Pages,
    directory: TempDir,
    ends: CancellationToken,
}

impl Host {
    pub(crate) async fn open() -> Self {
        let certificate = self_signed(&["127.0.0.1".to_owned()], SystemClock.now()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), &certificate.certificate).unwrap();
        let address = BindAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
        let listener = Listener::bind(&address, NonZeroUsize::MIN).await.unwrap();
        let LocalAddress::Tcp(address) = listener.local_address() else { panic!("a TCP address") };
        let id = format!("https://{address}/client.json");
        let (pages, ends) = (Pages::default(), CancellationToken::new());
        let router = Router::new().fallback(page).with_state(pages.clone());
        let tls = certificate.acceptor().unwrap();
        tokio::spawn(serve(listener, Some(tls), router, None, ends.clone(), Limits::default()));
        let host = Self { id, pages, directory, ends };
        host.describe(&json!({}));
        host
    }

    /// A server that trusts the host.
    pub(crate) async fn sluice(&self, backend: Backend, more: &[(&str, &str)]) -> TestSluice {
        let ca = self.ca();
        TestSluice::with(backend, &[&[ENABLED, ("clients.http.ca_file", &ca)], more].concat()).await
    }

    /// A server in the place of this one, on the same database, which has read no document yet.
    async fn next_node(&self, sluice: TestSluice) -> TestSluice {
        sluice.node.stop().await;
        let ca = self.ca();
        let settings = [ENABLED, ("clients.http.ca_file", ca.as_str())];
        TestSluice::on(Arc::clone(&sluice.database), Arc::clone(&sluice.clock), &settings).await
    }

    fn ca(&self) -> String {
        self.directory.path().join("ca.pem").display().to_string()
    }

    fn describe(&self, changes: &Value) {
        let document = json!({"client_id": self.id, "token_endpoint_auth_method": "none"});
        let mut document = application_with(&document);
        document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        self.say(StatusCode::OK, "application/json", &document.to_string());
    }

    fn say(&self, status: StatusCode, media_type: &'static str, body: &str) {
        self.pages.0.lock().0 = Some(Page { status, media_type, body: body.to_owned() });
    }

    /// How often it was asked.
    fn asked(&self) -> usize {
        self.pages.0.lock().1
    }

    pub(crate) fn client(&self, sluice: &TestSluice) -> TestClient {
        Self::client_named(sluice, &self.id)
    }

    fn client_named(sluice: &TestSluice, id: &str) -> TestClient {
        let made = application_with(&json!({"client_id": id, "token_endpoint_auth_method": "none"}));
        TestClient::of(sluice.public.clone(), &made)
    }

    /// The browser is sent nowhere: there is no such client.
    async fn is_unknown(&self, sluice: &TestSluice, id: &str) {
        let url = Self::client_named(sluice, id).authorize_url(&sluice_testkit::Authorize::default());
        let page = sluice.browser().visit(&url).await;
        assert_eq!(page.location, None, "{id}");
        assert!(page.body.contains("invalid_client"), "{id}: {}", page.body);
    }
}

async fn page(State(pages): State<Pages>) -> Response {
    let mut pages = pages.0.lock();
    pages.1 += 1;
    let page = pages.0.clone().unwrap();
    let location = [(CONTENT_TYPE, page.media_type), (LOCATION, "/elsewhere.json")];
    (page.status, location, page.body).into_response()
}

/// §1, §5.
async fn a_client_that_a_document_describes_gets_tokens(backend: Backend) {
    let host = Host::open().await;
    let sluice = host.sluice(backend, &[]).await;
    let client = host.client(&sluice);
    let tokens = tokens_of(&sluice, &client, "alice").await;
    let tokens = client.refresh(token(&tokens, "refresh_token")).await.ok();
    let claims = sluice.introspect(token(&tokens, "access_token")).await;
    assert_eq!((&claims["client_id"], &claims["sub"]), (&json!(host.id), &json!("alice")));
    assert_eq!(host.asked(), 1, "the document is kept");
    // It is nobody's to change here.
    let path = format!("/admin/clients/{}", host.id.replace('/', "%2F"));
    sluice.ask_json(Method::GET, &path, None, 404).await;
    sluice.node.stop().await;
    host.ends.cancel();
}

/// §5.2.
async fn a_document_that_changes_changes_its_client(backend: Backend) {
    let host = Host::open().await;
    let sluice = host.sluice(backend, &[]).await;
    let client = host.client(&sluice);
    let tokens = tokens_of(&sluice, &client, "alice").await;
    host.describe(&json!({"redirect_uris": ["https://other.test/callback"]}));
    sluice.advance(Lifetime::hours(1));
    let page = sluice.browser().visit(&client.authorize_url(&sluice_testkit::Authorize::default())).await;
    assert_eq!(page.location, None, "{}", page.body);
    client.refresh(token(&tokens, "refresh_token")).await.ok();
    // A document that is gone takes its client with it.
    host.say(StatusCode::NOT_FOUND, "application/json", "{}");
    sluice.advance(Lifetime::hours(1));
    host.is_unknown(&sluice, &host.id).await;
    sluice.node.stop().await;
    host.ends.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_is_asked_about_a_client_that_nobody_registered() {
    let host = Host::open().await;
    let sluice = host.sluice(Backend::Sqlite, &[]).await;
    let client = host.client(&sluice);
    let challenge = consent_challenge(&sluice, &client, &mut sluice.browser(), "alice").await;
    let asked = consent_request(&sluice, &challenge).await;
    assert_eq!((&asked["client"]["client_id"], &asked["skip"]), (&json!(host.id), &json!(false)));
    sluice.node.stop().await;
    host.ends.cancel();
}

/// The built-in consent page has its scopes announced.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_described_without_a_scope_may_ask_for_those_of_the_built_in_page() {
    let host = Host::open().await;
    let pages = [("urls.login", "/ui/login"), ("urls.consent", "/ui/consent")];
    let sluice = host.sluice(Backend::Sqlite, &pages).await;
    let with = Authorize { scope: "openid profile email", ..Authorize::default() };
    sluice.browser().begin(&host.client(&sluice), &with).await;
    sluice.node.stop().await;
    host.ends.cancel();
}

/// RFC 8707.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_described_may_ask_for_the_resources_that_are_configured() {
    let (host, resource) = (Host::open().await, "https://tools.test/mcp");
    let default = ("oidc.dynamic_client_registration.default_audience", resource);
    let sluice = host.sluice(Backend::Sqlite, &[default]).await;
    assert_eq!(audience_for(&sluice, &host.client(&sluice), resource).await, json!([resource]));
    sluice.node.stop().await;
    host.ends.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_described_without_a_subject_type_has_the_first_one_that_is_supported() {
    let host = Host::open().await;
    for (types, sub) in
        [("pairwise,public", expected("app.test", "alice")), ("public,pairwise", "alice".to_owned())]
    {
        let subjects = [
            ("oidc.subject_identifiers.supported_types", types),
            ("oidc.subject_identifiers.pairwise.salt", SALT),
        ];
        let sluice = host.sluice(Backend::Sqlite, &subjects).await;
        let tokens = tokens_of(&sluice, &host.client(&sluice), "alice").await;
        assert_eq!(claims(token(&tokens, "id_token"))["sub"], sub, "{types}");
        sluice.node.stop().await;
    }
    host.ends.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_described_client_pushes_its_request_and_proves_itself_by_its_keys() {
    let host = Host::open().await;
    let sluice = host.sluice(Backend::Sqlite, &[]).await;
    let answer = push(&host.client(&sluice), &[]).await;
    let page = sluice.browser().visit(&pushed(&host.client(&sluice), &request_uri(&answer))).await;
    assert!(page.parameter("login_challenge").is_some());
    sluice.node.stop().await;

    let sluice = host.sluice(Backend::Sqlite, &[]).await;
    let signer = Signer::new(SigningAlgorithm::ES256);
    host.describe(&json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [signer.jwk]}}));
    let client = host.client(&sluice);
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    client.redeem(&code).await.refused_with("invalid_client");
    let assertion = signer.assertion(&sluice, &host.id);
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", client.redirect_uri.as_str()),
        ("code_verifier", sluice_testkit::VERIFIER),
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", &assertion),
    ];
    client.token(&form).await.ok();
    sluice.node.stop().await;
    host.ends.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_described_client_was_granted_is_revoked_by_its_id() {
    let host = Host::open().await;
    let sluice = host.sluice(Backend::Sqlite, &[]).await;
    let client = host.client(&sluice);
    let tokens = tokens_of(&sluice, &client, "alice").await;
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("/admin/oauth2/tokens?client_id={}", host.id)).await;
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    client.refresh(token(&tokens, "refresh_token")).await.refused_with("invalid_grant");
    sluice.advance(Lifetime::secs(1));
    let later = tokens_of(&sluice, &client, "alice").await;
    assert!(sluice.is_active(token(&later, "access_token")).await);
    sluice.node.stop().await;
    host.ends.cancel();
}

/// §4, §5, §8.7.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_document_of_the_client_describes_none() {
    let host = Host::open().await;
    let sluice = host.sluice(Backend::Sqlite, &[]).await;
    for changes in [
        json!({"client_id": format!("{}x", host.id)}),
        json!({"client_secret": "a-secret-in-public"}),
        json!({"token_endpoint_auth_method": "client_secret_post"}),
        json!({"redirect_uris": []}),
        json!({"skip_consent": true}),
        json!({"grant_types": ["client_credentials"]}),
        json!({"client_name": "x".repeat(6_000)}),
    ] {
        host.describe(&changes);
        host.is_unknown(&sluice, &host.id).await;
    }
    let good =
        application_with(&json!({"client_id": host.id, "token_endpoint_auth_method": "none"})).to_string();
    for (status, media_type, body) in [
        (StatusCode::OK, "text/html", good.as_str()),
        (StatusCode::OK, "application/json", "[]"),
        (StatusCode::FOUND, "application/json", &good),
        (StatusCode::CREATED, "application/json", &good),
    ] {
        host.say(status, media_type, body);
        host.is_unknown(&sluice, &host.id).await;
    }
    assert_eq!(host.asked(), 11, "no redirect was followed, no failure kept");
    host.say(StatusCode::OK, "application/oauth-client+json", &good);
    tokens_of(&sluice, &host.client(&sluice), "alice").await;
    sluice.node.stop().await;
    host.ends.cancel();
}

/// Anybody may name a document that nobody serves: that is no failure of this server. Nothing is used up by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_cannot_be_had_now_is_said_to_be_missing() {
    let host = Host::open().await;
    let first = host.sluice(Backend::Sqlite, &[]).await;
    let code = first.browser().log_in(&first, &host.client(&first), "alice").await.expect("code");
    let sluice = host.next_node(first).await;
    let client = host.client(&sluice);
    host.say(StatusCode::BAD_GATEWAY, "text/plain", "");
    let url = client.authorize_url(&sluice_testkit::Authorize::default());
    let page = sluice.browser().visit(&url).await;
    assert_eq!((page.status.as_u16(), &page.location), (401, &None));
    assert!(page.body.contains("does not say what it is at the moment"), "{}", page.body);
    let refused = client.redeem(&code).await;
    assert_eq!((refused.status, &refused.body["error"]), (401, &json!("invalid_client")));
    let sentence = refused.body["error_description"].as_str().unwrap();
    assert!(sentence.contains("document that describes the client"), "{sentence}");
    host.describe(&json!({}));
    client.redeem(&code).await.ok();
    sluice.node.stop().await;
    host.ends.cancel();
}

/// One document that cannot be had hides neither what was granted to its client nor what was granted to others.
#[tokio::test(flavor = "multi_thread")]
async fn consents_are_listed_while_the_document_of_one_client_cannot_be_had() {
    let host = Host::open().await;
    let first = host.sluice(Backend::Sqlite, &[]).await;
    tokens_of(&first, &host.client(&first), "alice").await;
    let other = first.client(&json!({})).await;
    first.advance(Lifetime::secs(1));
    tokens_of(&first, &other, "alice").await;
    let sluice = host.next_node(first).await;
    host.say(StatusCode::BAD_GATEWAY, "text/plain", "");
    let path = "/admin/oauth2/auth/sessions/consent?subject=alice";
    let listed = sluice.ask_json(Method::GET, path, None, 200).await;
    let clients: Vec<_> =
        listed.as_array().unwrap().iter().map(|one| &one["consent_request"]["client"]["client_id"]).collect();
    assert_eq!(clients, [&json!(other.id), &Value::Null]);
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, &format!("{path}&client={}", host.id)).await;
    let listed = sluice.ask_json(Method::GET, path, None, 200).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    sluice.node.stop().await;
    host.ends.cancel();
}

/// Nobody stays signed in because the host of an application's document does not answer; the application hears of it later.
#[tokio::test(flavor = "multi_thread")]
async fn a_logout_does_not_wait_for_a_document_and_its_notice_does() {
    let host = Host::open().await;
    let mut ear = Ear::open(Vec::new()).await;
    host.describe(&json!({"backchannel_logout_uri": ear.uri}));
    let first = host.sluice(Backend::Sqlite, &[]).await;
    let tokens = tokens_of(&first, &host.client(&first), "alice").await;
    let sluice = host.next_node(first).await;
    host.say(StatusCode::BAD_GATEWAY, "text/plain", "");
    sluice.advance(Lifetime::secs(1));
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    host.describe(&json!({"backchannel_logout_uri": ear.uri}));
    sluice.advance(Lifetime::minutes(5));
    let notice = claims(&ear.next().await);
    assert_eq!((&notice["aud"], &notice["sub"]), (&json!(host.id), &json!("alice")));
    sluice.node.stop().await;
    host.ends.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_whose_document_cannot_be_had_signs_its_user_out() {
    let host = Host::open().await;
    let first = host.sluice(Backend::Sqlite, &[]).await;
    let mut before = first.browser();
    let login = json!({"subject": "alice", "remember": true});
    let tokens = log_in(&first, &host.client(&first), &mut before, &login).await;
    let sluice = host.next_node(first).await;
    let mut browser = sluice.browser();
    browser.cookies = before.cookies;
    host.say(StatusCode::BAD_GATEWAY, "text/plain", "");
    sluice.advance(Lifetime::secs(1));
    let hint = ("id_token_hint", token(&tokens, "id_token"));
    let refused = ask(&mut browser, &[hint, ("post_logout_redirect_uri", "https://app.test/goodbye")]).await;
    assert_eq!(
        (refused.status.as_u16(), refused.location),
        (400, None),
        "nobody knows whether it is its own"
    );
    log_out(&sluice, &mut browser, &[hint]).await;
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    sluice.node.stop().await;
    host.ends.cancel();
}

/// §3.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_not_the_url_of_a_document_is_not_fetched() {
    let host = Host::open().await;
    let sluice = host.sluice(Backend::Sqlite, &[]).await;
    let base = host.id.trim_end_matches("client.json");
    for id in [
        host.id.replace("https:", "http:"),
        host.id.replace("//", "//user@"),
        format!("{base}../client.json"),
        format!("{base}a/%2e%2e/client.json"),
        format!("{}?a=b", host.id),
        format!("{}#a", host.id),
        base.trim_end_matches('/').to_owned(),
    ] {
        host.is_unknown(&sluice, &id).await;
    }
    assert_eq!(host.asked(), 0);
    sluice.node.stop().await;
    host.ends.cancel();
}

/// §6.
#[tokio::test(flavor = "multi_thread")]
async fn documents_are_read_where_that_is_enabled_and_from_hosts_that_are_named() {
    let host = Host::open().await;
    let ca = host.directory.path().join("ca.pem").display().to_string();
    let closed = TestSluice::with(Backend::Sqlite, &[("clients.http.ca_file", &ca)]).await;
    let hosts = "oidc.client_id_metadata_documents.allowed_hosts";
    let other = host.sluice(Backend::Sqlite, &[(hosts, "app.test,*.app.test")]).await;
    let named = host.sluice(Backend::Sqlite, &[(hosts, "127.0.0.1")]).await;
    for (sluice, supported) in [(&closed, false), (&other, true), (&named, true)] {
        let url = sluice.public.join("/.well-known/oauth-authorization-server").unwrap();
        let metadata = Answer::to(http().get(url)).await.ok();
        assert_eq!(metadata["client_id_metadata_document_supported"], supported);
    }
    for sluice in [&closed, &other] {
        host.is_unknown(sluice, &host.id).await;
    }
    assert_eq!(host.asked(), 0);
    tokens_of(&named, &host.client(&named), "alice").await;
    for sluice in [closed, other, named] {
        sluice.node.stop().await;
    }
    host.ends.cancel();
}

/// A client that an administrator registers takes the place of the document.
#[tokio::test(flavor = "multi_thread")]
async fn a_registered_client_comes_before_a_document() {
    let host = Host::open().await;
    let sluice = host.sluice(Backend::Sqlite, &[]).await;
    tokens_of(&sluice, &host.client(&sluice), "alice").await;
    let metadata = json!({"client_id": host.id, "redirect_uris": ["https://registered.test/callback"]});
    sluice.ask_json(Method::POST, "/admin/clients", Some(&metadata), 201).await;
    let url = host.client(&sluice).authorize_url(&sluice_testkit::Authorize::default());
    is_shown(&sluice.browser().visit(&url).await, "invalid_request");
    assert_eq!(host.asked(), 1);
    sluice.node.stop().await;
    host.ends.cancel();
}
