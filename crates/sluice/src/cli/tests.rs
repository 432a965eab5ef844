//! What the command line understands. The command lines are those of Hydra's documentation and quick start.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::{MacAlgorithm, SigningAlgorithm};

use super::janitor::JanitorWork;
use super::*;

fn parse(line: &str) -> Commands {
    match try_parse(line) {
        Ok(command) => command,
        Err(error) => panic!("{line}: {error}"),
    }
}

fn try_parse(line: &str) -> Result<Commands, clap::Error> {
    Ok(Cli::read(line.split_whitespace())?.command)
}

#[test]
fn the_command_line_is_consistent() {
    Cli::whole_command().debug_assert();
}

#[test]
fn command_lines_of_hydra_are_understood() {
    let lines = [
        "hydra serve all --dev",
        "hydra serve -c /etc/config/hydra/hydra.yml all --dev",
        "hydra serve all --sqa-opt-out -c a.yml,b.yml",
        "hydra serve all --sqa-opt-out=true",
        "hydra serve public --config /etc/config/hydra/hydra.yml",
        "hydra migrate sql up -e --yes",
        "hydra migrate -c /etc/config/hydra/hydra.yml sql up -e --yes",
        "hydra migrate sql --yes postgres://hydra:secret@postgresd:5432/hydra?sslmode=disable",
        "hydra migrate sql status -e",
        "hydra migrate sql status --block -e",
        "hydra migrate sql status -e -q",
        "hydra migrate status -e --block",
        "hydra janitor -e --tokens --requests --grants",
        "hydra janitor --keep-if-younger 23h --access-lifespan 1h --refresh-lifespan 40h --limit 10 --batch-size 5 x",
        "hydra create client --endpoint http://127.0.0.1:4445/ --format json --grant-type client_credentials",
        "hydra create oauth2-client -e http://127.0.0.1:4445 --grant-type authorization_code,refresh_token \
         --response-type code,id_token --scope openid --scope offline --redirect-uri http://127.0.0.1:5555/callback",
        "hydra create oauth2-client --name my-app --secret s --token-endpoint-auth-method none --skip-consent=true \
         --metadata {\"a\":1} --audience a,b --owner ada --skip-tls-verify",
        "hydra get client 1 2 --format json-pretty",
        "hydra get clients 1",
        "hydra get oauth2-clients 1 2",
        "hydra list clients --page-size 10 --page-token eyJwYWdlIjoxfQ",
        "hydra list oauth2-clients -q",
        "hydra update client 1 --redirect-uri http://localhost/cb --scope core,foobar",
        "hydra update oauth2-client 1 --file -",
        "hydra delete client 1 2",
        "hydra delete clients 1",
        "hydra delete oauth2-clients 1 2",
        "hydra delete access-tokens my-client --endpoint http://localhost:4445",
        "hydra perform authorization-code --client-id c --client-secret s --endpoint http://127.0.0.1:4444/ \
         --port 5555 --scope openid --scope offline",
        "hydra perform authorization-code --client-id c --max-age -1 --prompt login --no-open",
        "hydra perform device-code --client-id c --client-secret s --scope a,b --device-auth-url http://127.0.0.1:4444/d",
        "hydra perform client-credentials --endpoint http://127.0.0.1:4444/ --client-id c --client-secret s",
        "hydra introspect token --format json-pretty --endpoint http://127.0.0.1:4445/ ory_at_x.y",
        "hydra revoke token --client-id c --client-secret s ory_rt_x",
        "hydra create jwk my-set key-1 --alg ES256 --use sig",
        "hydra create jwks my-set --public",
        "hydra get jwks a b",
        "hydra delete jwk a",
        "hydra import oauth2-client ./a.json ./b.json --format json-pretty --endpoint http://127.0.0.1:4445/",
        "hydra import oauth2-clients",
        "hydra import client -",
        "hydra import clients a.json -q",
        "hydra import jwk my-set ./path/to/jwk.json ./path/to/jwk-2.json --format json",
        "hydra import jwk my-set ./path/to/rsa.key ./path/to/rsa.pub --use enc --alg RSA-OAEP-256",
        "hydra version",
        "hydra completion bash",
    ];
    for line in lines {
        parse(line);
    }
}

