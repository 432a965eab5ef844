//! Tokens of a Hydra in memory.

use std::ops::Bound;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::grant::Generation;
use sluice_oauth::takeover::{HydraNetwork, HydraToken, HydraTokenRepository, TokenGrant, TokenMac};
use sluice_primitives::{GrantId, Timestamp};

use super::grant::{Row, check_claims};
use super::{Data, MemoryStore, check, count, purge};

/// What a token stands for, when it ends, and of which Hydra it is.
pub(super) type Token = (GrantId, Timestamp, HydraNetwork);

impl Data {
    /// Stores a token and its grant; whether the token was not there.
    fn import_token(&mut self, HydraToken { mac, grant, expires_at, network }: HydraToken) -> bool {
        let id = grant.id;
        match self.grants.get_mut(&id) {
            Some(row) => row.say(grant),
            None => drop(self.grants.insert(id, Row::of(grant))),
        }
        let is_new = !self.hydra_tokens.contains_key(&mac);
        self.hydra_tokens.entry(mac).or_insert((id, expires_at, network));
        is_new
    }
}

#[async_trait]
impl HydraTokenRepository for MemoryStore {
    async fn import_tokens(&self, tokens: Vec<HydraToken>) -> Result<u64, StoreError> {
        for HydraToken { grant, .. } in &tokens {
            check(grant.audience.as_slice().iter().map(String::as_str))?;
            check_claims(&grant.claims)?;
        }
        self.write(|data| {
            let mut new = 0;
            for token in tokens {
                new += u64::from(data.import_token(token));
            }
            new
        })
        .await
    }

    async fn known_tokens(&self, macs: Vec<TokenMac>) -> Result<Vec<TokenMac>, StoreError> {
        Ok(self.read(|data| macs.into_iter().filter(|mac| data.hydra_tokens.contains_key(mac)).collect()))
    }

    async fn find_token(&self, mac: TokenMac, now: Timestamp) -> Result<Option<TokenGrant>, StoreError> {
        Ok(self.read(|data| {
            let (grant, expires_at, _) = *data.hydra_tokens.get(&mac).filter(|(_, ends, _)| *ends > now)?;
            let client = data.grants.get(&grant)?.grant.client.clone();
            Some(TokenGrant { grant, client, expires_at })
        }))
    }

    async fn token_page(
        &self,
        network: HydraNetwork,
        after: Option<TokenMac>,
        limit: u32,
    ) -> Result<Vec<TokenMac>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(self.read(|data| {
            let behind = data.hydra_tokens.range((from, Bound::Unbounded));
            let of_it = behind.filter(|(_, (.., of))| *of == network);
            of_it.map(|(mac, _)| *mac).take(limit).collect()
        }))
    }

    async fn forget_tokens(&self, macs: Vec<TokenMac>) -> Result<u64, StoreError> {
        self.write(|data| {
            let gone: Vec<Token> = macs.iter().filter_map(|mac| data.hydra_tokens.remove(mac)).collect();
            let is_unused = |(grant, ..): &Token| {
                data.grants.get(grant).is_some_and(|row| row.grant.generation == Generation(0))
            };
            let unused: Vec<Token> = gone.into_iter().filter(is_unused).collect();
            count(&unused)
        })
        .await
    }

    async fn purge_tokens(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| count(&purge(&mut data.hydra_tokens, limit, |(_, ends, _)| *ends < now))).await
    }
}
