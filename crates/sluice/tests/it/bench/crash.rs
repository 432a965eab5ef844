//! `sluice bench crash`. With `SOAK_SECONDS` in the environment (`make soak`) every scenario is killed many times.

use std::sync::Mutex;
use std::thread;

use clap::ValueEnum;
use serde_json::Value;
use sluice_bench::crash::Meanwhile;
use sluice_testkit::PrivateCluster;
use sluice_testkit::postgres::TemporaryDatabase;

use super::{bench, report, setting};
use crate::program::run;

const SHORT: &[&str] = &["--rounds", "1", "--within", "500ms", "-c", "8"];
/// Runs at once: each waits for programs that start most of the time.
const LANES: usize = 4;
/// What is done while the database is killed, with its options, and what must be kept of it.
const WHILE_THE_DATABASE_IS_KILLED: [(&[&str], &str); 8] = [
    (&["register"], "people registered"),
    (&["refresh"], "chains of rotated refresh tokens"),
    (&["revoke"], "tokens revoked"),
    (&["create-client"], "clients made"),
    (&["client-credentials"], "tokens left alone"),
    (&["client-credentials", "--token", "jwt"], "tokens left alone"),
    (&["introspect"], "answers as before"),
    (&["get-client"], "answers as before"),
];

#[test]
fn nobody_who_registered_is_lost_when_the_server_is_killed() {
    let report = report(&[&["crash", "register"], SHORT].concat());
    let people = &report["promises"][0];
    assert_eq!(people["what"], "people registered");
    assert!(people["promised"].as_u64().is_some_and(|promised| promised > 0), "{report}");
    assert_eq!((people["lost"].as_u64(), people["twice"].as_u64()), (Some(0), Some(0)));
    assert_eq!(report["rounds"], 1);
    assert!(setting(&report, "date").ends_with(" UTC"), "{report}");
    assert!(setting(&report, "command").contains("crash register"), "{report}");
}

#[test]
fn no_code_works_twice_when_server_and_database_are_killed() {
    let report = report(&[&["crash", "login", "--kill", "both"], SHORT].concat());
    let codes = &report["promises"][0];
    assert_eq!(codes["what"], "codes redeemed");
    assert!(codes["promised"].as_u64().is_some_and(|promised| promised > 0), "{report}");
    assert_eq!((codes["lost"].as_u64(), codes["twice"].as_u64()), (Some(0), Some(0)));
}

/// Whoever tries a code again is the one who got it: people take turns at the users, and each has a verifier of their own.
#[test]
fn no_code_of_a_login_with_a_password_works_twice() {
    let report = report(&[&["crash", "login-password"], SHORT].concat());
    assert_eq!(report["scenario"], "login-password");
    let codes = &report["promises"][0];
    assert_eq!(codes["what"], "codes redeemed");
    assert!(codes["promised"].as_u64().is_some_and(|promised| promised > 0), "{report}");
    assert_eq!((codes["lost"].as_u64(), codes["twice"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn nobody_who_registered_is_lost_or_locked_out_while_passwords_are_hardened() {
    let report = report(&[&["crash", "register+harden"], SHORT].concat());
    for (place, what) in ["people registered", "people of a sample who log in"].into_iter().enumerate() {
        let people = &report["promises"][place];
        assert_eq!(people["what"], what);
        assert!(people["promised"].as_u64().is_some_and(|promised| promised > 0), "{report}");
        assert_eq!((people["lost"].as_u64(), people["twice"].as_u64()), (Some(0), Some(0)));
    }
}

#[test]
fn what_was_revoked_does_not_hold_and_what_was_left_alone_does() {
    let report = report(&[&["crash", "revoke"], SHORT].concat());
    for (place, what) in ["tokens revoked", "tokens left alone"].into_iter().enumerate() {
        let tokens = &report["promises"][place];
        assert_eq!(tokens["what"], what);
        assert!(tokens["promised"].as_u64().is_some_and(|promised| promised > 0), "{report}");
        assert_eq!(tokens["lost"].as_u64(), Some(0), "{report}");
    }
}

#[test]
fn no_refresh_token_works_twice_and_the_newest_of_each_chain_works() {
    let report = report(&[&["crash", "refresh"], SHORT].concat());
    is_kept(&report, "chains of rotated refresh tokens");
}

#[test]
fn no_client_that_was_made_is_lost() {
    let report = report(&[&["crash", "create-client"], SHORT].concat());
    is_kept(&report, "clients made");
}

#[test]
fn no_token_that_a_client_was_given_is_lost() {
    let report = report(&[&["crash", "client-credentials"], SHORT].concat());
    is_kept(&report, "tokens left alone");
}

#[test]
fn a_mix_keeps_what_each_of_its_parts_has_promised() {
    let report = report(&[&["crash", "mix", "--dsn", "sqlite:"], SHORT].concat());
    for what in ["people registered", "codes redeemed", "chains of rotated refresh tokens"] {
        is_kept(&report, what);
    }
}

/// Each waits for a server most of the time.
#[test]
fn what_was_there_before_is_read_as_before_when_the_server_was_killed() {
    thread::scope(|scope| {
        for name in ["userinfo", "list-clients", "gateway"] {
            scope.spawn(move || {
                let report = report(&[&["crash", name, "--dsn", "sqlite:"], SHORT].concat());
                is_kept(&report, "answers as before");
            });
        }
    });
}

#[test]
fn nobody_who_registered_on_sqlite_is_lost_when_the_server_is_killed() {
    let report = report(&[&["crash", "register", "--dsn", "sqlite:"], SHORT].concat());
    is_kept(&report, "people registered");
}

fn is_kept(report: &Value, what: &str) {
    let promises = report["promises"].as_array().expect("promises");
    let kept = promises.iter().find(|kept| kept["what"] == what).unwrap_or_else(|| panic!("{report}"));
    assert!(kept["promised"].as_u64().is_some_and(|promised| promised > 0), "{report}");
    assert_eq!((kept["lost"].as_u64(), kept["twice"].as_u64()), (Some(0), Some(0)), "{report}");
    assert_eq!(report["rounds"], 1);
}

#[test]
fn what_was_answered_is_kept_when_the_database_is_killed() {
    match std::env::var("SOAK_SECONDS") {
        Ok(seconds) => every_scenario_is_killed(seconds.parse().expect("SOAK_SECONDS is a number")),
        Err(_) => the_database_is_killed_once_in_each(),
    }
}

fn the_database_is_killed_once_in_each() {
    let left = Mutex::new(WHILE_THE_DATABASE_IS_KILLED.iter());
    let next = || left.lock().expect("no run panics while it is locked").next();
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some((scenario, what)) = next() {
                    let report = report(&[&["crash"], *scenario, &["--kill", "postgres"], SHORT].concat());
                    assert_eq!(report["kill"], "postgres");
                    is_kept(&report, what);
                }
            });
        }
    });
}

