//! How well a flow wants to know who it is, and what becomes of it then.

use axum::response::Response;
use serde_json::{Value, json};
use sluice_identity::factor::{Aal, FirstFactor, NextStep, TicketData};
use sluice_identity::{Identity, IdentityError, IdentityStatus};
use sluice_oauth::authorization::SessionCookie;
use sluice_oauth::flow::{AcceptLogin, KnownSession, RejectFlow, Request as FlowRequest};
use sluice_primitives::Lifetime;
use sluice_protocol::{ClaimsRequest, ErrorCode};

use super::enrolment;
use super::factor::{self, Step};
use super::login::{self, Place};
use super::page::onward;
use super::problem::Problem;
use super::visit::Visit;
use super::{UiState, own_id};

/// For how long "keep me signed in" remembers a browser.
const REMEMBER: Lifetime = Lifetime::hours(30 * 24);
/// What a ticket carries of somebody who wants to be remembered.
const REMEMBERED: &[u8] = b"remember";

/// How somebody proved who it is.
pub(super) struct Proven {
    pub(super) amr: Vec<String>,
    pub(super) acr: Aal,
    pub(super) remember: bool,
}

/// What the request asks for: by `acr_values`, and by classes that the client cannot do without.
pub(super) fn wanted(request: &FlowRequest) -> Aal {
    let wishes: Vec<&str> = request.acr_values.as_deref().unwrap_or_default().split(' ').collect();
    Aal::from_acr_values(&wishes).max(Aal::from_acr_values(&essential(request)))
}

/// Whether the session is as good as the request asks for, and as whoever runs the site does of its person: one of before that was
/// asked is none to go on with.
pub(super) async fn suffices(
    ui: &UiState,
    known: &KnownSession,
    request: &FlowRequest,
) -> Result<bool, Problem> {
    let reached = Aal::reached_by(&known.amr);
    if reached == Aal::Aal2 || reached < wanted(request) {
        return Ok(reached == Aal::Aal2);
    }
    Ok(!ui.factors.is_required_of(own_id(&known.subject)).await?)
}

/// The browser has a session already.
pub(super) fn recognised(known: &KnownSession, request: &FlowRequest) -> AcceptLogin {
    // Of a session that another page began nothing needs to be known.
    let acr = (!known.amr.is_empty()).then(|| told(request, Aal::reached_by(&known.amr)));
    AcceptLogin { subject: known.subject.to_string(), acr, amr: known.amr.clone(), ..AcceptLogin::default() }
}

/// The password was right: asks for a second factor if there is one, and else lets the flow go on, or not.
pub(super) async fn after_password(
    ui: &UiState,
    place: &Place<'_>,
    identity: &Identity,
    remember: bool,
) -> Result<Response, Problem> {
    let data = if remember { TicketData::new(REMEMBERED) } else { None };
    let first = FirstFactor {
        identity,
        amr: &["pwd"],
        wanted: wanted(&place.answer.flow.request),
        context: place.challenge.as_bytes(),
        data: data.unwrap_or_default(),
    };
    match ui.factors.after_first(first).await? {
        NextStep::Done { amr, acr } => accept(ui, place, identity, Proven { amr, acr, remember }).await,
        NextStep::Factor { ticket, kinds } => factor::ask(ui, place, &Step { ticket: &ticket, kinds }).await,
        NextStep::Enrolment { ticket } => enrolment::ask(ui, place, (identity, &ticket)).await,
        NextStep::CannotReach => refuse(ui, place).await,
    }
}

/// Whether the box is ticked beforehand for somebody who is to prove more: unless the session ends with the browser, whoever began it.
pub(super) fn is_kept(ui: &UiState, visit: &Visit) -> bool {
    let cookie = visit.browser.session.as_deref();
    let cookie = cookie.and_then(|value| SessionCookie::open(value, &ui.cookies.sealer));
    cookie.is_none_or(|cookie| cookie.until_closed != Some(true))
}

/// Whether a ticket is of somebody who wants to be remembered.
pub(super) fn is_remembered(data: &TicketData) -> bool {
    data.as_bytes() == REMEMBERED
}

