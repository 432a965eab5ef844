//! In which language pages are told, and in which words.

use axum::body::Body;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::{Request, StatusCode};
use sluice_oauth::authorization::{Browser, SessionCookie};
use sluice_oauth::config::{Languages, Pages};
use sluice_oauth::flow::{BindingKeys, Request as FlowRequest};
use sluice_oauth::logout::LogoutStep;
use sluice_primitives::{OsRng, SessionId};

use super::world::{ALICE, Answer, World};
use crate::ui::translations;

fn in_languages(pages: &mut Pages) {
    pages.look.languages = translations::built_in();
}

impl World {
    async fn in_languages() -> Self {
        Self::with("https://id.example/", in_languages).await
    }

    /// A page, for a browser whose person reads this.
    async fn read(&self, target: &str, accept_language: &str) -> Answer {
        let request = Request::get(target).header(ACCEPT_LANGUAGE, accept_language);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// The address of a page whose application asks for these languages.
    async fn at_in(&self, page: &str, ui_locales: &str) -> String {
        let request = FlowRequest { ui_locales: Some(ui_locales.to_owned()), ..self.request() };
        self.at_with(page, request, None).await
    }
}

fn is_in(answer: &Answer, tag: &str) {
    assert_eq!(answer.header("content-language"), tag, "{}", answer.body);
    assert!(answer.body.contains(&format!("<html lang=\"{tag}\"")), "{}", answer.body);
}

#[tokio::test]
async fn a_page_is_told_as_the_application_asks_or_else_as_the_browser_does_or_else_in_english() {
    let world = World::in_languages().await;
    for (ui_locales, accept_language, tag, heading) in [
        ("", "", "en", "Sign in"),
        ("", "de-AT,en;q=0.5", "de", "Anmelden"),
        ("", "it, fr;q=0.8, de;q=0.9", "de", "Anmelden"),
        ("fr-CA", "de", "fr", "Se connecter"),
        ("it FR", "de", "fr", "Se connecter"),
        ("en", "de", "en", "Sign in"),
        ("it", "de", "de", "Anmelden"),
        ("it", "pt", "en", "Sign in"),
    ] {
        let shown = world.read(&world.at_in("/ui/login", ui_locales).await, accept_language).await;
        is_in(&shown, tag);
        assert!(shown.body.contains(&format!("<h1>{heading}</h1>")), "{}", shown.body);
    }
}

#[tokio::test]
async fn a_flow_goes_on_in_the_language_that_it_began_in() {
    let world = World::in_languages().await;
    let page = world.at_in("/ui/login", "fr").await;
    let wrong = world.fill_in(&page, &[("email", ALICE), ("password", "wrong")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    is_in(&wrong, "fr");
    assert!(
        wrong.body.contains("<p>L’adresse e-mail ou le mot de passe est incorrect.</p>"),
        "{}",
        wrong.body
    );
    for page in ["/ui/registration", "/ui/recovery", "/ui/recovery/code", "/ui/verification"] {
        is_in(&world.get(&world.at_in(page, "fr").await).await, "fr");
    }
    let request = FlowRequest { ui_locales: Some("fr".to_owned()), ..world.request() };
    let consent = world.at_consent_of(request, ("alice".parse().unwrap(), None), false).await;
    let consent = world.get(&consent).await;
    is_in(&consent, "fr");
    assert!(
        consent
            .body
            .contains("<label class=\"scope-text\" for=\"scope-2\">voir votre adresse e-mail</label>"),
        "{}",
        consent.body
    );
}

#[tokio::test]
async fn a_logout_is_asked_about_in_the_language_of_its_application() {
    let world = World::in_languages().await;
    let cookie = SessionCookie {
        session: SessionId::generate(world.now(), &OsRng),
        subject: "alice".parse().unwrap(),
        authenticated_at: world.now(),
        remembered: true,
        until_closed: Some(false),
        former: Vec::new(),
    };
    let session = Some(cookie.seal(&world.sealer, &OsRng));
    let browser = Browser { keys: BindingKeys(vec![world.key.clone()]), session, ..Browser::default() };
    let LogoutStep::Confirm { page, .. } = world.ui.logout.begin(b"ui_locales=de", &browser).await.unwrap()
    else {
        panic!("there is a session to end")
    };
    let shown = world.read(page.trim_start_matches("https://id.example"), "fr").await;
    is_in(&shown, "de");
    assert!(shown.body.contains("Beim nächsten Mal müssen Sie sich wieder anmelden."), "{}", shown.body);
}

#[tokio::test]
async fn what_went_wrong_is_told_in_the_language_of_the_browser() {
    let world = World::in_languages().await;
    for (page, sentence) in [
        ("/ui/error?error=access_denied", "Der Benutzer oder dieser Server hat die Anfrage abgelehnt."),
        ("/ui/login", "Diese Seite gehört zu einer Anmeldung und lässt sich nicht für sich allein öffnen."),
        ("/ui/logged-out", "Sie können diese Seite schließen."),
        ("/ui/device/success", "Dort geht es gleich von selbst weiter. Sie können diese Seite schließen."),
        ("/ui/account/login", "Melden Sie sich bei Ihrem Konto an"),
    ] {
        let shown = world.read(page, "de").await;
        is_in(&shown, "de");
        assert!(shown.body.contains(sentence), "{}", shown.body);
    }
}

#[tokio::test]
async fn what_stands_in_a_sentence_is_escaped_and_so_are_its_words() {
    let file = "\"to continue to {client}\": \"<i>per</i> {client} ora\"\n";
    let italian = || Languages::new([translations::read("it", file).unwrap().language]);
    let world = World::with("https://id.example/", |pages| pages.look.languages = italian()).await;
    let shown = world.read(&world.at("/ui/login").await, "it").await;
    let lead = "&#60;i&#62;per&#60;/i&#62; <bdi class=\"client\">&#60;b&#62;Shop&#60;/b&#62;</bdi> ora";
    assert!(shown.body.contains(lead), "{}", shown.body);
    assert!(shown.body.contains("<h1>Sign in</h1>"), "English stands in: {}", shown.body);
}

#[tokio::test]
async fn the_script_has_its_words_with_the_page_unless_they_are_its_own() {
    let world = World::in_languages().await;
    let page = world.at("/ui/login").await;
    let words = world.read(&page, "de").await.after("<meta name=\"sluice-words\" content=\"");
    let words: serde_json::Value = serde_json::from_str(&words).unwrap();
    assert_eq!(words["Show {field}"], "{field} anzeigen");
    assert!(!world.read(&page, "en").await.body.contains("sluice-words"));
}

#[tokio::test]
async fn a_page_in_a_language_from_right_to_left_says_so() {
    let hebrew = || Languages::new([translations::read("he", "").unwrap().language]);
    let world = World::with("https://id.example/", |pages| pages.look.languages = hebrew()).await;
    let shown = world.read("/ui/logged-out", "he-IL").await;
    assert!(shown.body.contains("<html lang=\"he\" dir=\"rtl\">"), "{}", shown.body);
    assert!(world.read("/ui/logged-out", "en").await.body.contains("<html lang=\"en\">"));
}
