//! The address of the database: a standard PostgreSQL URL, as Hydra's users write it.

pub(crate) mod options;

use std::error::Error as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

const SCHEMES: &[&str] = &["postgres://", "postgresql://"];
/// Parameters of Hydra's connection pool. There is no such pool here; they are accepted so that its DSN can be kept.
const POOL: &[&str] = &["max_conns", "max_idle_conns", "max_conn_lifetime", "max_conn_idle_time"];
/// Parameters of libpq that change nothing here.
const WITHOUT_EFFECT: &[&str] = &["sslcompression", "gssencmode", "fallback_application_name"];
/// Parameters that are left to the driver.
const OF_THE_DRIVER: &[&str] = &[
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "sslnegotiation",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];
/// Parameters of libpq and of Hydra's driver that are not understood. Only these are called by name: another may be part of a password.
const UNSUPPORTED: &[&str] = &[
    "client_encoding",
    "gsslib",
    "keepalives_count",
    "krbsrvname",
    "passfile",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "search_path",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslpassword",
    "sslsni",
    "statement_timeout",
];
/// The `sslrootcert` that stands for the authorities of the system.
const SYSTEM: &str = "system";
/// Where a server listens, unless the DSN says it.
const PORT: u16 = 5432;
/// How long an address is waited for, and each of several servers as a whole, unless the DSN says it: the next one is to have its turn
/// while somebody still waits.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a connection is silent before the server is asked whether it is there, unless the DSN says it.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(30);
/// How long until it is asked again, unless the DSN says it.
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(10);
/// How long what was sent may go unacknowledged by the other machine before the connection is gone, unless the DSN says it.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// Why a DSN cannot be used. It repeats nothing of the DSN but the names of well-known parameters, for it holds a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidDsn {
    /// It is no URL of PostgreSQL's.
    #[error("must begin with postgres://")]
    Scheme,
    /// It names no server, or only the address of one where TLS is required.
    #[error("names no host (`hostaddr` alone will not do for TLS)")]
    NoHost,
    /// A parameter of libpq that is not supported.
    #[error("has the parameter {0}, which is not supported")]
    Unsupported(&'static str),
    /// A parameter that nobody knows.
    #[error("has a parameter that is not known (a `?` in a password is written `%3F`)")]
    Unknown,
    /// A value that a parameter cannot have.
    #[error("has a value of {0} that is not known")]
    Value(&'static str),
    /// The authorities of the system, and any host.
    #[error(
        "has sslrootcert=system, which needs sslmode=verify-full: anybody can have such a certificate for another host"
    )]
    AnyHost,
    /// Anything else.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

/// How far the server's certificate is trusted (libpq's `sslmode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verification {
    /// Encrypted at most; nobody is verified (`prefer`, `require`).
    None,
    /// Signed by a trusted authority (`verify-ca`, and `require` where authorities are named).
    Authority,
    /// And for this host (`verify-full`).
    Host,
}

/// Where the database is and how to reach it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// One for each server that is named, as they are written: at least one.
    pub(crate) servers: Vec<Config>,
    /// What they are called where there are several, as `host:port`.
    pub(crate) names: Vec<Arc<str>>,
    /// None: without TLS.
    pub(crate) tls: Option<Verification>,
    /// The `search_path` that its `options` set.
    pub(crate) search_path: Option<String>,
    /// The authorities; the system's if not named.
    pub(crate) root_certificates: Option<PathBuf>,
    /// Whether a server that only follows another will do: the DSN itself says what it wants of one.
    pub(crate) standby_will_do: bool,
    /// Whether the database is another program's: nothing is set on its connections, which a pooler may give to that program next.
    pub(crate) is_guest: bool,
}

impl Address {
    /// The same for the database of another program: what is to be set is said as the connection is opened, with what the DSN says itself. A
    /// pooler refuses that, unless it is told to pass it over. `target_session_attrs=read-only` tells no standby from a primary then: whatever lets
    /// nothing be written over this connection only reads.
    pub(crate) fn into_guest(mut self, settings: &str) -> Self {
        self.is_guest = true;
        for server in &mut self.servers {
            let options = match server.get_options() {
                Some(own) => format!("{own} {settings}"),
                None => settings.to_owned(),
            };
            server.options(options);
            // Who says that it writes nothing is not asked whether it could: a primary is what it wants, and that is asked for itself.
            if server.get_target_session_attrs() == TargetSessionAttrs::ReadWrite {
                server.target_session_attrs(TargetSessionAttrs::Any);
                self.standby_will_do = false;
            }
        }
        self
    }
}

/// Whether a store could be reached by this DSN, as far as its text tells.
///
/// # Errors
/// [`InvalidDsn`] if not.
pub fn check_dsn(dsn: &str) -> Result<(), InvalidDsn> {
    dsn.parse::<Address>().map(drop)
}

impl FromStr for Address {
    type Err = InvalidDsn;

