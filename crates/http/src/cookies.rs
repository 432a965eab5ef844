//! A browser's cookies: one that binds flows to it, and one for its login session.
//!
//! Both have the `__Host-` prefix (RFC 6265bis §4.1.3.2), which keeps other hosts from setting them, but for a session cookie with a
//! domain or a path of its own; without TLS, which only `--dev` allows, they have neither the prefix nor `Secure`.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderValue, SET_COOKIE};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cookie::{Cookie, CookieBuilder};
use sluice_crypto::Sealer;
use sluice_oauth::authorization::{Browser, CookieChange, CookieChanges, SessionCookie};
use sluice_oauth::flow::{BindingKey, BindingKeys};

/// How many binding keys are read from a cookie.
const MAX_KEYS: usize = 8;
/// How long a browser keeps the session cookie at most, in seconds: browsers cap it at 400 days (RFC 6265bis §5.5).
const MAX_AGE: i64 = 400 * 24 * 3600;

/// The `SameSite` attribute of the session cookie. The binding cookie is always `Lax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SameSite {
    /// Sent on requests of the same site only.
    Strict,
    /// Also when a link leads here.
    #[default]
    Lax,
    /// Also in frames of other sites; needs TLS.
    None,
}

/// How cookies are set.
#[derive(Debug, Clone)]
pub struct CookiePolicy {
    /// Whether browsers reach this server over TLS.
    pub secure: bool,
    /// `SameSite` of the session cookie (Hydra's `serve.cookies.same_site_mode`).
    pub same_site: SameSite,
    /// The name of the session cookie, without prefix.
    pub session_name: String,
    /// The domain of the session cookie; `__Host-` is not possible with one.
    pub domain: Option<String>,
    /// The path of the session cookie; `__Host-` is possible with `/` only.
    pub session_path: String,
    /// Seals the session cookie. Asked only where a browser holds several of that name.
    pub sealer: Arc<Sealer>,
}

impl CookiePolicy {
    const fn binding_name(&self) -> &'static str {
        if self.secure { "__Host-sluice_binding" } else { "sluice_binding" }
    }

    fn session_prefix(&self) -> &'static str {
        if self.secure && self.domain.is_none() && self.session_path == "/" { "__Host-" } else { "" }
    }

    fn is_session(&self, name: &str) -> bool {
        name.strip_prefix(self.session_prefix()) == Some(self.session_name.as_str())
    }

    /// Whether browsers send the session cookie to this path (RFC 6265 §5.1.4).
    pub(crate) fn sends_session_to(&self, path: &str) -> bool {
        let rest = path.strip_prefix(self.session_path.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.session_path.ends_with('/'))
    }

    /// What the browser presents.
    pub fn browser(&self, headers: &HeaderMap) -> Browser {
        let (framed, fetch_metadata) = (is_framed(headers), has_fetch_metadata(headers));
        let mut browser = Browser { framed, fetch_metadata, ..Browser::default() };
        let mut sessions = Vec::new();
        for cookie in presented(headers) {
            if cookie.name() == self.binding_name() && browser.keys.0.is_empty() {
                browser.keys = read_keys(cookie.value());
            } else if self.is_session(cookie.name()) {
                sessions.push(cookie.value().to_owned());
            }
        }
        browser.session = self.newest(sessions);
        browser
    }

    /// Of several cookies with one name, the one of the latest login here; the first if none is of here. Without the prefix a browser holds
    /// one for each domain and path that it was set for (RFC 6265bis §5.7), also by others.
    fn newest(&self, mut sessions: Vec<String>) -> Option<String> {
        if sessions.len() > 1 {
            // Of equals the first stays the first.
            sessions.sort_by_cached_key(|value| {
                let opened = SessionCookie::open(value, &self.sealer);
                Reverse(opened.map(|cookie| cookie.authenticated_at))
            });
        }
        sessions.into_iter().next()
    }

    /// Writes what becomes of the cookies into the headers of an answer.
    pub fn apply(&self, changes: &CookieChanges, headers: &mut HeaderMap) {
        if let Some(keys) = &changes.binding {
            let cookie = self.base(self.binding_name(), write_keys(keys)).same_site(cookie::SameSite::Lax);
            append(headers, &cookie.build());
        }
        match &changes.session {
            CookieChange::Keep => {}
            CookieChange::Set((value, keep)) => {
                let mut cookie = self.session(value.clone());
                if let Some(keep) = keep {
                    cookie = cookie.max_age(cookie::time::Duration::seconds(keep.as_secs().min(MAX_AGE)));
                }
                append(headers, &cookie.build());
            }
            CookieChange::Remove => {
                append(headers, &self.session(String::new()).max_age(cookie::time::Duration::ZERO).build());
            }
        }
    }

    fn session(&self, value: String) -> CookieBuilder<'static> {
        let same_site = match self.same_site {
            SameSite::Strict => cookie::SameSite::Strict,
            SameSite::Lax => cookie::SameSite::Lax,
            SameSite::None if self.secure => cookie::SameSite::None,
            SameSite::None => cookie::SameSite::Lax,
        };
        let name = [self.session_prefix(), &self.session_name].concat();
        let cookie = self.base(name, value).path(self.session_path.clone()).same_site(same_site);
        match &self.domain {
            Some(domain) => cookie.domain(domain.clone()),
            None => cookie,
        }
    }

    fn base(&self, name: impl Into<Cow<'static, str>>, value: String) -> CookieBuilder<'static> {
        Cookie::build((name, value)).path("/").http_only(true).secure(self.secure)
    }
}

