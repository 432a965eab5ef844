//! Where the link of a mail about another address leads that its person asked for elsewhere: the account pages, which would
//! take the code, are not served then. Only somebody who is signed in may show it, and that is nobody here.

use axum::http::StatusCode;
use axum::response::Response;

use super::page::page;
use super::policy::Policy;
use super::standalone::sign_in_url;
use super::views::{EmailChangePage, WayOut};
use super::{EMAIL_CHANGE, UiState};

/// Whether that is where mails lead to.
pub(super) fn is_served(ui: &UiState) -> bool {
    !ui.has_account_pages() && ui.is_own(&ui.accounts.config.links.change_email, EMAIL_CHANGE)
}

/// `GET /ui/account/email/confirm`
pub(super) async fn show(ui: UiState) -> Response {
    let url = sign_in_url(&ui, None);
    let view = EmailChangePage {
        brand: &ui.brand(),
        way_out: url.as_deref().map(|url| WayOut { url, label: "Your account" }),
    };
    page(&ui, StatusCode::OK, &view, &Policy::no_form())
}
