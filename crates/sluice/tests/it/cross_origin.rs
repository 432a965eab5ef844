//! Which pages of other origins may read an answer, and what they may send (Fetch §3.2).

use reqwest::{Method, RequestBuilder};
use serde_json::json;
use sluice_testkit::{Authorize, Backend, TestSluice};

use crate::answer::{Answer, basic, http};
use crate::keyed::{JWT_BEARER, KeyedClient, MACHINE};

const ENABLED: (&str, &str) = ("serve.public.cors.enabled", "true");
const ORIGINS: &str = "serve.public.cors.allowed_origins";

/// Asked by a page of this origin; which origin may read the answer, and whether with the user's cookies.
async fn read_by(request: RequestBuilder, origin: &str) -> (Answer, Option<String>, bool) {
    let answer = Answer::to(request.header("origin", origin)).await;
    let allowed =
        Some(answer.header("access-control-allow-origin").to_owned()).filter(|origin| !origin.is_empty());
    let credentials = answer.header("access-control-allow-credentials") == "true";
    if let Some(allowed) = &allowed {
        assert_eq!(allowed, origin);
    }
    assert!(allowed.is_some() || !credentials);
    (answer, allowed, credentials)
}

/// A browser asks before it asks.
fn preflight(sluice: &TestSluice, path: &str) -> RequestBuilder {
    let request = http().request(Method::OPTIONS, sluice.public.join(path).unwrap());
    request
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_origin_may_read_and_another_may_not() {
    let settings =
        [ENABLED, (ORIGINS, "https://spa.test,https://*.apps.test"), ("serve.public.cors.max_age", "60")];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let paths = ["/.well-known/openid-configuration", "/.well-known/jwks.json", "/userinfo", "/oauth2/token"];
    for path in paths {
        let get = || http().get(sluice.public.join(path).unwrap());
        for origin in ["https://spa.test", "https://one.apps.test", "https://SPA.test"] {
            let (answer, allowed, credentials) = read_by(get(), origin).await;
            assert!(allowed.is_some() && credentials, "{path} {origin}");
            assert_eq!(
                answer.header("access-control-expose-headers"),
                "Content-Type, DPoP-Nonce, Retry-After, WWW-Authenticate"
            );
            let (answer, allowed, _) = read_by(preflight(&sluice, path), origin).await;
            assert_eq!(
                (answer.status, answer.body.as_str(), allowed.as_deref()),
                (204, "", Some(origin)),
                "{path}"
            );
            assert!(answer.header("access-control-allow-methods").contains("POST"));
            assert!(answer.header("access-control-allow-headers").contains("Authorization"));
            assert_eq!(answer.header("access-control-max-age"), "60");
        }
        let others = [
            "https://evil.test",
            "http://spa.test",
            "https://spa.test:444",
            "https://spa.test.evil.test",
            "https://apps.test",
            "https://evil.test/.apps.test",
            "null",
        ];
        for origin in others {
            let (answer, allowed, credentials) = read_by(get(), origin).await;
            let is_for_all = path.starts_with("/.well-known/");
            let expected = (is_for_all, false, "Origin");
            assert_eq!((allowed.is_some(), credentials, answer.header("vary")), expected, "{path} {origin}");
        }
    }
    sluice.node.stop().await;
}

/// `*` alone is no leave where credentials are sent, and never one for `Authorization`.
#[tokio::test(flavor = "multi_thread")]
async fn where_all_headers_are_allowed_they_are_named() {
    let settings = [
        ENABLED,
        (ORIGINS, "https://spa.test"),
        ("serve.public.cors.allowed_headers", "*"),
        ("serve.public.cors.exposed_headers", "*"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let (answer, ..) = read_by(preflight(&sluice, "/oauth2/token"), "https://spa.test").await;
    assert_eq!(answer.header("access-control-allow-headers"), "authorization");
    let varies: Vec<_> = answer.headers.get_all("vary").iter().collect();
    assert_eq!(varies, ["Origin", "Access-Control-Request-Headers"]);
    let get = http().get(sluice.public.join("/userinfo").unwrap());
    let (answer, ..) = read_by(get, "https://spa.test").await;
    let readable = answer.header("access-control-expose-headers");
    for name in ["X-Request-Id", "WWW-Authenticate"] {
        assert!(readable.contains(name) && !answer.header(name).is_empty(), "{name}: {answer:?}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_may_read_with_a_wildcard_but_never_with_the_users_cookies() {
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED]).await;
    for path in ["/.well-known/openid-configuration", "/oauth2/token"] {
        let get = http().get(sluice.public.join(path).unwrap());
        let (_, allowed, credentials) = read_by(get, "https://anybody.test").await;
        assert_eq!((allowed.as_deref(), credentials), (Some("https://anybody.test"), false), "{path}");
        // Which client will speak is not known yet; what all may read is asked for by none.
        let (_, allowed, credentials) = read_by(preflight(&sluice, path), "https://anybody.test").await;
        assert_eq!((allowed.is_some(), credentials), (true, path == "/oauth2/token"), "{path}");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_of_a_client_is_known_by_name_beside_a_wildcard() {
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED]).await;
    let own = json!({"allowed_cors_origins": ["https://own.test"], "token_endpoint_auth_method": "none"});
    let client = sluice.client(&own).await;
    let unknown = sluice.client(&json!({"token_endpoint_auth_method": "none"})).await;
    for (id, origin, by_name) in [
        (&client.id, "https://own.test", true),
        (&client.id, "https://anybody.test", false),
        (&unknown.id, "https://own.test", false),
    ] {
        let form = [("grant_type", "refresh_token"), ("client_id", id.as_str())];
        let request = http().post(sluice.public.join("/oauth2/token").unwrap()).form(&form);
        let (answer, allowed, credentials) = read_by(request, origin).await;
        assert_eq!((answer.status, allowed.is_some(), credentials), (400, true, by_name), "{id} {origin}");
    }
    // The endpoint takes the client of the form, however that is called: another in the query opens nothing to its pages.
    let url = sluice.public.join(&format!("/oauth2/token?client_id={}", client.id)).unwrap();
    for form in ["application/x-www-form-urlencoded", "Application/X-WWW-Form-Urlencoded; charset=utf-8"] {
        let body = format!("grant_type=refresh_token&client_id={}", unknown.id);
        let request = http().post(url.clone()).header("content-type", form).body(body);
        let (answer, allowed, credentials) = read_by(request, "https://own.test").await;
        assert_eq!((answer.status, allowed.is_some(), credentials), (400, true, false), "{form}");
    }
    sluice.node.stop().await;
}

/// Clients in browsers append `/.well-known/…` to the issuer, whatever it ends in.
#[tokio::test(flavor = "multi_thread")]
async fn discovery_is_found_behind_an_issuer_that_ends_in_a_slash() {
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED]).await;
    let mut url = sluice.public.clone();
    url.set_path("//.well-known/openid-configuration");
    let (answer, allowed, _) = read_by(http().get(url), "https://anybody.test").await;
    assert_eq!((answer.status, allowed.is_some()), (200, true));
    assert_eq!(answer.json()["issuer"], sluice_testkit::ISSUER);
    sluice.node.stop().await;
}

/// A cache that has what no page asked for must not give it to one.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_no_page_says_that_pages_are_answered_otherwise() {
    for (settings, vary) in [(&[ENABLED][..], "Origin"), (&[], "")] {
        let sluice = TestSluice::with(Backend::Sqlite, settings).await;
        for path in ["/.well-known/openid-configuration", "/.well-known/jwks.json"] {
            let answer = Answer::to(http().get(sluice.public.join(path).unwrap())).await;
            assert_eq!((answer.status, answer.header("vary")), (200, vary), "{path}");
        }
        sluice.node.stop().await;
    }
}

