//! The JSON of the identity API. Keys in lower snake case, times as RFC 3339, ids as UUIDs.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};
use jiff::fmt::temporal::DateTimePrinter;
use serde::{Serialize, Serializer};
use serde_json::Value;
use sluice_identity::Identity;
use sluice_identity::factor::{Enrolled, EnrolledFactor, RecoveryCode, TotpEnrolment};
use sluice_identity::session::{IdentitySession, TokenPair, acr_of};
use sluice_primitives::{SessionId, Timestamp};
use sluice_protocol::{JsonObject, WriteJson};
use uuid::Uuid;

use crate::respond::written;

/// Most answers are no longer, in bytes.
const USUAL: usize = 512;

/// An answer that nobody keeps.
pub(crate) fn answer(status: StatusCode, body: &impl Serialize) -> Response {
    let mut bytes = Vec::with_capacity(USUAL);
    if serde_json::to_writer(&mut bytes, body).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    of_json(status, bytes)
}

/// The same about a person.
pub(crate) fn person(status: StatusCode, identity: &Identity) -> Response {
    let mut bytes = Vec::with_capacity(USUAL);
    PersonBody::from(identity).write_json(&mut bytes);
    of_json(status, bytes)
}

fn of_json(status: StatusCode, text: Vec<u8>) -> Response {
    let mut response = written(Body::from(text));
    *response.status_mut() = status;
    no_store(response)
}

/// An answer without a body, that nobody keeps.
pub(crate) fn done(status: StatusCode) -> Response {
    no_store(status.into_response())
}

fn no_store(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A person, as the person sees it.
#[cfg_attr(test, derive(Serialize))]
struct PersonBody<'a> {
    id: Uuid,
    email: &'a str,
    email_verified: bool,
    username: &'a str,
    status: &'static str,
    created_at: Rfc3339,
    updated_at: Rfc3339,
}

impl<'a> From<&'a Identity> for PersonBody<'a> {
    fn from(identity: &'a Identity) -> Self {
        Self {
            id: identity.id.as_uuid(),
            email: &identity.email,
            email_verified: identity.email_verified_at.is_some(),
            username: &identity.username,
            status: identity.status.as_str(),
            created_at: rfc3339(identity.created_at),
            updated_at: rfc3339(identity.updated_at),
        }
    }
}

impl WriteJson for PersonBody<'_> {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.text("id", self.id.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
        object.text("email", self.email);
        object.boolean("email_verified", self.email_verified);
        object.text("username", self.username);
        object.text("status", self.status);
        let created_at = self.created_at.to_text();
        object.text("created_at", &created_at);
        // The same of somebody who has just registered.
        let is_new = self.updated_at == self.created_at;
        object.text("updated_at", &if is_new { created_at } else { self.updated_at.to_text() });
        object.end();
    }
}

/// Where taken addresses are concealed: the same, whether the address was taken or not.
#[derive(Serialize)]
pub(crate) struct AcceptedBody {
    pub(crate) status: &'static str,
}

/// The tokens of a session.
#[derive(Serialize)]
pub(crate) struct TokensBody<'a> {
    access_token: &'a str,
    refresh_token: &'a str,
    token_type: &'static str,
    expires_in: i64,
}

impl<'a> From<&'a TokenPair> for TokensBody<'a> {
    fn from(pair: &'a TokenPair) -> Self {
        Self {
            access_token: pair.access_token.expose(),
            refresh_token: pair.refresh_token.expose(),
            token_type: "Bearer",
            expires_in: pair.expires_in.as_secs(),
        }
    }
}

/// A session of a person.
#[derive(Serialize)]
pub(crate) struct SessionBody<'a> {
    id: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<bool>,
    device: &'a str,
    network: &'a str,
    amr: &'a [String],
    acr: &'static str,
    authenticated_at: Rfc3339,
    last_seen_at: Rfc3339,
    expires_at: Rfc3339,
}

impl<'a> SessionBody<'a> {
    /// As its person sees it, who is signed in to the session `present`.
    pub(crate) fn of_person(session: &'a IdentitySession, present: SessionId) -> Self {
        Self { current: Some(session.id == present), ..Self::from(session) }
    }
}

impl<'a> From<&'a IdentitySession> for SessionBody<'a> {
    fn from(session: &'a IdentitySession) -> Self {
        Self {
            id: session.id.as_uuid(),
            current: None,
            device: &session.device,
            network: &session.network,
            amr: &session.amr,
            acr: acr_of(&session.amr),
            authenticated_at: rfc3339(session.authenticated_at),
            last_seen_at: rfc3339(session.last_seen_at),
            expires_at: rfc3339(session.expires_at),
        }
    }
}

