//! Login and registration.

use std::future::poll_fn;
use std::pin::pin;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use sluice_crypto::hash_pool::unheard;
use sluice_identity::IdentityError;
use sluice_primitives::Lifetime;
use sluice_testkit::Captured;

use super::people::app_code;
use super::world::{ALICE, PASSWORD, World, form};
use crate::ui::login::turned_away;

#[tokio::test]
async fn a_person_logs_in_and_is_remembered_if_asked() {
    let world = World::new().await;
    let alice = world.register_alice().await;
    let page = world.at("/ui/login").await;
    let answer = world.fill_in(&page, &[("email", " Alice@example.com"), ("password", PASSWORD)]).await;
    let login = world.accepted(&answer).await;
    assert_eq!(login.subject.as_str(), alice.to_string());
    assert_eq!((login.remember, login.at_least_until_closed), (None, true));
    assert_eq!(login.amr, ["pwd"]);
    assert_eq!(login.acr.as_deref(), Some("aal1"));
    assert_eq!(login.context, Some(serde_json::json!({ "email": ALICE })));
    let fields = [("email", ALICE), ("password", PASSWORD), ("remember", "true")];
    let login = world.accepted(&world.fill_in(&page, &fields).await).await;
    assert_eq!((login.remember, login.until_closed), (Some(Lifetime::hours(30 * 24)), false));
}

#[tokio::test]
async fn of_a_client_that_nobody_vouches_for_it_is_said_before_the_password() {
    World::new().await.says_whom_nobody_vouches_for("/ui/login").await;
}

#[tokio::test]
async fn every_page_is_kept_by_nobody_and_framed_by_nobody() {
    let world = World::new().await;
    let page = world.at("/ui/login").await;
    for answer in [world.get(&page).await, world.get("/ui/login").await, world.get("/ui/logged-out").await] {
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"));
    }
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; worker-src 'self'; \
                  base-uri 'none'; frame-ancestors 'none'; form-action 'self'";
    assert_eq!(world.get(&page).await.header("content-security-policy"), policy);
}

#[tokio::test]
async fn every_page_says_in_its_title_and_above_it_what_the_service_is_called() {
    let named = |pages: &mut sluice_oauth::config::Pages| pages.service_name = "Example Shop".to_owned();
    let world = World::with("https://id.example/", named).await;
    let login = world.at("/ui/login").await;
    let error = "/ui/error?error=access_denied";
    for page in [login.as_str(), "/ui/recovery", "/ui/account/login", "/ui/logged-out", error] {
        let shown = world.get(page).await;
        assert!(shown.body.contains(" · Example Shop</title>"), "{page}: {}", shown.body);
        assert!(shown.body.contains("<span class=\"wordmark\">Example Shop</span>"), "{page}");
        assert!(!shown.body.contains("Sluice"), "{page}: {}", shown.body);
    }
}

#[tokio::test]
async fn the_password_comes_next_after_the_address_for_who_uses_the_keyboard() {
    let world = World::new().await;
    let shown = world.get(&world.at("/ui/login").await).await;
    let place = |text: &str| shown.body.find(text).unwrap_or_else(|| panic!("{text}: {}", shown.body));
    assert!(place("id=\"email\"") < place("id=\"password\""));
    assert!(place("id=\"password\"") < place("Forgot your password?"));
    assert!(!shown.body.contains("tabindex"));
}

#[tokio::test]
async fn a_wrong_password_shows_the_page_again_with_what_was_typed() {
    let world = World::new().await;
    world.register_alice().await;
    let page = world.at("/ui/login").await;
    for email in [ALICE, "bob@example.com"] {
        let answer = world.fill_in(&page, &[("email", email), ("password", "another horse")]).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(answer.body.contains("The email address or the password is wrong."));
        assert!(
            answer.body.contains(&format!("value=\"{email}\"")) && !answer.body.contains("another horse")
        );
        assert!(answer.body.contains("&#60;b&#62;Shop") && !answer.body.contains("<b>Shop"));
    }
    let empty = world.fill_in(&page, &[("email", ""), ("password", "")]).await;
    assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(empty.body.contains("Enter your email address.") && empty.body.contains("Enter your password."));
}

