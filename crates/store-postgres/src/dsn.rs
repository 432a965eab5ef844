//! The address of the database: a standard PostgreSQL URL, as Hydra's users write it.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sluice_commit::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// Parameters of Hydra's connection pool. There is no such pool here; they are accepted so that its DSN can be kept.
const POOL: &[&str] = &["max_conns", "max_idle_conns", "max_conn_lifetime", "max_conn_idle_time"];
/// Parameters of libpq that change nothing here.
const WITHOUT_EFFECT: &[&str] = &["sslcompression", "gssencmode", "fallback_application_name"];
/// How long an address is waited for, and each of several servers as a whole, unless the DSN says it: the next one is to have its turn
/// while somebody still waits.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How far the server's certificate is trusted (libpq's `sslmode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verification {
    /// Encrypted at most; nobody is verified (`prefer`, `require`).
    None,
    /// Signed by a trusted authority (`verify-ca`).
    Authority,
    /// And for this host (`verify-full`).
    Host,
}

/// Where the database is and how to reach it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// One for each server that is named, as they are written: at least one.
    pub(crate) servers: Vec<Config>,
    /// None: without TLS.
    pub(crate) tls: Option<Verification>,
    /// The authorities; the system's if not named.
    pub(crate) root_certificates: Option<PathBuf>,
}

impl FromStr for Address {
    type Err = StoreError;

    fn from_str(dsn: &str) -> Result<Self, StoreError> {
        let (base, query) = dsn.split_once('?').unwrap_or((dsn, ""));
        let mut kept: Vec<&str> = Vec::new();
        let mut mode = ("prefer", Verification::None);
        let mut root_certificates = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "sslmode" => mode = ssl_mode(value)?,
                "sslrootcert" if value == "system" => {}
                "sslrootcert" => root_certificates = Some(PathBuf::from(decoded(value))),
                _ if POOL.contains(&key) || WITHOUT_EFFECT.contains(&key) => {}
                _ => kept.push(pair),
            }
        }
        let separator = if kept.is_empty() { "" } else { "?" };
        let mut config: Config = format!("{base}{separator}{}", kept.join("&"))
            .parse()
            .map_err(|cause: tokio_postgres::Error| invalid(&cause))?;
        let sockets_only = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        let tls = (mode.0 != "disable" && !sockets_only).then_some(mode.1);
        config.ssl_mode(match (tls, mode.0) {
            (None, _) => SslMode::Disable,
            (Some(_), "prefer") => SslMode::Prefer,
            (Some(_), _) => SslMode::Require,
        });
        complete(&mut config);
        Ok(Self { servers: servers(config), tls, root_certificates })
    }
}

/// With what the DSN leaves open.
fn complete(config: &mut Config) {
    config.keepalives_idle(Duration::from_secs(30));
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("sluice");
    }
    if named(config) > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
        // Of several servers at most one can be written to, and no other will do.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
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

fn ssl_mode(value: &str) -> Result<(&'static str, Verification), StoreError> {
    match value {
        "disable" => Ok(("disable", Verification::None)),
        "allow" | "prefer" => Ok(("prefer", Verification::None)),
        "require" => Ok(("require", Verification::None)),
        "verify-ca" => Ok(("require", Verification::Authority)),
        "verify-full" => Ok(("require", Verification::Host)),
        _ => Err(StoreError::Invalid(format!("sslmode of the DSN is `{value}`"))),
    }
}

