//! How many connections a node has, and what they do.

use crate::store::PostgresStore;

/// The connections of a node at one moment, but those that were given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionCount {
    /// Those on which a statement is under way, or waited for.
    pub busy: usize,
    /// The others that are open.
    pub idle: usize,
    /// How many there may be: each is opened when it is needed.
    pub limit: usize,
    /// Attempts to open one that came to nothing, since the start.
    pub failed_total: u64,
}

impl PostgresStore {
    /// The connections of this node now.
    pub fn connections(&self) -> ConnectionCount {
        let failed_total = self.listener.link().failed_dials();
        let mut count = ConnectionCount { failed_total, ..ConnectionCount::default() };
        for link in self.links() {
            count.limit += 1;
            match link.is_busy() {
                Some(true) => count.busy += 1,
                Some(false) => count.idle += 1,
                None => {}
            }
        }
        count
    }
}
