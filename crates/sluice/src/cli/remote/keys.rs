//! The keys that the server signs with: `keys list`, `keys rotate`.

use clap::{Args, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

use super::error::RemoteError;
use super::server::Server;
use crate::cli::output::{Answer, text};

const HEADER: &[&str] = &["KEY ID", "SET ID", "ALGORITHM", "STATE", "CREATED", "SIGNS FROM", "GONE AT"];
const KEYS: [&str; 2] = ["admin", "keys"];

/// Which keys get successors, and how.
#[derive(Clone, Args)]
pub(crate) struct RotateArgs {
    /// The keys of id tokens, of JWT access tokens, or both
    #[arg(long, value_enum, default_value_t = Set::All)]
    set: Set,
    /// Keys of this algorithm only, such as ES256; made if there is none
    #[arg(long)]
    alg: Option<String>,
    /// The new keys sign at once and the old ones never again: when a key is compromised. Who keeps the old key set does
    /// not know them for some minutes
    #[arg(long = "now")]
    is_now: bool,
    /// Delete the old keys: nothing that they signed is accepted any more
    #[arg(long = "revoke", requires = "is_now")]
    is_revoked: bool,
}

/// The sets that the server signs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Set {
    /// Of id tokens and logout tokens
    IdToken,
    /// Of JWT access tokens
    AccessToken,
    /// Both
    All,
}

impl Set {
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::IdToken => &["hydra.openid.id-token"],
            Self::AccessToken => &["hydra.jwt.access-token"],
            Self::All => &["hydra.openid.id-token", "hydra.jwt.access-token"],
        }
    }
}

pub(super) async fn list(server: &Server) -> Result<Answer, RemoteError> {
    let listed = server.get(&KEYS, &[]).await?.into_json()?;
    Ok(answer(&keys_of(&listed)))
}

pub(super) async fn rotate(args: &RotateArgs, server: &Server) -> Result<Answer, RemoteError> {
    if args.is_revoked && !args.is_now {
        return Err(RemoteError::Usage("--revoke goes with --now".to_owned()));
    }
    let mut made = Vec::new();
    for set in args.set.names() {
        let mut asked = json!({ "set": set, "at_once": args.is_now, "revoke": args.is_revoked });
        if let (Some(alg), Some(asked)) = (&args.alg, asked.as_object_mut()) {
            asked.insert("alg".to_owned(), alg.as_str().into());
        }
        let reply = server.send_json(Method::POST, &KEYS, &asked).await?;
        made.extend(keys_of(&reply.into_json()?));
    }
    Ok(answer(&made))
}

fn keys_of(json: &Value) -> Vec<Value> {
    json.get("keys").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn answer(keys: &[Value]) -> Answer {
    let fields = ["kid", "set", "alg", "state", "created_at", "signs_from", "gone_at"];
    let rows = keys.iter().map(|key| fields.iter().map(|field| text(key, field)).collect()).collect();
    Answer::list(HEADER, rows, json!({ "keys": keys }))
}
