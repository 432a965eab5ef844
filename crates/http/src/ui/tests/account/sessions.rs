//! Where one is signed in, and who may act for one.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::{Request, StatusCode};
use sluice_oauth::authorization::SessionCookie;
use sluice_oauth::config::Pages;
use sluice_oauth::consent::RememberedConsent;
use sluice_oauth::grant::{Grant, Listed};
use sluice_oauth::login_session::{LoginOrigin, LoginSession};
use sluice_primitives::{IdentityId, Lifetime, OsRng, SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_store_contract::given;
use sluice_testkit::Captured;

use super::{BOB, FIREFOX, Visitor};
use crate::ui::tests::world::{Answer, World};
use crate::ui::translations;

impl World {
    /// A browser in which this person signed in to an application.
    pub(in crate::ui::tests) async fn login_session(&self, person: IdentityId) -> SessionId {
        self.login_session_from(person, given::session().origin).await
    }

    /// The same, where the browser was there.
    async fn login_session_from(&self, person: IdentityId, origin: Option<LoginOrigin>) -> SessionId {
        let session = LoginSession {
            id: SessionId::generate(self.now(), &OsRng),
            subject: subject(person),
            authenticated_at: self.now(),
            last_seen_at: self.now(),
            expires_at: self.now() + Lifetime::hours(10),
            idle: Lifetime::FOREVER,
            origin,
            ..given::session()
        };
        assert!(self.ui.login_sessions.sessions.insert(session.clone()).await.unwrap());
        session.id
    }

    async fn login_sessions(&self, person: IdentityId) -> usize {
        self.ui.login_sessions.of_subject(&subject(person)).await.unwrap().len()
    }

    /// What this person granted to the shop.
    async fn grant(&self, person: IdentityId, scope: &str, at: Timestamp) {
        let grant = Grant {
            subject: subject(person),
            client: given::client_id("shop"),
            scope: given::scope(scope),
            authenticated_at: at,
            consented_at: at,
            expires_at: at + Lifetime::hours(1000),
            ..given::grant()
        };
        self.ui.consents.grants.insert(grant, None, false).await.unwrap();
    }
}

fn subject(person: IdentityId) -> Subject {
    person.to_string().parse().unwrap()
}

#[tokio::test]
async fn one_sees_where_one_is_signed_in_and_signs_out_there() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let (alice, other) = (Visitor::signed_in(&world).await, Visitor::signed_in(&world).await);
    let sessions = world.ui.accounts.sessions.list(id).await.unwrap();
    assert_eq!(sessions.len(), 2);
    let page = alice.get("/ui/account/sessions").await;
    assert_eq!(page.body.matches("<bdi>Firefox on Linux</bdi>").count(), 2);
    assert_eq!(page.body.matches("This device").count(), 1);
    let csrf = page.field("csrf");
    let theirs = other.get("/ui/account/sessions").await;
    let this = theirs.body.split_once("This device").unwrap().1;
    let this = this.split_once("name=\"session\" value=\"").unwrap().1.split('"').next().unwrap();
    let done = alice.post("/ui/account/sessions", &[("csrf", &csrf), ("session", this)]).await;
    assert!(alice.follow(&done).await.body.contains("It is signed out."));
    assert!(alice.is_in().await && !other.is_in().await);
}

#[tokio::test]
async fn the_network_of_a_session_is_shown_if_a_proxy_has_told_it() {
    let world = World::new().await;
    let id = world.register_alice().await;
    let identity = world.identity(id).await;
    for network in [IpAddr::from([192, 0, 2, 7]), IpAddr::from([0, 0, 0, 0])] {
        let amr = vec!["pwd".to_owned()];
        world.ui.accounts.sessions.begin(&identity, amr, "app/1", network.into()).await.unwrap();
    }
    let body = Visitor::signed_in(&world).await.get("/ui/account/sessions").await.body;
    assert!(body.contains("From 192.0.2.7.") && body.contains("From an unknown network."), "{body}");
    assert!(!body.contains("0.0.0.0"), "{body}");
}

