//! Pairwise subject identifiers (OpenID Connect Core §8.1).

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use sluice_crypto::digest::sha256;
use sluice_net::{BindAddress, Limits, Listener, LocalAddress, self_signed, serve};
use sluice_primitives::{Clock, Lifetime, SystemClock};
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, basic, http};
use crate::both_stores::on_both_stores;
use crate::jwt::{claims, verified};
use crate::legs::{delete, token, tokens_of};
use crate::logout::channels::Ear;
use crate::logout::log_out;
use crate::rfc7591::{ENABLED, application_with, register, registered};
use crate::rfc8628::DEVICE_CODE;

on_both_stores! {
    each_sector_knows_a_user_by_another_name_and_says_it_everywhere,
    a_forced_subject_takes_precedence,
    a_forced_subject_is_known_again_by_its_session,
    a_client_that_sees_public_subjects_is_forced_no_other,
    a_client_speaks_of_its_users_by_the_names_that_it_knows,
    a_client_hears_of_a_logout_by_the_name_that_it_knows,
    a_logout_by_the_name_that_the_client_knows_ends_the_session_of_the_browser,
}

pub(crate) const SALT: &str = "a-salt-of-some-length";

async fn sluice(backend: Backend) -> TestSluice {
    sluice_with(backend, &[]).await
}

async fn sluice_with(backend: Backend, more: &[(&str, &str)]) -> TestSluice {
    let subjects = [
        ("oidc.subject_identifiers.supported_types", "public,pairwise"),
        ("oidc.subject_identifiers.pairwise.salt", SALT),
    ];
    TestSluice::with(backend, &[&subjects, more].concat()).await
}

async fn client_at(sluice: &TestSluice, host: &str, subject_type: &str) -> TestClient {
    let asked = json!({"subject_type": subject_type, "redirect_uris": [format!("https://{host}/callback")],
                       "access_token_strategy": "jwt"});
    sluice.client(&asked).await
}

/// SHA-256 of sector, subject and salt: what Hydra tells such a client too.
pub(crate) fn expected(host: &str, subject: &str) -> String {
    let hash = sha256(format!("{host}{subject}{SALT}").as_bytes());
    hash.map(|byte| format!("{byte:02x}")).concat()
}

/// What the public introspection endpoint tells the client about its own token.
async fn introspected(sluice: &TestSluice, client: &TestClient, token: &str) -> Value {
    let request = http().post(sluice.public.join("/oauth2/introspect").unwrap());
    let request = request.header("authorization", basic(&client.id, client.secret.as_deref().unwrap()));
    Answer::to(request.form(&[("token", token)])).await.ok()
}

async fn each_sector_knows_a_user_by_another_name_and_says_it_everywhere(backend: Backend) {
    let sluice = sluice(backend).await;
    let mut seen = Vec::new();
    for (host, subject_type) in
        [("a.test", "pairwise"), ("a.test", "pairwise"), ("b.test", "pairwise"), ("a.test", "public")]
    {
        let client = client_at(&sluice, host, subject_type).await;
        let tokens = tokens_of(&sluice, &client, "alice").await;
        sluice.advance(Lifetime::secs(1));
        let refreshed = client.refresh(token(&tokens, "refresh_token")).await.ok();
        let mut names = BTreeSet::new();
        for tokens in [&tokens, &refreshed] {
            let access_token = token(tokens, "access_token");
            let told = introspected(&sluice, &client, access_token).await;
            assert!(told.get("obfuscated_subject").is_none(), "{told}");
            for said in [
                verified(&sluice, token(tokens, "id_token"), "RS256").await,
                verified(&sluice, access_token, "RS256").await,
                client.userinfo(access_token).await.1,
                told,
            ] {
                names.insert(said["sub"].as_str().unwrap().to_owned());
            }
            let admin = sluice.introspect(access_token).await;
            assert_eq!(admin["sub"], "alice", "an administrator sees who it is");
            let shown = admin["obfuscated_subject"].as_str().unwrap_or("alice");
            names.insert(shown.to_owned());
        }
        assert_eq!(names.len(), 1, "{names:?}");
        seen.extend(names);
    }
    assert_eq!(
        seen,
        [
            expected("a.test", "alice"),
            expected("a.test", "alice"),
            expected("b.test", "alice"),
            "alice".to_owned()
        ]
    );
    sluice.node.stop().await;
}

