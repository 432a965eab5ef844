//! Logout.

use axum::body::Body;
use axum::http::{Request, StatusCode};

use super::world::{ALICE, World, form};

#[tokio::test]
async fn a_person_signs_out_or_stays() {
    let world = World::new().await;
    let alice = world.register_alice().await.to_string().parse().unwrap();
    let (page, session) = world.at_logout_of_session(alice).await;
    assert!(world.get_with(&page, &session).await.body.contains(ALICE));
    assert!(!world.get(&page).await.body.contains(ALICE), "an id token alone does not tell whose it is");
    let stays = world.fill_in(&page, &[("decision", "reject")]).await;
    assert_eq!(stays.status, StatusCode::OK);
    assert!(stays.body.contains("You are still signed in"));
    let leaves = world.fill_in(&page, &[("decision", "accept")]).await;
    assert!(!leaves.sent_with("logout_verifier").is_empty());
}

#[tokio::test]
async fn another_browser_cannot_sign_a_person_out() {
    let world = World::new().await;
    let page = world.at_logout("somebody".parse().unwrap()).await;
    let challenge = page.split_once('=').unwrap().1;
    let shown = world.send_without_cookie(Request::get(&page).body(Body::empty()).unwrap()).await;
    assert_eq!(shown.status, StatusCode::BAD_REQUEST);
    let forged = form("/ui/logout", &[("logout_challenge", challenge), ("decision", "accept")]);
    assert_eq!(world.send(forged).await.status, StatusCode::BAD_REQUEST);
}
