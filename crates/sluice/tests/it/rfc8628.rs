//! RFC 8628, OAuth 2.0 Device Authorization Grant, section by section; and Hydra's verification flow.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{
    Authorize, Backend, Browser, TestClient, TestSluice, TokenAnswer, accept_consent, accept_login,
    redirect_to,
};

use crate::answer::{Answer, basic, http};
use crate::both_stores::on_both_stores;
use crate::legs::{change_client, consent_request, reject_consent, token};

pub(crate) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const ACCEPT: &str = "/admin/oauth2/auth/requests/device/accept";
pub(crate) const INTERVAL: Lifetime = Lifetime::secs(5);

/// A television: a public client.
pub(crate) async fn television(sluice: &TestSluice) -> TestClient {
    let grant_types = json!([DEVICE_CODE, "refresh_token"]);
    let public =
        json!({"token_endpoint_auth_method": "none", "redirect_uris": [], "grant_types": grant_types});
    sluice.client(&public).await
}

/// What the device is given.
pub(crate) async fn begin(client: &TestClient) -> Value {
    client.post("/oauth2/device/auth", &[("scope", "openid offline_access")]).await.ok()
}

fn text<'a>(json: &'a Value, name: &str) -> &'a str {
    json[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {json}"))
}

pub(crate) async fn poll(client: &TestClient, given: &Value) -> TokenAnswer {
    client.token(&[("grant_type", DEVICE_CODE), ("device_code", text(given, "device_code"))]).await
}

/// The challenge of a user who comes to type a code.
async fn challenge(browser: &mut Browser) -> String {
    browser.visit("/oauth2/device/verify").await.expect("device_challenge")
}

