//! Errors of the admin API in Hydra's shape: `error` and `error_description`.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use sluice_commit::{StoreError, chain};
use sluice_identity::IdentityError;
use sluice_identity::administration::AdministrationError;
use sluice_oauth::client::ClientServiceError;
use sluice_oauth::client::secret::SecretNotHashed;
use sluice_oauth::flow::Quota;
use sluice_oauth::keys::{KeyError, KeyServiceError};
use sluice_oauth::trust::TrustError;
use sluice_protocol::ErrorCode;
use sluice_protocol::parameters::InvalidParameters;
use tracing::{error, info, warn};

/// What Hydra says where something is missing.
const NOT_FOUND: &str = "Unable to locate the resource";
/// What Hydra says where a body is malformed.
const MALFORMED: &str = "The request was malformed or contained invalid parameters";
/// What Hydra says where an issuer to trust is not described.
const MISSING: &str = "One of the required parameters is missing. Check your request parameters.";
/// What Hydra says where an id is taken.
const CONFLICT: &str =
    "Unable to insert or update resource because a resource with that value exists already";
/// What somebody is told whose change others were quicker than, again and again.
const CONTENDED: &str = "Others are changing the client at the same time. Try again later.";

/// A refusal of the admin API. The administrator reads what is wrong; the causes of faults go to the log.
#[derive(Debug)]
pub(crate) struct AdminError {
    status: StatusCode,
    error: &'static str,
    description: String,
    cause: Option<String>,
    /// What is told of when to try again where that may help, in seconds.
    retry_after: i64,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    error_description: &'a str,
}

impl AdminError {
    /// 404 without more words.
    pub(crate) const fn not_found() -> Self {
        Self::of(StatusCode::NOT_FOUND, NOT_FOUND, String::new())
    }

    /// 400: the body or a parameter cannot be read; `reason` is a sentence. Where pages ask, and of sessions and tokens, it is
    /// [`Self::invalid_request`], but for the body of a consent (Hydra).
    pub(crate) const fn malformed(reason: String) -> Self {
        Self::of(StatusCode::BAD_REQUEST, MALFORMED, reason)
    }

    /// 400 with an error of OAuth; `hint` is a sentence.
    pub(crate) fn invalid_request(hint: &str) -> Self {
        Self::code(ErrorCode::InvalidRequest, hint)
    }

    /// A registered code with its own sentence, status and, behind it, a hint.
    pub(crate) fn code(code: ErrorCode, hint: &str) -> Self {
        let description = format!("{} {hint}", code.description()).trim_end().to_owned();
        let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::BAD_REQUEST);
        Self::of(status, code.as_str(), description)
    }

    /// 500, or 503 if trying later may help; the cause is logged.
    pub(crate) fn fault(cause: &dyn std::error::Error, temporary: bool) -> Self {
        let code = if temporary { ErrorCode::TemporarilyUnavailable } else { ErrorCode::ServerError };
        Self { cause: Some(chain(cause)), ..Self::code(code, "") }
    }

    pub(crate) const fn of(status: StatusCode, error: &'static str, description: String) -> Self {
        Self { status, error, description, cause: None, retry_after: 1 }
    }
}

impl IntoResponse for AdminError {
    fn into_response(self) -> Response {
        let status = self.status.as_u16();
        if let Some(cause) = &self.cause {
            error!(error = %cause, http.status = status, "admin request failed");
        } else if self.status == StatusCode::SERVICE_UNAVAILABLE {
            warn!(http.status = status, reason = %self.description, "admin request refused: {}", self.error);
        } else {
            info!(http.status = status, reason = %self.description, "admin request refused: {}", self.error);
        }
        let body = Json(Body { error: self.error, error_description: &self.description });
        let mut response = (self.status, body).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(self.retry_after));
        }
        response
    }
}

impl From<InvalidParameters> for AdminError {
    fn from(error: InvalidParameters) -> Self {
        Self::invalid_request(&sentence(&error.to_string()))
    }
}

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Invalid(reason) => Self::malformed(format!("A value cannot be stored: {reason}")),
            StoreError::Busy | StoreError::Unavailable(_) | StoreError::Refused(_) | StoreError::Fault(_) => {
                Self::fault(&error, error.is_temporary())
            }
        }
    }
}

impl From<Quota> for AdminError {
    fn from(quota: Quota) -> Self {
        let (description, retry_after) = (quota.sentence().to_owned(), quota.wait().as_secs());
        Self { description, retry_after, ..Self::fault(&quota, true) }
    }
}

