//! The keys that Hydra signs with: what it has signed stays valid, and applications need not learn of others.

use std::collections::{HashMap, HashSet};
use std::slice;

use serde::Deserialize;
use sluice_crypto::hydra::HydraSecrets;
use sluice_crypto::jwk::{Jwk, JwkError, JwkSet};
use sluice_crypto::jws::{SigningKey, VerifyingKey};
use sluice_primitives::Timestamp;

use super::columns::{read, time};
use super::mark_repository::{Mark, key_id};
use super::source::HydraRow;
use crate::keys::{KeyService, KeyServiceError};

/// The columns that are looked at, by their names.
#[derive(Deserialize)]
struct Columns {
    sid: String,
    keydata: String,
    created_at: String,
}

/// A key of one of the sets that are signed with.
pub(super) struct HydraKey {
    pub(super) set: String,
    pub(super) kid: String,
    pub(super) jwk: Jwk,
    /// In an order in which it can be compared.
    pub(super) created_at: String,
    pub(super) made_at: Timestamp,
}

/// What became of the keys of a set.
pub(super) struct Added {
    /// How many were not here yet.
    pub(super) count: usize,
    /// The newest key, if it goes before all others and does not sign what the set is for; and why.
    pub(super) silent: Option<(String, String)>,
    /// By their `kid`: here are others of the same.
    pub(super) replaced: Vec<String>,
    /// By their `kid`: public ones whose private key is not here, nor comes.
    pub(super) left_out: Vec<String>,
}

/// The key of a row, which may be public.
///
/// # Errors
/// A sentence that says what stands in its way.
pub(super) fn signing_key(
    row: &HydraRow,
    secrets: &HydraSecrets,
    keys: &KeyService,
) -> Result<HydraKey, String> {
    let Columns { sid: set, keydata, created_at } = read(row)?;
    let opened = secrets.open(&keydata).ok_or_else(|| "it does not open with these secrets".to_owned())?;
    let jwk: Jwk = serde_json::from_slice(&opened).map_err(|_| "it cannot be read".to_owned())?;
    // A Hydra 1.x wrote no more of an RSA key than its primes.
    let jwk = jwk.completed().map_err(|why| why.to_string())?;
    let fits = if jwk.is_private() {
        SigningKey::from_jwk(&jwk).map(drop)
    } else {
        VerifyingKey::from_jwk(&jwk).map(drop)
    };
    fits.map_err(|why| why.to_string())?;
    keys.check(&set, slice::from_ref(&jwk)).map_err(|why| why.to_string())?;
    let kid = jwk.kid.clone().ok_or_else(|| "it has no kid".to_owned())?;
    let made_at = time(&created_at).ok_or_else(|| "its time cannot be read".to_owned())?;
    Ok(HydraKey { set, kid, jwk, created_at, made_at })
}

/// Those keys of a set that are of use here, and those that are not. A Hydra 1.x kept the public part of each key in a row of its own, and signed in
/// the name of that: it goes on to verify. Other public keys vouch for nothing.
pub(super) fn of_use(keys: Vec<HydraKey>) -> (Vec<HydraKey>, Vec<HydraKey>) {
    let private = keys.iter().filter(|key| key.jwk.is_private());
    let private: HashSet<_> = private.filter_map(|key| key.jwk.thumbprint_bytes().ok()).collect();
    let is_of_use =
        |key: &HydraKey| key.jwk.thumbprint_bytes().is_ok_and(|thumbprint| private.contains(&thumbprint));
    keys.into_iter().partition(is_of_use)
}

/// Why the public part of a key is left out.
pub(super) const PART_OF_NONE: &str = "its private key is not here: it was deleted, or not taken";

/// Why a key that is of no use is refused.
pub(super) fn why_of_no_use() -> String {
    JwkError::MissingMember("d").to_string()
}

/// The keys of a set that are here.
pub(super) async fn present(keys: &KeyService, set: &str) -> Result<Vec<Jwk>, KeyServiceError> {
    match keys.set(set).await {
        Err(KeyServiceError::NoSuchSet) => Ok(Vec::new()),
        found => Ok(found?.keys),
    }
}

