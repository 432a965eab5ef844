//! Clients from files: `import oauth2-client`.

use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Method;
use serde_json::Value;

use super::document::{STANDARD_INPUT, no_json, read};
use super::{CLIENT_ID, CLIENTS, all};
use crate::cli::output::{Answer, text};
use crate::cli::remote::error::RemoteError;
use crate::cli::remote::server::{Reply, Server};

/// Where the clients are in what `list clients --format json` prints.
const ITEMS: &str = "items";

/// Clients in files. Each keeps the id and the secret that it has there; one without a secret is given one.
#[derive(Clone, Args)]
pub(crate) struct ImportArgs {
    /// JSON files, each with a client, a list of clients, or what `list clients --format json` printed; - is the standard input,
    /// which is read where no file is named
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Registers the clients one by one. What cannot be registered, or read, is told and stands in the way of no other.
pub(in crate::cli::remote) async fn import(
    args: &ImportArgs,
    server: &Server,
) -> Result<Answer, RemoteError> {
    let (mut imported, mut failures) = (Vec::new(), Vec::new());
    for path in args.sources() {
        let clients = match clients_of(&path) {
            Ok(clients) => clients,
            Err(reason) => {
                failures.push(RemoteError::File { path, reason }.to_string());
                continue;
            }
        };
        for (place, client) in (1..).zip(clients) {
            let made = server.send_json(Method::POST, &CLIENTS, &client).await.and_then(Reply::into_json);
            match made {
                Ok(client) => imported.push(client),
                Err(error) => failures.push(format!("{}: {error}", name(&client, (&path, place)))),
            }
        }
    }
    Ok(all(imported).with_failures(failures))
}

impl ImportArgs {
    fn sources(&self) -> Vec<PathBuf> {
        if self.files.is_empty() { vec![PathBuf::from(STANDARD_INPUT)] } else { self.files.clone() }
    }
}

/// The clients of a file.
fn clients_of(path: &Path) -> Result<Vec<Value>, String> {
    let text = read(path).map_err(|error| error.to_string())?;
    let json: Value = serde_json::from_slice(&text).map_err(|error| no_json("client or list", &error))?;
    match json {
        Value::Array(clients) => Ok(clients),
        Value::Object(mut members) => match members.remove(ITEMS) {
            Some(Value::Array(clients)) => Ok(clients),
            _ => Ok(vec![Value::Object(members)]),
        },
        _ => Err("it holds neither a client nor a list of clients".to_owned()),
    }
}

/// What a client is called that could not be registered: by its id, or by its place in the file.
fn name(client: &Value, (path, place): (&Path, u32)) -> String {
    let id = text(client, CLIENT_ID);
    if id.is_empty() { format!("client {place} of {}", path.display()) } else { id }
}