/// RFC 9700 §2.6.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_reads_what_browsers_are_sent_to() {
    for origins in ["*", "https://spa.test"] {
        let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, (ORIGINS, origins)]).await;
        let client = sluice.client(&json!({"allowed_cors_origins": ["https://spa.test"]})).await;
        let login = client.authorize_url(&Authorize::default());
        for url in [&*login, "/oauth2/auth", "/oauth2/device/verify", "/oauth2/sessions/logout"] {
            let url = sluice.public.join(url).unwrap();
            let form = [("client_id", client.id.as_str())];
            for request in [
                http().get(url.clone()),
                http().post(url.clone()).form(&form),
                preflight(&sluice, url.as_str()),
            ] {
                let (answer, ..) = read_by(request, "https://spa.test").await;
                let is_cors = |name: &str| name.starts_with("access-control-");
                assert!(!answer.headers.keys().any(|name| is_cors(name.as_str())), "{url}: {answer:?}");
            }
        }
        sluice.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_may_read_unless_it_is_enabled() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let own = json!({"allowed_cors_origins": ["https://own.test"], "token_endpoint_auth_method": "none"});
    let client = sluice.client(&own).await;
    let url = sluice.public.join("/oauth2/token").unwrap();
    let form = [("grant_type", "client_credentials"), ("client_id", &client.id)];
    let (_, allowed, _) = read_by(http().post(url).form(&form), "https://own.test").await;
    assert_eq!(allowed, None);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_brings_origins_of_its_own() {
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, (ORIGINS, "https://elsewhere.test")]).await;
    let own = json!({"allowed_cors_origins": ["https://own.test"]});
    let client = sluice.client(&own).await;
    let secret = client.secret.clone().unwrap();
    let public = json!({"token_endpoint_auth_method": "none", "allowed_cors_origins": ["https://own.test"]});
    let public = sluice.client(&public).await;
    let stranger = sluice.client(&json!({"token_endpoint_auth_method": "none"})).await;
    let code = sluice.browser().log_in(&sluice, &public, "alice").await.expect("code");
    let url = |path: &str| sluice.public.join(path).unwrap();
    // Named in the form, whose body still arrives; by HTTP Basic; by an access token.
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", &public.id),
        ("code", &code),
        ("redirect_uri", &public.redirect_uri),
        ("code_verifier", sluice_testkit::VERIFIER),
    ];
    let (answer, allowed, credentials) =
        read_by(http().post(url("/oauth2/token")).form(&form), "https://own.test").await;
    assert!(allowed.is_some() && credentials);
    let token = answer.ok()["access_token"].as_str().unwrap().to_owned();
    let by_basic = || {
        let request = http().post(url("/oauth2/token")).header("authorization", basic(&client.id, &secret));
        request.form(&[("grant_type", "client_credentials")])
    };
    assert!(read_by(by_basic(), "https://own.test").await.1.is_some());
    let by_token = || http().get(url("/userinfo")).bearer_auth(&token);
    assert!(read_by(by_token(), "https://own.test").await.1.is_some());
    // The page of another client, or of none, may not read, and what it asks for is still done or refused as before.
    assert_eq!(read_by(by_basic(), "https://evil.test").await.1, None);
    assert_eq!(read_by(by_token(), "https://evil.test").await.1, None);
    let foreign = [("grant_type", "refresh_token"), ("client_id", &stranger.id)];
    let (answer, allowed, _) =
        read_by(http().post(url("/oauth2/token")).form(&foreign), "https://own.test").await;
    assert_eq!((answer.status, allowed), (400, None));
    // Which client will speak is not known yet, so any origin may ask whether it may ask.
    let (answer, allowed, _) = read_by(preflight(&sluice, "/oauth2/token"), "https://own.test").await;
    assert_eq!((answer.status, allowed.is_some()), (204, true));
    // What applications begin with is for all, without cookies.
    for path in ["/.well-known/openid-configuration", "/.well-known/jwks.json"] {
        let (answer, allowed, credentials) = read_by(http().get(url(path)), "https://own.test").await;
        assert_eq!((answer.status, allowed.is_some(), credentials), (200, true, false), "{path}");
        let (answer, allowed, credentials) = read_by(preflight(&sluice, path), "https://own.test").await;
        assert_eq!((answer.status, allowed.is_some(), credentials), (204, true, false), "{path}");
    }
    // A form that is not read names no client.
    for (origin, may_read) in [("https://own.test", false), ("https://elsewhere.test", true)] {
        let long = http().post(url("/oauth2/token")).form(&[("x", "x".repeat(70_000))]);
        let (answer, allowed, _) = read_by(long, origin).await;
        let expected = (413, may_read, "Origin");
        assert_eq!((answer.status, allowed.is_some(), answer.header("vary")), expected, "{origin}");
    }
    sluice.node.stop().await;
}

