//! `/ui/account/sessions`: where the person is signed in, and the way out of each place, or of all of them.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_identity::session::IdentitySession;
use sluice_oauth::authorization::SessionCookie;
use sluice_oauth::login_session::{EndSessions, LoginOrigin, LoginSession};
use sluice_primitives::SessionId;

use super::device::device_name;
use super::frame::{CONFIRMED, form_page, frame, is_confirmed};
use super::logout::gone;
use super::member::{Member, Refused, answer};
use super::notice::Notice;
use super::place::Place;
use super::views::{BrowserOrigin, BrowserRow, DeviceRow, FormPage, Link, Moment, SessionsPage};
use crate::respond::redirect::redirect;
use crate::ui::UiState;
use crate::ui::page::page;
use crate::ui::policy::Policy;

const HERE: Place = Place::Sessions;
const EVERYWHERE: &str =
    "Every browser and device is signed out, this one too, and applications lose what they were given.";

/// `GET /ui/account/sessions`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async { look(&ui, &Member::of_page(&ui, request, HERE).await?).await };
    answer(&ui, shown.await)
}

/// `POST /ui/account/sessions`: `session`, `browser`, `others` or `everything` says what ends, the last once it is `confirmed`.
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let (sessions, id) = (&ui.accounts.sessions, member.identity.id);
    if fields.get("everything").is_some() {
        if !is_confirmed(&fields) {
            return ask_about_everything(ui, member);
        }
        // First those that applications hear of: whoever is still in can try again.
        ui.login_sessions.end(EndSessions::Subject(member.subject()?)).await?;
        sessions.end_all(id).await?;
        return Ok(gone(ui));
    }
    if fields.get("others").is_some() {
        sessions.end_others(id, member.session.id).await?;
        return Ok(done(ui, member, Notice::OthersEnded));
    }
    let ended = match (named(fields.get("session")), named(fields.get("browser"))) {
        (Some(session), _) => sessions.end(id, session).await? && session != member.session.id,
        (None, Some(session)) => ui.login_sessions.end_of(&member.subject()?, session).await?,
        (None, None) => false,
    };
    if ended {
        return Ok(done(ui, member, Notice::SessionEnded));
    }
    // It was this one, which the page then finds out; or it was over already, or is somebody else's.
    Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui)))
}

/// Asks once more, and says what ends.
fn ask_about_everything(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let back = HERE.url(ui);
    let page = FormPage {
        title: "Sign out everywhere?",
        lead: Some(EVERYWHERE),
        hidden: vec![("everything", "true"), CONFIRMED],
        submit: "Sign out everywhere",
        is_grave: true,
        back: Some(Link { url: &back, label: "Stay signed in" }),
        ..FormPage::default()
    };
    form_page(ui, (member, HERE), None, page)
}

fn named(id: Option<&str>) -> Option<SessionId> {
    id?.parse().ok()
}

fn done(ui: &UiState, member: &Member, notice: Notice) -> Response {
    redirect(StatusCode::SEE_OTHER, &notice.at(ui, HERE, &member.cookie))
}

async fn look(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let devices = ui.accounts.sessions.list(member.identity.id).await?;
    let mut browsers = ui.login_sessions.of_subject(&member.subject()?).await?;
    let cookie = session_cookie(ui, member);
    let is_this = |session: &LoginSession| cookie.as_ref().is_some_and(|cookie| holds(cookie, session));
    // Those of this browser first, and all of them the newest first, as they are.
    browsers.sort_by_key(|session| !is_this(session));
    let csrf = member.csrf()?;
    let view = SessionsPage {
        brand: &ui.brand(),
        frame: &frame(ui, member, HERE, &csrf),
        action: HERE.url(ui),
        csrf: &csrf,
        devices: devices.iter().map(|session| device_row(ui, session, member)).collect(),
        browsers: browsers.iter().map(|session| browser_row(ui, session, is_this(session))).collect(),
    };
    Ok(page(ui, StatusCode::OK, &view, &Policy::form(&ui.config)))
}

fn device_row(ui: &UiState, session: &IdentitySession, member: &Member) -> DeviceRow {
    DeviceRow {
        id: session.id.to_string(),
        device: device_name(&session.device, &ui.language),
        network: ui.language.say(place_of(&session.network)).to_owned(),
        began: Moment::new(session.authenticated_at),
        seen: Moment::new(session.last_seen_at),
        is_this: session.id == member.session.id,
    }
}

/// Where somebody is, as far as a proxy has told.
fn place_of(network: &str) -> &str {
    let is_untold = network.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
    if is_untold { "an unknown network" } else { network }
}

/// What this browser says of the logins to applications that it holds, whosever they are.
fn session_cookie(ui: &UiState, member: &Member) -> Option<SessionCookie> {
    SessionCookie::open(member.browser.session.as_deref()?, &ui.cookies.sealer)
}

/// Whether the browser with this cookie signs in by the session, or did before it began another.
fn holds(cookie: &SessionCookie, session: &LoginSession) -> bool {
    cookie.session == session.id || cookie.former.contains(&session.id)
}

fn browser_row(ui: &UiState, session: &LoginSession, is_this: bool) -> BrowserRow {
    let named = |origin: &LoginOrigin| BrowserOrigin {
        device: device_name(&origin.device, &ui.language),
        network: ui.language.say(place_of(&origin.network)).to_owned(),
    };
    BrowserRow {
        id: session.id.to_string(),
        origin: session.origin.as_ref().map(named),
        began: Moment::new(session.authenticated_at),
        seen: Moment::new(session.last_seen_at),
        is_remembered: session.remembered,
        is_this,
    }
}
