//! Login, consent and logout requests as Hydra spells them. Like in Hydra, `null` in what a page sends says
//! the same as nothing.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sluice_oauth::flow::{
    AcceptConsent, AcceptLogin, AwaitingConsent, AwaitingLogin, FlowAnswer, RejectFlow, Request,
};
use sluice_oauth::logout::LogoutView;
use sluice_protocol::{JsonObject, WriteJson};

use super::client::{ClientBody, rfc3339};

/// `oAuth2LoginRequest`.
#[cfg_attr(test, derive(Serialize))]
pub(crate) struct LoginRequestBody<'a> {
    challenge: &'a str,
    requested_scope: Vec<&'a str>,
    requested_access_token_audience: &'a [String],
    skip: bool,
    subject: &'a str,
    oidc_context: OidcContext<'a>,
    client: &'a RawValue,
    request_url: String,
    session_id: String,
}

impl<'a> LoginRequestBody<'a> {
    /// `client` is its JSON.
    pub(crate) fn new(
        challenge: &'a str,
        answer: &'a FlowAnswer<AwaitingLogin>,
        client: &'a RawValue,
    ) -> Self {
        let flow = &answer.flow;
        Self {
            challenge,
            requested_scope: flow.request.scope.iter().collect(),
            requested_access_token_audience: flow.request.audience.as_slice(),
            skip: flow.known.is_some(),
            subject: flow.known.as_ref().map_or("", |known| known.subject.as_str()),
            oidc_context: OidcContext::from(&flow.request),
            client,
            request_url: answer.request_url(),
            session_id: flow.session.to_string(),
        }
    }
}

/// `oAuth2ConsentRequest`.
#[cfg_attr(test, derive(Serialize))]
pub(crate) struct ConsentRequestBody<'a> {
    /// What is asked for in detail (RFC 9396 §2); beyond Hydra, so there only where it was asked for.
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    requested_authorization_details: Option<Value>,
    challenge: &'a str,
    consent_request_id: String,
    requested_scope: Vec<&'a str>,
    requested_access_token_audience: &'a [String],
    skip: bool,
    subject: &'a str,
    oidc_context: OidcContext<'a>,
    client: &'a RawValue,
    request_url: String,
    /// The id of the flow: the challenge itself is too long to be carried on.
    login_challenge: String,
    login_session_id: String,
    acr: &'a str,
    amr: &'a [String],
    context: Value,
}

impl<'a> ConsentRequestBody<'a> {
    /// `client` is its JSON.
    pub(crate) fn new(
        challenge: &'a str,
        answer: &'a FlowAnswer<AwaitingConsent>,
        client: &'a RawValue,
    ) -> Self {
        let flow = &answer.flow;
        let details = flow.request.details.authorization_details.as_deref();
        Self {
            requested_authorization_details: details.and_then(|text| serde_json::from_str(text).ok()),
            challenge,
            consent_request_id: flow.request.flow.to_string(),
            requested_scope: flow.request.scope.iter().collect(),
            requested_access_token_audience: flow.request.audience.as_slice(),
            skip: flow.skip,
            subject: flow.login.subject.as_str(),
            oidc_context: OidcContext::from(&flow.request),
            client,
            request_url: answer.request_url(),
            login_challenge: flow.request.flow.to_string(),
            login_session_id: flow.login.session.to_string(),
            acr: flow.login.acr.as_deref().unwrap_or_default(),
            amr: &flow.login.amr,
            context: flow.login.context.clone().unwrap_or_else(|| json!({})),
        }
    }
}

impl WriteJson for LoginRequestBody<'_> {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.text("challenge", self.challenge);
        object.texts("requested_scope", &self.requested_scope);
        object.texts("requested_access_token_audience", self.requested_access_token_audience);
        object.boolean("skip", self.skip);
        object.text("subject", self.subject);
        object.value("oidc_context", &self.oidc_context);
        object.raw("client", self.client);
        object.text("request_url", &self.request_url);
        object.text("session_id", &self.session_id);
        object.end();
    }
}

impl WriteJson for ConsentRequestBody<'_> {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.value_if("requested_authorization_details", self.requested_authorization_details.as_ref());
        object.text("challenge", self.challenge);
        object.text("consent_request_id", &self.consent_request_id);
        object.texts("requested_scope", &self.requested_scope);
        object.texts("requested_access_token_audience", self.requested_access_token_audience);
        object.boolean("skip", self.skip);
        object.text("subject", self.subject);
        object.value("oidc_context", &self.oidc_context);
        object.raw("client", self.client);
        object.text("request_url", &self.request_url);
        object.text("login_challenge", &self.login_challenge);
        object.text("login_session_id", &self.login_session_id);
        object.text("acr", self.acr);
        object.texts("amr", self.amr);
        object.value("context", &self.context);
        object.end();
    }
}

impl WriteJson for RedirectTo {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.text("redirect_to", &self.redirect_to);
        object.end();
    }
}