/// By HTTP Basic without a secret, and by its assertion alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_name_itself_in_the_form_brings_its_origins_too() {
    let sluice = TestSluice::with(Backend::Sqlite, &[ENABLED, (ORIGINS, "https://elsewhere.test")]).await;
    let own = json!({"allowed_cors_origins": ["https://own.test"]});
    let url = sluice.public.join("/oauth2/token").unwrap();
    let public = json!({"token_endpoint_auth_method": "none", "allowed_cors_origins": ["https://own.test"]});
    let public = sluice.client(&public).await;
    let code = sluice.browser().log_in(&sluice, &public, "alice").await.expect("code");
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", &public.redirect_uri),
        ("code_verifier", sluice_testkit::VERIFIER),
    ];
    let request = http().post(url.clone()).header("authorization", basic(&public.id, "")).form(&form);
    let (answer, allowed, _) = read_by(request, "https://own.test").await;
    assert_eq!((answer.status, allowed.is_some()), (200, true), "{}", answer.body);
    let signing = KeyedClient::on(&sluice, &own).await;
    for (origin, may_read) in [("https://own.test", true), ("https://evil.test", false)] {
        let assertion = signing.assertion(&sluice, &json!({}));
        let form = [MACHINE[0], ("client_assertion_type", JWT_BEARER), ("client_assertion", &assertion)];
        let (answer, allowed, _) = read_by(http().post(url.clone()).form(&form), origin).await;
        assert_eq!((answer.status, allowed.is_some()), (200, may_read), "{origin}: {}", answer.body);
    }
    let nobody = [MACHINE[0], ("client_assertion_type", JWT_BEARER), ("client_assertion", "a.b.c")];
    let (answer, allowed, _) = read_by(http().post(url).form(&nobody), "https://own.test").await;
    assert_eq!((answer.status, allowed), (401, None));
    sluice.node.stop().await;
}

