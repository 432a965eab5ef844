//! `dsn` and `database`: where the facts are kept.

use super::dsn::{self, Dsn};
use super::key::{Key, Kind};
use super::reader::Reader;

/// One for reads, one for hot writes and upkeep, one for other writes, one that listens to the feed.
const FEWEST_CONNECTIONS: i64 = 4;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "dsn",
        Kind::Dsn,
        "The store: `postgres://…`, `sqlite:<file>` or `memory`. Required; with `--dev` a SQLite \
         file in the data directory. `sslmode` in it says whether PostgreSQL is verified, which it is not by default \
         (docs/operations.md).",
    ),
    Key::own(
        "database.max_connections",
        Kind::Integer { min: FEWEST_CONNECTIONS, max: 10_000 },
        "How many connections to PostgreSQL this node may have open; `max_conns` in the DSN means the same. \
         By default five and one for each CPU; more than three and three for each CPU are never opened.",
    ),
];

/// Where the facts are kept.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseSettings {
    pub(crate) dsn: Dsn,
    /// Connections to PostgreSQL at most; `None` leaves it to the store.
    pub(crate) max_connections: Option<u32>,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<DatabaseSettings> {
    let max_connections = reader.integer("database.max_connections");
    let Some(text) = reader.text("dsn") else {
        if !reader.has("dsn") {
            reader.refuse_missing("dsn", "is required (`--dev` makes a SQLite file)");
        }
        return None;
    };
    match dsn::parse(&text) {
        Ok(parsed) => {
            if !parsed.dropped.is_empty() {
                let names = parsed.dropped.join(", ");
                reader.warn("dsn", format!("parameters without effect, ignored: {names}"));
            }
            let max_connections = max_connections.or(parsed.max_connections);
            if max_connections.is_some_and(|most| i64::from(most) < FEWEST_CONNECTIONS) {
                reader.warn(
                    "dsn",
                    format!("max_conns counts as {FEWEST_CONNECTIONS}, the fewest that will do"),
                );
            }
            Some(DatabaseSettings { dsn: parsed.dsn, max_connections })
        }
        Err(reason) => {
            reader.refuse("dsn", reason);
            None
        }
    }
}
