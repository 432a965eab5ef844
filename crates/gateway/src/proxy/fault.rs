//! What goes wrong between the gateway and a server, or with the body of a request.

use http::StatusCode;

/// Why a request got no answer from its upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No connection: refused, unreachable, no such name, bad certificate.
    #[error("no connection to the upstream could be made")]
    Connect,
    /// No connection in time.
    #[error("a connection to the upstream took too long")]
    ConnectTimeout,
    /// The upstream is as busy as it may be.
    #[error("the upstream is at its limit")]
    Overloaded,
    /// No route to a server: the upstream is not known.
    #[error("there is no such upstream")]
    NoUpstream,
    /// The route has no upstream: only other proxies ask about it.
    #[error("nothing is forwarded under this route")]
    NotForwarded,
    /// It came through this gateway before: an upstream leads back to it.
    #[error("the request came through this gateway before")]
    Loop,
    /// The connection ended before the answer.
    #[error("the upstream ended the connection")]
    Reset,
    /// The upstream said that it has not looked at the request and will not (RFC 9113 §8.7).
    #[error("the upstream did not take the request")]
    Unprocessed,
    /// The answer is not HTTP, or not what was asked for.
    #[error("the upstream's answer cannot be read")]
    BadAnswer,
    /// No answer in time.
    #[error("the upstream took too long")]
    Timeout,
    /// The time of the route was over, of which this upstream had the smaller part.
    #[error("the exchange took too long")]
    OutOfTime,
    /// The client sends its body too slowly.
    #[error("the client took too long")]
    SlowClient,
    /// The client's body ended early.
    #[error("the client's body is broken")]
    ClientBody,
    /// The head, as it would go on, is more than a server over HTTP/2 can be expected to take.
    #[error("the head of the request is too large for the upstream")]
    HeadTooLarge,
    /// The client's body is larger than the route permits.
    #[error("the body is too large")]
    TooLarge,
}

impl Fault {
    /// The label of it in metrics and the access log.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::ConnectTimeout => "connect_timeout",
            Self::Overloaded => "overloaded",
            Self::NoUpstream => "no_upstream",
            Self::NotForwarded => "not_forwarded",
            Self::Loop => "loop",
            Self::Reset => "reset",
            Self::Unprocessed => "unprocessed",
            Self::BadAnswer => "bad_answer",
            Self::Timeout | Self::OutOfTime => "timeout",
            Self::SlowClient => "slow_client",
            Self::ClientBody => "client_body",
            Self::HeadTooLarge => "head_too_large",
            Self::TooLarge => "too_large",
        }
    }

    /// What the client is answered.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Connect | Self::Reset | Self::Unprocessed | Self::BadAnswer => StatusCode::BAD_GATEWAY,
            Self::ConnectTimeout | Self::Timeout | Self::OutOfTime => StatusCode::GATEWAY_TIMEOUT,
            Self::Overloaded | Self::NoUpstream => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotForwarded => StatusCode::NOT_FOUND,
            Self::Loop => StatusCode::LOOP_DETECTED,
            Self::SlowClient => StatusCode::REQUEST_TIMEOUT,
            Self::ClientBody => StatusCode::BAD_REQUEST,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        }
    }

    /// Whether it is the upstream's: it speaks against a server, or nobody there takes the request.
    pub const fn is_of_upstream(self) -> bool {
        self.blames_server() || matches!(self, Self::Overloaded | Self::NoUpstream | Self::Unprocessed)
    }

    /// Whether it is the client's: it sends what is too large, or not what it began to send.
    pub const fn is_of_client(self) -> bool {
        matches!(self, Self::SlowClient | Self::ClientBody | Self::HeadTooLarge | Self::TooLarge)
    }

    /// Whether it speaks against the server.
    pub const fn blames_server(self) -> bool {
        match self {
            Self::Connect | Self::ConnectTimeout | Self::Reset | Self::BadAnswer | Self::Timeout => true,
            Self::Overloaded
            | Self::NoUpstream
            | Self::NotForwarded
            | Self::Loop
            | Self::Unprocessed
            | Self::OutOfTime
            | Self::SlowClient
            | Self::ClientBody
            | Self::HeadTooLarge
            | Self::TooLarge => false,
        }
    }
}

/// What a server does to an answer whose head the client has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFault {
    /// It ended before its end.
    Cut,
    /// Nothing of it came for too long.
    Stalled,
}

impl AnswerFault {
    /// The label of it in metrics.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Stalled => "stalled",
        }
    }
}