/// The cookies of a request, each by itself. Browsers send what pages of neighbouring hosts have set as the bytes that it is (RFC 6265bis
/// §5.7): a cookie that is no text hides no other.
pub(crate) fn presented(headers: &HeaderMap) -> impl Iterator<Item = Cookie<'_>> {
    let lines = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
    let pairs = lines.flat_map(|line| line.split(|byte| *byte == b';'));
    pairs.filter_map(|pair| Cookie::parse(str::from_utf8(pair).ok()?).ok())
}

fn append(headers: &mut HeaderMap, cookie: &Cookie<'_>) {
    if let Ok(value) = HeaderValue::from_str(&cookie.to_string()) {
        headers.append(SET_COOKIE, value);
    }
}

/// A frame says so, and whether the page that opened it is of the same site (Fetch Metadata §2.1, §2.3): where the page at the top is of
/// the same site, too, a browser keeps cookies as anywhere. Browsers that say nothing are taken for a top-level navigation.
fn is_framed(headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_frame =
        matches!(said("sec-fetch-dest"), Some("iframe" | "frame" | "embed" | "object" | "fencedframe"));
    is_frame && !matches!(said("sec-fetch-site"), Some("same-origin" | "same-site"))
}

/// Browsers say with each request what it is for, over TLS (Fetch Metadata §2): no page can leave that out.
fn has_fetch_metadata(headers: &HeaderMap) -> bool {
    headers.contains_key("sec-fetch-mode") || headers.contains_key("sec-fetch-site")
}

fn read_keys(value: &str) -> BindingKeys {
    let keys = value.split('.').take(MAX_KEYS);
    BindingKeys(keys.filter_map(|key| BindingKey::from_bytes(&URL_SAFE_NO_PAD.decode(key).ok()?)).collect())
}

fn write_keys(keys: &BindingKeys) -> String {
    keys.0.iter().map(|key| URL_SAFE_NO_PAD.encode(key.expose())).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use sluice_primitives::{NetworkId, OsRng, Secret, SessionId, Timestamp};

    use super::*;

    fn policy() -> CookiePolicy {
        let secret = Secret::new(b"a secret of tests".to_vec());
        CookiePolicy {
            secure: false,
            same_site: SameSite::Lax,
            session_name: "session".to_owned(),
            domain: None,
            session_path: "/".to_owned(),
            sealer: Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[secret])),
        }
    }

    /// The cookie of somebody who logged in at this second.
    fn of_login(policy: &CookiePolicy, at: i64) -> String {
        let cookie = SessionCookie {
            session: SessionId::from_bytes([1; 16]),
            subject: "alice".parse().unwrap(),
            authenticated_at: Timestamp::from_secs(at),
            remembered: true,
            until_closed: None,
            former: Vec::new(),
        };
        cookie.seal(&policy.sealer, &OsRng)
    }

    #[test]
    fn the_session_cookie_is_sent_to_what_is_below_its_path() {
        let is_sent = |own: &str, path: &str| {
            CookiePolicy { session_path: own.to_owned(), ..policy() }.sends_session_to(path)
        };
        for (own, path) in [("/", "/ui"), ("/ui", "/ui"), ("/ui", "/ui/account"), ("/ui/", "/ui/account")] {
            assert!(is_sent(own, path), "{own} {path}");
        }
        for (own, path) in [("/oauth2", "/ui/account"), ("/u", "/ui/account"), ("/ui/", "/ui")] {
            assert!(!is_sent(own, path), "{own} {path}");
        }
    }

    #[test]
    fn of_several_session_cookies_that_of_the_latest_login_here_counts() {
        let policy = policy();
        let cookies = [1, 2, 2].map(|at| of_login(&policy, at));
        let [early, late, again] = cookies.each_ref().map(String::as_str);
        for (presented, taken) in [
            (&["neighbour", early][..], early),
            (&[early, "neighbour"], early),
            (&[early, "neighbour", late], late),
            (&[late, early], late),
            (&[late, again], late),
        ] {
            let line: Vec<_> = presented.iter().map(|value| format!("session={value}")).collect();
            let line = HeaderValue::from_str(&line.join("; ")).unwrap();
            let browser = policy.browser(&HeaderMap::from_iter([(COOKIE, line)]));
            assert_eq!(browser.session.as_deref(), Some(taken), "{presented:?}");
        }
        let foreign = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("session=one; session=two"))]);
        assert_eq!(policy.browser(&foreign).session.as_deref(), Some("one"));
    }

    #[test]
    fn a_cookie_of_a_neighbouring_host_that_is_no_text_hides_none_of_ours() {
        let policy = policy();
        let key = BindingKey::generate(&OsRng);
        let ours = format!("; sluice_binding={}; session=of-alice", URL_SAFE_NO_PAD.encode(key.expose()));
        for foreign in [&b"city=Z\xfcrich"[..], "city=Zürich".as_bytes(), b"", b"city"] {
            let line = [foreign, ours.as_bytes()].concat();
            let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_bytes(&line).unwrap())]);
            let browser = policy.browser(&headers);
            assert_eq!(
                (browser.keys.0.len(), browser.session.as_deref()),
                (1, Some("of-alice")),
                "{foreign:?}"
            );
        }
    }
}
