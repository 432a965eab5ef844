//! `sluice import hydra`: what an Ory Hydra keeps, from its database into ours.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sluice_crypto::hydra::HydraSecrets;
use sluice_oauth::takeover::{Part, TakesAway};
use sluice_primitives::Secret;

use super::transfer::InstallationArgs;
use super::{Console, value};

/// Holds the database of Hydra, if the command line does not.
const DSN: &str = "HYDRA_DSN";
/// Holds its system secrets, if no file does. There is no flag: flags can be read in the list of processes.
const SECRETS: &str = "HYDRA_SECRETS_SYSTEM";

/// The flag by which all goes here that has gone there.
pub(crate) const TAKE_AWAY_ALL: &str = "--take-away-all";

/// What a Hydra keeps.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportHydraArgs {
    /// The database of Hydra, `postgres://…`, as its `dsn` says; it is only read. Otherwise what the variable `HYDRA_DSN` says. Its
    /// system secrets are what the variable `HYDRA_SECRETS_SYSTEM` says, newest first, as Hydra's own `SECRETS_SYSTEM`: separated by
    /// commas, one that has commas in quotes, or a JSON array
    #[arg(long, value_name = "DSN", value_parser = value::secret)]
    hydra_dsn: Option<Secret<String>>,
    /// A file with Hydra's system secrets, one a line, newest first
    #[arg(long, value_name = "FILE")]
    hydra_secrets_file: Option<PathBuf>,
    /// Import only this; may be given several times
    #[arg(long = "only", value_name = "PART", value_enum)]
    only: Vec<PartArg>,
    /// Write what was refused to this file, as JSON lines with `part`, `id` and `reason`
    #[arg(long, value_name = "FILE")]
    pub(crate) errors: Option<PathBuf>,
    /// Take away here all that was imported and is not at Hydra any more. Otherwise nothing of a part goes if that is more than a tenth of it,
    /// and more than ten, and no token if none lives there: the database may be another one, or not whole
    #[arg(long = "take-away-all")]
    takes_away_all: bool,
    #[command(flatten)]
    pub(crate) installation: InstallationArgs,
}

/// What can be imported by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartArg {
    /// The keys that Hydra signs with, which go on to sign
    Keys,
    /// Clients, with the hashes of their secrets
    Clients,
    /// Trusted issuers of assertions
    Issuers,
    /// Remembered consents
    Consents,
    /// Refresh tokens, which go on to work
    Tokens,
}

impl PartArg {
    const fn part(self) -> Part {
        match self {
            Self::Keys => Part::SigningKeys,
            Self::Clients => Part::Clients,
            Self::Issuers => Part::Issuers,
            Self::Consents => Part::Consents,
            Self::Tokens => Part::Tokens,
        }
    }
}

impl ImportHydraArgs {
    /// What is to be imported, in the order in which one rests on the other.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let only: Vec<Part> = self.only.iter().map(|only| only.part()).collect();
        Part::ALL.into_iter().filter(|part| only.is_empty() || only.contains(part)).collect()
    }

    /// What may be taken away here.
    pub(crate) const fn takes_away(&self) -> TakesAway {
        if self.takes_away_all { TakesAway::All } else { TakesAway::Few }
    }

    /// The database of Hydra.
    ///
    /// # Errors
    /// A sentence if none is named.
    pub(crate) fn hydra_dsn(&self, console: &Console<'_>) -> Result<Secret<String>, String> {
        let named = self.hydra_dsn.clone().or_else(|| console.first_variable(&[DSN]).map(Secret::new));
        named.ok_or_else(|| format!("name the database of Hydra: --hydra-dsn, or the variable {DSN}"))
    }

    /// The system secrets of Hydra.
    ///
    /// # Errors
    /// A sentence if there are none.
    pub(crate) fn hydra_secrets(&self, console: &Console<'_>) -> Result<HydraSecrets, String> {
        let secrets = if let Some(path) = &self.hydra_secrets_file {
            lines(&read(path)?)
        } else {
            let text = Secret::new(console.first_variable(&[SECRETS]).unwrap_or_default());
            let misplaced =
                || format!("{SECRETS}: quotes stand around a whole secret, and one within is doubled");
            items(&text).ok_or_else(misplaced)?
        };
        if secrets.is_empty() {
            return Err(format!(
                "name the system secrets of Hydra: the variable {SECRETS}, or --hydra-secrets-file"
            ));
        }
        Ok(HydraSecrets::new(&secrets))
    }
}

