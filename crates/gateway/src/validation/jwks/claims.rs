//! What a JWT of another issuer says, and whether it may say so (RFC 7519 §4.1, RFC 9068 §4).

use std::time::Duration;

use serde_json::{Map, Value};
use sluice_crypto::jws::VerifiedJws;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_token::Confirmation;

use crate::authn::ForeignClaims;
use crate::validation::{ClientMark, IssuerConfig, TokenFault};

/// Types that are access tokens. Others (`dpop+jwt`, `logout+jwt`, `secevent+jwt`, …) are for something else (RFC 8725 §3.11).
const TYPES: [&str; 4] = ["at+jwt", "application/at+jwt", "jwt", "application/jwt"];
/// Claims in which some issuers say what a token is: Keycloak in `typ`, Amazon Cognito and Hydra in `token_use`.
const NAMING_KINDS: [&str; 3] = ["typ", "token_use", "token_type"];
/// What stands there in tokens that are no access tokens.
const OTHER_KINDS: [&str; 6] = ["refresh_token", "refresh", "offline", "id", "id_token", "logout"];
/// Claims of id tokens (OpenID Connect Core §3.1.3.6) and of logout tokens.
const NEVER_IN_ACCESS_TOKENS: [&str; 4] = ["at_hash", "c_hash", "s_hash", "events"];
/// How issuers name the grant by which clients get tokens for themselves (RFC 6749 §4.4).
const CLIENT_GRANTS: [&str; 2] = ["client_credentials", "client-credentials"];
/// What Auth0 writes into `sub` behind the id of a client.
const BEHIND_CLIENTS: &str = "@clients";
/// A time that is further away is none, in seconds.
const FARTHEST: f64 = 1e11;

/// What is asked of the claims of an issuer's tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::validation) struct ClaimRules {
    /// What `iss` must be. Empty: anything.
    pub(in crate::validation) issuer: String,
    /// What is told of the issuer beside its subjects.
    known_as: String,
    /// `aud` must name one of these, if there are any.
    pub(in crate::validation) audience: Vec<String>,
    /// How far the clock of the issuer may differ.
    clock_skew: Lifetime,
    /// What tells the tokens that clients get for themselves.
    clients: Option<ClientMark>,
}

impl ClaimRules {
    /// What is asked of the tokens of this issuer.
    pub(in crate::validation) fn of(config: &IssuerConfig) -> Self {
        Self {
            issuer: config.issuer.clone(),
            known_as: config.known_as().to_owned(),
            audience: config.audience.clone(),
            clock_skew: config.clock_skew.into(),
            clients: config.clients.clone(),
        }
    }

    /// What an access token says whose signature is right.
    ///
    /// # Errors
    /// [`TokenFault::WrongIssuer`] if it names another one; [`TokenFault::NotAuthentic`] if it is no access token;
    /// [`TokenFault::WrongAudience`], [`TokenFault::Expired`], [`TokenFault::NotYet`].
    pub(super) fn read(&self, token: &VerifiedJws, now: Timestamp) -> Result<ForeignClaims, TokenFault> {
        let claims: Map<String, Value> = token.claims().map_err(|_| TokenFault::NotAuthentic)?;
        let is_issuer = claims.get("iss").and_then(Value::as_str) == Some(self.issuer.as_str());
        if !is_issuer {
            return Err(TokenFault::WrongIssuer);
        }
        if !is_access_token(token.header.typ.as_deref(), &claims) {
            return Err(TokenFault::NotAuthentic);
        }
        let expires_at = self.check_times(&claims, now)?.ok_or(TokenFault::NotAuthentic)?;
        self.foreign(claims, expires_at)
    }

