//! The keys of a client: registered with it, or at its `jwks_uri`. What it signs is checked with them, what it is sent may
//! be encrypted to them, and its certificate may be known by them.

use std::fmt;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sluice_crypto::jwk::{Jwk, JwkSet, SigningAlgorithm};
use sluice_crypto::jws::{VerifiedJws, VerifyError, VerifyingKey, unverified_parts, verify_trying};
use sluice_primitives::Timestamp;
use sluice_protocol::ClientId;
use thiserror::Error;

use super::remote_keys::{KeySetSource, KeysNotFetched, RemoteKeys};
use crate::client::Client;

/// So much of registered keys is kept parsed, in bytes of memory.
const CAPACITY: u64 = 64 * 1024 * 1024;
/// What a client is taken for beside its keys, in bytes.
const CLIENT: u64 = 256;
/// So many of a client's keys are tried for one token at most: clients choose how many they have.
const MAX_TRIED: usize = 2;

/// The keys of a client.
#[derive(Debug, Default)]
pub struct ClientKeySet {
    /// As the client wrote them, what is not understood left out.
    pub set: JwkSet,
    /// Those that signatures can be checked with, ready for it.
    pub verifying: Vec<VerifyingKey>,
}

impl ClientKeySet {
    /// Kept for long, so no more room than is used.
    pub(crate) fn of(mut set: JwkSet) -> Self {
        let mut verifying = VerifyingKey::usable_of(&set);
        set.keys.shrink_to_fit();
        verifying.shrink_to_fit();
        Self { set, verifying }
    }

    /// About how much memory it takes, in bytes.
    pub(super) fn memory(&self) -> u64 {
        let keys = self.set.keys.iter().map(Jwk::memory).sum::<usize>();
        let verifying = self.verifying.iter().map(VerifyingKey::memory).sum::<usize>();
        u64::try_from(keys.saturating_add(verifying)).unwrap_or(u64::MAX)
    }
}