/// Server and database at once, one scenario after the other, each ten times where the other fault tests have ten minutes.
fn every_scenario_is_killed(seconds: u64) {
    let rounds = (seconds / 60).clamp(3, 60).to_string();
    for scenario in Meanwhile::value_variants() {
        let scenario = scenario.to_possible_value().expect("all can be named");
        let name = scenario.get_name();
        let often = ["--kill", "both", "--rounds", &rounds, "--within", "2s", "-c", "16"];
        let report = report(&[&["crash", name], &often[..]].concat());
        println!("{name}, killed {} times: {}", report["rounds"], report["promises"]);
        assert_eq!(report["rounds"].to_string(), rounds, "{report}");
        let promises = report["promises"].as_array().expect("promises");
        assert!(promises.iter().any(|kept| kept["promised"].as_u64() > Some(0)), "{report}");
        assert!(promises.iter().all(|kept| kept["lost"] == 0 && kept["twice"] == 0), "{report}");
    }
}

#[test]
fn tokens_have_a_format_only_where_there_are_some() {
    let ended = bench(&["crash", "register", "--token", "jwt"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("register has no --token"), "{}", ended.stderr);
}

#[test]
fn a_database_of_somebody_else_is_not_killed() {
    let ended = bench(&["crash", "register", "--kill", "postgres", "--dsn", "sqlite:"]);
    assert!(!ended.success);
    assert!(ended.stderr.contains("only a private PostgreSQL can be killed"), "{}", ended.stderr);
}

/// A database that does not keep what it confirms: the server believes it, and the answer is wrong.
async fn report_on_a_database_that(forgets: &str, scenario: &str) -> Value {
    let cluster = PrivateCluster::shared().await;
    let database = TemporaryDatabase::of(cluster).await;
    let migrated = run(&["migrate", "sql", "up", database.dsn(), "--yes"], &[]);
    assert!(migrated.success, "{}", migrated.stderr);
    cluster.execute(database.name(), forgets).await;
    let ended = bench(&[&["crash", scenario, "--dsn", database.dsn(), "--json"], SHORT].concat());
    assert!(!ended.success && ended.stderr.contains("did not keep what it promised"), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

/// The first promise: how many were made, lost and kept twice, and an example.
fn broken(report: &Value) -> (&str, [u64; 3], &str) {
    let first = &report["promises"][0];
    let numbers = ["promised", "lost", "twice"].map(|name| first[name].as_u64().expect("a number"));
    (first["what"].as_str().expect("a name"), numbers, first["examples"][0].as_str().expect("an example"))
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_is_told_to_be_registered_and_is_not_written_is_found_to_be_lost() {
    // Every second one.
    let forgets = "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
        CREATE TRIGGER forget BEFORE INSERT ON identity FOR EACH ROW \
        WHEN (right(NEW.identity_id::text, 1) < '8') EXECUTE FUNCTION forget()";
    let report = report_on_a_database_that(forgets, "register").await;
    let (what, [promised, lost, twice], example) = broken(&report);
    assert_eq!((what, twice), ("people registered", 0), "{report}");
    assert!(0 < lost && lost < promised, "{report}");
    assert!(example.starts_with("lost: "), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_whose_redemption_is_forgotten_is_found_to_work_twice() {
    // Of every second code, with the first refresh: who looks refreshes first.
    let forgets = "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN NEW.redeemed_at := NULL; RETURN NEW; END'; \
        CREATE TRIGGER forget BEFORE UPDATE ON oauth_grant FOR EACH ROW \
        WHEN (NEW.generation > 0 AND right(NEW.grant_id::text, 1) < '8') EXECUTE FUNCTION forget()";
    let report = report_on_a_database_that(forgets, "login").await;
    let (what, [promised, lost, twice], example) = broken(&report);
    assert_eq!((what, lost), ("codes redeemed", 0), "{report}");
    assert!(0 < twice && twice < promised, "{report}");
    assert!(example.starts_with("twice: "), "{report}");
}