fn read(path: &Path) -> Result<Secret<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(Secret::new(text))
}

/// The secrets of a file, without what surrounds them.
fn lines(text: &Secret<String>) -> Vec<Secret<String>> {
    let all = text.expose().lines().map(str::trim).filter(|secret| !secret.is_empty());
    all.map(|secret| Secret::new(secret.to_owned())).collect()
}

/// The secrets of a variable, as Hydra reads its own: a JSON array, or a line of CSV (RFC 4180 §2), where spaces around a secret are part of it.
/// As they are hardly ever meant, it is tried without them, too. `None`: there are quotes where none may be.
fn items(text: &Secret<String>) -> Option<Vec<Secret<String>>> {
    let mut rest = text.expose().as_str();
    let mut all: Vec<Secret<String>> = Vec::new();
    if let Ok(listed) = serde_json::from_str::<Vec<String>>(rest) {
        all.extend(listed.into_iter().map(Secret::new));
        rest = "";
    }
    while !rest.is_empty() {
        if let Some(begun) = rest.trim_start().strip_prefix('"') {
            let (secret, behind) = quoted(begun)?;
            all.push(secret);
            rest = behind.trim_start();
            if !rest.is_empty() && !rest.starts_with(',') {
                return None;
            }
        } else {
            let (secret, behind) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            let bare = secret.trim();
            all.push(Secret::new(bare.to_owned()));
            all.extend((bare != secret).then(|| Secret::new(secret.to_owned())));
            rest = behind;
        }
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    all.retain(|secret| !secret.expose().trim().is_empty());
    Some(all)
}

/// What stands before the quote that ends it, of two that follow each other one; and what is behind that.
fn quoted(text: &str) -> Option<(Secret<String>, &str)> {
    let mut secret = String::new();
    let mut rest = text;
    loop {
        let (part, behind) = rest.split_once('"')?;
        secret.push_str(part);
        let Some(further) = behind.strip_prefix('"') else { return Some((Secret::new(secret), behind)) };
        secret.push('"');
        rest = further;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_read_from_the_lines_of_a_file() {
        let all = lines(&Secret::new("new,secret\r\n\"old\"\n\n".to_owned()));
        let all: Vec<_> = all.iter().map(|secret| secret.expose().as_str()).collect();
        assert_eq!(all, ["new,secret", "\"old\""]);
    }

    #[test]
    fn secrets_of_a_variable_are_read_as_hydra_reads_its_own() {
        let all = |text: &str| {
            let all = items(&Secret::new(text.to_owned()))?;
            Some(all.iter().map(|secret| secret.expose().clone()).collect::<Vec<_>>())
        };
        for (text, expected) in [
            ("", vec![]),
            (" ", vec![]),
            ("new-secret", vec!["new-secret"]),
            ("new-secret,old-secret,", vec!["new-secret", "old-secret"]),
            ("new-secret, old-secret\n", vec!["new-secret", "old-secret", " old-secret\n"]),
            (r#""new,secret","the ""old"" one""#, vec!["new,secret", r#"the "old" one"#]),
            (r#"new-secret, " old,secret " ,older"#, vec!["new-secret", " old,secret ", "older"]),
            (r#"["new,secret", " old-secret"]"#, vec!["new,secret", " old-secret"]),
            ("[new-secret", vec!["[new-secret"]),
            (r#"a"b"#, vec![r#"a"b"#]),
        ] {
            assert_eq!(all(text).unwrap(), expected, "{text:?}");
        }
        for wrong in [r#""new-secret"#, r#""new"secret"#, r#"new,"old" er"#] {
            assert_eq!(all(wrong), None, "{wrong:?}");
        }
    }
}
