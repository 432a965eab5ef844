//! The settings of HTTP, by what is known of the version before the first byte.

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;

use super::limits::Limits;

/// The least buffer that hyper takes.
const LEAST_HEADER_BYTES: u32 = 8 * 1024;
/// How much of a body is taken over HTTP/2 before it is wanted. A connection takes as much for all of its streams together:
/// one that nobody reads does not hold up the others.
const STREAM_WINDOW: u32 = 64 * 1024;
/// It takes no less than this. Half of what it takes is also what h2 grants it for what waits in frames of less than 256 bytes: each
/// costs what it has less than these until it is read, and h2 ends a connection that costs more, with all of its streams. 128 streams
/// that are full of frames of 55 bytes cost 29 MiB. Anybody may make it cost as much.
const LEAST_WINDOW: u32 = 64 << 20;
/// The most that HTTP/2 knows (RFC 9113 §6.9.1).
const MOST_WINDOW: u32 = (1 << 31) - 1;

/// What serves connections.
pub(super) struct Builders {
    /// Where nothing was agreed on: the first bytes tell. However it is told to, it looks at them where there may be upgrades.
    pub(super) any: auto::Builder<TokioExecutor>,
    /// Where HTTP/1.1 was.
    pub(super) http1: http1::Builder,
    /// Where HTTP/2 was.
    pub(super) http2: http2::Builder<TokioExecutor>,
}

/// The settings of HTTP/1.1, in words that both libraries have for them.
///
/// hyper's own timer for request heads stays off: it is made anew for each request (see `supervision`). Names of headers
/// are written as Go writes them (`Link`): some clients of Hydra's look them up by case.
macro_rules! set_http1 {
    ($builder:expr, $limits:expr) => {
        $builder
            .header_read_timeout(None)
            .title_case_headers(true)
            // Head and body are copied together and sent: that costs less than a system call with two parts.
            .writev(false)
            .max_buf_size(usize::try_from(header_bytes($limits)).unwrap_or(usize::MAX))
    };
}

/// The same of HTTP/2.
///
/// A client from which nothing has come for long is asked whether it lives: one that does not answer would not
/// answer the PING either for which a connection waits that is told to end (RFC 9113 §6.8), and would stay for ever.
macro_rules! set_http2 {
    ($builder:expr, $limits:expr) => {
        $builder
            .timer(TokioTimer::new())
            .keep_alive_interval($limits.keep_alive_timeout)
            .keep_alive_timeout($limits.pong_timeout)
            .max_header_list_size(header_bytes($limits))
            .max_concurrent_streams($limits.max_concurrent_streams)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(connection_window($limits))
    };
}

impl Builders {
    pub(super) fn new(limits: &Limits) -> Self {
        let mut any = auto::Builder::new(TokioExecutor::new());
        set_http1!(any.http1(), limits);
        set_http2!(any.http2(), limits);
        let mut http1 = http1::Builder::new();
        set_http1!(http1, limits);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        set_http2!(http2, limits);
        Self { any, http1, http2 }
    }
}

fn header_bytes(limits: &Limits) -> u32 {
    limits.max_header_bytes.max(LEAST_HEADER_BYTES)
}

fn connection_window(limits: &Limits) -> u32 {
    STREAM_WINDOW.saturating_mul(limits.max_concurrent_streams).clamp(LEAST_WINDOW, MOST_WINDOW)
}
