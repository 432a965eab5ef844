//! The consent page: may this client have what it asks for?

use std::collections::HashSet;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};
use sluice_identity::identity::email::readable;
use sluice_identity::{Identity, IdentityError};
use sluice_oauth::config::{EmailClaim, Policies, PreferredUsername};
use sluice_oauth::flow::{AcceptConsent, AwaitingConsent, FlowAnswer, FlowProblem, RejectFlow};
use sluice_protocol::{AuthorizationDetails, ClaimsRequest, ErrorCode, Parameters};
use tracing::info;

use super::UiState;
use super::page::{onward_in, page};
use super::policy::Policy;
use super::problem::Problem;
use super::views::{ConsentPage, DetailEntry, ScopeEntry};
use super::visit::{Visit, challenge, restart};
use crate::respond::redirect::redirect;

/// What is known about an identity, by scope (OpenID Connect Core §5.4).
const CLAIMS: [(&str, &[&str]); 2] =
    [("email", &["email", "email_verified"]), ("profile", &["name", "preferred_username", "updated_at"])];

/// What is known about who logged in.
enum Known {
    /// One of our people.
    Person(Box<Identity>),
    /// Somebody of another login page, which handed on an address.
    Address(String),
    Nobody,
}

/// `GET /ui/consent`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/consent`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "consent_challenge")?;
    let answer = ui.flows.consent(challenge).await?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    // Accepting makes a sealed value, which may have to be parked: not for everybody who found the address.
    visit.check_binding(&answer.flow.request, &answer)?;
    if answer.flow.skip {
        let allowed = if answer.client.skip_consent {
            asked(&answer.flow)
        } else {
            allowed_before(ui, &answer.flow).await?
        };
        let everything = allowed.into_iter().map(str::to_owned).collect();
        let next = accept(ui, challenge, &answer.flow, (everything, false)).await?;
        return Ok(redirect(StatusCode::SEE_OTHER, &next));
    }
    form(ui, (visit, challenge), &answer, (StatusCode::OK, None)).await
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "consent_challenge")?;
    if let Err(problem) = visit.check_token(challenge, &fields) {
        return Err(problem.going_on_at(restart(ui.flows.consent(challenge).await)));
    }
    let answer = ui.flows.consent(challenge).await?;
    let ui = &*ui.told_in(answer.flow.request.ui_locales.as_deref());
    visit.check_binding(&answer.flow.request, &answer)?;
    match fields.get("decision") {
        Some("accept") => {
            let choice = (chosen(&answer.flow, &fields), fields.get("remember").is_some());
            let next = accept(ui, challenge, &answer.flow, choice).await?;
            tell_decision(&answer, "given");
            Ok(onward_in(ui, &answer, &next))
        }
        Some("reject") => {
            let rejection = RejectFlow {
                description: "The user denied the request.".to_owned(),
                ..RejectFlow::default()
            };
            let next = ui.flows.reject_consent(challenge, rejection).await?;
            tell_decision(&answer, "denied");
            Ok(onward_in(ui, &answer, &next))
        }
        _ => {
            let again = (StatusCode::UNPROCESSABLE_ENTITY, Some("Choose whether to allow this."));
            form(ui, (visit, challenge), &answer, again).await
        }
    }
}

/// Says in the audit trail what a person decided.
fn tell_decision(answer: &FlowAnswer<AwaitingConsent>, decision: &'static str) {
    if let Some(person) = answer.person() {
        info!(target: "sluice_audit", { identity.id = %person, client.id = %answer.client.id }, "consent {decision}");
    }
}