    fn from_str(dsn: &str) -> Result<Self, InvalidDsn> {
        if !SCHEMES.iter().any(|scheme| dsn.starts_with(scheme)) {
            return Err(InvalidDsn::Scheme);
        }
        let (base, query) = dsn.split_once('?').unwrap_or((dsn, ""));
        let mut kept: Vec<&str> = Vec::new();
        let (mut mode, mut authorities, mut standby_will_do) = (None, None, false);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or(InvalidDsn::Unknown)?;
            match &*decoded(key) {
                "sslmode" => mode = Some(decoded(value)),
                "sslrootcert" => authorities = Some(decoded(value)),
                name if POOL.contains(&name) || WITHOUT_EFFECT.contains(&name) => {}
                name if OF_THE_DRIVER.contains(&name) => {
                    standby_will_do |= name == "target_session_attrs" && decoded(value) != "read-write";
                    kept.push(pair);
                }
                name => return Err(unsupported(name)),
            }
        }
        let (mode, verification) = trust(mode.as_deref(), authorities.as_deref())?;
        let mut config = read(base, &kept)?;
        // A server that has an address and no name cannot be spoken to over TLS: then nothing else must do where TLS is required.
        if named(&config) == 0 || (mode == SslMode::Require && config.get_hosts().is_empty()) {
            return Err(InvalidDsn::NoHost);
        }
        let sockets_only = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        let tls = (mode != SslMode::Disable && !sockets_only).then_some(verification);
        config.ssl_mode(if tls.is_some() { mode } else { SslMode::Disable });
        complete(&mut config);
        let root_certificates = authorities.filter(|named| named != SYSTEM).map(PathBuf::from);
        let search_path = config.get_options().and_then(options::search_path);
        let servers = servers(config);
        let names = names(&servers);
        Ok(Self { servers, names, tls, search_path, root_certificates, standby_will_do, is_guest: false })
    }
}

/// What the driver makes of it. Its causes name parameters at most: those that it does not know were refused before.
fn read(base: &str, parameters: &[&str]) -> Result<Config, InvalidDsn> {
    let separator = if parameters.is_empty() { "" } else { "?" };
    format!("{base}{separator}{}", parameters.join("&")).parse::<Config>().map_err(|error| {
        let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        InvalidDsn::Unreadable(cause)
    })
}

/// Whether to encrypt and whom to trust. As with libpq, authorities that are named count from `require` on, and those of the system for
/// the named host alone.
fn trust(mode: Option<&str>, authorities: Option<&str>) -> Result<(SslMode, Verification), InvalidDsn> {
    let by_default = if authorities == Some(SYSTEM) { "verify-full" } else { "prefer" };
    let said = match mode.unwrap_or(by_default) {
        "disable" => (SslMode::Disable, Verification::None),
        "allow" | "prefer" => (SslMode::Prefer, Verification::None),
        "require" => (SslMode::Require, Verification::None),
        "verify-ca" => (SslMode::Require, Verification::Authority),
        "verify-full" => (SslMode::Require, Verification::Host),
        _ => return Err(InvalidDsn::Value("sslmode")),
    };
    match authorities {
        Some(SYSTEM) if said.1 != Verification::Host => Err(InvalidDsn::AnyHost),
        Some(_) if said == (SslMode::Require, Verification::None) => {
            Ok((SslMode::Require, Verification::Authority))
        }
        _ => Ok(said),
    }
}

fn unsupported(name: &str) -> InvalidDsn {
    let known = UNSUPPORTED.iter().copied().find(|known| *known == name);
    known.map_or(InvalidDsn::Unknown, InvalidDsn::Unsupported)
}

/// With what the DSN leaves open.
fn complete(config: &mut Config) {
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(KEEPALIVES_IDLE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(KEEPALIVES_INTERVAL);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("sluice");
    }
}

/// How many servers are named.
fn named(config: &Config) -> usize {
    config.get_hosts().len().max(config.get_hostaddrs().len())
}

/// A configuration for each of the servers that are named. What they are called, where they are and how they are to be reached belongs
/// together by its place.
fn servers(all: Config) -> Vec<Config> {
    if named(&all) < 2 {
        return vec![all];
    }
    (0..named(&all)).map(|place| server(&all, place)).collect()
}

/// What each of several servers is called. No name has an `@` in it: there the rest of a password that was written as it is stands before the
/// host, and nothing is repeated of any.
fn names(servers: &[Config]) -> Vec<Arc<str>> {
    let names: Vec<_> = servers.iter().map(name).collect();
    if names.len() < 2 || names.iter().any(|name| name.contains('@')) {
        return Vec::new();
    }
    names.into_iter().map(Arc::from).collect()
}

fn name(server: &Config) -> String {
    let port = server.get_ports().first().copied().unwrap_or(PORT);
    match (server.get_hosts().first(), server.get_hostaddrs().first()) {
        (Some(Host::Tcp(name)), _) => format!("{name}:{port}"),
        (Some(Host::Unix(path)), _) => format!("{}:{port}", path.display()),
        (None, Some(address)) => SocketAddr::new(*address, port).to_string(),
        (None, None) => port.to_string(),
    }
}

fn server(all: &Config, place: usize) -> Config {
    let mut one = Config::new();
    match all.get_hosts().get(place) {
        Some(Host::Tcp(name)) => {
            one.host(name);
        }
        Some(Host::Unix(path)) => {
            one.host_path(path);
        }
        None => {}
    }
    if let Some(address) = all.get_hostaddrs().get(place) {
        one.hostaddr(*address);
    }
    // One port is that of all.
    if let Some(port) = all.get_ports().get(place).or_else(|| all.get_ports().first()) {
        one.port(*port);
    }
    copy_names(&mut one, all);
    copy_connection(&mut one, all);
    one
}

fn copy_names(one: &mut Config, all: &Config) {
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(database) = all.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(name) = all.get_application_name() {
        one.application_name(name);
    }
}

fn copy_connection(one: &mut Config, all: &Config) {
    one.ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .target_session_attrs(all.get_target_session_attrs())
        .load_balance_hosts(all.get_load_balance_hosts())
        .keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle());
    if let Some(timeout) = all.get_connect_timeout() {
        one.connect_timeout(*timeout);
    }
    if let Some(timeout) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
}

/// Percent-decoded; what is not UTF-8 then stays as it is.
fn decoded(value: &str) -> String {
    let pair = format!("v={value}");
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests;
