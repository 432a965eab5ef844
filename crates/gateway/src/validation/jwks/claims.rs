//! What a JWT of another issuer says, and whether it may say so (RFC 7519 §4.1, RFC 9068 §4).

use std::time::Duration;

use serde_json::{Map, Value};
use sluice_crypto::jws::VerifiedJws;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_token::Confirmation;

use crate::authn::ForeignClaims;
use crate::validation::{IssuerConfig, TokenFault};

/// Types that are access tokens. Others (`dpop+jwt`, `logout+jwt`, `secevent+jwt`, …) are for something else (RFC 8725 §3.11).
const TYPES: [&str; 4] = ["at+jwt", "application/at+jwt", "jwt", "application/jwt"];
/// Claims of id tokens (OpenID Connect Core §3.1.3.6) and of logout tokens.
const NEVER_IN_ACCESS_TOKENS: [&str; 4] = ["at_hash", "c_hash", "s_hash", "events"];
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
}

impl ClaimRules {
    /// What is asked of the tokens of this issuer.
    pub(in crate::validation) fn of(config: &IssuerConfig) -> Self {
        Self {
            issuer: config.issuer.clone(),
            known_as: config.known_as().to_owned(),
            audience: config.audience.clone(),
            clock_skew: config.clock_skew.into(),
        }
    }

    /// What an access token says whose signature is right.
    ///
    /// # Errors
    /// [`TokenFault::NotAuthentic`] if it is no access token for us; [`TokenFault::Expired`], [`TokenFault::NotYet`].
    pub(super) fn read(&self, token: &VerifiedJws, now: Timestamp) -> Result<ForeignClaims, TokenFault> {
        let claims: Map<String, Value> = token.claims().map_err(|_| TokenFault::NotAuthentic)?;
        let is_issuer = claims.get("iss").and_then(Value::as_str) == Some(self.issuer.as_str());
        if !is_issuer || !is_access_token(token.header.typ.as_deref(), &claims) {
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
    /// [`TokenFault::NotAuthentic`] if it is for somebody else, or bound to a key in a way that is not understood.
    pub(in crate::validation) fn foreign(
        &self,
        claims: Map<String, Value>,
        expires_at: Timestamp,
    ) -> Result<ForeignClaims, TokenFault> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let audience = words(claims.get("aud"));
        let wanted = &self.audience;
        if !wanted.is_empty() && !audience.iter().any(|one| wanted.contains(one)) {
            return Err(TokenFault::NotAuthentic);
        }
        let confirmation = claims.get("cnf").map(Confirmation::from_json).transpose();
        let scope = said(&claims, "scope").or_else(|| said(&claims, "scp"));
        Ok(ForeignClaims {
            issuer: self.known_as.clone(),
            subject: text("sub"),
            client: text("client_id").or_else(|| text("azp")),
            scope: words(scope).iter().flat_map(|text| text.split_whitespace()).collect::<Vec<_>>().join(" "),
            audience,
            expires_at,
            taken_until: expires_at + self.clock_skew,
            confirmation: confirmation.map_err(|_| TokenFault::NotAuthentic)?,
            claims,
        })
    }
}

/// Whether a token is one for resources: many issuers do not say it by type (RFC 9068 §2.1), so it must not look like another.
fn is_access_token(typ: Option<&str>, claims: &Map<String, Value>) -> bool {
    let of_type = |typ: &str| TYPES.iter().any(|known| known.eq_ignore_ascii_case(typ));
    let says = |name: &str| claims.contains_key(name);
    let is_declared = typ.is_some_and(|typ| typ.to_ascii_lowercase().ends_with("at+jwt"));
    let names_scope = said(claims, "scope").or_else(|| said(claims, "scp")).is_some();
    let is_id_token = !is_declared && says("nonce") && !names_scope;
    typ.is_none_or(of_type) && !NEVER_IN_ACCESS_TOKENS.into_iter().any(says) && !is_id_token
}

/// The value of a claim; a null says nothing.
fn said<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    claims.get(name).filter(|value| !value.is_null())
}

/// A `NumericDate` (RFC 7519 §2), which may have a fraction.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<Timestamp>, TokenFault> {
    let Some(value) = claims.get(name) else { return Ok(None) };
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