#[tokio::test]
async fn all_others_are_signed_out_at_once() {
    let world = World::new().await;
    world.register_alice().await;
    let alice = Visitor::signed_in(&world).await;
    let others = [Visitor::signed_in(&world).await, Visitor::signed_in(&world).await];
    let csrf = alice.get("/ui/account/sessions").await.field("csrf");
    let done = alice.post("/ui/account/sessions", &[("csrf", &csrf), ("others", "true")]).await;
    assert!(alice.follow(&done).await.body.contains("on all other devices"));
    assert!(alice.is_in().await && !others[0].is_in().await && !others[1].is_in().await);
}

#[tokio::test]
async fn a_browser_is_signed_out_of_applications_by_its_own_person_only() {
    let world = World::new().await;
    let (alices, bobs) = (world.register_alice().await, world.register_bob().await);
    let (own, foreign) = (world.login_session(alices).await, world.login_session(bobs).await);
    let alice = Visitor::signed_in(&world).await;
    let page = alice.get("/ui/account/sessions").await;
    assert!(page.body.contains(&own.to_string()) && !page.body.contains(&foreign.to_string()));
    let csrf = page.field("csrf");
    for session in [own, foreign] {
        let id = session.to_string();
        let done = alice.post("/ui/account/sessions", &[("csrf", &csrf), ("browser", &id)]).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER);
    }
    assert_eq!((world.login_sessions(alices).await, world.login_sessions(bobs).await), (0, 1));
}

