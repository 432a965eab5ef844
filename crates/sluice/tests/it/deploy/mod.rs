//! What `deploy/` has for systemd, Kubernetes and Prometheus, held against the program.

mod kubernetes;
mod prometheus;
mod systemd;

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::run;

/// Where the files say that the configuration is.
const CONFIGURATION: &str = "/etc/sluice";
/// How long what is in flight may take once a node is told to stop, in seconds.
const DRAIN: u64 = 30;

/// A folder of `deploy/`.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The variables that a file leaves to be filled in, filled in.
struct Environment(Vec<(String, String)>);

impl Environment {
    /// With a database in this folder.
    fn of<'a>(names: impl Iterator<Item = &'a str>, directory: &Path) -> Self {
        let value = |name: &str| match name {
            "DSN" => format!("sqlite:{}", directory.join("sluice.db").display()),
            _ => format!("what-these-tests-fill-in-for-{name}"),
        };
        Self(names.map(|name| (name.to_owned(), value(name))).collect())
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str()).unwrap()
    }
}

/// Arguments of the program, where its configuration is in this folder.
fn with_configuration_in(directory: &Path, arguments: &[&str]) -> Vec<String> {
    let directory = directory.display().to_string();
    arguments.iter().map(|argument| argument.replace(CONFIGURATION, &directory)).collect()
}

fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// What of them is unknown is told before the help is.
fn assert_known(arguments: &[&str]) {
    let asked = run(&[arguments, &["--help"]].concat(), &[]);
    assert!(asked.success, "{arguments:?}: {}", asked.stderr);
}

/// Every key of the configuration and every variable means something, and is right.
fn assert_understood(file: &Path, environment: &Environment, more: &[(&str, &str)]) -> String {
    let variables = [environment.pairs(), more.to_vec()].concat();
    let shown = run(&["config", "show", "--config", file.to_str().unwrap()], &variables);
    assert!(shown.success, "{}", shown.stderr);
    assert!(!shown.stderr.contains("warning: "), "{}", shown.stderr);
    for (name, _) in &environment.0 {
        assert!(
            shown.stdout.contains(&format!("# environment variable {name}\n")),
            "{name}: {}",
            shown.stdout
        );
    }
    shown.stdout
}

/// With any one of the variables as the file has it, the configuration is refused, and the variable or its key is named.
fn assert_none_may_be_left_empty(file: &Path, environment: &Environment) {
    for (left, _) in &environment.0 {
        let mut variables = environment.pairs();
        for (name, value) in &mut variables {
            if *name == left.as_str() {
                *value = "";
            }
        }
        let shown = run(&["config", "show", "--config", file.to_str().unwrap()], &variables);
        let named = shown.stderr.to_uppercase().replace('.', "_").contains(&format!("{left}: IS "));
        assert!(!shown.success && named, "{left}: {}", shown.stderr);
    }
}
