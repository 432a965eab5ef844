//! How the pages of somebody who is signed in are put together.

use axum::response::Response;
use sluice_primitives::Secret;
use sluice_protocol::Parameters;

use super::member::{Member, Refused};
use super::mistake::Mistake;
use super::notice::Notice;
use super::place::{LOGOUT, Place};
use super::views::{Entry, Field, FormPage, Frame};
use crate::ui::page::page;
use crate::ui::policy::Policy;
use crate::ui::{UiState, script};

/// The pages of the menu.
const MENU: [(Place, &str); 4] = [
    (Place::Overview, "Account"),
    (Place::Factors, "Second factors"),
    (Place::Sessions, "Devices"),
    (Place::Applications, "Applications"),
];

/// The field of a form that asks once more before something is lost.
pub(super) const CONFIRMED: (&str, &str) = ("confirmed", "true");

/// What stands around the page `here`; `csrf` is the token of the session.
pub(super) fn frame<'a>(ui: &UiState, member: &Member, here: Place, csrf: &'a str) -> Frame<'a> {
    let current = |place| match place {
        place if place == here => Some("page"),
        place => (place == here.section()).then_some("true"),
    };
    let entry = |(place, label)| Entry { label, url: Place::url(place, ui), current: current(place) };
    let notice = member.visit.parameters().ok().and_then(|fields| Notice::of(&fields, &member.cookie));
    Frame {
        name: member.name(),
        csrf,
        sign_out: ui.path(LOGOUT),
        entries: MENU.into_iter().map(entry).collect(),
        notice,
    }
}

/// Whether it was asked once more, and this is the answer.
pub(super) fn is_confirmed(fields: &Parameters<'_>) -> bool {
    let (name, value) = CONFIRMED;
    fields.get(name) == Some(value)
}

/// The field for the present password, if the person has one.
pub(super) fn password_field<'a>(member: &Member, mistake: Option<&'a Mistake>) -> Option<Field<'a>> {
    let field = Field::password("Your password").with_error(Mistake::of(mistake, "password"));
    member.has_password().then_some(field)
}

/// The present password, as it was typed.
pub(super) fn typed_password(fields: &Parameters<'_>) -> Option<Secret<String>> {
    fields.get("password").map(|password| Secret::new(password.to_owned()))
}

/// A form of the page `here`, which it posts to as well.
pub(super) fn form_page(
    ui: &UiState,
    (member, here): (&Member, Place),
    mistake: Option<&Mistake>,
    form: FormPage<'_>,
) -> Result<Response, Refused> {
    let (csrf, brand, action) = (member.csrf()?, ui.brand(), here.url(ui));
    let (frame, script) = (frame(ui, member, here, &csrf), script::script(&ui.config));
    let wants_password = form.fields.iter().any(|field| field.kind == "password");
    let view = FormPage {
        account: wants_password.then_some(&*member.identity.email),
        brand: &brand,
        script: &script,
        frame: Some(&frame),
        action: &action,
        csrf: &csrf,
        form_error: Mistake::of(mistake, ""),
        ..form
    };
    let response = page(ui, Mistake::status(mistake), &view, &Policy::form(&ui.config).with_script());
    Ok(Mistake::dress(mistake, response))
}