#[test]
fn flags_of_hydra_are_written_as_it_takes_them() {
    let lines = [
        "hydra serve all --sqa-opt-out=1 --dev=false",
        "hydra migrate sql up -e=true --yes=true",
        "hydra migrate sql up --read-from-env=true -y=t",
        "hydra migrate sql up -ey",
        "hydra migrate sql status --block=true -e --format json-pretty",
        "hydra janitor -e=TRUE --tokens=true --requests=F --grants=0",
        "hydra list clients --quiet=true --skip-tls-verify=true",
        "hydra ls clients -q=false",
        "hydra list clients -qe http://127.0.0.1:4445",
        "hydra perform authorization-code --client-id c --no-open=true",
        "hydra create jwks my-set --public=True",
        "hydra -c hydra.yml serve all",
        "hydra --config=hydra.yml migrate sql up -e",
        "hydra --format json migrate sql status -e",
        "hydra -q -e http://127.0.0.1:4445 --format json list clients",
    ];
    for line in lines {
        parse(line);
    }
}

#[test]
fn command_lines_of_our_own_are_understood() {
    let lines = [
        "sluice demo --headless --public-port 0 --admin-port 0 --app-port 0",
        "sluice config show -c a.yml --dev --set urls.self.issuer=http://localhost:4444/",
        "sluice config reference",
        "sluice config translations",
        "sluice config translations pt-BR --folder /etc/sluice/languages",
        "sluice secrets status -c a.yml",
        "sluice secrets reseal -c a.yml",
        "sluice secrets abandon -c a.yml",
        "sluice secrets abandon --yes --set dsn=sqlite:a.db",
        "sluice backup copy.db -e",
        "sluice backup copy.db sqlite:a.db",
        "sluice restore copy.db -c a.yml",
        "sluice keys list",
        "sluice keys rotate",
        "sluice keys rotate --set id-token --alg ES256 --now --revoke",
        "sluice keys import my-set key.pem --alg PS256",
        "sluice rotate client-secret my-client",
        "sluice import identities people.ndjson -c a.yml --dsn sqlite:a.db --in-flight 500 --errors bad.ndjson --restart -q",
        "sluice import identity people.ndjson --dev --format json",
        "sluice export identities -c a.yml",
        "sluice export identities people.ndjson --set dsn=sqlite:a.db --format yaml",
        "sluice worker -c a.yml --metrics-port 9100",
        "sluice calibrate --target-ms 100 --max-memory 512MiB --threads 2 --format json",
        "sluice calibrate -c a.yml --set identity.password_hash.passes=2 --dev",
        "sluice list identities --text ada --status disabled",
        "sluice reset credentials 01890a5d-ac96-774b-bcce-b302099a8057 --send-mail",
        "sluice debug challenge https://login.example.org/?login_challenge=abc",
        "sluice completion powershell",
    ];
    for line in lines {
        parse(line);
    }
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    let lines = [
        "sluice serve",
        "sluice serve everything",
        "sluice serve all --dev=perhaps",
        "sluice serve all --dev true",
        "sluice -c hydra.yml",
        "sluice serve all --set dsn",
        "sluice janitor --limit 0",
        "sluice janitor --keep-if-younger tomorrow",
        "sluice backup",
        "sluice restore",
        "sluice get client",
        "sluice create client --metadata {",
        "sluice create client --http-header nonsense",
        "sluice list clients --format xml",
        "sluice keys rotate --revoke",
        "sluice keys rotate --set mine",
        "sluice import identities",
        "sluice import identities people.ndjson --in-flight 0",
        "sluice calibrate --max-memory 1",
        "sluice calibrate --target-ms 1",
        "sluice create identity --email a@b.c --password-file a --password-hash-file b",
        "sluice create identity --username Ada",
        "sluice disable identity",
    ];
    for line in lines {
        assert_eq!(try_parse(line).err().map(|error| error.exit_code()), Some(2), "{line}");
    }
    // What an unset variable of a shell makes of `delete client "$ID"` must not name all clients.
    for id in ["", ".", ".."] {
        assert!(Cli::read(["sluice", "delete", "client", id]).is_err(), "{id:?}");
    }
}

