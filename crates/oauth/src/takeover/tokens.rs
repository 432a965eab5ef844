//! Refresh tokens that a Hydra issued and that live on here: each stands for a grant, as the first refresh token of it.
//!
//! Such a token is a random part and its MAC, made with a key of Hydra's system secret. Its database has the MAC alone, so that is what a
//! token is found by here. To be found is not enough: whoever has read that database, or a copy of it, knows all MACs, and could present each
//! beside anything. So the MAC is computed of the random part first, as Hydra did, and only what has the right one is looked up.
//! The random part has 256 bits and is in no database: from the MAC it cannot be told, nor from the key.
//!
//! The keys of the MACs are kept like signing keys, sealed, in the set [`TOKEN_KEY_SET`]; whoever deletes that set ends all these tokens. A
//! presented text that has not the form of Hydra's is not looked at: Sluice's own tokens have no point in them.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_crypto::hydra::{HydraRefreshToken, HydraTokenKey};
use sluice_primitives::{Clock, Lifetime, Timestamp};

use super::token_repository::{HydraTokenRepository, TokenGrant};
use crate::grant::Generation;
use crate::issuing::RefreshToken;
use crate::keys::{KeyError, KeyService, KeyServiceError};
use crate::set_back::holds;

/// The set of the keys that the MACs of Hydra's refresh tokens were made with.
pub const TOKEN_KEY_SET: &str = "hydra.refresh-token";
/// For how long the keys are taken for known.
const KEYS_KNOWN: Lifetime = Lifetime::secs(30);
/// For how long it is taken for known that there are none: what is imported is good soon after.
const NONE_KNOWN: Lifetime = Lifetime::secs(2);

/// Reads refresh tokens that a Hydra issued. Keeps their keys. Bound: those of one set. Staleness: 30 seconds, 2 where there are none.
pub struct HydraTokens {
    repo: Arc<dyn HydraTokenRepository>,
    keys: Arc<KeyService>,
    clock: Arc<dyn Clock>,
    known: ArcSwapOption<KnownKeys>,
}

struct KnownKeys {
    since: Timestamp,
    until: Timestamp,
    keys: Vec<HydraTokenKey>,
}

impl HydraTokens {
    /// A reader of these tokens; `keys` has the set [`TOKEN_KEY_SET`].
    pub const fn new(
        repo: Arc<dyn HydraTokenRepository>,
        keys: Arc<KeyService>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { repo, keys, clock, known: ArcSwapOption::const_empty() }
    }

    /// A presented refresh token: one of this server, or one of a Hydra that was imported. None of anything else. Expiry is the caller's to
    /// check.
    ///
    /// # Errors
    /// The store's.
    pub async fn open(&self, presented: &str, sealer: &Sealer) -> Result<Option<RefreshToken>, StoreError> {
        match RefreshToken::open(presented, sealer) {
            Ok(own) => Ok(Some(own)),
            // Boxed: the others are many.
            Err(_) => Box::pin(self.find(presented)).await,
        }
    }

    /// A refresh token of a Hydra that was imported; none of anything else.
    ///
    /// # Errors
    /// The store's.
    pub async fn find(&self, presented: &str) -> Result<Option<RefreshToken>, StoreError> {
        let Some(token) = HydraRefreshToken::parse(presented) else { return Ok(None) };
        let now = self.clock.now();
        let known = self.known_keys(now).await?;
        if !known.keys.iter().any(|key| key.made(&token)) {
            return Ok(None);
        }
        let found = self.repo.find_token(token.mac(), now).await?;
        Ok(found.map(|TokenGrant { grant, client, expires_at }| RefreshToken {
            grant,
            client,
            generation: Generation(0),
            expires_at,
            confirmation: None,
        }))
    }

    async fn known_keys(&self, now: Timestamp) -> Result<Arc<KnownKeys>, StoreError> {
        if let Some(known) = self.known.load_full().filter(|known| holds(known.since, known.until, now)) {
            return Ok(known);
        }
        let (keys, known_for) = match self.keys.set(TOKEN_KEY_SET).await {
            Ok(set) => (set.keys.iter().filter_map(HydraTokenKey::from_jwk).collect(), KEYS_KNOWN),
            Err(KeyServiceError::NoSuchSet) => (Vec::new(), NONE_KNOWN),
            Err(KeyServiceError::Store(failed) | KeyServiceError::Keys(KeyError::Store(failed))) => {
                return Err(failed);
            }
            // A client that is told that its token is not good throws it away.
            Err(failed) => return Err(StoreError::fault(failed)),
        };
        let known = Arc::new(KnownKeys { since: now, until: now + known_for, keys });
        self.known.store(Some(Arc::clone(&known)));
        Ok(known)
    }
}