/// What the buttons of the list of browsers say to those who hear them.
fn browsers_by_ear(page: &Answer) -> Vec<String> {
    let (_, list) = page.body.split_once("<h2 id=\"browsers\">").unwrap();
    let (list, _) = list.split_once("</section>").unwrap();
    let buttons = list.split("Sign out<span class=\"visually-hidden\"> ").skip(1);
    buttons.map(|rest| rest.split("</span>").next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_browser_that_one_sits_at_is_the_first_and_no_two_buttons_are_called_the_same() {
    let world = World::new().await;
    let (alices, bobs) = (world.register_alice().await, world.register_bob().await);
    let former = world.login_session(alices).await;
    world.clock.advance(Lifetime::minutes(1));
    let own = world.login_session(alices).await;
    world.clock.advance(Lifetime::minutes(1));
    let other = world.login_session(alices).await;
    let bobs = world.login_session(bobs).await;
    let alice = Visitor::signed_in(&world).await;
    for (session, former, is_this) in [
        (own, vec![former], [true, true, false]),
        (bobs, vec![], [false; 3]),
        (own, vec![], [true, false, false]),
    ] {
        let cookie = SessionCookie {
            session,
            subject: subject(alices),
            authenticated_at: world.now(),
            remembered: true,
            until_closed: Some(false),
            former,
        };
        let sealed = cookie.seal(&world.sealer, &OsRng);
        alice.jar.borrow_mut().insert("__Host-session".to_owned(), sealed);
        let page = alice.get("/ui/account/sessions").await;
        let names = browsers_by_ear(&page);
        for (place, (name, is_this)) in names.iter().zip(is_this).enumerate() {
            assert!(name.starts_with(&format!("browser {}", place + 1)), "{names:?}");
            assert_eq!(name.contains(", this one, signed in 15 June 2025, "), is_this, "{names:?}");
        }
        assert_eq!(names.len(), 3, "{names:?}");
        let marked = page.body.matches(">This browser</span>").count();
        assert_eq!(marked, is_this.iter().filter(|is_this| **is_this).count());
        let first = if is_this[0] { own } else { other };
        assert_eq!(page.after("name=\"browser\" value=\""), first.to_string(), "{session}");
    }
}

#[tokio::test]
async fn a_browser_is_shown_by_a_name_that_people_know_and_with_its_network_if_they_are_kept() {
    let world = World::new().await;
    let alices = world.register_alice().await;
    for origin in [
        Some(given::origin(FIREFOX, "2001:db8:1:2::")),
        Some(given::origin("<b>\"Shop\" & more", "192.0.2.7")),
        Some(given::origin("", "0.0.0.0")),
        None,
    ] {
        world.login_session_from(alices, origin).await;
        world.clock.advance(Lifetime::minutes(1));
    }
    let page = Visitor::signed_in(&world).await.get("/ui/account/sessions").await;
    let (_, list) = page.body.split_once("<h2 id=\"browsers\">").unwrap();
    let rows: Vec<_> = list.split("<li class=\"row\">").skip(1).collect();
    let [unkept, unnamed, strange, firefox] = rows[..] else { panic!("{list}") };
    assert!(unkept.contains("<p>Signed in <time") && !unkept.contains("From "), "{unkept}");
    assert!(unnamed.contains("<bdi>Unknown device</bdi>"), "{unnamed}");
    assert!(unnamed.contains("From an unknown network. Signed in <time"), "{unnamed}");
    assert!(strange.contains("<bdi>&#60;b&#62;&#34;Shop&#34; &#38; more</bdi>"), "{strange}");
    assert!(strange.contains("From 192.0.2.7. Signed in <time"), "{strange}");
    assert!(firefox.contains("<bdi>Firefox on Linux</bdi>"), "{firefox}");
    assert!(firefox.contains("From 2001:db8:1:2::. Signed in <time"), "{firefox}");
    let names = browsers_by_ear(&page);
    assert!(names[0].starts_with("browser 1, signed in 15 June 2025, "), "{names:?}");
    assert!(names[3].starts_with("browser 4, Firefox on Linux, signed in 15 June 2025, "), "{names:?}");
}

#[tokio::test]
async fn a_browser_is_called_something_in_the_language_of_whoever_looks() {
    let languages = |pages: &mut Pages| pages.look.languages = translations::built_in();
    let world = World::with("https://id.example/", languages).await;
    let alices = world.register_alice().await;
    world.login_session_from(alices, Some(given::origin(FIREFOX, "0.0.0.0"))).await;
    let alice = Visitor::signed_in(&world).await;
    let request = Request::get("/ui/account/sessions").header(ACCEPT_LANGUAGE, "de");
    let page = alice.send(request.body(Body::empty()).unwrap()).await;
    let (_, list) = page.body.split_once("<h2 id=\"browsers\">").unwrap();
    for told in [
        "<bdi>Firefox auf Linux</bdi>",
        "Aus einem unbekannten Netz. Angemeldet am <time",
        "Abmelden<span class=\"visually-hidden\"> (Browser 1, Firefox auf Linux, angemeldet am 15. Juni 2025, ",
    ] {
        assert!(list.contains(told), "{told}: {list}");
    }
}

#[tokio::test]
async fn nobody_ends_the_session_of_somebody_else() {
    let world = World::new().await;
    world.register_alice().await;
    let id = world.register_bob().await;
    let (alice, bob) = (Visitor::signed_in(&world).await, Visitor::of(&world));
    bob.sign_in("/ui/account/login", BOB).await;
    let bobs = world.ui.accounts.sessions.list(id).await.unwrap()[0].id.to_string();
    let csrf = alice.get("/ui/account/sessions").await.field("csrf");
    let answer = alice.post("/ui/account/sessions", &[("csrf", &csrf), ("session", &bobs)]).await;
    assert_eq!(answer.header("location"), "/ui/account/sessions");
    assert!(bob.is_in().await);
}

#[tokio::test]
async fn to_sign_out_everywhere_ends_all_sessions_and_nothing_of_others() {
    let world = World::new().await;
    let (alices, bobs) = (world.register_alice().await, world.register_bob().await);
    world.login_session(alices).await;
    world.login_session(bobs).await;
    let (alice, other) = (Visitor::signed_in(&world).await, Visitor::signed_in(&world).await);
    let csrf = alice.get("/ui/account/sessions").await.field("csrf");
    let asked = alice.post("/ui/account/sessions", &[("csrf", &csrf), ("everything", "true")]).await;
    assert!(asked.body.contains("<h1>Sign out everywhere?</h1>"), "{}", asked.body);
    for told in ["applications lose what they were given", "href=\"/ui/account/sessions\">Stay signed in</a>"]
    {
        assert!(asked.body.contains(told), "{told}: {}", asked.body);
    }
    assert!(alice.is_in().await && other.is_in().await && world.login_sessions(alices).await == 1);
    let out = alice.answer(&asked, "", &[]).await;
    assert!(alice.follow(&out).await.body.contains("You are signed out."));
    assert!(!alice.is_in().await && !other.is_in().await);
    assert_eq!((world.login_sessions(alices).await, world.login_sessions(bobs).await), (0, 1));
    world.clock.advance(Lifetime::secs(1));
    Visitor::signed_in(&world).await;
}

#[tokio::test]
async fn an_application_is_shown_with_what_it_may_do_until_its_access_is_removed() {
    let world = World::new().await;
    let (alices, bobs) = (world.register_alice().await, world.register_bob().await);
    let alice = Visitor::signed_in(&world).await;
    let empty = alice.get("/ui/account/applications").await;
    assert!(empty.body.contains("No application has access"));
    let first = world.now();
    world.grant(alices, "openid email", first).await;
    world.clock.advance(Lifetime::hours(1));
    world.grant(alices, "openid calendar.read", world.now()).await;
    world.grant(bobs, "openid", world.now()).await;
    let page = alice.get("/ui/account/applications").await;
    assert_eq!(page.body.matches("&#60;b&#62;Shop").count(), 2, "once, and in the name of its button");
    for shown in [
        "See your email address",
        "<code>calendar.read</code>",
        "Know who you are",
        "15 June 2025, 15:06 UTC",
    ] {
        assert!(page.body.contains(shown), "{shown}: {}", page.body);
    }
    let fields = [("csrf", page.field("csrf")), ("client", "shop".to_owned())];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let done = alice.post("/ui/account/applications", &fields).await;
    let shown = alice.follow(&done).await;
    assert!(shown.body.contains("no access to your account any more"));
    assert!(shown.body.contains("No application has access"));
    let page = sluice_oauth::grant::GrantPage {
        subject: subject(bobs),
        session: None,
        listed: Listed::All,
        before: None,
        limit: 10,
        now: world.now(),
    };
    assert_eq!(world.ui.consents.grants.list(page).await.unwrap().len(), 1, "Bob's stays");
}

#[tokio::test]
async fn a_remembered_decision_is_shown_without_a_grant_and_ends_with_the_access() {
    let world = World::new().await;
    let alices = world.register_alice().await;
    let at = world.now();
    let grant = Grant {
        subject: subject(alices),
        client: given::client_id("shop"),
        consented_at: at,
        expires_at: at,
        ..given::grant()
    };
    let decision = RememberedConsent {
        subject: grant.subject.clone(),
        client: grant.client.clone(),
        scope: given::scope("openid email"),
        decided_at: at,
        ..given::decision()
    };
    world.ui.consents.grants.insert(grant, Some(decision.clone()), false).await.unwrap();
    world.clock.advance(Lifetime::hours(1));
    let alice = Visitor::signed_in(&world).await;
    let page = alice.get("/ui/account/applications").await;
    assert!(page.body.contains("See your email address"), "{}", page.body);
    let csrf = page.field("csrf");
    let done = alice.post("/ui/account/applications", &[("csrf", &csrf), ("client", "shop")]).await;
    assert!(alice.follow(&done).await.body.contains("No application has access"));
    let found = world.ui.consents.consents.find(&decision.subject, &decision.client, world.now()).await;
    assert_eq!(found.unwrap(), None);
}

/// Else anybody who is signed in could write markers without end.
#[tokio::test]
async fn to_remove_the_access_of_an_application_that_has_none_writes_nothing() {
    let (log, _guard) = Captured::everything();
    let world = World::new().await;
    let (alices, bobs) = (world.register_alice().await, world.register_bob().await);
    world.grant(bobs, "openid", world.now()).await;
    let alice = Visitor::signed_in(&world).await;
    let csrf = alice.get("/ui/account/applications").await.field("csrf");
    let remove = async |client: &str| {
        alice.post("/ui/account/applications", &[("csrf", &csrf), ("client", client)]).await
    };
    let audited = || log.text().matches("access of an application removed").count();
    for client in ["shop", "nobody has heard of it"] {
        let done = remove(client).await;
        assert_eq!(
            (done.status, done.header("location")),
            (StatusCode::SEE_OTHER, "/ui/account/applications"),
            "{client}"
        );
    }
    assert_eq!((given::markers(&*world.store).await, audited()), (Vec::new(), 0));
    world.grant(alices, "openid", world.now()).await;
    for _ in 0..2 {
        remove("shop").await;
    }
    assert_eq!((given::markers(&*world.store).await.len(), audited()), (1, 1), "once");
}
