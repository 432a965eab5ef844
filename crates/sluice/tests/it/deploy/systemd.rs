//! The units and what they read.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{
    DRAIN, Environment, assert_known, assert_none_may_be_left_empty, assert_understood, folder, read, texts,
    with_configuration_in,
};
use crate::answer::{Answer, http};
use crate::program::{Server, run};

/// Where the units expect the program.
const PROGRAM: &str = "/usr/local/bin/sluice";

/// A unit that starts the program.
struct Unit {
    name: String,
    text: String,
}

impl Unit {
    fn named(name: &str) -> Self {
        let name = name.to_owned();
        Self { text: read(&folder("systemd").join(&name)), name }
    }

    fn all() -> Vec<Self> {
        let files = fs::read_dir(folder("systemd")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let units: Vec<_> =
            names.filter(|name| name.ends_with(".service")).map(|name| Self::named(&name)).collect();
        assert!(units.len() > 3, "the units of server, worker, gateway and migrations");
        units
    }

    /// The value of a setting that is there once.
    fn value(&self, setting: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(setting)?.strip_prefix('='))
    }

    /// What the program is started with.
    fn arguments(&self) -> Vec<&str> {
        let (program, arguments) = self.value("ExecStart").unwrap().split_once(' ').unwrap();
        assert_eq!(program, PROGRAM, "{}", self.name);
        arguments.split(' ').collect()
    }

    /// The same with the configuration that is beside the unit.
    fn arguments_here(&self) -> Vec<String> {
        with_configuration_in(&folder("systemd"), &self.arguments())
    }

    /// The variables that its file leaves empty, filled in.
    fn environment(&self, directory: &Path) -> Environment {
        let file = self.value("EnvironmentFile").unwrap();
        let text = read(Path::new(&with_configuration_in(&folder("systemd"), &[file]).concat()));
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let empty = lines.map(|line| line.strip_suffix('=').expect("nothing that anybody knows"));
        Environment::of(empty, directory)
    }
}

#[test]
fn units_name_arguments_that_the_program_has_and_files_that_are_there() {
    for unit in Unit::all() {
        assert_known(&unit.arguments());
        let here = unit.arguments_here();
        let (_, file) = here.iter().zip(&here[1..]).find(|(flag, _)| *flag == "--config").unwrap();
        assert!(Path::new(file).exists(), "{}: {file}", unit.name);
    }
}

/// The role that owns the tables may be for migrations alone. Of two files the later one counts, and that one need not be there.
#[test]
fn migrations_may_have_a_role_of_their_own() {
    let unit = Unit::named("sluice-migrate.service");
    let files: Vec<_> = unit.text.lines().filter_map(|line| line.strip_prefix("EnvironmentFile=")).collect();
    assert_eq!(files, ["/etc/sluice/sluice.env", "-/etc/sluice/migrate.env"]);
}

#[test]
fn the_documented_command_beside_the_server_gets_what_the_server_has() {
    let page = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deployment.md"));
    let server = Unit::named("sluice.service");
    for (option, setting) in
        [("--uid", "User"), ("--gid", "Group"), ("--property=EnvironmentFile", "EnvironmentFile")]
    {
        let expected = format!("{option}={}", server.value(setting).unwrap());
        assert!(page.contains(&expected), "{expected}");
    }
    let of_server = server.arguments();
    let configuration = of_server.last().copied().unwrap();
    let arguments = ["secrets", "status", "--config", configuration];
    assert!(page.contains(&format!("  {PROGRAM} {}\n", arguments.join(" "))));
    assert_known(&arguments);
}

#[test]
fn the_documented_commands_install_all_that_units_read() {
    let page = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deployment.md"));
    let commands: Vec<_> = page.lines().filter(|line| line.starts_with("sudo install ")).collect();
    for file in fs::read_dir(folder("systemd")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let pattern = if name.ends_with(".service") { "*.service" } else { &name };
        let file = format!(" deploy/systemd/{pattern} ");
        let is_installed = commands.iter().any(|command| command.contains(&file));
        assert!(is_installed, "{name} in {commands:#?}");
    }
}

#[test]
fn units_wait_longer_for_their_end_than_what_is_in_flight_may_take() {
    for unit in Unit::all().iter().filter(|unit| unit.value("Type") == Some("exec")) {
        let wait: u64 = unit.value("TimeoutStopSec").unwrap().parse().unwrap();
        assert!(wait > DRAIN, "{}: {wait}", unit.name);
    }
}

