//! A run that never was, for tests.

use std::collections::BTreeMap;

use super::{Latency, Memory, RunReport, SecondReport};

fn named(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Logins on PostgreSQL, of which one failed.
pub(crate) fn report() -> RunReport {
    let second = |operations, p50_ms, p99_ms| SecondReport { operations, errors: 0, p50_ms, p99_ms };
    RunReport {
        scenario: "login".to_owned(),
        label: "login (ES256)".to_owned(),
        operations: 71_800,
        errors: 1,
        errors_by_kind: BTreeMap::from([("token: status 500".to_owned(), 1)]),
        ops_per_second: 7_180.0,
        elapsed_s: 10.0,
        latency_ms: Latency {
            min: 4.1,
            mean: 35.4,
            p10: 24.0,
            p25: 29.0,
            p50: 34.0,
            p75: 40.0,
            p90: 48.0,
            p95: 55.0,
            p99: 71.0,
            p999: 90.0,
            max: 104.1,
        },
        half_of_knee: None,
        server_cpu_us: Some(130.0),
        postgres_cpu_us: Some(24.0),
        cpu_us: Some(154.0),
        driver_cpu_us: 78.0,
        floor_cpu_us: Some(8.4),
        hyper_floor_cpu_us: Some(8.6),
        nginx_floor_cpu_us: Some(8.4),
        floors: Some(18.3),
        statements: Some(0.052),
        commits: Some(0.021),
        rows_written: Some(2.0),
        wal_bytes: Some(611.0),
        seconds: vec![second(7_150, 34.0, 70.0), second(7_210, 33.5, 72.0), second(7_190, 34.2, 71.0)],
        histogram: vec![(24.1, 7_180), (44.1, 50_260), (64.1, 12_206), (84.1, 2_010), (104.1, 144)],
        percentiles: vec![(0.0, 4.1), (50.0, 34.0), (90.0, 48.0), (99.0, 71.0), (99.9, 90.0), (100.0, 104.1)],
        settings: named(&[
            ("connections", "256"),
            ("pace", "closed loop: a user begins when its last operation has ended"),
        ]),
        machine: named(&[("processor", "2 × <any>"), ("PostgreSQL", "15.18")]),
        at_rest: None,
        build: None,
        server_memory: Some(Memory { resident: 64 << 20, peak: 70 << 20, of_run: true }),
        limited_by: "CPU; 1.90 of 2 cores in use: server 1.10, PostgreSQL 0.20, driver 0.60".to_owned(),
        profile: None,
    }
}
