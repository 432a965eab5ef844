//! The gateway: from a request to a verdict. What is done with it is `proxy`'s and `decision`'s.
//!
//! The order: path and route; the token; whether it holds; whether who presents it may; what the route demands; how often.

mod documents;
mod judgement;

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::Full;
use sluice_net::ClientAddress;
use sluice_primitives::Clock;
use tracing::warn;

use crate::authn::extract::Scheme;
use crate::authn::{Asked, Page, Refusal, Verdict, challenge, cross_origin};
use crate::enrichment::headers::Identity;
use crate::enrichment::{CountryLookup, PhantomSigner, headers};
use crate::limit::{RateLimitHeaders, RateLimits};
use crate::observer::Observer;
use crate::proxy::Via;
use crate::route::{AuthMode, LiveRoutes, Route};
use crate::validation::{HolderCheck, Question, Validated, Validation};

/// Tells whether tokens hold under the policy of a route: those of its issuers, from memory where it can be.
pub trait PolicyValidator: Send + Sync {
    /// Whether a token holds. Who presents it, and what the route demands of it, is asked elsewhere.
    fn validate(&self, question: Question<'_>) -> Validated;

    /// What tokens of this installation name as their issuer, if that is known.
    fn issuer(&self) -> Option<String> {
        None
    }
}

impl PolicyValidator for Validation {
    fn validate(&self, question: Question<'_>) -> Validated {
        self.validate(question)
    }

    fn issuer(&self) -> Option<String> {
        self.issuer()
    }
}

/// What a gateway is made of.
pub struct GatewayParts {
    /// The routes in force, and what their file says beside them.
    pub routes: Arc<LiveRoutes>,
    /// Whether tokens hold.
    pub validation: Arc<dyn PolicyValidator>,
    /// Whether who presents a token may.
    pub holder: Arc<HolderCheck>,
    /// How often routes may be called.
    pub limits: Arc<RateLimits>,
    /// In which country addresses are.
    pub country: Arc<CountryLookup>,
    /// Signs phantom tokens. Without it, routes that want one tell their upstream nothing in its place.
    pub phantom: Option<PhantomParts>,
    /// What it calls itself to upstreams.
    pub via: Via,
    /// Who hears of requests.
    pub observer: Arc<dyn Observer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Phantom tokens.
pub struct PhantomParts {
    /// Signs them.
    pub signer: Arc<PhantomSigner>,
    /// The path under which the gateway serves the public keys, on all hosts, before any route. `None`: it does not.
    pub jwks_path: Option<String>,
}

/// Judges requests.
pub struct Gateway {
    parts: Arc<GatewayParts>,
}

/// A request that fell under a route, and what was said about it.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// The route; `None` if no route is for it.
    pub route: Option<Arc<Route>>,
    /// The verdict.
    pub verdict: Verdict,
    /// How the token was presented; `None` without one.
    pub scheme: Option<Scheme>,
    /// SHA-256 of the token, where the route needs it: for a phantom token.
    pub token: Option<[u8; 32]>,
    /// How the caller stands with the limits of the route, if it has any.
    pub limits: Option<Box<RateLimitHeaders>>,
    /// The page that asks, if pages of other origins may read what the gateway itself answers.
    pub page: Option<Page>,
    /// The headers that say who calls, where they were made before.
    pub identity: Option<Arc<Identity>>,
}

/// A verdict, or the way to it.
pub enum Judging {
    /// Known from memory: the ordinary case.
    Now(Admitted),
    /// To be waited for: an issuer is asked.
    Later(Pin<Box<dyn Future<Output = Admitted> + Send>>),
}

impl Admitted {
    /// Refused, before a token was read.
    pub const fn refused(route: Option<Arc<Route>>, refusal: Refusal) -> Self {
        Self {
            route,
            verdict: Verdict::Refused(refusal),
            scheme: None,
            token: None,
            limits: None,
            page: None,
            identity: None,
        }
    }
}

impl Gateway {
    /// The gateway.
    pub fn new(parts: GatewayParts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// Who hears of requests.
    pub fn observer(&self) -> &dyn Observer {
        &*self.parts.observer
    }

    /// What it calls itself to upstreams.
    pub fn via(&self) -> &Via {
        &self.parts.via
    }

    /// The routes in force.
    pub fn routes(&self) -> &LiveRoutes {
        &self.parts.routes
    }

    /// Whether `peer` is a proxy whose `X-Forwarded-*` and `Forwarded` count.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.parts.routes.load().settings().trusted_proxies.trusts(peer)
    }

