//! The compact binary form of a flow. Values are borrowed while it is written; an id that is a UUID takes 16 bytes, not 36.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sluice_primitives::{GrantId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{Audience, CodeChallenge, Prompt, RedirectUri, ResponseMode, ResponseType};

use super::further::Further;
use super::state::{Consent, Decision, KnownSession, Login, Rejection, Request, RequestDetails};

/// A text, shorter where it is a UUID in its usual spelling.
#[derive(Serialize, Deserialize)]
enum Text {
    Uuid([u8; 16]),
    Plain(String),
}

impl Text {
    fn of(text: &str) -> Self {
        let mut usual = uuid::Uuid::encode_buffer();
        match uuid::Uuid::try_parse(text) {
            Ok(uuid) if uuid.hyphenated().encode_lower(&mut usual) == text => Self::Uuid(uuid.into_bytes()),
            _ => Self::Plain(text.to_owned()),
        }
    }

    fn into_string(self) -> String {
        match self {
            Self::Uuid(bytes) => {
                let mut usual = uuid::Uuid::encode_buffer();
                uuid::Uuid::from_bytes(bytes).hyphenated().encode_lower(&mut usual).to_owned()
            }
            Self::Plain(text) => text,
        }
    }
}

/// Parameters that few requests have, together: one byte where none is there.
#[derive(Serialize, Deserialize, Default, PartialEq)]
struct Rare {
    audience: Vec<String>,
    max_age: Option<u32>,
    login_hint: Option<String>,
    acr_values: Option<String>,
    ui_locales: Option<String>,
    display: Option<String>,
    hinted_subject: Option<String>,
    claims: Option<String>,
    authorization_details: Option<String>,
    dpop_jkt: Option<[u8; 32]>,
    pushed: bool,
    signed: bool,
    device: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireRequest {
    flow: [u8; 16],
    client: Text,
    client_revision: i64,
    redirect_uri: String,
    flags: u8,
    prompt: u8,
    scope: String,
    state: Option<String>,
    nonce: Option<String>,
    code_challenge: Option<[u8; 32]>,
    requested_at: i64,
    binding: [u8; 16],
    rare: Option<Rare>,
}

const NAMED: u8 = 1;
const CODE: u8 = 2;
const TOKEN: u8 = 4;
const ID_TOKEN: u8 = 8;
const FRAGMENT: u8 = 16;
const FORM_POST: u8 = 32;
const SIGNED: u8 = 64;

impl From<&Request> for WireRequest {
    fn from(request: &Request) -> Self {
        let text = |subject: &sluice_protocol::Subject| subject.to_string();
        let rare = Rare {
            audience: request.audience.as_slice().to_vec(),
            max_age: request.max_age,
            login_hint: request.login_hint.clone(),
            acr_values: request.acr_values.clone(),
            ui_locales: request.ui_locales.clone(),
            display: request.display.clone(),
            hinted_subject: request.hinted_subject.as_ref().map(text),
            claims: request.details.claims.clone(),
            authorization_details: request.details.authorization_details.clone(),
            dpop_jkt: request.details.dpop_jkt,
            pushed: request.details.pushed,
            signed: request.details.signed,
            device: request.details.device,
        };
        Self {
            flow: *request.flow.as_bytes(),
            client: Text::of(request.client.as_str()),
            client_revision: request.client_revision,
            redirect_uri: request.redirect_uri.to_string(),
            flags: flags(request),
            prompt: request.prompt.bits(),
            scope: request.scope.to_string(),
            state: request.state.clone(),
            nonce: request.nonce.clone(),
            code_challenge: request.code_challenge.map(|challenge| *challenge.as_bytes()),
            requested_at: request.requested_at.as_millis(),
            binding: request.binding,
            rare: (rare != Rare::default()).then_some(rare),
        }
    }
}

const fn flags(request: &Request) -> u8 {
    let mut flags = 0;
    if request.redirect_uri_named {
        flags |= NAMED;
    }
    if request.response_type.code {
        flags |= CODE;
    }
    if request.response_type.token {
        flags |= TOKEN;
    }
    if request.response_type.id_token {
        flags |= ID_TOKEN;
    }
    match request.response_mode.signed(false) {
        ResponseMode::Fragment => flags |= FRAGMENT,
        ResponseMode::FormPost => flags |= FORM_POST,
        _ => {}
    }
    if request.response_mode.is_signed() {
        flags |= SIGNED;
    }
    flags
}

impl WireRequest {
    /// The request, without what stands behind it.
    pub(super) fn into_request(self) -> Option<Request> {
        let has = |flag: u8| self.flags & flag != 0;
        let rare = self.rare.unwrap_or_default();
        Some(Request {
            flow: GrantId::from_bytes(self.flow),
            client: self.client.into_string().parse().ok()?,
            client_revision: self.client_revision,
            redirect_uri: RedirectUri::parsed_before(&self.redirect_uri),
            redirect_uri_named: has(NAMED),
            response_type: ResponseType { code: has(CODE), token: has(TOKEN), id_token: has(ID_TOKEN) },
            response_mode: match (has(FRAGMENT), has(FORM_POST)) {
                (true, _) => ResponseMode::Fragment,
                (_, true) => ResponseMode::FormPost,
                _ => ResponseMode::Query,
            }
            .signed(has(SIGNED)),
            scope: self.scope.parse().ok()?,
            audience: Audience::from_values(rare.audience),
            state: self.state,
            nonce: self.nonce,
            code_challenge: self.code_challenge.map(CodeChallenge::from_bytes),
            prompt: Prompt::from_bits(self.prompt),
            max_age: rare.max_age,
            login_hint: rare.login_hint,
            acr_values: rare.acr_values,
            ui_locales: rare.ui_locales,
            display: rare.display,
            hinted_subject: rare.hinted_subject.map(|subject| subject.parse()).transpose().ok()?,
            details: RequestDetails {
                claims: rare.claims,
                authorization_details: rare.authorization_details,
                dpop_jkt: rare.dpop_jkt,
                pushed: rare.pushed,
                signed: rare.signed,
                device: rare.device,
                further: Further::default(),
            },
            requested_at: Timestamp::from_millis(self.requested_at),
            binding: self.binding,
            parked: None,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireKnown {
    pub(super) session: [u8; 16],
    known: Option<(Text, i64, Vec<String>)>,
}

impl WireKnown {
    pub(super) fn new(session: SessionId, known: Option<&KnownSession>) -> Self {
        Self {
            session: *session.as_bytes(),
            known: known.map(|known| {
                let subject = Text::of(known.subject.as_str());
                (subject, known.authenticated_at.as_millis(), known.amr.clone())
            }),
        }
    }

    pub(super) fn into_parts(self) -> Option<(SessionId, Option<KnownSession>)> {
        let id = SessionId::from_bytes(self.session);
        let Some((subject, at, amr)) = self.known else { return Some((id, None)) };
        let subject = subject.into_string().parse().ok()?;
        Some((id, Some(KnownSession { id, subject, authenticated_at: Timestamp::from_millis(at), amr })))
    }
}

#[derive(Serialize, Deserialize)]
pub(super) enum WireDecision<T> {
    Accepted(T),
    Rejected(String, String),
}

impl<T> WireDecision<T> {
    pub(super) fn of<D>(decision: &Decision<D>, wire: impl FnOnce(&D) -> T) -> Self {
        match decision {
            Decision::Accepted(accepted) => Self::Accepted(wire(accepted)),
            Decision::Rejected(rejection) => {
                Self::Rejected(rejection.error.clone(), rejection.description.clone())
            }
        }
    }

    pub(super) fn into_decision<D>(self, read: impl FnOnce(T) -> Option<D>) -> Option<Decision<D>> {
        match self {
            Self::Accepted(wire) => read(wire).map(Decision::Accepted),
            Self::Rejected(error, description) => Some(Decision::Rejected(Rejection { error, description })),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireLogin {
    subject: Text,
    session: [u8; 16],
    authenticated_at: i64,
    flags: u8,
    remember: Option<i64>,
    acr: Option<String>,
    amr: Vec<String>,
    context: Option<String>,
    forced_subject: Option<String>,
    provider_session: Option<String>,
}

const SKIPPED: u8 = 1;
const EXTEND: u8 = 2;
const UNTIL_CLOSED: u8 = 4;
/// Where it is missing, an earlier version may have kept the session all the same.
const KEPT: u8 = 16;
/// An earlier version neither writes it nor looks at it.
const FORGET: u8 = 32;
/// An earlier version passes over this, too: who was not remembered before is not there.
const AT_LEAST_UNTIL_CLOSED: u8 = 64;
/// Not of the login: on the way back from the consent page, whether that could be skipped.
const CONSENT_KNOWN: u8 = 8;

impl From<&Login> for WireLogin {
    fn from(login: &Login) -> Self {
        Self {
            subject: Text::of(login.subject.as_str()),
            session: *login.session.as_bytes(),
            authenticated_at: login.authenticated_at.as_millis(),
            flags: (u8::from(login.skipped) * SKIPPED)
                | (u8::from(login.extend) * EXTEND)
                | (u8::from(login.until_closed) * UNTIL_CLOSED)
                | (u8::from(login.kept) * KEPT)
                | (u8::from(login.forget) * FORGET)
                | (u8::from(login.at_least_until_closed) * AT_LEAST_UNTIL_CLOSED),
            remember: login.remember.map(Lifetime::as_millis),
            acr: login.acr.clone(),
            amr: login.amr.clone(),
            context: login.context.as_ref().map(Value::to_string),
            forced_subject: login.forced_subject.clone(),
            provider_session: login.provider_session.clone(),
        }
    }
}

impl WireLogin {
    /// With the note whether consent was known. A version that does not know of it passes it over.
    pub(super) fn with_consent_known(mut self, known: bool) -> Self {
        self.flags |= u8::from(known) * CONSENT_KNOWN;
        self
    }

    pub(super) const fn is_consent_known(&self) -> bool {
        self.flags & CONSENT_KNOWN != 0
    }

    pub(super) fn into_login(self) -> Option<Login> {
        Some(Login {
            subject: self.subject.into_string().parse().ok()?,
            session: SessionId::from_bytes(self.session),
            authenticated_at: Timestamp::from_millis(self.authenticated_at),
            skipped: self.flags & SKIPPED != 0,
            kept: self.flags & KEPT != 0,
            extend: self.flags & EXTEND != 0,
            remember: self.remember.map(lifetime),
            forget: self.flags & FORGET != 0,
            at_least_until_closed: self.flags & AT_LEAST_UNTIL_CLOSED != 0,
            until_closed: self.flags & UNTIL_CLOSED != 0,
            acr: self.acr,
            amr: self.amr,
            context: self.context.map(|text| serde_json::from_str(&text)).transpose().ok()?,
            forced_subject: self.forced_subject,
            provider_session: self.provider_session,
        })
    }
}

fn lifetime(millis: i64) -> Lifetime {
    match u64::try_from(millis) {
        Ok(millis) if millis < u64::MAX / 2 => Lifetime::from(std::time::Duration::from_millis(millis)),
        _ => Lifetime::FOREVER,
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireConsent {
    /// None: all that was asked for.
    scope: Option<String>,
    audience: Option<Vec<String>>,
    remember: Option<i64>,
    id_token: Option<String>,
    access_token: Option<String>,
    context: Option<String>,
    authorization_details: Option<String>,
    accepted_at: i64,
}

impl WireConsent {
    pub(super) fn new(consent: &Consent, request: &Request) -> Self {
        let claims = |claims: &Map<String, Value>| {
            (!claims.is_empty()).then(|| serde_json::to_string(claims).unwrap_or_default())
        };
        Self {
            scope: (consent.scope != request.scope).then(|| consent.scope.to_string()),
            audience: (consent.audience != request.audience).then(|| consent.audience.as_slice().to_vec()),
            remember: consent.remember.map(Lifetime::as_millis),
            id_token: claims(&consent.id_token),
            access_token: claims(&consent.access_token),
            context: consent.context.as_ref().map(Value::to_string),
            authorization_details: consent.authorization_details.as_ref().map(Value::to_string),
            accepted_at: consent.accepted_at.as_millis(),
        }
    }

    pub(super) fn into_consent(self, request: &Request) -> Option<Consent> {
        let claims = |text: Option<String>| match text {
            Some(text) => serde_json::from_str(&text).ok(),
            None => Some(Map::new()),
        };
        Some(Consent {
            scope: match self.scope {
                Some(scope) => scope.parse().ok()?,
                None => request.scope.clone(),
            },
            audience: self.audience.map_or_else(|| request.audience.clone(), Audience::from_values),
            remember: self.remember.map(lifetime),
            id_token: claims(self.id_token)?,
            access_token: claims(self.access_token)?,
            context: self.context.map(|text| serde_json::from_str(&text)).transpose().ok()?,
            authorization_details: self
                .authorization_details
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .ok()?,
            accepted_at: Timestamp::from_millis(self.accepted_at),
        })
    }
}
