//! `serve.public`, `serve.admin`, `serve.gateway`, `serve.decisions`, `serve.link`: what a listener is bound to and how it speaks.

use std::net::IpAddr;
use std::path::PathBuf;

use super::cors::{self, CorsSettings};
use super::key::{Key, Kind};
use super::reader::Reader;
use super::tls::{self, TlsSettings};

/// The keys of every listener; host and port, whose defaults differ, are in `serve` and `gateway`.
pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "socket.owner",
        Kind::Text,
        "The owner of the Unix socket; the user of the process by default.",
    ),
    Key::hydra(
        "socket.group",
        Kind::Text,
        "The group of the Unix socket; the group of the process by default.",
    ),
    Key::hydra("socket.mode", Kind::FileMode, "The mode of the Unix socket, such as `0660`; 493 is 0755.")
        .with_default("493"),
    Key::ignored("base_url", Kind::Url, "the addresses in answers come from urls.self"),
    Key::ignored("write_listen_file", Kind::Path, "the address is in the log"),
];

/// Of a listener with a request log.
pub(super) const REQUEST_LOG: &[Key] = &[
    Key::hydra(
        "request_log.disable_for_health",
        Kind::Boolean,
        "Whether health checks stay out of the request log.",
    )
    .with_default("false"),
    Key::ignored(
        "access_log.disable_for_health",
        Kind::Boolean,
        "Hydra 1 called request_log.disable_for_health so",
    ),
];

/// Of the gateway and the decisions.
pub(super) const NO_REQUEST_LOG: &[Key] = &[
    Key::ignored("request_log.disable_for_health", Kind::Boolean, NO_HEALTH),
    Key::ignored("access_log.disable_for_health", Kind::Boolean, NO_HEALTH),
];

/// Why nothing is left out of the log of the gateway.
const NO_HEALTH: &str = "health is asked about at the admin port; gateway.access_log is of all requests here";

/// One listener.
#[derive(Debug, Clone)]
pub(crate) struct ListenerSettings {
    pub(crate) address: ListenAddress,
    pub(crate) tls: TlsSettings,
    /// `None`: no CORS headers are sent.
    pub(crate) cors: Option<CorsSettings>,
    /// Whether health checks stay out of the request log. Default: no.
    pub(crate) request_log_skips_health: bool,
    /// Connections served at once. `None`: as many as a listener serves by default, or as is configured for the gateway.
    pub(crate) max_connections: Option<usize>,
}

/// What a listener is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// An IP address, of IPv6 without brackets, or a name to resolve; empty is every interface. Port 0 takes any that is free.
    Tcp { host: String, port: u16 },
    /// A Unix socket; `None` leaves owner and group as they are.
    Unix { path: PathBuf, owner: Option<String>, group: Option<String>, mode: u32 },
}

impl ListenAddress {
    /// Whether only this machine can reach it.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Unix { .. } => true,
            Self::Tcp { host, .. } => {
                host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
            }
        }
    }
}

/// Reads the listener below `prefix` (`serve.public`, `serve.admin`).
pub(super) fn read(reader: &mut Reader<'_>, prefix: &str) -> ListenerSettings {
    let listener = read_without_cors(reader, prefix);
    let max_connections = reader.integer(&format!("{prefix}.max_connections"));
    ListenerSettings { cors: cors::read(reader, &format!("{prefix}.cors")), max_connections, ..listener }
}

/// Reads a listener that sends no CORS headers.
pub(super) fn read_without_cors(reader: &mut Reader<'_>, prefix: &str) -> ListenerSettings {
    let listener = read_without_request_log(reader, prefix);
    let skips_health = reader.boolean(&format!("{prefix}.request_log.disable_for_health"));
    ListenerSettings { request_log_skips_health: skips_health, ..listener }
}

/// Reads a listener that sends no CORS headers of its own and has no request log.
pub(super) fn read_without_request_log(reader: &mut Reader<'_>, prefix: &str) -> ListenerSettings {
    ListenerSettings {
        address: read_address(reader, prefix),
        tls: tls::read(reader, &format!("{prefix}.tls")),
        cors: None,
        request_log_skips_health: false,
        max_connections: None,
    }
}

fn read_address(reader: &mut Reader<'_>, prefix: &str) -> ListenAddress {
    let port = reader.integer(&format!("{prefix}.port")).unwrap_or_default();
    let owner = reader.text(&format!("{prefix}.socket.owner"));
    let group = reader.text(&format!("{prefix}.socket.group"));
    let mode = reader.integer(&format!("{prefix}.socket.mode")).unwrap_or_default();
    let host_key = format!("{prefix}.host");
    let host = reader.text(&host_key).unwrap_or_default();
    match host.strip_prefix("unix:") {
        Some("") => {
            reader.refuse(&host_key, "names no socket after unix:");
            ListenAddress::Tcp { host: String::new(), port }
        }
        Some(path) => ListenAddress::Unix { path: PathBuf::from(path), owner, group, mode },
        None => ListenAddress::Tcp { host: without_brackets(&host).to_owned(), port },
    }
}

/// The host as the resolver takes it: an address of IPv6 may be written as in a URL, which is Hydra's way.
fn without_brackets(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host)
}
