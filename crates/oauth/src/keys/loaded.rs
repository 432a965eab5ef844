//! The keys of this server as they were read last: parsed once, ready to sign, verify and publish.

use std::sync::Arc;

use sluice_crypto::jwk::{Jwk, JwkSet, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, VerifyingKey};
use sluice_primitives::{Lifetime, Timestamp};

use super::at_rest::{KeyError, KeySealer};
use super::repository::{KeyState, StoredKey};

/// An announced key signs from this age on: by then those who keep our key set have read it again.
pub(super) const ANNOUNCED_FOR: Lifetime = Lifetime::hours(1);

/// All keys that sign or are published.
pub(super) struct Loaded {
    /// When reading began, in the order of readings: a slow one does not undo a later one.
    pub(super) reading: u64,
    pub(super) id_token: LoadedSet,
    pub(super) access_token: LoadedSet,
    pub(super) public_jwks: Arc<str>,
    pub(super) verifying: Vec<VerifyingKey>,
    pub(super) algorithms: Vec<SigningAlgorithm>,
}

/// The keys of one set that sign, newest first.
#[derive(Default)]
pub(super) struct LoadedSet(Vec<Signer>);

struct Signer {
    key: Arc<SigningKey>,
    /// None for a key that signs no more.
    signs_from: Option<Timestamp>,
}

impl Loaded {
    pub(super) fn parse(
        reading: u64,
        sealer: &KeySealer,
        [id_token, access_token, further]: [&[StoredKey]; 3],
    ) -> Result<Self, KeyError> {
        let opened =
            |stored: &[StoredKey]| stored.iter().map(|key| sealer.open(key)).collect::<Result<Vec<_>, _>>();
        let (id_token_jwks, access_token_jwks) = (opened(id_token)?, opened(access_token)?);
        let (id_token, access_token) =
            (LoadedSet::parse(id_token, &id_token_jwks), LoadedSet::parse(access_token, &access_token_jwks));
        let all = JwkSet { keys: id_token_jwks.into_iter().chain(access_token_jwks).collect() }.public();
        let verifying = VerifyingKey::usable_of(&all);
        let further = JwkSet { keys: opened(further)? }.public();
        let mut algorithms: Vec<_> = all.keys.iter().filter_map(|key| key.signing_algorithm().ok()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let published = JwkSet { keys: all.keys.into_iter().chain(further.keys).collect() };
        let public_jwks = serde_json::to_string(&published).unwrap_or_default().into();
        Ok(Self { reading, id_token, access_token, public_jwks, verifying, algorithms })
    }
}

impl LoadedSet {
    /// Keys that cannot sign (symmetric, public, for encryption) are left out: they may be kept and published all the
    /// same.
    fn parse(stored: &[StoredKey], jwks: &[Jwk]) -> Self {
        let signers = stored.iter().zip(jwks).filter_map(|(stored, jwk)| {
            let key = Arc::new(SigningKey::from_jwk(jwk).ok()?);
            let signs_from = match stored.state {
                KeyState::Active => Some(stored.created_at),
                KeyState::Announced => Some(stored.created_at + ANNOUNCED_FOR),
                KeyState::Retiring => None,
            };
            Some(Signer { key, signs_from })
        });
        Self(signers.collect())
    }

    /// The newest key of this algorithm that signs at `now`; an announced one if there is no other.
    pub(super) fn signer(&self, algorithm: SigningAlgorithm, now: Timestamp) -> Option<Arc<SigningKey>> {
        let mut possible = self.0.iter().filter(|signer| signer.key.algorithm() == algorithm);
        let signing = possible.clone().find(|signer| signer.signs_from.is_some_and(|from| from <= now));
        let signer = signing.or_else(|| possible.find(|signer| signer.signs_from.is_some()))?;
        Some(Arc::clone(&signer.key))
    }

    /// Whether a key of this algorithm signs, now or when it has been announced for long enough.
    pub(super) fn has_signer(&self, algorithm: SigningAlgorithm) -> bool {
        self.0.iter().any(|signer| signer.key.algorithm() == algorithm && signer.signs_from.is_some())
    }
}
