//! Who opens a page of the account: somebody who is signed in, or is sent to sign in.

use std::mem;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use sluice_commit::StoreError;
use sluice_identity::account::confirmation::FRESH;
use sluice_identity::identity::email::readable;
use sluice_identity::session::{Caller, IdentitySession, TokenPair, acr_of};
use sluice_identity::{Identity, IdentityError};
use sluice_oauth::authorization::Browser;
use sluice_oauth::flow::{BindingKey, BindingKeys};
use sluice_protocol::Subject;

use super::cookie::AccountCookie;
use super::notice::Notice;
use super::place::{CONFIRM, LOGIN, Place, Then, leading_to};
use crate::extract::user_agent;
use crate::respond::redirect::redirect;
use crate::ui::UiState;
use crate::ui::problem::Problem;
use crate::ui::visit::{Visit, encode_token};

/// What the forms of a session are bound to, beside its cookie.
const FORMS: &str = "account";

/// What the page to sign in is told of somebody who was signed out while a form was filled in.
const MEANWHILE: &str = "signed_out=meanwhile";

/// A request for a page of the account, or of its form.
pub(super) struct Arrival {
    pub(super) visit: Visit,
    pub(super) cookie: Option<AccountCookie>,
    /// What the browser calls itself.
    pub(super) device: String,
}

/// Somebody who is signed in, before a page or with its form.
pub(super) struct Member {
    pub(super) visit: Visit,
    pub(super) identity: Identity,
    pub(super) session: IdentitySession,
    pub(super) cookie: AccountCookie,
    /// What the browser presents beside that cookie.
    pub(super) browser: Browser,
    pub(super) device: String,
}

/// Why somebody does not get what was asked for.
pub(super) enum Refused {
    /// Something is wrong.
    Problem(Problem),
    /// Nobody is signed in: to this page after having signed in, with the token of the link that led to it.
    SignedOut(Place, Option<String>),
    /// The same, and it is said that a form was not taken: its page was shown to somebody who was signed in.
    SignedOutMeanwhile(Place, Option<String>),
    /// It was too long ago that the person showed who it is: to this page after having done so again.
    Stale(Place),
    /// The same, to this address, whose page says first what came of a form.
    StaleAfter(String),
}

impl Refused {
    /// What the browser gets instead.
    pub(super) fn answer(&self, ui: &UiState) -> Response {
        let url = match self {
            Self::Problem(problem) => return problem.answer(ui),
            Self::SignedOut(then, token) => leading_to(ui, LOGIN, Then::new(*then, token.as_deref())),
            Self::SignedOutMeanwhile(then, token) => {
                let url = leading_to(ui, LOGIN, Then::new(*then, token.as_deref()));
                format!("{url}{}{MEANWHILE}", if url.contains('?') { '&' } else { '?' })
            }
            Self::Stale(then) => leading_to(ui, CONFIRM, *then),
            Self::StaleAfter(url) => url.clone(),
        };
        redirect(StatusCode::SEE_OTHER, &url)
    }