    /// Until when a token holds, if its times are right now and it says so.
    ///
    /// # Errors
    /// [`TokenFault::NotAuthentic`] if a time is none; [`TokenFault::Expired`], [`TokenFault::NotYet`].
    pub(in crate::validation) fn check_times(
        &self,
        claims: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, TokenFault> {
        let expires_at = time(claims, "exp")?;
        if expires_at.is_some_and(|expires_at| now >= expires_at + self.clock_skew) {
            return Err(TokenFault::Expired);
        }
        for begin in ["nbf", "iat"] {
            if time(claims, begin)?.is_some_and(|begin| begin > now + self.clock_skew) {
                return Err(TokenFault::NotYet);
            }
        }
        Ok(expires_at)
    }

    /// The rest of what a token says.
    ///
    /// # Errors
    /// [`TokenFault::WrongAudience`] if it is for somebody else; [`TokenFault::NotAuthentic`] if it names whom it is about, or the key that it
    /// is bound to, in a way that is not understood.
    pub(in crate::validation) fn foreign(
        &self,
        claims: Map<String, Value>,
        expires_at: Timestamp,
    ) -> Result<ForeignClaims, TokenFault> {
        let audience = words(claims.get("aud"));
        let wanted = &self.audience;
        if !wanted.is_empty() && !audience.iter().any(|one| wanted.contains(one)) {
            return Err(TokenFault::WrongAudience);
        }
        let confirmation = said(&claims, "cnf").map(Confirmation::from_json).transpose();
        let scope = said(&claims, "scope").or_else(|| said(&claims, "scp"));
        let subject = named(&claims, "sub")?;
        let client = ["client_id", "azp"].into_iter().find_map(|claim| named(&claims, claim).ok().flatten());
        // Its `sub` is a name of the client, whatever it looks like (RFC 9068 §2.2).
        let is_clients = self.is_clients(&claims, subject.as_deref().zip(client.as_deref()));
        let (subject, client) = if is_clients { (None, client.or(subject)) } else { (subject, client) };
        Ok(ForeignClaims {
            issuer: self.known_as.clone(),
            subject,
            client,
            scope: words(scope).iter().flat_map(|text| text.split_whitespace()).collect::<Vec<_>>().join(" "),
            audience,
            expires_at,
            taken_until: expires_at + self.clock_skew,
            confirmation: confirmation.map_err(|_| TokenFault::NotAuthentic)?,
            claims,
        })
    }

    /// Whether a client got the token for itself: the grant says so, or that it is of an application (`idtyp` of Microsoft Entra), or `sub` is
    /// the client; else what is configured about the issuer tells.
    fn is_clients(&self, claims: &Map<String, Value>, names: Option<(&str, &str)>) -> bool {
        let says = |name: &str, known: &[&str]| {
            words(claims.get(name)).iter().any(|word| known.contains(&word.as_str()))
        };
        let is_marked = |mark: &ClientMark| {
            said(claims, &mark.claim).is_some_and(|value| {
                mark.prefix.is_empty() || words(Some(value)).iter().any(|text| text.starts_with(&mark.prefix))
            })
        };
        names.is_some_and(|(sub, client)| sub.strip_suffix(BEHIND_CLIENTS).unwrap_or(sub) == client)
            || ["gty", "grant_type"].into_iter().any(|name| says(name, &CLIENT_GRANTS))
            || says("idtyp", &["app"])
            || self.clients.as_ref().is_some_and(is_marked)
    }
}

/// Whether a token is one for resources: many issuers do not say it by type (RFC 9068 §2.1), so it must not look like another.
fn is_access_token(typ: Option<&str>, claims: &Map<String, Value>) -> bool {
    let of_type = |typ: &str| TYPES.iter().any(|known| known.eq_ignore_ascii_case(typ));
    let is_declared = typ.is_some_and(|typ| typ.to_ascii_lowercase().ends_with("at+jwt"));
    let names_scope = said(claims, "scope").or_else(|| said(claims, "scp")).is_some();
    let is_id_token = !is_declared && said(claims, "nonce").is_some() && !names_scope;
    typ.is_none_or(of_type) && !is_of_another_kind(claims) && !is_id_token
}

/// Whether a token says that it is something else than an access token, or says what none does.
pub(in crate::validation) fn is_of_another_kind(claims: &Map<String, Value>) -> bool {
    let is_other = |kind: &str| OTHER_KINDS.iter().any(|other| other.eq_ignore_ascii_case(kind));
    let mut kinds = NAMING_KINDS.into_iter().filter_map(|name| said(claims, name)?.as_str());
    kinds.any(is_other) || NEVER_IN_ACCESS_TOKENS.into_iter().any(|name| said(claims, name).is_some())
}

/// Whom a claim names: a text, or an integer as it is written. `None`: nobody.
///
/// # Errors
/// [`TokenFault::NotAuthentic`] for anything else, and for an empty text: it names somebody, and nothing tells whom.
fn named(claims: &Map<String, Value>, name: &str) -> Result<Option<String>, TokenFault> {
    match said(claims, name) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(Some(number.to_string())),
        Some(_) => Err(TokenFault::NotAuthentic),
    }
}

/// The value of a claim; a null says nothing.
pub(in crate::validation) fn said<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    claims.get(name).filter(|value| !value.is_null())
}

/// A `NumericDate` (RFC 7519 §2), which may have a fraction.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<Timestamp>, TokenFault> {
    let Some(value) = said(claims, name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| (0.0..FARTHEST).contains(seconds));
    let since_epoch = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let since_epoch = since_epoch.ok_or(TokenFault::NotAuthentic)?;
    Ok(Some(Timestamp::from_millis(0) + Lifetime::from(since_epoch)))
}

/// One text, or a list of them.
fn words(claim: Option<&Value>) -> Vec<String> {
    match claim {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
