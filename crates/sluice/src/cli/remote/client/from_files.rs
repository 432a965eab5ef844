//! Clients from files: `import oauth2-client`.

use std::path::{Path, PathBuf};
use std::pin::pin;

use clap::Args;
use futures_util::FutureExt;
use reqwest::Method;
use serde_json::Value;
use sluice_crypto::foreign_hash::ForeignHash;

use super::document::{STANDARD_INPUT, no_json, read};
use super::{CLIENT_ID, CLIENTS, all};
use crate::cli::output::{Answer, text};
use crate::cli::remote::error::RemoteError;
use crate::cli::remote::server::{Reply, Server};

/// Where the clients are in what `list clients --format json` prints.
const ITEMS: &str = "items";
const CLIENT_SECRET: &str = "client_secret";
/// Said of a client as the database of another server has it: the hash would become the secret itself.
const HASHED: &str = "its client_secret is a hash, not the secret: `sluice import hydra` takes clients from the database of Hydra with these, or leave it out to have a new one made";

/// Clients in files. Each keeps the id and the secret that it has there; one without a secret is given one.
#[derive(Clone, Args)]
pub(crate) struct ImportArgs {
    /// JSON files, each with a client, a list of clients, or what `list clients --format json` printed; - is the standard input,
    /// which is read where no file is named
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Registers the clients one by one. What cannot be registered, or read, is told and stands in the way of no other.
///
/// `until_told_to_stop` is called when the files have been read: until then a signal ends the program, which may wait for
/// the standard input.
pub(in crate::cli::remote) async fn import<S: Future<Output = ()>>(
    args: &ImportArgs,
    server: &Server,
    until_told_to_stop: impl FnOnce() -> S,
) -> Result<Answer, RemoteError> {
    let (mut clients, mut failures) = (Vec::new(), Vec::new());
    for path in args.sources() {
        match clients_of(&path) {
            Ok(found) => {
                let named = (1..).zip(found).map(|(place, client)| (name(&client, (&path, place)), client));
                clients.extend(named);
            }
            Err(reason) => failures.push(RemoteError::File { path, reason }.to_string()),
        }
    }
    let (imported, refused) = register_all(clients, server, until_told_to_stop()).await;
    failures.extend(refused);
    Ok(all(imported).with_failures(failures))
}

/// Registers clients, each with what it is called, until `stop`: those that were registered, and what went wrong. The
/// request that is under way is waited for, as nobody else hears of the secret that it makes.
async fn register_all(
    clients: Vec<(String, Value)>,
    server: &Server,
    stop: impl Future<Output = ()>,
) -> (Vec<Value>, Vec<String>) {
    let mut stop = pin!(stop);
    let (mut imported, mut failures) = (Vec::new(), Vec::new());
    let mut left = clients.into_iter();
    for (name, client) in left.by_ref() {
        match register(&client, server).await {
            Ok(client) => imported.push(client),
            Err(reason) => failures.push(format!("{name}: {reason}")),
        }
        if stop.as_mut().now_or_never().is_some() {
            break;
        }
    }
    let not_imported = left.len();
    if not_imported > 0 {
        failures.push(format!("interrupted: {not_imported} clients were not imported"));
    }
    (imported, failures)
}

async fn register(client: &Value, server: &Server) -> Result<Value, String> {
    let secret = client.get(CLIENT_SECRET).and_then(Value::as_str);
    if secret.is_some_and(|secret| ForeignHash::parse(secret).is_ok()) {
        return Err(HASHED.to_owned());
    }
    let reply = server.send_json(Method::POST, &CLIENTS, client).await;
    reply.and_then(Reply::into_json).map_err(|error| error.to_string())
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

/// What a client is called if it cannot be registered: by its id, or by its place in the file.
fn name(client: &Value, (path, place): (&Path, u32)) -> String {
    let id = text(client, CLIENT_ID);
    if id.is_empty() { format!("client {place} of {}", path.display()) } else { id }
}
