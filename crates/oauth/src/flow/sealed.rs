//! Flow ⇄ URL parameter. What is too long for a URL is parked, and the URL carries a handle and what came later.
//!
//! `inline`: what fits into a URL. `parking`: what is kept in the store; [`Quota`]: how much of it is too much; `shares`: how much of it one
//! network may have. `unbegun`: requests that no browser has come with yet.

mod inline;
mod parking;
mod quota;
mod shares;
mod unbegun;

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_commit::StoreError;
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::{Clock, Lifetime, Rng};
use thiserror::Error;

pub use quota::Quota;

use self::shares::Shares;
use super::further::Further;
use super::parked::{ParkedFlowRepository, ParkedHandle};
use super::state::{AwaitingConsent, AwaitingLogin, ConsentAnswered, LoginAnswered, Request};
use super::wire::{WireConsent, WireDecision, WireKnown, WireLogin, WireRequest};
use crate::config::LongRequestPolicy;
use crate::network_limit::ClientLimit;

/// A longer challenge or verifier is parked, in characters: browsers and proxies still take what is shorter.
pub const MAX_IN_URL: usize = 1_500;

/// What later legs may add to a flow, in characters: one that would have to be parked then is parked, and counted, now.
const LATER_LEGS: usize = 200;
/// How many requests a client that authenticates may park within [`PARKED_WINDOW`].
const MOST_OF_CLIENT: u32 = 1_000;
/// How long they count.
const PARKED_WINDOW: Lifetime = Lifetime::minutes(10);
/// One place in so many is kept for clients that authenticate and for flows under way: anybody can ask for the others.
const KEPT_BACK: u64 = 4;

/// What most flows fit into, in bytes.
const USUAL: usize = 512;

/// For so long an expired flow is still kept, so that it can tell where to start again.
const WAY_OUT_KEPT: Lifetime = Lifetime::hours(1);

/// Why a challenge or verifier does not lead to a flow.
#[derive(Debug, Error)]
pub enum FlowError {
    /// It does not open.
    #[error("the challenge or verifier is not one of this server's")]
    Sealed(#[from] OpenError),
    /// It opens, but to something that this version does not understand.
    #[error("the content of the challenge or verifier is not understood")]
    Content,
    /// The parked flow has expired.
    #[error("the flow has expired")]
    Gone,
    /// Too many flows are parked.
    #[error(transparent)]
    QuotaReached(#[from] Quota),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Seals and opens flows.
pub struct FlowSealer {
    sealer: Arc<Sealer>,
    parked: Arc<dyn ParkedFlowRepository>,
    rng: Arc<dyn Rng>,
    clock: Arc<dyn Clock>,
    lifetime: Lifetime,
    quota: u64,
    limit: ClientLimit,
    shares: Shares,
    exempt: Vec<IpNet>,
}

/// A flow as it is sealed: its request, what came later, and what stands behind both.
struct Whole<'a, R> {
    request: WireRequest,
    later: &'a R,
    further: Further,
}

impl<'a, R> Whole<'a, R> {
    fn of(request: &Request, later: &'a R) -> Self {
        Self { request: WireRequest::from(request), later, further: request.details.further.clone() }
    }
}

/// The first byte of the plaintext: where the request is.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum Place {
    /// Here.
    Inline = 0,
    /// In the store; what came later is here.
    RequestParked = 1,
    /// All of it is in the store.
    AllParked = 2,
}

impl Place {
    /// The first byte of a flow, with room for what follows.
    fn begin(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(USUAL);
        bytes.push(self as u8);
        bytes
    }
}

impl FlowSealer {
    /// A sealer of flows that live for `lifetime`, of which `quota` may be parked at once, and as many of a network as by default.
    pub fn new(
        sealer: Arc<Sealer>,
        parked: Arc<dyn ParkedFlowRepository>,
        (rng, clock): (Arc<dyn Rng>, Arc<dyn Clock>),
        lifetime: Lifetime,
        quota: u64,
    ) -> Self {
        let (limit, exempt) = limits(&LongRequestPolicy::default());
        let life = lifetime.as_millis().saturating_add(WAY_OUT_KEPT.as_millis());
        let shares = Shares::new((quota, of_anybody(quota)), life);
        Self { sealer, parked, rng, clock, lifetime, quota, limit, shares, exempt }
    }

