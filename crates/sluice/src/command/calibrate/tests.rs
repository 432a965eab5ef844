use super::*;
use crate::config::{Mode, Sources, load};

fn measured(mib: u32, millis: u64) -> Measured {
    let params = Argon2Params::new(mib * 1024, 1, LANES).unwrap();
    Measured { params, hashes_per_second: 8.0, one_hash: Duration::from_millis(millis) }
}

fn limits(target_ms: u64, memory_mib: u32, threads: usize) -> Limits {
    Limits {
        target: Duration::from_millis(target_ms),
        memory_kib: memory_mib * 1024,
        threads: NonZeroUsize::new(threads).unwrap(),
    }
}

#[test]
fn time_that_is_left_is_spent_on_passes() {
    let passes =
        |millis| with_more_passes(&measured(256, millis), limits(250, 1024, 2)).map(|params| params.passes());
    assert_eq!(passes(200), None);
    assert_eq!(passes(120), Some(2));
    assert_eq!(passes(1), Some(MOST_PASSES));
}

#[test]
fn the_memory_is_that_of_all_threads() {
    let fits = |threads| limits(250, 512, threads).has_memory_for(measured(128, 1).params);
    assert!(fits(4) && !fits(5));
}

#[test]
fn what_is_proposed_is_configuration() {
    let calibrated = Calibrated { measured: Vec::new(), proposed: Some(measured(64, 100)) };
    let yaml = calibrated.yaml().unwrap();
    assert!(
        yaml.ends_with(
            "identity:\n  password_hash:\n    memory: 65536  # KiB\n    passes: 1\n    lanes: 4\n"
        ),
        "{yaml}"
    );
    assert!(Calibrated { measured: Vec::new(), proposed: None }.yaml().is_none());
}

/// What a hash costs, and what it may, in a configuration of this text.
fn loaded(text: &str) -> (Argon2Params, u32) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sluice.yml");
    std::fs::write(&file, text).unwrap();
    let sources = Sources {
        files: vec![file],
        environment: Vec::new(),
        overrides: Vec::new(),
        mode: Mode::Development,
        data_dir: directory.path().to_owned(),
    };
    let identity = load(&sources).unwrap_or_else(|error| panic!("{error}")).settings.identity;
    (identity.password_hash.params, identity.hash_pool.max_memory_kib)
}

#[test]
fn whatever_is_proposed_loads_as_configuration() {
    for (mib, pool_mib) in MEMORY_MIB.map(|mib| (mib, mib.max(256))) {
        let best = measured(mib, 100);
        let calibrated = Calibrated { measured: Vec::new(), proposed: Some(best) };
        let expected = (best.params, pool_mib * 1024);
        assert_eq!(loaded(&calibrated.yaml().unwrap()), expected, "{mib}");
        assert_eq!(loaded(&configuration(&best).to_string()), expected, "{mib}");
    }
}

#[test]
fn a_measurement_counts_all_threads() {
    let params = Argon2Params::new(64, 1, 1).unwrap();
    let measured = measure(params, NonZeroUsize::new(2).unwrap(), Duration::from_millis(1)).unwrap();
    assert!(measured.hashes_per_second > 0.0 && measured.one_hash > Duration::ZERO);
}
