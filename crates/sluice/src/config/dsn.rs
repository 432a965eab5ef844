//! Data source names, in Hydra's spelling.

use std::path::PathBuf;

use sluice_store_postgres::check_dsn;

use super::secret_string::SecretString;

/// What is said of a text that is none.
const NO_DSN: &str = "must be postgres://…, sqlite:<file> or memory";
/// Parameters of Go's connection pool, which would be refused by PostgreSQL.
const POOL_PARAMETERS: &[&str] = &["max_conns", "max_idle_conns", "max_conn_lifetime", "max_conn_idle_time"];

/// The store that a data source name stands for.
#[derive(Debug, Clone)]
pub(crate) enum Dsn {
    /// `memory`: a private temporary store, lost at the end.
    Memory,
    /// `sqlite:<file>`, `sqlite://<file>`; Hydra's parameters (`?_fk=true`) are dropped.
    Sqlite { path: PathBuf },
    /// `postgres://…`, without the parameters of Go's connection pool.
    Postgres { url: SecretString },
}

/// A data source name, taken apart.
pub(super) struct ParsedDsn {
    pub(super) dsn: Dsn,
    /// `max_conns` of Hydra's DSN.
    pub(super) max_connections: Option<u32>,
    /// Names of parameters that mean nothing here.
    pub(super) dropped: Vec<&'static str>,
}

/// Parses a data source name. The reasons of refusal never repeat it.
pub(super) fn parse(text: &str) -> Result<ParsedDsn, String> {
    if text == "memory" {
        return Ok(plain(Dsn::Memory));
    }
    let (scheme, rest) = text.split_once(':').ok_or(NO_DSN)?;
    match scheme {
        "sqlite" => parse_sqlite(rest).map(plain),
        // CockroachDB and its kind speak PostgreSQL's protocol. Nothing is tested with them.
        "postgres" | "postgresql" | "cockroach" => parse_postgres(rest),
        "mysql" => Err("MySQL is not supported; use PostgreSQL or SQLite".to_owned()),
        _ => Err(NO_DSN.to_owned()),
    }
}

fn plain(dsn: Dsn) -> ParsedDsn {
    ParsedDsn { dsn, max_connections: None, dropped: Vec::new() }
}

fn parse_sqlite(rest: &str) -> Result<Dsn, String> {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.strip_prefix("file:").unwrap_or(path);
    if path == ":memory:" || parameters.split('&').any(|parameter| parameter == "mode=memory") {
        return Ok(Dsn::Memory);
    }
    if path.is_empty() {
        return Err("names no SQLite file".to_owned());
    }
    Ok(Dsn::Sqlite { path: PathBuf::from(path) })
}

fn parse_postgres(rest: &str) -> Result<ParsedDsn, String> {
    if !rest.starts_with("//") {
        return Err("must begin with postgres://".to_owned());
    }
    let (base, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let mut kept = Vec::new();
    let mut parsed = plain(Dsn::Memory);
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match POOL_PARAMETERS.iter().find(|pool| **pool == name) {
            None => kept.push(parameter),
            Some(&"max_conns") => {
                let most = value.parse().ok().filter(|most| *most > 0);
                parsed.max_connections = Some(most.ok_or("max_conns must be a whole number above 0")?);
            }
            Some(pool) => parsed.dropped.push(pool),
        }
    }
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    let url = SecretString::new(format!("postgres:{base}{query}"));
    check_dsn(url.expose()).map_err(|cause| cause.to_string())?;
    parsed.dsn = Dsn::Postgres { url };
    Ok(parsed)
}
