//! The way back in without the password.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use sluice_oauth::flow::BindingKey;
use sluice_primitives::{Lifetime, OsRng};

use super::people::{mailed_code, mailed_link};
use super::world::{ALICE, Answer, PASSWORD, World, form};
use crate::ui::visit::encode_token;

const NEW: &str = "another horse";
const STRANGER: &str = "stranger@example.com";

/// A page without what is sealed anew each time: an address that a link takes along.
fn apart_from_seals(page: &str) -> String {
    let mut parts = page.split("mailed=");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| before + part.split_once('"').map_or("", |(_, after)| after))
}

impl World {
    /// Asks for a mail to this address, without going where that leads.
    async fn ask_for_mail(&self, email: &str) -> Answer {
        let csrf = self.get("/ui/recovery").await.field("csrf");
        self.post("/ui/recovery", &[("csrf", csrf.as_str()), ("email", email)]).await
    }

    /// Asks for a mail to this address.
    async fn recover(&self, email: &str) -> Answer {
        self.follow(self.ask_for_mail(email).await).await
    }

    /// Alice, who has read her mail and asked for another.
    async fn forgetful() -> (Self, Answer) {
        let world = Self::new().await;
        world.register_alice().await;
        world.mail.read().await;
        let asked = world.recover(ALICE).await;
        assert_eq!(asked.status, StatusCode::OK, "{}", asked.body);
        (world, asked)
    }

    async fn log_in_with(&self, password: &str) -> StatusCode {
        let page = self.at("/ui/login").await;
        self.fill_in(&page, &[("email", ALICE), ("password", password)]).await.status
    }
}

#[tokio::test]
async fn the_code_of_the_mail_leads_to_another_password_and_signs_nobody_in() {
    let (world, asked) = World::forgetful().await;
    let code = mailed_code(world.mail.read().await.first().unwrap()).to_lowercase();
    let csrf = asked.field("csrf");
    let fields = [("csrf", csrf.as_str()), ("email", ALICE), ("code", &code)];
    let chosen = world.post("/ui/recovery/code", &fields).await;
    assert_eq!(chosen.status, StatusCode::OK, "{}", chosen.body);
    let ticket = chosen.field("ticket");
    let weak = [("csrf", csrf.as_str()), ("ticket", &ticket), ("password", "short")];
    let weak = world.post("/ui/recovery/password", &weak).await;
    assert_eq!(weak.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(weak.body.contains("id=\"password-error\" role=\"alert\">Choose a password of at least 8"));
    let fields = [("csrf", csrf.as_str()), ("ticket", &weak.field("ticket")), ("password", NEW)];
    let set = world.post("/ui/recovery/password", &fields).await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.body);
    assert!(set.body.contains("Your password is set") && set.header("set-cookie").is_empty());
    assert!(set.body.contains("href=\"https://id.example/ui/account\""), "{}", set.body);
    assert_eq!(world.log_in_with(NEW).await, StatusCode::OK);
    assert_eq!(world.log_in_with(PASSWORD).await, StatusCode::UNPROCESSABLE_ENTITY);
}

/// The second click of two would send a code that the first has spent.
#[tokio::test]
async fn the_forms_of_mailed_codes_have_the_script_that_sends_them_once() {
    let (world, asked) = World::forgetful().await;
    for shown in [asked, world.get("/ui/recovery").await, world.get("/ui/verification").await] {
        assert!(shown.body.contains("<script src=\"/ui/sluice.js?v="), "{}", shown.body);
        assert!(shown.header("content-security-policy").contains("script-src 'self';"));
    }
}