async fn a_forced_subject_takes_precedence(backend: Backend) {
    let sluice = sluice(backend).await;
    let client = client_at(&sluice, "a.test", "pairwise").await;
    let login = json!({"subject": "alice", "force_subject_identifier": "pseudonym"});
    let page = sluice.browser().log_in_with(&sluice, &client, &Authorize::default(), &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    assert_eq!(claims(token(&tokens, "id_token"))["sub"], "pseudonym");
    assert_eq!(client.userinfo(token(&tokens, "access_token")).await.1["sub"], "pseudonym");
    assert_eq!(sluice.introspect(token(&tokens, "refresh_token")).await["obfuscated_subject"], "pseudonym");
    sluice.node.stop().await;
}

/// Nobody but the login page knows whose such a name is; the session is the one that the id token is of.
async fn a_forced_subject_is_known_again_by_its_session(backend: Backend) {
    let sluice = sluice(backend).await;
    let client = sluice.client(&json!({"subject_type": "pairwise", "skip_consent": true})).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true, "force_subject_identifier": "pseudonym"});
    let page = browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    let again = [("id_token_hint", token(&tokens, "id_token")), ("prompt", "none")];
    let with = Authorize { more: &again, ..Authorize::default() };
    let page = browser.log_in_with(&sluice, &client, &with, &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    assert_eq!(claims(token(&tokens, "id_token"))["sub"], "pseudonym");
    // Another session is nobody's that the client knows.
    let mut elsewhere = sluice.browser();
    let plain = json!({"subject": "alice", "remember": true});
    elsewhere.log_in_with(&sluice, &client, &Authorize::default(), &plain).await.expect("code");
    let page = elsewhere.visit(&client.authorize_url(&with)).await;
    assert_eq!(page.expect("error"), "login_required");
    sluice.node.stop().await;
}

/// As Hydra's document says.
async fn a_client_that_sees_public_subjects_is_forced_no_other(backend: Backend) {
    let sluice = sluice(backend).await;
    let client = sluice.client(&json!({"subject_type": "public", "skip_consent": true})).await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true, "force_subject_identifier": "pseudonym"});
    let page = browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await;
    let first = client.redeem(&page.expect("code")).await.ok();
    // The login is held against the same name.
    let again = [("id_token_hint", token(&first, "id_token")), ("prompt", "none")];
    let with = Authorize { more: &again, ..Authorize::default() };
    let page = browser.log_in_with(&sluice, &client, &with, &login).await;
    let second = client.redeem(&page.expect("code")).await.ok();
    for tokens in [&first, &second] {
        assert_eq!(claims(token(tokens, "id_token"))["sub"], "alice");
        let access_token = token(tokens, "access_token");
        assert_eq!(client.userinfo(access_token).await.1["sub"], "alice");
        let told = sluice.introspect(access_token).await;
        assert_eq!(told["sub"], "alice");
        assert!(told["obfuscated_subject"].is_null(), "{told}");
    }
    sluice.node.stop().await;
}

async fn a_client_speaks_of_its_users_by_the_names_that_it_knows(backend: Backend) {
    let sluice = sluice(backend).await;
    let client = client_at(&sluice, "a.test", "pairwise").await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    let page = browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    let hint = token(&tokens, "id_token");
    let again = [("id_token_hint", hint), ("prompt", "none")];
    let url = client.authorize_url(&Authorize { more: &again, ..Authorize::default() });
    let challenge = browser.visit(&url).await.expect("login_challenge");
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    let told = sluice.ask_json(Method::GET, &path, None, 200).await;
    assert_eq!((&told["skip"], &told["subject"]), (&json!(true), &json!("alice")));
    for mut browser in [browser, sluice.browser()] {
        let page = browser.visit(&format!("/oauth2/sessions/logout?id_token_hint={hint}")).await;
        let challenge = page.expect("logout_challenge");
        let path = format!("/admin/oauth2/auth/requests/logout?logout_challenge={challenge}");
        let asked = sluice.ask_json(Method::GET, &path, None, 200).await;
        assert_eq!(asked["subject"], "alice", "a logout page learns whose session it is");
        assert_eq!(asked["sid"], claims(hint)["sid"]);
    }
    sluice.node.stop().await;
}