/// The scopes that are requested, and those whose claims are asked for one by one (OpenID Connect Core §5.5).
fn asked(flow: &AwaitingConsent) -> Vec<&str> {
    let mut asked: Vec<_> = flow.request.scope.iter().collect();
    let claims = flow.request.details.claims.as_deref().and_then(|text| ClaimsRequest::parse(text).ok());
    let names = claims.iter().flat_map(|claims| claims.userinfo.keys().chain(claims.id_token.keys()));
    for name in names {
        if let Some((scope, _)) = CLAIMS.iter().find(|(_, claims)| claims.contains(&name.as_str()))
            && !asked.contains(scope)
        {
            asked.push(*scope);
        }
    }
    asked
}

/// The scopes that are requested, and of those whose claims are asked for one by one those that the remembered decision told: who was not
/// asked about a claim has not allowed it, nor has who unticked it.
async fn allowed_before<'a>(ui: &UiState, flow: &'a AwaitingConsent) -> Result<Vec<&'a str>, Problem> {
    let (mut allowed, requested) = (asked(flow), &flow.request.scope);
    if allowed.iter().all(|scope| requested.contains(scope)) {
        return Ok(allowed);
    }
    let (subject, now) = (&flow.login.subject, ui.accounts.clock.now());
    let decision = ui.consents.consents.find(subject, &flow.request.client, now).await;
    let told =
        decision.map_err(IdentityError::from)?.map(|decision| decision.claims.id_token).unwrap_or_default();
    // What people are called by says nothing of it: it may be left out, and was once told with the address alone.
    let is_told = |claim: &&str| *claim != "preferred_username" && told.contains_key(*claim);
    let was_allowed =
        |scope: &str| CLAIMS.iter().any(|(own, claims)| *own == scope && claims.iter().any(&is_told));
    allowed.retain(|scope| requested.contains(scope) || was_allowed(scope));
    Ok(allowed)
}

/// What is asked for in detail (RFC 9396 §2): it was checked when the request came.
fn details(flow: &AwaitingConsent) -> AuthorizationDetails {
    let asked = flow.request.details.authorization_details.as_deref().map(AuthorizationDetails::parse);
    asked.and_then(Result::ok).unwrap_or_default()
}

/// What was asked for and ticked; `openid` cannot be unticked, for without it nobody is logged in.
fn chosen(flow: &AwaitingConsent, fields: &Parameters<'_>) -> Vec<String> {
    let ticked: HashSet<_> = fields.all("grant_scope").collect();
    let is_chosen = |value: &&str| *value == "openid" || ticked.contains(*value);
    asked(flow).into_iter().filter(is_chosen).map(str::to_owned).collect()
}

/// Accepts the flow; where the browser goes next. What the application cannot be given it hears of, since nobody here can do
/// anything about it.
async fn accept(
    ui: &UiState,
    challenge: &str,
    flow: &AwaitingConsent,
    (allowed, remember): (Vec<String>, bool),
) -> Result<String, Problem> {
    let wants_claims = allowed.iter().any(|scope| scope == "email" || scope == "profile");
    let known = if wants_claims { known(ui, flow).await? } else { Known::Nobody };
    let requested = |scope: &String| flow.request.scope.contains(scope);
    // Those that the page listed, and no others.
    let details = details(flow);
    let accept = AcceptConsent {
        id_token: known.claims(&allowed, &ui.config.policies),
        grant_scope: allowed.into_iter().filter(requested).collect(),
        grant_audience: flow.request.audience.as_slice().to_vec(),
        authorization_details: (!details.is_empty()).then(|| details.into_value()),
        remember,
        ..AcceptConsent::default()
    };
    match ui.flows.accept_consent(challenge, accept).await {
        Err(FlowProblem::Invalid(reason)) => {
            info!(reason, "consent not granted");
            Ok(ui.flows.reject_consent(challenge, ungranted()).await?)
        }
        accepted => Ok(accepted?),
    }
}

/// Scope and audience are those of the request, which may have them: it is only what it asks for in detail (RFC 9396 §5).
fn ungranted() -> RejectFlow {
    RejectFlow {
        error: ErrorCode::InvalidAuthorizationDetails.as_str().to_owned(),
        description: "The client may not ask for these any more, or they are too long for its access tokens."
            .to_owned(),
    }
}

