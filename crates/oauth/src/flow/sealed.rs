//! Flow ⇄ URL parameter. What is too long for a URL is parked, and the URL carries a handle and what came later.

use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_commit::StoreError;
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, Lifetime, Rng, Timestamp};
use thiserror::Error;

use super::parked::{ParkedFlow, ParkedFlowRepository, ParkedHandle};
use super::state::{AwaitingConsent, AwaitingLogin, ConsentAnswered, LoginAnswered, Request};
use super::wire::{WireConsent, WireDecision, WireKnown, WireLogin, WireRequest};
use crate::client::Client;
use crate::network_limit::ClientLimit;

/// A longer challenge or verifier is parked, in characters: browsers and proxies still take what is shorter.
pub const MAX_IN_URL: usize = 1_500;

/// What later legs may add to a flow, in characters: one that would have to be parked then is parked, and counted, now.
const LATER_LEGS: usize = 200;
/// How many flows a network may park within [`PARKED_WINDOW`], and how many requests a client that authenticates.
const MOST_PARKED: (u32, u32) = (100, 1_000);
/// How long they count.
const PARKED_WINDOW: Lifetime = Lifetime::minutes(10);

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
    #[error("too many flows are parked")]
    QuotaReached,
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

impl FlowSealer {
    /// A sealer of flows that live for `lifetime`, of which `quota` may be parked at once.
    pub fn new(
        sealer: Arc<Sealer>,
        parked: Arc<dyn ParkedFlowRepository>,
        (rng, clock): (Arc<dyn Rng>, Arc<dyn Clock>),
        lifetime: Lifetime,
        quota: u64,
    ) -> Self {
        Self {
            sealer,
            parked,
            rng,
            clock,
            lifetime,
            quota,
            limit: ClientLimit::new(MOST_PARKED, PARKED_WINDOW),
        }
    }

    /// Seals a flow for the login page. A flow that has to be parked counts for the network that asks for it: anybody can.
    pub async fn seal_login_challenge(
        &self,
        flow: &AwaitingLogin,
        asked_by: Option<IpAddr>,
    ) -> Result<String, FlowError> {
        let rest = WireKnown::new(flow.session, flow.known.as_ref());
        let wire = WireRequest::from(&flow.request);
        let sealed = self.seal_bytes(Purpose::LoginChallenge, Place::Inline, &(&wire, &rest));
        if sealed.len() <= MAX_IN_URL - LATER_LEGS {
            return Ok(sealed);
        }
        if asked_by.is_some_and(|address| !self.limit.allows_anybody(address, self.clock.now())) {
            return Err(FlowError::QuotaReached);
        }
        let handle = self.park_flow(&wire).await?;
        self.seal_beside(Purpose::LoginChallenge, handle, (&wire, &rest)).await
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
        self.seal(Purpose::ConsentVerifier, &flow.request, &(WireLogin::from(&flow.login), answer)).await
    }

    /// Opens the answer of the consent page.
    pub async fn open_consent_verifier(&self, sealed: &str) -> Result<ConsentAnswered, FlowError> {
        let (request, (login, answer)): (Request, (WireLogin, WireDecision<WireConsent>)) =
            self.open(Purpose::ConsentVerifier, sealed).await?;
        let answer =
            answer.into_decision(|consent| consent.into_consent(&request)).ok_or(FlowError::Content)?;
        Ok(ConsentAnswered { login: login.into_login().ok_or(FlowError::Content)?, request, answer })
    }

    /// Seals a pushed authorization request, for which there is no flow yet: one that begins is parked anew. A request that
    /// has to be parked counts for the client, or for the network that a public client is in.
    pub(crate) async fn seal_pushed<T: Serialize + Sync>(
        &self,
        pushed: &T,
        (client, address): (&Client, Option<IpAddr>),
        expires_at: Timestamp,
    ) -> Result<String, FlowError> {
        let sealed = self.seal_bytes(Purpose::PushedRequest, Place::Inline, pushed);
        if sealed.len() <= MAX_IN_URL {
            return Ok(sealed);
        }
        if !self.limit.allows(client, address, self.clock.now()) {
            return Err(FlowError::QuotaReached);
        }
        let bytes = postcard::to_stdvec(pushed).map_err(|_| FlowError::Content)?;
        let handle = self.park(&bytes, expires_at).await?;
        Ok(self.seal_bytes(Purpose::PushedRequest, Place::AllParked, &handle))
    }