/// A second factor, without what it is made of.
#[derive(Serialize)]
pub(crate) struct FactorBody<'a> {
    id: Uuid,
    kind: &'static str,
    name: &'a str,
    created_at: Rfc3339,
    last_used_at: Option<Rfc3339>,
}

impl<'a> From<&'a EnrolledFactor> for FactorBody<'a> {
    fn from(factor: &'a EnrolledFactor) -> Self {
        Self {
            id: factor.id,
            kind: factor.kind.as_str(),
            name: &factor.name,
            created_at: rfc3339(factor.created_at),
            last_used_at: factor.last_used_at.map(rfc3339),
        }
    }
}

/// All factors of a person.
#[derive(Serialize)]
pub(crate) struct FactorsBody<'a> {
    factors: Vec<FactorBody<'a>>,
    recovery_codes_left: u32,
    /// Whether an administrator said that there must be one: for administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
}

impl<'a> FactorsBody<'a> {
    /// These factors, and so many codes.
    pub(crate) fn new(factors: &'a [EnrolledFactor], recovery_codes_left: u32) -> Self {
        let factors = factors.iter().map(FactorBody::from).collect();
        Self { factors, recovery_codes_left, required: None }
    }

    /// The same, and whether an administrator said that the person must have one.
    pub(crate) fn of_whom(self, required: bool) -> Self {
        Self { required: Some(required), ..self }
    }
}

/// What is needed to put a secret into an authenticator app.
#[derive(Serialize)]
pub(crate) struct TotpBody<'a> {
    secret: &'a str,
    otpauth_uri: &'a str,
    qr_svg: &'a str,
    ticket: &'a str,
}

impl<'a> From<&'a TotpEnrolment> for TotpBody<'a> {
    fn from(enrolment: &'a TotpEnrolment) -> Self {
        Self {
            secret: &enrolment.secret_base32,
            otpauth_uri: &enrolment.otpauth_uri,
            qr_svg: &enrolment.qr_svg,
            ticket: &enrolment.ticket,
        }
    }
}

/// What a browser is to do with a passkey: the argument of `navigator.credentials.create()` or `.get()`.
#[derive(Serialize)]
pub(crate) struct ChallengeBody<'a> {
    pub(crate) options: &'a Value,
    pub(crate) state: &'a str,
}

/// A factor that was added; with the first one, codes to write down.
#[derive(Serialize)]
pub(crate) struct EnrolledBody {
    id: Uuid,
    #[serde(flatten)]
    codes: Option<RecoveryCodesBody>,
}

impl From<&Enrolled> for EnrolledBody {
    fn from(enrolled: &Enrolled) -> Self {
        Self { id: enrolled.factor, codes: enrolled.recovery_codes.as_deref().map(RecoveryCodesBody::from) }
    }
}

/// Recovery codes, shown once.
#[derive(Serialize)]
pub(crate) struct RecoveryCodesBody {
    recovery_codes: Vec<String>,
}

impl From<&[RecoveryCode]> for RecoveryCodesBody {
    fn from(codes: &[RecoveryCode]) -> Self {
        Self { recovery_codes: codes.iter().map(RecoveryCode::grouped).collect() }
    }
}

/// A time as the API tells it.
pub(crate) fn rfc3339(time: Timestamp) -> Rfc3339 {
    Rfc3339(jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or(jiff::Timestamp::MAX))
}

/// A time of RFC 3339.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rfc3339(jiff::Timestamp);

impl Rfc3339 {
    fn to_text(self) -> String {
        DateTimePrinter::new().timestamp_to_string(&self.0)
    }
}

impl Serialize for Rfc3339 {
    /// In one piece: piece by piece, each is searched for what is to be escaped.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_written_as_a_serializer_writes_it() {
        for email_verified in [false, true] {
            let person = PersonBody {
                id: Uuid::from_u128(0x0123_4567_89ab_7def_8123_4567_89ab_cdef),
                email: "žofie@example.com",
                email_verified,
                username: "\"Žofie\\\n",
                status: "active",
                created_at: rfc3339(Timestamp::from_millis(1_800_000_000_001)),
                updated_at: rfc3339(Timestamp::from_millis(if email_verified {
                    0
                } else {
                    1_800_000_000_001
                })),
            };
            let mut text = Vec::new();
            person.write_json(&mut text);
            assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&person).unwrap());
        }
    }
}
