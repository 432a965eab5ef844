//! People: `create`, `get`, `list`, `update`, `delete`, `disable`, `enable` and `reset` them.
//!
//! [`fields`]: the flags that describe a person. [`belongings`]: their sessions and second factors.

pub(super) mod belongings;
mod fields;

use clap::{Args, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

use super::error::RemoteError;
use super::server::Server;
use crate::cli::output::{Answer, text};
use crate::cli::value;
use fields::{FieldArgs, PasswordArgs};

const HEADER: &[&str] = &["ID", "EMAIL", "VERIFIED", "USERNAME", "STATUS", "PASSWORD", "CREATED", "UPDATED"];
const IDENTITIES: [&str; 2] = ["admin", "identities"];

/// Makes a record of a person. The server makes none without an address.
#[derive(Clone, Args)]
#[command(mut_arg("email", |email| email.required(true)))]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    password: PasswordArgs,
}

/// Changes a record.
#[derive(Clone, Args)]
pub(crate) struct UpdateArgs {
    /// The id of the person
    #[arg(value_name = "ID", value_parser = value::path_segment)]
    id: String,
    #[command(flatten)]
    fields: FieldArgs,
}

/// People by their ids.
#[derive(Clone, Args)]
pub(crate) struct IdsArgs {
    /// The ids of the people
    #[arg(value_name = "ID", required = true, value_parser = value::path_segment)]
    ids: Vec<String>,
}

/// Those who must choose another password.
#[derive(Clone, Args)]
pub(crate) struct ResetArgs {
    #[command(flatten)]
    people: IdsArgs,
    /// Send each of them a mail to choose another password by; who is disabled is not reset then
    #[arg(long = "send-mail")]
    sends_mail: bool,
}

/// A page of people.
#[derive(Clone, Args)]
pub(crate) struct ListArgs {
    /// Only the person with this e-mail address
    #[arg(long)]
    email: Option<String>,
    /// Only those with this text in their e-mail address or username
    #[arg(long)]
    text: Option<String>,
    /// Only those of this status
    #[arg(long, value_enum)]
    status: Option<Status>,
    /// The most people to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    page_size: u32,
    /// Where to go on: what an earlier page ended with
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
}

/// Whether a person may log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Status {
    Active,
    Disabled,
}

impl Status {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }
}

pub(super) async fn create(args: &CreateArgs, server: &Server) -> Result<Answer, RemoteError> {
    let mut person = args.fields.as_json();
    args.password.add_to(&mut person)?;
    Ok(one(server.send_json(Method::POST, &IDENTITIES, &person.into()).await?.into_json()?))
}

pub(super) async fn get(args: &IdsArgs, server: &Server) -> Result<Answer, RemoteError> {
    let mut people = Vec::new();
    for id in &args.ids {
        people.push(server.get(&["admin", "identities", id], &[]).await?.into_json()?);
    }
    Ok(several(people))
}

/// The next page with somebody on it: the server may answer with empty ones in between, as it reads a large directory piece by piece.
pub(super) async fn list(args: &ListArgs, server: &Server) -> Result<Answer, RemoteError> {
    let mut token = args.page_token.clone();
    let (people, next) = loop {
        let (people, next) = page(args, token.as_deref(), server).await.map_err(|source| match &token {
            Some(last) if token != args.page_token => {
                RemoteError::BrokenOff { token: last.clone(), source: source.into() }
            }
            _ => source,
        })?;
        let is_empty = people.as_array().is_some_and(Vec::is_empty);
        if next.is_none() || !is_empty {
            break (people, next.unwrap_or_default());
        }
        token = next;
    };
    let rows = people.as_array().map(|people| people.iter().map(cells).collect()).unwrap_or_default();
    let is_last = next.is_empty();
    let json = json!({ "items": people, "next_page_token": next, "is_last_page": is_last });
    Ok(Answer::list(HEADER, rows, json)
        .with_footer("NEXT PAGE TOKEN", next)
        .with_footer("IS LAST PAGE", is_last.to_string()))
}

/// The people on a page, and the token of the next one.
async fn page(
    args: &ListArgs,
    token: Option<&str>,
    server: &Server,
) -> Result<(Value, Option<String>), RemoteError> {
    let page_size = args.page_size.to_string();
    let filters = [
        ("email", args.email.as_deref()),
        ("text", args.text.as_deref()),
        ("status", args.status.map(Status::as_str)),
        ("page_token", token),
    ];
    let given = filters.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let query: Vec<(&str, &str)> = std::iter::once(("page_size", page_size.as_str())).chain(given).collect();
    let reply = server.get(&IDENTITIES, &query).await?;
    let next = reply.next_page_token();
    Ok((reply.into_json()?, next))
}

pub(super) async fn update(args: &UpdateArgs, server: &Server) -> Result<Answer, RemoteError> {
    let change = args.fields.as_json();
    if change.is_empty() {
        return Err(RemoteError::Usage("there is nothing to change".to_owned()));
    }
    let path = ["admin", "identities", &args.id];
    Ok(one(server.send_json(Method::PATCH, &path, &change.into()).await?.into_json()?))
}

pub(super) async fn disable(args: &IdsArgs, server: &Server) -> Result<Answer, RemoteError> {
    set_status(args, Status::Disabled, server).await
}

pub(super) async fn enable(args: &IdsArgs, server: &Server) -> Result<Answer, RemoteError> {
    set_status(args, Status::Active, server).await
}

async fn set_status(args: &IdsArgs, status: Status, server: &Server) -> Result<Answer, RemoteError> {
    let change = json!({ "status": status.as_str() });
    let (mut changed, mut failures) = (Vec::new(), Vec::new());
    for id in &args.ids {
        match server.send_json(Method::PATCH, &["admin", "identities", id], &change).await {
            Ok(reply) => changed.push(reply.into_json()?),
            Err(error) => failures.push(format!("{id}: {error}")),
        }
    }
    Ok(several(changed).with_failures(failures))
}

pub(super) async fn delete(args: &IdsArgs, server: &Server) -> Result<Answer, RemoteError> {
    let (mut deleted, mut failures) = (Vec::new(), Vec::new());
    for id in &args.ids {
        match server.delete(&["admin", "identities", id], &[]).await {
            Ok(_) => deleted.push(id.clone()),
            Err(error) => failures.push(format!("{id}: {error}")),
        }
    }
    Ok(Answer::of_ids(deleted).with_failures(failures))
}

pub(super) async fn reset_credentials(args: &ResetArgs, server: &Server) -> Result<Answer, RemoteError> {
    let asked = json!({ "send_mail": args.sends_mail });
    let (mut reset, mut failures) = (Vec::new(), Vec::new());
    for id in &args.people.ids {
        let path = ["admin", "identities", id, "credentials", "reset"];
        match server.send_json(Method::POST, &path, &asked).await {
            Ok(_) => reset.push(id.clone()),
            Err(error) => failures.push(format!("{id}: {error}")),
        }
    }
    Ok(Answer::of_ids(reset).with_failures(failures))
}

fn several(people: Vec<Value>) -> Answer {
    match <[Value; 1]>::try_from(people) {
        Ok([person]) => one(person),
        Err(people) => Answer::list(HEADER, people.iter().map(cells).collect(), people.into()),
    }
}

fn one(person: Value) -> Answer {
    Answer::one(HEADER, cells(&person), person)
}

fn cells(person: &Value) -> Vec<String> {
    let fields =
        ["id", "email", "email_verified", "username", "status", "has_password", "created_at", "updated_at"];
    fields.iter().map(|field| text(person, field)).collect()
}
