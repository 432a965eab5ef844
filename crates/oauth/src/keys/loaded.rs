//! The keys of this server as they were read last: parsed once, ready to sign, verify and publish.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_crypto::jwk::{Jwk, JwkError, JwkSet, RsaSize, SigningAlgorithm};
use sluice_crypto::jws::{SigningKey, VerifyingKey};
use sluice_primitives::Timestamp;

use super::at_rest::{KeyError, KeySealer};
use super::encryption::EncryptionKeys;
use super::life::{Life, lives, signs_from};
use super::published::{Published, place};
use super::repository::StoredKey;
use super::ring::{ACCESS_TOKEN_SET, DefaultAlgorithms, ID_TOKEN_SET};
use super::rotation::RotationPolicy;

/// The rows of the sets that are in memory.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) id_token: Vec<StoredKey>,
    pub(super) access_token: Vec<StoredKey>,
    pub(super) request_object: Vec<StoredKey>,
    /// Of sets that are published and nothing else.
    pub(super) further: Vec<StoredKey>,
}

/// All keys that sign, decrypt or are published.
pub(super) struct Loaded {
    /// When reading began, in the order of readings: a slow one does not undo a later one.
    pub(super) reading: u64,
    pub(super) id_token: LoadedSet,
    pub(super) access_token: LoadedSet,
    pub(super) request_object: EncryptionKeys,
    pub(super) published: Published,
    /// Of these, what own tokens are verified with, in an order that stays.
    pub(super) signing_jwks: Arc<str>,
    pub(super) verifying: Vec<VerifyingKey>,
    pub(super) algorithms: Vec<SigningAlgorithm>,
    /// The names of those that are malformed, and not published as they are stored: because of one some readers would take none of the others.
    pub(super) malformed: Vec<String>,
}

/// The keys of a set that this server signs with, newest first.
#[derive(Default)]
pub(super) struct LoadedSet(Vec<LoadedKey>);

struct LoadedKey {
    stored: StoredKey,
    /// None for one that cannot sign: symmetric, public, for encryption. It may be kept and published all the same.
    signer: Option<Arc<SigningKey>>,
    signs_from: Option<Timestamp>,
}

impl LoadedKey {
    fn signs_with(&self, algorithm: SigningAlgorithm) -> bool {
        self.signs_from.is_some()
            && self.signer.as_ref().is_some_and(|signer| signer.algorithm() == algorithm)
    }
}

impl Loaded {
    pub(super) fn parse(
        reading: u64,
        sealer: &KeySealer,
        policy: &RotationPolicy,
        defaults: Option<DefaultAlgorithms>,
        (rows, now): (Rows, Timestamp),
    ) -> Result<Self, KeyError> {
        let opened =
            |stored: &[StoredKey]| stored.iter().map(|key| sealer.open(key)).collect::<Result<Vec<_>, _>>();
        let (id_token_jwks, access_token_jwks) = (opened(&rows.id_token)?, opened(&rows.access_token)?);
        let id_token = LoadedSet::parse(rows.id_token, &id_token_jwks, policy);
        let access_token = LoadedSet::parse(rows.access_token, &access_token_jwks, policy);
        let mut malformed = Vec::new();
        let signing: Vec<_> = id_token_jwks.into_iter().chain(access_token_jwks).collect();
        let mut signing = well_formed(signing, &mut malformed);
        signing.keys.sort_by_key(|key| place(key, defaults));
        let verifying = VerifyingKey::usable_of(&signing);
        let request_object = EncryptionKeys::parse(&opened(&rows.request_object)?);
        let further = well_formed(opened(&rows.further)?, &mut malformed);
        let mut algorithms: Vec<_> =
            signing.keys.iter().filter_map(|key| key.signing_algorithm().ok()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let signing_jwks = serde_json::to_string(&signing).unwrap_or_default().into();
        let encrypting = well_formed(request_object.public.clone(), &mut malformed);
        let others = [encrypting.keys, further.keys].concat();
        let published = Published::of(&signing.keys, &others, [&id_token, &access_token], defaults, now);
        Ok(Self {
            reading,
            id_token,
            access_token,
            request_object,
            published,
            signing_jwks,
            verifying,
            algorithms,
            malformed,
        })
    }

    /// One of the sets that this server signs with.
    pub(super) fn own(&self, name: &str) -> Option<&LoadedSet> {
        match name {
            ID_TOKEN_SET => Some(&self.id_token),
            ACCESS_TOKEN_SET => Some(&self.access_token),
            _ => None,
        }
    }
}

/// The public parts of these keys. What was stored before keys were checked may be malformed; a key whose certificates are goes without them: it
/// may be one that signs.
fn well_formed(keys: Vec<Jwk>, malformed: &mut Vec<String>) -> JwkSet {
    let mut public = JwkSet { keys }.public();
    public.keys.retain_mut(|key| {
        let Err(why) = key.check() else { return true };
        malformed.push(key.kid.clone().unwrap_or_default());
        if why == JwkError::MalformedMember("x5c") {
            key.x5c = None;
        }
        key.check().is_ok()
    });
    public
}

impl LoadedSet {
    pub(super) fn parse(stored: Vec<StoredKey>, jwks: &[Jwk], policy: &RotationPolicy) -> Self {
        let keys = stored.into_iter().zip(jwks).map(|(stored, jwk)| {
            let signer = SigningKey::from_jwk(jwk).ok().map(Arc::new);
            let signs_from = signs_from(stored.state, stored.created_at, policy);
            LoadedKey { stored, signer, signs_from }
        });
        Self(keys.collect())
    }