/// journald's own limit is some hundreds of lines a second. An interval of 0 does not switch it off for a unit: it is that of journald then.
#[test]
fn units_may_log_more_than_anybody_can_cause() {
    for unit in Unit::all().iter().filter(|unit| unit.value("Type") == Some("exec")) {
        assert_eq!(unit.value("LogRateLimitIntervalSec"), Some("1s"), "{}", unit.name);
        let lines: u32 = unit.value("LogRateLimitBurst").unwrap().parse().unwrap();
        assert!(lines >= 1_000_000, "{}: {lines}", unit.name);
    }
}

/// An end by SIGHUP is a clean one for `on-failure`, and a node that nobody stopped would stay down.
#[test]
fn units_start_again_however_they_ended_unless_that_cannot_help() {
    for unit in Unit::all().iter().filter(|unit| unit.value("Type") == Some("exec")) {
        assert_eq!(unit.value("Restart"), Some("always"), "{}", unit.name);
        let hopeless: i32 = unit.value("RestartPreventExitStatus").unwrap().parse().unwrap();
        let arguments = [&unit.arguments()[..], &["--no-such-flag"]].concat();
        assert_eq!(run(&arguments, &[]).code, Some(hopeless), "{}", unit.name);
    }
}

#[test]
fn configurations_and_variables_of_units_are_understood() {
    let directory = tempfile::tempdir().unwrap();
    let beside = |name: &str| folder("systemd").join(name);
    let server = Unit::named("sluice.service").environment(directory.path());
    assert_understood(&beside("sluice.yaml"), &server, &[]);
    assert_none_may_be_left_empty(&beside("sluice.yaml"), &server);
    let gateway = Unit::named("sluice-gateway.service").environment(directory.path());
    assert_none_may_be_left_empty(&beside("gateway.yaml"), &gateway);
    // What only a server must have.
    let more = [
        ("DSN", "memory"),
        ("SECRETS_SYSTEM", "a-secret-that-is-long-enough"),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
    ];
    assert_understood(&beside("gateway.yaml"), &gateway, &more);
    let routes = run(&["gateway", "check", beside("routes.yaml").to_str().unwrap()], &[]);
    assert!(routes.success && routes.stderr.is_empty(), "{}{}", routes.stdout, routes.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_starts_as_its_units_say() {
    let directory = tempfile::tempdir().unwrap();
    let (migrations, server) = (Unit::named("sluice-migrate.service"), Unit::named("sluice.service"));
    let environment = server.environment(directory.path());
    let before = run(&texts(&server.arguments_here()), &environment.pairs());
    assert!(!before.success && before.stderr.contains("run `sluice migrate sql up`"), "{}", before.stderr);
    let migrated = run(&texts(&migrations.arguments_here()), &environment.pairs());
    assert!(migrated.success, "{}", migrated.stderr);
    let mut arguments = server.arguments_here();
    let free = ["serve.public.port=0", "serve.admin.port=0"];
    arguments.extend(free.iter().flat_map(|port| ["--set".to_owned(), (*port).to_owned()]));
    let server = Server::start(&texts(&arguments), &environment.pairs());
    let discovery = server.public.join("/.well-known/openid-configuration").unwrap();
    let through_the_proxy = http().get(discovery.clone()).header("x-forwarded-proto", "https");
    assert_eq!(Answer::to(through_the_proxy).await.ok()["issuer"], "https://id.example.com");
    assert_eq!(Answer::to(http().get(discovery)).await.status, 502, "not over TLS");
    let ended = server.stop();
    assert!(ended.success, "{}", ended.stderr);
}

/// What `systemd-analyze verify` says of a unit that starts the program that is tested.
fn complaints(unit: &Unit, directory: &Path) -> Vec<String> {
    let path = directory.join(&unit.name);
    fs::write(&path, unit.text.replace(PROGRAM, env!("CARGO_BIN_EXE_sluice"))).unwrap();
    let mut command = Command::new("systemd-analyze");
    let verified = command.args(["verify", "--man=no", "--recursive-errors=no"]).arg(path).output();
    let verified = verified.expect("systemd-analyze, which `tests/deps` installs with systemd");
    let said = String::from_utf8(verified.stderr).unwrap();
    said.lines().filter(|line| line.contains(&unit.name)).map(str::to_owned).collect()
}

#[test]
fn systemd_understands_the_units() {
    let directory = tempfile::tempdir().unwrap();
    for unit in Unit::all() {
        assert_eq!(complaints(&unit, directory.path()), Vec::<String>::new());
    }
    let typo = Unit {
        text: Unit::named("sluice.service").text.replace("LimitNOFILE", "LimitNOFILES"),
        name: "typo.service".to_owned(),
    };
    assert_eq!(complaints(&typo, directory.path()).len(), 1, "what is wrong is told");
}
