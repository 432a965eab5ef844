//! What the admin port answers to whom, and how its listings go on.

use reqwest::Method;
use serde_json::json;
use sluice_testkit::{Authorize, Backend, TestSluice};

use crate::both_stores::on_both_stores;
use crate::legs::consent_challenge;

on_both_stores! {
    a_list_of_consents_goes_on_where_its_link_leads,
    a_client_that_is_registered_again_inherits_no_flow,
    a_token_that_is_revoked_again_writes_nothing,
    paths_may_be_spelled_as_hydra_takes_them,
    what_the_admin_port_says_is_kept_by_no_cache,
}

async fn a_list_of_consents_goes_on_where_its_link_leads(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for _ in 0..3 {
        sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    }
    let mut path = "/admin/oauth2/auth/sessions/consent?subject=alice&page_size=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let answer = sluice.ask(Method::GET, &path, None).await;
        assert_eq!(answer.status().as_u16(), 200);
        assert_eq!(answer.headers()["x-total-count"], "3");
        let links = answer.headers()["link"].to_str().unwrap().to_owned();
        let page: Vec<serde_json::Value> = answer.json().await.unwrap();
        seen.extend(page.into_iter().map(|consent| consent["consent_request_id"].to_string()));
        let Some((_, next)) = links.split_once(',') else { break };
        path = next.split_once('>').unwrap().0.trim_start_matches('<').to_owned();
    }
    assert_eq!(seen.len(), 3);
    seen.dedup();
    assert_eq!(seen.len(), 3);
    sluice.node.stop().await;
}

async fn a_client_that_is_registered_again_inherits_no_flow(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let old = sluice.client(&json!({"client_id": "app"})).await;
    let mut browser = sluice.browser();
    let challenge = browser.begin(&old, &Authorize::default()).await;
    let verifier = sluice_testkit::accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
    sluice.ask_json(Method::DELETE, "/admin/clients/app", None, 204).await;
    sluice.advance(sluice_primitives::Lifetime::secs(1));
    sluice.client(&json!({"client_id": "app", "redirect_uris": ["https://new.test/callback"]})).await;
    let page = browser.visit(&verifier).await;
    assert_eq!((page.status.as_u16(), page.location), (400, None));
    sluice.node.stop().await;
}

async fn a_token_that_is_revoked_again_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let code = sluice.browser().log_in(&sluice, &client, "alice").await.expect("code");
    let tokens = client.redeem(&code).await.ok();
    let token = tokens["access_token"].as_str().unwrap();
    client.revoke(token).await.ok();
    let before = sluice.written();
    client.revoke(token).await.ok();
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_cannot_speak_to_an_open_admin_port() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let http = reqwest::Client::new();
    for (site, status) in [("cross-site", 403), ("same-site", 403), ("none", 201), ("same-origin", 201)] {
        let request = http.post(sluice.admin.join("/admin/clients").unwrap()).header("sec-fetch-site", site);
        let answer = request.body(r#"{"client_name":"evil"}"#).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{site}");
    }
    sluice.node.stop().await;
}

