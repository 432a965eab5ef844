//! A client as a JSON file.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};

use crate::cli::remote::error::RemoteError;

/// The name that stands for the standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// A client as a JSON file.
#[derive(Clone, Args)]
pub(super) struct DocumentArgs {
    /// A JSON file that describes the whole client, or - for the standard input; other flags are ignored
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl DocumentArgs {
    /// The file's client, if there is a file.
    pub(super) fn read(&self) -> Result<Option<Map<String, Value>>, RemoteError> {
        let Some(path) = &self.file else { return Ok(None) };
        let failed = |reason: String| RemoteError::File { path: path.clone(), reason };
        let text = read(path).map_err(|error| failed(error.to_string()))?;
        serde_json::from_slice(&text).map(Some).map_err(|error| failed(no_json("object", &error)))
    }
}

/// Where a file is something else. Not what: it may hold a secret.
pub(super) fn no_json(what: &str, error: &serde_json::Error) -> String {
    format!("it is no JSON {what} (line {}, column {})", error.line(), error.column())
}

/// The file, or the standard input.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path.as_os_str() != STANDARD_INPUT {
        return std::fs::read(path);
    }
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text)?;
    Ok(text)
}
