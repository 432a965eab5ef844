//! Gauges and counters that belong to others and are read when asked for.

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// The name and value of a label.
pub(crate) type Label = (&'static str, String);

/// What a family of samples is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Gauge,
    Counter,
}

type Read = Box<dyn Fn() -> f64 + Send + Sync>;
type ReadAll = Box<dyn Fn() -> Vec<(Vec<Label>, f64)> + Send + Sync>;

/// All of them, by name: what is registered under one name is written as one family.
#[derive(Default)]
pub(super) struct SampledCollector(Mutex<BTreeMap<&'static str, Family>>);

struct Family {
    kind: Kind,
    help: &'static str,
    samples: Vec<Samples>,
}

enum Samples {
    One(Vec<Label>, Read),
    /// As many as there are when they are asked for.
    All(ReadAll),
}

impl SampledCollector {
    /// Adds a sample to the family of that name; the first to name it says what kind it is.
    pub(super) fn add(
        &self,
        kind: Kind,
        (name, help): (&'static str, &'static str),
        labels: Vec<Label>,
        read: Read,
    ) {
        self.push(kind, (name, help), Samples::One(labels, read));
    }

    /// Adds samples whose number and labels change.
    pub(super) fn add_all(&self, kind: Kind, (name, help): (&'static str, &'static str), read: ReadAll) {
        self.push(kind, (name, help), Samples::All(read));
    }

    fn push(&self, kind: Kind, (name, help): (&'static str, &'static str), samples: Samples) {
        let mut families = self.0.lock();
        let family = families.entry(name).or_insert_with(|| Family { kind, help, samples: Vec::new() });
        family.samples.push(samples);
    }
}

impl Collector for SampledCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, family) in self.0.lock().iter() {
            let kind = match family.kind {
                Kind::Gauge => MetricType::Gauge,
                Kind::Counter => MetricType::Counter,
            };
            let mut metric = encoder.encode_descriptor(name, family.help, None, kind)?;
            for samples in &family.samples {
                match samples {
                    Samples::One(labels, read) if labels.is_empty() => {
                        write(family.kind, &mut metric, read())?;
                    }
                    Samples::One(labels, read) => {
                        write(family.kind, &mut metric.encode_family(labels)?, read())?;
                    }
                    Samples::All(read) => {
                        for (labels, value) in read() {
                            write(family.kind, &mut metric.encode_family(&labels)?, value)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn write(kind: Kind, sample: &mut MetricEncoder<'_>, value: f64) -> Result<(), fmt::Error> {
    match kind {
        Kind::Gauge => sample.encode_gauge(&value),
        Kind::Counter => sample.encode_counter::<NoLabelSet, _, f64>(&value, None),
    }
}

impl fmt::Debug for SampledCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.lock().keys()).finish()
    }
}
