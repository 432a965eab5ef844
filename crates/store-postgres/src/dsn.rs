//! The address of the database: a standard PostgreSQL URL, as Hydra's users write it.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sluice_commit::StoreError;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Parameters of Hydra's connection pool. There is no such pool here; they are accepted so that its DSN can be kept.
const POOL: &[&str] = &["max_conns", "max_idle_conns", "max_conn_lifetime", "max_conn_idle_time"];
/// Parameters of libpq that change nothing here.
const WITHOUT_EFFECT: &[&str] =
    &["sslcompression", "gssencmode", "connect_timeout", "fallback_application_name"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

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
    pub(crate) config: Config,
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
        config.connect_timeout(CONNECT_TIMEOUT).keepalives_idle(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("sluice");
        }
        Ok(Self { config, tls, root_certificates })
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
        assert_eq!(address.config.get_password(), Some(&b"s ecret"[..]));
        assert_eq!(address.config.get_ports(), [5433]);
        assert_eq!(address.config.get_application_name(), Some("x"));
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
            assert_eq!((address.config.get_ssl_mode(), address.tls), (ssl, tls), "{mode}");
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
}
