//! The account pages.

mod factors;
mod forms;
mod meanwhile;
mod record;
mod required_factor;
mod sessions;
mod signing_in;

use std::cell::RefCell;
use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::{COOKIE, SET_COOKIE, USER_AGENT};
use axum::http::{Request, StatusCode};
use serde_json::Value;
use sluice_identity::identity::{Changed, IdentityChange};
use sluice_identity::{RegistrationOutcome, SignUp};
use sluice_primitives::{AttemptId, IdentityId, OsRng, Secret};
use sluice_testkit::Authenticator;

use super::world::{ALICE, Answer, PASSWORD, World, form};

const BOB: &str = "bob@example.com";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

impl World {
    async fn register_bob(&self) -> IdentityId {
        let sign_up = SignUp {
            email: BOB.to_owned(),
            username: String::new(),
            password: Secret::new(PASSWORD.to_owned()),
            network: std::net::IpAddr::from([192, 0, 2, 2]).into(),
        };
        match self.ui.registration.register(sign_up).await.unwrap() {
            RegistrationOutcome::Registered(identity) => identity.id,
            other => panic!("{other:?}"),
        }
    }
}

impl World {
    /// Somebody is known to read the mail of this person.
    async fn verify(&self, person: IdentityId) {
        let identity = self.identity(person).await;
        let attempt = AttemptId::generate(self.now(), &OsRng);
        let change = IdentityChange {
            email_verified_at: Some(Some(self.now())),
            ..IdentityChange::of(&identity, self.now(), attempt)
        };
        assert_eq!(self.ui.accounts.identities.change(&change).await.unwrap(), Changed::Done);
    }
}

/// A browser that keeps its cookies.
struct Visitor<'a> {
    world: &'a World,
    jar: RefCell<BTreeMap<String, String>>,
}

impl<'a> Visitor<'a> {
    fn of(world: &'a World) -> Self {
        Self { world, jar: RefCell::default() }
    }

    /// Alice, who has signed in.
    async fn signed_in(world: &'a World) -> Self {
        let visitor = Self::of(world);
        let answer = visitor.sign_in("/ui/account/login", ALICE).await;
        assert_eq!((answer.status, answer.header("location")), (StatusCode::SEE_OTHER, "/ui/account"));
        visitor
    }

    async fn sign_in(&self, page: &str, email: &str) -> Answer {
        self.fill_in(page, &[("email", email), ("password", PASSWORD)]).await
    }

    async fn get(&self, target: &str) -> Answer {
        self.send(Request::get(target).body(Body::empty()).unwrap()).await
    }

    async fn post(&self, target: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(form(target, fields)).await
    }

    async fn send(&self, mut request: Request<Body>) -> Answer {
        let cookies: Vec<_> =
            self.jar.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        request.headers_mut().insert(COOKIE, cookies.join("; ").parse().unwrap());
        request.headers_mut().insert(USER_AGENT, FIREFOX.parse().unwrap());
        let answer = self.world.send_without_cookie(request).await;
        for header in answer.headers.get_all(SET_COOKIE) {
            let (name, rest) = header.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if rest.contains("Max-Age=0") {
                self.jar.borrow_mut().remove(name);
            } else {
                self.jar.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// Opens a page and posts its form, with what is hidden in it and these fields.
    async fn fill_in(&self, page: &str, fields: &[(&str, &str)]) -> Answer {
        let shown = self.get(page).await;
        assert_eq!(shown.status, StatusCode::OK, "{page}: {} {}", shown.header("location"), shown.body);
        self.answer(&shown, page, fields).await
    }

    /// Posts the last form of a page.
    async fn answer(&self, shown: &Answer, page: &str, fields: &[(&str, &str)]) -> Answer {
        let own =
            shown.body.rsplit_once("<form class=\"stack\"").map_or(shown.body.as_str(), |(_, form)| form);
        let action = own.split_once("action=\"").map_or(page, |(_, rest)| rest.split('"').next().unwrap());
        let mut sent = hidden(own);
        if sent.iter().all(|(name, _)| name != "csrf") {
            sent.push(("csrf".to_owned(), shown.field("csrf")));
        }
        sent.retain(|(name, _)| fields.iter().all(|(given, _)| given != name));
        let mut all: Vec<(&str, &str)> =
            sent.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        all.extend_from_slice(fields);
        self.post(action, &all).await
    }

    /// What the script makes of the passkey button of a page.
    async fn press(
        &self,
        shown: &Answer,
        authenticator: &mut Authenticator,
        more: &[(&str, &str)],
    ) -> Answer {
        let options: Value = serde_json::from_str(&shown.after("data-options=\"")).unwrap();
        let made = match shown.after("data-passkey=\"").as_str() {
            "create" => authenticator.create(&options),
            _ => authenticator.get(&options),
        };
        let fields = [&[("passkey", made.as_str())], more].concat();
        self.answer(shown, "", &fields).await
    }

    /// Where an answer leads, which is opened.
    async fn follow(&self, answer: &Answer) -> Answer {
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        self.get(answer.header("location").trim_start_matches("https://id.example")).await
    }

    /// Whether the browser is still signed in.
    async fn is_in(&self) -> bool {
        self.get("/ui/account").await.status == StatusCode::OK
    }
}

/// The hidden fields of a form.
fn hidden(form: &str) -> Vec<(String, String)> {
    let end = form.split("</form>").next().unwrap();
    let fields = end.split("<input type=\"hidden\" name=\"").skip(1);
    fields
        .map(|field| {
            let (name, rest) = field.split_once("\" value=\"").unwrap();
            (name.to_owned(), rest.split('"').next().unwrap().to_owned())
        })
        .collect()
}
