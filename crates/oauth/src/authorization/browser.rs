//! What a browser presents, and what it is given.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Lifetime, Rng, SessionId, Timestamp};
use sluice_protocol::Subject;

use crate::flow::{BindingKey, BindingKeys};

/// What a browser presents.
#[derive(Debug, Clone, Default)]
pub struct Browser {
    /// The keys of its binding cookie.
    pub keys: BindingKeys,
    /// The value of its session cookie.
    pub session: Option<String>,
    /// Who is signed in here to the account pages, whose session is none of logins. Only a logout looks at it.
    pub account: Option<AccountSession>,
    /// Whether the request comes from a frame of another site: then no new cookie is set.
    pub framed: bool,
    /// Whether the request says what it is for, as those of browsers do: then it is of no program, whatever cookies it lacks.
    pub fetch_metadata: bool,
    /// Its address, as far as it is known.
    pub address: Option<IpAddr>,
    /// What it calls itself; empty if it says nothing.
    pub user_agent: String,
}

impl Browser {
    /// The key that marks a new flow of this browser, and what becomes of its cookie: new keys if it has none and may get
    /// one.
    pub fn binding_key(&self, may_set: bool, rng: &dyn Rng) -> (BindingKey, Option<BindingKeys>) {
        match (self.keys.0.first(), &self.session) {
            (Some(key), _) => (key.clone(), None),
            (None, Some(session)) if !may_set => (BindingKey::of_cookie(session), None),
            (None, _) => {
                let key = BindingKey::generate(rng);
                (key.clone(), may_set.then(|| BindingKeys(vec![key])))
            }
        }
    }

    /// All keys that may have marked a flow: those of the binding cookie, and the one made of the session cookie for
    /// requests that must not set a binding cookie.
    pub fn binding_keys(&self) -> BindingKeys {
        let of_session = self.session.as_deref().map(BindingKey::of_cookie);
        BindingKeys(self.keys.0.iter().cloned().chain(of_session).collect())
    }

    /// Whether it is a program: it has no cookie, and says nothing of what browsers say of their requests.
    pub const fn is_program(&self) -> bool {
        let has_session = self.session.is_some() || self.account.is_some();
        !has_session && self.keys.0.is_empty() && !self.fetch_metadata
    }
}

/// A session of the account pages that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSession {
    /// The session.
    pub session: SessionId,
    /// Whose, as logins call the person.
    pub subject: Subject,
}

/// What becomes of a cookie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CookieChange<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is set.
    Set(T),
    /// It is removed.
    Remove,
}

/// What becomes of a browser's cookies.
#[derive(Debug, Clone, Default)]
pub struct CookieChanges {
    /// New keys for the binding cookie.
    pub binding: Option<BindingKeys>,
    /// The session cookie's value and how long the browser keeps it (until it is closed if none).
    pub session: CookieChange<(String, Option<Lifetime>)>,
}

/// What the session cookie says, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCookie {
    /// The session.
    pub session: SessionId,
    /// Whose.
    pub subject: Subject,
    /// When the user authenticated.
    pub authenticated_at: Timestamp,
    /// Whether it lets login be skipped; the others serve logout only.
    pub remembered: bool,
    /// Whether it was to end with the browser. Cookies of earlier versions do not say it.
    pub until_closed: Option<bool>,
    /// Sessions that the same person began in this browser before, and that may go on: a logout ends them, too.
    pub former: Vec<SessionId>,
}

/// What follows in a cookie that ends with the browser, and in one that does not; a version that does not know of it passes it
/// over.
const UNTIL_CLOSED: u8 = 1;
const KEPT: u8 = 2;
/// Nothing is said of that, and more follows.
const UNSAID: u8 = 0;

#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    session: [u8; 16],
    subject: &'a str,
    authenticated_at: i64,
    remembered: bool,
}