#[tokio::test]
async fn the_form_for_the_password_names_the_account_to_password_managers() {
    let (world, asked) = World::forgetful().await;
    let mails = world.mail.read().await;
    let mail = mails.first().unwrap();
    let account = |shown: &Answer| {
        assert!(shown.body.contains(&format!("For <bdi>{ALICE}</bdi>.")), "{}", shown.body);
        assert!(shown.body.contains("autocomplete=\"username\" readonly"), "{}", shown.body);
        shown.after("name=\"username\" type=\"text\" value=\"")
    };
    assert_eq!(account(&world.get(&mailed_link(mail)).await), ALICE);
    let (csrf, code) = (asked.field("csrf"), mailed_code(mail));
    let fields = [("csrf", csrf.as_str()), ("email", ALICE), ("code", &code)];
    let chosen = world.post("/ui/recovery/code", &fields).await;
    assert_eq!(account(&chosen), ALICE);
    let ticket = chosen.field("ticket");
    let weak = [("csrf", csrf.as_str()), ("ticket", &ticket), ("username", ALICE), ("password", "short")];
    let weak = world.post("/ui/recovery/password", &weak).await;
    assert_eq!((weak.status, account(&weak).as_str()), (StatusCode::UNPROCESSABLE_ENTITY, ALICE));
}

#[tokio::test]
async fn a_link_spends_nothing_until_the_form_behind_it_is_sent_and_then_works_once() {
    let (world, _) = World::forgetful().await;
    let link = mailed_link(world.mail.read().await.first().unwrap());
    for _ in 0..3 {
        assert_eq!(world.get(&link).await.status, StatusCode::OK);
    }
    let shown = world.get(&link).await;
    let (csrf, token) = (shown.field("csrf"), shown.field("token"));
    let fields = [("csrf", csrf.as_str()), ("token", &token), ("password", NEW)];
    assert_eq!(world.post("/ui/recovery/password", &fields).await.status, StatusCode::OK);
    let again = world.post("/ui/recovery/password", &fields).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.body.contains("was used already, or is too old"), "{}", again.body);
}

#[tokio::test]
async fn a_link_that_is_good_no_more_says_so_before_a_password_is_asked_for() {
    let (world, _) = World::forgetful().await;
    let first = mailed_link(world.mail.read().await.first().unwrap());
    world.recover(ALICE).await;
    let second = mailed_link(world.mail.read().await.first().unwrap());
    let is_gone = async |link: &str| {
        let shown = world.get(link).await;
        let says = shown.body.contains("was used already, or is too old");
        assert_eq!(says, shown.status == StatusCode::GONE, "{}", shown.body);
        assert_eq!(says, !shown.body.contains("Set a new password"), "{}", shown.body);
        says
    };
    assert!(is_gone("/ui/recovery?token=garbage").await && is_gone(&first).await && !is_gone(&second).await);
    assert!(world.get(&first).await.body.contains("a newer mail took its place"));
    let shown = world.get(&second).await;
    let (csrf, token) = (shown.field("csrf"), shown.field("token"));
    let fields = [("csrf", csrf.as_str()), ("token", &token), ("password", NEW)];
    assert_eq!(world.post("/ui/recovery/password", &fields).await.status, StatusCode::OK);
    assert!(is_gone(&second).await, "spent");
    world.recover(ALICE).await;
    let mails = world.mail.read().await;
    let third = mailed_link(mails.iter().find(|mail| mail.text.contains("?token=")).unwrap());
    assert!(!is_gone(&third).await);
    world.clock.advance(Lifetime::minutes(15));
    assert!(is_gone(&third).await, "expired");
}

#[tokio::test]
async fn a_weak_password_behind_a_link_does_not_cost_the_link() {
    let (world, _) = World::forgetful().await;
    let shown = world.get(&mailed_link(world.mail.read().await.first().unwrap())).await;
    let (csrf, token) = (shown.field("csrf"), shown.field("token"));
    let weak = [("csrf", csrf.as_str()), ("token", &token), ("password", "short")];
    let weak = world.post("/ui/recovery/password", &weak).await;
    let fields = [("csrf", csrf.as_str()), ("ticket", &weak.field("ticket")), ("password", NEW)];
    assert_eq!(world.post("/ui/recovery/password", &fields).await.status, StatusCode::OK);
}