impl From<ClientServiceError> for AdminError {
    fn from(error: ClientServiceError) -> Self {
        match error {
            ClientServiceError::NotFound => Self::not_found(),
            ClientServiceError::Taken => Self::of(StatusCode::CONFLICT, CONFLICT, String::new()),
            ClientServiceError::Invalid(refused) => Self::code(refused.code(), &chain(&refused)),
            ClientServiceError::Patch(refused) => Self::malformed(refused.0),
            ClientServiceError::PageToken => {
                Self::malformed("The parameter page_token is not one that this server made.".to_owned())
            }
            ClientServiceError::Contended => {
                let description = CONTENDED.to_owned();
                Self { description, ..Self::code(ErrorCode::TemporarilyUnavailable, "") }
            }
            ClientServiceError::Secret(SecretNotHashed::Busy(_)) => Self::fault(&error, true),
            ClientServiceError::Secret(SecretNotHashed::Failed(_)) => Self::fault(&error, false),
            ClientServiceError::Keys(error) => error.into(),
            ClientServiceError::Store(error) => error.into(),
        }
    }
}

impl From<KeyServiceError> for AdminError {
    fn from(error: KeyServiceError) -> Self {
        let bad_request = |reason: String| Self::of(StatusCode::BAD_REQUEST, "Bad Request", reason);
        match error {
            KeyServiceError::NoSuchSet => {
                let description = "Unable to locate the requested resource".to_owned();
                Self::of(StatusCode::NOT_FOUND, "Not Found", description)
            }
            KeyServiceError::NoSuchKey => Self::not_found(),
            KeyServiceError::Taken => Self::of(StatusCode::CONFLICT, CONFLICT, String::new()),
            KeyServiceError::Algorithm => bad_request("Unsupported key algorithm".to_owned()),
            KeyServiceError::NotOwn
            | KeyServiceError::NoKid
            | KeyServiceError::SameKid
            | KeyServiceError::Name
            | KeyServiceError::Invalid(_)
            | KeyServiceError::TooLong => bad_request(sentence(&error.to_string())),
            KeyServiceError::Keys(error) => error.into(),
            KeyServiceError::Store(error) => error.into(),
        }
    }
}

impl From<KeyError> for AdminError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Store(error) => error.into(),
            KeyError::NotOwn(_)
            | KeyError::Sealed { .. }
            | KeyError::Unreadable { .. }
            | KeyError::Jwk(_)
            | KeyError::NotMade => Self::fault(&error, false),
        }
    }
}

impl From<TrustError> for AdminError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Missing(hint) => {
                let description = format!("{MISSING} {hint}");
                Self::of(StatusCode::BAD_REQUEST, "missing_required_parameter", description)
            }
            TrustError::Invalid(_) | TrustError::Key(_) => Self::malformed(error.to_string()),
            TrustError::Taken => Self::of(StatusCode::CONFLICT, CONFLICT, String::new()),
            TrustError::NotFound => Self::not_found(),
            TrustError::PageToken => {
                Self::malformed("The parameter page_token is not one that this server made.".to_owned())
            }
            TrustError::Store(error) => error.into(),
        }
    }
}

impl From<AdministrationError> for AdminError {
    fn from(error: AdministrationError) -> Self {
        match error {
            AdministrationError::NotFound => Self::not_found(),
            AdministrationError::Taken => {
                Self::of(StatusCode::CONFLICT, CONFLICT, sentence(&error.to_string()))
            }
            AdministrationError::Invalid(_)
            | AdministrationError::Hash(_)
            | AdministrationError::PageToken
            | AdministrationError::NoMail
            | AdministrationError::Disabled => Self::malformed(sentence(&error.to_string())),
            AdministrationError::Failed(IdentityError::Store(error)) => error.into(),
            AdministrationError::Failed(error) => Self::fault(&error, error.is_temporary()),
        }
    }
}

/// The text as a sentence.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).chain(['.']).collect()
}

#[cfg(test)]
mod tests {
    use sluice_testkit::Captured;

    use super::*;

    #[test]
    fn a_client_that_others_change_at_the_same_time_is_no_fault_of_the_server() {
        let (log, _guard) = Captured::begin();
        let refused = AdminError::from(ClientServiceError::Contended);
        assert_eq!((refused.error, refused.description.as_str()), ("temporarily_unavailable", CONTENDED));
        let response = refused.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key(RETRY_AFTER));
        let said = log.text();
        assert!(said.contains(" WARN ") && said.contains(CONTENDED) && !said.contains("ERROR"), "{said}");
    }
}
