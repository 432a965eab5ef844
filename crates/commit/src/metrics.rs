//! Metrics: what the lanes count, and a snapshot of it for whoever publishes it.
//!
//! One [`CommitMetrics`] may be shared by several queues or belong to one. No metrics library is named here.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the batch sizes, in rows.
const BATCH_ROWS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Upper bounds of the waits, in microseconds.
const WAIT_MICROS: &[u64] =
    &[100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];
const MICROS_PER_SECOND: f64 = 1e6;

/// Counters of a queue. Handed in when it is started.
#[derive(Debug)]
pub struct CommitMetrics {
    turned_away: AtomicU64,
    poisoned: AtomicU64,
    refused: AtomicU64,
    lost: AtomicU64,
    busy: AtomicU64,
    batch_rows: Histogram,
    wait_micros: Histogram,
}

impl Default for CommitMetrics {
    fn default() -> Self {
        Self {
            turned_away: AtomicU64::new(0),
            poisoned: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            batch_rows: Histogram::new(BATCH_ROWS),
            wait_micros: Histogram::new(WAIT_MICROS),
        }
    }
}

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsSnapshot {
    /// Batches taken. A batch counts once, however often it was retried or halved.
    pub batches_total: u64,
    /// Rows in those batches.
    pub rows_total: u64,
    /// Ops turned away because the lane was full, or closed.
    pub turned_away_total: u64,
    /// Rows that failed alone.
    pub poisoned_total: u64,
    /// Batches that the store refused as a whole.
    pub refused_total: u64,
    /// Commits whose connection was lost.
    pub lost_total: u64,
    /// Commits that met contention.
    pub busy_total: u64,
    /// Rows per batch.
    pub batch_rows: HistogramSnapshot,
    /// Seconds from submission until the op was taken into a batch.
    pub wait_seconds: HistogramSnapshot,
}

/// A histogram at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramSnapshot {
    /// Upper bound and number of observations of each bucket, not cumulative; the last bound is `f64::MAX`.
    pub buckets: Vec<(f64, u64)>,
    /// The sum of all observations.
    pub sum: f64,
    /// The number of observations.
    pub count: u64,
}

impl CommitMetrics {
    /// Reads the counters. They are read one after the other, so they may differ by the op under way.
    pub fn snapshot(&self) -> MetricsSnapshot {
        let batch_rows = self.batch_rows.snapshot(1.0);
        MetricsSnapshot {
            batches_total: batch_rows.count,
            rows_total: self.batch_rows.sum.load(Relaxed),
            turned_away_total: self.turned_away.load(Relaxed),
            poisoned_total: self.poisoned.load(Relaxed),
            refused_total: self.refused.load(Relaxed),
            lost_total: self.lost.load(Relaxed),
            busy_total: self.busy.load(Relaxed),
            batch_rows,
            wait_seconds: self.wait_micros.snapshot(MICROS_PER_SECOND),
        }
    }

    pub(crate) fn batch_taken(&self, waits: impl ExactSizeIterator<Item = Duration>) {
        self.batch_rows.observe(u64::try_from(waits.len()).unwrap_or(u64::MAX));
        waits.for_each(|wait| {
            self.wait_micros.observe(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
        });
    }

    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Relaxed);
    }

    pub(crate) fn poisoned(&self) {
        self.poisoned.fetch_add(1, Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub(crate) fn lost(&self) {
        self.lost.fetch_add(1, Relaxed);
    }

    pub(crate) fn busy(&self) {
        self.busy.fetch_add(1, Relaxed);
    }
}

/// Whole-number observations in fixed buckets; the last bucket has no bound.
#[derive(Debug)]
struct Histogram {
    bounds: &'static [u64],
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    fn new(bounds: &'static [u64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, sum: AtomicU64::new(0) }
    }

    fn observe(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.buckets.get(bucket) {
            count.fetch_add(1, Relaxed);
        }
        self.sum.fetch_add(value, Relaxed);
    }

    fn snapshot(&self, unit: f64) -> HistogramSnapshot {
        let bounds = self.bounds.iter().map(|bound| approximate(*bound) / unit).chain([f64::MAX]);
        let buckets: Vec<_> =
            bounds.zip(self.buckets.iter()).map(|(bound, count)| (bound, count.load(Relaxed))).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        HistogramSnapshot { buckets, sum: approximate(self.sum.load(Relaxed)) / unit, count }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a metric is read by its leading digits")]
fn approximate(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_counts_in_the_first_bucket_whose_bound_holds_it() {
        let histogram = Histogram::new(&[1, 10]);
        for value in [1, 2, 10, 11] {
            histogram.observe(value);
        }
        let snapshot = histogram.snapshot(1.0);
        assert_eq!(snapshot.buckets, [(1.0, 1), (10.0, 2), (f64::MAX, 1)]);
        assert_eq!((snapshot.count, snapshot.sum), (4, 24.0));
    }

    #[test]
    fn waits_are_published_in_seconds() {
        let metrics = CommitMetrics::default();
        metrics.batch_taken([Duration::from_millis(250), Duration::from_millis(750)].into_iter());
        let snapshot = metrics.snapshot();
        assert_eq!((snapshot.batches_total, snapshot.rows_total), (1, 2));
        assert!((snapshot.wait_seconds.sum - 1.0).abs() < 1e-9);
    }
}
