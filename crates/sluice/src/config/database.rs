//! `dsn` and `database`: where the facts are kept.

use super::dsn::{self, Dsn};
use super::key::{Key, Kind};
use super::reader::Reader;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "dsn",
        Kind::Dsn,
        "The store: `postgres://…`, `sqlite:<file>` or `memory`. Required; with `--dev` a SQLite \
         file in the data directory.",
    ),
    Key::own(
        "database.max_connections",
        Kind::Integer { min: 1, max: 10_000 },
        "How many connections to PostgreSQL may be open; `max_conns` in the DSN means the same.",
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
            reader.refuse("dsn", "is required (`--dev` makes a SQLite file)");
        }
        return None;
    };
    match dsn::parse(&text) {
        Ok(parsed) => {
            if !parsed.dropped.is_empty() {
                let names = parsed.dropped.join(", ");
                reader.warn("dsn", format!("parameters without effect, ignored: {names}"));
            }
            Some(DatabaseSettings {
                dsn: parsed.dsn,
                max_connections: max_connections.or(parsed.max_connections),
            })
        }
        Err(reason) => {
            reader.refuse("dsn", reason);
            None
        }
    }
}