impl SessionCookie {
    /// The value of the cookie.
    pub fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = Wire {
            session: *self.session.as_bytes(),
            subject: self.subject.as_str(),
            authenticated_at: self.authenticated_at.as_millis(),
            remembered: self.remembered,
        };
        let mut bytes = postcard::to_stdvec(&wire).unwrap_or_default();
        let ends = self.until_closed.map(|ends| if ends { UNTIL_CLOSED } else { KEPT });
        bytes.extend(ends.or((!self.former.is_empty()).then_some(UNSAID)));
        bytes.extend(self.former.iter().flat_map(SessionId::as_bytes));
        sealer.seal(Purpose::SessionCookie, &bytes, rng)
    }

    /// What a presented cookie says; none if it is not one of ours.
    pub fn open(value: &str, sealer: &Sealer) -> Option<Self> {
        let bytes = sealer.open(Purpose::SessionCookie, value).ok()?;
        let (wire, rest): (Wire<'_>, &[u8]) = postcard::take_from_bytes(&bytes).ok()?;
        let (ends, former) = rest.split_first().unzip();
        let former = former.unwrap_or_default().as_chunks().0;
        Some(Self {
            session: SessionId::from_bytes(wire.session),
            subject: wire.subject.parse().ok()?,
            authenticated_at: Timestamp::from_millis(wire.authenticated_at),
            remembered: wire.remembered,
            until_closed: match ends {
                Some(&UNTIL_CLOSED) => Some(true),
                Some(&KEPT) => Some(false),
                _ => None,
            },
            former: former.iter().copied().map(SessionId::from_bytes).collect(),
        })
    }

    /// Whether the browser is to keep it when its session goes on for longer: if somebody says for how long, or if it did before.
    /// One that may have been to end with the browser must not outlive it.
    pub(super) fn is_kept_on(&self, somebody_says_so: bool) -> bool {
        somebody_says_so || self.until_closed == Some(false)
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::{NetworkId, OsRng, Secret};

    use super::*;

    fn sealer() -> Sealer {
        let secret = Secret::new(b"a secret of tests".to_vec());
        Sealer::new(NetworkId::from_bytes([1; 16]), &[secret])
    }

    fn cookie(until_closed: Option<bool>) -> SessionCookie {
        SessionCookie {
            session: SessionId::from_bytes([1; 16]),
            subject: "alice".parse().unwrap(),
            authenticated_at: Timestamp::from_secs(1),
            remembered: true,
            until_closed,
            former: Vec::new(),
        }
    }

    #[test]
    fn a_cookie_names_the_sessions_before() {
        let sealer = sealer();
        let former: Vec<_> = [2, 3].map(|id| SessionId::from_bytes([id; 16])).into();
        for until_closed in [None, Some(false), Some(true)] {
            let cookie = SessionCookie { former: former.clone(), ..cookie(until_closed) };
            assert_eq!(SessionCookie::open(&cookie.seal(&sealer, &OsRng), &sealer), Some(cookie));
        }
    }

    #[test]
    fn a_cookie_of_a_version_that_knew_less_is_not_kept_on_unasked() {
        let sealer = sealer();
        let wire = Wire { session: [1; 16], subject: "alice", authenticated_at: 1_000, remembered: true };
        let sealed = sealer.seal(Purpose::SessionCookie, &postcard::to_stdvec(&wire).unwrap(), &OsRng);
        let earlier = SessionCookie::open(&sealed, &sealer).unwrap();
        assert_eq!(earlier, cookie(None));
        for (cookie, unasked) in [(earlier, false), (cookie(Some(true)), false), (cookie(Some(false)), true)]
        {
            assert_eq!((cookie.is_kept_on(false), cookie.is_kept_on(true)), (unasked, true), "{cookie:?}");
        }
    }

    #[test]
    fn a_cookie_says_the_same_to_versions_that_know_less() {
        let sealer = sealer();
        for until_closed in [None, Some(false), Some(true)] {
            let cookie = cookie(until_closed);
            let sealed = cookie.seal(&sealer, &OsRng);
            assert_eq!(SessionCookie::open(&sealed, &sealer), Some(cookie));
            let bytes = sealer.open(Purpose::SessionCookie, &sealed).unwrap();
            let earlier: Wire<'_> = postcard::from_bytes(&bytes).unwrap();
            assert_eq!((earlier.subject, earlier.remembered), ("alice", true));
        }
    }
}