impl Known {
    /// What the allowed scopes tell the client (OpenID Connect Core §5.4).
    fn claims(&self, scopes: &[String], policies: &Policies) -> Map<String, Value> {
        let granted = |scope: &str| scopes.iter().any(|own| own == scope);
        let mut claims = Map::new();
        let mut tell = |name: &str, value: Value| claims.insert(name.to_owned(), value);
        let Some(email) = self.email() else { return Map::new() };
        if granted("email") {
            // Where the address is not told yet, a remembered decision shows by the other claim that it may be.
            if policies.email_claim == EmailClaim::Always || self.is_verified() {
                tell("email", email.into());
            }
            tell("email_verified", self.is_verified().into());
        }
        if granted("profile") {
            if let Some(name) = self.name() {
                tell("name", name.into());
            }
            if let Self::Person(person) = self {
                // No address that anybody else may have; one that the person does not go by, to who may know it.
                let address = person.verified_email().filter(|_| granted("email"));
                let called = match policies.preferred_username {
                    PreferredUsername::Username => person.unmistakable_name().or(address),
                    PreferredUsername::Email => address,
                    PreferredUsername::Nothing => None,
                };
                if let Some(called) = called {
                    tell("preferred_username", called.into());
                }
                tell("updated_at", person.updated_at.as_secs().into());
            }
        }
        claims
    }

    fn email(&self) -> Option<&str> {
        match self {
            Self::Person(person) => Some(&person.email),
            Self::Address(email) => Some(email),
            Self::Nobody => None,
        }
    }

    fn is_verified(&self) -> bool {
        matches!(self, Self::Person(person) if person.verified_email().is_some())
    }

    /// What the person wants to be called.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Person(person) if !person.username.is_empty() => Some(&person.username),
            Self::Person(_) | Self::Address(_) | Self::Nobody => None,
        }
    }
}

/// Who logged in. Another login page may have named a subject that is none of our people.
async fn known(ui: &UiState, flow: &AwaitingConsent) -> Result<Known, Problem> {
    if let Some(person) = ui.person(&flow.login.subject).await? {
        return Ok(Known::Person(Box::new(person)));
    }
    let context = flow.login.context.as_ref();
    let email = context.and_then(|context| context.get("email")).and_then(Value::as_str);
    Ok(email.map_or(Known::Nobody, |email| Known::Address(email.to_owned())))
}

async fn form(
    ui: &UiState,
    (visit, challenge): (&Visit, &str),
    answer: &FlowAnswer<AwaitingConsent>,
    (status, form_error): (StatusCode, Option<&'static str>),
) -> Result<Response, Problem> {
    let (request, client) = (&answer.flow.request, &answer.client);
    let known = known(ui, &answer.flow).await?;
    let email = known.email().map(readable);
    let return_to = super::return_host(request);
    let (client_host, another) = (super::client_host(&client.id), answer.for_another());
    let view = ConsentPage {
        brand: &ui.brand(),
        action: &ui.path(super::CONSENT),
        consent_challenge: challenge,
        csrf: &visit.flow_token(request, challenge)?,
        client_name: super::client_name(client),
        client_host: client_host.as_deref(),
        registered_itself: client.registered_itself,
        account: email.as_deref().unwrap_or_else(|| answer.flow.login.subject.as_str()),
        username: known.name(),
        scopes: asked(&answer.flow).into_iter().map(ScopeEntry::new).collect(),
        audiences: request.audience.as_slice().iter().map(String::as_str).collect(),
        details: details(&answer.flow).iter().map(DetailEntry::of).collect(),
        return_host: return_to.as_deref(),
        policy_url: client.link(&client.policy_uri),
        tos_url: client.link(&client.tos_uri),
        remember: false,
        another_url: another.as_deref(),
        form_error,
    };
    Ok(page(ui, status, &view, &Policy::form(&ui.config)))
}
