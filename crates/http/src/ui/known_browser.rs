//! The cookie that says whose accounts a browser logged in to. It opens nothing: it only keeps those who guess at an account,
//! even from the same network, from making its owner wait. It says who had the account and at which revision of their record,
//! so that it is worth nothing any more after another password, another address, a recovery, a factor removed, new recovery codes, or when they were signed out everywhere.

use axum::http::header::{HeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use cookie::{Cookie, SameSite};
use sluice_crypto::{Purpose, Sealer};
use sluice_identity::identity::LoginNameHash;
use sluice_identity::{Email, Identity, KnownAs};
use sluice_primitives::{IdentityId, Lifetime, Rng, Timestamp};

use super::UiState;
use crate::cookies::presented;

/// For how long a browser is known after a login.
const KNOWN: Lifetime = Lifetime::hours(365 * 24);
/// Of how many accounts: of a family's browser, say.
const MOST: usize = 4;
/// An account, whose it was, a revision and a time, in bytes.
const ENTRY: usize = 32 + 16 + 8 + 8;

/// What a browser proves to have logged in to, the latest first.
#[derive(Default)]
pub(super) struct KnownBrowser(Vec<Known>);

#[derive(Clone, Copy)]
struct Known {
    account: LoginNameHash,
    by: KnownAs,
    at: Timestamp,
}

impl KnownBrowser {
    /// What the cookie of this request says; nothing if there is none of ours.
    pub(super) fn of(ui: &UiState, headers: &HeaderMap) -> Self {
        let (sealer, now) = (&ui.accounts.sealer, ui.accounts.clock.now());
        let bytes = value(headers, ui.cookies.secure).and_then(|value| open(sealer, &value));
        let mut known = read(&bytes.unwrap_or_default());
        known.retain(|known| now < known.at + KNOWN);
        Self(known)
    }

    /// Who logged in to the account of this address here, if anybody did.
    pub(super) fn at(&self, email: &str) -> Option<KnownAs> {
        let account = email.parse::<Email>().ok()?.login_name();
        self.0.iter().find(|known| known.account == account).map(|known| known.by)
    }

    /// Tells the browser that this person has just proved who they are.
    pub(super) fn remember(&self, ui: &UiState, identity: &Identity, mut response: Response) -> Response {
        let (account, by) = (identity.login_name, KnownAs::of(identity));
        let known = Known { account, by, at: ui.accounts.clock.now() };
        // By a former address nobody is known any more.
        let is_other = |other: &&Known| other.account != account && other.by.identity != identity.id;
        let others = self.0.iter().filter(is_other).copied();
        let all: Vec<Known> = std::iter::once(known).chain(others).take(MOST).collect();
        let sealed = seal(&all, &ui.accounts.sealer, &*ui.accounts.rng);
        if let Some((name, value)) = header(ui.cookies.secure, &sealed) {
            response.headers_mut().append(name, value);
        }
        response
    }
}

/// With `__Host-` no other host can set it (RFC 6265bis §4.1.3.2); without TLS, which only `--dev` allows, that is not
/// possible.
const fn name(secure: bool) -> &'static str {
    if secure { "__Host-sluice_known" } else { "sluice_known" }
}

fn value(headers: &HeaderMap, secure: bool) -> Option<String> {
    let mut cookies = presented(headers);
    Some(cookies.find(|cookie| cookie.name() == name(secure))?.value().to_owned())
}

fn header(secure: bool, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let cookie = Cookie::build((name(secure), value))
        .path("/")
        .http_only(true)
        .secure(secure)
        .same_site(SameSite::Lax)
        .max_age(cookie::time::Duration::seconds(KNOWN.as_secs()));
    Some((SET_COOKIE, HeaderValue::from_str(&cookie.build().to_string()).ok()?))
}

fn seal(known: &[Known], sealer: &Sealer, rng: &dyn Rng) -> String {
    let entries = known.iter().flat_map(|known| {
        let (revision, at) = (known.by.revision.to_be_bytes(), known.at.as_millis().to_be_bytes());
        [&known.account[..], known.by.identity.as_bytes(), &revision, &at].concat()
    });
    sealer.seal(Purpose::KnownBrowser, &entries.collect::<Vec<u8>>(), rng)
}

fn open(sealer: &Sealer, sealed: &str) -> Option<Vec<u8>> {
    sealer.open(Purpose::KnownBrowser, sealed).ok()
}

fn read(bytes: &[u8]) -> Vec<Known> {
    bytes.chunks_exact(ENTRY).filter_map(entry).take(MOST).collect()
}

fn entry(bytes: &[u8]) -> Option<Known> {
    let (account, bytes) = bytes.split_first_chunk::<32>()?;
    let (identity, bytes) = bytes.split_first_chunk::<16>()?;
    let (revision, at) = bytes.split_first_chunk::<8>()?;
    let by = KnownAs { identity: IdentityId::from_bytes(*identity), revision: i64::from_be_bytes(*revision) };
    let at = Timestamp::from_millis(i64::from_be_bytes(at.try_into().ok()?));
    Some(Known { account: *account, by, at })
}
