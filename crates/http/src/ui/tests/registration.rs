//! Registration.

use axum::http::StatusCode;
use sluice_identity::config::Rate;

use super::people::mailed_code;
use super::world::{ALICE, PASSWORD, World};

#[tokio::test]
async fn a_registration_logs_in_and_a_taken_address_is_told() {
    let world = World::new().await;
    let page = world.at("/ui/registration").await;
    let fields = [("email", "Alice@Example.com"), ("username", " Alice "), ("password", PASSWORD)];
    let login = world.accepted(&world.fill_in(&page, &fields).await).await;
    assert_eq!(login.context, Some(serde_json::json!({ "email": ALICE })));
    assert_eq!((login.acr.as_deref(), login.amr), (Some("aal1"), vec!["pwd".to_owned()]));
    let alice = world.identity(login.subject.as_str().parse().unwrap()).await;
    assert_eq!(alice.username, "Alice");
    let taken = world.fill_in(&page, &fields).await;
    assert_eq!(taken.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(taken.body.contains("There is an account with this email address already."));
}

/// An application can have people begin at this page (`prompt=create`).
#[tokio::test]
async fn of_a_client_that_nobody_vouches_for_it_is_said_before_there_is_an_account() {
    World::new().await.says_whom_nobody_vouches_for("/ui/registration").await;
}

#[tokio::test]
async fn an_address_may_have_letters_of_any_language() {
    let world = World::new().await;
    let (page, login) = (world.at("/ui/registration").await, world.at("/ui/login").await);
    for page in [page.as_str(), &login, "/ui/recovery", "/ui/account/login"] {
        let shown = world.get(page).await;
        // Browsers hold a field of type `email` back for any letter before the `@` that English lacks.
        assert!(shown.body.contains("name=\"email\" type=\"text\""), "{page}: {}", shown.body);
        assert!(shown.body.contains("inputmode=\"email\""), "{page}: {}", shown.body);
        assert!(!shown.body.contains("type=\"email\""), "{page}: {}", shown.body);
    }
    let fields = [("email", "Zoë@example.com"), ("password", PASSWORD)];
    let login = world.accepted(&world.fill_in(&page, &fields).await).await;
    assert_eq!(login.context, Some(serde_json::json!({ "email": "zoë@example.com" })));
}

#[tokio::test]
async fn each_mistake_is_told_at_its_field_and_what_was_typed_stays_but_for_the_password() {
    let world = World::of(|config| config.password.min_characters = 10).await;
    let page = world.at("/ui/registration").await;
    let long = "a".repeat(65);
    for (fields, id, sentence) in [
        (
            [("email", "bob"), ("username", "Bob"), ("password", PASSWORD)],
            "email",
            "such as name@example.com",
        ),
        (
            [("email", ALICE), ("username", &long), ("password", PASSWORD)],
            "username",
            "at most 64 characters",
        ),
        (
            [("email", ALICE), ("username", "Bob"), ("password", "ninechars")],
            "password",
            "at least 10 characters",
        ),
        ([("email", ALICE), ("username", "Bob"), ("password", ALICE)], "password", "other than your email"),
    ] {
        let answer = world.fill_in(&page, &fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        let tied = format!("id=\"{id}-error\" role=\"alert\"");
        assert!(answer.body.contains(&tied) && answer.body.contains(sentence), "{}", answer.body);
        let [(_, email), (_, username), _] = fields;
        assert!(answer.body.contains(&format!("value=\"{email}\"")));
        assert!(answer.body.contains(&format!("value=\"{username}\"")));
        assert!(!answer.body.contains("ninechars"));
    }
}

#[tokio::test]
async fn where_nobody_may_register_the_page_says_so_and_no_link_leads_to_it() {
    let world = World::of(|config| config.registration.enabled = false).await;
    let login = world.get(&world.at("/ui/login").await).await;
    assert!(!login.body.contains("/ui/registration"), "{}", login.body);
    let page = world.at("/ui/registration").await;
    let shown = world.get(&page).await;
    assert_eq!(shown.status, StatusCode::FORBIDDEN);
    assert!(shown.body.contains("New accounts cannot be made here") && !shown.body.contains("<form"));
    let (challenge, csrf) = (login.field("login_challenge"), login.field("csrf"));
    let hidden = [("login_challenge", challenge.as_str()), ("csrf", csrf.as_str())];
    let typed = [("email", ALICE), ("password", PASSWORD)];
    let refused = world.post("/ui/registration", &[hidden, typed].concat()).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.body.contains("New accounts cannot be made here"), "{}", refused.body);
}

#[tokio::test]
async fn where_taken_addresses_are_concealed_new_ones_look_the_same() {
    let world = World::of(|config| config.registration.conceal_taken = true).await;
    let page = world.at("/ui/registration").await;
    let fields = [("email", ALICE), ("password", PASSWORD)];
    let first = world.fill_in(&page, &fields).await;
    let code = mailed_code(world.mail.read().await.first().unwrap());
    let second = world.fill_in(&page, &fields).await;
    assert_eq!((first.status, second.status), (StatusCode::SEE_OTHER, StatusCode::SEE_OTHER));
    let leads = [&first, &second].map(|answer| answer.header("location").len());
    assert_eq!(leads[0], leads[1]);
    let (first, second) = (world.follow(first).await, world.follow(second).await);
    assert_eq!((first.status, second.status), (StatusCode::OK, StatusCode::OK));
    assert_eq!(first.body, second.body);
    assert!(first.body.contains("Check your mail") && first.header("refresh").is_empty());
    assert!(first.body.contains("<script src=\"/ui/sluice.js?v="), "its code is sent once: {}", first.body);
    assert!(first.header("content-security-policy").contains("script-src 'self';"));

    let csrf = first.field("csrf");
    let challenge = first.field("login_challenge");
    let fields =
        [("login_challenge", challenge.as_str()), ("csrf", &csrf), ("email", ALICE), ("code", &code)];
    let verified = world.post("/ui/verification", &fields).await;
    assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
    let next = verified.after("<a class=\"button button-primary\" href=\"");
    let login = world.fill_in(&next, &[("email", ALICE), ("password", PASSWORD)]).await;
    let alice = world.accepted(&login).await.subject.as_str().parse().unwrap();
    assert!(world.identity(alice).await.email_verified_at.is_some());
}

/// It would tell somebody who has just registered that somebody, perhaps they, tried to.
#[tokio::test]
async fn the_page_after_a_concealed_registration_is_loaded_again_and_registers_nobody_anew() {
    let world = World::of(|config| config.registration.conceal_taken = true).await;
    let page = world.at("/ui/registration").await;
    let taken = world.fill_in(&page, &[("email", " Alice@Example.com "), ("password", PASSWORD)]).await;
    let here = taken.header("location");
    assert!(here.starts_with(&format!("{page}&mailed=")) && !here.to_lowercase().contains("alice"), "{here}");
    for _ in 0..3 {
        let shown = world.get(here).await;
        assert!(shown.status == StatusCode::OK && shown.body.contains("Check your mail"), "{}", shown.body);
        assert_eq!(shown.field("email"), "Alice@Example.com");
    }
    assert_eq!(world.mail.read().await.len(), 1);
    // What another flow of the browser, or another page, was told is not told here.
    let recovery = world.get("/ui/recovery").await.field("csrf");
    let asked = world.post("/ui/recovery", &[("csrf", &recovery), ("email", "bob@example.com")]).await;
    let foreign = asked.header("location").split_once('?').unwrap().1;
    let (other, told) = (world.at("/ui/registration").await, here.strip_prefix(&page).unwrap());
    for foreign in [format!("{page}&{foreign}"), format!("{other}{told}")] {
        let shown = world.get(&foreign).await;
        let is_told = ["Alice@", "bob@"].iter().any(|email| shown.body.contains(email));
        assert!(shown.body.contains("Create your account") && !is_told, "{}", shown.body);
    }
}

#[tokio::test]
async fn many_registrations_from_one_network_have_to_wait() {
    let world = World::of(|config| {
        config.limits.registrations_per_network = Some(Rate::per_hour(1));
        config.limits.exempt.clear();
    })
    .await;
    let page = world.at("/ui/registration").await;
    world.fill_in(&page, &[("email", ALICE), ("password", PASSWORD)]).await;
    let next = world.fill_in(&page, &[("email", "bob@example.com"), ("password", PASSWORD)]).await;
    assert_eq!(next.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(!next.header("retry-after").is_empty());
}

#[tokio::test]
async fn a_new_account_is_not_enough_where_two_factors_are_asked_for() {
    let world = World::new().await;
    let request = sluice_oauth::flow::Request { acr_values: Some("aal2".to_owned()), ..world.request() };
    let page = world.at_with("/ui/registration", request, None).await;
    let answer = world.fill_in(&page, &[("email", ALICE), ("password", PASSWORD)]).await;
    assert_eq!(world.rejected_behind(&answer).await, "unmet_authentication_requirements");
}