/// `client_id` means nothing there, and anybody may have registered the client.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_opens_the_identity_api_to_no_page() {
    let settings = [
        ENABLED,
        (ORIGINS, "https://app.test"),
        ("oidc.dynamic_client_registration.enabled", "true"),
        ("identity.password_hash.memory", "64"),
        ("identity.password_hash.lanes", "1"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let metadata = json!({"redirect_uris": ["https://evil.test/callback"], "allowed_cors_origins": ["https://evil.test"]});
    let register = http().post(sluice.public.join("/oauth2/register").unwrap());
    let made = Answer::to(register.body(metadata.to_string())).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let path = format!("/auth/login?client_id={}", made.json()["client_id"].as_str().unwrap());
    let log_in = || {
        let body = json!({"email": "alice@example.com", "password": "a guess of somebody"});
        let request = http().post(sluice.public.join(&path).unwrap());
        request.header("content-type", "application/json").body(body.to_string())
    };
    for (origin, may_read) in [("https://evil.test", false), ("https://app.test", true)] {
        for request in [log_in(), preflight(&sluice, &path)] {
            let (answer, allowed, _) = read_by(request, origin).await;
            assert!(matches!(answer.status, 401 | 204), "{answer:?}");
            assert_eq!((allowed.is_some(), answer.header("vary")), (may_read, "Origin"), "{origin}");
        }
    }
    let token = |origin: &'static str| read_by(preflight(&sluice, "/oauth2/token"), origin);
    assert!(token("https://evil.test").await.1.is_some(), "what clients are for asks which one it is");
    sluice.node.stop().await;
}
