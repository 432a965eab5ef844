//! What went wrong with an outbound request.

use std::error::Error;
use std::path::PathBuf;

use super::resolver::{NoPublicAddress, TooManyLookups};

/// What went wrong with an outbound request. None of these sentences repeats what the other side sent.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Only http and https are spoken.
    #[error("the URL is neither http nor https")]
    UnsupportedScheme,
    /// The call demands https.
    #[error("the URL is not https")]
    NotHttps,
    /// User name or password in the URL.
    #[error("the URL holds credentials")]
    Credentials,
    /// The host is, or resolves only to, addresses that are not public, and the policy does not exempt it.
    #[error("the host has no public address")]
    PrivateAddress,
    /// More redirects than the policy permits.
    #[error("the answer is one redirect too many")]
    TooManyRedirects,
    /// A redirect from https to http.
    #[error("the answer redirects from https to http")]
    RedirectToPlainHttp,
    /// A redirect to no URL.
    #[error("the answer redirects to something that is no URL")]
    InvalidRedirect,
    /// A header value with control characters.
    #[error("a header value cannot be sent")]
    InvalidHeader,
    /// The body exceeds the policy's limit.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes that were permitted.
        limit: usize,
    },
    /// Not done within the policy's time.
    #[error("the answer took too long")]
    TimedOut,
    /// Too many names are being looked up, or too many of the host's domain: it may be asked later.
    #[error("too many names are being looked up")]
    Busy,
    /// Name resolution, connection, TLS or HTTP failed.
    #[error("the request failed")]
    Transport(#[source] reqwest::Error),
    /// The file of further certificates is no good.
    #[error("the certificates of {} cannot be used", path.display())]
    ExtraCa {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The client cannot be made.
    #[error("the HTTP client cannot be made")]
    Setup(#[source] reqwest::Error),
    /// TLS cannot be set up.
    #[error("the TLS client cannot be made")]
    SetupTls(#[source] rustls::Error),
}

impl FetchError {
    /// Finds out whether it was the resolver here that refused, and why, or whether nobody took the connection in time.
    pub(super) fn of(error: reqwest::Error) -> Self {
        let mut cause = error.source();
        while let Some(inner) = cause {
            if inner.is::<NoPublicAddress>() {
                return Self::PrivateAddress;
            }
            if inner.is::<TooManyLookups>() {
                return Self::Busy;
            }
            cause = inner.source();
        }
        if error.is_connect() && error.is_timeout() {
            return Self::TimedOut;
        }
        Self::Transport(error.without_url())
    }
}
