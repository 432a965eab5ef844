//! A configuration that can be read once, as one that is decrypted on its way to the program.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::program::run;

/// Whether this command did what it was to do, with this configuration in a pipe, and all that it said.
fn piped(command: &str, configuration: &Value) -> (bool, String) {
    let line = format!("printf '%s' \"$1\" | \"$0\" {command} -c /dev/stdin 2>&1");
    let configuration = configuration.to_string();
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().args(["-c", &line, env!("CARGO_BIN_EXE_sluice"), &configuration]);
    let Output { status, stdout, .. } = shell.output().unwrap();
    (status.success(), String::from_utf8(stdout).unwrap())
}

#[test]
fn a_command_that_reads_several_sections_reads_their_configuration_once() {
    let directory = tempfile::tempdir().unwrap();
    let dsn = format!("sqlite:{}", directory.path().join("sluice.db").display());
    assert!(run(&["migrate", "sql", "up", "-e", "--yes"], &[("DSN", &dsn)]).success);
    let configuration = json!({"dsn": dsn, "ttl": {"refresh_token": "48h"}});
    assert_eq!(piped("janitor", &configuration), (true, "Deleted 0 expired rows.\n".to_owned()));
    // The two that follow miss what is not there, and nothing else.
    for command in ["config show", "serve gateway"] {
        let (success, said) = piped(command, &configuration);
        assert!(!success && said.contains("secrets.system: is required"), "{command}: {said}");
        assert!(!said.contains("dsn: is required"), "{command}: {said}");
        // What is set comes first, for it is long.
        assert!(said.find("refresh_token: ") < said.find("the configuration is refused"), "{said}");
        assert_eq!(
            said.contains("refresh_token: \"48h\"  # /dev/stdin\n"),
            command == "config show",
            "{said}"
        );
    }
}