/// What a verification page is told that presents a code.
async fn present(sluice: &TestSluice, challenge: &str, user_code: &str) -> (u16, Value) {
    let body = json!({"user_code": user_code});
    let answer =
        sluice.ask(Method::PUT, &format!("{ACCEPT}?device_challenge={challenge}"), Some(&body)).await;
    (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
}

/// Where the verification page sends the browser of a user who typed the right code.
async fn verifier(sluice: &TestSluice, browser: &mut Browser, given: &Value) -> String {
    let challenge = challenge(browser).await;
    let (status, answer) = present(sluice, &challenge, text(given, "user_code")).await;
    assert_eq!(status, 200, "{answer}");
    redirect_to(&answer)
}

/// The login challenge of a user who typed the right code.
pub(crate) async fn login_challenge(sluice: &TestSluice, browser: &mut Browser, given: &Value) -> String {
    let verifier = verifier(sluice, browser, given).await;
    browser.visit(&verifier).await.expect("login_challenge")
}

/// What the login page is told.
async fn login_request(sluice: &TestSluice, challenge: &str) -> Value {
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await
}

/// The consent challenge of a user who typed the right code and logged in.
pub(crate) async fn consent_challenge(
    sluice: &TestSluice,
    browser: &mut Browser,
    given: &Value,
    login: &Value,
) -> String {
    let challenge = login_challenge(sluice, browser, given).await;
    let verifier = accept_login(sluice, &challenge, login).await;
    browser.visit(&verifier).await.expect("consent_challenge")
}

/// A user types the code, logs in and consents; where the browser ends up.
pub(crate) async fn connect(
    sluice: &TestSluice,
    browser: &mut Browser,
    given: &Value,
    changes: &Value,
) -> String {
    let challenge = consent_challenge(sluice, browser, given, &json!({"subject": "alice"})).await;
    let verifier = accept_consent(sluice, &challenge, changes).await;
    browser.visit(&verifier).await.location().to_string()
}

mod section_3_1 {
    //! Device authorization request.
    use super::*;

    on_both_stores!(
        a_device_is_given_a_code_to_poll_with_and_one_for_its_user,
        a_client_authenticates_as_at_the_token_endpoint,
        a_client_that_is_not_registered_for_device_codes_is_refused,
        nothing_can_be_asked_for_beyond_what_the_client_may_have,
    );

    async fn a_device_is_given_a_code_to_poll_with_and_one_for_its_user(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let url = sluice.public.join("/oauth2/device/auth").unwrap();
        let answer = Answer::to(http().post(url).form(&[("client_id", client.id.as_str())])).await;
        assert_eq!(answer.header("cache-control"), "no-store");
        let given = answer.ok();
        assert!(text(&given, "device_code").starts_with("ory_dc_"), "{given}");
        let code = text(&given, "user_code");
        let (left, right) = code.split_once('-').unwrap();
        assert!(left.len() == 4 && right.len() == 4 && code == code.to_uppercase(), "{code}");
        assert_eq!(given["verification_uri"], "http://sluice.test/oauth2/device/verify");
        let complete = format!("http://sluice.test/oauth2/device/verify?user_code={code}");
        assert_eq!(given["verification_uri_complete"], complete);
        assert_eq!((&given["expires_in"], &given["interval"]), (&json!(600), &json!(5)));
        let other = begin(&client).await;
        assert_ne!(other["user_code"], given["user_code"]);
    }

    async fn a_client_authenticates_as_at_the_token_endpoint(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = sluice.client(&json!({"grant_types": [DEVICE_CODE]})).await;
        assert!(begin(&client).await["device_code"].is_string());
        let url = sluice.public.join("/oauth2/device/auth").unwrap();
        let ask = || http().post(url.clone());
        let nobody = [("client_id", "nobody")];
        Answer::to(ask().form(&nobody)).await.refused_with(401, "invalid_client");
        let wrong = ask().header("authorization", basic(&client.id, "wrong")).form(&[("scope", "openid")]);
        Answer::to(wrong).await.refused_with(401, "invalid_client");
        let by_id = [("client_id", client.id.as_str())];
        Answer::to(ask().form(&by_id)).await.refused_with(401, "invalid_client");
        Answer::to(ask().body("{}")).await.refused_with(400, "invalid_request");
    }

    async fn a_client_that_is_not_registered_for_device_codes_is_refused(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = sluice.client(&json!({})).await;
        client.post("/oauth2/device/auth", &[]).await.refused_with("unauthorized_client");
        client
            .token(&[("grant_type", DEVICE_CODE), ("device_code", "ory_dc_x")])
            .await
            .refused_with("unauthorized_client");
    }

    async fn nothing_can_be_asked_for_beyond_what_the_client_may_have(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let refused = [
            ("scope", "admin", "invalid_scope"),
            ("scope", "\"", "invalid_scope"),
            ("audience", "https://other.test", "invalid_target"),
            ("resource", "https://other.test", "invalid_target"),
            ("resource", "not-a-uri", "invalid_target"),
            ("authorization_details", r#"[{"type":"payment"}]"#, "invalid_authorization_details"),
        ];
        for (name, value, error) in refused {
            client.post("/oauth2/device/auth", &[(name, value)]).await.refused_with(error);
        }
        for (name, value) in [("scope", "admin"), ("audience", "https://other.test")] {
            let refused = client.post("/oauth2/device/auth", &[(name, value)]).await;
            let said = refused.body["error_description"].as_str().unwrap();
            assert!(said.contains(&format!("`{value}`")), "{said}");
        }
    }
}

mod section_3_3 {
    //! User interaction.
    use super::*;

    on_both_stores!(
        a_user_who_typed_the_code_logs_in_and_consents_and_the_device_gets_tokens,
        a_code_that_was_scanned_is_handed_to_the_verification_page,
        a_browser_that_is_known_is_not_asked_to_log_in_again,
        what_the_client_registered_holds_for_its_devices,
        the_pages_are_told_of_the_device_as_of_any_client,
        a_flow_belongs_to_the_browser_in_which_the_code_was_typed,
        the_first_user_who_consents_gets_the_device,
        a_public_client_is_asked_about_each_time,
    );

    async fn a_user_who_typed_the_code_logs_in_and_consents_and_the_device_gets_tokens(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let typed = json!({"user_code": text(&given, "user_code").to_lowercase().replace('-', " ")});
        let end = connect(&sluice, &mut sluice.browser(), &typed, &json!({})).await;
        assert_eq!(end, format!("http://sluice.test/ui/device/success?client_id={}", client.id));
        let tokens = poll(&client, &given).await.ok();
        let says = sluice.introspect(token(&tokens, "access_token")).await;
        assert_eq!((&says["active"], &says["sub"]), (&json!(true), &json!("alice")));
        assert_eq!(tokens["scope"], "openid offline_access");
        assert!(tokens["id_token"].is_string(), "{tokens}");
        let fresh = client.refresh(token(&tokens, "refresh_token")).await.ok();
        assert!(sluice.is_active(token(&fresh, "access_token")).await);
    }

    async fn a_code_that_was_scanned_is_handed_to_the_verification_page(backend: Backend) {
        let page = ("urls.device.verification", "http://login.test/device");
        let sluice = TestSluice::with(backend, &[page]).await;
        let given = begin(&television(&sluice).await).await;
        let led = sluice.browser().visit(text(&given, "verification_uri_complete")).await;
        assert_eq!(led.status, 302);
        assert!(led.location().as_str().starts_with("http://login.test/device?"), "{led:?}");
        assert_eq!(led.expect("user_code"), text(&given, "user_code"));
        assert!(!led.expect("device_challenge").is_empty());
    }

    async fn a_browser_that_is_known_is_not_asked_to_log_in_again(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let (web, client) = (sluice.client(&json!({})).await, television(&sluice).await);
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": true});
        browser.log_in_with(&sluice, &web, &Authorize::default(), &login).await;
        let given = begin(&client).await;
        let challenge = login_challenge(&sluice, &mut browser, &given).await;
        let asked = login_request(&sluice, &challenge).await;
        assert_eq!((&asked["skip"], &asked["subject"]), (&json!(true), &json!("alice")));
    }

    /// OpenID Connect Registration §2: `default_max_age`, `default_acr_values`.
    async fn what_the_client_registered_holds_for_its_devices(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let web = sluice.client(&json!({})).await;
        let client = sluice
            .client(&json!({"token_endpoint_auth_method": "none", "redirect_uris": [],
                            "grant_types": [DEVICE_CODE], "default_max_age": 60,
                            "default_acr_values": ["gold", "silver"]}))
            .await;
        let mut browser = sluice.browser();
        let login = json!({"subject": "alice", "remember": true});
        browser.log_in_with(&sluice, &web, &Authorize::default(), &login).await;
        for (skip, why) in [(true, "alice has just logged in"), (false, "a minute is over")] {
            let given = client.post("/oauth2/device/auth", &[("scope", "openid")]).await.ok();
            let challenge = login_challenge(&sluice, &mut browser, &given).await;
            let asked = login_request(&sluice, &challenge).await;
            assert_eq!(asked["skip"], skip, "{why}");
            assert_eq!(asked["oidc_context"]["acr_values"], json!(["gold", "silver"]));
            sluice.advance(Lifetime::secs(61));
        }
    }

    async fn the_pages_are_told_of_the_device_as_of_any_client(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let form = [("scope", "openid"), ("audience", "https://api.test")];
        let given = client.post("/oauth2/device/auth", &form).await.ok();
        let mut browser = sluice.browser();
        let challenge = consent_challenge(&sluice, &mut browser, &given, &json!({"subject": "alice"})).await;
        let asked = consent_request(&sluice, &challenge).await;
        assert_eq!(asked["client"]["client_id"], client.id);
        assert_eq!(asked["requested_scope"], json!(["openid"]));
        assert_eq!(asked["requested_access_token_audience"], json!(["https://api.test"]));
        let begun_at = format!("http://sluice.test/oauth2/device/verify?client_id={}", client.id);
        assert_eq!(asked["request_url"], begun_at);
    }

    async fn a_flow_belongs_to_the_browser_in_which_the_code_was_typed(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let (mut alice, mut mallory) = (sluice.browser(), sluice.browser());
        challenge(&mut alice).await;
        let stolen = verifier(&sluice, &mut mallory, &given).await;
        assert_eq!(alice.visit(&stolen).await.status, 400);
        assert_eq!(sluice.browser().visit(&stolen).await.status, 400);
        assert_eq!(mallory.visit(&stolen).await.status, 302);
        poll(&client, &given).await.refused_with("authorization_pending");
    }

    async fn the_first_user_who_consents_gets_the_device(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let (mut alice, mut bob) = (sluice.browser(), sluice.browser());
        let of_bob = consent_challenge(&sluice, &mut bob, &given, &json!({"subject": "bob"})).await;
        let late = accept_consent(&sluice, &of_bob, &json!({})).await;
        connect(&sluice, &mut alice, &given, &json!({})).await;
        assert_eq!(bob.visit(&late).await.status, 410);
        let tokens = poll(&client, &given).await.ok();
        assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["sub"], "alice");
    }

    async fn a_public_client_is_asked_about_each_time(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let mut browser = sluice.browser();
        connect(&sluice, &mut browser, &begin(&client).await, &json!({"remember": true})).await;
        let given = begin(&client).await;
        let challenge = consent_challenge(&sluice, &mut browser, &given, &json!({"subject": "alice"})).await;
        assert_eq!(consent_request(&sluice, &challenge).await["skip"], false);
    }
}

mod section_3_4 {
    //! Device access token request.
    use super::*;

    on_both_stores!(
        a_code_is_of_use_to_its_own_client_only,
        what_is_no_device_code_is_refused,
        a_code_is_of_use_once_and_a_second_time_ends_nothing,
        a_code_does_not_yield_what_its_client_has_lost_since,
        tokens_live_as_long_as_the_client_says_for_devices,
    );

    async fn a_code_is_of_use_to_its_own_client_only(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let (client, other) = (television(&sluice).await, television(&sluice).await);
        let given = begin(&client).await;
        connect(&sluice, &mut sluice.browser(), &given, &json!({})).await;
        poll(&other, &given).await.refused_with("invalid_grant");
        poll(&client, &given).await.ok();
    }

    async fn what_is_no_device_code_is_refused(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        client.token(&[("grant_type", DEVICE_CODE)]).await.refused_with("invalid_request");
        for wrong in ["ory_dc_", "ory_dc_AAAA", text(&given, "user_code")] {
            let form = [("grant_type", DEVICE_CODE), ("device_code", wrong)];
            client.token(&form).await.refused_with("invalid_grant");
        }
    }

    async fn a_code_is_of_use_once_and_a_second_time_ends_nothing(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        connect(&sluice, &mut sluice.browser(), &given, &json!({})).await;
        let tokens = poll(&client, &given).await.ok();
        // A poll that had no answer comes again (§3.5): that is no theft.
        sluice.advance(INTERVAL);
        poll(&client, &given).await.refused_with("invalid_grant");
        assert!(sluice.is_active(token(&tokens, "access_token")).await);
        client.refresh(token(&tokens, "refresh_token")).await.ok();
        sluice.advance(INTERVAL);
        poll(&client, &given).await.refused_with("invalid_grant");
    }

    async fn a_code_does_not_yield_what_its_client_has_lost_since(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        connect(&sluice, &mut sluice.browser(), &given, &json!({})).await;
        sluice.advance(INTERVAL);
        change_client(&sluice, &client, "scope", json!("email")).await;
        poll(&client, &given).await.refused_with("invalid_scope");
        sluice.advance(INTERVAL);
        change_client(&sluice, &client, "scope", json!("openid")).await;
        let tokens = poll(&client, &given).await.ok();
        assert_eq!((&tokens["scope"], tokens.get("refresh_token")), (&json!("openid"), None), "{tokens}");
        assert_eq!(sluice.introspect(token(&tokens, "access_token")).await["scope"], "openid");
    }

    async fn tokens_live_as_long_as_the_client_says_for_devices(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        change_client(&sluice, &client, "device_authorization_grant_access_token_lifespan", json!("7m"))
            .await;
        let given = begin(&client).await;
        connect(&sluice, &mut sluice.browser(), &given, &json!({})).await;
        assert_eq!(poll(&client, &given).await.ok()["expires_in"], 420);
    }
}

mod section_3_5 {
    //! Device access token response.
    use super::*;

    on_both_stores!(
        until_the_user_decides_the_device_is_told_to_wait,
        a_device_that_polls_too_fast_is_slowed_down_by_five_seconds_each_time,
        a_device_is_told_that_its_user_refused,
        a_device_is_told_that_its_login_was_refused,
        a_device_is_told_that_its_code_has_expired,
        a_flow_ends_with_the_codes_of_its_device,
        a_client_that_may_no_more_use_device_codes_gets_nothing,
    );

    async fn until_the_user_decides_the_device_is_told_to_wait(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let mut browser = sluice.browser();
        poll(&client, &given).await.refused_with("authorization_pending");
        let challenge = consent_challenge(&sluice, &mut browser, &given, &json!({"subject": "alice"})).await;
        sluice.advance(INTERVAL);
        let waiting = poll(&client, &given).await;
        assert_eq!(waiting.status, 400);
        waiting.refused_with("authorization_pending");
        let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
        browser.visit(&verifier).await;
        poll(&client, &given).await.ok();
    }

    async fn a_device_that_polls_too_fast_is_slowed_down_by_five_seconds_each_time(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        poll(&client, &given).await.refused_with("authorization_pending");
        // A second is the network's.
        sluice.advance(Lifetime::secs(4));
        poll(&client, &given).await.refused_with("authorization_pending");
        sluice.advance(Lifetime::secs(3));
        poll(&client, &given).await.refused_with("slow_down");
        sluice.advance(Lifetime::secs(8));
        poll(&client, &given).await.refused_with("slow_down");
        sluice.advance(Lifetime::secs(15));
        poll(&client, &given).await.refused_with("authorization_pending");
    }

    async fn a_device_is_told_that_its_user_refused(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let mut browser = sluice.browser();
        let challenge = consent_challenge(&sluice, &mut browser, &given, &json!({"subject": "alice"})).await;
        let end = browser.visit(&reject_consent(&sluice, &challenge).await).await;
        assert_eq!(end.location().path(), "/ui/device/success");
        assert_eq!(end.expect("error"), "access_denied");
        let denied = poll(&client, &given).await;
        assert_eq!(denied.status, 400);
        denied.refused_with("access_denied");
        let (status, _) =
            present(&sluice, &self::challenge(&mut browser).await, text(&given, "user_code")).await;
        assert_eq!(status, 400, "it is decided");
    }

    async fn a_device_is_told_that_its_login_was_refused(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let mut browser = sluice.browser();
        let challenge = login_challenge(&sluice, &mut browser, &given).await;
        let path = format!("/admin/oauth2/auth/requests/login/reject?login_challenge={challenge}");
        let body = json!({"error": "login_required"});
        let rejected = redirect_to(&sluice.ask_json(Method::PUT, &path, Some(&body), 200).await);
        assert_eq!(browser.visit(&rejected).await.expect("error"), "login_required");
        poll(&client, &given).await.refused_with("access_denied");
    }

    async fn a_device_is_told_that_its_code_has_expired(backend: Backend) {
        let sluice = TestSluice::with(backend, &[("ttl.device_user_code", "2m")]).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        assert_eq!(given["expires_in"], 120);
        sluice.advance(Lifetime::secs(119));
        poll(&client, &given).await.refused_with("authorization_pending");
        sluice.advance(Lifetime::secs(1));
        let late = poll(&client, &given).await;
        assert_eq!(late.status, 400);
        late.refused_with("expired_token");
        sluice.advance(Lifetime::hours(48));
        poll(&client, &given).await.refused_with("expired_token");
    }

    async fn a_flow_ends_with_the_codes_of_its_device(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let mut browser = sluice.browser();
        let challenge = consent_challenge(&sluice, &mut browser, &given, &json!({"subject": "alice"})).await;
        let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
        sluice.advance(Lifetime::minutes(10));
        let late = browser.visit(&verifier).await;
        assert_eq!(late.status, 410);
        assert!(late.body.contains("/oauth2/device/verify"), "{}", late.body);
        poll(&client, &given).await.refused_with("expired_token");
    }

    async fn a_client_that_may_no_more_use_device_codes_gets_nothing(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let mut browser = sluice.browser();
        let challenge = login_challenge(&sluice, &mut browser, &given).await;
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
        change_client(&sluice, &client, "grant_types", json!(["refresh_token"])).await;
        assert_eq!(browser.visit(&verifier).await.expect("error"), "unauthorized_client");
        poll(&client, &given).await.refused_with("unauthorized_client");
    }
}

mod section_5_1 {
    //! User code brute forcing, and what a verification page is told.
    use super::*;

    on_both_stores!(
        every_code_that_is_not_right_is_answered_alike,
        after_too_many_wrong_codes_the_right_one_does_not_count,
        a_challenge_must_be_one_of_ours_and_not_too_old,
        codes_for_public_clients_are_limited_by_network,
    );

    async fn every_code_that_is_not_right_is_answered_alike(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let expired = begin(&client).await;
        sluice.advance(Lifetime::minutes(10));
        let decided = begin(&client).await;
        let mut browser = sluice.browser();
        connect(&sluice, &mut browser, &decided, &json!({})).await;
        let challenge = challenge(&mut browser).await;
        let mut answers = Vec::new();
        for code in ["AAAA-AAAA", text(&expired, "user_code"), text(&decided, "user_code"), "-", "é"] {
            answers.push(present(&sluice, &challenge, code).await);
        }
        let (status, body) = answers[0].clone();
        assert_eq!((status, &body["error"]), (400, &json!("invalid_request")), "{body}");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    }

    async fn after_too_many_wrong_codes_the_right_one_does_not_count(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        let given = begin(&client).await;
        let code = text(&given, "user_code");
        for guess in 0..20 {
            let challenge = challenge(&mut sluice.browser()).await;
            assert_eq!(present(&sluice, &challenge, &format!("AAAA-{guess:04}")).await.0, 400);
        }
        let challenge = challenge(&mut sluice.browser()).await;
        assert_eq!(present(&sluice, &challenge, code).await.0, 429);
        assert_eq!(present(&sluice, &challenge, "AAAA-9999").await.0, 429);
        sluice.advance(Lifetime::minutes(10));
        let fresh = begin(&client).await;
        assert_eq!(present(&sluice, &challenge, text(&fresh, "user_code")).await.0, 200);
    }

    async fn a_challenge_must_be_one_of_ours_and_not_too_old(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let given = begin(&television(&sluice).await).await;
        let code = text(&given, "user_code");
        let challenge = challenge(&mut sluice.browser()).await;
        assert_eq!(present(&sluice, "AAAA", code).await.0, 404);
        assert_eq!(present(&sluice, "", code).await.0, 400);
        assert_eq!(present(&sluice, &challenge, "").await.0, 400);
        sluice.advance(Lifetime::minutes(30));
        let (status, body) = present(&sluice, &challenge, code).await;
        assert_eq!((status, redirect_to(&body).as_str()), (410, "http://sluice.test/oauth2/device/verify"));
    }

    async fn codes_for_public_clients_are_limited_by_network(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let client = television(&sluice).await;
        for _ in 0..200 {
            begin(&client).await;
        }
        client.post("/oauth2/device/auth", &[]).await.refused_with("temporarily_unavailable");
        let known = sluice.client(&json!({"grant_types": [DEVICE_CODE]})).await;
        begin(&known).await;
        sluice.advance(Lifetime::minutes(10));
        begin(&client).await;
    }
}

mod section_4 {
    //! Discovery metadata.
    use super::*;

    on_both_stores!(the_endpoint_and_the_grant_type_are_announced);

    async fn the_endpoint_and_the_grant_type_are_announced(backend: Backend) {
        let sluice = TestSluice::start(backend).await;
        let url = sluice.public.join("/.well-known/openid-configuration").unwrap();
        let metadata = Answer::to(http().get(url)).await.ok();
        assert_eq!(metadata["device_authorization_endpoint"], "http://sluice.test/oauth2/device/auth");
        let grant_types = metadata["grant_types_supported"].as_array().unwrap();
        assert!(grant_types.contains(&json!(DEVICE_CODE)), "{grant_types:?}");
    }
}
