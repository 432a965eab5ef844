//! The built-in pages: what people see when no login and consent application of their own is configured. They work
//! without scripts and use a flow as such an application does: look at it, accept it, reject it.
//!
//! [`login`], [`factor`], [`enrolment`], [`registration`], [`recovery`], [`verification`], [`consent`], [`device`], [`logout`]: one file per page,
//! showing it and taking its form. [`account`]: one's own record. [`error`], [`logged_out`], [`email_change`]: pages without a form. [`assurance`]:
//! how a login ends. [`expected`]: whom a login page asks for. [`puzzle`], [`standalone`], [`sentences`], [`mailed`]: what forms share. [`visit`]: who asks, and the token that every
//! form carries. [`known_browser`]: what a browser proves to have logged in to. [`language`]: what it is told in; [`translations`]: in which words. [`mod@brand`], [`page`], [`policy`], [`mod@stylesheet`], [`mod@script`], [`icon`], [`look`]: how a page is sent. [`problem`]: why there is none. [`views`]: what they
//! show.

mod account;
mod assurance;
mod brand;
mod consent;
mod device;
mod email_change;
mod enrolment;
mod error;
mod expected;
mod factor;
mod icon;
mod known_browser;
mod language;
mod logged_out;
mod login;
mod logout;
mod look;
mod mailed;
mod page;
mod policy;
mod problem;
mod puzzle;
mod recovery;
mod registration;
mod script;
mod sentences;
mod standalone;
mod stylesheet;
pub mod translations;
mod verification;
pub(crate) mod views;
mod visit;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get};
use form_urlencoded::Serializer;
use sluice_identity::account::AccountService;
use sluice_identity::factor::FactorService;
use sluice_identity::proof_of_work::ProofOfWork;
use sluice_identity::{Identity, IdentityError, IdentityRepository, LoginService, RegistrationService};
use sluice_oauth::Config;
use sluice_oauth::client::Client;
use sluice_oauth::config::PageLanguage;
use sluice_oauth::consent::ConsentService;
use sluice_oauth::device::UserCodeService;
use sluice_oauth::flow::{FlowService, Request as FlowRequest};
use sluice_oauth::login_session::LoginSessionService;
use sluice_oauth::logout::LogoutService;
use sluice_primitives::{IdentityId, Rng};
use sluice_protocol::{ClientId, RedirectUri, Subject};
use url::Url;

pub(crate) use brand::Brand;
use brand::brand;
pub(crate) use policy::source;
pub(crate) use script::script;

use crate::cookies::CookiePolicy;
use crate::proxies::Proxies;

const LOGIN: &str = "/ui/login";
const LOGIN_FACTOR: &str = "/ui/login/factor";
const LOGIN_ENROLMENT: &str = "/ui/login/enrolment";
const LOGIN_PASSKEY: &str = "/ui/login/passkey";
const REGISTRATION: &str = "/ui/registration";
const RECOVERY: &str = "/ui/recovery";
const RECOVERY_CODE: &str = "/ui/recovery/code";
const RECOVERY_PASSWORD: &str = "/ui/recovery/password";
const VERIFICATION: &str = "/ui/verification";
const EMAIL_CHANGE: &str = "/ui/account/email/confirm";
const CONSENT: &str = "/ui/consent";
const DEVICE: &str = "/ui/device";
const LOGOUT: &str = "/ui/logout";

/// What the built-in pages work with.
#[derive(Clone)]
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct UiState {
    pub config: Arc<Config>,
    pub flows: Arc<FlowService>,
    pub devices: Arc<UserCodeService>,
    pub login: Arc<LoginService>,
    pub registration: Arc<RegistrationService>,
    pub proof_of_work: Arc<ProofOfWork>,
    pub identities: Arc<dyn IdentityRepository>,
    pub cookies: Arc<CookiePolicy>,
    pub logout: Arc<LogoutService>,
    pub rng: Arc<dyn Rng>,
    pub login_sessions: Arc<LoginSessionService>,
    pub consents: Arc<ConsentService>,
    pub accounts: Arc<AccountService>,
    pub factors: Arc<FactorService>,
    /// Who may say where a request comes from: failed logins are counted by network.
    pub proxies: Arc<Proxies>,
    /// What a page is told in: as a node starts with it, in English, and in each request as that asks for it.
    pub language: PageLanguage,
}

impl UiState {
    /// Whom of our people this subject is. Another login page may have named somebody else.
    async fn person(&self, subject: &Subject) -> Result<Option<Identity>, IdentityError> {
        match own_id(subject) {
            Some(id) => Ok(self.identities.find(id).await?),
            None => Ok(None),
        }
    }

    /// The path of a page of ours, below the issuer's own.
    fn path(&self, page: &str) -> String {
        format!("{}{page}", self.config.issuer.path())
    }

    /// The path of a page of ours with the challenge of its flow, which its form posts to: what is shown after a mistake stands at an
    /// address that can be opened again.
    fn path_in_flow(&self, page: &str, challenge: &str) -> String {
        let query = Serializer::new(String::new()).append_pair("login_challenge", challenge).finish();
        format!("{}?{query}", self.path(page))
    }

