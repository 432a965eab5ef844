//! Who is signed in: in memory, found by a random cookie. A restart forgets everybody, as an example may.

use std::collections::{HashMap, VecDeque};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cookie::{Cookie, SameSite};
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::secret::same_bytes;
use sluice_primitives::{Rng, Timestamp};

use crate::demo::relying_party::{IdToken, SignIn, Tokens};

/// Cookies do not tell ports apart, so this one must not be called like one of the server.
const COOKIE_NAME: &str = "example_app_session";
const KEY_BYTES: usize = 32;
/// Beyond so many, the oldest is forgotten.
const MAX_SESSIONS: usize = 1000;
/// So many tabs may be on their way to the server at once.
const MAX_SIGN_INS: usize = 8;

/// What is known of one browser.
#[derive(Clone, Default)]
pub(super) struct Session {
    /// Posts must bring it.
    pub(super) csrf: String,
    pub(super) user: Option<User>,
    sign_ins: VecDeque<SignIn>,
}

/// Somebody who signed in.
#[derive(Clone)]
pub(super) struct User {
    pub(super) tokens: Tokens,
    /// As received; a refresh may bring none, then it is the first one.
    pub(super) id_token: String,
    pub(super) checked: IdToken,
    pub(super) access_expires: Timestamp,
}

impl Session {
    pub(super) fn new(rng: &dyn Rng) -> Self {
        Self { csrf: random_text(rng), ..Self::default() }
    }

    /// The session of somebody who just signed in; other tabs of the browser may still be on their way.
    pub(super) fn of_user(user: User, before: Self, rng: &dyn Rng) -> Self {
        Self { user: Some(user), sign_ins: before.sign_ins, ..Self::new(rng) }
    }

    /// Whether a form was made for this browser.
    pub(super) fn allows(&self, csrf: &str) -> bool {
        same_bytes(self.csrf.as_bytes(), csrf.as_bytes())
    }

    pub(super) fn begin(&mut self, sign_in: SignIn) {
        self.sign_ins.push_back(sign_in);
        if self.sign_ins.len() > MAX_SIGN_INS {
            self.sign_ins.pop_front();
        }
    }

    /// The sign-in that comes back with `state`; it comes back once.
    pub(super) fn finish(&mut self, state: &str) -> Option<SignIn> {
        let index =
            self.sign_ins.iter().position(|begun| same_bytes(begun.state.as_bytes(), state.as_bytes()))?;
        self.sign_ins.remove(index)
    }
}

/// All sessions.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_key: HashMap<String, Session>,
    oldest_first: VecDeque<String>,
}

/// The name of a session in a browser.
#[derive(Clone)]
pub(super) struct SessionKey(String);

impl Sessions {
    /// The session of a browser, if it has one.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<(SessionKey, Session)> {
        let key = key_of(headers)?;
        let session = self.0.lock().by_key.get(&key)?.clone();
        Some((SessionKey(key), session))
    }

    /// Keeps a new session, under a key that nobody knows.
    pub(super) fn add(&self, session: Session, rng: &dyn Rng) -> SessionKey {
        let key = random_text(rng);
        let mut kept = self.0.lock();
        kept.oldest_first.push_back(key.clone());
        kept.by_key.insert(key.clone(), session);
        while kept.by_key.len() > MAX_SESSIONS
            && let Some(oldest) = kept.oldest_first.pop_front()
        {
            kept.by_key.remove(&oldest);
        }
        SessionKey(key)
    }

    /// Changes a session, if it is still there.
    pub(super) fn change<T>(&self, key: &SessionKey, change: impl FnOnce(&mut Session) -> T) -> Option<T> {
        self.0.lock().by_key.get_mut(&key.0).map(change)
    }

    /// Forgets a session; what it was.
    pub(super) fn remove(&self, key: &SessionKey) -> Option<Session> {
        let mut kept = self.0.lock();
        kept.oldest_first.retain(|other| *other != key.0);
        kept.by_key.remove(&key.0)
    }
}

impl SessionKey {
    /// The header that gives the browser its session. It comes back with a redirect from the server, hence Lax.
    pub(super) fn set_cookie(&self) -> [(HeaderName, HeaderValue); 1] {
        let cookie =
            Cookie::build((COOKIE_NAME, self.0.as_str())).path("/").http_only(true).same_site(SameSite::Lax);
        let value = HeaderValue::from_str(&cookie.to_string());
        [(SET_COOKIE, value.unwrap_or_else(|_| HeaderValue::from_static("")))]
    }
}

fn key_of(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let mut pairs = cookies.flat_map(|header| Cookie::split_parse(header).filter_map(Result::ok));
    pairs.find(|cookie| cookie.name() == COOKIE_NAME).map(|cookie| cookie.value().to_owned())
}

fn random_text(rng: &dyn Rng) -> String {
    URL_SAFE_NO_PAD.encode(random_bytes::<KEY_BYTES>(rng))
}