#[test]
fn serve_says_what_to_serve_and_from_which_configuration() {
    let Commands::Serve(serve) =
        parse("sluice serve -c a.yml public -c b.yml --set log.level=debug --auto-migrate")
    else {
        panic!("not serve");
    };
    assert_eq!(serve.listeners, Listeners::Public);
    assert!(serve.listeners.has_public() && !serve.listeners.has_admin());
    assert!(serve.auto_migrate && !serve.tls_self_signed);
    let sources = serve.configuration.sources(Vec::new());
    assert_eq!(sources.files, [PathBuf::from("a.yml"), PathBuf::from("b.yml")]);
    assert_eq!(sources.overrides, [("log.level".to_owned(), "debug".to_owned())]);
    assert!(!sources.mode.is_development());
}

#[test]
fn a_migration_names_its_database_as_hydra_does() {
    let named = |line: &str| {
        let Commands::Migrate(migrate) = parse(line) else { panic!("not migrate") };
        let (action, source, _) = migrate.into_parts();
        (action, source.sources(Vec::new()).ok().map(|sources| sources.overrides))
    };
    let dsn = vec![("dsn".to_owned(), "sqlite:a.db".to_owned())];
    assert_eq!(named("sluice migrate sql up sqlite:a.db"), (SqlAction::Up, Some(dsn.clone())));
    assert_eq!(named("sluice migrate sql sqlite:a.db"), (SqlAction::Up, Some(dsn.clone())));
    assert_eq!(named("sluice migrate sql status sqlite:a.db"), (SqlAction::Status, Some(dsn.clone())));
    assert_eq!(named("sluice migrate status sqlite:a.db"), (SqlAction::Status, Some(dsn.clone())));
    assert_eq!(named("sluice migrate sql status --block sqlite:a.db"), (SqlAction::Await, Some(dsn)));
    assert_eq!(named("sluice migrate sql up -e"), (SqlAction::Up, Some(Vec::new())));
    assert_eq!(named("sluice migrate sql up -e sqlite:a.db"), (SqlAction::Up, None));
    assert_eq!(named("sluice migrate -c a.yml sql up"), (SqlAction::Up, Some(Vec::new())));
    assert_eq!(named("sluice migrate sql up"), (SqlAction::Up, None));
}

