//! The keys that a client's assertions are checked with: registered with it, or at its `jwks_uri`.

use std::convert::Infallible;
use std::sync::Arc;

use quick_cache::sync::Cache;
use sluice_crypto::jws::VerifyingKey;
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;

use super::remote_keys::{KeySetSource, KeysNotFetched, RemoteKeys};
use crate::client::Client;

/// Clients whose registered keys are kept parsed.
const CAPACITY: usize = 4_096;

/// Parsed keys, shared by those who verify.
pub(super) type ParsedKeys = Arc<[VerifyingKey]>;

/// The keys of clients. Registered ones are parsed once: key, the client id and its revision; bound, [`CAPACITY`];
/// never stale, because a changed client has another revision. For those at a URI see [`RemoteKeys`].
pub(super) struct ClientKeys {
    registered: Cache<(ClientId, i64), ParsedKeys>,
    remote: RemoteKeys,
}

impl ClientKeys {
    pub(super) fn new(source: Arc<dyn KeySetSource>) -> Self {
        Self { registered: Cache::new(CAPACITY), remote: RemoteKeys::new(source) }
    }

    /// The client's keys.
    pub(super) async fn of(&self, client: &Client, now: Timestamp) -> Result<ParsedKeys, KeysNotFetched> {
        match &client.jwks_uri {
            Some(uri) => self.remote.keys(uri, now).await,
            None => Ok(self.registered(client)),
        }
    }

    /// The client's keys, fetched again; none if they are registered, or were fetched a moment ago.
    pub(super) async fn newer(
        &self,
        client: &Client,
        now: Timestamp,
    ) -> Result<Option<ParsedKeys>, KeysNotFetched> {
        match &client.jwks_uri {
            Some(uri) => self.remote.refetch(uri, now).await,
            None => Ok(None),
        }
    }

    fn registered(&self, client: &Client) -> ParsedKeys {
        let parse = || {
            let keys = client.jwks.as_ref().map(VerifyingKey::usable_of).unwrap_or_default();
            Ok::<_, Infallible>(keys.into())
        };
        match self.registered.get_or_insert_with(&(client.id.clone(), client.revision), parse) {
            Ok(keys) => keys,
            Err(never) => match never {},
        }
    }
}
