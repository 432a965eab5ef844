//! `/ui/account`: what there is, and where it is changed.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::identity::email::readable;

use super::frame::frame;
use super::member::{Member, Refused, answer};
use super::place::Place;
use super::views::{Moment, OverviewPage};
use crate::ui::UiState;
use crate::ui::page::page;
use crate::ui::policy::Policy;

/// `GET /ui/account`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async { look(&ui, &Member::of_page(&ui, request, Place::Overview).await?).await };
    answer(&ui, shown.await)
}

async fn look(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let identity = &member.identity;
    let factors = ui.factors.list(identity.id).await?.len();
    let csrf = member.csrf()?;
    let view = OverviewPage {
        brand: &ui.brand(),
        frame: &frame(ui, member, Place::Overview, &csrf),
        csrf: &csrf,
        username: &identity.username,
        username_url: Place::Username.url(ui),
        email: &readable(&identity.email),
        email_url: Place::Email.url(ui),
        is_verified: identity.email_verified_at.is_some(),
        verification_action: ui.accounts.mails.as_ref().map(|_| Place::Verification.url(ui)),
        has_password: member.has_password(),
        password_url: Place::Password.url(ui),
        factors,
        factors_url: Place::Factors.url(ui),
        member_since: Moment::new(identity.created_at),
        deletion_url: Place::Deletion.url(ui),
    };
    Ok(page(ui, StatusCode::OK, &view, &Policy::form(&ui.config)))
}
