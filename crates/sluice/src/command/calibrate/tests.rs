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
        pool_memory_kib: 256 * 1024,
    }
}

/// Only the configured cost is not measured.
fn proposing(proposed: Option<Measured>) -> Calibrated {
    let configured = Configured { params: Argon2Params::default(), measured: None };
    Calibrated { measured: Vec::new(), configured, proposed }
}

#[test]
fn time_that_is_left_is_spent_on_passes() {
    let passes =
        |millis| with_more_passes(&measured(256, millis), limits(250, 1024, 2)).map(|params| params.passes());
    assert_eq!(passes(200), None);
    assert_eq!(passes(120), Some(2));
    assert_eq!(passes(1), Some(MOST_PASSES));
    let largest = with_more_passes(&measured(1024, 30), limits(250, 1024, 1)).unwrap();
    assert_eq!((largest.memory_kib(), largest.passes()), (1024 * 1024, 4), "more are 4 GiB");
}

/// What is proposed, and with how many passes it was tried, if a hash takes so many milliseconds with each number of passes.
fn calibrated(limits: Limits, millis: impl Fn(u32) -> u64) -> (Option<u32>, Vec<u32>) {
    let measure = |params: Argon2Params| {
        let one_hash = Duration::from_millis(millis(params.passes()));
        Ok(Measured { params, hashes_per_second: 8.0, one_hash })
    };
    let configured = Argon2Params::new(64 * 1024, 1, LANES).unwrap();
    let calibrated = calibrate(limits, configured, measure).unwrap();
    let tried = calibrated.measured.iter().map(|one| one.params.passes()).collect();
    (calibrated.proposed.map(|best| best.params.passes()), tried)
}

#[test]
fn passes_that_do_not_fit_are_followed_by_fewer() {
    let slower_than_one = |passes: u32| if passes == 1 { 54 } else { u64::from(passes) * 72 };
    assert_eq!(calibrated(limits(500, 64, 1), slower_than_one), (Some(6), vec![1, 1, 8, 6]));
    let ever_slower = |passes: u32| u64::from(passes * passes) * 30;
    assert_eq!(calibrated(limits(140, 64, 1), ever_slower), (Some(2), vec![1, 1, 4, 2]));
    let hardly_more = |passes: u32| 480 + u64::from(passes);
    assert_eq!(calibrated(limits(481, 64, 1), hardly_more), (Some(1), vec![1, 1]));
    let too_slow = |passes: u32| if passes == 1 { 53 } else { 283 };
    assert_eq!(calibrated(limits(180, 64, 1), too_slow), (Some(1), vec![1, 1, 3, 2]));
    assert_eq!(calibrated(limits(10, 64, 1), too_slow), (None, vec![1, 2]), "the least of all is tried once");
}

#[test]
fn the_memory_is_that_of_all_threads() {
    let fits = |threads| limits(250, 512, threads).has_memory_for(measured(128, 1).params);
    assert!(fits(4) && !fits(5));
}

#[test]
fn what_is_proposed_is_configuration() {
    let limits = limits(250, 1024, 1);
    let yaml = proposing(Some(measured(64, 100))).yaml(limits).unwrap();
    assert!(
        yaml.ends_with(
            "identity:\n  password_hash:\n    memory: 65536  # KiB\n    passes: 1\n    lanes: 4\n"
        ),
        "{yaml}"
    );
    assert!(proposing(None).yaml(limits).is_none());
}

#[test]
fn what_is_configured_is_measured_once_if_there_is_memory_for_it() {
    let configured = |mib: u32, passes: u32, limits: Limits| {
        let mut tried = Vec::new();
        let measure = |params: Argon2Params| {
            tried.push((params.memory_kib() / 1024, params.passes()));
            Ok(Measured { params, hashes_per_second: 8.0, one_hash: Duration::from_millis(300) })
        };
        let params = Argon2Params::new(mib * 1024, passes, LANES).unwrap();
        let calibrated = calibrate(limits, params, measure).unwrap();
        let (json, told) = (calibrated.configured.json(limits), calibrated.configured.told(limits));
        let tries = tried.iter().filter(|one| **one == (mib, passes)).count();
        (tries, json["one_hash_ms"].as_u64(), json["fits"].as_bool(), told)
    };
    let of_least = configured(46, 1, limits(250, 64, 1));
    assert_eq!(
        (of_least.0, of_least.1, of_least.2),
        (1, Some(300), Some(false)),
        "among those that are tried"
    );
    let other = configured(64, 3, limits(350, 64, 1));
    assert_eq!((other.0, other.1, other.2), (1, Some(300), Some(true)));
    assert_eq!(other.3, "memory 65536 KiB, passes 3, lanes 4: 300 ms, 8.0 hashes/s, fits");
    let too_large = configured(128, 1, limits(250, 64, 1));
    assert_eq!((too_large.0, too_large.1, too_large.2), (0, None, Some(false)));
    assert!(too_large.3.ends_with("need more than --max-memory for it"), "{}", too_large.3);
}

#[test]
fn the_memory_of_the_pool_is_proposed_where_it_is_configured_with_less() {
    let proposed = |pool_mib: u32| {
        let limits = Limits { pool_memory_kib: pool_mib * 1024, ..limits(250, 1024, 1) };
        proposing(Some(measured(64, 100))).yaml(limits).unwrap().contains("max_memory: 65536")
    };
    assert!(proposed(32) && !proposed(64) && !proposed(512));
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
        let limits = limits(250, 1024, 1);
        let calibrated = proposing(Some(best));
        let expected = (best.params, pool_mib * 1024);
        assert_eq!(loaded(&calibrated.yaml(limits).unwrap()), expected, "{mib}");
        assert_eq!(loaded(&configuration(&best, limits).to_string()), expected, "{mib}");
    }
}

#[test]
fn a_measurement_counts_all_threads() {
    let params = Argon2Params::new(64, 1, 1).unwrap();
    let measured = measure(params, NonZeroUsize::new(2).unwrap(), Duration::from_millis(1)).unwrap();
    assert!(measured.hashes_per_second > 0.0 && measured.one_hash > Duration::ZERO);
}