    /// The same, and whoever is asked first who it is reads this there.
    pub(super) fn saying(self, ui: &UiState, notice: Notice, member: &Member) -> Self {
        match self {
            Self::Stale(then) => {
                Self::StaleAfter(notice.added_to(&leading_to(ui, CONFIRM, then), &member.cookie))
            }
            other @ (Self::Problem(_)
            | Self::SignedOut(..)
            | Self::SignedOutMeanwhile(..)
            | Self::StaleAfter(_)) => other,
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<IdentityError> for Refused {
    fn from(error: IdentityError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Problem(IdentityError::from(error).into())
    }
}

/// The answer of a page, whatever came of it.
pub(super) fn answer(ui: &UiState, result: Result<Response, Refused>) -> Response {
    result.unwrap_or_else(|refused| refused.answer(ui))
}

impl Arrival {
    /// At a page.
    pub(super) fn of_page(ui: &UiState, request: &Request) -> Self {
        Self {
            visit: Visit::of_page(ui, request),
            cookie: cookie(ui, request.headers()),
            device: device(request.headers()),
        }
    }

    /// With a form.
    pub(super) async fn of_form(ui: &UiState, request: Request) -> Result<Self, Problem> {
        let (cookie, device) = (cookie(ui, request.headers()), device(request.headers()));
        Ok(Self { visit: Visit::of_form(ui, request).await?, cookie, device })
    }

    /// What the link of a mail brought, if one led here.
    fn token(&self) -> Option<String> {
        self.visit.parameters().ok()?.get("token").map(str::to_owned)
    }

    /// Who it is, if somebody is signed in.
    pub(super) async fn member(self, ui: &UiState) -> Result<Option<Member>, IdentityError> {
        let Some(cookie) = self.cookie else { return Ok(None) };
        let Some((session, identity)) = ui.accounts.sessions.visit(cookie.session).await? else {
            return Ok(None);
        };
        // The forms of a session are those of its cookie, and end with it.
        let keys = BindingKeys(vec![BindingKey::of_cookie(&cookie.value)]);
        let mut visit = self.visit;
        let browser = mem::replace(&mut visit.browser, Browser { keys, ..Browser::default() });
        Ok(Some(Member { visit, identity, session, cookie, browser, device: self.device }))
    }

    /// Whoever posted a form of the page `place`, which must be one that this server gave this session. Else the page before it
    /// says what there is: the form may have been sent, and what it did has renewed the session.
    pub(super) async fn checked_member(self, ui: &UiState, place: Place) -> Result<Member, Refused> {
        let token = self.token();
        let member = self.member(ui).await?.ok_or_else(|| Refused::SignedOutMeanwhile(place, token))?;
        let fields = member.visit.parameters()?;
        let checked = member.visit.check_token(FORMS, &fields);
        drop(fields);
        checked.map_err(|problem| problem.restarting_at(Some(place.section().url(ui))))?;
        Ok(member)
    }
}

impl Member {
    /// Whoever opens the page `place`.
    pub(super) async fn of_page(ui: &UiState, request: Request, place: Place) -> Result<Self, Refused> {
        let arrival = Arrival::of_page(ui, &request);
        let token = arrival.token();
        arrival.member(ui).await?.ok_or_else(|| Refused::SignedOut(place, token))
    }

    /// Whoever posts a form of the page `place`, which must be one that this server gave this session.
    pub(super) async fn of_form(ui: &UiState, request: Request, place: Place) -> Result<Self, Refused> {
        Arrival::of_form(ui, request).await?.checked_member(ui, place).await
    }

    /// Whether what was posted is a form of this session.
    pub(super) fn holds_form(&self) -> Result<bool, Problem> {
        Ok(self.visit.check_token(FORMS, &self.visit.parameters()?).is_ok())
    }

    /// The token for the forms of this session.
    pub(super) fn csrf(&self) -> Result<String, Problem> {
        self.visit.form_token(FORMS)
    }

    /// Whether the person has shown a moment ago who it is, with a second factor if there is one. Else it is asked for
    /// before the page `place` is shown.
    pub(super) async fn must_be_fresh(&self, ui: &UiState, place: Place) -> Result<(), Refused> {
        let age = ui.accounts.clock.now().since(self.session.authenticated_at);
        if age < FRESH { self.must_have_shown_factor(ui, place).await } else { Err(Refused::Stale(place)) }
    }

    /// The same for a page that asks for the password itself: of those who have one, however long ago they signed in.
    pub(super) async fn must_have_proved(&self, ui: &UiState, place: Place) -> Result<(), Refused> {
        if !self.has_password() {
            return self.must_be_fresh(ui, place).await;
        }
        let is_enough = ui.accounts.has_shown_factor(&self.caller()).await?;
        if is_enough { Ok(()) } else { Err(Refused::Stale(place)) }
    }

    /// Whether the person has shown a second factor if there is one, however long ago, and the session goes on.
    pub(super) async fn must_have_shown_factor(&self, ui: &UiState, place: Place) -> Result<(), Refused> {
        if !ui.accounts.has_shown_factor(&self.caller()).await? {
            return Err(Refused::Stale(place));
        }
        // The record was read after the session: if that ended in between, it is not the record that was shown anything.
        let goes_on = ui.accounts.sessions.goes_on((self.identity.id, self.session.id)).await?;
        if goes_on { Ok(()) } else { Err(Refused::SignedOut(place, None)) }
    }

    /// Ends the session of somebody who must have a second factor and has none: the page that shows once more who it is would begin another one
    /// without it, and the login page has it set up first.
    pub(super) async fn must_lack_no_factor(&self, ui: &UiState, place: Place) -> Result<(), Refused> {
        if !ui.factors.is_lacking(self.identity.id).await? {
            return Ok(());
        }
        ui.accounts.sessions.end(self.identity.id, self.session.id).await?;
        Err(Refused::SignedOut(place, None))
    }

    /// Whether the person has a password.
    pub(super) const fn has_password(&self) -> bool {
        !self.identity.credential.is_empty()
    }

    /// As the identity API calls the person.
    pub(super) fn caller(&self) -> Caller {
        Caller {
            identity: self.identity.id,
            session: self.session.id,
            authenticated_at: self.session.authenticated_at,
            amr: self.session.amr.clone(),
            acr: acr_of(&self.session.amr).to_owned(),
        }
    }

    /// As applications call the person.
    pub(super) fn subject(&self) -> Result<Subject, Refused> {
        let subject = self.identity.id.to_string().parse();
        subject.map_err(|_| StoreError::Invalid("an identity's id is no subject".to_owned()).into())
    }

    /// How the person recognises the account.
    pub(super) fn name(&self) -> String {
        let Identity { username, email, .. } = &self.identity;
        if username.is_empty() { readable(email) } else { username.clone() }
    }
}

/// The token for the forms of the session of this cookie.
pub(super) fn csrf_of(cookie: &AccountCookie) -> String {
    encode_token(&BindingKey::of_cookie(&cookie.value), FORMS)
}

/// The cookie of a session that has just begun, and whether the browser keeps it.
pub(super) fn begun(ui: &UiState, pair: &TokenPair, is_kept: bool) -> AccountCookie {
    AccountCookie::new((pair.session, is_kept), &ui.accounts.sealer, &*ui.accounts.rng)
}

/// Gives the browser a cookie.
pub(super) fn with_cookie(ui: &UiState, mut response: Response, cookie: &AccountCookie) -> Response {
    let keep = ui.accounts.sessions.terms.lifetimes.lifetime;
    if let Some((name, value)) = cookie.set(ui.cookies.secure, keep) {
        response.headers_mut().append(name, value);
    }
    response
}

/// Takes the cookie from the browser.
pub(super) fn without_cookie(ui: &UiState, mut response: Response) -> Response {
    ui.remove_account_cookie(response.headers_mut());
    response
}

fn cookie(ui: &UiState, headers: &HeaderMap) -> Option<AccountCookie> {
    AccountCookie::of(headers, ui.cookies.secure, &ui.accounts.sealer)
}

fn device(headers: &HeaderMap) -> String {
    user_agent(headers).to_owned()
}
