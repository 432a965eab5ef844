//! Options: which file, whose node, how patient.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sluice_primitives::{Clock, NodeId, Rng};

/// Where the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlitePath {
    /// In this file, which other processes may share. Made if it is not there, readable by its owner only.
    File(PathBuf),
    /// In a file of its own that goes with the store.
    Temporary,
}

/// The text names no database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a SQLite DSN is `memory`, a path, or `sqlite:` and a path")]
pub struct InvalidSqlitePath;

impl FromStr for SqlitePath {
    type Err = InvalidSqlitePath;

    /// Reads a DSN: `memory`, `sqlite:…`, `sqlite://…` or a path. Parameters behind `?` are not for us and dropped from
    /// a `sqlite:` DSN.
    fn from_str(raw: &str) -> Result<Self, InvalidSqlitePath> {
        let path = match raw.strip_prefix("sqlite:") {
            Some(rest) => {
                let rest = rest.strip_prefix("//").unwrap_or(rest);
                rest.split_once('?').map_or(rest, |(path, _)| path)
            }
            None => raw,
        };
        match path {
            "" => Err(InvalidSqlitePath),
            _ if path.contains('\0') => Err(InvalidSqlitePath),
            "memory" | ":memory:" => Ok(Self::Temporary),
            path => Ok(Self::File(path.into())),
        }
    }
}

/// How a store is opened.
#[derive(Clone)]
pub struct StoreOptions {
    /// The origin of what this process appends to the feeds; a new one for every start of a process.
    pub node: NodeId,
    /// How long a write may wait for its commit; default 5 s.
    pub deadline: Duration,
    /// How long the engine itself waits for another process's lock before the write is tried anew; default 250 ms.
    pub busy_timeout: Duration,
    /// How many writes of one kind may wait, and how many reads in all; default 8192.
    pub depth: NonZeroUsize,
    /// How many connections read at the same time; default one per core.
    pub readers: NonZeroUsize,
    /// Stamps changes and migrations.
    pub clock: Arc<dyn Clock>,
    /// Makes the network's id and the ids of notices.
    pub rng: Arc<dyn Rng>,
}

impl StoreOptions {
    /// The defaults.
    pub fn new(node: NodeId, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Self {
        Self {
            node,
            deadline: Duration::from_secs(5),
            busy_timeout: Duration::from_millis(250),
            depth: NonZeroUsize::MIN.saturating_add(8191),
            readers: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            clock,
            rng,
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("node", &self.node)
            .field("deadline", &self.deadline)
            .field("busy_timeout", &self.busy_timeout)
            .field("depth", &self.depth)
            .field("readers", &self.readers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dsn_names_a_file_or_none() {
        let file = |path: &str| Ok(SqlitePath::File(path.into()));
        assert_eq!("memory".parse(), Ok(SqlitePath::Temporary));
        assert_eq!("sqlite://:memory:?_fk=true".parse(), Ok(SqlitePath::Temporary));
        assert_eq!("sqlite:///var/lib/sluice.db?_fk=true".parse(), file("/var/lib/sluice.db"));
        assert_eq!("sqlite:sluice.db".parse(), file("sluice.db"));
        assert_eq!("./sluice.db".parse(), file("./sluice.db"));
        assert_eq!("sqlite:".parse::<SqlitePath>(), Err(InvalidSqlitePath));
    }
}
