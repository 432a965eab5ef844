//! What is configured about the servers behind the gateway.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use super::tls_client::TlsClient;

/// An upstream: servers that do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamConfig {
    /// Its name in the file, metrics and logs.
    pub name: Arc<str>,
    /// Its servers, at least one.
    pub servers: Vec<ServerConfig>,
    /// What is spoken with them.
    pub protocol: UpstreamProtocol,
    /// TLS with servers whose URL is https.
    pub tls: UpstreamTls,
    /// How long what may take.
    pub timeouts: Timeouts,
    /// How often a request is sent anew, elsewhere if possible, when it was not sent, the server said over HTTP/2 that it did not process
    /// it, or it was idempotent and got no answer for a reason other than time: 0 to 3, default 1. Requests whose body has begun to
    /// flow are never sent anew.
    pub retries: u8,
    /// How many requests may be sent anew. `None`: all.
    pub retry_budget: Option<RetryBudget>,
    /// Idle connections kept by each core and server. Default: 1,024. Below what is under way at once, connections are made and
    /// closed all the time; those that are not needed grow old and go.
    pub idle_connections: NonZeroUsize,
    /// The most of the head of a request over HTTP/2, in bytes as HTTP/2 counts them (RFC 9113 §6.5.2). Default: 65,535. Many servers end a
    /// connection over more than they take, and with it what others have under way there; what they say of it
    /// (`SETTINGS_MAX_HEADER_LIST_SIZE`) the HTTP library does not hand on.
    pub max_head: NonZeroUsize,
    /// Bounds beyond which requests fail at once with 503.
    pub breaker: Breaker,
    /// Servers judged by the answers to requests. `None`: not.
    pub passive_health: Option<PassiveHealth>,
    /// Servers judged by probes. `None`: not.
    pub active_health: Option<ActiveHealth>,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerConfig {
    /// Name or address, IPv6 without brackets. Names are resolved anew with each connection; if one has several addresses, the first that
    /// answers is taken.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it speaks TLS.
    pub tls: bool,
    /// Its share beside the other weights.
    pub weight: NonZeroU32,
}

/// What is spoken with an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpstreamProtocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by ALPN over TLS, with prior knowledge without.
    Http2,
}

impl UpstreamProtocol {
    /// What is offered in the handshake (RFC 7301).
    pub(crate) fn alpn(self) -> Vec<Vec<u8>> {
        match self {
            Self::Http1 => vec![b"http/1.1".to_vec()],
            Self::Http2 => vec![b"h2".to_vec()],
        }
    }
}

/// TLS with an upstream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpstreamTls {
    /// The name that certificates must have. `None`: the host.
    pub server_name: Option<String>,
    /// Which certificates to trust, and which to show. `None`: those of the system, and none.
    pub client: Option<TlsClient>,
}

/// How long what may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Name, TCP and TLS. Default: 2 s.
    pub connect: Duration,
    /// From the end of the request to the head of the answer. Default: 30 s.
    pub first_byte: Duration,
    /// Between two parts of a body, either way; of an upgraded connection, without a byte either way. Default: 60 s.
    pub idle: Duration,
    /// An idle connection is closed after this. Default: 55 s.
    pub keep_alive: Duration,
    /// A connection takes no more requests after this, or up to a fifth earlier; those on it are finished. Default: 5 min.
    pub max_age: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            first_byte: Duration::from_secs(30),
            idle: Duration::from_mins(1),
            keep_alive: Duration::from_secs(55),
            max_age: Duration::from_mins(5),
        }
    }
}

/// How many of the requests that a server had, or said that it would not process, may be sent anew, over all cores. Those that reached no
/// server cost none, and are not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryBudget {
    /// Of a hundred requests of the last ten seconds, so many, 0 to 100. Default: 20.
    pub percent: u8,
    /// In ten seconds, so many beside these, however few requests there were. Default: 100.
    pub at_least: u32,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self { percent: 20, at_least: 100 }
    }
}

/// Bounds of an upstream, over all cores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    /// Requests under way at once, with several cores passed by half at most. Default: 8192.
    pub requests: NonZeroUsize,
    /// Connections being made at once to each server, but for probes. Default: 1024.
    pub connecting: NonZeroUsize,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            requests: NonZeroUsize::new(8192).unwrap_or(NonZeroUsize::MIN),
            connecting: NonZeroUsize::new(1024).unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// A server is left alone after failures in a row: connections refused or reset, time-outs, 502 to 504; or after answers in a row that it
/// broke off, be it that the connection ended or that nothing came for [`Timeouts::idle`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassiveHealth {
    /// So many in a row. Default: 5.
    pub failures: NonZeroU32,
    /// For so long, doubled each time up to sixteen-fold. Default: 5 s. The last server that is left is never left alone.
    pub eject_for: Duration,
}

/// Servers are asked how they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveHealth {
    /// The path, asked with `GET`; 2xx means well.
    pub path: String,
    /// How often. Default: 5 s.
    pub interval: Duration,
    /// How long an answer may take. Default: 1 s.
    pub timeout: Duration,
    /// So many bad answers in a row take it out. Default: 2.
    pub unhealthy_after: NonZeroU32,
    /// So many good ones take it in again. Default: 2.
    pub healthy_after: NonZeroU32,
}

impl Default for PassiveHealth {
    fn default() -> Self {
        Self { failures: NonZeroU32::new(5).unwrap_or(NonZeroU32::MIN), eject_for: Duration::from_secs(5) }
    }
}

impl ActiveHealth {
    /// Probes of `path`, everything else as it is by default.
    pub fn at(path: &str) -> Self {
        let twice = NonZeroU32::new(2).unwrap_or(NonZeroU32::MIN);
        Self {
            path: path.to_owned(),
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(1),
            unhealthy_after: twice,
            healthy_after: twice,
        }
    }
}