/// Percent-decoded; what is not UTF-8 then stays as it is.
fn decoded(value: &str) -> String {
    let pair = format!("v={value}");
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

fn invalid(cause: &tokio_postgres::Error) -> StoreError {
    StoreError::Invalid(format!("the DSN cannot be read: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(dsn: &str) -> Address {
        dsn.parse().unwrap()
    }

    #[test]
    fn a_dsn_written_for_hydra_is_accepted() {
        let address = address(
            "postgres://hydra:s%20ecret@db:5433/hydra?sslmode=disable&max_conns=20&max_idle_conns=4&application_name=x",
        );
        assert_eq!(address.servers[0].get_password(), Some(&b"s ecret"[..]));
        assert_eq!(address.servers[0].get_ports(), [5433]);
        assert_eq!(address.servers[0].get_application_name(), Some("x"));
        assert_eq!(address.tls, None);
    }

    #[test]
    fn each_sslmode_says_whether_to_encrypt_and_whom_to_trust() {
        for (mode, ssl, tls) in [
            ("", SslMode::Prefer, Some(Verification::None)),
            ("sslmode=disable", SslMode::Disable, None),
            ("sslmode=prefer", SslMode::Prefer, Some(Verification::None)),
            ("sslmode=require", SslMode::Require, Some(Verification::None)),
            ("sslmode=verify-ca", SslMode::Require, Some(Verification::Authority)),
            ("sslmode=verify-full", SslMode::Require, Some(Verification::Host)),
        ] {
            let address = address(&format!("postgres://u@db/d?{mode}"));
            assert_eq!((address.servers[0].get_ssl_mode(), address.tls), (ssl, tls), "{mode}");
        }
        assert!("postgres://u@db/d?sslmode=maybe".parse::<Address>().is_err());
    }

    #[test]
    fn a_unix_socket_needs_no_tls() {
        assert_eq!(address("postgres:///d?host=%2Ftmp&user=u").tls, None);
    }

    #[test]
    fn the_authorities_can_be_named() {
        let address = address("postgres://u@db/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem");
        assert_eq!(address.root_certificates, Some(PathBuf::from("/etc/ca.pem")));
    }

    fn host(config: &Config) -> (&str, u16) {
        match (config.get_hosts(), config.get_ports()) {
            ([Host::Tcp(name)], [port]) => (name, *port),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_of_several_servers_is_reached_by_itself() {
        let address = address("postgres://u:p%40ss@a:1,[::1]:2,c:3/d?sslmode=disable&connect_timeout=4");
        assert_eq!(address.servers.iter().map(host).collect::<Vec<_>>(), [("a", 1), ("::1", 2), ("c", 3)]);
        for server in &address.servers {
            assert_eq!((server.get_user(), server.get_password()), (Some("u"), Some(&b"p@ss"[..])));
            assert_eq!((server.get_dbname(), server.get_application_name()), (Some("d"), Some("sluice")));
            assert_eq!(server.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
            assert_eq!(server.get_ssl_mode(), SslMode::Disable);
            assert_eq!(server.get_connect_timeout(), Some(&Duration::from_secs(4)));
            assert_eq!(server.get_keepalives_idle(), Duration::from_secs(30));
        }
    }

    #[test]
    fn a_name_and_its_address_belong_together() {
        let address = address("postgres://u@a,b:7/d?hostaddr=192.0.2.1,192.0.2.2");
        let addresses: Vec<_> = address.servers.iter().map(Config::get_hostaddrs).collect();
        assert_eq!(
            addresses,
            [["192.0.2.1".parse::<std::net::IpAddr>().unwrap()], ["192.0.2.2".parse().unwrap()]]
        );
        assert_eq!(address.servers.iter().map(|server| host(server).0).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_comma_in_a_password_names_no_second_server() {
        let address = address("postgres://u:a,b%2Fc@h/d");
        assert_eq!(address.servers.len(), 1);
        assert_eq!(address.servers[0].get_password(), Some(&b"a,b/c"[..]));
    }

    #[test]
    fn how_long_an_address_is_waited_for_can_be_said() {
        let patience = |dsn| address(dsn).servers[0].get_connect_timeout().copied();
        assert_eq!(patience("postgres://u@db/d"), Some(Duration::from_secs(2)));
        assert_eq!(patience("postgres://u@db/d?connect_timeout=4"), Some(Duration::from_secs(4)));
    }

    #[test]
    fn one_server_may_be_any() {
        assert_eq!(
            address("postgres://u@db/d").servers[0].get_target_session_attrs(),
            TargetSessionAttrs::Any
        );
    }
}
