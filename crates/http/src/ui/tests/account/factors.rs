//! Second factors, and signing in with them.

use std::net::IpAddr;

use axum::http::StatusCode;
use sluice_identity::factor::{EnrolmentOutcome, FactorCheck, FactorProof};
use sluice_primitives::Lifetime;
use sluice_store_contract::given;
use sluice_testkit::Authenticator;

use super::Visitor;
use crate::ui::tests::people::{ORIGIN, app_code, passkeys};
use crate::ui::tests::world::{ALICE, Answer, PASSWORD, World};

const TOTP: &str = "/ui/account/factors/totp";
pub(super) const FACTORS: &str = "/ui/account/factors";
/// What the link of a mail looks like.
const LINK: &str = "/ui/account/email/confirm?token=abc";

const PASSKEY: &str = "/ui/account/factors/passkey";
const CODES: &str = "/ui/account/factors/recovery-codes";
const TOOK_TOO_LONG: &str =
    "That took too long, or something about this account was changed. Nothing was added. Please begin anew.";

impl Visitor<'_> {
    /// Sends the form for new codes of the page that lists factors, or the one behind it, which has the same fields and one more.
    pub(super) async fn make_codes(&self, shown: &Answer) -> Answer {
        self.send_for_codes(shown, &[("confirmed", "true")]).await
    }

    async fn send_for_codes(&self, shown: &Answer, more: &[(&str, &str)]) -> Answer {
        let (csrf, revision) = (shown.field("csrf"), shown.field("revision"));
        let fields = [("csrf", csrf.as_str()), ("revision", revision.as_str())];
        self.post(CODES, &[&fields, more].concat()).await
    }
}

/// The secret that a page shows.
fn secret(shown: &Answer) -> String {
    let text = shown.body.split_once("exhibit-secret\">").unwrap().1;
    text.split('<').next().unwrap().replace(' ', "")
}