/// Why something that a client signed does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClientSignatureError {
    /// No key of the client made the signature.
    #[error(transparent)]
    Signature(#[from] VerifyError),
    /// The keys could not be fetched.
    #[error(transparent)]
    Keys(#[from] KeysNotFetched),
}

/// The keys of clients. Registered ones are parsed once: key, the client id; bound, `CAPACITY`; never stale, because they
/// are used for the revision alone that they are of: those of another take their place. For those at a URI see `RemoteKeys`.
pub struct ClientKeys {
    registered: Cache<ClientId, Registered, Bytewise>,
    remote: RemoteKeys,
}

/// The keys that a client is registered with.
#[derive(Clone)]
struct Registered {
    revision: i64,
    keys: Arc<ClientKeySet>,
    /// What it is taken for, in bytes.
    memory: u64,
}

#[derive(Clone)]
struct Bytewise;

impl Weighter<ClientId, Registered> for Bytewise {
    fn weight(&self, _: &ClientId, registered: &Registered) -> u64 {
        registered.memory
    }
}

/// How many entries a cache of so many bytes is taken to have: so few that each of the parts that it is divided into, of 32
/// entries at least, has room for the most keys that anybody has (see `MAX_KEYS`), and more.
pub(super) fn expected_entries(capacity: u64) -> usize {
    /// In bytes.
    const USUAL: u64 = 128 * 1024;
    usize::try_from(capacity / USUAL).unwrap_or(usize::MAX)
}

impl ClientKeys {
    /// The keys of clients, fetched from `source` where they are at a URI.
    pub fn new(source: Arc<dyn KeySetSource>) -> Self {
        let registered = Cache::with_weighter(expected_entries(CAPACITY), CAPACITY, Bytewise);
        Self { registered, remote: RemoteKeys::new(source) }
    }

    /// The client's keys.
    ///
    /// # Errors
    /// [`KeysNotFetched`] if they are at a URI that does not answer.
    pub async fn of(&self, client: &Client, now: Timestamp) -> Result<Arc<ClientKeySet>, KeysNotFetched> {
        match &client.jwks_uri {
            Some(uri) => self.remote.keys(uri.url(), now).await,
            None => Ok(self.registered(client)),
        }
    }

    /// The client's keys, fetched again; none if they are registered, or were fetched a moment ago.
    ///
    /// # Errors
    /// [`KeysNotFetched`] if they are at a URI that does not answer.
    pub async fn newer(
        &self,
        client: &Client,
        now: Timestamp,
    ) -> Result<Option<Arc<ClientKeySet>>, KeysNotFetched> {
        match &client.jwks_uri {
            Some(uri) => self.remote.refetch(uri.url(), now).await,
            None => Ok(None),
        }
    }

    /// Checks what the client signed. Keys at a URI are fetched again if one is named that is not known, or if none is named and
    /// none made the signature.
    ///
    /// # Errors
    /// [`ClientSignatureError`] unless one of the client's keys made the signature with one of the `allowed` algorithms.
    pub async fn verify(
        &self,
        client: &Client,
        token: &str,
        allowed: &[SigningAlgorithm],
        now: Timestamp,
    ) -> Result<VerifiedJws, ClientSignatureError> {
        let keys = self.of(client, now).await?;
        let verified = verify_trying(MAX_TRIED, token, &keys.verifying, allowed);
        if verified.as_ref().is_err_and(|why| may_be_newer(*why, token))
            && let Some(keys) = self.newer(client, now).await?
        {
            return Ok(verify_trying(MAX_TRIED, token, &keys.verifying, allowed)?);
        }
        Ok(verified?)
    }

    fn registered(&self, client: &Client) -> Arc<ClientKeySet> {
        let known = self.registered.get(&client.id).filter(|known| known.revision == client.revision);
        if let Some(known) = known {
            return known.keys;
        }
        let keys = Arc::new(ClientKeySet::of(client.jwks.clone().unwrap_or_default()));
        let memory = keys.memory().saturating_add(CLIENT);
        let registered = Registered { revision: client.revision, keys: Arc::clone(&keys), memory };
        self.registered.insert(client.id.clone(), registered);
        keys
    }
}

/// Whether keys that are not known yet may have made a signature that those which are known did not.
fn may_be_newer(why: VerifyError, token: &str) -> bool {
    match why {
        VerifyError::UnknownKey => true,
        VerifyError::WrongSignature => unverified_parts(token).is_ok_and(|parts| parts.header.kid.is_none()),
        _ => false,
    }
}

impl fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKeys").field("registered", &self.registered.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use url::Url;

    use super::super::remote_keys::{FetchedKeySet, MAX_KEYS};
    use super::*;
    use crate::client::fake;

    struct Nowhere;

    #[async_trait]
    impl KeySetSource for Nowhere {
        async fn fetch(&self, _: &Url) -> Result<FetchedKeySet, KeysNotFetched> {
            Err(KeysNotFetched::NotThere("nowhere".to_owned()))
        }
    }

    fn keys() -> ClientKeys {
        ClientKeys::new(Arc::new(Nowhere))
    }

    fn with_keys(id: &str, keys: Vec<Jwk>) -> Client {
        Client { jwks: Some(JwkSet { keys }), ..fake::client(id) }
    }

    fn small(kid: &str) -> Jwk {
        let x = Some("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".to_owned());
        let (kty, crv, kid) = ("OKP".to_owned(), Some("Ed25519".to_owned()), Some(kid.to_owned()));
        Jwk { kty, crv, x, kid, ..Jwk::default() }
    }

    /// As large as those that strangers register, for six algorithms.
    fn large() -> Jwk {
        let n = Some(URL_SAFE_NO_PAD.encode([0xff_u8; 512]));
        Jwk { kty: "RSA".to_owned(), n, e: Some("AQAB".to_owned()), ..Jwk::default() }
    }

    #[test]
    fn another_revision_takes_the_place_of_the_former() {
        let (keys, mut client) = (keys(), with_keys("app", vec![small("first")]));
        let first = keys.registered(&client);
        assert!(Arc::ptr_eq(&first, &keys.registered(&client)), "parsed once");
        for revision in 2..100 {
            client.revision = revision;
            client.jwks = Some(JwkSet { keys: vec![small(&revision.to_string())] });
            let changed = keys.registered(&client);
            assert_eq!(changed.verifying[0].kid(), Some(revision.to_string().as_str()));
            assert_eq!(keys.registered.len(), 1, "the former is gone");
        }
    }

    #[test]
    fn keys_that_are_large_leave_room_for_fewer() {
        let of_small = keys();
        for number in 0..500 {
            of_small.registered(&with_keys(&format!("app{number}"), vec![small("one")]));
        }
        assert_eq!(of_small.registered.len(), 500);
        let of_large = keys();
        let set = vec![large(); MAX_KEYS];
        for number in 0..60 {
            let registered = of_large.registered(&with_keys(&format!("app{number}"), set.clone()));
            assert_eq!(registered.verifying.len(), MAX_KEYS);
        }
        let (kept, weight) = (of_large.registered.len(), of_large.registered.weight());
        assert!((8..50).contains(&kept) && weight <= of_large.registered.capacity(), "{kept} of {weight}");
        assert!(weight / u64::try_from(kept).unwrap() > 1024 * 1024, "{kept} of {weight}");
    }
}
