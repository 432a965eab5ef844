//! Queues: what the group-commit queues have in common, and which connections each goes over. [`lookups`]: those of reads.

mod lookups;

use std::num::NonZeroUsize;
use std::sync::Arc;

use sluice_commit::{CommitMetrics, Config, Queue, Writer};

use crate::grant::Hot;

pub(crate) use lookups::{Columns, Look, Lookups, Wanted, ids, ids_and_times};

/// More readers than this for each lane are of no use: statements are pipelined.
pub(crate) const READERS_PER_LANE: usize = 2;
/// Writes of one kind go over every other lane: the more rows share a statement, the less each costs, and one lane writes
/// what two cores receive.
const LANES_PER_WRITER: usize = 2;

/// What the queues have in common.
pub(crate) struct Queues<'a> {
    /// Connections for hot writes.
    pub(crate) lanes: &'a [Arc<Hot>],
    /// How many writes may wait per lane.
    pub(crate) depth: NonZeroUsize,
    /// How many share a statement at most.
    pub(crate) batch: NonZeroUsize,
    /// What they count.
    pub(crate) metrics: &'a Arc<CommitMetrics>,
}

impl Queues<'_> {
    /// A queue that writes over every other lane, from the one at `first`.
    pub(crate) fn start<W: Writer>(&self, first: usize, writer: impl Fn(Arc<Hot>) -> W) -> Queue<W> {
        self.start_with(first, writer, self.config())
    }

    /// The same of writes that are nearly all that their requests do: with those that are ready to submit let go first, the database would
    /// wait for a part of a core, and a core for the database.
    pub(crate) fn start_eager<W: Writer>(&self, first: usize, writer: impl Fn(Arc<Hot>) -> W) -> Queue<W> {
        self.start_with(first, writer, Config { gathers: false, ..self.config() })
    }

    fn start_with<W: Writer>(
        &self,
        first: usize,
        writer: impl Fn(Arc<Hot>) -> W,
        config: Config,
    ) -> Queue<W> {
        let own = self.lanes.iter().skip(first % self.lanes.len().max(1)).step_by(LANES_PER_WRITER);
        Queue::start(own.cloned().map(writer).collect(), config, self.metrics.clone())
    }

    fn config(&self) -> Config {
        Config { max_batch: self.batch, depth: self.depth, ..Config::default() }
    }
}
