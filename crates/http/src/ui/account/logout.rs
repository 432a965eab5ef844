//! `/ui/account/logout`: out of the account pages, here, and of what else the person did in this browser.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_oauth::authorization::{AccountSession, CookieChanges};
use sluice_oauth::flow::BindingKeys;

use super::member::{Member, Refused, answer, without_cookie};
use super::place::{LOGIN, LOGOUT, Place};
use crate::respond::redirect::redirect;
use crate::ui::UiState;
use crate::ui::page::onward;

/// `GET /ui/account/logout`: nobody is signed out by a link. Who comes back to the address sees whether somebody is signed in.
pub(super) async fn show(ui: UiState) -> Response {
    redirect(StatusCode::SEE_OTHER, &Place::Overview.url(&ui))
}

/// `POST /ui/account/logout`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, Place::Overview).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let account = AccountSession { session: member.session.id, subject: member.subject()? };
    ui.accounts.sessions.end(member.identity.id, member.session.id).await?;
    Ok(match of_applications(ui, member, &account) {
        Some((url, binding)) => {
            let mut response = without_cookie(ui, onward(ui, &url));
            ui.cookies.apply(&CookieChanges { binding, ..CookieChanges::default() }, response.headers_mut());
            response
        }
        None => gone(ui),
    })
}

/// Where the browser is signed out of applications, too, which hear of it as of any other logout, and then comes to the login page; none if
/// the person signed in to none here. Their cookie may be kept for a path that is not this one: then that is found out there.
fn of_applications(
    ui: &UiState,
    member: &Member,
    account: &AccountSession,
) -> Option<(String, Option<BindingKeys>)> {
    if member.browser.session.is_none() && ui.cookies.sends_session_to(&ui.path(LOGOUT)) {
        return None;
    }
    let login = ui.config.issuer.endpoint(&signed_out_at(LOGIN)).parse().ok();
    ui.logout.after_account(account, &member.browser, login)
}

/// To the login page, which says that nobody is signed in any more.
pub(super) fn gone(ui: &UiState) -> Response {
    without_cookie(ui, redirect(StatusCode::SEE_OTHER, &ui.path(&signed_out_at(LOGIN))))
}

fn signed_out_at(page: &str) -> String {
    format!("{page}?signed_out=1")
}
