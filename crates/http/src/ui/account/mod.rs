//! The account pages: what people see and change of their own record. They have a session of their own, whose row and
//! person are looked at for every page, and need no script but for passkeys.
//!
//! [`login`], [`login_factor`], [`login_enrolment`], [`logout`]: the session. [`first_factor`]: a factor that a login waits for. [`confirm`]: who it is, once more. [`overview`], [`username`],
//! [`email`], [`mail_code`], [`password`], [`deletion`]: the record. [`factors`], [`enrolment`]: what is asked
//! beside the password. [`sessions`], [`device`]: where one is signed in.
//! [`applications`]: who may act for one. [`cookie`], [`member`]: who asks; [`sign_out`]: who is there as a logout of this browser sees it. [`frame`], [`mistake`], [`notice`], [`place`], [`views`]: how
//! a page is put together.

mod applications;
mod confirm;
mod cookie;
mod deletion;
mod device;
mod email;
mod enrolment;
mod factors;
pub(super) mod first_factor;
mod frame;
mod login;
mod login_enrolment;
mod login_factor;
mod logout;
mod mail_code;
mod member;
mod mistake;
mod notice;
mod overview;
mod password;
mod place;
mod sessions;
mod sign_out;
mod username;
mod views;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use url::Url;

pub(super) use self::place::LOGIN;
use self::place::Place;
use super::UiState;
use crate::respond::redirect::redirect;

/// The pages below `/ui/account`.
pub(super) fn routes() -> Router<UiState> {
    Router::new()
        .route(place::LOGIN, get(login::show).post(login::submit))
        .route(login_factor::FACTOR, get(login_factor::show).post(login_factor::submit))
        .route(login_enrolment::ENROLMENT, get(login_enrolment::show).post(login_enrolment::submit))
        .route(place::LOGOUT, get(logout::show).post(logout::submit))
        .route(place::CONFIRM, get(confirm::show).post(confirm::submit))
        .route(Place::Overview.path(), get(overview::show))
        .route(Place::Username.path(), get(username::show).post(username::submit))
        .route(Place::Email.path(), get(email::show).post(email::submit))
        .route(Place::EmailCode.path(), get(mail_code::show_change).post(mail_code::submit_change))
        .route(
            Place::Verification.path(),
            get(mail_code::show_verification).post(mail_code::submit_verification),
        )
        .route(Place::Password.path(), get(password::show).post(password::submit))
        .route(Place::Deletion.path(), get(deletion::show).post(deletion::submit))
        .route(Place::Factors.path(), get(factors::show).post(factors::submit))
        .route(Place::Totp.path(), get(enrolment::show_totp).post(enrolment::submit_totp))
        .route(Place::Passkey.path(), get(enrolment::show_passkey).post(enrolment::submit_passkey))
        .route(Place::RecoveryCodes.path(), get(factors::show_codes).post(factors::submit_codes))
        .route(Place::Sessions.path(), get(sessions::show).post(sessions::submit))
        .route(Place::Applications.path(), get(applications::show).post(applications::submit))
}

/// Whether this is the page that one comes to first.
pub(super) fn is_entrance(ui: &UiState, page: &Url) -> bool {
    ui.has_account_pages() && ui.is_own(page, Place::Overview.path())
}

/// The page where one adds a second factor, if people have their accounts here.
pub(super) fn factors_url(ui: &UiState) -> Option<String> {
    ui.has_account_pages().then(|| Place::Factors.url(ui))
}

/// To the page that one comes to first.
pub(super) async fn to_account(ui: UiState) -> Response {
    redirect(StatusCode::SEE_OTHER, &Place::Overview.url(&ui))
}

/// To the page where a password is changed.
pub(super) async fn to_password(ui: UiState) -> Response {
    redirect(StatusCode::FOUND, &Place::Password.url(&ui))
}