/// `oAuth2ConsentRequestOpenIDConnectContext`.
#[derive(Serialize)]
struct OidcContext<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    acr_values: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token_hint_claims: Option<HintClaims<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login_hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ui_locales: Option<Vec<&'a str>>,
}

/// Of the claims of a hint only whom it names.
#[derive(Serialize)]
struct HintClaims<'a> {
    sub: &'a str,
}

impl<'a> From<&'a Request> for OidcContext<'a> {
    fn from(request: &'a Request) -> Self {
        let hinted = request.hinted_subject.as_ref();
        Self {
            acr_values: request.acr_values.as_deref().map(words),
            display: request.display.as_deref(),
            id_token_hint_claims: hinted.map(|subject| HintClaims { sub: subject.as_str() }),
            login_hint: request.login_hint.as_deref(),
            ui_locales: request.ui_locales.as_deref().map(words),
        }
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').filter(|word| !word.is_empty()).collect()
}

/// `acceptOAuth2LoginRequest`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct AcceptLoginBody {
    subject: Option<String>,
    remember: Option<bool>,
    remember_for: Option<i64>,
    extend_session_lifespan: Option<bool>,
    acr: Option<String>,
    amr: Option<Vec<Option<String>>>,
    context: Option<Value>,
    force_subject_identifier: Option<String>,
    identity_provider_session_id: Option<String>,
}

impl From<AcceptLoginBody> for AcceptLogin {
    fn from(body: AcceptLoginBody) -> Self {
        Self {
            subject: body.subject.unwrap_or_default(),
            remember: body.remember,
            remember_for: body.remember_for.unwrap_or_default(),
            at_least_until_closed: false,
            extend_session_lifespan: body.extend_session_lifespan.unwrap_or_default(),
            acr: body.acr,
            amr: named(body.amr),
            context: body.context,
            force_subject_identifier: body.force_subject_identifier,
            identity_provider_session_id: body.identity_provider_session_id,
            authenticated_at: None,
        }
    }
}

/// `acceptOAuth2ConsentRequest`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct AcceptConsentBody {
    grant_scope: Option<Vec<Option<String>>>,
    grant_access_token_audience: Option<Vec<Option<String>>>,
    remember: Option<bool>,
    remember_for: Option<i64>,
    session: Option<SessionBody>,
    context: Option<Value>,
    /// What is granted in detail (RFC 9396 §2); beyond Hydra.
    authorization_details: Option<Value>,
}

/// `acceptOAuth2ConsentRequestSession`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct SessionBody {
    access_token: Option<Map<String, Value>>,
    id_token: Option<Map<String, Value>>,
}

impl From<AcceptConsentBody> for AcceptConsent {
    fn from(body: AcceptConsentBody) -> Self {
        let session = body.session.unwrap_or_default();
        Self {
            grant_scope: named(body.grant_scope),
            grant_audience: named(body.grant_access_token_audience),
            remember: body.remember.unwrap_or_default(),
            remember_for: body.remember_for.unwrap_or_default(),
            id_token: session.id_token.unwrap_or_default(),
            access_token: session.access_token.unwrap_or_default(),
            context: body.context,
            authorization_details: body.authorization_details,
        }
    }
}

/// The values of a list. A page whose user ticked nothing may send `[null]` or `[""]`, which name nothing.
fn named(values: Option<Vec<Option<String>>>) -> Vec<String> {
    values.into_iter().flatten().flatten().filter(|value| !value.is_empty()).collect()
}

/// `rejectOAuth2Request`. The hint follows the description; the debug text is for nobody outside.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct RejectBody {
    error: Option<String>,
    error_description: Option<String>,
    error_hint: Option<String>,
}

impl From<RejectBody> for RejectFlow {
    fn from(body: RejectBody) -> Self {
        let parts = [body.error_description, body.error_hint];
        let description =
            parts.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        Self { error: body.error.unwrap_or_default(), description }
    }
}

/// `oAuth2RedirectTo`.
#[cfg_attr(test, derive(Serialize))]
pub(crate) struct RedirectTo {
    pub(crate) redirect_to: String,
}

/// `oAuth2LogoutRequest`.
#[derive(Serialize)]
pub(crate) struct LogoutRequestBody<'a> {
    challenge: &'a str,
    subject: &'a str,
    sid: String,
    request_url: &'a str,
    rp_initiated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<ClientBody<'a>>,
    requested_at: String,
    expires_at: String,
}

