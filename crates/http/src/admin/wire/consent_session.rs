//! Consent sessions as Hydra spells them.

use serde::Serialize;
use serde_json::{Value, json};
use sluice_oauth::client::Client;
use sluice_oauth::consent::ConsentEntry;
use sluice_oauth::grant::Requested;

use super::client::{ClientBody, rfc3339};

/// `oAuth2ConsentSession`.
#[derive(Serialize)]
pub(crate) struct ConsentSessionBody<'a> {
    consent_request_id: &'a str,
    consent_request: ConsentRequest<'a>,
    grant_scope: Vec<&'a str>,
    grant_access_token_audience: &'a [String],
    session: Value,
    remember: bool,
    remember_for: i64,
    handled_at: String,
    context: Value,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the fields are Hydra's")]
struct ConsentRequest<'a> {
    challenge: &'a str,
    consent_request_id: &'a str,
    requested_scope: Vec<&'a str>,
    requested_access_token_audience: &'a [String],
    skip: bool,
    subject: &'a str,
    oidc_context: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<ClientBody<'a>>,
    request_url: &'a str,
    login_challenge: String,
    login_session_id: String,
    acr: &'a str,
    amr: &'a [String],
    context: Value,
}

impl<'a> ConsentSessionBody<'a> {
    pub(crate) fn new(entry: &'a ConsentEntry, client: Option<&'a Client>) -> Self {
        let claims = &entry.claims;
        let context = claims.context.clone().unwrap_or_else(|| json!({}));
        let requested = claims.requested.as_ref();
        let requested_scope = requested.map_or(entry.scope.as_str(), Requested::scope);
        let consent_request = ConsentRequest {
            challenge: &entry.id,
            consent_request_id: &entry.id,
            requested_scope: requested_scope.split_ascii_whitespace().collect(),
            requested_access_token_audience: requested.map_or(entry.audience.as_slice(), Requested::audience),
            skip: claims.skipped,
            subject: entry.subject.as_str(),
            oidc_context: json!({}),
            client: client.map(ClientBody::from),
            request_url: "",
            login_challenge: entry.flow.map(|flow| flow.to_string()).unwrap_or_default(),
            login_session_id: entry.session.map(|session| session.to_string()).unwrap_or_default(),
            acr: claims.acr.as_deref().unwrap_or_default(),
            amr: &claims.amr,
            context: context.clone(),
        };
        Self {
            consent_request_id: &entry.id,
            consent_request,
            grant_scope: entry.scope.iter().collect(),
            grant_access_token_audience: entry.audience.as_slice(),
            session: json!({"access_token": claims.access_token, "id_token": claims.id_token}),
            remember: claims.remember_for.is_some(),
            remember_for: claims.remember_for.unwrap_or_default(),
            handled_at: rfc3339(entry.decided_at),
            context,
        }
    }
}
