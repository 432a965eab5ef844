//! Answers of the server, and what can be wrong with one.

use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::id_token::IdTokenError;

/// How much of an unexpected answer is shown.
const SHOWN_CHARACTERS: usize = 300;

/// What the server did wrong, or refused.
#[derive(Debug, thiserror::Error)]
pub(in crate::demo) enum RelyingPartyError {
    #[error("{what}: no answer")]
    Unreachable {
        what: &'static str,
        #[source]
        source: reqwest::Error,
    },
    #[error("{what}: refused with {status}: {}", body.chars().take(SHOWN_CHARACTERS).collect::<String>())]
    Refused { what: &'static str, status: StatusCode, body: String },
    #[error("{what}: the answer is not what it should be: {}", body.chars().take(SHOWN_CHARACTERS).collect::<String>())]
    Malformed { what: &'static str, body: String },
    #[error("the server says that it is {0}")]
    OtherIssuer(String),
    #[error("the ID token is wrong")]
    IdToken(#[from] IdTokenError),
}

#[derive(Deserialize)]
struct ErrorBody {
    error: String,
    error_description: Option<String>,
}

impl RelyingPartyError {
    /// The server's `error` and `error_description`, if it gave them.
    pub(in crate::demo) fn reason(&self) -> (Option<String>, Option<String>) {
        let Self::Refused { body, .. } = self else { return (None, None) };
        match serde_json::from_str::<ErrorBody>(body) {
            Ok(body) => (Some(body.error), body.error_description),
            Err(_) => (None, None),
        }
    }
}

/// An answer, whatever its status.
pub(in crate::demo) struct Answer {
    pub(in crate::demo) status: StatusCode,
    pub(in crate::demo) body: String,
}

impl Answer {
    pub(super) fn refused(self, what: &'static str) -> RelyingPartyError {
        RelyingPartyError::Refused { what, status: self.status, body: self.body }
    }

    pub(super) fn malformed(self, what: &'static str) -> RelyingPartyError {
        RelyingPartyError::Malformed { what, body: self.body }
    }
}

/// Sends a request and reads the whole answer; `what` names it in errors.
///
/// # Errors
/// [`RelyingPartyError::Unreachable`].
pub(in crate::demo) async fn answer(
    what: &'static str,
    request: reqwest::RequestBuilder,
) -> Result<Answer, RelyingPartyError> {
    let reading = async {
        let response = request.send().await?;
        Ok(Answer { status: response.status(), body: response.text().await? })
    };
    reading.await.map_err(|source| RelyingPartyError::Unreachable { what, source })
}

/// The JSON of an answer that is a success.
///
/// # Errors
/// [`RelyingPartyError::Refused`] or [`RelyingPartyError::Malformed`].
pub(in crate::demo) fn json_of<T: DeserializeOwned>(
    what: &'static str,
    answer: Answer,
) -> Result<T, RelyingPartyError> {
    if !answer.status.is_success() {
        return Err(answer.refused(what));
    }
    serde_json::from_str(&answer.body).map_err(|_| answer.malformed(what))
}