    /// Counts networks by this policy.
    #[must_use]
    pub fn with_policy(self, policy: &LongRequestPolicy) -> Self {
        let (limit, exempt) = limits(policy);
        Self { limit, exempt, ..self }
    }

    /// Seals a flow of a client, which may be public, for the login page. A flow that has to be parked counts for the network
    /// that asks for it: anybody can.
    pub async fn seal_login_challenge(
        &self,
        flow: &AwaitingLogin,
        (is_public, asked_by): (bool, Option<IpAddr>),
    ) -> Result<String, FlowError> {
        let rest = WireKnown::new(flow.session, flow.known.as_ref());
        let mut whole = Whole::of(&flow.request, &rest);
        let (purpose, most) = (Purpose::LoginChallenge, MAX_IN_URL - LATER_LEGS);
        if let Some(sealed) = self.seal_inline(purpose, &mut whole, most) {
            return Ok(sealed);
        }
        // Who pushed the request has authenticated, unless anybody can be that client.
        let is_authenticated = flow.request.details.pushed && !is_public;
        let quota = if is_authenticated { self.quota } else { self.quota_of_anybody() };
        let flow = (&whole.request, &whole.further);
        let handle = self.park_counted(asked_by, self.park_flow(flow, quota)).await?;
        self.seal_beside(purpose, handle, &whole).await
    }

    /// What may be parked at the request of anybody.
    const fn quota_of_anybody(&self) -> u64 {
        of_anybody(self.quota)
    }

    /// Opens what the login page presents.
    pub async fn open_login_challenge(&self, sealed: &str) -> Result<AwaitingLogin, FlowError> {
        let (request, rest): (_, WireKnown) = self.open(Purpose::LoginChallenge, sealed).await?;
        let (session, known) = rest.into_parts().ok_or(FlowError::Content)?;
        Ok(AwaitingLogin { request, known, session })
    }

    /// Seals the answer of the login page.
    pub async fn seal_login_verifier(&self, flow: &LoginAnswered) -> Result<String, FlowError> {
        let rest = WireDecision::of(&flow.answer, |login| WireLogin::from(login));
        self.seal(Purpose::LoginVerifier, &flow.request, &rest).await
    }

    /// Opens the answer of the login page.
    pub async fn open_login_verifier(&self, sealed: &str) -> Result<LoginAnswered, FlowError> {
        let (request, rest): (_, WireDecision<WireLogin>) = self.open(Purpose::LoginVerifier, sealed).await?;
        let answer = rest.into_decision(WireLogin::into_login).ok_or(FlowError::Content)?;
        Ok(LoginAnswered { request, answer })
    }

    /// Seals a flow for the consent page.
    pub async fn seal_consent_challenge(&self, flow: &AwaitingConsent) -> Result<String, FlowError> {
        let rest = (WireLogin::from(&flow.login), flow.skip);
        self.seal(Purpose::ConsentChallenge, &flow.request, &rest).await
    }

    /// Opens what the consent page presents.
    pub async fn open_consent_challenge(&self, sealed: &str) -> Result<AwaitingConsent, FlowError> {
        let (request, (login, skip)): (_, (WireLogin, bool)) =
            self.open(Purpose::ConsentChallenge, sealed).await?;
        Ok(AwaitingConsent { request, login: login.into_login().ok_or(FlowError::Content)?, skip })
    }

    /// Seals the answer of the consent page.
    pub async fn seal_consent_verifier(&self, flow: &ConsentAnswered) -> Result<String, FlowError> {
        let answer = WireDecision::of(&flow.answer, |consent| WireConsent::new(consent, &flow.request));
        let login = WireLogin::from(&flow.login).with_consent_known(flow.skip);
        self.seal(Purpose::ConsentVerifier, &flow.request, &(login, answer)).await
    }

