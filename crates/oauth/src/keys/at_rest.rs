//! Keys at rest: a JWK is sealed whole, so a store holds names and states, but no key.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::jwk::{Jwk, JwkError, RsaSize, SigningAlgorithm};
use sluice_crypto::{OpenError, Purpose, SealedBy, Sealer};
use sluice_primitives::{Clock, Rng, Timestamp};
use thiserror::Error;

use super::maker::KeyMaker;
use super::repository::{KeyState, StoredKey};
use super::ring::new_kid;

/// A longer JWK is refused, in bytes: sealed, it would not open.
pub(super) const MAX_JWK: usize = 32 * 1024;

/// Why keys could not be read or made.
#[derive(Debug, Clone, Error)]
pub enum KeyError {
    /// A stored key does not open: the secret that sealed it is not configured any more.
    #[error(
        "the key `{kid}` of the set `{set}` cannot be opened: {cause}. Put the secret that sealed it back, behind the new \
         one in its list (secrets.system or secrets.storage), and run `sluice secrets reseal` before you remove it again"
    )]
    Sealed {
        /// The set.
        set: String,
        /// The key.
        kid: String,
        /// Why.
        cause: OpenError,
    },
    /// A stored key opens, but to something that is no key.
    #[error("the key `{kid}` of the set `{set}` cannot be read")]
    Unreadable {
        /// The set.
        set: String,
        /// The key.
        kid: String,
    },
    /// A key could not be made, or is not valid.
    #[error(transparent)]
    Jwk(#[from] JwkError),
    /// The set is not one that this server signs with.
    #[error("this server does not sign with the keys of the set `{0}`")]
    NotOwn(String),
    /// The thread that made keys ended early.
    #[error("the keys were not made")]
    NotMade,
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Seals and opens keys.
#[derive(Clone)]
pub(super) struct KeySealer {
    pub(super) at_rest: Arc<Sealer>,
    pub(super) rng: Arc<dyn Rng>,
}

impl KeySealer {
    /// The row of a key. Its algorithm has the name that stands in what is signed with it.
    pub(super) fn seal(&self, set: &str, jwk: &Jwk, state: KeyState, created_at: Timestamp) -> StoredKey {
        let signs = jwk.signing_algorithm().ok().map(|algorithm| algorithm.to_string());
        let algorithm = signs.or_else(|| jwk.alg.clone());
        let named = Jwk { alg: jwk.alg.as_ref().and(algorithm.clone()), ..jwk.clone() };
        let json = sluice_primitives::Secret::new(serde_json::to_vec(&named).unwrap_or_default());
        StoredKey {
            set: set.to_owned(),
            kid: jwk.kid.clone().unwrap_or_default(),
            algorithm: algorithm.unwrap_or_default(),
            sealed: self.at_rest.seal(Purpose::SigningKey, json.expose(), &*self.rng),
            state,
            created_at,
        }
    }

    /// A new key. RSA keys take a while, so all are made away from the async threads.
    pub(super) async fn make(
        &self,
        maker: &Arc<dyn KeyMaker>,
        (set, algorithm, rsa): (&str, SigningAlgorithm, RsaSize),
        (state, clock): (KeyState, &dyn Clock),
    ) -> Result<StoredKey, KeyError> {
        let (maker, kid) = (Arc::clone(maker), new_kid(&*self.rng));
        let made = tokio::task::spawn_blocking(move || maker.signing(algorithm, kid, rsa)).await;
        let jwk = made.map_err(|_| KeyError::NotMade)??;
        Ok(self.seal(set, &jwk, state, clock.now()))
    }

    /// Which secret sealed a row.
    pub(super) fn sealed_by(&self, stored: &StoredKey) -> SealedBy {
        self.at_rest.sealed_by(Purpose::SigningKey, &stored.sealed)
    }

    /// The key of a row.
    pub(super) fn open(&self, stored: &StoredKey) -> Result<Jwk, KeyError> {
        let named = || (stored.set.clone(), stored.kid.clone());
        let json = self.at_rest.open(Purpose::SigningKey, &stored.sealed).map_err(|cause| {
            let (set, kid) = named();
            KeyError::Sealed { set, kid, cause }
        })?;
        let json = sluice_primitives::Secret::new(json);
        serde_json::from_slice(json.expose()).map_err(|_| {
            let (set, kid) = named();
            KeyError::Unreadable { set, kid }
        })
    }
}