/// What is done to one cannot be meant for the other.
#[test]
fn two_databases_are_not_taken_for_one() {
    let refusal = |line: &str, variable: &str| {
        let source = match parse(line) {
            Commands::Migrate(migrate) => migrate.into_parts().1,
            Commands::Janitor(janitor) => janitor.source,
            _ => panic!("neither"),
        };
        let environment = vec![("DSN".into(), variable.into())];
        source.sources(environment).map(|sources| sources.overrides).err()
    };
    let line = "hydra migrate sql -e postgres://u:hunter2@h/db";
    assert_eq!(refusal(line, "postgres://u:hunter2@h/db"), None);
    let two = "a DSN was given as an argument and another by the environment (-e): give one";
    assert_eq!(refusal(line, "postgres://u:hunter3@h/db"), Some(two));
    assert_eq!(refusal("sluice migrate sql status -e sqlite:b.db", "sqlite:a.db"), Some(two));
    assert_eq!(refusal("sluice janitor sqlite:b.db -e", "sqlite:a.db"), Some(two));
    assert_eq!(refusal("sluice janitor sqlite:b.db", "sqlite:a.db"), None);
    let unset = refusal("sluice janitor sqlite:b.db -e", "").unwrap();
    assert!(unset.contains("the variable DSN of the environment (-e) is not set"), "{unset}");
    for verb in ["backup", "restore"] {
        let error = try_parse(&format!("sluice {verb} copy.db sqlite:b.db -e")).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{verb}");
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn a_flag_of_hydra_1_says_what_has_taken_its_place() {
    for line in ["hydra serve all --dangerous-force-http", "hydra serve all --dangerous-force-http=true"] {
        let error = try_parse(line).err().unwrap_or_else(|| panic!("{line}"));
        let said = error.to_string();
        assert!(said.contains("--dev") && said.contains("tls.allow_termination_from"), "{said}");
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn what_is_no_verb_of_a_migration_migrates_nothing() {
    let refusal = |line: &str| {
        let error = try_parse(line).err().unwrap_or_else(|| panic!("{line}"));
        assert_eq!(error.exit_code(), 2, "{line}");
        error.to_string()
    };
    let down = refusal("sluice migrate sql down -e");
    assert!(down.contains("schemas go forward only") && down.contains("`sluice restore`"), "{down}");
    for line in ["sluice migrate sql -e dwon", "sluice migrate sql statsu -e"] {
        let said = refusal(line);
        assert!(said.contains("must be `up` or `status`"), "{said}");
    }
    refusal("sluice migrate sql pu sqlite:a.db");
    let conninfo =
        Cli::read(["sluice", "migrate", "sql", "host=h password=hunter2"]).err().unwrap().to_string();
    assert!(!conninfo.contains("hunter2"), "{conninfo}");
    for database in ["memory", "sqlite:a.db", "postgres://u@h/db"] {
        parse(&format!("sluice migrate sql {database}"));
    }
}

#[test]
fn a_flag_is_on_unless_it_is_said_to_be_off() {
    let of_serve = |flag: &str| {
        let Commands::Serve(serve) = parse(&format!("sluice serve all {flag}")) else { panic!("not serve") };
        serve.configuration.sources(Vec::new()).mode.is_development()
    };
    for (flag, is_on) in [
        ("", false),
        ("--dev", true),
        ("--dev=true", true),
        ("--dev=1", true),
        ("--dev=T", true),
        ("--dev=false", false),
        ("--dev=0", false),
        ("--dev=F", false),
    ] {
        assert_eq!(of_serve(flag), is_on, "{flag}");
    }
    let Commands::Janitor(janitor) = parse("sluice janitor -e --tokens=true --requests=false --grants=0")
    else {
        panic!("not janitor")
    };
    assert_eq!(janitor.work(), JanitorWork { tokens: true, requests: false, grants: false });
}

#[test]
fn the_janitor_looks_after_what_is_named_or_else_after_everything() {
    let janitor = |line: &str| match parse(line) {
        Commands::Janitor(janitor) => janitor,
        _ => panic!("not janitor"),
    };
    let work = janitor("sluice janitor -e --tokens").work();
    assert_eq!(work, JanitorWork { tokens: true, requests: false, grants: false });
    let janitor = janitor("sluice janitor sqlite:a.db --keep-if-younger 1h30m");
    assert_eq!(janitor.work(), JanitorWork { tokens: true, requests: true, grants: true });
    assert_eq!(janitor.keep_if_younger, Some(Duration::from_mins(90)));
    assert_eq!((janitor.limit, janitor.batch_size), (10_000, 100));
}

#[test]
fn no_secret_of_the_command_line_is_printed_for_debugging() {
    let Commands::Migrate(migrate) = parse("sluice migrate sql up postgres://u:hunter2@h/db") else {
        panic!("not migrate");
    };
    let Commands::Serve(serve) = parse("sluice serve all --set secrets.system=hunter2hunter2hunter2") else {
        panic!("not serve");
    };
    let Commands::Remote(remote) = parse("sluice import identities f --dsn postgres://u:hunter2@h/db") else {
        panic!("not remote");
    };
    let Ok(LocalImport::Identities(import, _)) = remote.into_local() else { panic!("not local") };
    let Commands::Remote(remote) = parse("sluice import hydra --hydra-dsn postgres://u:hunter2@h/db") else {
        panic!("not remote");
    };
    let Ok(LocalImport::Hydra(hydra, _)) = remote.into_local() else { panic!("not local") };
    assert!(!format!("{migrate:?}{serve:?}{import:?}{hydra:?}").contains("hunter2"));
}

/// As a credential is whose colon was forgotten, or a key of the configuration that is written as in YAML.
#[test]
fn what_may_be_a_secret_is_not_repeated_where_it_is_wrong() {
    for (arguments, expected) in [
        (
            &["get", "client", "a", "-H", "Authorization Bearer s3cret"][..],
            "must be written as 'Name: value'",
        ),
        (&["get", "client", "a", "--http-header=Authorization Bearer: s3cret"][..], "holds no valid name"),
        (&["get", "client", "a", "-H", "Authorization: s3\u{7}cret"][..], "holds no valid value"),
        (&["serve", "all", "--set", "secrets.system: s3cret"][..], "must be key=value"),
        (&["janitor", "--set=s3cret", "memory"][..], "must be key=value"),
    ] {
        let error = Cli::read([&["sluice"], arguments].concat()).err().unwrap();
        let said = error.to_string();
        assert!(said.contains("invalid value '…' for '-") && said.contains(expected), "{said}");
        assert!(!said.contains("cret") && error.exit_code() == 2, "{said}");
    }
}

#[test]
fn a_secret_may_begin_with_a_hyphen_as_one_in_sixty_four_does() {
    for line in [
        "sluice perform client-credentials --client-id c --client-secret -R3Xw",
        "sluice revoke token --client-id c --client-secret --x ory_at_x",
        "sluice create client --secret -R3Xw",
    ] {
        parse(line);
    }
}

#[test]
fn the_help_does_not_show_the_secret_of_the_environment() {
    let mut perform = Cli::whole_command();
    let perform =
        perform.find_subcommand_mut("perform").unwrap().find_subcommand_mut("client-credentials").unwrap();
    let secret = perform.get_arguments().find(|argument| argument.get_id() == "client_secret").unwrap();
    assert!(secret.is_hide_env_values_set());
}

#[test]
fn the_help_names_every_algorithm_of_a_key() {
    let mut create = Cli::whole_command();
    let create = create.find_subcommand_mut("create").unwrap().find_subcommand_mut("jwks").unwrap();
    let alg = create.get_arguments().find(|argument| argument.get_id() == "alg").unwrap();
    let help = alg.get_help().unwrap().to_string();
    let signing = SigningAlgorithm::ALL.map(SigningAlgorithm::as_str);
    let symmetric = MacAlgorithm::ALL.map(MacAlgorithm::as_str);
    let encryption = KeyManagement::ALL.map(KeyManagement::as_str);
    for name in signing.into_iter().chain(symmetric).chain(encryption) {
        assert!(help.contains(name), "{name}: {help}");
    }
}

#[test]
fn a_completion_script_knows_the_verbs() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let Commands::Completion(completion) = parse(&format!("sluice completion {shell}")) else {
            panic!("not completion");
        };
        let mut script = Vec::new();
        completion.run(&mut script).unwrap();
        let script = String::from_utf8(script).unwrap();
        assert!(
            ["sluice", "introspect", "client-secret"].iter().all(|word| script.contains(word)),
            "{shell}"
        );
        // In that of bash, what follows an option with a value.
        assert!(!script.contains("--dev)") || shell != "bash", "a flag waits for a value");
    }
}

#[test]
fn the_version_is_laid_out_as_hydras() {
    let version = version();
    let lines: Vec<_> = version.lines().collect();
    assert_eq!(lines[0], concat!("Version:    v", env!("CARGO_PKG_VERSION")));
    assert!(lines[1].starts_with("Git Hash:   ") && lines[2].starts_with("Build Time: "), "{version}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn programs_are_told_the_version_in_their_format() {
    let printed = |line: &str| {
        let Commands::Version(command) = parse(line) else { panic!("not version") };
        assert!(!command.output.is_for_people(), "{line}");
        let mut printed = Vec::new();
        command.output.print(&version_answer(), &mut printed).unwrap();
        String::from_utf8(printed).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(&printed("sluice version --format json")).unwrap();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert!(json["git_hash"].is_string() && json["build_time"].is_string(), "{json}");
    assert_eq!(printed("sluice version -q"), concat!(env!("CARGO_PKG_VERSION"), "\n"));
}