    /// The newest key of this algorithm that signs at `now`; an announced one if there is no other.
    pub(super) fn signer(&self, algorithm: SigningAlgorithm, now: Timestamp) -> Option<Arc<SigningKey>> {
        let mut possible = self.0.iter().filter_map(|key| {
            let signer = key.signer.as_ref().filter(|signer| signer.algorithm() == algorithm)?;
            Some((signer, key.signs_from?))
        });
        let signing = possible.clone().find(|(_, from)| *from <= now);
        let (signer, _) = signing.or_else(|| possible.next())?;
        Some(Arc::clone(signer))
    }

    /// What signs at this time, of each algorithm.
    pub(super) fn signers_at(&self, at: Timestamp) -> Vec<Arc<SigningKey>> {
        self.algorithms().into_iter().filter_map(|algorithm| self.signer(algorithm, at)).collect()
    }

    /// The times at which keys begin to sign.
    pub(super) fn turns(&self) -> impl Iterator<Item = Timestamp> {
        self.0.iter().filter_map(|key| key.signs_from)
    }

    /// All keys, newest first.
    pub(super) fn rows(&self) -> impl Iterator<Item = &StoredKey> {
        self.0.iter().map(|key| &key.stored)
    }

    /// The key of this name, whatever it is for.
    pub(super) fn row(&self, kid: &str) -> Option<&StoredKey> {
        self.rows().find(|stored| stored.kid == kid)
    }

    /// Whether there is a key of this name, whatever it is for.
    pub(super) fn has(&self, kid: &str) -> bool {
        self.row(kid).is_some()
    }

    /// Whether a key of this algorithm signs, now or when it has been announced for long enough.
    pub(super) fn has_signer(&self, algorithm: SigningAlgorithm) -> bool {
        self.0.iter().any(|key| key.signs_with(algorithm))
    }

    /// The algorithm of a private key, and the names of those that would sign with it if this one were gone.
    pub(super) fn beside(&self, kid: &str) -> Option<(SigningAlgorithm, Vec<String>)> {
        let algorithm = self.0.iter().find(|key| key.stored.kid == kid)?.signer.as_ref()?.algorithm();
        let others = self.0.iter().filter(|key| key.stored.kid != kid && key.signs_with(algorithm));
        Some((algorithm, others.map(|key| key.stored.kid.clone()).collect()))
    }

    /// The algorithms that there are private keys for.
    pub(super) fn algorithms(&self) -> BTreeSet<SigningAlgorithm> {
        self.0.iter().filter_map(|key| Some(key.signer.as_ref()?.algorithm())).collect()
    }

    /// The private keys of an algorithm, newest first.
    pub(super) fn signers(
        &self,
        algorithm: SigningAlgorithm,
    ) -> impl Iterator<Item = (&StoredKey, &SigningKey)> {
        self.0.iter().filter_map(move |key| {
            let signer = key.signer.as_deref().filter(|signer| signer.algorithm() == algorithm)?;
            Some((&key.stored, signer))
        })
    }

    /// The keys that cannot sign, newest first.
    pub(super) fn without_signer(&self) -> impl Iterator<Item = &StoredKey> {
        self.0.iter().filter(|key| key.signer.is_none()).map(|key| &key.stored)
    }

    /// The private keys of an algorithm, newest first, each with its life.
    pub(super) fn lives(
        &self,
        algorithm: SigningAlgorithm,
        policy: &RotationPolicy,
        now: Timestamp,
    ) -> Vec<(&StoredKey, Life)> {
        let keys: Vec<_> = self.signers(algorithm).map(|(stored, _)| stored).collect();
        let lives = lives(keys.iter().map(|key| (key.state, key.created_at)), policy, now);
        keys.into_iter().zip(lives).collect()
    }

    /// The newest key that is stored for an algorithm, private or not.
    pub(super) fn newest(&self, algorithm: SigningAlgorithm) -> Option<&StoredKey> {
        self.0.iter().map(|key| &key.stored).find(|stored| stored.algorithm == algorithm.as_str())
    }

    /// How long the newest RSA key of an algorithm is: its successor is no shorter.
    pub(super) fn rsa_size(&self, algorithm: SigningAlgorithm, sealer: &KeySealer) -> RsaSize {
        let newest = self.signers(algorithm).next().and_then(|(stored, _)| sealer.open(stored).ok());
        // Six bits a character.
        let bits = newest.and_then(|jwk| jwk.n).map_or(0, |modulus| modulus.len() * 6);
        match bits {
            0..=2_100 => RsaSize::Bits2048,
            2_101..=3_100 => RsaSize::Bits3072,
            _ => RsaSize::Bits4096,
        }
    }
}
