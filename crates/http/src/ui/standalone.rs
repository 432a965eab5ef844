//! Pages that no flow is needed for. Their forms carry the same token as the others, and one of the flow's if a flow waits.

use axum::response::Response;
use sluice_identity::account::Outcome;
use sluice_identity::{IdentityError, account::Denied};
use sluice_oauth::authorization::CookieChanges;
use sluice_protocol::Parameters;
use url::Url;

use super::problem::Problem;
use super::visit::Visit;
use super::{UiState, account, login, mailed};

/// What a person wanted, if it was done; or why not, or that the server has too much to do.
pub(super) enum Done<T> {
    Yes(T),
    No(Denied),
    Busy,
}

/// Sorts what came of it.
pub(super) fn done<T>(result: Result<Outcome<T>, IdentityError>) -> Result<Done<T>, Problem> {
    match result {
        Ok(Outcome::Done(value)) => Ok(Done::Yes(value)),
        Ok(Outcome::Denied(denied)) => Ok(Done::No(denied)),
        Err(error) if error.is_temporary() => {
            login::turned_away(&error, "person");
            Ok(Done::Busy)
        }
        Err(error) => Err(error.into()),
    }
}

/// A page of a browser that may have no cookie yet.
pub(super) struct Fresh {
    /// For its form.
    pub(super) csrf: String,
    cookies: CookieChanges,
}

impl Fresh {
    /// The token for the form at `path`, and the cookie that it is made of.
    pub(super) fn new(ui: &UiState, visit: &Visit, path: &str) -> Self {
        let (key, binding) = visit.browser.binding_key(true, &*ui.rng);
        let csrf = super::visit::encode_token(&key, path);
        Self { csrf, cookies: CookieChanges { binding, ..CookieChanges::default() } }
    }

    /// Sets the cookie.
    pub(super) fn with_cookie(self, ui: &UiState, mut response: Response) -> Response {
        ui.cookies.apply(&self.cookies, response.headers_mut());
        response
    }
}

/// The flow that waits, if one does.
pub(super) fn waiting<'a>(fields: &'a Parameters<'_>) -> Option<&'a str> {
    fields.get("login_challenge")
}

/// The address of a page of ours, with the flow that waits.
pub(super) fn page_url(ui: &UiState, page: &str, challenge: Option<&str>) -> String {
    challenge.map_or_else(|| ui.path(page), |challenge| ui.path_in_flow(page, challenge))
}

/// The login page of the flow that waits.
fn login_url(ui: &UiState, challenge: Option<&str>) -> Option<String> {
    challenge.map(|challenge| ui.link(&ui.config.pages.login, super::LOGIN, challenge))
}

/// Where to sign in now: for the flow that waits, or where mails lead to.
pub(super) fn sign_in_url(ui: &UiState, challenge: Option<&str>) -> Option<String> {
    let elsewhere = || ui.accounts.config.links.login.as_ref().and_then(|page| own_or_whole(ui, page));
    login_url(ui, challenge).or_else(elsewhere)
}

/// The same for whoever typed an address here, which comes along to a page of ours.
pub(super) fn sign_in_as(
    ui: &UiState,
    visit: &Visit,
    challenge: Option<&str>,
    email: &str,
) -> Option<String> {
    let url = sign_in_url(ui, challenge)?;
    if challenge.is_some() {
        if !ui.is_own(&ui.config.pages.login, super::LOGIN) {
            return Some(url);
        }
        return Some(mailed::taken_along(ui, visit, (super::LOGIN, challenge), (url, email)));
    }
    let is_own = ui.accounts.config.links.login.as_ref().is_some_and(|page| account::is_entrance(ui, page));
    if !is_own || email.trim().is_empty() {
        return Some(url);
    }
    Some(mailed::taken_along(ui, visit, (account::LOGIN, None), (ui.path(account::LOGIN), email)))
}

/// The address of a page; none of the login page of a flow, which cannot be opened by itself.
fn own_or_whole(ui: &UiState, page: &Url) -> Option<String> {
    (!ui.is_own(page, super::LOGIN)).then(|| page.to_string())
}