#[tokio::test]
async fn what_is_shown_after_a_mistake_stands_at_an_address_that_can_be_opened_again() {
    let world = World::new().await;
    for path in ["/ui/login", "/ui/registration"] {
        let page = world.at(path).await;
        let refused = world.fill_in(&page, &[("email", ALICE), ("password", "short")]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        let address = refused.after("method=\"post\" action=\"");
        assert_eq!(address, page);
        assert!(world.get(&address).await.body.contains("name=\"password\""));
    }
    let app = world.alice_with_app().await;
    let asked = world.after_password(&world.at("/ui/login").await, &[]).await;
    let wrong = world.show(&asked, &[("code", "000000")]).await;
    let address = wrong.after("method=\"post\" action=\"");
    assert!(address.starts_with("/ui/login/factor?"), "{address}");
    let fields = [("email", ALICE), ("password", PASSWORD)];
    let begun = world.get(&address).await;
    let hidden = [("login_challenge", begun.field("login_challenge")), ("csrf", begun.field("csrf"))];
    let hidden: Vec<_> = hidden.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let asked = world.post("/ui/login", &[&hidden[..], &fields].concat()).await;
    let right = world.show(&asked, &[("code", &app_code(&app.secret, &world.clock))]).await;
    assert_eq!(world.accepted(&right).await.subject.as_str(), app.alice.to_string());
}

#[tokio::test]
async fn an_address_that_leads_nowhere_by_itself_leads_to_the_account() {
    let world = World::new().await;
    for page in ["/ui/login", "/ui/login/factor", "/ui/registration", "/ui/consent", "/ui/logout"] {
        let shown = world.get(page).await;
        assert_eq!(shown.status, StatusCode::BAD_REQUEST, "{page}");
        assert_eq!(
            shown.after("<a class=\"button button-primary\" href=\""),
            "https://id.example/ui/account"
        );
        assert!(shown.body.contains(">Your account</a>"), "{page}: {}", shown.body);
    }
}

#[tokio::test]
async fn an_address_where_no_page_is_leads_browsers_to_the_account() {
    let world = World::new().await;
    for page in ["/ui", "/ui/nothing"] {
        let asked = |accept: &str| Request::get(page).header("accept", accept).body(Body::empty()).unwrap();
        let shown = world.send(asked("text/html")).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{page}");
        assert!(shown.body.contains(">Your account</a>"), "{page}: {}", shown.body);
        assert_eq!(world.send(asked("application/json")).await.body, "", "{page}");
    }
    let out = world.get("/ui/account/logout").await;
    assert_eq!((out.status, out.header("location")), (StatusCode::SEE_OTHER, "/ui/account"));
}

#[tokio::test]
async fn guessing_and_a_busy_server_say_when_to_come_again() {
    let world = World::of(|config| config.limits.exempt.clear()).await;
    world.register_alice().await;
    let page = world.at("/ui/login").await;
    for _ in 0..6 {
        world.fill_in(&page, &[("email", ALICE), ("password", "another horse")]).await;
    }
    let answer = world.fill_in(&page, &[("email", ALICE), ("password", PASSWORD)]).await;
    assert_eq!((answer.status, answer.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "1"));
    let told = "There were too many failed attempts. Please wait a moment and try again.";
    assert!(answer.body.contains(told), "{}", answer.body);
    world.pool.shutdown();
    let answer = world.fill_in(&page, &[("email", "bob@example.com"), ("password", PASSWORD)]).await;
    assert_eq!((answer.status, answer.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, "2"));
    assert!(answer.body.contains("value=\"bob@example.com\""));
}

#[tokio::test]
async fn for_a_browser_that_has_left_no_page_is_made() {
    let world = World::new().await;
    world.register_alice().await;
    let page = world.at("/ui/login").await;
    let (challenge, token) = (page.split_once('=').unwrap().1, world.get(&page).await.field("csrf"));
    let fields = [("login_challenge", challenge), ("csrf", &token), ("email", ALICE), ("password", PASSWORD)];
    let mut posted = pin!(world.post("/ui/login", &fields));
    let answer = poll_fn(|context| unheard(|| posted.as_mut().poll(context))).await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::SERVICE_UNAVAILABLE, ""));
}

