//! The table in force, replaced as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::{ArcSwap, Guard};
use tokio::sync::watch;

use super::table::RouteTable;

/// The table in force. Requests that began under the old one end under it.
#[derive(Debug)]
pub struct LiveRoutes {
    current: ArcSwap<RouteTable>,
    /// The number of `current`, read about each request; for a moment that of the one before.
    generation: AtomicU64,
    replaced: watch::Sender<u64>,
}

impl LiveRoutes {
    /// With `table` in force.
    pub fn new(table: RouteTable) -> Self {
        let current = ArcSwap::from_pointee(table.with_generation(1));
        Self { current, generation: AtomicU64::new(1), replaced: watch::Sender::new(1) }
    }

    /// The table in force. Not to be kept across an `.await`: keep the route.
    pub fn load(&self) -> Guard<Arc<RouteTable>> {
        self.current.load()
    }

    /// Puts another table in force.
    pub fn replace(&self, table: RouteTable) {
        self.replaced.send_modify(|generation| {
            *generation += 1;
            self.current.store(Arc::new(table.with_generation(*generation)));
            // Last: who knows the number finds this table, or a later one.
            self.generation.store(*generation, Ordering::Release);
        });
    }

    /// The number of the table in force ([`RouteTable::generation`]). A table that is loaded after it is no older.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Hears of each table that comes into force.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.replaced.subscribe()
    }
}

impl Default for LiveRoutes {
    /// With no routes at all.
    fn default() -> Self {
        Self::new(RouteTable::default())
    }
}