/// Adds keys to a set, which come newest first. Those that are newer than each that is here, or was imported earlier, go before all others, and the
/// first of them goes on to sign. The others have been taken the place of there: they go on to verify, as public ones do. One that was imported
/// earlier and is not here any more was deleted here, and so was its public part, which may come for the first time.
pub(super) async fn add(
    keys: &KeyService,
    set: &str,
    all: Vec<HydraKey>,
    imported: &HashMap<String, Mark>,
) -> Result<Added, KeyServiceError> {
    let present = present(keys, set).await?;
    let here = |key: &HydraKey| present.iter().find(|known| known.kid.as_deref() == Some(key.kid.as_str()));
    let is_another = |key: &&HydraKey| here(key).is_some_and(|own| own.thumbprint() != key.jwk.thumbprint());
    let replaced = all.iter().filter(is_another).map(|key| key.kid.clone()).collect();
    let is_known = |key: &HydraKey| here(key).is_some() || imported.contains_key(&key_id(set, &key.kid));
    let (private, public): (Vec<_>, Vec<_>) = all.into_iter().partition(|key| key.jwk.is_private());
    let newest = private.first().filter(|key| here(key).is_some() || !is_known(key));
    let silent = newest.and_then(|key| Some((key.kid.clone(), keys.silence_of(set, &key.jwk)?)));
    let newer = private.iter().take_while(|key| !is_known(key)).count();
    let (mut first, mut behind) = (Vec::new(), Vec::new());
    for (place, key) in private.into_iter().enumerate() {
        if place < newer {
            first.push(key.jwk);
        } else if !is_known(&key) {
            behind.push(key.jwk);
        }
    }
    let own: HashSet<_> =
        present.iter().chain(&first).chain(&behind).filter_map(private_thumbprint).collect();
    let is_part =
        |key: &HydraKey| key.jwk.thumbprint_bytes().is_ok_and(|thumbprint| own.contains(&thumbprint));
    let (parts, others): (Vec<_>, Vec<_>) =
        public.into_iter().filter(|key| !is_known(key)).partition(is_part);
    let left_out = others.into_iter().map(|key| key.kid).collect();
    behind.extend(parts.into_iter().map(|key| key.jwk));
    let count = first.len() + behind.len();
    if !first.is_empty() {
        first.extend(present);
        keys.replace_set(set, JwkSet { keys: first }).await?;
    }
    keys.add_retired(set, &behind).await?;
    Ok(Added { count, silent, replaced, left_out })
}

