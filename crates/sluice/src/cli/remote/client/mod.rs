//! Clients: `create`, `get`, `list`, `update`, `delete`, `import`, `rotate client-secret`.
//!
//! [`fields`]: the flags that describe a client. [`document`]: a client as a file. [`from_files`]: any number of them.

mod document;
mod fields;
mod from_files;

use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::error::RemoteError;
use super::server::Server;
use crate::cli::output::{Answer, text};
use crate::cli::value;
use document::DocumentArgs;
use fields::FieldArgs;
pub(crate) use from_files::ImportArgs;
pub(super) use from_files::import;

const HEADER: &[&str] =
    &["CLIENT ID", "CLIENT SECRET", "GRANT TYPES", "RESPONSE TYPES", "SCOPE", "AUDIENCE", "REDIRECT URIS"];
const CLIENTS: [&str; 2] = ["admin", "clients"];
const CLIENT_ID: &str = "client_id";

/// Registers a client.
#[derive(Clone, Args)]
pub(crate) struct CreateArgs {
    /// The id of the client; made up if there is none
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    document: DocumentArgs,
    #[command(flatten)]
    fields: FieldArgs,
}

/// Changes a client.
#[derive(Clone, Args)]
pub(crate) struct UpdateArgs {
    /// The id of the client
    #[arg(value_name = "ID", value_parser = value::path_segment)]
    id: String,
    #[command(flatten)]
    document: DocumentArgs,
    #[command(flatten)]
    fields: FieldArgs,
}

/// Clients by their ids.
#[derive(Clone, Args)]
pub(crate) struct IdsArgs {
    /// The ids of the clients
    #[arg(value_name = "ID", required = true, value_parser = value::path_segment)]
    ids: Vec<String>,
}

/// A page of clients.
#[derive(Clone, Args)]
pub(crate) struct ListArgs {
    /// The most clients to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    page_size: u32,
    /// Where to go on: what an earlier page ended with
    #[arg(long, value_name = "TOKEN", default_value = "", hide_default_value = true)]
    page_token: String,
}

/// The client that gets a new secret.
#[derive(Clone, Args)]
pub(crate) struct RotateSecretArgs {
    /// The id of the client
    #[arg(value_name = "ID", value_parser = value::path_segment)]
    id: String,
}

pub(super) async fn create(args: &CreateArgs, server: &Server) -> Result<Answer, RemoteError> {
    let mut client = match args.document.read()? {
        Some(document) => document,
        None => args.fields.as_new_client(),
    };
    if let Some(id) = args.id.as_deref().filter(|id| !id.is_empty()) {
        client.insert(CLIENT_ID.to_owned(), id.into());
    }
    let reply = server.send_json(Method::POST, &CLIENTS, &client.into()).await?;
    Ok(one(reply.into_json()?))
}

pub(super) async fn get(args: &IdsArgs, server: &Server) -> Result<Answer, RemoteError> {
    let mut clients = Vec::new();
    for id in &args.ids {
        clients.push(server.get(&["admin", "clients", id], &[]).await?.into_json()?);
    }
    Ok(all(clients))
}

pub(super) async fn list(args: &ListArgs, server: &Server) -> Result<Answer, RemoteError> {
    let page_size = args.page_size.to_string();
    let mut query = vec![("page_size", page_size.as_str())];
    if !args.page_token.is_empty() {
        query.push(("page_token", &args.page_token));
    }
    let reply = server.get(&CLIENTS, &query).await?;
    let next = reply.next_page_token().unwrap_or_default();
    let clients = reply.into_json()?;
    let rows = clients.as_array().map(|clients| clients.iter().map(cells).collect()).unwrap_or_default();
    let is_last = next.is_empty();
    let json = json!({ "items": clients, "next_page_token": next, "is_last_page": is_last });
    Ok(Answer::list(HEADER, rows, json)
        .with_footer("NEXT PAGE TOKEN", next)
        .with_footer("IS LAST PAGE", is_last.to_string()))
}

pub(super) async fn update(args: &UpdateArgs, server: &Server) -> Result<Answer, RemoteError> {
    let path = ["admin", "clients", &args.id];
    let reply = match args.document.read()? {
        Some(document) => server.send_json(Method::PUT, &path, &document.into()).await?,
        None => server.send_json(Method::PATCH, &path, &args.fields.as_patch()?).await?,
    };
    Ok(one(reply.into_json()?))
}

pub(super) async fn delete(args: &IdsArgs, server: &Server) -> Result<Answer, RemoteError> {
    let (mut deleted, mut failures) = (Vec::new(), Vec::new());
    for id in &args.ids {
        match server.delete(&["admin", "clients", id], &[]).await {
            Ok(_) => deleted.push(id.clone()),
            Err(error) => failures.push(format!("{id}: {error}")),
        }
    }
    Ok(Answer::of_ids(deleted).with_failures(failures))
}

pub(super) async fn rotate_secret(args: &RotateSecretArgs, server: &Server) -> Result<Answer, RemoteError> {
    let reply = server.post(&["admin", "clients", &args.id, "secrets", "rotate"]).await?;
    Ok(one(reply.into_json()?))
}

/// One client in full, or any number of them as a list.
fn all(clients: Vec<Value>) -> Answer {
    match <[Value; 1]>::try_from(clients) {
        Ok([client]) => one(client),
        Err(clients) => Answer::list(HEADER, clients.iter().map(cells).collect(), clients.into()),
    }
}

fn one(client: Value) -> Answer {
    Answer::one(HEADER, cells(&client), client)
}

fn cells(client: &Value) -> Vec<String> {
    let fields =
        [CLIENT_ID, "client_secret", "grant_types", "response_types", "scope", "audience", "redirect_uris"];
    fields.iter().map(|field| text(client, field)).collect()
}