/// Keeps the keys of the MACs of tokens, unless they are there.
///
/// # Errors
/// [`KeyServiceError`], of the store usually.
pub(super) async fn keep_keys(
    keys: &KeyService,
    all: impl Iterator<Item = HydraTokenKey>,
) -> Result<(), KeyServiceError> {
    let present = match keys.set(TOKEN_KEY_SET).await {
        Err(KeyServiceError::NoSuchSet) => Vec::new(),
        present => present?.keys,
    };
    for key in all {
        let jwk = key.to_jwk()?;
        if present.iter().all(|known| known.kid != jwk.kid) {
            keys.put_key(TOKEN_KEY_SET, jwk).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use sluice_crypto::hydra::HydraSecrets;
    use sluice_primitives::{GrantId, ManualClock, NetworkId, OsRng, Secret};

    use super::*;
    use crate::keys::KeyRing;
    use crate::keys::fake::FakeKeys;
    use crate::takeover::{HydraNetwork, HydraToken, TokenMac};

    /// One of a Hydra 2.3.0 with this secret.
    const TOKEN: &str =
        "ory_rt_okepsQvQe0b_fv_s3V72iR2LQ7qtzu6V2h6LHbX40tQ.bfMKCQ4SRdrFMNMytClZau6UVv61l3OFhf3zPdqj3js";
    const SECRET: &str = "this-is-a-long-system-secret-0123";

    /// Knows every token.
    struct Knowing;

    #[async_trait]
    impl HydraTokenRepository for Knowing {
        async fn import_tokens(&self, _: Vec<HydraToken>) -> Result<u64, StoreError> {
            Ok(0)
        }

        async fn known_tokens(&self, macs: Vec<TokenMac>) -> Result<Vec<TokenMac>, StoreError> {
            Ok(macs)
        }

        async fn find_token(&self, _: TokenMac, _: Timestamp) -> Result<Option<TokenGrant>, StoreError> {
            let (grant, client) = (GrantId::from_bytes([3; 16]), "web".parse().unwrap());
            Ok(Some(TokenGrant { grant, client, expires_at: Timestamp::NEVER }))
        }

        async fn token_page(
            &self,
            _: HydraNetwork,
            _: Option<TokenMac>,
            _: u32,
        ) -> Result<Vec<TokenMac>, StoreError> {
            Ok(Vec::new())
        }

        async fn forget_tokens(&self, _: Vec<TokenMac>) -> Result<u64, StoreError> {
            Ok(0)
        }

        async fn purge_tokens(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
            Ok(0)
        }
    }

    struct World {
        repo: Arc<FakeKeys>,
        clock: Arc<ManualClock>,
        keys: Arc<KeyService>,
        tokens: HydraTokens,
    }

    async fn world() -> World {
        let (repo, rng) = (Arc::new(FakeKeys::default()), Arc::new(OsRng));
        let secret = Secret::new(b"secret".to_vec());
        let at_rest = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[secret]));
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
        let ring = KeyRing::start(repo.clone(), at_rest.clone(), rng.clone(), clock.clone()).await.unwrap();
        let keys = Arc::new(KeyService::new(repo.clone(), at_rest, rng, clock.clone(), ring));
        let tokens = HydraTokens::new(Arc::new(Knowing), keys.clone(), clock.clone());
        World { repo, clock, keys, tokens }
    }

    impl World {
        async fn import_keys(&self) {
            let secrets = HydraSecrets::new(&[Secret::new(SECRET.to_owned())]);
            keep_keys(&self.keys, secrets.token_keys()).await.unwrap();
        }

        async fn is_known(&self) -> bool {
            self.tokens.find(TOKEN).await.unwrap().is_some()
        }
    }

    #[tokio::test]
    async fn that_there_are_no_keys_is_asked_again_soon() {
        let world = world().await;
        assert!(!world.is_known().await);
        world.import_keys().await;
        assert!(!world.is_known().await, "it was asked a moment ago");
        world.clock.advance(NONE_KNOWN);
        assert!(world.is_known().await);
    }

    #[tokio::test]
    async fn what_was_known_by_a_clock_that_was_ahead_is_asked_again() {
        let world = world().await;
        let right = world.clock.now();
        world.clock.advance(Lifetime::hours(1));
        assert!(!world.is_known().await);
        world.clock.set(right);
        world.import_keys().await;
        assert!(world.is_known().await);
    }

    #[tokio::test]
    async fn keys_that_do_not_open_are_a_failure_that_is_not_remembered() {
        let world = world().await;
        world.import_keys().await;
        let break_seal = |broken: bool| {
            for row in world.repo.0.lock().iter_mut().filter(|row| row.set == TOKEN_KEY_SET) {
                row.sealed =
                    if broken { format!("!{}", row.sealed) } else { row.sealed.replacen('!', "", 1) };
            }
        };
        break_seal(true);
        let failed = world.tokens.find(TOKEN).await.unwrap_err();
        assert!(matches!(failed, StoreError::Fault(_)), "{failed:?}");
        break_seal(false);
        assert!(world.is_known().await);
    }
}
