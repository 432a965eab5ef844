//! Whom an error may reach. Until the redirect URI is trusted it is shown here; from then on it goes to the client
//! (RFC 6749 §4.1.2.1).

use sluice_commit::StoreError;
use sluice_primitives::Lifetime;
use sluice_protocol::ErrorCode;
use sluice_protocol::parameters::InvalidParameters;
use thiserror::Error;

use super::request_object::RequestObjectError;
use super::response::ResponseTarget;
use crate::client::NoClient;
use crate::client::metadata_document::DocumentError;
use crate::flow::{FlowError, Quota};
use crate::issuing::IssueError;
use crate::refused_value::RefusedValue;

/// Why a leg of the authorization endpoint did not lead on.
#[derive(Debug, Error)]
pub enum AuthorizationError {
    /// Shown to the user here.
    #[error(transparent)]
    Shown(#[from] ShownError),
    /// Sent to the client.
    #[error(transparent)]
    Redirected(Box<RedirectedError>),
}

impl From<RedirectedError> for AuthorizationError {
    fn from(error: RedirectedError) -> Self {
        Self::Redirected(Box::new(error))
    }
}

impl From<StoreError> for AuthorizationError {
    fn from(error: StoreError) -> Self {
        Self::Shown(ShownError::Store(error))
    }
}

impl From<NoClient> for AuthorizationError {
    fn from(none: NoClient) -> Self {
        Self::Shown(none.into())
    }
}

impl From<FlowError> for AuthorizationError {
    fn from(error: FlowError) -> Self {
        Self::Shown(match error {
            FlowError::Store(error) => ShownError::Store(error),
            FlowError::QuotaReached(quota) => ShownError::Quota(quota),
            FlowError::Gone => ShownError::Expired { restart: None },
            other => ShownError::Verifier(other),
        })
    }
}

/// An error that is shown to the user, because there is nobody else whom it may be told.
#[derive(Debug, Error)]
pub enum ShownError {
    /// The parameters could not be read.
    #[error("the request is malformed: {0}")]
    Parameters(#[from] InvalidParameters),
    /// No `client_id`.
    #[error("the parameter `client_id` is missing or malformed")]
    ClientId,
    /// No such client.
    #[error("the client is not registered")]
    UnknownClient,
    /// Nobody registered the client, and the document that would describe it cannot be fetched now.
    #[error(transparent)]
    Undescribed(DocumentError),
    /// The redirect URI is malformed or not registered.
    #[error("the redirect URI {0}{1}")]
    RedirectUri(&'static str, RefusedValue),
    /// The `state` is longer than may go back.
    #[error("the parameter `state` is too long")]
    State,
    /// The URI of a pushed request leads to none (RFC 9126 §4).
    #[error("the request URI {0}")]
    RequestUri(&'static str),
    /// The request object does not count, and names no place that the client could be told at.
    #[error(transparent)]
    RequestObject(RequestObjectError),
    /// A verifier that this server did not seal.
    #[error("the verifier is not valid")]
    Verifier(#[source] FlowError),
    /// The flow began in another browser, or the browser lost its cookie.
    #[error("the flow does not belong to this browser")]
    WrongBrowser {
        /// Where the browser can start again, if there is such a place.
        restart: Option<String>,
    },
    /// The flow begins in a frame of another site, in a browser that has no cookie: it would be found to be of no browser when it comes back.
    #[error("the flow begins in a frame of another site, and the browser has no cookie")]
    Framed,
    /// The flow took too long.
    #[error("the flow has expired")]
    Expired {
        /// Where the browser can start again.
        restart: Option<String>,
    },
    /// The flow was completed before.
    #[error("the flow was completed before")]
    Spent {
        /// Where the browser can start again, if there is such a place.
        restart: Option<String>,
        /// Where the application is, if to start again would not help there.
        home: Option<String>,
    },
    /// The session ended while the flow was in flight.
    #[error("the login session has ended")]
    SessionEnded {
        /// Where the browser can start again, if there is such a place.
        restart: Option<String>,
    },
    /// The client wants its answers signed, or asked for tokens, and there is no key.
    #[error("the answer to the client could not be signed")]
    Unsigned(#[source] IssueError),
    /// The request is too long for a URL, and cannot be kept.
    #[error(transparent)]
    Quota(Quota),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<NoClient> for ShownError {
    fn from(none: NoClient) -> Self {
        match none {
            NoClient::Unknown => Self::UnknownClient,
            NoClient::Undescribed(why) => Self::Undescribed(why),
            NoClient::Store(error) => Self::Store(error),
        }
    }
}

impl ShownError {
    /// The error value.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Parameters(_)
            | Self::ClientId
            | Self::RedirectUri(..)
            | Self::State
            | Self::Verifier(_) => ErrorCode::InvalidRequest,
            Self::WrongBrowser { .. } | Self::Framed | Self::Expired { .. } | Self::Spent { .. } => {
                ErrorCode::InvalidRequest
            }
            Self::RequestUri(_) => ErrorCode::InvalidRequestUri,
            Self::RequestObject(error) => error.code(),
            Self::Undescribed(DocumentError::Busy) => ErrorCode::TemporarilyUnavailable,
            Self::UnknownClient | Self::Undescribed(_) => ErrorCode::InvalidClient,
            Self::SessionEnded { .. } => ErrorCode::LoginRequired,
            Self::Quota(_) => ErrorCode::TemporarilyUnavailable,
            Self::Store(error) if error.is_temporary() => ErrorCode::TemporarilyUnavailable,
            Self::Unsigned(error) => error.code(),
            Self::Store(_) => ErrorCode::ServerError,
        }
    }

    /// What the user reads.
    pub const fn sentence(&self) -> &'static str {
        match self {
            Self::Parameters(_) | Self::State => {
                "The sign-in request is malformed: a parameter is repeated, too long or unreadable."
            }
            Self::ClientId => "The sign-in request does not name an application.",
            Self::UnknownClient => "The application that sent you here is not registered.",
            Self::Undescribed(_) => {
                "The application that sent you here does not say what it is at the moment. Please try again."
            }
            Self::RedirectUri(..) => {
                "The application asked to send you back to an address that is not registered for it."
            }
            Self::RequestUri(_) => {
                "The sign-in request is not known here, or has expired. Please start again from the application."
            }
            Self::RequestObject(_) => {
                "The sign-in request is not one that the application is known to have made."
            }
            Self::Verifier(_) => "This link is damaged or was made by another server.",
            Self::WrongBrowser { .. } => {
                "This sign-in began in another browser or at the same time as another, or cookies are blocked. Please start again."
            }
            Self::Framed => {
                "This sign-in began in a frame on a page of another site, where it needs cookies that it is not given. Please open it in a window of its own."
            }
            Self::Expired { .. } => "This sign-in took too long. Please start again.",
            Self::Spent { .. } => "This sign-in was completed before. Please start again.",
            Self::SessionEnded { .. } => "You have been signed out meanwhile. Please sign in again.",
            Self::Unsigned(error) if matches!(error.code(), ErrorCode::TemporarilyUnavailable) => {
                "The application cannot be answered at the moment. Please try again."
            }
            Self::Unsigned(error) if matches!(error.code(), ErrorCode::InvalidRequest) => {
                "The application cannot be answered in the way that it is registered for."
            }
            Self::Unsigned(_) => "The service cannot answer the application because of a fault of its own.",
            Self::Quota(quota) => quota.sentence(),
            Self::Store(_) => "The service is busy at the moment. Please try again.",
        }
    }

    /// After how long trying again may help, where that is known.
    pub const fn wait(&self) -> Option<Lifetime> {
        match self {
            Self::Quota(quota) => Some(quota.wait()),
            _ => None,
        }
    }

    /// Whether the flow took too long, or was completed before.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Expired { .. } | Self::Spent { .. })
    }

    /// Where the browser can start again, if that helps.
    pub fn way_out(&self) -> Option<&str> {
        match self {
            Self::WrongBrowser { restart }
            | Self::Expired { restart }
            | Self::Spent { restart, .. }
            | Self::SessionEnded { restart } => restart.as_deref(),
            _ => None,
        }
    }

    /// Where the application is, if that is the better way out.
    pub fn home(&self) -> Option<&str> {
        match self {
            Self::Spent { home, .. } => home.as_deref(),
            _ => None,
        }
    }
}

/// An error that the client is told.
#[derive(Debug, Error)]
#[error("{error}: {description}")]
pub struct RedirectedError {
    /// Where and how.
    pub target: ResponseTarget,
    /// `error`.
    pub error: String,
    /// `error_description`.
    pub description: String,
    /// A value that the log names and the answer does not.
    pub untold: Option<Box<RefusedValue>>,
}

impl RedirectedError {
    /// A registered error with its own sentence and what is special about this case.
    pub fn new(target: ResponseTarget, code: ErrorCode, hint: &str) -> Self {
        let description = if hint.is_empty() {
            code.description().to_owned()
        } else {
            format!("{} {hint}", code.description())
        };
        Self { target, error: code.as_str().to_owned(), description, untold: None }
    }

    /// A registered error of which this sentence says more than its own.
    pub fn saying(target: ResponseTarget, code: ErrorCode, sentence: &str) -> Self {
        let (error, description) = (code.as_str().to_owned(), sentence.to_owned());
        Self { target, error, description, untold: None }
    }

    /// What the log says of it.
    pub fn reason(&self) -> String {
        self.untold
            .as_ref()
            .map_or_else(|| self.description.clone(), |value| format!("{}{value}", self.description))
    }
}
