use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::*;
use crate::driver::{Length, Pace};
use crate::error::BenchError;
use crate::scenario::{Dialect, LoginSessions, TokenFormat};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    command: BenchCommand,
}

fn said(line: &str) -> Result<Task, clap::Error> {
    let cli = Cli::try_parse_from(std::iter::once("bench").chain(line.split(' ')))?;
    Ok(Task::from(cli.command.measurement))
}

fn run_of(line: &str) -> (Kind, RunArgs) {
    match said(line).unwrap() {
        Task::Run(kind, args) => (kind, *args),
        _ => panic!("{line} is no scenario"),
    }
}

fn refusal(line: &str) -> ErrorKind {
    said(line).err().unwrap().kind()
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

const SCENARIOS: [&str; 14] = [
    "login",
    "login-password",
    "refresh",
    "client-credentials",
    "introspect",
    "userinfo",
    "get-client",
    "list-clients",
    "create-client",
    "revoke",
    "register",
    "register+harden",
    "gateway",
    "mix",
];

#[test]
fn every_scenario_is_called_as_it_calls_itself() {
    for name in SCENARIOS {
        assert_eq!(run_of(name).0.name(), name);
    }
}

#[test]
fn a_run_is_a_closed_loop_of_ten_seconds_unless_it_is_told_otherwise() {
    let (_, args) = run_of("login");
    let load = args.load().unwrap();
    assert_eq!(load.users.get(), 256);
    assert_eq!((load.pace, load.length), (Pace::Closed, Length::Duration(Duration::from_secs(10))));
    assert!(!args.server.is_found());
}

#[test]
fn there_are_no_more_users_than_a_server_hashes_for_in_time_unless_it_is_said() {
    let users = |line: &str| run_of(line).1.load().unwrap().users.get();
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!((users("login-password"), users("login-password -c 64")), ((cpus * 4).max(16), 64));
    for name in SCENARIOS.into_iter().filter(|name| *name != "login-password") {
        assert_eq!(users(name), 256, "{name} waits for no hash");
    }
    let crash = |line: &str| match said(line).unwrap() {
        Task::Crash(args) => args.users().get(),
        _ => panic!("{line} kills nobody"),
    };
    assert_eq!((crash("crash login-password"), crash("crash login")), (16, 64));
    assert_eq!(crash("crash login-password -c 5"), 5);
}

#[test]
fn a_run_ends_after_operations_or_after_a_time() {
    let (kind, args) = run_of("client-credentials --token jwt -n 500 -c 8 --json");
    assert!(matches!(kind, Kind::ClientCredentials(options) if options.token == TokenFormat::Jwt));
    assert_eq!(args.load().unwrap().length, Length::Operations(500));
    let (_, args) = run_of("introspect --rate 12.5 --duration 1m30s");
    let load = args.load().unwrap();
    assert_eq!(
        (load.pace, load.length),
        (Pace::Open { rate: 12.5 }, Length::Duration(Duration::from_secs(90)))
    );
    assert_eq!(refusal("login -n 5 --duration 1s"), ErrorKind::ArgumentConflict);
}

#[test]
fn logins_that_an_application_accepts_may_be_remembered() {
    for (line, sessions, is_public) in [
        ("login", LoginSessions::None, false),
        ("login --remember --public-client", LoginSessions::New, true),
        ("login --returning", LoginSessions::Kept, false),
    ] {
        let (kind, _) = run_of(line);
        let Kind::Login(options) = kind else { panic!("{line}") };
        assert_eq!((options.sessions, options.public_client), (sessions, is_public));
    }
    assert_eq!(refusal("login --remember --returning"), ErrorKind::ArgumentConflict);
    assert_eq!(refusal("login-password --remember"), ErrorKind::UnknownArgument);
}

#[test]
fn there_are_no_more_threads_than_users() {
    assert_eq!(run_of("login -c 1 --threads 4").1.load().unwrap().threads.get(), 1);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for rate in ["0", "1000001", "1e300", "inf", "NaN"] {
        assert_eq!(refusal(&format!("login --rate {rate}")), ErrorKind::ValueValidation, "{rate}");
    }
    assert!(said("login --rate 1000000").is_ok());
    assert_eq!(refusal("login -c 0"), ErrorKind::ValueValidation);
    assert_eq!(refusal("login --find-knee --rate 5"), ErrorKind::ArgumentConflict);
    for other in ["--rate 5", "--runs 3", "--find-knee"] {
        assert_eq!(refusal(&format!("login --half-knee {other}")), ErrorKind::ArgumentConflict, "{other}");
    }
    assert_eq!(refusal("login --public-url http://127.0.0.1:4444 --set a=b"), ErrorKind::ArgumentConflict);
    assert_eq!(refusal("login --admin-url http://127.0.0.1:4445"), ErrorKind::MissingRequiredArgument);
    assert_eq!(refusal("userinfo --server standard"), ErrorKind::MissingRequiredArgument);
    for line in ["introspect --tokens 0", "userinfo --tokens 0", "gateway --tokens 0"] {
        assert_eq!(refusal(line), ErrorKind::ValueValidation, "{line}");
    }
}

#[test]
fn a_page_that_no_server_lists_is_refused() {
    for size in ["0", "1001"] {
        assert_eq!(refusal(&format!("list-clients --page {size}")), ErrorKind::ValueValidation, "{size}");
    }
    for (said, page) in [("", 250), (" --page 1", 1), (" --page 1000", 1000)] {
        let (kind, _) = run_of(&format!("list-clients{said}"));
        assert!(matches!(kind, Kind::ListClients(options) if options.page == page), "{page}");
    }
}

#[test]
fn how_late_answers_may_be_is_said_where_the_knee_is_looked_for() {
    assert_eq!(refusal("login --p99-below 10ms"), ErrorKind::MissingRequiredArgument);
    for knee in ["--find-knee", "--half-knee"] {
        let below = |more: &str| run_of(&format!("login {knee}{more}")).1.p99_below();
        assert_eq!(below(" --p99-below 10ms"), Duration::from_millis(10), "{knee}");
        assert_eq!(below(""), Duration::from_millis(50), "{knee}");
    }
}

#[test]
fn no_database_is_offered_that_is_refused() {
    let help = |name: &str| {
        let command = Cli::command();
        let measurement = command.find_subcommand(name).unwrap();
        let dsn = measurement.get_arguments().find(|argument| argument.get_id() == "dsn").unwrap();
        dsn.get_help().unwrap().to_string()
    };
    let growth = help("growth");
    assert_eq!(growth, "The database of the server: postgres://… [default: a private PostgreSQL]");
    assert_eq!(help("endurance"), growth.replace("postgres://…", "postgres://… or sqlite:…"));
}

#[test]
fn what_is_said_of_a_server_that_runs_is_refused_without_one() {
    let told = |line: &str| said(line).err().unwrap().to_string();
    for option in ["--server-pid 7", "--database-dsn postgres://db/x", "--no-database"] {
        for started in ["login", "login --dsn sqlite:"] {
            let line = format!("{started} {option}");
            let message = told(&line);
            let names_what_is_missing = message.contains("--public-url <URL>|--issuer <URL>");
            assert!(names_what_is_missing || message.contains("cannot be used with"), "{line}: {message}");
        }
        assert!(said(&format!("login --public-url http://127.0.0.1:4444 {option}")).is_ok(), "{option}");
    }
    let message = told("login --database-pid 7");
    assert!(message.contains("--public-url <URL>|--issuer <URL>|--dsn <DSN>"), "{message}");
    for (option, other) in [("--admin-url", "--dsn sqlite:"), ("--gateway-url", "--set a=b")] {
        assert_eq!(
            refusal(&format!("login {option} http://127.0.0.1:1 {other}")),
            ErrorKind::ArgumentConflict
        );
    }
}

#[test]
fn the_process_of_a_database_may_be_known_whoever_starts_the_server() {
    let (kind, args) = run_of("login --dsn postgres://db/x --database-pid 7");
    let start = crate::run::start(&args, &kind);
    assert_eq!((start.dsn.as_deref(), start.database_pid), (Some("postgres://db/x"), Some(7)));
    assert_eq!(
        run_of("login --public-url http://127.0.0.1:4444 --database-pid 7").1.server.database_pid,
        Some(7)
    );
}

#[test]
fn what_counts_cpu_over_several_runs_may_know_the_process_of_a_database_too() {
    for name in ["growth", "endurance"] {
        let known = |line: &str| match said(&format!("{name} {line}")).unwrap() {
            Task::Growth(args) => args.database.known_to(args.own.start([])),
            Task::Endurance(args) => args.database.known_to(args.own.start([])),
            _ => panic!("{line} is neither"),
        };
        assert_eq!(known("--dsn postgres://db/x --database-pid 7").unwrap().database_pid, Some(7));
        assert_eq!(known("--dsn postgres://db/x").unwrap().database_pid, None);
        let refused = known("--dsn sqlite: --database-pid 7").unwrap_err().to_string();
        assert!(refused.starts_with("SQLite has no process of its own"), "{refused}");
        assert_eq!(refusal(&format!("{name} --database-pid 7")), ErrorKind::MissingRequiredArgument);
    }
    assert_eq!(refusal("crash login --database-pid 7"), ErrorKind::UnknownArgument, "nothing is counted");
}

#[test]
fn a_server_has_a_database_or_none() {
    for option in ["--database-pid 7", "--database-dsn postgres://db/x"] {
        let line = format!("login --public-url http://127.0.0.1:4444 --no-database {option}");
        assert_eq!(refusal(&line), ErrorKind::ArgumentConflict, "{option}");
    }
    let (kind, args) = run_of("login --dsn sqlite: --database-pid 7");
    let refused = crate::run::check(&kind, &args).unwrap_err().to_string();
    assert_eq!(refused, "SQLite has no process of its own: leave --database-pid out");
}

#[test]
fn a_database_that_is_spoken_to_by_tls_alone_cannot_be_accounted_for() {
    let dsn = "postgres://u@db/x?sslmode=verify-full";
    let there =
        format!("--public-url http://127.0.0.1:4444 --admin-url http://127.0.0.1:4445 --database-dsn {dsn}");
    for line in [format!("login --dsn {dsn}"), format!("login {there}")] {
        let (kind, args) = run_of(&line);
        let refused = crate::run::check(&kind, &args).unwrap_err();
        assert!(refused.is_usage() && refused.to_string().starts_with("sslmode=verify-full: "), "{refused}");
    }
    let Ok(Task::Endurance(args)) = said(&format!("endurance --dsn {dsn}")) else { panic!("it is refused") };
    assert!(args.database.known_to(args.own.start([])).is_err_and(|refused| refused.is_usage()));
    let (kind, args) = run_of("login --dsn postgres://u@db/x?sslmode=prefer");
    assert!(crate::run::check(&kind, &args).is_ok());
}

#[test]
fn every_scenario_can_be_done_while_the_server_is_killed() {
    for name in SCENARIOS {
        let Ok(Task::Crash(args)) = said(&format!("crash {name}")) else { panic!("{name}") };
        assert_eq!(args.kind().name(), name);
    }
    assert_eq!(refusal("crash nothing"), ErrorKind::InvalidValue);
}

#[test]
fn what_is_known_to_be_a_mistake_is_refused_before_anything_is_started() {
    let refused = |line: &str| {
        let (kind, args) = run_of(line);
        match crate::run::check(&kind, &args) {
            Err(BenchError::Usage(why)) => why,
            other => panic!("{line}: {other:?}"),
        }
    };
    let there = "--public-url http://127.0.0.1:4444";
    assert!(refused("refresh --scope openid").ends_with("the scope offline_access"));
    assert!(refused("login --find-knee --warm-up 0s").ends_with("needs a --warm-up"));
    assert!(refused(&format!("userinfo {there}")).ends_with("say --admin-url"));
    assert!(refused(&format!("gateway {there}")).ends_with("say --gateway-url"));
    let standard = "--server standard --issuer http://127.0.0.1:1 --client-id app";
    assert!(refused(&format!("get-client {standard}")).starts_with("get-client needs Hydra's API"));
    assert!(refused(&format!("userinfo {standard}")).ends_with("--user and --password"));
    assert!(refused("login -c 2000000000").contains(" needs 4000000064 open files, and the limit is "));
    let (kind, args) = run_of(&format!("register {there}"));
    assert!(crate::run::check(&kind, &args).is_ok(), "it asks nobody else");
}

#[test]
fn a_time_in_which_nothing_can_happen_is_refused() {
    for line in
        ["login --duration 0s", "login --p99-below 0s", "growth --duration 0s", "endurance --every 0s"]
    {
        assert_eq!(refusal(line), ErrorKind::ValueValidation, "{line}");
    }
    assert!(said("login --warm-up 0s").is_ok());
}

#[test]
fn a_day_needs_a_rate_that_is_said_or_found_out() {
    let checked = |line: &str| {
        let (kind, args) = run_of(line);
        crate::run::check(&kind, &args)
    };
    assert!(checked("mix").unwrap_err().to_string().contains("--rate"));
    for said in ["--rate 100", "--find-knee", "--half-knee"] {
        assert!(checked(&format!("mix {said}")).is_ok(), "{said}");
    }
    assert!(checked("login").is_ok());
}

#[test]
fn a_standard_server_is_known_by_issuer_and_client() {
    let (_, args) =
        run_of("userinfo --server standard --issuer http://localhost:8080/realms/bench --client-id app");
    assert!(args.server.is_found());
    let Dialect::Standard(server) = args.server.dialect() else { panic!("it is Hydra's") };
    assert_eq!(
        (server.issuer.as_str(), server.client_id.as_str()),
        ("http://localhost:8080/realms/bench", "app")
    );
    assert_eq!(server.client_secret, None);
}
