//! The audit trail of one life, as a server writes it that is a process: every line that `docs/operations.md` promises, once, and
//! nothing in the whole log that could be used or names anybody.
//!
//! [`life`]: whose life it is. [`trail`]: what the log says of it.

mod life;
mod trail;

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::Backend;

use super::people::{ALICE, ANOTHER, BOB, PASSWORD, Tokens};
use super::postbox::{code, token};
use crate::both_stores::on_both_stores;
use life::{GUESS, Life, NAME, NEW, NO_CODE, text};

on_both_stores!(a_life_is_told_line_by_line_and_without_its_secrets);

/// What a line of the trail is listed in.
const PAGE: &str = include_str!("../../../../../../docs/operations.md");

const TRAIL: &[&str] = &[
    // She joins.
    "person registered client.network=127.0.0.1 identity.id=alice",
    "code of a mail refused client.network=127.0.0.1 gone=false identity.id=alice purpose=VerifyEmail",
    "e-mail address verified identity.id=alice",
    "login refused client.network=127.0.0.1 identity.id=alice reason=wrong password",
    "login refused client.network=127.0.0.1 reason=unknown account",
    "login refused client.network=2001:db8:0:7:: identity.id=alice reason=wrong password",
    "login delayed client.network=2001:db8:0:7:: wait_ms=some",
    "password right client.network=127.0.0.1 identity.id=alice",
    "signed in amr=[\"pwd\"] identity.id=alice session.id=first",
    "username changed identity.id=alice",
    // She gets a second factor.
    "password right client.network=127.0.0.1 identity.id=alice",
    "signed in amr=[\"pwd\"] identity.id=alice session.id=second",
    "password right client.network=127.0.0.1 identity.id=alice",
    "factor enrolled factor.id=phone factor.kind=totp identity.id=alice",
    "signed out identity.id=alice session.id=second",
    "password right client.network=127.0.0.1 identity.id=alice",
    "second factor used client.network=127.0.0.1 factor=totp identity.id=alice",
    "second factor right client.network=127.0.0.1 factor=totp identity.id=alice",
    "signed in amr=[\"pwd\", \"otp\", \"mfa\"] identity.id=alice session.id=third",
    "password right client.network=127.0.0.1 identity.id=alice",
    "recovery codes made identity.id=alice",
    // Somebody has her refresh token.
    "WARN refresh token reused: session ended identity.id=alice session.id=third",
    "password right client.network=127.0.0.1 identity.id=alice",
    "second factor right client.network=127.0.0.1 factor=recovery code identity.id=alice",
    "signed in amr=[\"pwd\", \"mfa\"] identity.id=alice session.id=fourth",
    // She moves.
    "password right client.network=127.0.0.1 identity.id=alice",
    "password changed client.network=127.0.0.1 identity.id=alice",
    "password right client.network=127.0.0.1 identity.id=alice",
    "another e-mail address asked for client.network=127.0.0.1 identity.id=alice",
    "e-mail address changed client.network=127.0.0.1 identity.id=alice",
    // She signs out here and there.
    "password right client.network=127.0.0.1 identity.id=alice",
    "second factor right client.network=127.0.0.1 factor=recovery code identity.id=alice",
    "signed in amr=[\"pwd\", \"mfa\"] identity.id=alice session.id=sixth",
    "signed out of all other sessions identity.id=alice session.id=fifth",
    "password right client.network=127.0.0.1 identity.id=alice",
    "second factor right client.network=127.0.0.1 factor=recovery code identity.id=alice",
    "signed in amr=[\"pwd\", \"mfa\"] identity.id=alice session.id=seventh",
    "signed out identity.id=alice session.id=seventh",
    "password right client.network=127.0.0.1 identity.id=alice",
    "second factor right client.network=127.0.0.1 factor=recovery code identity.id=alice",
    "signed in amr=[\"pwd\", \"mfa\"] identity.id=alice session.id=eighth",
    "signed out identity.id=alice session.id=eighth",
    // She loses what she had.
    "password right client.network=127.0.0.1 identity.id=alice",
    "factor removed factor.id=phone factor.kind=totp identity.id=alice",
    "recovery asked for client.network=127.0.0.1",
    "recovery asked for client.network=127.0.0.1 identity.id=alice",
    "password set by recovery client.network=127.0.0.1 identity.id=alice",
    // Administrators look after her, and after somebody else.
    "password right client.network=127.0.0.1 identity.id=alice",
    "signed in amr=[\"pwd\"] identity.id=alice session.id=ninth",
    "password right client.network=127.0.0.1 identity.id=alice",
    "factor enrolled factor.id=tablet factor.kind=totp identity.id=alice",
    "factor removed factor.id=tablet factor.kind=totp identity.id=alice",
    "it was an administrator who removed the factor factor.id=tablet identity.id=alice",
    "identity changed by an administrator email=false email_verified=false identity.id=alice status=disabled username=false",
    "login refused client.network=127.0.0.1 identity.id=alice reason=disabled account",
    "identity changed by an administrator email=false email_verified=false identity.id=alice status=active username=false",
    "password right client.network=127.0.0.1 identity.id=alice",
    "signed in amr=[\"pwd\"] identity.id=alice session.id=tenth",
    "signed out identity.id=alice session.id=tenth",
    "signed out by an administrator identity.id=alice session.id=tenth",
    "signed out everywhere identity.id=alice",
    "signed out by an administrator identity.id=alice",
    "identity created by an administrator identity.id=bob",
    "credentials reset by an administrator identity.id=bob mail=false username=true",
    "identity deleted by an administrator identity.id=bob",
    // She leaves.
    "password right client.network=127.0.0.1 identity.id=alice",
    "signed in amr=[\"pwd\"] identity.id=alice session.id=eleventh",
    "password right client.network=127.0.0.1 identity.id=alice",
    "account deleted client.network=127.0.0.1 identity.id=alice",
];

