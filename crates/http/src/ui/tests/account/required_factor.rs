//! A second factor that is required, on the way to the account, and there.

use axum::http::StatusCode;
use sluice_identity::factor::FactorsRequired;
use sluice_primitives::Lifetime;

use super::Visitor;
use super::factors::FACTORS;
use crate::ui::tests::people::app_code;
use crate::ui::tests::world::{ALICE, Answer, World};

const LOGIN: &str = "/ui/account/login";

async fn that_requires_factors() -> World {
    let world = World::of(|config| config.factors_required = FactorsRequired::Always).await;
    world.verified_alice().await;
    world
}

fn secret(shown: &Answer) -> String {
    let text = shown.body.split_once("exhibit-secret\">").unwrap().1;
    text.split('<').next().unwrap().replace(' ', "")
}

#[tokio::test]
async fn nobody_is_signed_in_before_the_factor_is_there() {
    let world = that_requires_factors().await;
    let alice = Visitor::of(&world);
    let shown = alice.sign_in("/ui/account/login?then=sessions", ALICE).await;
    assert!(shown.body.contains("<h1>Set up a second factor</h1>"), "{}", shown.body);
    assert!(!alice.is_in().await);
    let wrong = alice.answer(&shown, LOGIN, &[("code", "000000")]).await;
    assert_eq!((wrong.status, alice.is_in().await), (StatusCode::UNPROCESSABLE_ENTITY, false));
    let code = app_code(&secret(&wrong), &world.clock);
    let done = alice.answer(&wrong, LOGIN, &[("code", &code)]).await;
    assert_eq!(done.body.matches("<li><code>").count(), 10, "{}", done.body);
    assert_eq!(done.after("<a class=\"button button-primary\" href=\""), "/ui/account/sessions");
    assert!(alice.is_in().await);
    let again = alice.answer(&wrong, LOGIN, &[("code", &code)]).await;
    assert!(!again.body.contains("<li><code>") && again.header("set-cookie").is_empty(), "{}", again.body);
    let list = alice.get(FACTORS).await;
    assert!(list.body.contains("You have 10 left."), "{}", list.body);
    world.clock.advance(Lifetime::secs(60));
    let next = Visitor::of(&world).sign_in(LOGIN, ALICE).await;
    assert!(next.body.contains("<h1>Confirm that it is you</h1>"), "{}", next.body);
}

#[tokio::test]
async fn a_ticket_is_of_no_use_in_another_browser() {
    let world = that_requires_factors().await;
    let (alice, thief) = (Visitor::of(&world), Visitor::of(&world));
    let shown = alice.sign_in(LOGIN, ALICE).await;
    let own = thief.sign_in(LOGIN, ALICE).await;
    let code = app_code(&secret(&own), &world.clock);
    let stolen = shown.field("ticket");
    let refused = thief.answer(&own, LOGIN, &[("ticket", stolen.as_str()), ("code", &code)]).await;
    assert!(refused.body.contains("That took too long") && !thief.is_in().await, "{}", refused.body);
}

/// A session of before does not begin anew without the factor, however often somebody shows the password.
#[tokio::test]
async fn who_is_to_show_once_more_who_it_is_sets_the_factor_up() {
    let world = World::of(|config| config.factors_required = FactorsRequired::Chosen).await;
    let person = world.verified_alice().await;
    let alice = Visitor::signed_in(&world).await;
    assert!(world.store_requires(person).await);
    assert!(alice.is_in().await, "it goes on");
    world.clock.advance(Lifetime::minutes(11));
    let asked = alice.get("/ui/account/factors/totp").await;
    assert_eq!(asked.header("location"), "/ui/account/confirm?then=factors%2Ftotp");
    let said = alice.follow(&asked).await;
    assert!(said.body.contains(">Sign in again</button>"), "{}", said.body);
    assert!(!said.body.contains("name=\"password\""), "{}", said.body);
    let foreign = alice.post("/ui/account/confirm", &[("then", "factors/totp")]).await;
    assert!(foreign.status.is_client_error(), "{}", foreign.body);
    assert!(alice.is_in().await, "no link ends it, and no form of another site");
    let led = alice.answer(&said, "/ui/account/confirm", &[]).await;
    assert_eq!(led.header("location"), "/ui/account/login?then=factors%2Ftotp");
    assert!(!alice.is_in().await);
    let shown = alice.sign_in(led.header("location"), ALICE).await;
    assert!(shown.body.contains("<h1>Set up a second factor</h1>"), "{}", shown.body);
}

#[tokio::test]
async fn the_last_factor_is_not_removed() {
    let world = that_requires_factors().await;
    let alice = Visitor::of(&world);
    let shown = alice.sign_in(LOGIN, ALICE).await;
    let code = app_code(&secret(&shown), &world.clock);
    alice.answer(&shown, LOGIN, &[("code", &code)]).await;
    let list = alice.get(FACTORS).await;
    let (csrf, factor) = (list.field("csrf"), list.field("factor"));
    for confirmed in ["", "true"] {
        let fields =
            [("csrf", csrf.as_str()), ("factor", &factor), ("decision", "remove"), ("confirmed", confirmed)];
        let kept = alice.post(FACTORS, &fields).await;
        assert_eq!(kept.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(kept.body.contains("You must have a second factor here"), "{}", kept.body);
    }
    assert!(alice.get(FACTORS).await.body.contains("You have 10 left."));
}
