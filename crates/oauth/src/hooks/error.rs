//! Why a hook stands in the way.

use sluice_protocol::ErrorCode;
use thiserror::Error;

/// Why a hook stands in the way of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HookError {
    /// It says that there are none to be issued.
    #[error("the hook refused")]
    Refused,
    /// It did not answer.
    #[error("the hook did not answer: {0}")]
    NoAnswer(String),
    /// It answered with a status that means nothing here.
    #[error("the hook answered with the status {0}")]
    Status(u16),
    /// Its answer is not what it must be.
    #[error("the answer of the hook is not understood")]
    Answer,
    /// Its claims do not fit into a token.
    #[error("the access token claims of the hook are longer than {0} bytes")]
    TooLong(usize),
    /// There is no room for what it adds.
    #[error("the access token claims of the hook, with those of the consent page, are longer than {0} bytes")]
    TooLongTogether(usize),
}

impl HookError {
    /// What the client is told.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Refused => ErrorCode::AccessDenied,
            Self::NoAnswer(_)
            | Self::Status(_)
            | Self::Answer
            | Self::TooLong(_)
            | Self::TooLongTogether(_) => ErrorCode::ServerError,
        }
    }
}
