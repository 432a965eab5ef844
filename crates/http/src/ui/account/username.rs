//! `/ui/account/username`: what the person wants to be called.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;

use super::frame::form_page;
use super::member::{Member, Refused, answer};
use super::mistake::{Mistake, went};
use super::notice::Notice;
use super::place::Place;
use super::views::{Field, FormPage, Link};
use crate::respond::redirect::redirect;
use crate::ui::UiState;

const HERE: Place = Place::Username;
const HINT: &str = "At most 64 characters. Applications that may see your profile see it.";

/// `GET /ui/account/username`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async {
        let member = Member::of_page(&ui, request, HERE).await?;
        form(&ui, &member, &member.identity.username, None)
    };
    answer(&ui, shown.await)
}

/// `POST /ui/account/username`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let username = fields.get("username").unwrap_or_default();
    match went(ui, ui.accounts.set_username(member.identity.id, username).await, HERE)? {
        Ok(()) => {
            let next = Notice::UsernameChanged.at(ui, Place::Overview, &member.cookie);
            Ok(redirect(StatusCode::SEE_OTHER, &next))
        }
        Err(mistake) => form(ui, member, username, Some(&mistake)),
    }
}

fn form(
    ui: &UiState,
    member: &Member,
    username: &str,
    mistake: Option<&Mistake>,
) -> Result<Response, Refused> {
    let back = Place::Overview.url(ui);
    let field = Field {
        autocomplete: "nickname",
        required: false,
        focused: true,
        hint: Some(HINT),
        ..Field::text("username", "Name", username)
    };
    let page = FormPage {
        title: "What should we call you?",
        fields: vec![field.with_error(Mistake::of(mistake, "username"))],
        submit: "Save",
        back: Some(Link { url: &back, label: "Cancel" }),
        ..FormPage::default()
    };
    form_page(ui, (member, HERE), mistake, page)
}
