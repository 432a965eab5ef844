//! The flags that describe a person.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::Status;
use crate::cli::remote::error::RemoteError;
use crate::cli::value;

/// The name that stands for the standard input.
const STANDARD_INPUT: &str = "-";

/// What a record says.
#[derive(Clone, Args)]
pub(super) struct FieldArgs {
    /// The e-mail address, by which the person logs in
    #[arg(long)]
    email: Option<String>,
    /// What the person wants to be called
    #[arg(long)]
    username: Option<String>,
    /// Whether the person may log in
    #[arg(long, value_enum)]
    status: Option<Status>,
    /// Whether the person is known to read mail at the address
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = value::boolean)]
    email_verified: Option<bool>,
}

impl FieldArgs {
    /// What was given, as the server reads it.
    pub(super) fn as_json(&self) -> Map<String, Value> {
        let fields = [
            ("email", self.email.clone().map(Value::from)),
            ("username", self.username.clone().map(Value::from)),
            ("status", self.status.map(|status| status.as_str().into())),
            ("email_verified", self.email_verified.map(Value::from)),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// The password of a new person. There is no flag for itself: flags can be read in the list of processes.
#[derive(Clone, Args)]
pub(super) struct PasswordArgs {
    /// A file whose first line is the password, or - for the standard input
    #[arg(long, value_name = "FILE", conflicts_with = "password_hash_file")]
    password_file: Option<PathBuf>,
    /// A file whose first line is a hash of the password that another program made, or - for the standard input
    #[arg(long, value_name = "FILE")]
    password_hash_file: Option<PathBuf>,
}

impl PasswordArgs {
    /// Adds the password, if one was given.
    pub(super) fn add_to(&self, person: &mut Map<String, Value>) -> Result<(), RemoteError> {
        for (name, path) in [("password", &self.password_file), ("password_hash", &self.password_hash_file)] {
            let Some(path) = path else { continue };
            let failed =
                |error: std::io::Error| RemoteError::File { path: path.clone(), reason: error.to_string() };
            let text = Zeroizing::new(read(path).map_err(failed)?);
            person.insert(name.to_owned(), text.lines().next().unwrap_or_default().into());
        }
        Ok(())
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    if path.as_os_str() != STANDARD_INPUT {
        return std::fs::read_to_string(path);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
