//! What a flow can be. A transition consumes the old state; what cannot happen does not compile.

use serde_json::{Map, Value};
use sluice_primitives::{GrantId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{
    Audience, ClientId, CodeChallenge, Prompt, RedirectUri, ResponseMode, ResponseType, Scope, Subject,
};

use super::binding::Binding;
use super::further::Further;
use super::parked::ParkedHandle;
use crate::config::Config;

/// A checked authorization request. Later legs are rebuilt from it and from nothing else.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The id of the flow, and of the grant it may lead to.
    pub flow: GrantId,
    /// Who asks.
    pub client: ClientId,
    /// The revision of the client that was checked.
    pub client_revision: i64,
    /// Where the answer goes.
    pub redirect_uri: RedirectUri,
    /// Whether the request named it: then the token request must, too (RFC 6749 §4.1.3).
    pub redirect_uri_named: bool,
    /// With what.
    pub response_type: ResponseType,
    /// How.
    pub response_mode: ResponseMode,
    /// What is asked for.
    pub scope: Scope,
    /// For which services.
    pub audience: Audience,
    /// What the client gets back unchanged.
    pub state: Option<String>,
    /// What stands in the id token unchanged.
    pub nonce: Option<String>,
    /// PKCE.
    pub code_challenge: Option<CodeChallenge>,
    /// Whether the user is to be asked again.
    pub prompt: Prompt,
    /// How long ago the user may have logged in, in seconds.
    pub max_age: Option<u32>,
    /// Who is expected to log in.
    pub login_hint: Option<String>,
    /// Authentication classes asked for, space-separated.
    pub acr_values: Option<String>,
    /// Languages asked for, space-separated.
    pub ui_locales: Option<String>,
    /// `page`, `popup`, …
    pub display: Option<String>,
    /// The subject of the `id_token_hint`.
    pub hinted_subject: Option<Subject>,
    /// What few requests say.
    pub details: RequestDetails,
    /// When the request arrived, in milliseconds.
    pub requested_at: Timestamp,
    /// To which browser the flow belongs.
    pub binding: Binding,
    /// Where the request is kept, if it is too long for a URL.
    pub parked: Option<ParkedHandle>,
}

impl Request {
    /// When the flow ends: that of a device with the codes of the device, so that no one agrees who is not heard.
    pub fn ends_at(&self, config: &Config) -> Timestamp {
        let life = if self.details.device { config.policies.device.lifetime } else { config.lifetimes.flow };
        self.requested_at + life
    }
}

/// What few authorization requests say. JSON is kept as text: it was checked when the request came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestDetails {
    /// The `claims` parameter (OpenID Connect Core §5.5), a JSON object.
    pub claims: Option<String>,
    /// `authorization_details` (RFC 9396 §2), a JSON array.
    pub authorization_details: Option<String>,
    /// The thumbprint of the DPoP key that the code is bound to (RFC 9449 §10).
    pub dpop_jkt: Option<[u8; 32]>,
    /// Whether the request was pushed (RFC 9126): then its flow's id was made when it was.
    pub pushed: bool,
    /// Whether the client signed the request (RFC 9101).
    pub signed: bool,
    /// Whether a device waits for the answer (RFC 8628): then the flow's id is the device code's, and there is no client
    /// that the browser could be sent to.
    pub device: bool,
    /// What pages are shown besides.
    pub further: Further,
}

/// A session that the browser already had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSession {
    /// The session.
    pub id: SessionId,
    /// Whose.
    pub subject: Subject,
    /// When the user authenticated.
    pub authenticated_at: Timestamp,
    /// By which methods.
    pub amr: Vec<String>,
}

/// A flow whose user has to log in, or to be recognised.
#[derive(Debug, Clone, PartialEq)]
pub struct AwaitingLogin {
    /// The request.
    pub request: Request,
    /// The session under which login may be skipped.
    pub known: Option<KnownSession>,
    /// The session that this flow belongs to: the known one's id, or a new one.
    pub session: SessionId,
}

impl AsRef<Request> for AwaitingLogin {
    fn as_ref(&self) -> &Request {
        &self.request
    }
}

impl AwaitingLogin {
    /// The user logged in, or was recognised.
    pub fn accept(self, login: Login) -> LoginAnswered {
        LoginAnswered { request: self.request, answer: Decision::Accepted(login) }
    }