/// Of the session of such an id token nothing is kept: only its `sub` says whose it was.
async fn a_logout_by_the_name_that_the_client_knows_ends_the_session_of_the_browser(backend: Backend) {
    let sluice = sluice(backend).await;
    let client = client_at(&sluice, "a.test", "pairwise").await;
    let earlier = tokens_of(&sluice, &client, "alice").await;
    let mut browser = sluice.browser();
    let login = json!({"subject": "alice", "remember": true});
    let page = browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    sluice.advance(Lifetime::secs(1));
    log_out(&sluice, &mut browser, &[("id_token_hint", token(&earlier, "id_token"))]).await;
    assert!(!sluice.is_active(token(&tokens, "access_token")).await);
    assert!(browser.cookies.keys().all(|name| name.contains("binding")), "{:?}", browser.cookies.keys());
    sluice.node.stop().await;
}

async fn a_client_hears_of_a_logout_by_the_name_that_it_knows(backend: Backend) {
    let sluice = sluice(backend).await;
    let computed = expected("app.test", "alice");
    for (subject_type, forced, known) in [
        ("pairwise", None, computed.as_str()),
        ("pairwise", Some("pseudonym"), "pseudonym"),
        ("public", Some("pseudonym"), "alice"),
        ("public", None, "alice"),
    ] {
        let mut ear = Ear::open(Vec::new()).await;
        let asked = json!({"subject_type": subject_type, "redirect_uris": ["https://app.test/callback"],
                           "backchannel_logout_uri": ear.uri});
        let client = sluice.client(&asked).await;
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "force_subject_identifier": forced});
        let page = browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await;
        let tokens = client.redeem(&page.expect("code")).await.ok();
        let id_token = claims(token(&tokens, "id_token"));
        sluice.advance(Lifetime::secs(1));
        let path = format!("/admin/oauth2/auth/sessions/login?sid={}", id_token["sid"].as_str().unwrap());
        delete(&sluice, &path).await;
        let said = verified(&sluice, &ear.next().await, "RS256").await;
        assert_eq!((&said["sub"], &said["sid"]), (&id_token["sub"], &id_token["sid"]));
        assert_eq!(said["sub"], known);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_uris_of_several_hosts_need_the_word_of_a_sector() {
    let sluice = sluice(Backend::Sqlite).await;
    for uris in [json!(["https://a.test/", "https://b.test/"]), json!(["app.own:/callback"])] {
        let asked = json!({"subject_type": "pairwise", "redirect_uris": uris});
        let refused = sluice.ask_json(Method::POST, "/admin/clients", Some(&asked), 400).await;
        assert!(
            refused["error_description"].as_str().unwrap().contains("sector_identifier_uri"),
            "{refused}"
        );
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_chooses_no_subjects_is_shown_public_ones_wherever_they_stand() {
    let supported = [("oidc.subject_identifiers.supported_types", "pairwise,public")];
    let sluice = sluice_with(Backend::Sqlite, &supported).await;
    let asked = json!({"redirect_uris": ["https://a.test/", "https://b.test/"]});
    let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&asked), 201).await;
    assert_eq!(made["subject_type"], "public");
    let asked = json!({"subject_type": "pairwise", "redirect_uris": ["https://a.test/"]});
    let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&asked), 201).await;
    assert_eq!(made["subject_type"], "pairwise");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_supported_is_announced_and_nothing_else_can_be_chosen() {
    let supported = sluice(Backend::Sqlite).await;
    let plain = TestSluice::start(Backend::Sqlite).await;
    for (sluice, types) in [(&supported, json!(["public", "pairwise"])), (&plain, json!(["public"]))] {
        let page = sluice.browser().visit("/.well-known/openid-configuration").await;
        let said: Value = serde_json::from_str(&page.body).unwrap();
        assert_eq!(said["subject_types_supported"], types);
    }
    let asked = json!({"subject_type": "pairwise", "redirect_uris": ["https://a.test/"]});
    plain.ask_json(Method::POST, "/admin/clients", Some(&asked), 400).await;
    supported.node.stop().await;
    plain.node.stop().await;
}

/// A sector that says over TLS what it is told to.
struct Sector {
    uri: String,
    says: Arc<Mutex<String>>,
    /// Whom to trust.
    directory: TempDir,
    ends: CancellationToken,
}

