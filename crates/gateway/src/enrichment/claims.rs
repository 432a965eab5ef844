//! A claim of a caller by its name, whatever kind of token said it.

use serde_json::{Map, Value, json};
use sluice_primitives::Timestamp;
use sluice_token::claims::Extra;
use sluice_token::jwt::is_reserved;
use sluice_token::{AccessTokenClaims, Confirmation};

use crate::authn::{Caller, PersonClaims};

/// What a caller's token says, by name.
pub(super) struct Claims<'a> {
    caller: &'a Caller,
    /// What the consent page added to a token of the authorization server.
    extra: Option<Map<String, Value>>,
}

impl<'a> Claims<'a> {
    /// The claims of a caller.
    pub(super) fn of(caller: &'a Caller) -> Self {
        let extra = match caller {
            Caller::Own(claims) => match &claims.extra {
                Extra::Inline(json) => serde_json::from_str(json).ok(),
                // Too much for the token: only introspection tells.
                Extra::InGrant | Extra::None => None,
            },
            Caller::Person(_) | Caller::Foreign(_) => None,
        };
        Self { caller, extra }
    }

    /// Whether the token has all that is said of the caller.
    pub(super) fn are_all_in_token(&self) -> bool {
        !matches!(self.caller, Caller::Own(claims) if matches!(claims.extra, Extra::InGrant))
    }

    /// The claim of this name; else, of names separated by dots, that below `ext`. Null is nothing.
    pub(super) fn find(&self, name: &str) -> Option<Value> {
        let found = match self.caller {
            Caller::Own(claims) if is_servers(name) => own(claims, name),
            Caller::Own(_) => self.extra.as_ref().and_then(|extra| below(extra, name)),
            Caller::Person(claims) => of_person(claims, name),
            Caller::Foreign(claims) => below(&claims.claims, name),
        };
        found.filter(|value| !value.is_null())
    }
}

/// A claim as text: strings as they are, everything else as JSON.
pub(super) fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A member by its whole name, else by a path, with or without `ext` before it.
fn below(claims: &Map<String, Value>, name: &str) -> Option<Value> {
    if let Some(value) = claims.get(name) {
        return Some(value.clone());
    }
    let inside = name.strip_prefix("ext.").unwrap_or(name);
    let ext = claims.get("ext").and_then(Value::as_object);
    ext.and_then(|ext| at(ext, inside)).or_else(|| at(claims, inside)).cloned()
}

fn at<'v>(claims: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = claims.get(path) {
        return Some(value);
    }
    let mut names = path.split('.');
    let first = claims.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

/// Whether only the server speaks where this name leads to, also of a token that does not say it.
fn is_servers(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    first == "sid" || (first != "ext" && is_reserved(first))
}

/// A claim of the server's, or what is inside of it.
fn own(claims: &AccessTokenClaims, path: &str) -> Option<Value> {
    let mut names = path.split('.');
    let claim = own_claim(claims, names.next()?)?;
    names.try_fold(claim, |value, name| value.get(name).cloned())
}

fn own_claim(claims: &AccessTokenClaims, name: &str) -> Option<Value> {
    let rare = &claims.rare;
    let as_json = |text: &Option<String>| serde_json::from_str(text.as_deref()?).ok();
    Some(match name {
        "sub" => json!(claims.visible_subject()),
        "client_id" => json!(claims.client.as_str()),
        "scope" => json!(claims.scope.as_str()),
        "aud" => json!(claims.audience),
        "exp" => json!(claims.expires_at.as_secs()),
        "iat" => json!(claims.issued_at.as_secs()),
        "jti" => json!(claims.id.to_string()),
        "auth_time" => json!(claims.logged_in_at().map(Timestamp::as_secs)?),
        "cnf" => rare.confirmation.as_ref().map(Confirmation::to_json)?,
        "acr" => json!(rare.acr.as_deref()?),
        "amr" if !rare.amr.is_empty() => json!(rare.amr),
        "act" => as_json(&rare.actor)?,
        "authorization_details" => as_json(&rare.authorization_details)?,
        _ => return None,
    })
}

fn of_person(claims: &PersonClaims, name: &str) -> Option<Value> {
    Some(match name {
        "sub" => json!(claims.subject.as_str()),
        "sid" => json!(claims.session.to_string()),
        "iss" => json!(claims.issuer),
        "aud" => json!(claims.audience),
        "exp" => json!(claims.expires_at.as_secs()),
        "auth_time" => json!(claims.authenticated_at.as_secs()),
        "amr" => json!(claims.amr),
        "acr" => json!(claims.acr),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
