//! `sluice bench crash`.

use super::{bench, report};

const SHORT: &[&str] = &["--rounds", "1", "--within", "500ms", "-c", "8"];

#[test]
fn nobody_who_registered_is_lost_when_the_server_is_killed() {
    let report = report(&[&["crash", "register"], SHORT].concat());
    let people = &report["promises"][0];
    assert_eq!(people["what"], "people registered");
    assert!(people["promised"].as_u64().is_some_and(|promised| promised > 0), "{report}");
    assert_eq!((people["lost"].as_u64(), people["twice"].as_u64()), (Some(0), Some(0)));
    assert_eq!(report["rounds"], 1);
}

#[test]
fn no_code_works_twice_when_server_and_database_are_killed() {
    let report = report(&[&["crash", "login", "--kill", "both"], SHORT].concat());
    let codes = &report["promises"][0];
    assert_eq!(codes["what"], "codes redeemed");
    assert!(codes["promised"].as_u64().is_some_and(|promised| promised > 0), "{report}");
    assert_eq!((codes["lost"].as_u64(), codes["twice"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn a_database_of_somebody_else_is_not_killed() {
    let ended = bench(&["crash", "register", "--kill", "postgres", "--dsn", "sqlite:"]);
    assert!(!ended.success);
    assert!(ended.stderr.contains("only a private PostgreSQL can be killed"), "{}", ended.stderr);
}
