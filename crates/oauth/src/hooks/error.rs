//! Why a hook stands in the way.

use std::fmt;

use sluice_protocol::ErrorCode;
use thiserror::Error;

/// Which hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookName {
    /// The one that is asked for every grant type.
    Token,
    /// The one that is asked when a refresh token is used.
    RefreshToken,
}

impl HookName {
    /// What is wrong with it, as an error.
    pub(super) fn failed(self) -> impl Fn(HookFault) -> HookError + Copy {
        move |fault| HookError { hook: self, fault }
    }
}

impl fmt::Display for HookName {
    /// The setting that it is configured by.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token => "oauth2.token_hook",
            Self::RefreshToken => "oauth2.refresh_token_hook",
        })
    }
}

/// Why a hook stands in the way of tokens: for the operator. The client learns [`HookError::code`] only.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{hook}: {fault}")]
pub struct HookError {
    /// Which hook.
    pub hook: HookName,
    /// What is wrong with it.
    pub fault: HookFault,
}

/// What is wrong with a hook.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HookFault {
    /// It says that there are none to be issued.
    #[error("the hook refused")]
    Refused,
    /// It did not answer: why, without its address, in whose query a secret may stand.
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
        match self.fault {
            HookFault::Refused => ErrorCode::AccessDenied,
            HookFault::NoAnswer(_)
            | HookFault::Status(_)
            | HookFault::Answer
            | HookFault::TooLong(_)
            | HookFault::TooLongTogether(_) => ErrorCode::ServerError,
        }
    }
}