    /// Opens a pushed authorization request.
    pub(crate) async fn open_pushed<T: DeserializeOwned>(&self, sealed: &str) -> Result<T, FlowError> {
        let bytes = self.sealer.open(Purpose::PushedRequest, sealed)?;
        let content = |_| FlowError::Content;
        match bytes.split_first() {
            Some((0, body)) => postcard::from_bytes(body).map_err(content),
            Some((2, body)) => {
                let handle = postcard::from_bytes(body).map_err(content)?;
                postcard::from_bytes(&self.fetch(handle).await?).map_err(content)
            }
            _ => Err(FlowError::Content),
        }
    }

    /// Seals what a device asks for, which no browser has come to yet. The store keeps it.
    pub(crate) fn seal_device_request(&self, request: &Request) -> Result<String, FlowError> {
        let bytes = postcard::to_stdvec(&WireRequest::from(request)).map_err(|_| FlowError::Content)?;
        Ok(self.sealer.seal(Purpose::DeviceRequest, &bytes, &*self.rng))
    }

    /// Opens what a device asks for.
    pub(crate) fn open_device_request(&self, sealed: &str) -> Result<Request, FlowError> {
        let bytes = self.sealer.open(Purpose::DeviceRequest, sealed)?;
        let wire: WireRequest = postcard::from_bytes(&bytes).map_err(|_| FlowError::Content)?;
        wire.into_request().ok_or(FlowError::Content)
    }

    async fn seal<R: Serialize + Sync>(
        &self,
        purpose: Purpose,
        request: &Request,
        rest: &R,
    ) -> Result<String, FlowError> {
        let wire = WireRequest::from(request);
        if let Some(handle) = request.parked {
            return self.seal_beside(purpose, handle, (&wire, rest)).await;
        }
        let sealed = self.seal_bytes(purpose, Place::Inline, &(&wire, rest));
        if sealed.len() <= MAX_IN_URL {
            return Ok(sealed);
        }
        let handle = self.park_flow(&wire).await?;
        self.seal_beside(purpose, handle, (&wire, rest)).await
    }

    /// The request is parked; what came later is carried, unless that alone is too long.
    async fn seal_beside<R: Serialize + Sync>(
        &self,
        purpose: Purpose,
        handle: ParkedHandle,
        (wire, rest): (&WireRequest, &R),
    ) -> Result<String, FlowError> {
        let sealed = self.seal_bytes(purpose, Place::RequestParked, &(handle, rest));
        if sealed.len() <= MAX_IN_URL {
            return Ok(sealed);
        }
        let handle = self.park_flow(&(wire, rest)).await?;
        Ok(self.seal_bytes(purpose, Place::AllParked, &handle))
    }

    async fn park_flow<T: Serialize + Sync>(&self, flow: &T) -> Result<ParkedHandle, FlowError> {
        let bytes = postcard::to_stdvec(flow).map_err(|_| FlowError::Content)?;
        self.park(&bytes, self.clock.now() + self.lifetime + WAY_OUT_KEPT).await
    }

    async fn park(&self, bytes: &[u8], expires_at: Timestamp) -> Result<ParkedHandle, FlowError> {
        let handle = random_bytes(&*self.rng);
        let sealed = self.sealer.seal(Purpose::ParkedFlow, bytes, &*self.rng);
        if self.parked.park(ParkedFlow { handle, sealed, expires_at }, self.quota).await? {
            Ok(handle)
        } else {
            Err(FlowError::QuotaReached)
        }
    }

    fn seal_bytes<T: Serialize>(&self, purpose: Purpose, place: Place, value: &T) -> String {
        let bytes = postcard::to_extend(value, vec![place as u8]).unwrap_or_default();
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
                let (wire, rest): (WireRequest, R) = postcard::from_bytes(body).map_err(content)?;
                Ok((wire.into_request().ok_or(FlowError::Content)?, rest))
            }
            1 => {
                let (handle, rest): (ParkedHandle, R) = postcard::from_bytes(body).map_err(content)?;
                let wire: WireRequest = postcard::from_bytes(&self.fetch(handle).await?).map_err(content)?;
                let request = wire.into_request().ok_or(FlowError::Content)?;
                Ok((Request { parked: Some(handle), ..request }, rest))
            }
            2 => {
                let handle: ParkedHandle = postcard::from_bytes(body).map_err(content)?;
                let (wire, rest): (WireRequest, R) =
                    postcard::from_bytes(&self.fetch(handle).await?).map_err(content)?;
                Ok((wire.into_request().ok_or(FlowError::Content)?, rest))
            }
            _ => Err(FlowError::Content),
        }
    }

    async fn fetch(&self, handle: ParkedHandle) -> Result<Vec<u8>, FlowError> {
        let sealed = self.parked.fetch(handle, self.clock.now()).await?.ok_or(FlowError::Gone)?;
        Ok(self.sealer.open(Purpose::ParkedFlow, &sealed)?)
    }
}

#[cfg(test)]
mod tests;