/// Accepts the flow for a person who has just proved who it is, and sends the browser on. `identity` is the record that was
/// looked at: whoever proved something of another password must not outlive its change.
pub(super) async fn accept(
    ui: &UiState,
    place: &Place<'_>,
    identity: &Identity,
    proven: Proven,
) -> Result<Response, Problem> {
    match accepted(ui, place, identity, proven).await? {
        Some(next) => Ok(place.visit.known.remember(ui, identity, onward(ui, &next))),
        None => login::again(ui, place).await,
    }
}

/// The same: where the browser goes on to; none if the record was changed meanwhile.
pub(super) async fn accepted(
    ui: &UiState,
    place: &Place<'_>,
    identity: &Identity,
    proven: Proven,
) -> Result<Option<String>, Problem> {
    let Some(identity) = present(ui, identity).await? else { return Ok(None) };
    let Proven { amr, acr, remember } = proven;
    let accept = AcceptLogin {
        subject: identity.id.to_string(),
        // Who leaves the box alone at a second login is remembered as before, and otherwise until the browser is closed.
        remember: remember.then_some(true),
        remember_for: if remember { REMEMBER.as_secs() } else { 0 },
        at_least_until_closed: true,
        amr,
        acr: Some(told(&place.answer.flow.request, acr)),
        context: Some(json!({ "email": identity.email })),
        // No later than anything that was looked at: what is revoked from now on covers this login, too.
        authenticated_at: Some(place.visit.arrived_at),
        ..AcceptLogin::default()
    };
    Ok(Some(ui.flows.accept_login(place.challenge, accept).await?))
}

/// The present record, if nobody changed meanwhile how the person gets in, or whether they may.
async fn present(ui: &UiState, looked_at: &Identity) -> Result<Option<Identity>, Problem> {
    let found = ui.identities.find(looked_at.id).await.map_err(IdentityError::from)?;
    let holds = |now: &Identity| now.revision == looked_at.revision && now.status == IdentityStatus::Active;
    Ok(found.filter(holds))
}

/// The person has not got what the client asks for (OpenID Connect Core Unmet Authentication Requirements 1.0 §2), and reads so before
/// the client hears it; at once it does where no page may be shown, and where it is a device, which waits: who closes the page never tells it.
async fn refuse(ui: &UiState, place: &Place<'_>) -> Result<Response, Problem> {
    let reject = RejectFlow {
        error: ErrorCode::UnmetAuthenticationRequirements.as_str().to_owned(),
        description: "The account has no second factor.".to_owned(),
    };
    let next = ui.flows.reject_login(place.challenge, reject).await?;
    let request = &place.answer.flow.request;
    if request.prompt.none || request.details.device {
        return Ok(onward(ui, &next));
    }
    Ok(factor::missing(ui, place, &next))
}

/// The class that the client is told: the one reached, or, of those that it cannot do without (OpenID Connect Core
/// §5.5.1.1), the first that is reached, too.
fn told(request: &FlowRequest, reached: Aal) -> String {
    let essential = essential(request);
    let own = reached.as_str();
    if essential.iter().any(|asked| asked == own) {
        return own.to_owned();
    }
    let covered = |asked: &&String| Aal::from_acr(asked).is_some_and(|asked| asked <= reached);
    essential.iter().find(covered).cloned().unwrap_or_else(|| own.to_owned())
}

fn essential(request: &FlowRequest) -> Vec<String> {
    let claims = request.details.claims.as_deref().and_then(|text| ClaimsRequest::parse(text).ok());
    let asked = claims.as_ref().and_then(|claims| claims.in_id_token("acr")).filter(|acr| acr.essential);
    asked.iter().flat_map(|acr| acr.wanted()).filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_that_are_told_are_those_that_are_announced() {
        let told = [Aal::Aal1, Aal::Aal2].map(Aal::as_str);
        assert_eq!(told, sluice_oauth::discovery::LOGIN_CLASSES);
    }
}
