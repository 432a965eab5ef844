//! Why a client could not register or manage itself.

use std::borrow::Cow;

use sluice_commit::StoreError;
use sluice_protocol::ErrorCode;
use thiserror::Error;

use super::statement::StatementError;
use crate::client::registration::RegistrationError;
use crate::client::secret::SecretNotHashed;
use crate::client::service::ClientServiceError;

/// Why a client could not register or manage itself.
#[derive(Debug, Error)]
pub enum DynamicRegistrationError {
    /// The initial or registration access token is missing or wrong, or there is no such client.
    #[error("the access token of the registration is missing or wrong")]
    Token,
    /// This network registered, or changed, too many clients.
    #[error("this network registered or changed too many clients")]
    TooMany,
    /// The body cannot be read; the text is a sentence for who sent it.
    #[error("{0}")]
    Body(String),
    /// The software statement's.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The client service's.
    #[error(transparent)]
    Service(#[from] ClientServiceError),
}

impl From<RegistrationError> for DynamicRegistrationError {
    fn from(refused: RegistrationError) -> Self {
        Self::Service(refused.into())
    }
}

impl DynamicRegistrationError {
    /// The error value (RFC 7591 §3.2.2, RFC 6750 §3.1).
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Token => ErrorCode::InvalidToken,
            Self::TooMany => ErrorCode::TemporarilyUnavailable,
            Self::Body(_) => ErrorCode::InvalidClientMetadata,
            Self::Statement(error) => error.code(),
            Self::Service(error) => service_code(error),
        }
    }

    /// What who sent it reads: the sentence of the code, unless another says more, and the hint behind it.
    pub fn description(&self) -> Cow<'static, str> {
        let usual = self.code().description();
        match (self, self.hint()) {
            (Self::TooMany, _) => {
                "This network registered or changed too many clients. Try again later.".into()
            }
            (_, Some(hint)) => format!("{usual} {hint}").into(),
            (_, None) => usual.into(),
        }
    }

    /// What is wrong with what was sent, for who sent it.
    fn hint(&self) -> Option<String> {
        match self {
            Self::Body(sentence) => Some(sentence.clone()),
            Self::Service(ClientServiceError::Invalid(refused)) => Some(refused.to_string()),
            Self::Service(ClientServiceError::Store(StoreError::Invalid(reason))) => {
                Some(format!("A value cannot be stored: {reason}."))
            }
            Self::Token | Self::TooMany | Self::Statement(_) | Self::Service(_) => None,
        }
    }
}

const fn service_code(error: &ClientServiceError) -> ErrorCode {
    match error {
        // Who asks proved to manage it a moment ago.
        ClientServiceError::NotFound => ErrorCode::InvalidToken,
        ClientServiceError::Invalid(refused) => refused.code(),
        ClientServiceError::Taken | ClientServiceError::Patch(_) | ClientServiceError::PageToken => {
            ErrorCode::InvalidClientMetadata
        }
        ClientServiceError::Contended | ClientServiceError::Secret(SecretNotHashed::Busy(_)) => {
            ErrorCode::TemporarilyUnavailable
        }
        ClientServiceError::Secret(SecretNotHashed::Failed(_)) | ClientServiceError::Keys(_) => {
            ErrorCode::ServerError
        }
        // A text with a character that no store holds.
        ClientServiceError::Store(StoreError::Invalid(_)) => ErrorCode::InvalidClientMetadata,
        ClientServiceError::Store(error) if error.is_temporary() => ErrorCode::TemporarilyUnavailable,
        ClientServiceError::Store(_) => ErrorCode::ServerError,
    }
}
