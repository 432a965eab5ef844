//! Whom a request is for, as far as the browser proves who that is: the page then asks for that person, and not for anybody.

use sluice_identity::{Identity, IdentityError};
use sluice_oauth::authorization::SessionCookie;
use sluice_oauth::subject::shown_subject;
use sluice_protocol::Subject;

use super::UiState;
use super::login::Place;
use super::problem::Problem;

/// Who is to sign in.
pub(super) enum Expected {
    /// Whoever wants to.
    Anybody,
    /// The person that the application named, who is not signed in. Who that is must not be said: anybody can have got hold of an id token,
    /// and whoever signed out need not be named to those who come after.
    Named,
    /// The person with this address, who is signed in at this browser; empty if the person is none of ours.
    Known(String),
}

impl Expected {
    /// Whom this request is for.
    pub(super) async fn by(ui: &UiState, place: &Place<'_>) -> Result<Self, Problem> {
        if let Some(known) = &place.answer.flow.known {
            let email = ui.person(&known.subject).await?.map(|person| person.email);
            return Ok(Self::Known(email.unwrap_or_default()));
        }
        let request = &place.answer.flow.request;
        if request.prompt.select_account || request.prompt.create {
            return Ok(Self::Anybody);
        }
        let signed_in = signed_in(ui, place).await?;
        let Some(named) = &request.hinted_subject else {
            let meant = signed_in.filter(|person| is_hinted(request.login_hint.as_deref(), person));
            return Ok(meant.map_or(Self::Anybody, |person| Self::Known(person.email)));
        };
        let named = signed_in.filter(|person| is_named(ui, place, (named, person)));
        Ok(named.map_or(Self::Named, |person| Self::Known(person.email)))
    }
}

/// Whether an application that says by which address somebody signs in may mean this person.
fn is_hinted(login_hint: Option<&str>, person: &Identity) -> bool {
    login_hint.is_none_or(|hint| hint.trim().eq_ignore_ascii_case(&person.email))
}

/// Whether the application calls this person so.
fn is_named(ui: &UiState, place: &Place<'_>, (named, person): (&Subject, &Identity)) -> bool {
    let own = person.id.to_string();
    let Ok(subject) = own.parse::<Subject>() else { return false };
    let shown = shown_subject(&place.answer.client, &subject, &ui.config);
    named.as_str() == shown.unwrap_or(own)
}

/// Who is signed in, if the session of the browser goes on: its cookie alone may be left of one that has ended.
async fn signed_in(ui: &UiState, place: &Place<'_>) -> Result<Option<Identity>, Problem> {
    let cookie = place.visit.browser.session.as_deref();
    let Some(cookie) = cookie.and_then(|value| SessionCookie::open(value, &ui.cookies.sealer)) else {
        return Ok(None);
    };
    let sessions = ui.login_sessions.of_subject(&cookie.subject).await.map_err(IdentityError::from)?;
    if sessions.iter().any(|session| session.id == cookie.session) {
        return Ok(ui.person(&cookie.subject).await?);
    }
    Ok(None)
}
