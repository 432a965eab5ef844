//! Why a verb failed, in words for the person at the terminal.

use std::error::Error;
use std::path::PathBuf;

use super::refusal::Refusal;
use crate::cli::Exit;

/// Why a verb failed. None of these sentences repeats a secret that was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// The command makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be used.
    #[error("cannot use {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    /// The HTTP or TLS client cannot be made.
    #[error("cannot make the HTTP client: {0}")]
    Setup(#[source] Box<dyn Error + Send + Sync>),
    /// No answer.
    #[error("no answer from {endpoint}: {}", unanswered(endpoint, source))]
    Unreachable { endpoint: String, source: reqwest::Error },
    /// The server refused.
    #[error("{0}")]
    Refused(Refusal),
    /// The answer makes no sense.
    #[error("{endpoint} answers with something else than was asked for: {reason}")]
    Nonsense { endpoint: String, reason: &'static str },
    /// The port of the callback is taken, or may not be used.
    #[error("cannot listen at {address}: {source}")]
    Listen { address: String, source: std::io::Error },
    /// A list broke off behind pages that were passed over.
    #[error("{source}; --page-token {token} goes on from there")]
    BrokenOff { token: String, source: Box<RemoteError> },
    /// The authorization server sent the browser back with an error (RFC 6749 §4.1.2.1).
    #[error("{0}")]
    Denied(String),
}

impl RemoteError {
    /// What the program ends with.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            _ => Exit::Failure,
        }
    }
}

/// How the cause begins where a plain request is answered by something else than HTTP: most often by an alert of TLS.
const NO_HTTP: &str = "invalid HTTP version";

/// The cause, and what it most likely is.
fn unanswered(endpoint: &str, error: &reqwest::Error) -> String {
    let cause = innermost(error);
    let may_be_tls = endpoint.starts_with("http://") && cause.starts_with(NO_HTTP);
    if may_be_tls { format!("{cause}; does that port speak TLS? say https://") } else { cause }
}

/// The cause at the bottom: "connection refused" says more than "error sending request".
fn innermost(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