    /// The user did not.
    pub fn reject(self, rejection: Rejection) -> LoginAnswered {
        LoginAnswered { request: self.request, answer: Decision::Rejected(rejection) }
    }
}

/// Yes or no.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<T> {
    /// Yes.
    Accepted(T),
    /// No, and what the client is told.
    Rejected(Rejection),
}

/// What the client is told instead of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// `error`.
    pub error: String,
    /// `error_description`.
    pub description: String,
}

/// Who logged in, and how.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each a bit of what is sealed")]
pub struct Login {
    /// Who.
    pub subject: Subject,
    /// In which session.
    pub session: SessionId,
    /// When, in milliseconds; the session's time if login was skipped.
    pub authenticated_at: Timestamp,
    /// Whether an existing session was used.
    pub skipped: bool,
    /// Whether the session is kept, as far as it is known: the second leg writes it, unless nobody wants it then.
    pub kept: bool,
    /// For how long the browser is to be remembered; not at all if none.
    pub remember: Option<Lifetime>,
    /// Whether who was to be remembered in the browser is not any more: the page said so. A session that was skipped stays as it is.
    pub forget: bool,
    /// Whether who is not remembered otherwise is until the browser is closed: the second leg, which sees the browser, settles that.
    pub at_least_until_closed: bool,
    /// Whether the browser forgets its cookie when it is closed, if that is sooner.
    pub until_closed: bool,
    /// Whether the remembered session starts anew.
    pub extend: bool,
    /// Authentication context class.
    pub acr: Option<String>,
    /// Authentication methods.
    pub amr: Vec<String>,
    /// What the login page hands to the consent page.
    pub context: Option<Value>,
    /// Another `sub` for this client, if it sees subjects of its own.
    pub forced_subject: Option<String>,
    /// Session id at the identity provider.
    pub provider_session: Option<String>,
}

impl Login {
    /// How long the browser keeps the cookie of the session; until it is closed if none.
    pub fn cookie_life(&self) -> Option<Lifetime> {
        self.remember.filter(|_| !self.until_closed)
    }
}

/// A flow on its way back from the login page.
#[derive(Debug, Clone, PartialEq)]
pub struct LoginAnswered {
    /// The request.
    pub request: Request,
    /// Yes or no.
    pub answer: Decision<Login>,
}

/// A flow whose user has to consent.
#[derive(Debug, Clone, PartialEq)]
pub struct AwaitingConsent {
    /// The request.
    pub request: Request,
    /// Who logged in.
    pub login: Login,
    /// Whether the decision is known already and the page may be skipped.
    pub skip: bool,
}

impl AsRef<Request> for AwaitingConsent {
    fn as_ref(&self) -> &Request {
        &self.request
    }
}

impl AwaitingConsent {
    /// The user consented.
    pub fn accept(self, consent: Consent) -> ConsentAnswered {
        self.answered(Decision::Accepted(consent))
    }

    /// The user did not.
    pub fn reject(self, rejection: Rejection) -> ConsentAnswered {
        self.answered(Decision::Rejected(rejection))
    }

    fn answered(self, answer: Decision<Consent>) -> ConsentAnswered {
        ConsentAnswered { request: self.request, login: self.login, skip: self.skip, answer }
    }
}

/// What the user consented to.
#[derive(Debug, Clone, PartialEq)]
pub struct Consent {
    /// What was granted.
    pub scope: Scope,
    /// For which services.
    pub audience: Audience,
    /// For how long the decision is to be remembered; not at all if none.
    pub remember: Option<Lifetime>,
    /// Claims for the id token and userinfo.
    pub id_token: Map<String, Value>,
    /// Claims for access tokens.
    pub access_token: Map<String, Value>,
    /// Handed through to the list of consents.
    pub context: Option<Value>,
    /// What was granted in detail (RFC 9396), a JSON array, if that is not what was asked for.
    pub authorization_details: Option<Value>,
    /// When, in milliseconds.
    pub accepted_at: Timestamp,
}

/// A flow on its way back from the consent page.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsentAnswered {
    /// The request.
    pub request: Request,
    /// Who logged in.
    pub login: Login,
    /// Whether the decision was known already.
    pub skip: bool,
    /// Yes or no.
    pub answer: Decision<Consent>,
}