impl<'a> LogoutRequestBody<'a> {
    pub(crate) fn new(challenge: &'a str, view: &'a LogoutView) -> Self {
        Self {
            challenge,
            subject: view.logout.subject.as_str(),
            sid: view.logout.session.to_string(),
            request_url: &view.request_url,
            rp_initiated: view.logout.client.is_some(),
            client: view.client.as_deref().map(ClientBody::from),
            requested_at: rfc3339(view.logout.requested_at),
            expires_at: rfc3339(view.expires_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_same<T: WriteJson + Serialize>(body: &T) {
        let mut text = Vec::new();
        body.write_json(&mut text);
        assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(body).unwrap());
    }

    #[test]
    fn requests_are_written_as_a_serializer_writes_them() {
        let client: Box<RawValue> = serde_json::from_str(r#"{"client_id":"app"}"#).unwrap();
        let audience = ["https://api.example".to_owned(), "b".to_owned()];
        let odd = "\"\\\n<ž>";
        assert_same(&RedirectTo { redirect_to: odd.to_owned() });
        for is_full in [false, true] {
            let oidc_context = || OidcContext {
                acr_values: is_full.then(|| vec!["aal2"]),
                display: is_full.then_some(odd),
                id_token_hint_claims: is_full.then_some(HintClaims { sub: odd }),
                login_hint: is_full.then_some("a@example.com"),
                ui_locales: is_full.then(|| vec!["de", "en"]),
            };
            let some: &[String] = if is_full { &audience } else { &[] };
            assert_same(&LoginRequestBody {
                challenge: "c",
                requested_scope: if is_full { vec!["openid", odd] } else { Vec::new() },
                requested_access_token_audience: some,
                skip: is_full,
                subject: odd,
                oidc_context: oidc_context(),
                client: &client,
                request_url: "https://id.example/oauth2/auth?a=b".to_owned(),
                session_id: "s".to_owned(),
            });
            assert_same(&ConsentRequestBody {
                requested_authorization_details: is_full.then(|| json!([{"type": "x"}])),
                challenge: "c",
                consent_request_id: "r".to_owned(),
                requested_scope: vec!["openid"],
                requested_access_token_audience: some,
                skip: is_full,
                subject: "alice",
                oidc_context: oidc_context(),
                client: &client,
                request_url: odd.to_owned(),
                login_challenge: "l".to_owned(),
                login_session_id: "s".to_owned(),
                acr: "aal1",
                amr: some,
                context: json!({"a": [odd]}),
            });
        }
    }
    use crate::admin::json_body::read_json;

    #[test]
    fn null_says_the_same_as_nothing() {
        let login = br#"{"subject": "a", "remember": null, "remember_for": null, "extend_session_lifespan": null, "acr": null,
            "amr": null, "context": null, "force_subject_identifier": null, "identity_provider_session_id": null}"#;
        let login = AcceptLogin::from(read_json::<AcceptLoginBody>(login).unwrap());
        let expected = AcceptLogin { subject: "a".to_owned(), ..AcceptLogin::default() };
        assert_eq!(format!("{login:?}"), format!("{expected:?}"));
        let login = AcceptLogin::from(read_json::<AcceptLoginBody>(br#"{"subject": null}"#).unwrap());
        assert_eq!(login.subject, "");
        let consent = br#"{"grant_scope": null, "grant_access_token_audience": null, "remember": null, "remember_for": null,
            "session": {"access_token": null, "id_token": null}, "context": null, "authorization_details": null}"#;
        for consent in [consent.as_slice(), br#"{"session": null}"#] {
            let consent = AcceptConsent::from(read_json::<AcceptConsentBody>(consent).unwrap());
            assert_eq!(format!("{consent:?}"), format!("{:?}", AcceptConsent::default()));
        }
        let rejection =
            br#"{"error": null, "error_description": null, "error_hint": null, "status_code": null}"#;
        let rejection = RejectFlow::from(read_json::<RejectBody>(rejection).unwrap());
        assert_eq!((rejection.error.as_str(), rejection.description.as_str()), ("", ""));
    }

    #[test]
    fn null_and_the_empty_text_name_nothing_in_a_list() {
        let lists: [(&str, &[&str]); 4] = [
            ("[null]", &[]),
            (r#"[""]"#, &[]),
            (r#"["openid", ""]"#, &["openid"]),
            (r#"[null, "a", null, "b"]"#, &["a", "b"]),
        ];
        for (list, expected) in lists {
            let consent = format!(r#"{{"grant_scope": {list}, "grant_access_token_audience": {list}}}"#);
            let consent = AcceptConsent::from(read_json::<AcceptConsentBody>(consent.as_bytes()).unwrap());
            assert_eq!(consent.grant_scope, expected);
            assert_eq!(consent.grant_audience, expected);
            let login = format!(r#"{{"subject": "a", "amr": {list}}}"#);
            let login = AcceptLogin::from(read_json::<AcceptLoginBody>(login.as_bytes()).unwrap());
            assert_eq!(login.amr, expected);
        }
    }

    #[test]
    fn what_is_of_another_type_is_refused_by_its_name() {
        for (body, named) in [
            (r#"{"subject": "a", "remember": "yes"}"#, "remember: "),
            (r#"{"subject": "a", "remember_for": "1h"}"#, "remember_for: "),
            (r#"{"subject": 5}"#, "subject: "),
        ] {
            let refused = read_json::<AcceptLoginBody>(body.as_bytes()).err().unwrap();
            assert!(refused.contains(named), "{refused}");
        }
    }
}
