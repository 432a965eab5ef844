//! Requests that no browser has come with yet: pushed ones, and those of devices.

use std::net::IpAddr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_crypto::Purpose;
use sluice_primitives::Timestamp;

use super::{FlowError, FlowSealer, MAX_IN_URL, Place, Quota};
use crate::client::Client;
use crate::flow::state::Request;
use crate::flow::wire::WireRequest;

impl FlowSealer {
    /// Seals a pushed authorization request, for which there is no flow yet: one that begins is parked anew.
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
        let bytes = postcard::to_stdvec(pushed).map_err(|_| FlowError::Content)?;
        let counted = self.counted(address);
        self.count_pushed(client, counted)?;
        let quota = self.quota_of_pushed(client, counted);
        let handle = self.park(&bytes, expires_at, quota).await?;
        Ok(self.seal_bytes(Purpose::PushedRequest, Place::AllParked, &handle))
    }

    /// How much may be kept when one more is pushed: those that are not counted leave room for others.
    fn quota_of_pushed(&self, client: &Client, counted: Option<IpAddr>) -> u64 {
        match (client.is_public(), counted) {
            (false, _) => self.quota,
            (true, Some(_)) => self.quota_of_anybody(),
            (true, None) => self.quota_of_anybody() - self.quota / 8,
        }
    }

    /// Counts a request that has to be parked for the client, or for the network that a public client is in: how many come, and not how
    /// many are kept. It is there for a moment, and the flow that it begins counts for that.
    fn count_pushed(&self, client: &Client, counted: Option<IpAddr>) -> Result<(), Quota> {
        let is_exempt = client.is_public() && counted.is_none();
        if is_exempt || self.limit.allows(client, counted, self.clock.now()) {
            Ok(())
        } else {
            Err(if client.is_public() { Quota::Network } else { Quota::Client })
        }
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
}
