//! A token of the gateway's own in place of the client's: a JWT about the caller, signed by a key that is the gateway's, which any
//! service behind it checks without asking anybody. It is short-lived, and made from a token that was checked for this very request.

use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use quick_cache::sync::Cache;
use serde::Serialize;
use serde_json::{Map, Value};
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::SigningKey;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Lifetime, Rng, Timestamp};
use tracing::error;

use super::claims::Claims;
use crate::authn::Caller;
use crate::route::{Phantom, Route};

/// `typ` of the header (RFC 9068 §2.1).
const TYPE: &str = "at+jwt";
/// So many tokens are kept where nothing else is said.
const KEPT: usize = 16_384;

/// Signs phantom tokens.
///
/// Those it signed are kept: by SHA-256 of the client's token and the route, a bounded number of them, each for half its life at most, so that what an
/// upstream gets always holds for a while. A route that was read anew has none yet. Nobody needs to empty it: who is refused is not asked about.
pub struct PhantomSigner {
    issuer: String,
    key: SigningKey,
    jwks: Bytes,
    rng: Arc<dyn Rng>,
    signed: Cache<([u8; 32], usize), Signed>,
}

#[derive(Clone)]
struct Signed {
    /// Whose address is the key's: while this is kept, no other route has it.
    route: Weak<Route>,
    value: HeaderValue,
    made_at: Timestamp,
    fresh_until: Timestamp,
}

#[derive(Serialize)]
struct Payload<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    /// Who issued the client's token, where that was another issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    idp: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: &'a str,
    exp: i64,
    iat: i64,
    jti: String,
    #[serde(flatten)]
    claims: Map<String, Value>,
}

impl PhantomSigner {
    /// A signer with this private key, which is told from others by its thumbprint if it has no `kid`. `issuer` is the gateway's name in
    /// `iss`.
    ///
    /// # Errors
    /// [`JwkError`] if it is no key to sign with.
    pub fn new(issuer: String, key: &Jwk, rng: Arc<dyn Rng>) -> Result<Self, JwkError> {
        let key = named(key)?;
        let public = serde_json::json!({ "keys": [key.public()] });
        Ok(Self {
            issuer,
            key: SigningKey::from_jwk(&key)?,
            jwks: Bytes::from(public.to_string()),
            rng,
            signed: Cache::new(KEPT),
        })
    }

    /// A signer with an ES256 key that was made just now. Other processes of the same gateway do not have it.
    ///
    /// # Errors
    /// [`JwkError::NotGenerated`] if the cryptography library fails.
    pub fn generate(issuer: String, rng: Arc<dyn Rng>) -> Result<Self, JwkError> {
        let kid = URL_SAFE_NO_PAD.encode(random_bytes::<12>(&*rng));
        Self::new(issuer, &Jwk::generate(SigningAlgorithm::ES256, kid, RsaSize::default())?, rng)
    }

    /// The same with room for so many tokens. Default: 16,384, which take about a kilobyte each.
    #[must_use]
    pub fn keeping(mut self, tokens: NonZeroUsize) -> Self {
        self.signed = Cache::new(tokens.get());
        self
    }

    /// The public keys (RFC 7517 §5).
    pub fn jwks(&self) -> Bytes {
        self.jwks.clone()
    }

    /// The value of the route's header for this caller, who presented the token with this SHA-256. `None` if the route has none, or nothing
    /// could be signed: then the upstream gets no token at all.
    pub(crate) fn value(
        &self,
        route: &Arc<Route>,
        caller: &Caller,
        token: [u8; 32],
        now: Timestamp,
    ) -> Option<HeaderValue> {
        let phantom = route.enrichment.phantom.as_ref()?;
        let key = (token, Arc::as_ptr(route).addr());
        if let Some(kept) = self.signed.get(&key)
            // One of before the clock was set back would end too late.
            && (kept.made_at..kept.fresh_until).contains(&now)
            && std::ptr::eq(kept.route.as_ptr(), Arc::as_ptr(route))
        {
            return Some(kept.value);
        }
        // The token may have passed its own end by as much as the clock of its issuer may differ; services know nothing of that clock.
        let expires_at = caller.taken_until().min(now + Lifetime::from(phantom.lifetime));
        let value = self.sign(route, phantom, caller, (now, expires_at))?;
        let half = Lifetime::from(expires_at.since(now).as_duration() / 2);
        let route = Arc::downgrade(route);
        let signed = Signed { route, value: value.clone(), made_at: now, fresh_until: now + half };
        self.signed.insert(key, signed);
        Some(value)
    }

    fn sign(
        &self,
        route: &Route,
        phantom: &Phantom,
        caller: &Caller,
        (now, expires_at): (Timestamp, Timestamp),
    ) -> Option<HeaderValue> {
        let payload = Payload {
            iss: &self.issuer,
            sub: caller.sub(),
            aud: &phantom.audience,
            client_id: caller.client(),
            idp: caller.foreign_issuer(),
            scope: caller.scope(),
            // In its last second too the token holds for a moment.
            exp: expires_at.as_secs().max(now.as_secs() + 1),
            iat: now.as_secs(),
            jti: URL_SAFE_NO_PAD.encode(random_bytes::<16>(&*self.rng)),
            claims: configured(route, caller),
        };
        let payload = serde_json::to_vec(&payload).ok()?;
        let token = match self.key.sign(Some(TYPE), &payload) {
            Ok(token) => token,
            Err(error) => {
                error!(route = %route.name, %error, "phantom token not signed");
                return None;
            }
        };
        let text = if phantom.header == AUTHORIZATION { format!("Bearer {token}") } else { token };
        let mut value = HeaderValue::from_maybe_shared(Bytes::from(text)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl std::fmt::Debug for PhantomSigner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (issuer, key) = (&self.issuer, &self.key);
        formatter
            .debug_struct("PhantomSigner")
            .field("issuer", issuer)
            .field("key", key)
            .finish_non_exhaustive()
    }
}

/// The key with a name and its algorithm: by these services find it among those that they hold, and notice that they do not hold it yet. In a
/// PEM file it has no name, and every gateway that reads it must come to the same (RFC 7638).
fn named(key: &Jwk) -> Result<Jwk, JwkError> {
    let kid = match &key.kid {
        Some(kid) => kid.clone(),
        None => key.thumbprint()?,
    };
    let algorithm = key.signing_algorithm()?.as_str().to_owned();
    Ok(Jwk { kid: Some(kid), alg: Some(algorithm), ..key.clone() })
}

/// The claims that the route tells in headers, under their last names. None of them replaces what the gateway says itself.
fn configured(route: &Route, caller: &Caller) -> Map<String, Value> {
    let wanted = &route.enrichment.claims;
    if wanted.is_empty() {
        return Map::new();
    }
    let claims = Claims::of(caller);
    let named = wanted.iter().filter_map(|from| {
        let name = from.claim.rsplit('.').next().unwrap_or(&from.claim);
        let value = claims.find(&from.claim)?;
        (!is_own(name)).then(|| (name.to_owned(), value))
    });
    named.collect()
}

/// Whether the gateway says this claim itself, or must not seem to: a bound token would need a proof that its upstream never sees.
fn is_own(name: &str) -> bool {
    matches!(
        name,
        "iss" | "sub" | "aud" | "client_id" | "scope" | "exp" | "iat" | "nbf" | "jti" | "cnf" | "idp"
    )
}

#[cfg(test)]
mod tests;
