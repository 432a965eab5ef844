//! Who may exchange which token, and who is told to act.
//!
//! A client may present tokens of its own, those that name it in their own `aud`, and those of the clients that it registered
//! for. Its own it gets without further ado: nobody else comes in. For anybody else's it must be registered for
//! impersonation, which leaves no trace of it, or for delegation, which names who acts in `act`.

use serde_json::{Map, Value};
use sluice_token::{AccessTokenClaims, Confirmation, Origin};

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
        || token.audience.iter().any(|name| name == client.id.as_str())
        || client.token_exchange.subject_token_clients.iter().any(is_listed);
    if may { Ok(()) } else { Err(ExchangeError::OtherClient) }
}

/// Whether an access token that is bound to a key may be exchanged by a client that proved this one. A token of its own
/// takes the same key, or whoever stole it could have it bound to another. Somebody else's was handed on by who has the
/// key; but what was bound stays bound.
///
/// # Errors
/// [`ExchangeError::OtherKey`] and [`ExchangeError::Unbound`] if not.
pub fn check_key(
    (client, proven): (&Client, Option<Confirmation>),
    token: &AccessTokenClaims,
) -> Result<(), ExchangeError> {
    let bound = token.rare.confirmation;
    match proven {
        _ if bound.is_none() || proven == bound => Ok(()),
        _ if token.client == client.id => Err(ExchangeError::OtherKey),
        None => Err(ExchangeError::Unbound),
        Some(_) => Ok(()),
    }
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
        && !who.is(may_act, subject.assertion.as_ref().map_or(issuer, |assertion| assertion.issuer.as_str()))
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
    /// A client of this server, rather than a user of one.
    is_client: bool,
}

impl Actor {
    fn client(client: &Client, issuer: &str) -> Self {
        let id = client.id.as_str().to_owned();
        let issuer = issuer.to_owned();
        Self {
            real: id.clone(),
            shown: id.clone(),
            client: Some(id),
            issuer,
            is_foreign: false,
            is_client: true,
        }
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
            is_client: foreign.is_none() && facts.subject.is_none(),
        }
    }

    /// Whether it is who `may_act` names, which is a subject or a client of the issuer that says so if it names no other one.
    /// `client_id` alone names a client itself; beside `sub`, through which client somebody acts.
    fn is(&self, may_act: &Value, said_by: &str) -> bool {
        let Some(named) = may_act.as_object() else { return false };
        let is_known = named.contains_key("sub") || named.contains_key("client_id");
        let issuer = named.get("iss").map_or(Some(said_by), Value::as_str);
        let is_named = self.is_client || named.contains_key("sub");
        is_known
            && is_named
            && issuer == Some(self.issuer.as_str())
            && named.iter().all(|(name, value)| {
                let value = value.as_str();
                IDENTITY.contains(&name.as_str())
                    && match name.as_str() {
                        "sub" => value == Some(self.real.as_str()),
                        "client_id" => value.is_some() && value == self.client.as_deref(),
                        _ => true,
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

#[cfg(test)]
mod tests {
    use sluice_primitives::{GrantId, Timestamp};
    use sluice_protocol::Scope;
    use sluice_token::TokenId;
    use sluice_token::claims::{Extra, RareClaims};

    use super::*;
    use crate::client::fake::client;

    fn token(of: &str, confirmation: Option<Confirmation>) -> AccessTokenClaims {
        let at = Timestamp::from_secs(1);
        AccessTokenClaims {
            id: TokenId::from_bytes([1; 16]),
            grant: GrantId::from_bytes([2; 16]),
            client: of.parse().unwrap(),
            subject: None,
            session: None,
            scope: Scope::default(),
            audience: Vec::new(),
            issued_at: at,
            expires_at: at,
            authenticated_at: at,
            consented_at: at,
            extra: Extra::None,
            userinfo: Extra::None,
            rare: RareClaims { confirmation, ..RareClaims::default() },
        }
    }

    #[test]
    fn what_is_bound_to_a_key_stays_bound() {
        let (own, other) = (Some(Confirmation::Jkt([1; 32])), Some(Confirmation::X5tS256([1; 32])));
        let app = client("app");
        let check = |proven, of, bound| check_key((&app, proven), &token(of, bound));
        for of in ["app", "shop"] {
            assert!(check(None, of, None).is_ok() && check(own, of, None).is_ok());
            assert!(check(own, of, own).is_ok());
        }
        assert!(matches!(check(None, "app", own), Err(ExchangeError::OtherKey)));
        assert!(matches!(check(other, "app", own), Err(ExchangeError::OtherKey)));
        assert!(matches!(check(None, "shop", own), Err(ExchangeError::Unbound)));
        assert!(check(other, "shop", own).is_ok(), "it was handed on");
    }
}
