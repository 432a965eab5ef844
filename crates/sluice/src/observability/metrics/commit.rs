//! The group commit: how much one commit carries, and how long it was waited for.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use sluice_commit::{CommitMetrics, HistogramSnapshot, MetricsSnapshot};

type Histogram = (&'static str, &'static str, fn(&MetricsSnapshot) -> &HistogramSnapshot);
type Counter = (&'static str, &'static str, fn(&MetricsSnapshot) -> u64);

const HISTOGRAMS: &[Histogram] = &[
    ("sluice_commit_batch_rows", "Rows that one commit carried", |snapshot| &snapshot.batch_rows),
    ("sluice_commit_wait_seconds", "From submission until a row was taken into a batch", |snapshot| {
        &snapshot.wait_seconds
    }),
];

const COUNTERS: &[Counter] = &[
    ("sluice_commit_turned_away", "Rows turned away because the queue was full", |snapshot| {
        snapshot.turned_away_total
    }),
    ("sluice_commit_poisoned", "Rows that failed alone", |snapshot| snapshot.poisoned_total),
    ("sluice_commit_refused", "Batches that the store refused as a whole", |snapshot| snapshot.refused_total),
    ("sluice_commit_lost", "Commits whose connection was lost", |snapshot| snapshot.lost_total),
    ("sluice_commit_busy", "Commits that met contention", |snapshot| snapshot.busy_total),
];

/// The queues, by the kind of write.
#[derive(Default)]
pub(super) struct CommitCollector(Mutex<Vec<(&'static str, Arc<CommitMetrics>)>>);

impl CommitCollector {
    pub(super) fn add(&self, kind: &'static str, metrics: Arc<CommitMetrics>) {
        self.0.lock().push((kind, metrics));
    }
}

impl Collector for CommitCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let kinds: Vec<_> = self.0.lock().iter().map(|(kind, metrics)| (*kind, metrics.snapshot())).collect();
        if kinds.is_empty() {
            return Ok(());
        }
        for (name, help, read) in HISTOGRAMS {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
            for (kind, snapshot) in &kinds {
                let histogram = read(snapshot);
                let labels = [("kind", *kind)];
                let mut sample = metric.encode_family(&labels)?;
                let buckets: Vec<_> = histogram.buckets.iter().map(as_written).collect();
                sample.encode_histogram::<NoLabelSet>(histogram.sum, histogram.count, &buckets, None)?;
            }
        }
        for (name, help, read) in COUNTERS {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (kind, snapshot) in &kinds {
                let labels = [("kind", *kind)];
                let mut sample = metric.encode_family(&labels)?;
                sample.encode_counter::<NoLabelSet, _, f64>(&read(snapshot), None)?;
            }
        }
        Ok(())
    }
}

/// The bound of the last bucket is written as `+Inf`.
fn as_written((bound, count): &(f64, u64)) -> (f64, u64) {
    (if *bound >= f64::MAX { f64::INFINITY } else { *bound }, *count)
}

impl fmt::Debug for CommitCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.lock().iter().map(|(kind, _)| kind)).finish()
    }
}