impl Sector {
    async fn open() -> Self {
        let certificate = self_signed(&["127.0.0.1".to_owned()], SystemClock.now()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), &certificate.certificate).unwrap();
        let address = BindAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
        let listener = Listener::bind(&address, std::num::NonZeroUsize::MIN).await.unwrap();
        let LocalAddress::Tcp(address) = listener.local_address() else { panic!("a TCP address") };
        let (uri, ends) = (format!("https://{address}/sector.json"), CancellationToken::new());
        let says = Arc::new(Mutex::new("[]".to_owned()));
        let say = async |State(says): State<Arc<Mutex<String>>>| says.lock().clone();
        let router = Router::new().route("/sector.json", get(say)).with_state(Arc::clone(&says));
        let tls = certificate.acceptor().unwrap();
        tokio::spawn(serve(listener, Some(tls), router, None, ends.clone(), Limits::default()));
        Self { uri, says, directory, ends }
    }

    fn ca_file(&self) -> String {
        self.directory.path().join("ca.pem").display().to_string()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sector_lists_the_redirect_uris_that_belong_to_it() {
    let sector = Sector::open().await;
    let sluice = sluice_with(Backend::Sqlite, &[("clients.http.ca_file", &sector.ca_file())]).await;
    let (one, other) = ("https://a.test/callback", "https://b.test/callback");
    let asked = |uris: &[&str]| {
        json!({"subject_type": "pairwise", "redirect_uris": uris, "sector_identifier_uri": sector.uri,
               "scope": "openid offline_access", "token_endpoint_auth_method": "client_secret_basic"})
    };
    for document in ["[]", "{}", "not JSON", &format!("[\"{one}\"]"), &format!("[\"{one}\", \"{other}/\"]")] {
        document.clone_into(&mut sector.says.lock());
        let refused = sluice.ask_json(Method::POST, "/admin/clients", Some(&asked(&[one, other])), 400).await;
        assert_eq!(refused["error"], "invalid_client_metadata", "{document}");
        assert!(
            refused["error_description"].as_str().unwrap().contains("sector_identifier_uri"),
            "{refused}"
        );
    }
    *sector.says.lock() = json!([other, one]).to_string();
    let mut seen = BTreeSet::new();
    for uris in [&[one, other][..], &[other]] {
        let made = sluice.ask_json(Method::POST, "/admin/clients", Some(&asked(uris)), 201).await;
        assert_eq!(made["sector_identifier_uri"], sector.uri);
        let client = TestClient::of(sluice.public.clone(), &made);
        let page = sluice.browser().log_in(&sluice, &client, "alice").await;
        let tokens = client.redeem(&page.expect("code")).await.ok();
        seen.insert(claims(token(&tokens, "id_token"))["sub"].as_str().unwrap().to_owned());
    }
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [expected("127.0.0.1", "alice")],
        "the host of the sector"
    );
    sluice.node.stop().await;
    sector.ends.cancel();
}

/// The document of a sector is there for anybody to name.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_registers_itself_joins_a_sector_only_where_its_tokens_go() {
    let sector = Sector::open().await;
    let more = [("clients.http.ca_file", sector.ca_file()), (ENABLED.0, ENABLED.1.to_owned())];
    let more = more.each_ref().map(|(name, value)| (*name, value.as_str()));
    let sluice = sluice_with(Backend::Sqlite, &more).await;
    let (own, native) = ("https://app.test/callback", "com.example.app:/callback");
    *sector.says.lock() = json!([own, native]).to_string();
    let asked = |uris: &[&str], grant_types: &[&str]| {
        application_with(&json!({"subject_type": "pairwise", "sector_identifier_uri": sector.uri,
                                 "redirect_uris": uris, "grant_types": grant_types}))
    };
    let (by_device, by_application) =
        (asked(&[own], &["authorization_code", DEVICE_CODE]), asked(&[own, native], &["authorization_code"]));
    let refused = register(&sluice, None, &by_device).await;
    refused.refused_with(400, "invalid_client_metadata");
    assert!(refused.body.contains("sector_identifier_uri"), "{}", refused.body);
    register(&sluice, None, &by_application).await.refused_with(400, "invalid_redirect_uri");
    registered(&sluice, &asked(&[own], &["authorization_code"])).await;
    for vouched in [by_device, by_application] {
        sluice.ask_json(Method::POST, "/admin/clients", Some(&vouched), 201).await;
    }
    sluice.node.stop().await;
    sector.ends.cancel();
}
