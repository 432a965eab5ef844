//! `dsn` and `database`: where the facts are kept.

use std::time::Duration;

use super::dsn::{self, Dsn};
use super::key::{Key, Kind};
use super::reader::Reader;

/// One for reads, one for hot writes and upkeep, one for other writes, one that listens to the feed.
const FEWEST_CONNECTIONS: i64 = 4;
/// Who waits for longer has a supervisor that starts it again.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

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
         By default six and one for each CPU; more than four and three for each CPU are never opened.",
    ),
    Key::own(
        "database.wait",
        Kind::Duration,
        "How long `serve`, `worker` and `migrate sql up` try to reach PostgreSQL when they start, from 0 to 24h: it may start at \
         the same time. With 0 they give up after five seconds. Where it goes away while it is migrated, it is waited for as long. A password \
         that is refused and a database that is not there are not waited for.",
    )
    .with_default("1m"),
];

/// Where the facts are kept.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseSettings {
    pub(crate) dsn: Dsn,
    /// Connections to PostgreSQL at most; `None` leaves it to the store.
    pub(crate) max_connections: Option<u32>,
    /// How long a start waits for PostgreSQL. Default: 1 min.
    pub(crate) wait: Duration,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<DatabaseSettings> {
    let max_connections = reader.integer("database.max_connections");
    let wait = reader.duration_within("database.wait", Duration::ZERO..=LONGEST_WAIT);
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
            Some(DatabaseSettings { dsn: parsed.dsn, max_connections, wait })
        }
        Err(reason) => {
            reader.refuse("dsn", reason);
            None
        }
    }
}
