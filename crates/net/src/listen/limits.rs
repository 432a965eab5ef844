//! What a listener grants its clients.

use std::time::Duration;

/// What a listener grants its clients. A request with more than 100 headers is refused over HTTP/1.1 in any case; over HTTP/2 the service
/// refuses those with too many ([`has_too_many_lines`](crate::has_too_many_lines)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections served at once, by all cores of an address together, upgraded ones until they end; more wait in the kernel's
    /// backlog, but for one of each accept loop, those that have been idle longest are asked to end, and a warning says so once a
    /// minute. So it is where the process may open no more files. Default: 16 384.
    pub max_connections: usize,
    /// How long a TLS handshake may take. Default: 10 s.
    pub tls_handshake_timeout: Duration,
    /// How long a connection may take to bring its first complete request head, and over HTTP/1.1 a later one that has begun after a
    /// request without a body. One that has begun is answered 408 then. Default: 10 s.
    pub first_request_timeout: Duration,
    /// How long a connection may go without a new request before it is asked to end; a request that is being
    /// answered is finished. Default: 75 s, above the 60 s for which common load balancers keep a connection. A client
    /// over HTTP/2 from which no request came for as long must answer a PING.
    pub keep_alive_timeout: Duration,
    /// How long a client over HTTP/2 may take to answer a PING, or is cut. One that reads slowly answers late: what it takes
    /// before is in its kernel, and in this one. Default: 60 s.
    pub pong_timeout: Duration,
    /// How long a client over HTTP/2 whose connection was told to end may leave open what it was answered: it is cut if it takes less
    /// than 16 KiB in that time, and nothing is worked on but for it to take. Otherwise one that gives no window, and answers each PING,
    /// would stay for ever. Over HTTP/1.1 so may a client five times as long that has something to take all the while, or one that takes a
    /// little now and then would stay for hours. Default: 2 min, as the kernel waits for one that takes nothing of a connection.
    pub untaken_timeout: Duration,
    /// The most bytes of a request head. Default: 64 KiB, at least 8 KiB.
    pub max_header_bytes: u32,
    /// Requests served at once on one HTTP/2 connection. Default: 128.
    pub max_concurrent_streams: u32,
    /// How long requests may still take after a shutdown began. Default: 30 s.
    pub drain_grace: Duration,
    /// How long after a shutdown began a connection over HTTP/1.1 that is idle, or has brought nothing yet, is waited for to bring a request,
    /// which may be on its way. It is answered, and the answer says that it was the last one. So long is a TLS handshake waited for, and
    /// who was connected and has no place yet. At most half of `drain_grace`. Default: 1 s.
    pub idle_grace: Duration,
    /// How a connection ends over HTTP/1.1 whose client still sends.
    pub linger: Linger,
    /// How long nothing of an answer over HTTP/1.1 may come after its client closed its sending side: one that has left
    /// altogether looks the same, and is worked for as long. Default: 1 s.
    pub half_closed_timeout: Duration,
}

/// How a connection ends whose client still sends: the kernel would reset it if it were closed, and the client's kernel
/// would then throw the answer away. So it gets the end of what is sent to it, and what it sends is read and forgotten until it
/// ends, too, or one of these is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linger {
    /// How long it may send nothing. Default: 2 s.
    pub silence: Duration,
    /// How long it may take in all. Default: 10 s.
    pub total: Duration,
    /// How many bytes it may send. Default: 64 MiB.
    pub bytes: u64,
}

impl Default for Linger {
    fn default() -> Self {
        Self { silence: Duration::from_secs(2), total: Duration::from_secs(10), bytes: 64 << 20 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 16_384,
            tls_handshake_timeout: Duration::from_secs(10),
            first_request_timeout: Duration::from_secs(10),
            keep_alive_timeout: Duration::from_secs(75),
            pong_timeout: Duration::from_mins(1),
            untaken_timeout: Duration::from_mins(2),
            max_header_bytes: 64 * 1024,
            max_concurrent_streams: 128,
            drain_grace: Duration::from_secs(30),
            idle_grace: Duration::from_secs(1),
            linger: Linger::default(),
            half_closed_timeout: Duration::from_secs(1),
        }
    }
}