/// Alice with an authenticator app: its secret, and the recovery codes.
pub(super) async fn with_app(alice: &Visitor<'_>) -> (String, Vec<String>) {
    let shown = alice.get(TOTP).await;
    let secret = secret(&shown);
    let code = app_code(&secret, &alice.world.clock);
    let done = alice.answer(&shown, TOTP, &[("code", &code), ("name", "My phone")]).await;
    assert_eq!(done.status, StatusCode::OK, "{}", done.body);
    let codes = done.body.split("<li><code>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned());
    let codes = codes.collect();
    alice.world.clock.advance(Lifetime::secs(60));
    (secret, codes)
}

/// The authenticator with the passkey that Alice adds.
pub(super) async fn with_passkey(alice: &Visitor<'_>) -> Authenticator {
    let mut authenticator = Authenticator::in_hardware(1, ORIGIN);
    let shown = alice.get(PASSKEY).await;
    let made = alice.press(&shown, &mut authenticator, &[("name", "Key")]).await;
    assert_eq!(made.body.matches("<li><code>").count(), 10, "{}", made.body);
    alice.world.clock.advance(Lifetime::secs(60));
    authenticator
}

#[tokio::test]
async fn an_app_is_added_by_its_code_and_brings_recovery_codes_once() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    let shown = alice.get(TOTP).await;
    assert!(shown.body.contains("<svg") && shown.body.contains("otpauth://totp/"), "{}", shown.body);
    assert!(!shown.body.contains("style=\""));
    let wrong = alice.answer(&shown, TOTP, &[("code", "000000")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.body.contains("id=\"code-error\"") && wrong.body.contains("<summary>Show the code again"));
    assert!(!shown.body.contains("<details"), "{}", shown.body);
    assert_eq!(secret(&wrong), secret(&shown), "for who scanned it badly");
    let code = app_code(&secret(&wrong), &world.clock);
    let done = alice.answer(&wrong, TOTP, &[("code", &code), ("name", "My phone")]).await;
    assert_eq!(done.body.matches("<li><code>").count(), 10, "{}", done.body);
    let whose =
        format!("<bdi>{ALICE}</bdi>, made <time datetime=\"2025-06-15T15:06:40Z\">15 June 2025, 15:06 UTC");
    assert!(done.body.contains(&whose), "{}", done.body);
    assert!(done.body.contains("data-print") && done.body.contains("data-copy=\"sheet\""), "{}", done.body);
    assert!(done.header("content-security-policy").contains("script-src 'self';"));
    let list = alice.get(FACTORS).await;
    assert!(list.body.contains("<bdi>My phone</bdi>") && list.body.contains("You have 10 left."));
    let second = alice.get(TOTP).await;
    let code = app_code(&secret(&second), &world.clock);
    let done = alice.answer(&second, TOTP, &[("code", &code)]).await;
    assert!(alice.follow(&done).await.body.contains("It is added."), "a second one brings no codes");
}

/// Somebody else may have found the page open.
#[tokio::test]
async fn the_secret_of_an_app_is_shown_again_to_who_is_fresh_and_until_the_app_is_there() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    let wrong_code = async |shown: &Answer| {
        let wrong = alice.answer(shown, TOTP, &[("code", "000000")]).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", wrong.body);
        assert!(wrong.body.contains("id=\"code-error\""), "{}", wrong.body);
        wrong
    };
    with_app(&alice).await;
    let shown = alice.get(TOTP).await;
    let code = app_code(&secret(&shown), &world.clock);
    alice.answer(&shown, TOTP, &[("code", &code)]).await;
    let wrong = wrong_code(&shown).await;
    assert!(!wrong.body.contains("exhibit") && !wrong.body.contains("otpauth:"), "{}", wrong.body);

    let shown = alice.get(TOTP).await;
    assert_eq!(secret(&wrong_code(&shown).await), secret(&shown));
    world.clock.advance(Lifetime::minutes(10));
    let late = wrong_code(&shown).await;
    assert!(!late.body.contains("exhibit") && !late.body.contains("otpauth:"), "{}", late.body);
    let code = app_code(&secret(&shown), &world.clock);
    let done = alice.answer(&late, TOTP, &[("code", &code)]).await;
    assert!(alice.follow(&done).await.body.contains("It is added."), "the form is as good as before");
}