    /// The client, from `peer` back through the proxies that are trusted.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        self.parts.routes.load().settings().trusted_proxies.client(peer, headers)
    }

    /// Finds the route of a request and judges it.
    pub fn judge(&self, asked: &Asked<'_>) -> Judging {
        match self.parts.routes.load().route(asked) {
            Ok(route) => self.judge_under(route, asked),
            Err(refusal) => Judging::Now(Admitted::refused(None, refusal)),
        }
    }

    /// Judges a request under a route that was chosen otherwise: for decisions that no route of the file is about.
    pub fn judge_under(&self, route: &Arc<Route>, asked: &Asked<'_>) -> Judging {
        judgement::judge(&self.parts, route, asked)
    }

    /// Makes the headers of a request that may pass those that the upstream gets: strips what only the gateway may say, sets what it
    /// says. Comes last, after hop-by-hop headers are gone, so that no `Connection` takes a header of the gateway away. Answers to
    /// other proxies begin with an empty map.
    pub fn enrich(&self, admitted: &Admitted, headers: &mut HeaderMap, client: ClientAddress) {
        self.strip(admitted, headers);
        let Some(route) = &admitted.route else { return };
        let told = &route.enrichment;
        headers::set_fixed(headers, told);
        if let Verdict::Caller(caller) = &admitted.verdict {
            if !headers::set_claims(headers, told, caller)
                && !told.told_of_missing.swap(true, Ordering::Relaxed)
            {
                warn!(route = %route.name, "claims for headers were too large to be in a token: see docs/gateway/headers.md");
            }
            if told.identity_headers {
                match &admitted.identity {
                    Some(identity) => Identity::clone(identity).set(headers),
                    None => headers::set_identity(headers, caller),
                }
            }
            if let (Some(phantom), Some(signer), Some(token)) =
                (&told.phantom, &self.parts.phantom, admitted.token)
                && let Some(value) = signer.signer.value(route, caller, token, self.parts.clock.now())
            {
                headers.insert(&phantom.header, value);
            }
        }
        // Where a proxy is says nothing of the client.
        if told.country
            && client.is_named
            && let Some(country) = self.parts.country.country(client.address)
        {
            headers.insert(&headers::COUNTRY, country);
        }
    }

    /// Takes away what clients may not say, what would make another request of the one that was judged, and the token where the upstream
    /// is not to have it: of headers, and of trailers, which some upstreams take for headers. As the table says that the request was judged under, also if another is in force by now.
    pub fn strip(&self, admitted: &Admitted, headers: &mut HeaderMap) {
        if headers.is_empty() {
            return;
        }
        let Some(route) = admitted.route.as_deref() else {
            headers::strip(headers, &[], None);
            return;
        };
        // A token that nobody checked does not pass where tokens are checked: that of a preflight.
        let is_unchecked =
            route.policy.auth != AuthMode::None && !matches!(admitted.verdict, Verdict::Caller(_));
        if !route.enrichment.forward_token || is_unchecked {
            headers::remove_token(headers, &route.policy.sources);
        }
        headers::remove_twins(headers, &route.policy.sources);
        headers::strip(headers, &route.enrichment.stripped, Some(&route.enrichment));
    }

    /// The answer to a request that may not pass. Never call it for another.
    pub fn refuse(&self, admitted: &Admitted) -> Response<Full<Bytes>> {
        let mut answer = challenge::refuse(admitted);
        self.announce(admitted, answer.headers_mut());
        cross_origin::open(admitted, answer.headers_mut());
        answer
    }

    /// Adds to an answer what the client may know of its limits (`RateLimit`, `RateLimit-Policy`).
    pub fn announce(&self, admitted: &Admitted, answer: &mut HeaderMap) {
        if let Some(limits) = &admitted.limits {
            limits.write(answer);
        }
    }

    /// A document of the gateway's own, if the request asks for one: the metadata of a protected resource (RFC 9728 §3), or the public keys
    /// of phantom tokens. Asked before [`Gateway::judge`]: they are open to all.
    pub fn metadata(&self, asked: &Asked<'_>) -> Option<Response<Full<Bytes>>> {
        documents::find(&self.parts, asked)
    }
}

#[cfg(test)]
mod tests;