#[tokio::test]
async fn nobody_learns_whether_there_is_an_account() {
    let (world, known) = World::forgetful().await;
    let unknown = world.recover(STRANGER).await;
    assert_eq!(unknown.status, known.status);
    assert_eq!(apart_from_seals(&unknown.body.replace(STRANGER, ALICE)), apart_from_seals(&known.body));
    assert_eq!(world.mail.read().await.len(), 1);
    let csrf = known.field("csrf");
    let mut pages = Vec::new();
    for email in [ALICE, STRANGER] {
        let fields = [("csrf", csrf.as_str()), ("email", email), ("code", "AAAA-AAAA")];
        let wrong = world.post("/ui/recovery/code", &fields).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(wrong.body.contains("id=\"code-error\" role=\"alert\""), "{}", wrong.body);
        pages.push(apart_from_seals(&wrong.body.replace(email, "")));
    }
    assert_eq!(pages.first(), pages.last());
    let led = [world.ask_for_mail(ALICE).await, world.ask_for_mail(STRANGER).await];
    let [to_known, to_unknown] =
        led.each_ref().map(|answer| (answer.status, answer.header("location").len()));
    assert_eq!(to_known, to_unknown);
}

#[tokio::test]
async fn an_old_code_is_none_and_what_is_no_address_is_told() {
    let (world, asked) = World::forgetful().await;
    let code = mailed_code(world.mail.read().await.first().unwrap());
    world.clock.advance(Lifetime::minutes(15));
    let csrf = asked.field("csrf");
    let fields = [("csrf", csrf.as_str()), ("email", ALICE), ("code", &code)];
    assert_eq!(world.post("/ui/recovery/code", &fields).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    let typed = world.recover("alice").await;
    assert_eq!(typed.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(typed.body.contains("id=\"email-error\" role=\"alert\""), "{}", typed.body);
}

#[tokio::test]
async fn many_mails_to_one_address_have_to_wait() {
    let (world, _) = World::forgetful().await;
    let mut last = world.recover(ALICE).await;
    for _ in 0..10 {
        last = world.recover(ALICE).await;
    }
    assert_eq!(last.status, StatusCode::TOO_MANY_REQUESTS);
    let seconds: u64 = last.header("retry-after").parse().unwrap();
    let told =
        format!("There were too many tries. Please wait {} minutes and try again.", seconds.div_ceil(60));
    assert!(last.body.contains(&told), "{seconds}: {}", last.body);
}

#[tokio::test]
async fn a_flow_that_waits_goes_on_afterwards() {
    let world = World::new().await;
    world.register_alice().await;
    world.mail.read().await;
    let page = world.at("/ui/login").await;
    let link = world.get(&page).await.after("<a href=\"/ui/recovery");
    let begun = world.get(&format!("/ui/recovery{link}")).await;
    let (csrf, challenge) = (begun.field("csrf"), begun.field("login_challenge"));
    let kept = [("csrf", csrf.as_str()), ("login_challenge", challenge.as_str())];
    let asked = world.post("/ui/recovery", &[&kept[..], &[("email", ALICE)]].concat()).await;
    let asked = world.follow(asked).await;
    assert_eq!(asked.field("login_challenge"), challenge);
    assert!(asked.body.contains(&format!("{ALICE}</bdi> belongs to an account")), "{}", asked.body);
    let code = mailed_code(world.mail.read().await.first().unwrap());
    let fields = [&kept[..], &[("email", ALICE), ("code", &code)]].concat();
    let ticket = world.post("/ui/recovery/code", &fields).await.field("ticket");
    let fields = [&kept[..], &[("ticket", &ticket), ("password", NEW)]].concat();
    let set = world.post("/ui/recovery/password", &fields).await;
    assert_eq!(set.after("<a class=\"button button-primary\" href=\""), page);
}

#[tokio::test]
async fn a_browser_without_a_cookie_is_given_one_and_a_form_without_its_token_is_refused() {
    let world = World::new().await;
    let request = Request::get("/ui/recovery").body(Body::empty()).unwrap();
    let fresh = world.send_without_cookie(request).await;
    assert!(fresh.header("set-cookie").starts_with("__Host-sluice_binding="), "{:?}", fresh.headers);
    assert!(world.get("/ui/recovery").await.header("set-cookie").is_empty());
    let stranger = fresh.field("csrf");
    let elsewhere = world.get("/ui/verification").await.field("csrf");
    for path in ["/ui/recovery", "/ui/recovery/code", "/ui/recovery/password", "/ui/verification"] {
        let foreign = if path == "/ui/verification" { &stranger } else { &elsewhere };
        for token in ["", "AAAA", &stranger, foreign] {
            let answer = world.post(path, &[("csrf", token), ("email", ALICE)]).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}: {}", answer.body);
        }
        let answer = world.send_without_cookie(form(path, &[("csrf", &stranger), ("email", ALICE)])).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    }
    assert!(world.mail.read().await.is_empty());
}

#[tokio::test]
async fn a_form_whose_cookie_is_lost_leads_back_to_where_it_began() {
    let world = World::new().await;
    let elsewhere = encode_token(&world.key, "elsewhere");
    for (path, anew) in [
        ("/ui/recovery", "/ui/recovery"),
        ("/ui/recovery/code", "/ui/recovery"),
        ("/ui/recovery/password", "/ui/recovery"),
        ("/ui/verification", "/ui/verification"),
    ] {
        let mut fields = vec![("csrf", elsewhere.as_str()), ("email", ALICE)];
        for begins in [anew.to_owned(), format!("{anew}?login_challenge=abc")] {
            let lost = world.send_without_cookie(form(path, &fields)).await;
            for answer in [lost, world.post(path, &fields).await] {
                assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
                assert_eq!(answer.after("<a class=\"button button-primary\" href=\""), begins, "{path}");
            }
            fields.push(("login_challenge", "abc"));
        }
    }
}

#[tokio::test]
async fn who_lost_the_page_for_the_code_finds_another_that_asks_for_the_address_too() {
    let (world, _) = World::forgetful().await;
    let code = mailed_code(world.mail.read().await.first().unwrap());
    let link = world.get("/ui/recovery?login_challenge=abc").await.after("Have a code already? <a href=\"");
    let shown = world.get(&link).await;
    assert!(shown.status == StatusCode::OK && shown.body.contains("name=\"code\""), "{}", shown.body);
    assert!(!shown.body.contains("belongs to an account") && shown.field("login_challenge") == "abc");
    let csrf = shown.field("csrf");
    // What is typed there can be corrected there, and nothing is said of where a mail is under way to.
    for (email, field) in [("", "email"), ("alice@@x", "email"), ("alcie@example.com", "code")] {
        let fields = [("csrf", csrf.as_str()), ("asks", "email"), ("code", &code), ("email", email)];
        let wrong = world.post("/ui/recovery/code", &fields).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(wrong.body.matches("role=\"alert\"").count(), 1, "{}", wrong.body);
        assert!(wrong.body.contains(&format!("id=\"{field}-error\" role=\"alert\"")), "{}", wrong.body);
        assert!(wrong.body.contains(&format!("name=\"email\" type=\"text\" value=\"{email}\"")));
        assert!(!wrong.body.contains("belongs to an account") && wrong.field("asks") == "email");
    }
    let fields = [("csrf", csrf.as_str()), ("asks", "email"), ("code", &code), ("email", ALICE)];
    assert!(!world.post("/ui/recovery/code", &fields).await.field("ticket").is_empty());
}

#[tokio::test]
async fn a_link_to_the_page_for_the_code_puts_no_words_on_it() {
    let (world, asked) = World::forgetful().await;
    assert!(asked.body.contains(&format!("<bdi class=\"client\">{ALICE}</bdi> belongs to an account")));
    let shown = world.get("/ui/recovery/code?email=call+555+0100%40example.com&asks=code").await;
    assert_eq!(shown.status, StatusCode::OK);
    assert!(!shown.body.contains("555 0100") && !shown.body.contains("belongs to an account"));
    assert!(shown.body.contains("name=\"email\" type=\"text\" value=\"\""), "{}", shown.body);
}

#[tokio::test]
async fn without_mail_no_link_leads_there_and_the_page_says_why() {
    let world = World::without_mail().await;
    let login = world.get(&world.at("/ui/login").await).await;
    assert!(!login.body.contains("/ui/recovery"), "{}", login.body);
    for path in ["/ui/recovery", "/ui/recovery?token=garbage", "/ui/recovery/code", "/ui/verification"] {
        let shown = world.get(path).await;
        assert_eq!(shown.status, StatusCode::FORBIDDEN, "{path}");
        assert!(shown.body.contains("sends no mail") && !shown.body.contains("<form"), "{}", shown.body);
        assert!(!shown.body.contains("We send you") && !shown.body.contains("that we sent you"));
    }
    let csrf = encode_token(&world.key, "/ui/recovery");
    let answer = world.post("/ui/recovery", &[("csrf", csrf.as_str()), ("email", ALICE)]).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(answer.body.contains("sends no mail"), "{}", answer.body);
}

#[tokio::test]
async fn the_pages_are_kept_by_nobody_and_tell_no_other_site_where_they_are() {
    let world = World::new().await;
    for path in ["/ui/recovery", "/ui/recovery?token=abc", "/ui/verification?token=abc"] {
        let shown = world.get(path).await;
        assert_eq!(shown.header("cache-control"), "no-store");
        assert_eq!(shown.header("referrer-policy"), "no-referrer");
        let policy = shown.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self';"), "{policy}");
        assert!(policy.ends_with("form-action 'self'") && !policy.contains("unsafe"), "{policy}");
    }
}

#[tokio::test]
async fn the_page_for_the_code_is_loaded_again_and_sends_no_other_mail() {
    let world = World::new().await;
    world.register_alice().await;
    world.mail.read().await;
    let asked = world.ask_for_mail(ALICE).await;
    assert_eq!(asked.status, StatusCode::SEE_OTHER, "{}", asked.body);
    for _ in 0..3 {
        let shown = world.get(asked.header("location")).await;
        assert!(shown.status == StatusCode::OK && shown.field("email") == ALICE, "{}", shown.body);
        assert!(shown.body.contains(&format!("{ALICE}</bdi> belongs to an account")), "{}", shown.body);
    }
    let (csrf, mails) = (world.get("/ui/recovery").await.field("csrf"), world.mail.read().await);
    assert_eq!(mails.len(), 1);
    let code = mailed_code(mails.first().unwrap());
    let fields = [("csrf", csrf.as_str()), ("email", ALICE), ("code", &code)];
    assert!(!world.post("/ui/recovery/code", &fields).await.field("ticket").is_empty());
}

#[tokio::test]
async fn where_a_mail_went_is_told_to_the_browser_that_asked_while_its_code_is_good_and_to_nobody_else() {
    let (world, _) = World::forgetful().await;
    let asked = world.ask_for_mail(ALICE).await;
    let here = asked.header("location");
    assert!(!here.contains("alice") && !here.contains("%40") && !here.contains('@'), "{here}");
    let is_told = |shown: &Answer| shown.body.contains(ALICE);
    let asks = |shown: &Answer| {
        shown.status == StatusCode::OK && shown.body.contains("name=\"email\" type=\"text\"")
    };
    assert!(is_told(&world.get(here).await));
    let open = || Request::get(here).body(Body::empty()).unwrap();
    let stranger = BindingKey::generate(&OsRng);
    for elsewhere in
        [world.send_without_cookie(open()).await, world.send_with_keys(open(), &[&stranger]).await]
    {
        assert!(asks(&elsewhere) && !is_told(&elsewhere), "{}", elsewhere.body);
    }
    // A login meanwhile puts another key in front.
    assert!(is_told(&world.send_with_keys(open(), &[&stranger, &world.key]).await));
    let query = here.split_once('?').unwrap().1;
    assert!(!is_told(&world.get(&format!("/ui/verification?{query}")).await), "of one page");
    assert!(!is_told(&world.get(&format!("{here}A")).await), "and as it was made");
    world.clock.advance(Lifetime::secs(15 * 60 - 1));
    assert!(is_told(&world.get(here).await));
    world.clock.advance(Lifetime::secs(1));
    let late = world.get(here).await;
    assert!(asks(&late) && !is_told(&late), "{}", late.body);
}
