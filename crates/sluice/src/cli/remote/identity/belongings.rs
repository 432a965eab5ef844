//! Where a person is signed in, and by what else than a password.

use clap::Args;
use serde_json::Value;

use crate::cli::output::{Answer, text};
use crate::cli::remote::error::RemoteError;
use crate::cli::remote::server::Server;
use crate::cli::value;

const SESSION_HEADER: &[&str] =
    &["ID", "KIND", "DEVICE", "NETWORK", "AMR", "SIGNED IN", "LAST SEEN", "EXPIRES"];
const SESSION_FIELDS: [&str; 8] =
    ["id", "kind", "device", "network", "amr", "authenticated_at", "last_seen_at", "expires_at"];
const FACTOR_HEADER: &[&str] = &["ID", "KIND", "NAME", "CREATED", "LAST USED"];
const FACTOR_FIELDS: [&str; 5] = ["id", "kind", "name", "created_at", "last_used_at"];

/// Whose.
#[derive(Clone, Args)]
pub(crate) struct PersonArgs {
    /// The id of the person
    #[arg(value_name = "PERSON", value_parser = value::path_segment)]
    person: String,
}

/// Some of what a person has.
#[derive(Clone, Args)]
pub(crate) struct SomeArgs {
    /// The id of the person
    #[arg(value_name = "PERSON", value_parser = value::path_segment)]
    person: String,
    /// The ids
    #[arg(value_name = "ID", required = true, value_parser = value::path_segment)]
    ids: Vec<String>,
}

pub(in crate::cli::remote) async fn list_sessions(
    args: &PersonArgs,
    server: &Server,
) -> Result<Answer, RemoteError> {
    let sessions = server.get(&["admin", "identities", &args.person, "sessions"], &[]).await?.into_json()?;
    Ok(Answer::list(SESSION_HEADER, rows(&sessions, &SESSION_FIELDS), sessions))
}

pub(in crate::cli::remote) async fn end_sessions(
    args: &SomeArgs,
    server: &Server,
) -> Result<Answer, RemoteError> {
    delete(args, "sessions", server).await
}

pub(in crate::cli::remote) async fn end_all_sessions(
    args: &PersonArgs,
    server: &Server,
) -> Result<Answer, RemoteError> {
    server.delete(&["admin", "identities", &args.person, "sessions"], &[]).await?;
    Ok(Answer::of_ids(vec![args.person.clone()]))
}

pub(in crate::cli::remote) async fn list_factors(
    args: &PersonArgs,
    server: &Server,
) -> Result<Answer, RemoteError> {
    let json = server.get(&["admin", "identities", &args.person, "factors"], &[]).await?.into_json()?;
    let rows = rows(json.get("factors").unwrap_or(&Value::Null), &FACTOR_FIELDS);
    let codes = text(&json, "recovery_codes_left");
    Ok(Answer::list(FACTOR_HEADER, rows, json).with_footer("RECOVERY CODES LEFT", codes))
}

pub(in crate::cli::remote) async fn remove_factors(
    args: &SomeArgs,
    server: &Server,
) -> Result<Answer, RemoteError> {
    delete(args, "factors", server).await
}

async fn delete(args: &SomeArgs, what: &str, server: &Server) -> Result<Answer, RemoteError> {
    let (mut deleted, mut failures) = (Vec::new(), Vec::new());
    for id in &args.ids {
        match server.delete(&["admin", "identities", &args.person, what, id], &[]).await {
            Ok(_) => deleted.push(id.clone()),
            Err(error) => failures.push(format!("{id}: {error}")),
        }
    }
    Ok(Answer::of_ids(deleted).with_failures(failures))
}

fn rows(items: &Value, fields: &[&str]) -> Vec<Vec<String>> {
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| fields.iter().map(|field| text(item, field)).collect()).collect()
}