async fn a_life_is_told_line_by_line_and_without_its_secrets(backend: Backend) {
    let mut life = Life::begin(backend).await;
    let first = joins(&mut life).await;
    let third = gets_a_second_factor(&mut life, &first).await;
    let fourth = is_stolen_from(&mut life, &third).await;
    let fifth = moves(&mut life, &fourth).await;
    signs_out(&mut life, &fifth).await;
    loses_what_she_had(&mut life, &fifth).await;
    is_administered(&mut life).await;
    leaves(&mut life).await;
    let (log, names, secrets) = life.end();
    assert_eq!(trail::of_people(&log, &names), TRAIL);
    assert_eq!(trail::leak(&log, &secrets), None);
    let is_listed = |line: &&&str| PAGE.contains(&format!("`{}`", trail::sentence(line)));
    assert_eq!(TRAIL.iter().find(|line| !is_listed(line)), None, "docs/operations.md does not list it");
}

async fn joins(life: &mut Life) -> Tokens {
    let id = life.api.register(ALICE).await;
    life.name(&id, "alice");
    let mail = life.letter("Confirm your email address for Sluice").await;
    let confirm = "/auth/verification/confirm";
    let wrong = life.api.post(confirm, json!({"email": ALICE, "code": NO_CODE})).await;
    wrong.is_problem(400, "wrong_code");
    life.api.post(confirm, json!({"token": token(&mail)})).await.is_done(204);
    life.api.log_in(ALICE, GUESS).await.is_problem(401, "invalid_credentials");
    life.api.log_in(BOB, GUESS).await.is_problem(401, "invalid_credentials");
    life.guessed_elsewhere().await.is_problem(401, "invalid_credentials");
    life.guessed_elsewhere().await.is_problem(429, "too_many_requests");
    let answer = life.api.log_in(ALICE, PASSWORD).await;
    let tokens = life.signed_in(&answer, "first").await;
    life.api.ask(Method::PATCH, "/auth/me", Some(&tokens), json!({"username": NAME})).await.ok();
    tokens
}

async fn gets_a_second_factor(life: &mut Life, first: &Tokens) -> Tokens {
    let answer = life.api.log_in(ALICE, PASSWORD).await;
    life.signed_in(&answer, "second").await;
    let (secret, shown) = life.enrol(first, "phone").await;
    let ticket = life.asked_for_more(ALICE, PASSWORD).await;
    // What was shown at the enrolment is not taken again.
    let again = life.api.post("/auth/login/factor", json!({"login_ticket": ticket, "totp": shown})).await;
    again.is_problem(401, "wrong_factor");
    let next = life.shown(&secret, 1);
    let answer = life.api.post("/auth/login/factor", json!({"login_ticket": ticket, "totp": next})).await;
    let third = life.signed_in(&answer, "third").await;
    let password = json!({"password": PASSWORD});
    let made = life.api.post_as(&third, "/auth/factors/recovery-codes", password).await;
    assert_eq!(made.status, 201, "{}", made.body);
    life.take_recovery_codes(&made.json());
    third
}

