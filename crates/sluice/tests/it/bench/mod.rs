//! `sluice bench`: the program measures another process of itself.
//!
//! [`scenarios`]: all that can be run. [`crash`], [`endurance`], [`growth`], [`compare`]: what is more than a run. [`profile`]: what is
//! looked at during one. [`interrupt`]: what is told to end.

mod compare;
mod crash;
mod endurance;
mod growth;
mod interrupt;
mod profile;
mod scenarios;

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::Value;
use sluice_testkit::postgres::TemporaryDatabase;
use sluice_testkit::{Backend, PrivateCluster};
use tokio::task::block_in_place;
use tokio_postgres::NoTls;

use crate::process::Site;
use crate::program::{Ended, run};

/// It starts programs, so that it has to find them.
fn environment() -> [(&'static str, String); 2] {
    let path = std::env::var("PATH").expect("a PATH");
    [("PATH", path), ("TMPDIR", std::env::temp_dir().display().to_string())]
}

/// The benchmark with these arguments.
fn bench(arguments: &[&str]) -> Ended {
    let environment = environment();
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    run(&[&["bench"], arguments].concat(), &environment)
}

/// The JSON object that it prints when all is well.
fn report(arguments: &[&str]) -> Value {
    let ended = bench(&[arguments, &["--json"]].concat());
    assert!(ended.success, "{}\n{}", ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

/// What the report says of a setting.
fn setting<'a>(report: &'a Value, name: &str) -> &'a str {
    let settings = report["settings"].as_array().expect("settings");
    let found = settings.iter().find(|pair| pair[0] == name).and_then(|pair| pair[1].as_str());
    found.unwrap_or_else(|| panic!("{name}: {settings:?}"))
}

const INTROSPECT: &[&str] = &["introspect", "-n", "500", "-c", "8", "--warm-up", "100ms"];

#[test]
fn a_run_on_a_private_postgres_says_what_an_operation_costs() {
    let folder = tempfile::tempdir().unwrap();
    // Enough for the clock that counts CPU.
    let many = ["introspect", "-n", "20000", "-c", "8", "--warm-up", "100ms"];
    let report = report(&[&many[..], &["--report", folder.path().to_str().unwrap()]].concat());
    assert_eq!(
        (report["scenario"].as_str(), report["label"].as_str()),
        (Some("introspect"), Some("introspect (opaque)"))
    );
    assert_eq!((report["operations"].as_u64(), report["errors"].as_u64()), (Some(20_000), Some(0)));
    let number = |known: &str| report[known].as_f64().unwrap_or_else(|| panic!("{known}: {}", report[known]));
    for known in ["ops_per_second", "server_cpu_us", "driver_cpu_us", "hyper_floor_cpu_us", "floor_cpu_us"] {
        assert!(number(known) > 0.0, "{known}: {}", report[known]);
    }
    assert!(number("floor_cpu_us") <= number("hyper_floor_cpu_us"), "the smaller counts");
    // Server and database, in floors.
    let together = number("server_cpu_us") + number("postgres_cpu_us");
    assert!((number("cpu_us") - together).abs() < 0.001, "{together}");
    assert!((number("floors") - together / number("floor_cpu_us")).abs() < 0.001, "{together}");
    for percentile in ["p50", "p95", "p99", "max"] {
        assert!(report["latency_ms"][percentile].as_f64().is_some_and(|number| number > 0.0), "{percentile}");
    }
    // A token is answered from memory: what PostgreSQL does meanwhile does not grow with the operations.
    assert!(report["statements"].as_f64().is_some_and(|each| each < 0.1), "{}", report["statements"]);
    assert!(report["commits"].as_f64().is_some_and(|each| each < 0.1), "{}", report["commits"]);
    assert!(report["wal_bytes"].is_number() && report["rows_written"].is_number());
    is_judged_at_rest(&report);
    is_drawn(&fs::read_to_string(folder.path().join("index.html")).unwrap(), &report);
}

/// How much it is depends on the build, so that nothing is said of that here.
fn is_judged_at_rest(report: &Value) {
    for known in ["start_ms", "idle_cpu_percent", "idle_resident", "program_bytes"] {
        assert!(report["at_rest"][known].is_number(), "{known}: {}", report["at_rest"]);
    }
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    for claim in ["ready in less than", "MB resident while idle", "of a core while idle"] {
        let judged =
            verdicts.iter().find(|one| one["claim"].as_str().is_some_and(|said| said.contains(claim)));
        assert!(judged.is_some_and(|one| one["holds"].is_boolean()), "{claim}: {verdicts:?}");
    }
    for told in ["start", "idle"] {
        assert!(!setting(report, told).is_empty(), "{told}");
    }
    let machine = report["machine"].as_array().expect("a machine");
    assert!(machine.iter().any(|pair| pair[0] == "size of the program"), "{machine:?}");
}

/// The page shows both as bars.
fn is_drawn(page: &str, report: &Value) {
    let section = |title: &str| {
        let (_, rest) = page.split_once(&format!("<h2>{title}</h2>")).unwrap_or_else(|| panic!("no {title}"));
        rest.split_once("</section>").unwrap().0
    };
    let split = section("CPU of an operation");
    for part in ["server", "postgres", "driver"] {
        let (_, bar) =
            split.split_once(&format!("<div class=\"{part}")).unwrap_or_else(|| panic!("no {part}"));
        let width = bar.split_once("style=\"width:").unwrap().1.split_once('%').unwrap().0;
        // An introspection asks no database, which may be at work by itself.
        let (width, cpu) = (width.parse::<f64>().unwrap(), report[format!("{part}_cpu_us")].as_f64());
        assert_eq!(width > 0.0, cpu.is_some_and(|cpu| cpu > 0.0), "{part}: {width}");
        assert!(width > 0.0 || part == "postgres", "{part}: {width}");
    }
    assert!(split.contains("class=\"mark floor\"") && split.contains(" floors</p>"), "{split}");
    let work = section("Database work of an operation");
    for kind in ["statements", "transactions that wrote", "rows written", "write-ahead log"] {
        let (_, bar) =
            work.split_once(&format!("<p class=\"label\">{kind}</p>")).unwrap_or_else(|| panic!("no {kind}"));
        let value = bar.split_once("<p class=\"sum\">").unwrap().1.split_once('<').unwrap().0;
        assert!(value.starts_with(|first: char| first.is_ascii_digit()), "{kind}: {value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_installed_in_a_database_of_somebody_else() {
    let database = TemporaryDatabase::of(PrivateCluster::shared().await).await;
    let report = report(&[INTROSPECT, &["--dsn", database.dsn(), "--no-floor"]].concat());
    assert_eq!((report["operations"].as_u64(), report["errors"].as_u64()), (Some(500), Some(0)));
    assert_eq!(report["statements"], Value::Null, "nobody counts them there");
    assert!(report["commits"].is_number() && report["wal_bytes"].is_number(), "{report}");
    // The statistics would tell rows of the preparation, and none of the last.
    assert_eq!(report["rows_written"], Value::Null, "nobody reads the log there");
    let machine = report["machine"].as_array().expect("a machine");
    let unknown =
        |what: &str| machine.iter().any(|pair| pair[0] == "PostgreSQL does not say" && pair[1] == what);
    assert!(unknown("statements") && unknown("rows written (needs pg_walinspect)"), "{machine:?}");
    let (client, connection) = tokio_postgres::connect(database.dsn(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let rows = client.query("SELECT extname FROM pg_extension", &[]).await.unwrap();
    let extensions: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(extensions, ["plpgsql"], "what every database has");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_somebody_else_can_be_used_again_by_whoever_has_its_secret() {
    let database = TemporaryDatabase::of(PrivateCluster::shared().await).await;
    let there = ["--dsn", database.dsn(), "--no-floor"];
    for _ in 0..2 {
        let report = block_in_place(|| report(&[INTROSPECT, &there].concat()));
        assert_eq!((report["operations"].as_u64(), report["errors"].as_u64()), (Some(500), Some(0)));
    }
    let other = ["--set", "secrets.system=another-secret-than-that"];
    let ended = block_in_place(|| bench(&[INTROSPECT, &there, &other].concat()));
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    let advice = "sealed with another secret: name it by --set secrets.system=";
    assert!(ended.stderr.contains(advice), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_told_in_full_although_the_connection_that_counts_has_ended() {
    // Of all connections the one of the benchmark is idle for so long only while the run goes on.
    const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                       AND query LIKE '/* sluice bench */%' AND state = 'idle' \
                       AND state_change < clock_timestamp() - interval '700 ms'";
    let database = TemporaryDatabase::of(PrivateCluster::shared().await).await;
    let (client, connection) = tokio_postgres::connect(database.dsn(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let dsn = database.dsn().to_owned();
    let run = ["introspect", "--duration", "4s", "-c", "4", "--warm-up", "100ms", "--no-floor"];
    let running = tokio::task::spawn_blocking(move || report(&[&run[..], &["--dsn", &dsn]].concat()));
    let mut has_ended = false;
    while !has_ended && !running.is_finished() {
        has_ended = !client.query(END, &[]).await.unwrap().is_empty();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let report = running.await.unwrap();
    assert!(has_ended, "there was a connection to end");
    for known in ["commits", "wal_bytes"] {
        assert!(report[known].is_number(), "{known}: {report}");
    }
    let machine = report["machine"].as_array().expect("a machine");
    assert!(machine.iter().any(|pair| pair[0] == "PostgreSQL"), "{machine:?}");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named_before_anything_is_measured() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("file");
    fs::write(&file, "").unwrap();
    let folder = file.join("report").display().to_string();
    let ended = bench(&[INTROSPECT, &["--dsn", "sqlite:", "--report", &folder]].concat());
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    let named = format!("the report cannot be written to {folder}: ");
    assert!(ended.stderr.starts_with(&named), "{}", ended.stderr);
}

#[test]
fn a_run_on_sqlite_makes_no_number_up_that_only_postgres_knows() {
    let report = report(&[INTROSPECT, &["--dsn", "sqlite:", "--no-floor"]].concat());
    assert_eq!((report["operations"].as_u64(), report["errors"].as_u64()), (Some(500), Some(0)));
    for unknown in ["postgres_cpu_us", "statements", "commits", "rows_written", "wal_bytes"] {
        assert_eq!(report[unknown], Value::Null, "{unknown}");
    }
    assert_eq!(report["cpu_us"], report["server_cpu_us"], "the database is in the server");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_runs_is_measured_where_it_is_said_to_be() {
    let site = Site::fresh(Backend::Sqlite).await;
    let server = site.start().await;
    // Which is `::1`, too, where nobody listens.
    let mut public = server.public.clone();
    public.set_host(Some("localhost")).unwrap();
    let there = ["--public-url", public.as_str(), "--admin-url", server.admin.as_str()];
    let short = ["-n", "40", "-c", "4", "--warm-up", "100ms", "--no-floor"];
    for scenario in [&["introspect"][..], &["login", "--id-token", "RS256"]] {
        let report = block_in_place(|| report(&[scenario, &there, &short].concat()));
        assert_eq!(
            (report["operations"].as_u64(), report["errors"].as_u64()),
            (Some(40), Some(0)),
            "{report}"
        );
        assert_eq!(report["server_cpu_us"], Value::Null, "nobody said which process it is");
        assert_eq!(report["at_rest"], Value::Null, "nobody saw it start");
    }
    server.kill().await;
}

#[test]
fn options_about_a_server_that_runs_are_refused_where_none_is_named() {
    let ended = bench(&["introspect", "--server-pid", "1"]);
    assert!(!ended.success);
    assert!(ended.stderr.contains("--public-url <URL>|--issuer <URL>"), "{}", ended.stderr);
}

#[test]
fn a_login_that_is_remembered_writes_its_session_too() {
    let short = ["-n", "100", "-c", "8", "--warm-up", "100ms", "--no-floor"];
    let report = report(&[&["login", "--remember"], &short[..]].concat());
    assert_eq!(report["label"], "login (ES256, remembered)");
    assert_eq!((report["operations"].as_u64(), report["errors"].as_u64()), (Some(100), Some(0)));
    // Beside the grant, which is written twice.
    assert!(report["rows_written"].as_f64().is_some_and(|each| each > 2.9), "{}", report["rows_written"]);
}

/// Whoever was signed in before the run begins no session in it.
#[test]
fn a_login_in_a_browser_that_is_signed_in_goes_on_with_its_session() {
    let short = ["-n", "100", "-c", "8", "--warm-up", "1s", "--dsn", "sqlite:", "--no-floor"];
    let report = report(&[&["login", "--returning"], &short[..]].concat());
    assert_eq!(report["label"], "login (ES256, returning)");
    assert_eq!((report["operations"].as_u64(), report["errors"].as_u64()), (Some(100), Some(0)));
}

#[test]
fn refreshes_may_come_after_somebody_else_has_signed_out() {
    let short = ["-n", "100", "-c", "4", "--warm-up", "100ms", "--dsn", "sqlite:", "--no-floor"];
    let report = report(&[&["refresh", "--after-logout"], &short[..]].concat());
    assert_eq!(report["label"], "refresh (ES256, after a logout)");
    assert_eq!((report["operations"].as_u64(), report["errors"].as_u64()), (Some(100), Some(0)));
}

#[test]
fn a_run_in_which_operations_failed_is_told_and_is_no_success() {
    let short =
        ["register", "-n", "20", "-c", "2", "--warm-up", "0s", "--dsn", "sqlite:", "--no-floor", "--json"];
    let only_five = ["--set", "identity.limits.registrations_per_network=5"];
    let here_too = ["--set", "identity.limits.exempt=192.0.2.0/24"];
    let ended = bench(&[&short[..], &only_five[..], &here_too[..]].concat());
    assert!(!ended.success, "{}", ended.stdout);
    assert!(ended.stderr.contains("× registration: status 429"), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).expect("what was measured");
    let count = |what: &str| report[what].as_u64().expect("a number");
    assert!(count("operations") >= 5 && count("errors") > 0, "{report}");
    assert_eq!(count("operations") + count("errors"), 20);
}

#[test]
fn a_server_that_does_not_start_is_told_in_its_own_words_and_nothing_is_left() {
    let ended = bench(&["introspect", "--dsn", "sqlite:", "--set", "serve.public.port=many"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("the server did not start"), "{}", ended.stderr);
    assert!(ended.stderr.contains("serve.public.port"), "{}", ended.stderr);
}

#[test]
fn a_database_where_nobody_listens_is_told_before_a_server_waits_for_it() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (dsn, began) = (format!("postgres://nobody@{gone}/x"), Instant::now());
    let ended = bench(&[INTROSPECT, &["--dsn", &dsn]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.starts_with("the database that --dsn names cannot be reached: "),
        "{}",
        ended.stderr
    );
    // The server waits for a minute.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn a_dsn_of_another_kind_is_refused_in_a_sentence() {
    let ended = bench(&["introspect", "--dsn", "mysql://localhost/x"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("begins with postgres:// or sqlite:"), "{}", ended.stderr);
}

#[test]
fn options_that_do_not_go_together_are_no_understood_command() {
    let mistakes: [(&[&str], &str); 8] = [
        (&["mix"], "--rate"),
        (&["refresh", "--scope", "openid"], "the scope offline_access"),
        (&["login", "--duration", "0s"], "not more than nothing"),
        (
            &["crash", "login", "--kill", "both", "--dsn", "sqlite:"],
            "only a private PostgreSQL can be killed",
        ),
        (&["growth", "--dsn", "sqlite:"], "rows are loaded into PostgreSQL only"),
        (&["login", "-c", "2000000000"], "needs 4000000064 open files, and the limit is "),
        (&["introspect", "--dsn", "postgres://u@127.0.0.1:1/x?sslmode=require"], "sslmode=require: "),
        (
            &["introspect", "--public-url", "https://127.0.0.1:1", "--admin-url", "http://127.0.0.1:1"],
            "only http:// is measured",
        ),
    ];
    for (said, why) in mistakes {
        let ended = bench(said);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
}