/// The session is another one by then, and the codes are not shown again.
#[tokio::test]
async fn who_loads_the_first_codes_again_sees_the_factor_that_is_there() {
    let world = World::new().await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let alice = Visitor::signed_in(&world).await;
    let shown = alice.get(TOTP).await;
    let code = app_code(&secret(&shown), &world.clock);
    alice.answer(&shown, TOTP, &[("code", &code)]).await;
    let again = alice.answer(&shown, TOTP, &[("code", &code)]).await;
    assert_eq!(again.status, StatusCode::GONE, "{}", again.body);
    for told in
        ["Recovery codes are shown once, when they are made", "You have 10 left.", "Authenticator app"]
    {
        assert!(again.body.contains(told), "{told}: {}", again.body);
    }
    assert_eq!(again.body.matches("<li><code>").count(), 0);
    assert_eq!(world.ui.factors.list(id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_form_of_another_session_adds_no_factor() {
    let world = World::new().await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let (alice, other) = (Visitor::signed_in(&world).await, Visitor::signed_in(&world).await);
    let shown = other.get(TOTP).await;
    let code = app_code(&secret(&shown), &world.clock);
    let refused = alice.answer(&shown, TOTP, &[("code", &code)]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.body);
    assert_eq!(refused.after("<a class=\"button button-primary\" href=\""), FACTORS);
    assert!(world.ui.factors.list(id).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_enrolment_that_took_too_long_begins_anew() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    let shown = alice.get(TOTP).await;
    let forged = alice.answer(&shown, TOTP, &[("ticket", "forged"), ("code", "123456")]).await;
    assert!(forged.body.contains(TOOK_TOO_LONG) && forged.body.contains("exhibit-secret"));
}

/// Whether the page says first that something did not go as it should.
fn warns(page: &Answer, sentence: &str) -> bool {
    page.body.contains(&format!("<div class=\"notice notice-danger\" role=\"alert\">\n        <p>{sentence}"))
}

/// What the app has read by then is of no use.
#[tokio::test]
async fn who_is_asked_again_who_it_is_reads_why_there_and_after_it() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    world.verify(world.register_alice().await).await;
    for (path, then) in [(TOTP, "factors%2Ftotp"), (PASSKEY, "factors%2Fpasskey")] {
        let alice = Visitor::signed_in(&world).await;
        let shown = alice.get(path).await;
        world.clock.advance(Lifetime::minutes(15));
        let late = if path == TOTP {
            let code = app_code(&secret(&shown), &world.clock);
            alice.answer(&shown, path, &[("code", &code)]).await
        } else {
            alice.press(&shown, &mut Authenticator::in_hardware(1, ORIGIN), &[("name", "Key")]).await
        };
        let confirm = format!("/ui/account/confirm?then={then}&notice=took-too-long&mark=");
        assert!(late.header("location").starts_with(&confirm), "{}", late.header("location"));
        let asked = alice.follow(&late).await;
        let wrong = alice.answer(&asked, "", &[("password", "wrong")]).await;
        let confirmed = alice.answer(&wrong, "", &[("password", PASSWORD)]).await;
        let anew = alice.follow(&confirmed).await;
        for page in [&asked, &wrong, &anew] {
            assert!(warns(page, TOOK_TOO_LONG), "{path}: {}", page.body);
        }
        assert!(anew.status == StatusCode::OK && anew.body.contains(&format!("action=\"{path}\"")));
        let elsewhere = Visitor::signed_in(&world).await.get(late.header("location")).await;
        assert!(
            elsewhere.status == StatusCode::OK && !elsewhere.body.contains(TOOK_TOO_LONG),
            "of one session"
        );
    }
}

/// The device may keep it all the same.
#[tokio::test]
async fn who_is_asked_again_after_a_passkey_that_was_not_taken_reads_that_it_was_not_added() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    world.clock.advance(Lifetime::minutes(8));
    let shown = alice.get(PASSKEY).await;
    world.clock.advance(Lifetime::minutes(4));
    let refused = alice.answer(&shown, PASSKEY, &[("passkey", "{}")]).await;
    let confirm = "/ui/account/confirm?then=factors%2Fpasskey&notice=not-added&mark=";
    assert!(refused.header("location").starts_with(confirm), "{}", refused.header("location"));
    let asked = alice.follow(&refused).await;
    let confirmed = alice.answer(&asked, "", &[("password", PASSWORD)]).await;
    let anew = alice.follow(&confirmed).await;
    for page in [&asked, &anew] {
        assert!(warns(page, "It could not be added. Please begin anew."), "{}", page.body);
    }
    assert!(anew.status == StatusCode::OK && anew.body.contains(&format!("action=\"{PASSKEY}\"")));
}

/// So does the script that finds the page too old to have a passkey made.
#[tokio::test]
async fn a_passkey_without_its_ceremony_begins_anew_and_what_was_typed_stays() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    let shown = alice.get(PASSKEY).await;
    let told: serde_json::Value = serde_json::from_str(&shown.after("data-options=\"")).unwrap();
    assert_eq!(told["publicKey"]["timeout"], 300_000, "by which the script goes");
    let fields = [("passkey_state", ""), ("passkey", ""), ("name", "My key")];
    let anew = alice.answer(&shown, PASSKEY, &fields).await;
    assert_eq!(anew.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(anew.body.contains(TOOK_TOO_LONG) && anew.body.contains("value=\"My key\""), "{}", anew.body);
    let mut authenticator = Authenticator::in_hardware(1, ORIGIN);
    let made = alice.press(&anew, &mut authenticator, &[("name", "My key")]).await;
    assert_eq!(made.body.matches("<li><code>").count(), 10, "{}", made.body);
}

#[tokio::test]
async fn an_enrolment_goes_on_when_the_sign_in_was_long_ago_but_begins_no_other() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let alice = Visitor::signed_in(&world).await;
    world.clock.advance(Lifetime::minutes(8));
    let (shown, asked) = (alice.get(TOTP).await, alice.get(PASSKEY).await);
    world.clock.advance(Lifetime::minutes(4));
    for (page, path) in [(&shown, TOTP), (&asked, PASSKEY)] {
        let forged =
            [("ticket", "forged"), ("code", "123456"), ("passkey_state", "forged"), ("passkey", "{}")];
        let sent = alice.answer(page, path, &forged).await;
        let then = path.strip_prefix("/ui/account/").unwrap().replace('/', "%2F");
        let asked = format!("/ui/account/confirm?then={then}&");
        assert!(sent.header("location").starts_with(&asked), "{}", sent.header("location"));
    }
    let mut authenticator = Authenticator::in_hardware(1, ORIGIN);
    let made = alice.press(&asked, &mut authenticator, &[("name", "Key")]).await;
    assert_eq!(made.body.matches("<li><code>").count(), 10, "{}", made.body);
    assert_eq!(world.ui.factors.list(id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_code_of_an_app_is_taken_when_the_sign_in_was_long_ago() {
    let world = World::new().await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let alice = Visitor::signed_in(&world).await;
    let shown = alice.get(TOTP).await;
    world.clock.advance(Lifetime::minutes(11));
    let code = app_code(&secret(&shown), &world.clock);
    let done = alice.answer(&shown, TOTP, &[("code", &code)]).await;
    assert_eq!(done.body.matches("<li><code>").count(), 10, "{}", done.body);
    assert_eq!(world.ui.factors.list(id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn whoever_has_an_app_is_asked_for_it_at_sign_in() {
    let world = World::new().await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let (secret, codes) = with_app(&Visitor::signed_in(&world).await).await;
    let visitor = Visitor::of(&world);
    let asked = visitor.sign_in("/ui/account/login?then=sessions", ALICE).await;
    assert!(asked.status == StatusCode::OK && !visitor.is_in().await);
    let wrong = visitor.answer(&asked, "", &[("code", "000000")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let code = app_code(&secret, &world.clock);
    let right = visitor.answer(&wrong, "", &[("code", &code)]).await;
    assert_eq!(right.header("location"), "/ui/account/sessions", "{}", right.body);
    let session = world.ui.accounts.sessions.list(id).await.unwrap().remove(0);
    assert_eq!(session.amr, ["pwd", "otp", "mfa"]);
    let other = Visitor::of(&world);
    let asked = other.sign_in("/ui/account/login", ALICE).await;
    let stolen = visitor.answer(&asked, "", &[("recovery_code", &codes[0])]).await;
    assert!(stolen.status.is_client_error(), "a ticket is of one browser");
    let right = other.answer(&asked, "", &[("recovery_code", &codes[0])]).await;
    assert_eq!(right.header("location"), "/ui/account");
    let again = other.answer(&asked, "", &[("recovery_code", &codes[0])]).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY, "a recovery code is good once");
}

#[tokio::test]
async fn the_token_of_a_link_is_still_there_after_a_second_factor() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let (secret, _) = with_app(&Visitor::signed_in(&world).await).await;
    let visitor = Visitor::of(&world);
    let sent = visitor.get(LINK).await;
    let asked = visitor.sign_in(sent.header("location"), ALICE).await;
    let wrong = visitor.answer(&asked, "", &[("code", "000000")]).await;
    let anew = wrong.body.contains("href=\"/ui/account/login?then=email%2Fconfirm&#38;token=abc\"");
    assert!(anew, "{}", wrong.body);
    let code = app_code(&secret, &world.clock);
    let right = visitor.answer(&wrong, "", &[("code", &code)]).await;
    assert_eq!(right.header("location"), LINK, "{}", right.body);
}

#[tokio::test]
async fn the_token_of_a_link_is_still_there_after_a_passkey() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    world.verify(world.register_alice().await).await;
    let mut authenticator = with_passkey(&Visitor::signed_in(&world).await).await;
    let visitor = Visitor::of(&world);
    let shown = visitor.follow(&visitor.get(LINK).await).await;
    let done = visitor.press(&shown, &mut authenticator, &[]).await;
    assert_eq!(done.header("location"), LINK, "{}", done.body);
}

#[tokio::test]
async fn a_factor_gets_another_name_and_is_removed() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    with_app(&alice).await;
    let page = alice.get(FACTORS).await;
    let renamed = alice.answer(&page, FACTORS, &[("name", "Old phone"), ("decision", "rename")]).await;
    assert!(alice.follow(&renamed).await.body.contains("<bdi>Old phone</bdi>"));
    world.clock.advance(Lifetime::minutes(10));
    let stale = alice.answer(&page, FACTORS, &[("decision", "remove")]).await;
    assert_eq!(stale.header("location"), "/ui/account/confirm?then=factors");
    alice.fill_in("/ui/account/confirm?then=factors", &[("password", PASSWORD)]).await;
    let page = alice.get(FACTORS).await;
    let asked = alice.answer(&page, FACTORS, &[("decision", "remove")]).await;
    let removed = alice.answer(&asked, "", &[]).await;
    let shown = alice.follow(&removed).await;
    assert!(shown.body.contains("It is removed.") && shown.body.contains("You have none yet."));
}

/// Whether the page asks before it does something, and with a link to where nothing is done.
fn asks(page: &Answer, title: &str, keep: &str) -> bool {
    let link = format!("<a class=\"button\" href=\"{FACTORS}\">{keep}</a>");
    let asks = page.body.contains(&format!("<h1>{title}</h1>")) && page.body.contains(&link);
    page.status == StatusCode::OK && asks && page.body.contains("class=\"button button-danger\"")
}

#[tokio::test]
async fn before_a_factor_is_removed_it_is_said_what_goes_with_it() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let alice = Visitor::signed_in(&world).await;
    with_passkey(&alice).await;
    let asked = alice.answer(&alice.get(FACTORS).await, FACTORS, &[("decision", "remove")]).await;
    assert!(asks(&asked, "Remove this passkey?", "Keep it"), "{}", asked.body);
    for lost in ["You cannot sign in with “Key” any more.", "Your account then has no second factor"] {
        assert!(asked.body.contains(lost), "{lost}: {}", asked.body);
    }
    let shown = alice.get(TOTP).await;
    let code = app_code(&secret(&shown), &world.clock);
    alice.answer(&shown, TOTP, &[("code", &code), ("name", "<i>Phone")]).await;
    let factors = world.ui.factors.list(id).await.unwrap();
    let app = factors.iter().find(|factor| factor.name == "<i>Phone").unwrap().id.to_string();
    let csrf = alice.get(FACTORS).await.field("csrf");
    let fields = [("csrf", csrf.as_str()), ("factor", &app), ("decision", "remove")];
    let asked = alice.post(FACTORS, &fields).await;
    assert!(asks(&asked, "Remove this authenticator app?", "Keep it"), "{}", asked.body);
    for lost in ["Codes of “&#60;i&#62;Phone” are", "What else you have, and your recovery codes, stay."]
    {
        assert!(asked.body.contains(lost), "{lost}: {}", asked.body);
    }
    assert_eq!(world.ui.factors.list(id).await.unwrap().len(), 2, "nothing is done yet");
    let removed = alice.answer(&asked, "", &[]).await;
    assert!(alice.follow(&removed).await.body.contains("It is removed."));
    let left = world.ui.factors.list(id).await.unwrap();
    assert_eq!(left.iter().map(|factor| factor.name.as_str()).collect::<Vec<_>>(), ["Key"]);
    assert_eq!(world.ui.factors.recovery_codes_left(id).await.unwrap(), 10);
}

#[tokio::test]
async fn before_new_codes_are_made_it_is_said_that_the_old_ones_are_good_for_nothing_then() {
    let world = World::new().await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let alice = Visitor::signed_in(&world).await;
    let (_, old) = with_app(&alice).await;
    let asked = alice.send_for_codes(&alice.get(FACTORS).await, &[]).await;
    assert!(asks(&asked, "Make new recovery codes?", "Keep them"), "{}", asked.body);
    let lost = "The 10 codes that you have left are good for nothing then.";
    assert!(asked.body.contains(lost), "{}", asked.body);
    // Nothing is done yet.
    let visitor = Visitor::of(&world);
    let step = visitor.sign_in("/ui/account/login", ALICE).await;
    let right = visitor.answer(&step, "", &[("recovery_code", &old[0])]).await;
    assert_eq!(right.header("location"), "/ui/account", "{}", right.body);
    let asked = alice.send_for_codes(&alice.get(FACTORS).await, &[]).await;
    assert!(asked.body.contains("The 9 codes that you have left"), "{}", asked.body);
    let made = alice.answer(&asked, "", &[]).await;
    assert_eq!(made.body.matches("<li><code>").count(), 10, "{}", made.body);
    assert!(old.iter().all(|code| !made.body.contains(code.as_str())));
}

#[tokio::test]
async fn who_has_used_all_codes_makes_new_ones_without_a_question() {
    let world = World::of(|config| config.limits.codes_per_account = None).await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let alice = Visitor::signed_in(&world).await;
    let (_, codes) = with_app(&alice).await;
    let (identity, network) = (world.identity(id).await, IpAddr::from([192, 0, 2, 1]).into());
    for code in &codes {
        let proof = FactorProof::RecoveryCode(code);
        let spent = world.ui.factors.check(&identity, proof, b"", network).await.unwrap();
        assert!(matches!(spent, FactorCheck::Right(_)), "{code}");
    }
    let shown = alice.get(FACTORS).await;
    assert!(shown.body.contains("You have none left."), "{}", shown.body);
    let made = alice.send_for_codes(&shown, &[]).await;
    assert_eq!(made.body.matches("<li><code>").count(), 10, "{}", made.body);
}

#[tokio::test]
async fn a_factor_is_renamed_so_often_and_then_the_page_says_when_again() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    with_app(&alice).await;
    let page = alice.get(FACTORS).await;
    let rename = async || alice.answer(&page, FACTORS, &[("name", "Phone"), ("decision", "rename")]).await;
    let mut answer = rename().await;
    let mut renamed = 0;
    while answer.status == StatusCode::SEE_OTHER && renamed < 100 {
        renamed += 1;
        answer = rename().await;
    }
    assert_eq!((renamed, answer.status), (60, StatusCode::TOO_MANY_REQUESTS));
    assert!(
        answer.body.contains("There were too many attempts.") && !answer.header("retry-after").is_empty()
    );
}

#[tokio::test]
async fn new_recovery_codes_take_the_place_of_the_old_ones() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    let csrf = alice.get(FACTORS).await.field("csrf");
    for revision in ["", "1", "2"] {
        let none = alice.post(CODES, &[("csrf", &csrf), ("revision", revision)]).await;
        assert_eq!(none.header("location"), FACTORS, "without a factor there are none");
    }
    let (_, old) = with_app(&alice).await;
    let made = alice.make_codes(&alice.get(FACTORS).await).await;
    assert_eq!(made.body.matches("<li><code>").count(), 10);
    assert!(old.iter().all(|code| !made.body.contains(code.as_str())));
    let shown = alice.get(FACTORS).await;
    world.clock.advance(Lifetime::minutes(10));
    let stale = alice.make_codes(&shown).await;
    assert_eq!(stale.header("location"), "/ui/account/confirm?then=factors");
}

#[tokio::test]
async fn who_loads_new_codes_again_makes_no_others() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    with_app(&alice).await;
    let shown = alice.get(FACTORS).await;
    let made = alice.make_codes(&shown).await;
    let code = made.body.split_once("<li><code>").unwrap().1.split('<').next().unwrap();
    for _ in 0..2 {
        let again = alice.make_codes(&shown).await;
        assert_eq!(again.status, StatusCode::GONE, "{}", again.body);
        assert!(again.body.contains("You have 10 left.") && !again.body.contains("<li><code>"));
        assert!(
            again.body.contains("This page was out of date. Recovery codes are shown once"),
            "{}",
            again.body
        );
    }
    let visitor = Visitor::of(&world);
    let asked = visitor.sign_in("/ui/account/login", ALICE).await;
    let right = visitor.answer(&asked, "", &[("recovery_code", code)]).await;
    assert_eq!(right.header("location"), "/ui/account", "what was written down is good: {}", right.body);
}

#[tokio::test]
async fn nobody_changes_the_factor_of_somebody_else() {
    let world = World::new().await;
    world.verify(world.register_alice().await).await;
    let alice = Visitor::signed_in(&world).await;
    let bob = world.register_bob().await;
    world.verify(bob).await;
    let bob = world.identity(bob).await;
    let begun = world.ui.factors.begin_totp(&bob);
    let code = app_code(&begun.secret_base32, &world.clock);
    let shown = alice.get(TOTP).await;
    let stolen = alice.answer(&shown, TOTP, &[("ticket", &begun.ticket), ("code", &code)]).await;
    assert!(stolen.body.contains("Please begin anew."), "a ticket enrols for its own person only");
    let enrolled =
        world.ui.factors.confirm_totp(given::enroller(&bob), &begun.ticket, &code, "Bob's").await.unwrap();
    let EnrolmentOutcome::Enrolled(enrolled) = enrolled else { panic!("{enrolled:?}") };
    let (csrf, factor) = (alice.get(FACTORS).await.field("csrf"), enrolled.factor.to_string());
    for (decision, confirmed) in [("rename", ""), ("remove", ""), ("remove", "true")] {
        let which = [("csrf", csrf.as_str()), ("factor", &factor), ("name", "Mine")];
        let fields = [&which[..], &[("decision", decision), ("confirmed", confirmed)]].concat();
        assert_eq!(alice.post(FACTORS, &fields).await.header("location"), FACTORS);
    }
    let bobs = world.ui.factors.list(bob.id).await.unwrap();
    assert_eq!((bobs.len(), bobs[0].name.as_str()), (1, "Bob's"));
}

#[tokio::test]
async fn a_passkey_is_added_and_signs_in_alone() {
    let world = World::of(|config| config.passkeys = Some(passkeys())).await;
    let id = world.register_alice().await;
    world.verify(id).await;
    let alice = Visitor::signed_in(&world).await;
    let mut authenticator = with_passkey(&alice).await;
    assert!(alice.get(FACTORS).await.body.contains("<bdi>Key</bdi>"));
    world.clock.advance(Lifetime::minutes(10));
    let asked = alice.get("/ui/account/confirm?then=factors/passkey").await;
    let confirmed = alice.press(&asked, &mut authenticator, &[]).await;
    assert_eq!(confirmed.header("location"), "/ui/account/factors/passkey", "{}", confirmed.body);
    world.clock.advance(Lifetime::secs(60));
    let visitor = Visitor::of(&world);
    let shown = visitor.get("/ui/account/login").await;
    assert!(shown.body.contains("autocomplete=\"username webauthn\""));
    let done = visitor.press(&shown, &mut authenticator, &[]).await;
    assert_eq!(done.header("location"), "/ui/account", "{}", done.body);
    let session = world.ui.accounts.sessions.list(id).await.unwrap().remove(0);
    assert_eq!(session.amr, ["hwk", "user", "mfa"]);
    let again = visitor.answer(&shown, "", &[("passkey", "{}")]).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
}