async fn is_stolen_from(life: &mut Life, third: &Tokens) -> Tokens {
    let refreshed = life.api.refresh(third).await;
    let mut next = life.noted(&refreshed);
    for _ in 0..2 {
        let refreshed = life.api.refresh(&next).await;
        next = life.noted(&refreshed);
    }
    // Three behind: nobody waits for an answer to that any more.
    life.api.refresh(third).await.is_problem(401, "invalid_refresh_token");
    life.signed_in_with_code((ALICE, PASSWORD), "fourth").await
}

async fn moves(life: &mut Life, fourth: &Tokens) -> Tokens {
    let change = json!({"current_password": PASSWORD, "new_password": ANOTHER});
    let answer = life.api.post_as(fourth, "/auth/password", change).await;
    let fifth = life.signed_in(&answer, "fifth").await;
    let change = json!({"email": NEW, "password": ANOTHER});
    life.api.post_as(&fifth, "/auth/email", change).await.is_done(202);
    let mail = life.letter("Confirm your new email address for Sluice").await;
    life.api.post_as(&fifth, "/auth/email/confirm", json!({"code": code(&mail)})).await.is_done(204);
    fifth
}

async fn signs_out(life: &mut Life, fifth: &Tokens) {
    life.signed_in_with_code((NEW, ANOTHER), "sixth").await;
    life.api.delete("/auth/sessions", fifth).await.is_done(204);
    life.signed_in_with_code((NEW, ANOTHER), "seventh").await;
    let seventh = format!("/auth/sessions/{}", life.id("seventh"));
    life.api.delete(&seventh, fifth).await.is_done(204);
    let eighth = life.signed_in_with_code((NEW, ANOTHER), "eighth").await;
    life.api.post("/auth/logout", json!({"refresh_token": eighth.refresh})).await.is_done(204);
}

async fn loses_what_she_had(life: &mut Life, fifth: &Tokens) {
    let phone = format!("/auth/factors/{}", life.id("phone"));
    life.api.ask(Method::DELETE, &phone, Some(fifth), json!({"password": ANOTHER})).await.is_done(204);
    for email in [BOB, NEW] {
        life.api.post("/auth/recovery", json!({"email": email})).await.is_done(202);
    }
    let mail = life.letter("Set a new password for Sluice").await;
    let confirm = json!({"email": NEW, "code": code(&mail), "new_password": PASSWORD});
    life.api.post("/auth/recovery/confirm", confirm).await.is_done(204);
}

async fn is_administered(life: &mut Life) {
    let answer = life.api.log_in(NEW, PASSWORD).await;
    let ninth = life.signed_in(&answer, "ninth").await;
    life.enrol(&ninth, "tablet").await;
    let tablet = format!("/factors/{}", life.id("tablet"));
    life.administer(Method::DELETE, "alice", &tablet, Value::Null).await;
    life.administer(Method::PATCH, "alice", "", json!({"status": "disabled"})).await;
    life.api.log_in(NEW, PASSWORD).await.is_problem(401, "invalid_credentials");
    life.administer(Method::PATCH, "alice", "", json!({"status": "active"})).await;
    let answer = life.api.log_in(NEW, PASSWORD).await;
    life.signed_in(&answer, "tenth").await;
    let tenth = format!("/sessions/{}", life.id("tenth"));
    life.administer(Method::DELETE, "alice", &tenth, Value::Null).await;
    life.administer(Method::DELETE, "alice", "/sessions", Value::Null).await;
    let bob = json!({"email": BOB, "username": "Robert", "password": PASSWORD});
    let made = life.admin.post("/admin/identities", bob).await;
    assert_eq!(made.status, 201, "{}", made.body);
    life.name(text(&made.json(), "id"), "bob");
    life.administer(Method::POST, "bob", "/credentials/reset", json!({})).await;
    life.administer(Method::DELETE, "bob", "", Value::Null).await;
}

async fn leaves(life: &mut Life) {
    let answer = life.api.log_in(NEW, PASSWORD).await;
    let last = life.signed_in(&answer, "eleventh").await;
    life.api.ask(Method::DELETE, "/auth/me", Some(&last), json!({"password": PASSWORD})).await.is_done(204);
}
