//! `sluice secrets status`.

use std::ffi::OsString;

use super::{load, print};
use crate::cli::{Console, Exit, SecretsCommand};

/// Shows how many secrets there are for each purpose; never the secrets.
pub(crate) fn run(
    secrets: SecretsCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let SecretsCommand::Status(configuration) = secrets;
    let Some(loaded) = load(&configuration.sources(environment)) else { return Exit::Failure };
    let secrets = &loaded.settings.secrets;
    let lists = [
        ("secrets.system", secrets.system.len()),
        ("secrets.cookie", secrets.cookie.len()),
        ("secrets.storage", secrets.storage.len()),
    ];
    for (key, count) in lists {
        let line = match count {
            0 if key == "secrets.system" => format!("{key:<16} none (made at start in development mode)"),
            0 if key == "secrets.cookie" => format!("{key:<16} none (secrets.system seals)"),
            0 => format!("{key:<16} none (derived from secrets.system)"),
            1 => format!("{key:<16} 1, seals and opens"),
            more => format!("{key:<16} {more}: the first seals, all open"),
        };
        if print(console, &line) == Exit::Failure {
            return Exit::Failure;
        }
    }
    Exit::Success
}
