//! What is looked at every few seconds.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::account::{Accountant, Costs, Snapshot, Storage};
use crate::driver::{Observer, Second};
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::number::as_f64;
use crate::target::Target;

const MIB: f64 = 1024.0 * 1024.0;

/// What happened since the sample before, and what is there now.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sample {
    /// Seconds since the beginning.
    pub at_s: f64,
    /// Logins that ended well.
    pub operations: u64,
    /// Logins that did not.
    pub errors: u64,
    /// Median of the medians of its seconds, in milliseconds.
    pub p50_ms: Option<f64>,
    /// The highest 99th percentile of its seconds.
    pub p99_ms: Option<f64>,
    /// Resident memory of the server in bytes.
    pub resident: Option<u64>,
    /// Tables and indexes on disk, in bytes.
    pub bytes: Option<u64>,
    /// Rows of all tables.
    pub rows: Option<u64>,
    /// Write-ahead log, in bytes.
    pub wal_bytes: Option<u64>,
    /// CPU of the server, in cores.
    pub server_cores: Option<f64>,
    /// CPU of PostgreSQL, in cores.
    pub postgres_cores: Option<f64>,
}

impl Sample {
    pub(super) fn heading() -> String {
        format!(
            "{:>7} {:>8} {:>7} {:>8} {:>9} {:>8} {:>10} {:>9} {:>9} {:>7} {:>8}\n",
            "s",
            "logins",
            "errors",
            "p50 ms",
            "p99 ms",
            "RSS MiB",
            "rows",
            "disk MiB",
            "WAL MiB",
            "server",
            "postgres"
        )
    }

    pub(super) fn line(&self) -> String {
        let mebibytes = |bytes: Option<u64>| shown(bytes.map(|bytes| as_f64(bytes) / MIB), 1);
        let rows = self.rows.map_or_else(|| "–".to_owned(), |rows| rows.to_string());
        format!(
            "{:>7.0} {:>8} {:>7} {:>8} {:>9} {:>8} {rows:>10} {:>9} {:>9} {:>7} {:>8}\n",
            self.at_s,
            self.operations,
            self.errors,
            shown(self.p50_ms, 2),
            shown(self.p99_ms, 2),
            mebibytes(self.resident),
            mebibytes(self.bytes),
            mebibytes(self.wal_bytes),
            shown(self.server_cores, 3),
            shown(self.postgres_cores, 3),
        )
    }
}

fn shown(number: Option<f64>, decimals: usize) -> String {
    number.map_or_else(|| "–".to_owned(), |number| format!("{number:.decimals$}"))
}

/// The seconds that nobody has looked at yet.
pub(super) struct Watch<'a> {
    seconds: RefCell<Vec<Second>>,
    interrupt: &'a Interrupt,
}

impl Observer for Watch<'_> {
    fn second(&self, second: &Second) {
        self.seconds.borrow_mut().push(*second);
    }

    fn has_enough(&self) -> bool {
        self.interrupt.is_requested()
    }
}

/// Takes samples.
pub(super) struct Sampler<'a> {
    target: &'a Target,
    accountant: &'a Accountant,
    watch: Rc<Watch<'a>>,
    began: Instant,
    last: (Instant, Snapshot),
    before: Storage,
    samples: Vec<Sample>,
}

impl<'a> Sampler<'a> {
    /// From now on.
    pub(super) async fn new(
        target: &'a Target,
        accountant: &'a Accountant,
        interrupt: &'a Interrupt,
    ) -> Result<Self, BenchError> {
        let before = Storage::of(accountant, target.dsn()).await?;
        let (snapshot, began) = (accountant.snapshot().await?, Instant::now());
        let watch = Rc::new(Watch { seconds: RefCell::default(), interrupt });
        Ok(Self { target, accountant, watch, began, last: (began, snapshot), before, samples: Vec::new() })
    }

    /// Who collects what users meet meanwhile.
    pub(super) fn watch(&self) -> Rc<Watch<'a>> {
        Rc::clone(&self.watch)
    }

    /// Takes one, and tells it.
    pub(super) async fn look(&mut self) -> Result<(), BenchError> {
        let (now, snapshot) = (Instant::now(), self.accountant.snapshot().await?);
        let costs = snapshot.since(&self.last.1);
        let took = now.duration_since(self.last.0);
        let storage = Storage::of(self.accountant, self.target.dsn()).await?;
        let seconds = self.watch.seconds.take();
        let sample = Sample {
            at_s: now.duration_since(self.began).as_secs_f64(),
            resident: self.target.memory().map(|memory| memory.resident),
            ..sample(&seconds, &costs, took, storage)
        };
        if self.samples.is_empty() {
            eprint!("{}", Sample::heading());
        }
        eprint!("{}", sample.line());
        self.samples.push(sample);
        // The storage is looked at between two snapshots: what that takes is left out of both.
        self.last = (now, snapshot);
        self.target.empty_log();
        Ok(())
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// What was stored before the first login.
    pub(super) const fn before(&self) -> Storage {
        self.before
    }

    /// Whether no more rows are there than before the first login.
    pub(super) fn is_back(&self) -> bool {
        let now = self.samples.last().and_then(|sample| sample.rows);
        now.zip(self.before.rows).is_none_or(|(now, before)| now <= before)
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.watch.has_enough()
    }
}

fn sample(seconds: &[Second], costs: &Costs, took: Duration, storage: Storage) -> Sample {
    let mut medians: Vec<_> =
        seconds.iter().filter(|second| second.operations > 0).map(|second| second.p50_us).collect();
    medians.sort_unstable();
    let worst = seconds.iter().filter(|second| second.operations > 0).map(|second| second.p99_us).max();
    let cores = |cpu: Option<Duration>| cpu.map(|cpu| cpu.as_secs_f64() / took.as_secs_f64());
    Sample {
        at_s: 0.0,
        operations: seconds.iter().map(|second| second.operations).sum(),
        errors: seconds.iter().map(|second| second.errors).sum(),
        p50_ms: medians.get(medians.len() / 2).map(|micros| as_f64(*micros) / 1e3),
        p99_ms: worst.map(|micros| as_f64(micros) / 1e3),
        resident: None,
        bytes: storage.bytes,
        rows: storage.rows,
        wal_bytes: costs.wal_bytes,
        server_cores: cores(costs.server_cpu),
        postgres_cores: cores(costs.postgres_cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_median_of_its_seconds_and_their_worst() {
        let second = |p50_us, p99_us| Second { operations: 10, errors: 1, p50_us, p99_us };
        let seconds = [second(3000, 9000), second(1000, 50_000), second(2000, 8000), Second::default()];
        let costs = Costs { server_cpu: Some(Duration::from_secs(2)), ..Costs::default() };
        let sample = sample(&seconds, &costs, Duration::from_secs(4), Storage::default());
        assert_eq!((sample.operations, sample.errors), (30, 3));
        assert_eq!((sample.p50_ms, sample.p99_ms), (Some(2.0), Some(50.0)));
        assert_eq!(sample.server_cores, Some(0.5));
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        let line = Sample::default().line();
        assert_eq!(line.matches('–').count(), 8, "{line}");
        assert_eq!(line.chars().count(), Sample::heading().chars().count());
    }
}
