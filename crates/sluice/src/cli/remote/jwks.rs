//! Sets of keys: `create`, `get`, `delete`.

use clap::Args;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::error::RemoteError;
use super::server::Server;
use crate::cli::output::{Answer, text};
use crate::cli::value;

const HEADER: &[&str] = &["SET ID", KEY_ID, "ALGORITHM", "USE"];
const KEY_ID: &str = "KEY ID";
/// What is secret in a key (RFC 7518 §6).
const PRIVATE: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Creates a key.
#[derive(Clone, Args)]
pub(crate) struct CreateArgs {
    /// The id of the set; made if it does not exist
    #[arg(value_name = "SET", value_parser = value::path_segment)]
    set: String,
    /// The id of the key; made up if there is none
    #[arg(value_name = "KEY", default_value = "", hide_default_value = true)]
    key: String,
    /// The algorithm: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 or `EdDSA`; HS256, HS384 or HS512; for
    /// `--use enc` RSA-OAEP-256, RSA-OAEP, ECDH-ES, ECDH-ES+A128KW or ECDH-ES+A256KW
    #[arg(long, default_value = "RS256")]
    alg: String,
    /// What the key is for: sig or enc
    #[arg(long = "use", value_name = "USE", default_value = "sig")]
    key_use: String,
    #[command(flatten)]
    parts: PartsArgs,
}

/// Sets of keys, and what to show of them.
#[derive(Clone, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    sets: SetsArgs,
    #[command(flatten)]
    parts: PartsArgs,
}

/// Sets of keys by their ids.
#[derive(Clone, Args)]
pub(crate) struct SetsArgs {
    /// The ids of the sets
    #[arg(value_name = "SET", required = true, value_parser = value::path_segment)]
    sets: Vec<String>,
}

/// What to show of a key.
#[derive(Clone, Copy, Args)]
struct PartsArgs {
    /// Leave out what is private
    #[arg(long = "public")]
    is_public: bool,
}

pub(super) async fn create(args: &CreateArgs, server: &Server) -> Result<Answer, RemoteError> {
    let key = json!({ "alg": args.alg, "use": args.key_use, "kid": args.key });
    let reply = server.send_json(Method::POST, &["admin", "keys", &args.set], &key).await?;
    let keys = args.parts.keys(&args.set, reply.into_json()?);
    Ok(list(&keys, json!({ "set": args.set, "keys": keys })))
}

pub(super) async fn get(args: &GetArgs, server: &Server) -> Result<Answer, RemoteError> {
    let mut keys = Vec::new();
    for set in &args.sets.sets {
        let reply = server.get(&["admin", "keys", set], &[]).await?;
        keys.extend(args.parts.keys(set, reply.into_json()?));
    }
    Ok(match (keys.as_slice(), args.sets.sets.as_slice()) {
        // Like in Hydra, by the name of its set.
        ([key], _) => Answer::one(HEADER, cells(key), key.clone()),
        (keys, [set]) => list(keys, json!({ "set": set, "keys": keys })),
        (keys, _) => list(keys, json!({ "keys": keys })),
    })
}

pub(super) async fn delete(args: &SetsArgs, server: &Server) -> Result<Answer, RemoteError> {
    let (mut deleted, mut failures) = (Vec::new(), Vec::new());
    for set in &args.sets {
        match server.delete(&["admin", "keys", set], &[]).await {
            Ok(_) => deleted.push(set.clone()),
            Err(error) => failures.push(format!("{set}: {error}")),
        }
    }
    Ok(Answer::of_ids(deleted).with_failures(failures))
}

impl PartsArgs {
    /// The keys of a set, each with the name of the set.
    fn keys(self, set: &str, json: Value) -> Vec<Value> {
        let Value::Object(mut json) = json else { return Vec::new() };
        let Some(Value::Array(keys)) = json.remove("keys") else { return Vec::new() };
        let keys = keys.into_iter().filter_map(|key| match key {
            Value::Object(key) => Some(key),
            _ => None,
        });
        keys.filter_map(|key| self.shown(key))
            .map(|mut key| {
                key.insert("set".to_owned(), set.into());
                Value::Object(key)
            })
            .collect()
    }

    /// What to show of a key: of a shared secret, nothing of it is public.
    fn shown(self, mut key: Map<String, Value>) -> Option<Map<String, Value>> {
        if self.is_public {
            if key.get("kty").and_then(Value::as_str) == Some("oct") {
                return None;
            }
            make_public(&mut key);
        }
        Some(key)
    }
}

/// Leaves out what is private.
pub(super) fn make_public(key: &mut Map<String, Value>) {
    key.retain(|part, _| !PRIVATE.contains(&part.as_str()));
}

/// Keys, each with the name of its set, and identified by its own.
pub(super) fn list(keys: &[Value], json: Value) -> Answer {
    Answer::list(HEADER, keys.iter().map(cells).collect(), json).identified_by(KEY_ID)
}

fn cells(key: &Value) -> Vec<String> {
    ["set", "kid", "alg", "use"].iter().map(|field| text(key, field)).collect()
}
