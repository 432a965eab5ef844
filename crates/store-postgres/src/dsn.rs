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
/// How long one of several addresses is waited for, unless the DSN says it: the next one is to have its turn while somebody still waits.
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
    /// As it is written.
    first: Config,
    /// The same beginning with another host, one for each.
    others: Vec<Config>,
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
        let mut configs = orders(base).into_iter().map(|base| {
            let config: Config = format!("{base}{separator}{}", kept.join("&"))
                .parse()
                .map_err(|cause: tokio_postgres::Error| invalid(&cause))?;
            Ok(config)
        });
        let first = configs.next().ok_or_else(|| StoreError::Invalid("the DSN is empty".to_owned()))??;
        let others = configs.collect::<Result<Vec<_>, StoreError>>()?;
        let sockets_only = first.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        let tls = (mode.0 != "disable" && !sockets_only).then_some(mode.1);
        let ssl = match (tls, mode.0) {
            (None, _) => SslMode::Disable,
            (Some(_), "prefer") => SslMode::Prefer,
            (Some(_), _) => SslMode::Require,
        };
        let others = others.into_iter().map(|config| complete(config, ssl)).collect();
        Ok(Self { first: complete(first, ssl), others, tls, root_certificates })
    }
}

impl Address {
    /// What to connect to, in turn beginning with each of the hosts.
    pub(crate) fn config(&self, turn: usize) -> &Config {
        let place = turn % (self.others.len() + 1);
        place.checked_sub(1).and_then(|place| self.others.get(place)).unwrap_or(&self.first)
    }
}

/// With what the DSN leaves open.
fn complete(mut config: Config, ssl: SslMode) -> Config {
    config.ssl_mode(ssl).keepalives_idle(Duration::from_secs(30));
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("sluice");
    }
    if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
        // Of several servers at most one can be written to, and no other will do.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config
}

/// A DSN without its parameters as often as it has hosts, beginning with each of them.
fn orders(base: &str) -> Vec<String> {
    let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let mut hosts: Vec<&str> = hosts.split(',').collect();
    if scheme.is_empty() || hosts.len() < 2 {
        return vec![base.to_owned()];
    }
    let at = if user.is_empty() { "" } else { "@" };
    (0..hosts.len())
        .map(|_| {
            let order = format!("{scheme}://{user}{at}{}{path}", hosts.join(","));
            hosts.rotate_left(1);
            order
        })
        .collect()
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
        assert_eq!(address.config(0).get_password(), Some(&b"s ecret"[..]));
        assert_eq!(address.config(0).get_ports(), [5433]);
        assert_eq!(address.config(0).get_application_name(), Some("x"));
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
            assert_eq!((address.config(0).get_ssl_mode(), address.tls), (ssl, tls), "{mode}");
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

    fn hosts(config: &Config) -> Vec<(String, u16)> {
        let names = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        names.zip(config.get_ports().iter().copied()).collect()
    }

    #[test]
    fn each_of_several_hosts_has_its_turn_to_be_first() {
        let address = address("postgres://u:p%40ss@a:1,[::1]:2,c:3/d?sslmode=disable");
        let of = |host: &str, port| (host.to_owned(), port);
        let (a, b, c) = (of("a", 1), of("::1", 2), of("c", 3));
        assert_eq!(hosts(address.config(0)), [a.clone(), b.clone(), c.clone()]);
        assert_eq!(hosts(address.config(1)), [b.clone(), c.clone(), a.clone()]);
        assert_eq!(hosts(address.config(2)), [c, a.clone(), b]);
        assert_eq!(hosts(address.config(3)).first(), Some(&a));
        assert_eq!(address.config(1).get_password(), Some(&b"p@ss"[..]));
        assert_eq!(address.config(1).get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        assert_eq!(address.config(1).get_ssl_mode(), SslMode::Disable);
    }

    #[test]
    fn how_long_an_address_is_waited_for_can_be_said() {
        let patience = |dsn| address(dsn).config(0).get_connect_timeout().copied();
        assert_eq!(patience("postgres://u@db/d"), Some(Duration::from_secs(2)));
        assert_eq!(patience("postgres://u@db/d?connect_timeout=4"), Some(Duration::from_secs(4)));
    }

    #[test]
    fn one_server_may_be_any() {
        assert_eq!(
            address("postgres://u@db/d").config(0).get_target_session_attrs(),
            TargetSessionAttrs::Any
        );
    }
}
