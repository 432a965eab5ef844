//! Consent sessions as Hydra spells them.

use serde::Serialize;
use serde_json::{Value, json};
use sluice_oauth::client::Client;
use sluice_oauth::grant::Grant;

use super::client::{ClientBody, rfc3339};

/// `oAuth2ConsentSession`.
#[derive(Serialize)]
pub(crate) struct ConsentSessionBody<'a> {
    consent_request_id: String,
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
    challenge: String,
    consent_request_id: String,
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
    pub(crate) fn new(grant: &'a Grant, client: Option<&'a Client>) -> Self {
        let id = grant.id.to_string();
        let context = grant.claims.context.clone().unwrap_or_else(|| json!({}));
        let consent_request = ConsentRequest {
            challenge: id.clone(),
            consent_request_id: id.clone(),
            requested_scope: grant.scope.iter().collect(),
            requested_access_token_audience: grant.audience.as_slice(),
            skip: false,
            subject: grant.subject.as_str(),
            oidc_context: json!({}),
            client: client.map(ClientBody::from),
            request_url: "",
            login_challenge: id.clone(),
            login_session_id: grant.session.map(|session| session.to_string()).unwrap_or_default(),
            acr: grant.claims.acr.as_deref().unwrap_or_default(),
            amr: &grant.claims.amr,
            context: context.clone(),
        };
        Self {
            consent_request_id: id,
            consent_request,
            grant_scope: grant.scope.iter().collect(),
            grant_access_token_audience: grant.audience.as_slice(),
            session: json!({"access_token": grant.claims.access_token, "id_token": grant.claims.id_token}),
            remember: grant.claims.remember_for.is_some(),
            remember_for: grant.claims.remember_for.unwrap_or_default(),
            handled_at: rfc3339(grant.consented_at),
            context,
        }
    }
}