    /// Whether the configured page is ours.
    fn is_own(&self, page: &Url, path: &str) -> bool {
        Url::parse(&self.config.issuer.endpoint(path)).is_ok_and(|own| own == *page)
    }

    /// Whether people log in here: only then they may do so to the account pages, too.
    fn has_account_pages(&self) -> bool {
        self.is_own(&self.config.pages.login, LOGIN)
    }

    /// A link to a page with the same challenge: by its path if it is ours, so that the host stays the one that the
    /// cookies are for.
    fn link(&self, page: &Url, path: &str, challenge: &str) -> String {
        let mut url = page.clone();
        url.query_pairs_mut().append_pair("login_challenge", challenge);
        if self.is_own(page, path) {
            return format!("{}?{}", url.path(), url.query().unwrap_or_default());
        }
        url.into()
    }
}

/// Whose id this subject is, if it can be the id of one of our people.
fn own_id(subject: &Subject) -> Option<IdentityId> {
    let id = subject.as_str().parse::<IdentityId>().ok();
    // A UUID can be written in more ways than one; a person is called by one, and the others are other subjects.
    id.filter(|id| id.to_string() == subject.as_str())
}

/// What people call a client.
fn client_name(client: &Client) -> &str {
    if client.name.is_empty() { client.id.as_str() } else { &client.name }
}

/// Whose word the name is, of a client that describes itself: the host of the document that its id is the URL of.
fn client_host(id: &ClientId) -> Option<String> {
    let url = Url::parse(id.as_str()).ok().filter(|url| url.scheme() == "https")?;
    url.host_str().map(str::to_owned)
}

/// Where the browser goes back to, as a person reads it. That of a device's user goes back to nobody.
fn return_host(request: &FlowRequest) -> Option<String> {
    if request.details.device { None } else { host_of(&request.redirect_uri) }
}

/// Where an address leads, as a person reads it: a host, or the scheme of a native application.
fn host_of(uri: &RedirectUri) -> Option<String> {
    let url = uri.url()?;
    Some(match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(host)) => host.to_owned(),
        (scheme, _) => format!("{scheme}:"),
    })
}

/// The pages below the issuer's path. A form is served only where it is the configured page: else people could log in, or
/// register, past an application that asks them for more.
pub(crate) fn routes(state: UiState) -> Router {
    let pages = &state.config.pages;
    let mut routes = Router::new()
        .route("/ui", any(error::not_found))
        .route("/ui/{*nothing}", any(error::not_found))
        .route("/ui/error", get(error::show))
        .route("/ui/device/success", get(device::done))
        .route("/ui/logged-out", get(logged_out::show))
        .route("/ui/style.css", get(stylesheet::show))
        .route("/ui/sluice.js", get(script::show))
        .route("/ui/icon.svg", get(icon::show))
        .route(look::THEME, get(look::show_theme))
        .route(look::LOGO, get(look::show_logo));
    if state.has_account_pages() {
        routes = routes
            .route(LOGIN, get(login::show).post(login::submit))
            .route(LOGIN_FACTOR, get(login::show).post(factor::submit))
            .route(LOGIN_ENROLMENT, get(login::show).post(enrolment::submit))
            .route(LOGIN_PASSKEY, get(login::show).post(login::submit_passkey))
            .merge(account::routes());
    }
    if state.is_own(&pages.registration, REGISTRATION) {
        routes = routes.route(REGISTRATION, get(registration::show).post(registration::submit));
    }
    routes = beside(routes, &state);
    if state.is_own(&pages.consent, CONSENT) {
        routes = routes.route(CONSENT, get(consent::show).post(consent::submit));
    }
    if state.is_own(&pages.device_verification, DEVICE) {
        routes = routes.route(DEVICE, get(device::show).post(device::submit));
    }
    if state.is_own(&pages.logout, LOGOUT) {
        routes = routes.route(LOGOUT, get(logout::show).post(logout::submit));
    }
    routes.with_state(state)
}

/// What is at the root of a site: its first page, and where browsers and password managers look for the page to change a password (W3C,
/// A Well-Known URL for Changing Passwords). Where people have their accounts elsewhere, the first page says that nothing is there.
pub(crate) fn at_root(state: UiState) -> Router {
    let root = if state.has_account_pages() { get(account::to_account) } else { get(error::not_found) };
    let mut routes = Router::new().route("/", root);
    if state.has_account_pages() {
        routes = routes.route("/.well-known/change-password", get(account::to_password));
    }
    routes.with_state(state)
}

/// The pages that mails lead to.
fn beside(mut routes: Router<UiState>, state: &UiState) -> Router<UiState> {
    if recovery::is_served(state) {
        routes = routes
            .route(RECOVERY, get(recovery::show).post(recovery::submit))
            .route(RECOVERY_CODE, get(recovery::show_code).post(recovery::submit_code))
            .route(RECOVERY_PASSWORD, get(recovery::show).post(recovery::submit_password));
    }
    if verification::is_served(state) {
        routes = routes.route(VERIFICATION, get(verification::show).post(verification::submit));
    }
    if email_change::is_served(state) {
        routes = routes.route(EMAIL_CHANGE, get(email_change::show));
    }
    routes
}
