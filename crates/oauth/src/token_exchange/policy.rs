//! Who may exchange which token, and who is told to act.
//!
//! A client may present tokens of its own, those that name it in `aud`, and those of the clients that it registered for. Its own
//! it gets without further ado: nobody else comes in. For anybody else's it must be registered for impersonation, which
//! leaves no trace of it, or for delegation, which names who acts in `act`.

use serde_json::{Map, Value};
use sluice_token::Origin;

use super::{ExchangeError, Presented};
use crate::client::Client;

/// Stands for all clients in `subject_token_clients`.
const ALL: &str = "*";
/// A longer `act` is refused, in bytes of JSON: it goes into the token.
const MAX_ACT: usize = 1024;
/// A token is handed on no more often.
const MAX_ORIGINS: usize = 8;
/// What `may_act` may identify somebody by (RFC 8693 §4.4); anything else could not be checked.
const IDENTITY: [&str; 3] = ["iss", "sub", "client_id"];

/// Whether the client may present the token at all.
///
/// # Errors
/// [`ExchangeError::OtherClient`] if not.
pub fn check_presenter(client: &Client, token: &Presented) -> Result<(), ExchangeError> {
    let owner = &token.facts.client;
    let is_listed = |name: &String| name == ALL || name == owner.as_str();
    // A token of another issuer names this server; its issuer is trusted by the administrator, not by a client.
    let may = token.assertion.is_some()
        || *owner == client.id
        || token.facts.audience.iter().any(|name| name == client.id.as_str())
        || client.token_exchange.subject_token_clients.iter().any(is_listed);
    if may { Ok(()) } else { Err(ExchangeError::OtherClient) }
}

/// What the new token says in `act`, as JSON; none for a subject that acts itself, or seems to.
///
/// # Errors
/// [`ExchangeError`] if the client may not, or the subject token lets somebody else act.
pub fn act(
    client: &Client,
    subject: &Presented,
    actor: Option<&Presented>,
    issuer: &str,
) -> Result<Option<String>, ExchangeError> {
    let before = subject.facts.rare.actor.clone();
    let policy = &client.token_exchange;
    let is_own = subject.assertion.is_none() && subject.facts.client == client.id;
    let who = match actor {
        None if is_own => return Ok(before),
        None => Actor::client(client, issuer),
        Some(token) => Actor::of(token, issuer),
    };
    if let Some(may_act) = &subject.may_act
        && !who.is(may_act)
    {
        return Err(ExchangeError::MayAct);
    }
    if before.as_ref().is_some_and(|before| before.len() > MAX_ACT) {
        return Err(ExchangeError::TooDeep);
    }
    match actor {
        None if policy.impersonation => Ok(before),
        None if !policy.delegation => Err(ExchangeError::Impersonation),
        Some(_) if !policy.delegation => Err(ExchangeError::Delegation),
        _ => who.after(before.as_deref()).map(Some),
    }
}

/// What the new token is exchanged for.
///
/// # Errors
/// [`ExchangeError::TooDeep`] if the token was handed on too often.
pub fn origins(subject: &Presented) -> Result<Vec<Origin>, ExchangeError> {
    if subject.assertion.is_some() {
        return Ok(Vec::new());
    }
    let facts = &subject.facts;
    let last = Origin { client: facts.client.clone(), token: facts.id, consented_at: facts.consented_at };
    let origins: Vec<_> = facts.rare.origins.iter().cloned().chain([last]).collect();
    if origins.len() > MAX_ORIGINS { Err(ExchangeError::TooDeep) } else { Ok(origins) }
}

/// Who acts.
struct Actor {
    /// As the server knows it.
    real: String,
    /// As others see it.
    shown: String,
    client: Option<String>,
    issuer: String,
    is_foreign: bool,
}

impl Actor {
    fn client(client: &Client, issuer: &str) -> Self {
        let id = client.id.as_str().to_owned();
        let issuer = issuer.to_owned();
        Self { real: id.clone(), shown: id.clone(), client: Some(id), issuer, is_foreign: false }
    }

    fn of(token: &Presented, issuer: &str) -> Self {
        let facts = &token.facts;
        let client = facts.client.as_str();
        let foreign = token.assertion.as_ref();
        Self {
            real: facts.subject.as_ref().map_or(client, |subject| subject.as_str()).to_owned(),
            shown: facts.visible_subject().to_owned(),
            client: foreign.is_none().then(|| client.to_owned()),
            issuer: foreign.map_or(issuer, |assertion| assertion.issuer.as_str()).to_owned(),
            is_foreign: foreign.is_some(),
        }
    }

    /// Whether it is who `may_act` names.
    fn is(&self, may_act: &Value) -> bool {
        let Some(named) = may_act.as_object() else { return false };
        let is_known = named.contains_key("sub") || named.contains_key("client_id");
        is_known
            && named.iter().all(|(name, value)| {
                let value = value.as_str();
                IDENTITY.contains(&name.as_str())
                    && match name.as_str() {
                        "sub" => value == Some(self.real.as_str()),
                        "client_id" => value.is_some() && value == self.client.as_deref(),
                        _ => value == Some(self.issuer.as_str()),
                    }
            })
    }

    /// The claim, around that of who acted before (RFC 8693 §4.1).
    fn after(&self, before: Option<&str>) -> Result<String, ExchangeError> {
        let mut act = Map::new();
        act.insert("sub".to_owned(), self.shown.clone().into());
        if let Some(client) = &self.client {
            act.insert("client_id".to_owned(), client.clone().into());
        }
        if self.is_foreign {
            act.insert("iss".to_owned(), self.issuer.clone().into());
        }
        if let Some(before) = before.and_then(|before| serde_json::from_str::<Value>(before).ok()) {
            act.insert("act".to_owned(), before);
        }
        let text = Value::Object(act).to_string();
        if text.len() > MAX_ACT { Err(ExchangeError::TooDeep) } else { Ok(text) }
    }
}