#[tokio::test]
async fn a_browser_that_is_known_sees_no_page() {
    let world = World::new().await;
    let subject = "some subject".parse().unwrap();
    let page = world.at_with("/ui/login", world.request(), Some(subject)).await;
    // As for `prompt=none`, in a frame: nothing may forbid that.
    let unbound = world.send_without_cookie(Request::get(&page).body(Body::empty()).unwrap()).await;
    assert_eq!(
        unbound.status,
        StatusCode::BAD_REQUEST,
        "nothing is sealed for a browser that the flow is not of"
    );
    let answer = world.get(&page).await;
    assert_eq!((answer.header("x-frame-options"), answer.header("content-security-policy")), ("", ""));
    let login = world.accepted(&answer).await;
    assert_eq!((login.subject.as_str(), login.skipped), ("some subject", true));
}

#[tokio::test]
async fn without_the_cookie_of_the_flow_the_page_says_so_and_leads_out() {
    let world = World::new().await;
    let page = world.at("/ui/login").await;
    let challenge = page.split_once('=').unwrap().1;
    let get = Request::get(&page).body(Body::empty()).unwrap();
    let post = form("/ui/login", &[("login_challenge", challenge), ("email", ALICE), ("password", PASSWORD)]);
    for request in [get, post] {
        let answer = world.send_without_cookie(request).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert!(answer.body.contains("needs cookies"));
        assert!(answer.body.contains("href=\"https://id.example/oauth2/auth?"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_form_without_its_token_is_refused_before_anything_else() {
    let world = World::new().await;
    let (page, other) = (world.at("/ui/login").await, world.at("/ui/login").await);
    let challenge = page.split_once('=').unwrap().1;
    let foreign = world.get(&other).await.field("csrf");
    for token in ["", "AAAA", "!", foreign.as_str()] {
        let fields =
            [("login_challenge", challenge), ("csrf", token), ("email", ALICE), ("password", PASSWORD)];
        for path in ["/ui/login", "/ui/login/factor", "/ui/login/passkey", "/ui/registration"] {
            let answer = world.post(path, &fields).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST);
            assert!(answer.body.contains("does not belong to this browser"), "{}", answer.body);
        }
    }
    world.pool.shutdown();
    assert_eq!(world.pool.metrics().done_total(), 0);
}

#[tokio::test]
async fn malformed_forms_are_refused() {
    let world = World::new().await;
    let page = world.at("/ui/login").await;
    let challenge = page.split_once('=').unwrap().1;
    let twice = world.fill_in(&page, &[("email", ALICE), ("email", ALICE), ("password", PASSWORD)]).await;
    let long = world.fill_in(&page, &[("email", ALICE), ("password", &"a".repeat(65 * 1024))]).await;
    let json = Request::post("/ui/login").header("content-type", "application/json").body(Body::from("{}"));
    let json = world.send(json.unwrap()).await;
    let nothing = world.post("/ui/login", &[]).await;
    for answer in [twice, long, json, nothing] {
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
    }
    let mut cross = form("/ui/login", &[("login_challenge", challenge)]);
    cross.headers_mut().insert("sec-fetch-site", "cross-site".parse().unwrap());
    assert_eq!(world.send(cross).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_expired_flow_leads_back_to_its_beginning_and_a_tampered_one_to_the_account() {
    let world = World::new().await;
    let page = world.at("/ui/login").await;
    let other = if page.ends_with('A') { 'B' } else { 'A' };
    let tampered = world.get(&format!("{}{other}", page.get(..page.len() - 1).unwrap())).await;
    assert_eq!(tampered.status, StatusCode::BAD_REQUEST);
    assert_eq!(tampered.body.matches("href=\"https://").count(), 1, "{}", tampered.body);
    assert_eq!(tampered.after("<a class=\"button button-primary\" href=\""), "https://id.example/ui/account");
    world.clock.advance(Lifetime::hours(1));
    let expired = world.get(&page).await;
    assert_eq!(expired.status, StatusCode::GONE);
    assert!(expired.body.contains("href=\"https://id.example/oauth2/auth?"));
}

#[tokio::test]
async fn forms_are_served_only_where_they_are_the_configured_pages() {
    let login_elsewhere = |pages: &mut sluice_oauth::config::Pages| {
        pages.login = "https://login.example/".parse().unwrap();
        pages.registration = "https://login.example/".parse().unwrap();
    };
    let world = World::with("https://id.example/", login_elsewhere).await;
    for page in ["/ui/login", "/ui/registration", "/ui/login/factor", "/ui/login/passkey"] {
        assert_eq!(world.get(&world.at(page).await).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(world.get("/ui/error?error=access_denied").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn below_a_path_the_pages_point_to_each_other() {
    let world = World::with("https://id.example/tenant", |_| {}).await;
    let shown = world.get(&world.at("/ui/login").await).await;
    for target in [
        "action=\"/tenant/ui/login?login_challenge=",
        "/tenant/ui/registration?login_challenge=",
        "/tenant/ui/style.css?v=",
    ] {
        assert!(shown.body.contains(target), "{target}: {}", shown.body);
    }
}

#[tokio::test]
async fn the_style_sheet_is_kept_for_good_under_the_name_of_its_content() {
    let world = World::new().await;
    let shown = world.get("/ui/logged-out").await;
    let href = shown.body.split_once("rel=\"stylesheet\" href=\"").unwrap().1.split('"').next().unwrap();
    let style = world.get(href).await;
    assert_eq!(style.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(world.get("/ui/style.css").await.header("cache-control"), "no-cache");
}

#[tokio::test]
async fn the_script_is_kept_as_the_style_sheet_is_and_stands_in_no_page() {
    let world = World::new().await;
    let page = world.at("/ui/login").await;
    let shown = world.get(&page).await;
    let script = world.get(&shown.after("<script src=\"")).await;
    assert_eq!(script.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!(world.get("/ui/sluice.js").await.header("cache-control"), "no-cache");
    assert_eq!(shown.body.matches("<script").count(), 1);
    let without = world.get("/ui/logged-out").await;
    assert!(!without.header("content-security-policy").contains("script-src"));
}

/// Without one, browsers ask for `/favicon.ico`, which the policy forbids.
#[tokio::test]
async fn every_page_names_an_icon_that_it_may_load() {
    let world = World::new().await;
    let login = world.at("/ui/login").await;
    for page in [login.as_str(), "/ui/logged-out", "/ui/error?error=access_denied"] {
        let shown = world.get(page).await;
        assert!(shown.header("content-security-policy").contains("; img-src 'self';"), "{page}");
        let icon = world.get(&shown.after("<link rel=\"icon\" href=\"")).await;
        assert_eq!(icon.header("content-type"), "image/svg+xml", "{page}");
        assert_eq!(icon.header("cache-control"), "public, max-age=31536000, immutable");
    }
}

#[tokio::test]
async fn the_error_page_shows_known_codes_and_no_word_of_the_query() {
    let world = World::new().await;
    let target = "/ui/error?error=invalid_scope&error_description=Call+555&error_hint=%3Cscript%3E";
    let known = world.get(target).await;
    assert!(known.body.contains("invalid_scope") && !known.body.contains("Call 555"));
    let unknown = world.get("/ui/error?error=%3Cscript%3Eyou_won").await;
    assert!(!unknown.body.contains("you_won") && !unknown.body.contains("<script"));
}

/// As while the store is away.
#[test]
fn of_those_who_are_turned_away_a_sample_is_said() {
    let (log, _guard) = Captured::begin();
    for _ in 0..2_000 {
        turned_away(&IdentityError::Changed, "a visit of a test");
    }
    let said = log.lines("a visit of a test turned away").len();
    assert!((1..2_000).contains(&said), "{said}");
}
