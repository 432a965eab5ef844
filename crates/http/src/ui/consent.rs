//! The consent page: may this client have what it asks for?

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};
use sluice_oauth::flow::{AcceptConsent, AwaitingConsent, FlowAnswer, RejectFlow};
use sluice_primitives::IdentityId;
use sluice_protocol::{ClaimsRequest, Parameters};
use url::Url;

use super::UiState;
use super::page::{onward, page};
use super::policy::Policy;
use super::problem::Problem;
use super::stylesheet;
use super::views::{ConsentPage, ScopeEntry};
use super::visit::{Visit, challenge, restart};
use crate::respond::redirect::redirect;

/// What is known about an identity, by scope (OpenID Connect Core §5.4).
const CLAIMS: [(&str, &[&str]); 2] =
    [("email", &["email", "email_verified"]), ("profile", &["preferred_username"])];

/// `GET /ui/consent`
pub(super) async fn show(State(ui): State<UiState>, request: Request) -> Response {
    let visit = Visit::of_page(&ui, &request);
    look(&ui, &visit).await.unwrap_or_else(|problem| problem.answer(&ui))
}

/// `POST /ui/consent`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Visit::of_form(&ui, request).await?).await };
    taken.await.unwrap_or_else(|problem| problem.answer(&ui))
}

async fn look(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "consent_challenge")?;
    let answer = ui.flows.consent(challenge).await?;
    if answer.flow.skip {
        // A remembered decision was about scopes: who was not asked about a claim has not allowed it.
        let allowed = if answer.client.skip_consent {
            asked(&answer.flow)
        } else {
            answer.flow.request.scope.iter().collect()
        };
        let everything = allowed.into_iter().map(str::to_owned).collect();
        let next = accept(ui, challenge, &answer.flow, (everything, false)).await?;
        return Ok(redirect(StatusCode::SEE_OTHER, &next));
    }
    visit.check_binding(&answer.flow.request, &answer)?;
    form(ui, (visit, challenge), &answer, (StatusCode::OK, None)).await
}

async fn take(ui: &UiState, visit: &Visit) -> Result<Response, Problem> {
    let fields = visit.parameters()?;
    let challenge = challenge(&fields, "consent_challenge")?;
    if let Err(problem) = visit.check_token(challenge, &fields) {
        return Err(problem.restarting_at(restart(ui.flows.consent(challenge).await)));
    }
    let answer = ui.flows.consent(challenge).await?;
    match fields.get("decision") {
        Some("accept") => {
            let choice = (chosen(&answer.flow, &fields), fields.get("remember").is_some());
            Ok(onward(&ui.config, &accept(ui, challenge, &answer.flow, choice).await?))
        }
        Some("reject") => {
            let rejection = RejectFlow {
                description: "The user denied the request.".to_owned(),
                ..RejectFlow::default()
            };
            Ok(onward(&ui.config, &ui.flows.reject_consent(challenge, rejection).await?))
        }
        _ => {
            let again = (StatusCode::UNPROCESSABLE_ENTITY, Some("Choose whether to allow this."));
            form(ui, (visit, challenge), &answer, again).await
        }
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

/// What was asked for and ticked; `openid` cannot be unticked, for without it nobody is logged in.
fn chosen(flow: &AwaitingConsent, fields: &Parameters<'_>) -> Vec<String> {
    let ticked = |value: &str| fields.all("grant_scope").any(|ticked| ticked == value);
    asked(flow).into_iter().filter(|value| *value == "openid" || ticked(value)).map(str::to_owned).collect()
}

/// Accepts the flow; where the browser goes next.
async fn accept(
    ui: &UiState,
    challenge: &str,
    flow: &AwaitingConsent,
    (allowed, remember): (Vec<String>, bool),
) -> Result<String, Problem> {
    let wants_claims = allowed.iter().any(|scope| scope == "email" || scope == "profile");
    let email = if wants_claims { email(ui, flow).await? } else { None };
    let requested = |scope: &String| flow.request.scope.contains(scope);
    let accept = AcceptConsent {
        id_token: claims(&allowed, email.as_deref()),
        grant_scope: allowed.into_iter().filter(requested).collect(),
        grant_audience: flow.request.audience.as_slice().to_vec(),
        remember,
        ..AcceptConsent::default()
    };
    Ok(ui.flows.accept_consent(challenge, accept).await?)
}

/// What the allowed scopes tell the client (OpenID Connect Core §5.4). Nobody has verified the address yet.
fn claims(scopes: &[String], email: Option<&str>) -> Map<String, Value> {
    let granted = |scope: &str| scopes.iter().any(|own| own == scope);
    let mut claims = Map::new();
    let Some(email) = email else { return claims };
    if granted("email") {
        claims.insert("email".to_owned(), email.into());
        claims.insert("email_verified".to_owned(), false.into());
    }
    if granted("profile") {
        claims.insert("preferred_username".to_owned(), email.into());
    }
    claims
}

/// The address of who logged in: handed on by the login page or, for a browser that was recognised, looked up.
async fn email(ui: &UiState, flow: &AwaitingConsent) -> Result<Option<String>, Problem> {
    let handed_on =
        flow.login.context.as_ref().and_then(|context| context.get("email")).and_then(Value::as_str);
    if let Some(email) = handed_on {
        return Ok(Some(email.to_owned()));
    }
    // Another login page may have named a subject that is no identity.
    let Ok(id) = flow.login.subject.as_str().parse::<IdentityId>() else { return Ok(None) };
    let identity = ui.identities.find(id).await.map_err(sluice_identity::IdentityError::from)?;
    Ok(identity.map(|identity| identity.email))
}

async fn form(
    ui: &UiState,
    (visit, challenge): (&Visit, &str),
    answer: &FlowAnswer<AwaitingConsent>,
    (status, form_error): (StatusCode, Option<&'static str>),
) -> Result<Response, Problem> {
    let (request, client) = (&answer.flow.request, &answer.client);
    let email = email(ui, &answer.flow).await?;
    // The browser of a device's user goes back to nobody.
    let return_to =
        request.redirect_uri.url().filter(|_| !request.details.device).map(|url| destination(&url));
    let client_host = super::client_host(client);
    let view = ConsentPage {
        stylesheet: &stylesheet(&ui.config),
        action: &ui.path(super::CONSENT),
        consent_challenge: challenge,
        csrf: &visit.form_token(challenge)?,
        client_name: super::client_name(client),
        client_host: client_host.as_deref(),
        account: email.as_deref().unwrap_or_else(|| answer.flow.login.subject.as_str()),
        scopes: asked(&answer.flow).into_iter().map(ScopeEntry::new).collect(),
        audiences: request.audience.as_slice().iter().map(String::as_str).collect(),
        return_host: return_to.as_deref(),
        policy_url: super::web_url(&client.policy_uri),
        tos_url: super::web_url(&client.tos_uri),
        remember: false,
        form_error,
    };
    Ok(page(status, &view, &Policy::form(&ui.config)))
}

/// Where the browser goes back to, as a person reads it: a host, or the scheme of a native application.
fn destination(url: &Url) -> String {
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(host)) => host.to_owned(),
        (scheme, _) => format!("{scheme}:"),
    }
}