fn private_thumbprint(key: &Jwk) -> Option<[u8; 32]> {
    if key.is_private() { key.thumbprint_bytes().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_crypto::Sealer;
    use sluice_crypto::jwk::{RsaSize, SigningAlgorithm};
    use sluice_primitives::{Lifetime, ManualClock, NetworkId, OsRng, Secret};

    use super::*;
    use crate::keys::fake::FakeKeys;
    use crate::keys::{DefaultAlgorithms, ID_TOKEN_SET, KeyRing, RingOptions};

    struct World {
        keys: KeyService,
        ring: Arc<KeyRing>,
        clock: Arc<ManualClock>,
    }

    async fn world() -> World {
        let (repo, rng) = (Arc::new(FakeKeys::default()), Arc::new(OsRng));
        let secret = Secret::new(b"secret".to_vec());
        let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[secret]));
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
        let (id_token, access_token) = (SigningAlgorithm::RS256, SigningAlgorithm::RS256);
        let defaults = Some(DefaultAlgorithms { id_token, access_token });
        let options = RingOptions { defaults, ..RingOptions::default() };
        let ring = KeyRing::start_with(repo.clone(), at_rest.clone(), rng.clone(), clock.clone(), options);
        let ring = ring.await.unwrap();
        World { keys: KeyService::new(repo, at_rest, rng, clock.clone(), ring.clone()), ring, clock }
    }

    fn key(kid: &str, second: i64) -> HydraKey {
        let jwk = Jwk::generate(SigningAlgorithm::ES256, kid.to_owned(), RsaSize::Bits2048).unwrap();
        let (set, made_at) = (ID_TOKEN_SET.to_owned(), Timestamp::from_secs(second));
        HydraKey { set, kid: kid.to_owned(), jwk, created_at: format!("{second:04}"), made_at }
    }

    fn copy(key: &HydraKey) -> HydraKey {
        let HydraKey { set, kid, jwk, created_at, made_at } = key;
        let (set, kid, jwk) = (set.clone(), kid.clone(), jwk.clone());
        HydraKey { set, kid, jwk, created_at: created_at.clone(), made_at: *made_at }
    }

    impl World {
        /// Adds these a minute later; how many were not there, and what signs then.
        async fn added(&self, all: &[&HydraKey], imported: &[&HydraKey]) -> (usize, String) {
            self.clock.advance(Lifetime::minutes(1));
            let imported = imported.iter().map(|key| {
                let id = key_id(ID_TOKEN_SET, &key.kid);
                (id.clone(), Mark::new(id, key.made_at))
            });
            let imported = imported.collect();
            let all = all.iter().map(|key| copy(key)).collect();
            let added = add(&self.keys, ID_TOKEN_SET, all, &imported).await.unwrap();
            let signer = self.ring.id_token_signer(SigningAlgorithm::ES256).unwrap();
            (added.count, signer.kid().unwrap().to_owned())
        }

        async fn has(&self, kid: &str) -> bool {
            self.keys.key(ID_TOKEN_SET, kid).await.is_ok()
        }
    }

    #[tokio::test]
    async fn the_newest_of_two_keys_signs_and_goes_on_when_the_older_one_comes_late() {
        let (new, old) = (key("new", 20), key("old", 10));
        assert_eq!(world().await.added(&[&new, &old], &[]).await, (2, "new".to_owned()));
        let world = world().await;
        assert_eq!(world.added(&[&new], &[]).await, (1, "new".to_owned()));
        assert_eq!(world.added(&[&new, &old], &[&new]).await, (1, "new".to_owned()));
        assert!(world.has("old").await, "what it has signed stays valid");
        let newest = key("newest", 30);
        let added = world.added(&[&newest, &new, &old], &[&new, &old]).await;
        assert_eq!(added, (1, "newest".to_owned()));
    }

    #[tokio::test]
    async fn a_key_that_was_deleted_here_is_not_brought_back() {
        let world = world().await;
        let (new, old) = (key("new", 20), key("old", 10));
        world.added(&[&new, &old], &[]).await;
        world.keys.delete_key(ID_TOKEN_SET, "new").await.unwrap();
        assert_eq!(world.added(&[&new, &old], &[&new, &old]).await, (0, "old".to_owned()));
        assert!(!world.has("new").await);
        world.keys.delete_key(ID_TOKEN_SET, "old").await.unwrap();
        let (count, signer) = world.added(&[&new, &old], &[&new]).await;
        assert!(count == 1 && signer != "old", "one of Hydra's that is newer was here: {signer}");
    }

    /// The public part of a key, under this name.
    fn part(of: &HydraKey, kid: &str) -> HydraKey {
        let jwk = Jwk { kid: Some(kid.to_owned()), ..of.jwk.public() };
        HydraKey { kid: kid.to_owned(), jwk, ..copy(of) }
    }

    #[tokio::test]
    async fn the_public_part_of_a_key_that_has_a_name_of_its_own_verifies_in_that() {
        const ISSUER: &str = "https://id.example.com/";
        let (private, another) = (key("private:1", 20), key("private:2", 10));
        let (public, strange) = (part(&private, "public:1"), part(&another, "public:2"));
        let (kept, of_no_use) = of_use(vec![copy(&public), copy(&private), strange]);
        let kids = |keys: &[HydraKey]| keys.iter().map(|key| key.kid.clone()).collect::<Vec<_>>();
        assert_eq!(
            (kids(&kept), kids(&of_no_use)),
            (vec!["public:1".to_owned(), "private:1".to_owned()], vec!["public:2".to_owned()])
        );
        let world = world().await;
        let both = [&public, &private];
        assert_eq!(world.added(&both, &[]).await, (2, "private:1".to_owned()));
        assert_eq!(world.added(&both, &both).await, (0, "private:1".to_owned()));
        assert!(world.ring.public_jwks().contains("public:1"));
        let signer = Jwk { kid: Some("public:1".to_owned()), ..private.jwk.clone() };
        let said = br#"{"iss":"https://id.example.com/","sub":"alice","exp":1}"#;
        let token = SigningKey::from_jwk(&signer).unwrap().sign(None, said).unwrap();
        let hint = world.ring.verify_id_token_hint(&token, ISSUER).unwrap();
        assert_eq!(hint.subject.as_str(), "alice");
    }

    #[tokio::test]
    async fn another_key_under_a_kid_that_is_here_is_told_of() {
        let world = world().await;
        let first = key("new", 20);
        world.added(&[&first], &[]).await;
        let replaced = async |key: &HydraKey| {
            let again = add(&world.keys, ID_TOKEN_SET, vec![copy(key)], &HashMap::new()).await.unwrap();
            (again.count, again.replaced)
        };
        assert_eq!(replaced(&first).await, (0, Vec::new()));
        assert_eq!(replaced(&key("new", 30)).await, (0, vec!["new".to_owned()]));
    }

    #[tokio::test]
    async fn a_key_that_signs_nothing_by_default_is_told_of() {
        let world = world().await;
        let silent = async |kid: &str, algorithm| {
            let jwk = Jwk::generate(algorithm, kid.to_owned(), RsaSize::Bits2048).unwrap();
            let all = vec![HydraKey { jwk, ..key(kid, 20) }];
            add(&world.keys, ID_TOKEN_SET, all, &HashMap::new()).await.unwrap().silent
        };
        let (kid, warning) = silent("es", SigningAlgorithm::ES256).await.unwrap();
        assert!(kid == "es" && warning.contains("ES256: the default is RS256"), "{kid}: {warning}");
        assert!(
            silent("es", SigningAlgorithm::ES256).await.is_some(),
            "at each import, also of one that is here"
        );
        assert_eq!(silent("rs", SigningAlgorithm::RS256).await, None);
    }

    /// It was revoked, perhaps: whoever has it could go on to sign in that name.
    #[tokio::test]
    async fn the_public_part_of_a_key_that_was_deleted_here_is_left_out() {
        let world = world().await;
        let (new, old) = (key("new", 20), key("private:1", 10));
        let public = part(&old, "public:1");
        world.added(&[&new, &old], &[]).await;
        world.keys.delete_key(ID_TOKEN_SET, "private:1").await.unwrap();
        let marks = [&new, &old].map(|key| {
            let id = key_id(ID_TOKEN_SET, &key.kid);
            (id.clone(), Mark::new(id, key.made_at))
        });
        let all = vec![copy(&new), copy(&public), copy(&old)];
        let added = add(&world.keys, ID_TOKEN_SET, all, &HashMap::from(marks)).await.unwrap();
        assert_eq!((added.count, added.left_out), (0, vec!["public:1".to_owned()]));
        assert!(!world.has("public:1").await);
    }
}