    /// Opens the answer of the consent page.
    pub async fn open_consent_verifier(&self, sealed: &str) -> Result<ConsentAnswered, FlowError> {
        let (request, (login, answer)): (Request, (WireLogin, WireDecision<WireConsent>)) =
            self.open(Purpose::ConsentVerifier, sealed).await?;
        let answer =
            answer.into_decision(|consent| consent.into_consent(&request)).ok_or(FlowError::Content)?;
        let skip = login.is_consent_known();
        Ok(ConsentAnswered { login: login.into_login().ok_or(FlowError::Content)?, request, skip, answer })
    }

    async fn seal<R: Serialize + Sync>(
        &self,
        purpose: Purpose,
        request: &Request,
        rest: &R,
    ) -> Result<String, FlowError> {
        let mut whole = Whole::of(request, rest);
        if let Some(handle) = request.parked {
            return self.seal_beside(purpose, handle, &whole).await;
        }
        if let Some(sealed) = self.seal_inline(purpose, &mut whole, MAX_IN_URL) {
            return Ok(sealed);
        }
        let handle = self.park_flow((&whole.request, &whole.further), self.quota).await?;
        self.seal_beside(purpose, handle, &whole).await
    }

    /// The request is parked; what came later is carried, unless that alone is too long.
    async fn seal_beside<R: Serialize + Sync>(
        &self,
        purpose: Purpose,
        handle: ParkedHandle,
        whole: &Whole<'_, R>,
    ) -> Result<String, FlowError> {
        let sealed = self.seal_bytes(purpose, Place::RequestParked, &(handle, whole.later));
        if sealed.len() <= MAX_IN_URL {
            return Ok(sealed);
        }
        let handle = self.park_flow((&(&whole.request, whole.later), &whole.further), self.quota).await?;
        Ok(self.seal_bytes(purpose, Place::AllParked, &handle))
    }

    fn seal_whole<R: Serialize>(&self, purpose: Purpose, whole: &Whole<'_, R>) -> String {
        let flow = (&whole.request, whole.later);
        let bytes = whole.further.write_behind(&flow, Place::Inline.begin()).unwrap_or_default();
        self.sealer.seal(purpose, &bytes, &*self.rng)
    }

    fn seal_bytes<T: Serialize>(&self, purpose: Purpose, place: Place, value: &T) -> String {
        let bytes = postcard::to_extend(value, place.begin()).unwrap_or_default();
        self.sealer.seal(purpose, &bytes, &*self.rng)
    }

    async fn open<R: DeserializeOwned>(
        &self,
        purpose: Purpose,
        sealed: &str,
    ) -> Result<(Request, R), FlowError> {
        let bytes = self.sealer.open(purpose, sealed)?;
        let Some((place, body)) = bytes.split_first() else { return Err(FlowError::Content) };
        let content = |_| FlowError::Content;
        match *place {
            0 => {
                let ((wire, rest), further) =
                    Further::read_behind::<(WireRequest, R)>(body).map_err(content)?;
                Ok((whole_request(wire, further)?, rest))
            }
            1 => {
                let (handle, rest): (ParkedHandle, R) = postcard::from_bytes(body).map_err(content)?;
                let parked = self.fetch(handle).await?;
                let (wire, further) = Further::read_behind(&parked).map_err(content)?;
                Ok((Request { parked: Some(handle), ..whole_request(wire, further)? }, rest))
            }
            2 => {
                let handle: ParkedHandle = postcard::from_bytes(body).map_err(content)?;
                let parked = self.fetch(handle).await?;
                let ((wire, rest), further) =
                    Further::read_behind::<(WireRequest, R)>(&parked).map_err(content)?;
                Ok((whole_request(wire, further)?, rest))
            }
            _ => Err(FlowError::Content),
        }
    }
}

/// What of a quota anybody may have.
const fn of_anybody(quota: u64) -> u64 {
    quota - quota / KEPT_BACK
}

fn limits(policy: &LongRequestPolicy) -> (ClientLimit, Vec<IpNet>) {
    let of_network = policy.per_network.unwrap_or(u32::MAX);
    (ClientLimit::new((of_network, MOST_OF_CLIENT), PARKED_WINDOW), policy.exempt.clone())
}

fn whole_request(wire: WireRequest, further: Further) -> Result<Request, FlowError> {
    let mut request = wire.into_request().ok_or(FlowError::Content)?;
    request.details.further = further;
    Ok(request)
}

#[cfg(test)]
mod tests;