/// What a browser sends over plain http to another machine: no `Sec-Fetch-Site`.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_admin_port_is_guarded_where_browsers_do_not_say_whose_page_it_is() {
    let cors =
        [("serve.admin.cors.enabled", "true"), ("serve.admin.cors.allowed_origins", "https://console.test")];
    let without: [(&str, &str); 0] = [];
    for settings in [&without[..], &cors[..]] {
        let sluice = TestSluice::with(Backend::Sqlite, settings).await;
        let http = reqwest::Client::new();
        let path = |path: &str| sluice.admin.join(path).unwrap();
        for (origin, status) in [("https://evil.test", 403), ("null", 403), ("http://127.0.0.1:1", 403)] {
            let request = http.post(path("/admin/clients")).header("origin", origin);
            let request = request.header("content-type", "text/plain;charset=UTF-8");
            let answer = request.body(r#"{"client_name":"evil"}"#).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{origin}");
        }
        let allowed = http.post(path("/admin/clients")).header("origin", "https://console.test");
        let answer = allowed.body(r#"{"client_name":"console"}"#).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), if settings.is_empty() { 403 } else { 201 });
        for read in ["/admin/keys/hydra.openid.id-token", "/admin/clients", "/admin/metrics/prometheus"] {
            let rebound = http.get(path(read)).header("host", "evil.test:4445");
            let rebound = rebound.header("accept-language", "en").header("user-agent", "Mozilla/5.0 (X11)");
            let answer = rebound.send().await.unwrap();
            assert_eq!(answer.status().as_u16(), 403, "{read}");
            assert!(!answer.text().await.unwrap().contains("\"d\""), "{read}");
            let program = http.get(path(read)).header("host", "hydra-admin.example.com:4445");
            assert_ne!(program.send().await.unwrap().status().as_u16(), 403, "{read}");
        }
        sluice.node.stop().await;
    }
}

/// `*` is the default of `serve.admin.cors.allowed_origins`, as with Hydra.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_port_that_all_origins_may_read_is_spoken_to_by_none_without_a_credential() {
    let enabled = ("serve.admin.cors.enabled", "true");
    for (settings, status) in
        [(&[enabled][..], 403), (&[enabled, ("serve.admin.bearer_token", "a-token-for-the-admin-port")], 200)]
    {
        let sluice = TestSluice::with(Backend::Sqlite, settings).await;
        let request = reqwest::Client::new().get(sluice.admin.join("/admin/clients").unwrap());
        let request = request.header("origin", "https://evil.test").header("sec-fetch-site", "cross-site");
        let answer = request.bearer_auth("a-token-for-the-admin-port").send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
        assert_eq!(answer.headers()["access-control-allow-origin"], "https://evil.test");
        sluice.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_admin_port_answers_browsers_at_the_names_that_are_listed() {
    let settings = [("serve.admin.allowed_hosts", "admin.example.com")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let http = reqwest::Client::new();
    for (host, status) in [("admin.example.com:4445", 200), ("evil.test:4445", 403)] {
        for language in [None, Some("en")] {
            let request = http.get(sluice.admin.join("/admin/clients").unwrap()).header("host", host);
            let request =
                language.into_iter().fold(request, |request, it| request.header("accept-language", it));
            assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{host} {language:?}");
        }
    }
    sluice.node.stop().await;
}

/// A reverse proxy that hands on what the browser sent, whose token it asks about.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_admin_port_introspects_for_a_proxy_that_hands_on_a_browsers_headers() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let http = reqwest::Client::new();
    let passed_on = |request: reqwest::RequestBuilder, site: Option<&str>| {
        let request = request.header("host", "sso.example.com").header("accept-language", "en");
        let request = request.header("origin", "https://app.example.com");
        site.into_iter().fold(request, |request, site| request.header("sec-fetch-site", site))
    };
    for site in [None, Some("same-site")] {
        for path in ["/admin/oauth2/introspect", "/admin/oauth2/introspect/", "/oauth2/introspect"] {
            let request = passed_on(http.post(sluice.admin.join(path).unwrap()), site);
            let answer = request.form(&[("token", "unknown")]).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), 200, "{path} {site:?}");
            let told: serde_json::Value = answer.json().await.unwrap();
            assert_eq!(told["active"], false, "{path} {site:?}");
        }
        let request = passed_on(http.get(sluice.admin.join("/admin/clients").unwrap()), site);
        assert_eq!(request.send().await.unwrap().status().as_u16(), 403, "{site:?}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_login_page_says_too_much_of_is_refused_by_its_name() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let challenge = sluice.browser().begin(&client, &Authorize::default()).await;
    let path = format!("/admin/oauth2/auth/requests/login/accept?login_challenge={challenge}");
    for (member, value, sentence) in [
        ("acr", json!("a\0"), "The field `acr` holds the control character U+0000."),
        ("acr", json!("a".repeat(256)), "The field `acr` is longer than 255 bytes."),
        ("amr", json!(["pwd", "\0"]), "A value of the field `amr` holds the control character U+0000."),
        ("amr", json!(["a".repeat(256)]), "A value of the field `amr` is longer than 255 bytes."),
        ("amr", json!(vec!["a"; 17]), "The field `amr` has more than 16 values."),
        (
            "force_subject_identifier",
            json!("a".repeat(256)),
            "The field `force_subject_identifier` is longer than 255 bytes.",
        ),
        (
            "identity_provider_session_id",
            json!("\0"),
            "The field `identity_provider_session_id` holds the control character U+0000.",
        ),
    ] {
        let mut body = json!({"subject": "alice"});
        body[member] = value;
        let refused = sluice.ask_json(Method::PUT, &path, Some(&body), 400).await;
        let description = refused["error_description"].as_str().unwrap();
        assert!(description.ends_with(sentence), "{description}");
    }
    let most = json!({"subject": "alice", "acr": "a".repeat(255), "amr": vec!["a"; 16]});
    sluice.ask_json(Method::PUT, &path, Some(&most), 200).await;
    sluice.node.stop().await;
}

/// As Hydra has it; but what cannot be read about a consent is said in the words of the other resources.
#[tokio::test(flavor = "multi_thread")]
async fn what_pages_ask_is_refused_with_an_error_of_oauth() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let login = sluice.browser().begin(&client, &Authorize::default()).await;
    let accept = format!("auth/requests/login/accept?login_challenge={login}");
    let reject = format!("auth/requests/login/reject?login_challenge={login}");
    let device = "auth/requests/device/accept?device_challenge=x";
    for (method, path, body) in [
        (Method::GET, "auth/requests/login", None),
        (Method::GET, "auth/requests/login?login_challenge=x&login_challenge=x", None),
        (Method::PUT, accept.as_str(), Some(json!({}))),
        (Method::PUT, accept.as_str(), Some(json!([]))),
        (Method::PUT, reject.as_str(), Some(json!({"error": 5}))),
        (Method::GET, "auth/requests/consent", None),
        (Method::PUT, "auth/requests/consent/accept", Some(json!({}))),
        (Method::GET, "auth/requests/logout", None),
        (Method::PUT, "auth/requests/logout/accept", None),
        (Method::PUT, "auth/requests/logout/reject", None),
        (Method::PUT, "auth/requests/device/accept", Some(json!({"user_code": "AAAA-AAAA"}))),
        (Method::PUT, device, None),
        (Method::PUT, device, Some(json!({"user_code": 5}))),
        (Method::DELETE, "auth/sessions/login", None),
        (Method::GET, "auth/sessions/consent", None),
        (Method::GET, "auth/sessions/consent?subject=alice&page_token=x", None),
        (Method::DELETE, "tokens", None),
        (Method::DELETE, "tokens?client_id=a&client_id=b", None),
    ] {
        let refused = sluice.ask_json(method, &format!("/admin/oauth2/{path}"), body.as_ref(), 400).await;
        assert_eq!(refused["error"], "invalid_request", "{path}");
        let why = refused["error_description"].as_str().unwrap();
        let (_, hint) = why.split_once("or one of them is malformed. ").unwrap_or_default();
        assert!(hint.ends_with('.') && !hint.starts_with(char::is_lowercase), "{path}: {why}");
    }
    let consent = consent_challenge(&sluice, &client, &mut sluice.browser(), "alice").await;
    for decision in ["accept", "reject"] {
        let path = format!("/admin/oauth2/auth/requests/consent/{decision}?consent_challenge={consent}");
        let refused = sluice.ask_json(Method::PUT, &path, Some(&json!([])), 400).await;
        assert_eq!(refused["error"], "The request was malformed or contained invalid parameters");
    }
    sluice.node.stop().await;
}

async fn paths_may_be_spelled_as_hydra_takes_them(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"client_id": "app"})).await;
    for path in ["/clients/app", "/clients/app/", "/admin/clients/app/"] {
        let found = sluice.ask_json(Method::GET, path, None, 200).await;
        assert_eq!(found["client_id"], "app", "{path}");
    }
    for path in ["/metrics/prometheus", "/admin/health/ready", "/admin/version", "/health/alive/"] {
        assert_eq!(sluice.ask(Method::GET, path, None).await.status().as_u16(), 200, "{path}");
    }
    // What scrapers ask for where nobody tells them another path.
    for path in ["/metrics", "/admin/metrics"] {
        let answer = sluice.ask(Method::GET, path, None).await;
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        assert!(answer.text().await.unwrap().contains("sluice_build_info"), "{path}");
    }
    let challenge = sluice.browser().begin(&client, &Authorize::default()).await;
    let accept = format!("/oauth2/auth/requests/login/accept?login_challenge={challenge}");
    sluice.ask_json(Method::PUT, &accept, Some(&json!({"subject": "alice"})), 200).await;
    let public = sluice.public.join("/.well-known/openid-configuration/").unwrap();
    let public = reqwest::get(public).await.unwrap();
    assert_eq!(public.status().as_u16(), 200);
    sluice.node.stop().await;
}

/// A cache before a port without a credential would give it to whoever asks next.
async fn what_the_admin_port_says_is_kept_by_no_cache(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"client_id": "app"})).await;
    let challenge = sluice.browser().begin(&client, &Authorize::default()).await;
    for path in [
        "/admin/clients",
        "/admin/clients/app",
        "/admin/clients/nobody",
        "/admin/identities",
        "/admin/keys/hydra.openid.id-token",
        "/admin/trust/grants/jwt-bearer/issuers",
        "/admin/oauth2/auth/sessions/consent?subject=alice",
        &format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}"),
        "/admin/metrics/prometheus",
    ] {
        let url = sluice.admin.join(path).unwrap();
        let ask = || reqwest::Client::new().get(url.clone());
        for request in [ask(), ask().header("origin", "https://evil.test")] {
            let answer = request.send().await.unwrap();
            assert_eq!(answer.headers()["cache-control"], "no-store", "{path}: {}", answer.status());
        }
    }
    let keys = reqwest::get(sluice.admin.join("/.well-known/jwks.json").unwrap()).await.unwrap();
    assert_ne!(keys.headers()["cache-control"], "no-store", "public keys are kept");
    sluice.node.stop().await;
}
