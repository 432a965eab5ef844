//! `sluice calibrate`: what it measures on this machine, and that its proposal is configuration.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Ended, run};

/// The least that is tried with one pass, in KiB.
const LEAST: u64 = 46 * 1024;

/// With one thread that has this much memory, and with all the time there may be.
fn calibrate(memory: &str, format: &str) -> Ended {
    let limits = ["--target-ms", "10000", "--max-memory", memory, "--threads", "1"];
    run(&[&["calibrate", "--format", format], &limits[..]].concat(), &[])
}

#[test]
fn what_is_proposed_was_measured_and_is_taken_as_configuration() {
    let ended = calibrate("46MiB", "json");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
    let limits = ["threads", "target_ms", "max_memory_kib"].map(|name| said[name].as_u64());
    assert_eq!(limits, [Some(1), Some(10_000), Some(LEAST)]);
    let measured = said["measured"].as_array().unwrap();
    assert_eq!(measured.len(), 2, "with one pass, then with as many as there is time for: {said}");
    for one in measured {
        assert_eq!((&one["memory"], &one["lanes"], &one["fits"]), (&json!(LEAST), &json!(4), &json!(true)));
        let rate = one["hashes_per_second"].as_str().unwrap().parse::<f64>().unwrap();
        assert!(one["one_hash_ms"].as_u64().is_some_and(|millis| millis > 0) && rate > 0.0, "{one}");
    }
    let (hash, best) = (&said["proposed"]["identity"]["password_hash"], &measured[1]);
    for field in ["memory", "passes", "lanes"] {
        assert_eq!(hash[field], best[field], "{field}");
    }
    assert!(hash["passes"].as_u64().is_some_and(|passes| passes > 1), "{hash}");
    for rate in ["logins_per_second", "hardenings_per_second"] {
        assert_eq!(said[rate], best["hashes_per_second"], "{rate}");
    }
    is_configuration(&said["proposed"]);
}

/// A configuration with this in it is in force.
fn is_configuration(proposed: &Value) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("proposed.yaml");
    fs::write(&file, proposed.to_string()).unwrap();
    let required = [
        ("DSN", "memory"),
        ("SECRETS_SYSTEM", "a-secret-that-is-long-enough"),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
    ];
    let shown = run(&["config", "show", "-c", file.to_str().unwrap()], &required);
    assert!(shown.success && !shown.stderr.contains("identity."), "{}", shown.stderr);
    for (field, value) in proposed["identity"]["password_hash"].as_object().unwrap() {
        let is_it = |line: &str| line.trim_start().starts_with(&format!("{field}: {value}  # "));
        assert!(shown.stdout.lines().any(is_it), "{field}: {value} in {}", shown.stdout);
    }
}

#[test]
fn where_not_even_the_least_fits_nothing_is_proposed() {
    let ended = calibrate("1MiB", "json");
    let said: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
    assert_eq!((ended.code, &said["measured"], &said["proposed"]), (Some(1), &json!([]), &Value::Null));
    let ended = calibrate("1MiB", "table");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stdout.contains("nothing: even the least that is recommended does not fit"),
        "{}",
        ended.stdout
    );
    assert!(!ended.stdout.contains("password_hash"), "{}", ended.stdout);
}

/// From a file and from the environment, without a database or secrets.
#[test]
fn what_is_configured_is_said_beside_what_is_proposed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sluice.yml");
    let hashing =
        "{password_hash: {memory: 1024, passes: 2, lanes: 1}, hash_pool: {threads: 1, max_memory: 47104}}";
    fs::write(&file, format!("identity: {hashing}\n")).unwrap();
    let limits = ["--target-ms", "10000", "--max-memory", "46MiB", "-c", file.to_str().unwrap()];
    let ended = run(
        &[&["calibrate", "--format", "json"], &limits[..]].concat(),
        &[("IDENTITY_PASSWORD_HASH_PASSES", "3")],
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
    let configured = &said["configured"];
    let costs = ["memory", "passes", "lanes"].map(|name| configured[name].as_u64());
    assert_eq!(costs, [Some(1024), Some(3), Some(1)], "{said}");
    assert!(configured["one_hash_ms"].is_u64() && configured["fits"] == json!(true), "{said}");
    assert_eq!(said["threads"], json!(1), "those of the pool");
    assert_eq!(said["proposed"]["identity"]["hash_pool"], Value::Null, "it has enough");
}

#[test]
fn what_cannot_be_configured_is_refused_before_anything_is_measured() {
    let ended = run(&["calibrate", "--set", "identity.password_hash.memory=1"], &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("identity.password_hash.memory"), "{}", ended.stderr);
}
